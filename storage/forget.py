"""What forgetting needs and nobody else: to take things out for good, and to keep a stone in their place.

Nothing in the store deletes by itself; this is what a person's ``forget`` uses. A *stone* says that
something was there, when it went, and what stands there now. It never holds what was forgotten. And
one kind says of what was never there that it must not come: of a session that leaves no trace.
``Store.eraser()`` gives the one of a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .records import Draft, Entry, Node

__all__ = ["Eraser", "Stone", "given"]


@dataclass(frozen=True, slots=True)
class Stone:
    """Says that something was forgotten on request, is not to be kept, or came from another store."""

    kind: str
    """``session``, ``message`` (one version of one), ``node``, ``text``; ``moved``: a node that was
    imported and kept its uid, though what it stands for has other numbers or bytes here; or
    ``unkept``: a session that leaves no trace (``dag.unkept``)."""
    name: str
    """The session's name, ``number@version``, the node's uid; of the last two kinds a salt (hex)."""
    time: float
    digest: bytes
    """Session: over the digests of its messages. Message: of the bytes that stand there now. Node, moved:
    what its texts and sources give now. Text: over the salt and the text. Unkept: over the salt and the id."""
    line: int = 0
    """Of a session: the line it stood on, on which nothing is written any more."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Session: how many ``messages`` and ``nodes`` went. Text: its ``length`` in bytes and 16 bits
    of its beginning (``shade``). Unkept: the digest of its ``pattern`` (hex)."""


class Eraser(Protocol):
    """Every method may raise :class:`storage.errors.StoreError`."""

    def stones(self, *kinds: str) -> list[Stone]:
        """The stones of these kinds (none given: all), by kind and name."""

    def is_forgotten(self, session: str) -> bool:
        """Whether the session of that name was forgotten."""

    def bury(self, stone: Stone) -> None:
        """Keep a stone; one of the same kind and name is replaced."""

    def unbury(self, kind: str, name: str) -> None:
        """Take a stone away, where somebody brings back what was forgotten; nothing if there is none."""

    def alone(self, line: int) -> list[Entry]:
        """The entries of a line whose messages stand on no other, in order."""

    def above(self, messages: Sequence[int]) -> list[str]:
        """uids of all nodes that have any of these messages under them, at any depth, frames too."""

    def remove(self, line: int, messages: Sequence[int], nodes: Sequence[str]) -> None:
        """Take out the sessions of a line, and these messages and nodes with all that belongs to them.

        What else stands on the line is there for lines that were branched from it.
        """

    def overwrite(self, message: int, version: int, draft: Draft) -> None:
        """Put other bytes, another role and another key in the place of a version; its digest stays as it was."""

    def overwrite_node(self, node: Node) -> None:
        """Put other texts, hints and another topic into a node; its uid stays as it was."""

    def rename(self, message: int, uid: str, other: str) -> None:
        """Put *other* in the place of *uid*, the message's own or another name of it; *uid* is gone."""

    def suspects(self, strings: Sequence[str]) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Which messages may hold any of *strings*, in their role or in any text or key of their bodies, as it is
        or with its escapes undone (see ``storage.escapes``).

        For each part of the log the number at which it ends, and (number, version) of what may, in order. It may
        be more than those that do, and never fewer. What cannot be read is among them.
        """

    def called(self, strings: Sequence[str]) -> list[tuple[int, str]]:
        """Numbers of messages and those of their names, the others included, that hold any of *strings*, or may
        with their escapes undone.

        Names of 32 hex digits, which say nothing, may be left out.
        """

    def words(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The uid of each node, in the order in which they were stored, and all that it says: texts, topic, hints.

        Of one that is damaged nothing is known, not even an empty topic.
        """

    def holding(self, needles: Sequence[bytes], plain: Sequence[bytes] = ()) -> dict[str, int]:
        """In how many rows of what any of these bytes stands, the search index left out; empty: nowhere.

        Those of *plain* also where they stand once escapes are undone. Looked for in every value as it is kept, so
        that whoever took something out can prove it.
        """

    def sweep(self, told: Callable[[int], None] | None = None) -> None:
        """Drop payloads that no message needs, leave nothing in the search index of what this transaction has taken
        out so far, and say that all lines changed, and that old bytes may be left.

        *told* is called with how many texts are in the index, where it must be made anew.
        """

    def scrub(self) -> bool:
        """Leave nothing of what was deleted in free pages or in the log of writes; not in a transaction.

        False if another process keeps it from that just now; a second call tries again.

        Raises:
            StoreUnwritable: there is no room for it.
        """

    def is_scrubbed(self) -> bool:
        """Whether nothing was taken out, or the file was written anew since; also where another process did either."""


def given(tools: Eraser) -> dict[str, bytes]:
    """By uid of a node that does not give its uid any more, or not here, what it gives instead."""
    # Of one that has both, what it gives since something in it was forgotten.
    return {stone.name: stone.digest for stone in tools.stones("moved", "node")}
