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
from typing import Final, NamedTuple

from ..storage.canon import digest, encode
from ..storage.records import Entry, Node, Source
from .summarizer import Summary

__all__ = ["STATE", "Item", "asked_for", "frame_of", "marks_of", "node_of", "source_key", "uid_of"]


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
            return Source(message=self.entry.id, version=self.entry.version)
        return Source(node=self._node.uid, level=level)

    def mark(self, level: int = 0) -> bytes:
        """What the digests take of it."""
        if self.entry is not None:
            return _message_mark(self.entry.id, self.entry.digest)
        return _node_mark(self._node.uid, level)


def _message_mark(number: int, version: bytes) -> bytes:
    return b"m%d:%b" % (number, version)


def _node_mark(uid: str, level: int) -> bytes:
    return b"n%d:%b" % (level, uid.encode())


def source_key(items: Sequence[Item], levels: Sequence[int], kind: str = "") -> str:
    """What was asked for: these sources, in this place of a line, at these sizes; *kind* of a state alone."""
    place = (items[0].first_seq, items[-1].last_seq)  # sources stand in order
    asked = (STATE,) if kind == STATE else ()
    return _asked([item.mark() for item in items], *asked, place, tuple(levels))


def _asked(marks: Sequence[bytes], *rest: object) -> str:
    """A digest over *marks* and what else was asked for."""
    return digest(*marks, encode(rest)).hex()


def uid_of(node: Node, marks: Sequence[bytes]) -> str:
    """The uid that *node* must have, given the marks of its sources in order."""
    said = [
        node.kind,
        node.line if node.kind == "frame" else 0,  # the same frame on a branch is another row
        list(node.lifted),
        {str(level): text for level, text in node.texts.items()},
        [node.topic, list(node.hints), node.sufficient],
        [node.first_seq, node.last_seq],  # a message may stand on another line too, elsewhere
    ]
    return digest(*marks, encode(said)).hex()


def marks_of(node: Node, digests: Mapping[tuple[int, int], bytes]) -> list[bytes]:
    """What the digests take of a stored node's sources, given those of the message versions.

    Raises:
        KeyError: the (message, version) of a source has no digest.
    """
    return [
        _node_mark(source.node or "", source.level)
        if source.message is None
        else _message_mark(source.message, digests[source.message, source.version])
        for source in node.sources
    ]


def asked_for(node: Node, marks: Sequence[bytes]) -> str:
    """The source key that a stored *node* must have."""
    if node.kind == "frame":
        return _asked(marks, "frame", node.line, node.lifted)
    asked = (STATE,) if node.kind == STATE else ()
    return _asked(marks, *asked, (node.first_seq, node.last_seq), node.levels)


def node_of(
    line: int, items: Sequence[Item], levels: Sequence[int], key: str, summary: Summary, kind: str = ""
) -> Node:  # fmt: skip
    """The node that stands for *items*, by *summary*; *key* is their source key at these *levels*."""
    kind = kind or ("condensed" if all(item.node for item in items) else "leaf")
    below = max((item.node.depth for item in items if item.node), default=-1)
    node = Node(
        uid="",
        kind=kind,
        line=line,
        source_key=key,
        depth=below + 1 if kind == "condensed" else max(below, 0),
        texts=dict(summary.texts),
        topic=summary.topic,
        hints=summary.hints,
        sufficient=summary.sufficient,
        degraded=summary.reason if summary.degraded else "",
        lifted=(),
        time=clock.time(),
        sources=tuple(item.source() for item in items),
        levels=tuple(levels),
        **_span(items),
    )
    return replace(node, uid=uid_of(node, [item.mark() for item in items]))


def frame_of(line: int, shown: Sequence[tuple[Node, int]], lifted: Sequence[int]) -> Node:
    """The frame of a summary row that shows these nodes, each at a level."""
    items = [Item(node=node) for node, _ in shown]
    marks = [item.mark(level) for item, (_, level) in zip(items, shown, strict=True)]
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
    return replace(node, uid=uid_of(node, marks))


def _span(items: Sequence[Item]) -> dict[str, int]:
    return {
        "first_seq": items[0].first_seq,
        "last_seq": items[-1].last_seq,
        "first_turn": items[0].first_turn,
        "last_turn": items[-1].last_turn,
        "messages": sum(item.messages for item in items),
        "source_tokens": sum(item.tokens for item in items),
    }
