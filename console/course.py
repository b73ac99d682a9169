"""The course of a conversation, as a chart reads it: its messages in a row, and the summaries over them.

A page looks every second, and a long conversation takes a second to read. So what was read is kept from one look
to the next, and only what came since is read. Where something before it was changed or put in between, which the
counts of messages and versions, what is withdrawn and what was forgotten tell, all of it is read anew.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from ..storage.protocol import Store
from ..storage.records import Entry, Node, Totals
from .present import standing

__all__ = ["Course", "Courses"]

#: Conversations that are kept: as many as are looked at by turns.
_MOST: Final = 2
_COLUMNS: Final = ("uid", "role", "turn", "tokens", "withdrawn")


@dataclass(slots=True)
class _Rows:
    """Messages, column by column, for there are many."""

    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})
    seqs: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    """Place in the row of each message, by our number."""
    withdrawn: list[int] = field(default_factory=list)
    """Order keys."""
    marks: dict[int, str] = field(default_factory=dict)
    """By how many messages there were at a look: the same for the same ones as the chart shows them."""
    digest: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=8))

    def take(self, entries: Sequence[Entry]) -> None:
        """Put them at the end."""
        for name, column in self.columns.items():
            column.extend(map(attrgetter(name), entries))
        start = len(self.seqs)
        self.seqs += [entry.seq for entry in entries]
        self.places |= {entry.id: place for place, entry in enumerate(entries, start)}
        self.withdrawn += [entry.seq for entry in entries if entry.withdrawn]
        said = "".join([f"{e.uid} {e.version} {e.withdrawn} {e.turn}\n" for e in entries])
        self.digest.update(said.encode("utf-8", "replace"))
        self.marks[len(self.seqs)] = self.digest.copy().hexdigest()


class Course:
    """One line, brought up to date by :meth:`look`."""

    def __init__(self, line: int) -> None:
        self.nodes: dict[str, Node] = {}
        self.spans: dict[str, tuple[int, int]] = {}
        """From which to which place in the row each node reaches; one that reaches nowhere is left out."""
        self._line, self._rows = line, _Rows()
        self._read: tuple[Any, ...] = ()
        self._under: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self._rows.seqs)

    @property
    def seqs(self) -> Sequence[int]:
        """The order key of each message."""
        return self._rows.seqs

    @property
    def places(self) -> Mapping[int, int]:
        """Place in the row of each message, by our number."""
        return self._rows.places

    @property
    def mark(self) -> str:
        """The same for the same messages as the chart shows them."""
        return self._rows.marks[len(self)]

    def had(self, count: int, mark: str) -> bool:
        """Whether the first *count* messages are those of which *mark* was said."""
        return count > 0 and self._rows.marks.get(count) == mark

    def messages(self, start: int) -> dict[str, list[Any]]:
        """The messages from a place on, column by column."""
        rows = {name: values[start:] for name, values in self._rows.columns.items()}
        return rows | {"withdrawn": [int(each) for each in rows["withdrawn"]]}

    def look(self, store: Store, totals: Totals, frame: Node | None) -> list[Entry]:
        """Read what is new, in the snapshot that *totals* are of; *frame*: what the summary row stands for.

        Returns the messages that were read.
        """
        stones = store.eraser().stones("message", "node", "session", "text")
        read = (totals.versions, {(stone.kind, stone.name, stone.time) for stone in stones})
        end = self.seqs[-1] if self.seqs else 0
        new = store.entries(self._line, first=end + 1, brief="names")
        same = read == self._read and len(self) + len(new) == totals.messages
        if not same or self._rows.withdrawn != self._withdrawn(store, end):
            self._rows, self._under = _Rows(), ()
            new = store.entries(self._line, brief="names") if end else new
        self._rows.take(new)
        self._read = read
        under = (totals.nodes, frame.uid if frame else "")
        if under != self._under:
            self.nodes = standing(store, self._line, frame)
            self.spans = dict(self._reach(store))
            self._under = under
        return new

    def _withdrawn(self, store: Store, end: int) -> list[int]:
        return [entry.seq for entry in store.withdrawn(self._line, last=end)]

    def _reach(self, store: Store) -> Iterator[tuple[str, tuple[int, int]]]:
        for node in self.nodes.values():
            if node.line == self._line:
                first, last = (
                    bisect_left(self.seqs, end) for end in (node.first_seq, node.last_seq)
                )
            else:
                under = [self.places[n] for n, _ in store.stands_for(node.uid) if n in self.places]
                first, last = (min(under), max(under)) if under else (1, 0)
            if first <= last < len(self):
                yield node.uid, (first, last)


class Courses:
    """Those that were looked at last."""

    def __init__(self) -> None:
        self._kept: dict[int, Course] = {}

    def of(self, line: int) -> Course:
        """That of a line."""
        found = self._kept[line] = self._kept.pop(line) if line in self._kept else Course(line)
        for other in list(self._kept)[:-_MOST]:
            del self._kept[other]
        return found
