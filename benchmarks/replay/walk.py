"""Walks a conversation request by request, and counts what each request costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from .strict import Row, blamed
from .tally import Tally
from .writer import Writer

__all__ = ["Counters", "Side", "walk"]

#: Passes that a host makes before one request, at the most.
_PASSES = 3


class Side(Protocol):
    """Who compacts."""

    limit: int
    """Tokens that a list may have; from there on it is compacted."""
    writer: Writer

    def due(self, tokens: int) -> bool:
        """Whether a list of that size is to be compacted."""

    def compress(self, rows: list[Row], tokens: int) -> list[Row]:
        """One pass."""

    def answered(self, rows: list[Row], prompt: int, answer: int) -> None:
        """The model was sent that many tokens, and wrote that many."""

    def turn_over(self, rows: list[Row]) -> None:
        """A turn ended."""

    def summary(self, rows: list[Row]) -> str:
        """What of *rows* is summary, without the words that stand in front of any; empty for none."""


class Counters(NamedTuple):
    """The plugin's, so that both sides are counted alike."""

    row: Callable[[Row], int]
    text: Callable[[str], int]


def walk(rows: Sequence[Row], side: Side, counters: Counters) -> Tally:
    """Send each request that the conversation *rows* holds."""
    source: list[Row] = json.loads(json.dumps(list(rows)))  # nobody gets the caller's
    sent = _Sent(side, counters)
    begun = 0
    for end in _requests(source):
        if begun and any(row.get("role") == "user" for row in source[begun:end]):
            side.turn_over(sent.rows)
        sent.add(source[begun:end])
        begun = end
        sent.send(source[:end], source[end] if end < len(source) else None)
    sent.add(source[begun:])
    side.turn_over(sent.rows)
    writer = side.writer
    sent.tally.calls, sent.tally.read = writer.calls, writer.read
    sent.tally.written = writer.written
    return sent.tally


def _requests(rows: Sequence[Row]) -> Iterator[int]:
    """Lengths of the lists that a model was sent.

    One before each row of its own; where its answer is not told (a person who speaks twice, a
    conversation that ends with a question), one there.
    """
    spoken = False
    for at in range(len(rows) + 1):
        role = rows[at].get("role") if at < len(rows) else "end"
        before = rows[at - 1].get("role") if at else ""
        unanswered = before == "user" and role == "user"
        if spoken and (role == "assistant" or unanswered or (role == "end" and before == "user")):
            yield at
        spoken = spoken or role not in ("system", "end")


class _Sent:
    """The live list, and what was sent of it last."""

    def __init__(self, side: Side, counters: Counters) -> None:
        self.side, self.counters = side, counters
        self.tally = Tally()
        self.rows: list[Row] = []
        self._sizes: list[int] = []
        self._before: list[tuple[str, int]] = []
        """The last request: each row as the wire has it, and its tokens."""
        self._wires: list[str] = []

    def add(self, rows: Sequence[Row]) -> None:
        self.rows = [*self.rows, *rows]
        self._measure(rows)

    def _measure(self, rows: Sequence[Row]) -> None:
        self._sizes += [self.counters.row(row) for row in rows]
        self._wires += [_wire(row) for row in rows]

    def send(self, source: Sequence[Row], answer: Row | None) -> None:
        """One request: compacted if that is due, judged, counted."""
        compacted = self._compact()
        total, tally = sum(self._sizes), self.tally
        tally.requests += 1
        tally.sent += total
        tally.cached += self._prefix()
        tally.ideal += self._systems() if compacted else sum(size for _, size in self._before)
        faults = blamed(self.rows, source)
        tally.invalid += bool(faults)
        tally.faults.update(faults)
        tally.over += total > self.side.limit
        said = self.counters.row(answer) if answer and answer.get("role") == "assistant" else 0
        tally.answered += said
        self._before = list(zip(self._wires, self._sizes, strict=True))
        self.side.answered(self.rows, total, said)

    def _compact(self) -> bool:
        """Whether anything was compacted, in as many passes as a host makes."""
        compacted = False
        for _ in range(_PASSES):
            tokens = sum(self._sizes)
            if not self.side.due(tokens):
                break
            before = self.side.summary(self.rows)
            result = list(self.side.compress(list(self.rows), tokens))
            if result == self.rows:
                self.tally.idle += 1
                break
            compacted = True
            self.rows, self._sizes, self._wires = result, [], []
            self._measure(result)
            self._note(before)
        return compacted

    def _note(self, before: str) -> None:
        """Count what a compaction left."""
        tally, count = self.tally, self.counters.text
        tally.compactions += 1
        after = self.side.summary(self.rows)
        tally.stood += count(before)
        tally.stands += count(before[: _common(before, after)])
        ours = [at for at, row in enumerate(self.rows) if row.get("_compressed_summary")]
        tally.summary += sum(self._sizes[at] for at in ours)
        tally.tail += sum(self._sizes[ours[-1] + 1 :]) if ours else 0

    def _prefix(self) -> int:
        """Tokens at the beginning that the last request had too, letter by letter."""
        total = 0
        for wire, size, (was, _) in zip(self._wires, self._sizes, self._before, strict=False):
            if wire != was:
                return total + min(size, self.counters.text(wire[: _common(wire, was)]))
            total += size
        return total

    def _systems(self) -> int:
        """Tokens of the system rows in front that the last request had too."""
        total = 0
        for row, wire, (was, size) in zip(self.rows, self._wires, self._before, strict=False):
            if row.get("role") != "system" or wire != was:
                break
            total += size
        return total


def _wire(row: Row) -> str:
    """A row as a provider gets it: without the host's own notes."""
    shown: dict[str, Any] = {
        key: value for key, value in row.items() if key[:1] != "_" and key != "message_uid"
    }
    return json.dumps(shown, ensure_ascii=False)


def _common(one: str, other: str) -> int:
    """Length of the common prefix."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
