"""Cuts a run of messages into the sources of leaves.

Cuts stand where the subject changes, between them at turns, and inside a turn
that is too large for one leaf at steps (an assistant row with all its results).
Never between a call and its result.

What stands behind a cut has no say in it: a longer run that begins alike is cut
alike, but for the last two leaves of the shorter one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise

from .messages import Row
from .nodes import Item
from .source_text import most_read
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
    atoms: list[list[int]] = []
    for index, item in enumerate(items):
        step = rows[index].get("role") != "tool" and not crossing[index]
        if not atoms or (step and item.node is None):
            atoms.append([])
        atoms[-1].append(index)
    tokens = [
        min(item.entry.tokens, most_read(row)) if item.entry else 0  # a node's are paid for
        for item, row in zip(items, rows, strict=True)
    ]
    groups = [
        group
        for segment in _segments(items, tokens, _turns(items, atoms), leaf_tokens, seams)
        for group in _packed(tokens, segment, leaf_tokens)
    ]
    return [[items[index] for index in group] for group in groups]


def _segments(
    items: Sequence[Item],
    tokens: Sequence[int],
    turns: Sequence[list[list[int]]],
    most: int,
    seams: Collection[int],
) -> list[list[list[list[int]]]]:
    """Turns by subject; too little of one for a leaf goes with the next, and at the end with the last."""
    if not seams or not turns:
        return [list(turns)]
    before = [0, *accumulate(tokens)]  # of each item
    cuts = [0]
    for place, turn in enumerate(turns):
        size = before[turn[0][0]] - before[turns[cuts[-1]][0][0]]
        if size >= _SEAM * most and items[turn[0][0]].first_turn in seams:
            cuts.append(place)
    if len(cuts) > 1 and before[-1] - before[turns[cuts[-1]][0][0]] < _SMALL * most:
        cuts.pop()
    return [list(turns[start:end]) for start, end in pairwise([*cuts, len(turns)])]


def _turns(items: Sequence[Item], atoms: Sequence[list[int]]) -> list[list[list[int]]]:
    """Atoms by turn."""
    turns: list[list[list[int]]] = []
    for atom in atoms:
        turn = items[atom[0]].first_turn
        if not turns or items[turns[-1][-1][-1]].last_turn != turn:
            turns.append([])
        turns[-1].append(atom)
    return turns


def _packed(tokens: Sequence[int], turns: Sequence[list[list[int]]], most: int) -> list[list[int]]:
    """Fill leaves with whole turns; a turn that is far too large for one has leaves of its own, cut at steps."""
    groups: list[list[int]] = []
    size = most + 1
    for turn in turns:
        whole = [index for atom in turn for index in atom]
        split = _sum(tokens, whole) > _OVERFULL * most
        if split:
            size = most + 1
        for part in turn if split else [whole]:
            more = _sum(tokens, part)
            if size + more > most:
                groups.append([])
                size = 0
            groups[-1] += part
            size += more
        if split:
            size = most + 1
    if len(groups) > 1 and _sum(tokens, groups[-1]) < _SMALL * most:
        small = groups.pop()
        groups[-1] += small
    return groups


def _sum(tokens: Sequence[int], indexes: Sequence[int]) -> int:
    return sum([tokens[index] for index in indexes])
