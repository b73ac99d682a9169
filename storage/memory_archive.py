"""The executable specification of ``storage.archive``, over a store in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .archive import Beside, Kept, LineTotals, Placed
from .records import Draft, Session

if TYPE_CHECKING:
    from .memory import MemoryStore

__all__ = ["MemoryArchive"]


class MemoryArchive:
    """A :class:`storage.archive.Archive` of one store in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._store.writing():
            yield

    def overview(self) -> dict[int, LineTotals]:
        found = {}
        for line in {session.line for session in self._store.sessions()}:
            entries = self._store.entries(line)
            times = [each.time for each in self._store.read([(e.id, 1) for e in entries])]
            if entries:
                found[line] = LineTotals(
                    messages=len(entries),
                    withdrawn=sum(entry.withdrawn for entry in entries),
                    turns=max(entry.turn for entry in entries),
                    first=min(times),
                    last=max(times),
                    nodes=len(self._store.nodes_on([line])),
                )
        return found

    def aliases(self, messages: Sequence[int] | None = None) -> dict[int, tuple[str, ...]]:
        names = self._store.names()
        return names if messages is None else {n: names[n] for n in set(messages) if n in names}

    def single(self, messages: Sequence[int]) -> list[Kept]:
        there = self._store.numbers().intersection(messages)
        found = self._store.read([(number, 0) for number in there])
        return [(m.id, m.time, m.tool, m.digest, m.body) for m in found if m.versions == 1]

    def older(self, line: int) -> dict[int, int]:
        found = self._store.lines_of([entry.id for entry in self._store.entries(line)])
        return {number: oldest for number, oldest in found.items() if oldest < line}

    def beside(self, nodes: Sequence[str]) -> Beside:
        return Beside()  # it ranks each text for itself

    def restore_session(self, session: Session, base: int | None = None) -> Session:
        self._store.eraser().unbury("session", session.name)
        return self._store.put_session(session, base)

    def next_line(self) -> int:
        return max((session.line for session in self._store.sessions()), default=0) + 1

    def shift(self, numbers: Sequence[int]) -> int:
        taken = self._store.numbers()
        return max(taken) + 1 - min(numbers) if taken.intersection(numbers) else 0

    def restore(self, line: int, rows: Sequence[tuple[Placed, Draft | None]]) -> None:
        for placed, draft in rows:
            self._store.put_entry(line, placed, draft)
