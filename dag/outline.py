"""The text that stands in one request for all that is left out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from ..storage.protocol import Store
from ..storage.records import Entry, Node
from .cascade import choose_levels
from .identity import mark_of
from .ingest import Bound
from .messages import normal, text_of
from .names import names_of
from .renderer import HEAD, block
from .tokens import clip, count_text

__all__ = ["Past", "past_text"]

LEFT_OUT: Final = "What follows is left out of this request alone, for it would not fit. Open a name with lcm_expand:"
OLDER: Final = (
    "What is older is found with lcm_grep; lcm_describe without a uid gives the outline of all."
)
_WORDS: Final = 24
"""Tokens of what somebody said that stand behind its name."""


@dataclass(frozen=True, slots=True)
class Past:
    """What is left out."""

    rows: Sequence[tuple[Any, Bound]]
    summary: int
    """Tokens that what was compacted already may take."""
    names: int
    """Tokens that the rest may take."""


def past_text(store: Store, line: int, past: Past) -> str:
    """What was compacted already as it stood, if it has the room; then the rest by its names, oldest first.

    Raises:
        StoreError: the store failed.
    """
    summary, rest = _summary(store, past)
    lines = _lines(store, line, rest, past.names)
    return "\n\n".join([summary, *([LEFT_OUT, *lines] if lines else [])])


def _summary(store: Store, past: Past) -> tuple[str, list[tuple[Any, Bound]]]:
    """The text of the summary row, and what the rows beside it are."""
    places = [n for n, (_, bound) in enumerate(past.rows) if bound.frame]
    rest = [(row, bound) for row, bound in past.rows if bound.messages and not bound.frame]
    if not places:
        return HEAD, rest
    row, bound = past.rows[places[-1]]
    if count_text(text_of(row)) <= past.summary:
        return text_of(row), rest
    with_it = [(row, bound)] if bound.messages else []  # a message that the host merged behind it
    return _coarser(store, bound.frame, past.summary), [*with_it, *rest]


def _coarser(store: Store, frame: str, room: int) -> str:
    """The blocks of a frame at sizes that fit, the newest of them if that is not enough."""
    (shown,) = store.nodes([frame], damaged=True)
    uids = [source.node or "" for source in shown.sources]
    nodes = [node for node in store.nodes(uids, brief=True, damaged=True) if node.texts]
    before = {source.node or "": source.level for source in shown.sources}
    room -= count_text(HEAD) + count_text(OLDER)
    levels = choose_levels(nodes, room, before=before, by_need=False)
    blocks = [block(node, level) for node, level in zip(nodes, levels, strict=True)]
    kept = _newest(blocks, room)
    return "\n\n".join([HEAD, *([OLDER] if len(kept) < len(blocks) else []), *kept])


def _newest(texts: Sequence[str], room: int) -> list[str]:
    """As many of *texts* as fit, from the end."""
    kept: list[str] = []
    for text in reversed(texts):
        room -= count_text(text) + 1
        if room < 0:
            break
        kept.insert(0, text)
    return kept


def _lines(store: Store, line: int, rest: Sequence[tuple[Any, Bound]], room: int) -> list[str]:
    """A block for each node that stands for some of *rest*, and a line for each turn of which none does."""
    of = {message: (row, bound) for row, bound in rest for message in bound.messages}
    entries = store.placed(line, of)
    nodes = _nodes(store, entries)
    levels = choose_levels(nodes, room * 3 // 4, before={}, by_need=True)
    placed = [
        (node.first_seq, block(node, level)) for node, level in zip(nodes, levels, strict=True)
    ]
    covered = {source.message for node in nodes for source in node.sources}
    bare = [entry for entry in entries if entry.id not in covered]
    turns = [list(several) for _, several in groupby(bare, key=lambda entry: entry.turn)]
    firsts = [next((each for each in turn if each.role == "user"), turn[0]) for turn in turns]
    uids = names_of(store, [of[first.id][1] for first in firsts])
    for turn, first in zip(turns, firsts, strict=True):
        row, bound = of[first.id]
        placed.append((turn[0].seq, _line(uids[bound.messages[0]], first.turn, len(turn), row)))
    texts = [text for _, text in sorted(placed)]
    kept = _newest(texts, room)
    return [*([OLDER] if len(kept) < len(texts) else []), *kept]


def _line(uid: str, turn: int, count: int, row: Mapping[str, Any]) -> str:
    """A turn by its name and its first words, which must not name anything in our form."""
    words = clip(normal(text_of(row)[: 8 * _WORDS]), _WORDS).replace("[lcm ", "(lcm ")
    many = f", {count} messages" if count > 1 else ""
    return f"{mark_of(uid)} turn {turn}{many}: {words}"


def _nodes(store: Store, entries: Sequence[Entry]) -> list[Node]:
    """Nodes that stand for some of *entries* and for nothing else, in the version that is current."""
    versions = {entry.id: entry.version for entry in entries}
    found = sorted(set(store.over(list(versions)).values()))
    chosen: list[Node] = []
    for node in sorted(
        store.nodes(found, damaged=True), key=lambda node: (node.first_seq, -node.last_seq)
    ):
        own = all(
            s.message is not None and versions.get(s.message) == s.version for s in node.sources
        )
        apart = not chosen or node.first_seq > chosen[-1].last_seq
        if own and apart and node.kind == "leaf" and node.texts:
            chosen.append(node)
    return chosen
