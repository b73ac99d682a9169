"""What proving a store needs, beside what every reader of it needs."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .errors import StoreDamaged
from .records import Fault

if TYPE_CHECKING:
    from .protocol import Store

__all__ = ["Audit", "MemoryAudit", "Place", "Weighed"]


class Place(NamedTuple):
    """Where a message stands on a line."""

    message: int
    seq: int
    withdrawn: bool
    returned: bool = False
    """Whether it was withdrawn and came back."""


class Weighed(NamedTuple):
    """A message, and whether one should read it with others or alone."""

    number: int
    uid: str
    versions: int
    """How many versions it says it has, the last is current; one more than there are, if it says still more."""
    large: bool
    """Whether strings of it are kept outside it."""


class Audit(Protocol):
    """Goes through a store from end to end, without holding it."""

    def faults(self) -> Iterator[Fault]:
        """Rows whose fields are not what was written, or that contradict others.

        Bodies, and the texts and sources of nodes, are not looked at: those are proved by digests.
        """

    def messages(self, after: int, limit: int) -> list[Weighed]:
        """The messages that follow *after* in number."""

    def nodes(self, after: int, limit: int) -> list[tuple[int, str]]:
        """(number, uid) of the nodes that follow *after*, in the order in which they were stored."""

    def places(self, line: int, first: int, last: int, limit: int) -> list[Place]:
        """The last *limit* places with order keys from *first* to *last*, the last one first."""

    def placed(self, line: int, messages: Collection[int]) -> dict[int, Place]:
        """Where these messages stand on the line, by message."""

    def digests(self, wanted: Collection[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        """The digest on record of each (message, version) that there is."""

    def keys(self, line: int) -> Iterator[bytes]:
        """The key of each version of each message on the line."""


class MemoryAudit:
    """For a store without a file: what is in memory is what was written."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def faults(self) -> Iterator[Fault]:
        """None."""
        return iter(())

    def messages(self, after: int, limit: int) -> list[Weighed]:
        """From what the store streams."""
        current = (each for each in self._store.stream() if each.version == each.versions)
        following = (each for each in current if each.id > after)
        return [Weighed(m.id, m.uid, m.versions, large=False) for m in islice(following, limit)]

    def nodes(self, after: int, limit: int) -> list[tuple[int, str]]:
        """From what stands on the lines of all sessions."""
        lines = {session.line for session in self._store.sessions()}
        found = self._store.nodes_on(list(lines), kinds=("leaf", "condensed", "frame", "state"))
        return [(number, node.uid) for number, node in enumerate(found, 1)][after : after + limit]

    def places(self, line: int, first: int, last: int, limit: int) -> list[Place]:
        """From the entries."""
        found = self._store.entries(line, first=first, last=last)[-limit:]
        return [Place(e.id, e.seq, e.withdrawn, e.returned) for e in reversed(found)]

    def placed(self, line: int, messages: Collection[int]) -> dict[int, Place]:
        """From the entries."""
        found = self._store.placed(line, messages)
        return {e.id: Place(e.id, e.seq, e.withdrawn, e.returned) for e in found}

    def digests(self, wanted: Collection[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        """From the messages themselves."""
        found: dict[tuple[int, int], bytes] = {}
        for pair in wanted:
            with contextlib.suppress(StoreDamaged):
                (message,) = self._store.read([pair])
                found[pair] = message.digest
        return found

    def keys(self, line: int) -> Iterator[bytes]:
        """From the editions."""
        for entry in self._store.entries(line):
            yield from (key for _, key in self._store.editions(entry.id))
