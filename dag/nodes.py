"""Makes nodes: what they stand for, and the digests that they are known by.

A node's uid is a digest over its kind, its texts and, in order, its sources:
number and bytes of message versions, uids of nodes. So the graph is a Merkle
DAG. Its source key is a digest over the sources and the sizes asked for: the
same input finds the same node, whatever a model would write the second time.
"""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Final, NamedTuple

from ..storage.canon import begun, digest, encode
from ..storage.records import Entry, Node, Source
from .summarizer import Summary

__all__ = [
    "STATE",
    "Item",
    "Wanted",
    "asked_for",
    "frame_of",
    "marks_of",
    "node_of",
    "source_key",
    "uid_of",
    "wanted",
]


STATE: Final = "state"
"""The kind of a node that stands for the whole conversation up to a turn."""


class Item(NamedTuple):
    """One source of a node to be: a message in its place, or a node; a tuple, for there are many."""

    entry: Entry | None = None
    node: Node | None = None

    @property
    def first_seq(self) -> int:
        return self.entry.seq if self.entry else self._node.first_seq

    @property
    def last_seq(self) -> int:
        return self.entry.seq if self.entry else self._node.last_seq

    @property
    def first_turn(self) -> int:
        return self.entry.turn if self.entry else self._node.first_turn

    @property
    def last_turn(self) -> int:
        return self.entry.turn if self.entry else self._node.last_turn

    @property
    def messages(self) -> int:
        return 1 if self.entry else self._node.messages

    @property
    def tokens(self) -> int:
        return self.entry.tokens if self.entry else self._node.source_tokens

    @property
    def _node(self) -> Node:
        if self.node is None:
            raise ValueError("An item is a message or a node.")
        return self.node

    def source(self, level: int = 0) -> Source:
        """The item as an edge of a node."""
        if self.entry is not None:
            return Source(self.entry.id, self.entry.version)
        return Source(node=self._node.uid, level=level)

    def mark(self, level: int = 0) -> bytes:
        """What the digests take of it."""
        entry = self.entry
        if entry is not None:
            return b"m%d:%b" % (entry.id, entry.digest)
        return _node_mark(self._node.uid, level)


def _node_mark(uid: str, level: int) -> bytes:
    return b"n%d:%b" % (level, uid.encode())


class Wanted(NamedTuple):
    """A node that is asked for: sources, in their place of a line, and sizes."""

    items: Sequence[Item]
    levels: tuple[int, ...]
    kind: str
    """``state``, or empty for the kind that follows from the sources."""
    key: str
    """The source key of such a node."""
    marks: blake2b
    """What the digests of the sources begin with: the key's, and the uid's."""


def wanted(items: Sequence[Item], levels: Sequence[int], kind: str = "") -> Wanted:
    """What is asked for with these sources at these sizes."""
    marks = begun([item.mark() for item in items])
    place = (items[0].first_seq, items[-1].last_seq)  # sources stand in order
    asked = (STATE,) if kind == STATE else ()
    key = _asked(marks, *asked, place, tuple(levels))
    return Wanted(items, tuple(levels), kind, key, marks)


def source_key(items: Sequence[Item], levels: Sequence[int]) -> str:
    """The source key of a leaf or condensed node of these sources."""
    return wanted(items, levels).key


def _asked(marks: blake2b, *rest: object) -> str:
    """A digest over *marks* and what else was asked for."""
    return digest(encode(rest), after=marks).hex()


def uid_of(node: Node, marks: Sequence[bytes]) -> str:
    """The uid that *node* must have, given the marks of its sources in order."""
    return _uid(node, begun(marks))


def _uid(node: Node, marks: blake2b) -> str:
    said = [
        node.kind,
        node.line if node.kind == "frame" else 0,  # the same frame on a branch is another row
        list(node.lifted),
        {str(level): text for level, text in node.texts.items()},
        [node.topic, list(node.hints), node.sufficient],
        [node.first_seq, node.last_seq],  # a message may stand on another line too, elsewhere
    ]
    return digest(encode(said), after=marks).hex()


def marks_of(node: Node, digests: Mapping[tuple[int, int], bytes]) -> list[bytes]:
    """What the digests take of a stored node's sources, given those of the message versions.

    Raises:
        KeyError: the (message, version) of a source has no digest.
    """
    return [
        _node_mark(source.node or "", source.level)
        if source.message is None
        else b"m%d:%b" % (source.message, digests[source.message, source.version])
        for source in node.sources
    ]


def asked_for(node: Node, marks: Sequence[bytes]) -> str:
    """The source key that a stored *node* must have."""
    if node.kind == "frame":
        return _asked(begun(marks), "frame", node.line, node.lifted)
    asked = (STATE,) if node.kind == STATE else ()
    return _asked(begun(marks), *asked, (node.first_seq, node.last_seq), node.levels)


def node_of(line: int, asked: Wanted, summary: Summary) -> Node:
    """The node that was *asked* for, by *summary*."""
    items = asked.items
    kind = asked.kind or ("condensed" if all(item.node for item in items) else "leaf")
    below = max((item.node.depth for item in items if item.node), default=-1)
    node = Node(
        uid="",
        kind=kind,
        line=line,
        source_key=asked.key,
        depth=below + 1 if kind == "condensed" else max(below, 0),
        texts=dict(summary.texts),
        topic=summary.topic,
        hints=summary.hints,
        sufficient=summary.sufficient,
        degraded=summary.reason if summary.degraded else "",
        lifted=(),
        time=clock.time(),
        sources=tuple(item.source() for item in items),
        levels=asked.levels,
        **_span(items),
    )
    return replace(node, uid=_uid(node, asked.marks))


def frame_of(line: int, shown: Sequence[tuple[Node, int]], lifted: Sequence[int]) -> Node:
    """The frame of a summary row that shows these nodes, each at a level."""
    items = [Item(node=node) for node, _ in shown]
    marks = begun([item.mark(level) for item, (_, level) in zip(items, shown, strict=True)])
    node = Node(
        uid="",
        kind="frame",
        line=line,
        source_key=_asked(marks, "frame", line, tuple(lifted)),
        depth=1 + max(node.depth for node, _ in shown),
        texts={},
        topic="",
        hints=(),
        sufficient=0,
        degraded="",
        lifted=tuple(lifted),
        time=clock.time(),
        sources=tuple(item.source(level) for item, (_, level) in zip(items, shown, strict=True)),
        levels=(),
        **_span(items),
    )
    return replace(node, uid=_uid(node, marks))


def _span(items: Sequence[Item]) -> dict[str, int]:
    entries = [item.entry for item in items if item.entry]
    nodes = [item.node for item in items if item.node]
    return {
        "first_seq": items[0].first_seq,
        "last_seq": items[-1].last_seq,
        "first_turn": items[0].first_turn,
        "last_turn": items[-1].last_turn,
        "messages": len(entries) + sum([node.messages for node in nodes]),
        "source_tokens": sum([entry.tokens for entry in entries])
        + sum([node.source_tokens for node in nodes]),
    }
