"""Cuts a run of messages into the sources of leaves.

Cuts stand where the subject changes, between them at turns, and inside a turn
that is too large for one leaf at steps (an assistant row with all its results).
Never between a call and its result.

What stands behind a cut has no say in it: a longer run that begins alike is cut
alike, but for the last two leaves of the shorter one.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise

from .messages import Row
from .nodes import Item
from .source_text import LEAST_READ, most_read
from .validity import crossed, partners

__all__ = ["leaves"]

#: A leaf smaller than this share of the size wanted joins its neighbour, whatever it speaks of.
_SMALL = 0.5
#: It ends where the subject changes from this share on: each leaf is a block that has to be shown.
_SEAM = 0.5
#: A turn up to this many times the size wanted is still one leaf.
_OVERFULL = 2


def leaves(
    items: Sequence[Item], rows: Sequence[Row], leaf_tokens: int, seams: Collection[int] = ()
) -> list[list[Item]]:
    """Group *items* into leaves of which a summariser reads about *leaf_tokens* at the most, in order.

    *rows* holds the message of each item, an empty mapping for a node. *seams*: numbers of the
    turns with which a new subject begins; a leaf reaches over one only if it is small without.
    """
    if not items:
        return []
    crossing = crossed(partners(rows), len(rows))
    starts = [
        index
        for index, (item, row) in enumerate(zip(items, rows, strict=True))
        if not index or not (row.get("role") == "tool" or crossing[index] or item.node)
    ]
    before = array("q", accumulate(map(_read, items, rows), initial=0))
    return [
        list(items[first:last])
        for segment in _segments(items, before, _turns(items, starts), leaf_tokens, seams)
        for first, last in _packed(before, segment, leaf_tokens)
    ]


def _read(item: Item, row: Row) -> int:
    """Tokens of an item that a summariser reads and that are to be counted: a node's are paid for."""
    if item.entry is None:
        return 0
    tokens = item.entry.tokens
    return tokens if tokens <= LEAST_READ else min(tokens, most_read(row))


def _turns(items: Sequence[Item], starts: Sequence[int]) -> list[list[int]]:
    """For each turn the indexes at which its steps begin, and the one at which it ends."""
    turns: list[list[int]] = []
    for start in starts:
        if not turns or items[start - 1].last_turn != items[start].first_turn:
            turns.append([])
        turns[-1].append(start)
    for turn, end in zip(turns, [*(turn[0] for turn in turns[1:]), len(items)], strict=True):
        turn.append(end)
    return turns


def _segments(
    items: Sequence[Item],
    before: Sequence[int],
    turns: Sequence[list[int]],
    most: int,
    seams: Collection[int],
) -> list[Sequence[list[int]]]:
    """Turns by subject; too little of one for a leaf goes with the next, and at the end with the last.

    *before*: tokens that are read in front of each item.
    """
    if not seams or not turns:
        return [turns]
    cuts = [0]
    for place, turn in enumerate(turns):
        size = before[turn[0]] - before[turns[cuts[-1]][0]]
        if size >= _SEAM * most and items[turn[0]].first_turn in seams:
            cuts.append(place)
    if len(cuts) > 1 and before[-1] - before[turns[cuts[-1]][0]] < _SMALL * most:
        cuts.pop()
    return [turns[start:end] for start, end in pairwise([*cuts, len(turns)])]


def _packed(before: Sequence[int], turns: Sequence[list[int]], most: int) -> list[tuple[int, int]]:
    """Fill leaves with whole turns; a turn that is far too large for one has leaves of its own, cut at steps.

    Of each leaf the first index, and the one behind its last.
    """
    groups: list[tuple[int, int]] = []
    full = True
    for turn in turns:
        split = before[turn[-1]] - before[turn[0]] > _OVERFULL * most
        full = full or split
        for first, last in pairwise(turn) if split else [(turn[0], turn[-1])]:
            begin = first if full or before[last] - before[groups[-1][0]] > most else groups[-1][0]
            if begin != first:
                groups.pop()
            groups.append((begin, last))
            full = False
        full = split
    if len(groups) > 1 and before[groups[-1][1]] - before[groups[-1][0]] < _SMALL * most:
        (_, end), (begin, _) = groups.pop(), groups.pop()
        groups.append((begin, end))
    return groups
