"""What really was said: kept beside the simulated host, by a private id that no engine ever sees.

It knows of hosts, never of our code: which message a row is, in which order messages were first
shown, what is in the conversation now. That a missing end is an undo and a missing middle is only
filtered is the one rule of the contract that stands here too.
"""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["BOOKS", "Line", "Row", "Truth", "copied", "pieces", "plain"]

#: What hosts write onto a message for their own books; no part of what was said.
BOOKS = ("message_uid", "_db_persisted", "_row_id", "_db_row_snapshot")

_PIECE = re.compile(r"\bz\d+x\d+\b")


def copied(value: Any) -> Any:
    """A deep copy, ten times as fast: rows are plain values."""
    return marshal.loads(marshal.dumps(value))  # noqa: S302 - our own bytes


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """What was said, without the host's books."""
    return {key: value for key, value in row.items() if key not in BOOKS}


def pieces(value: Any) -> set[str]:
    """The words that occur nowhere else in a run."""
    return set(_PIECE.findall(value if isinstance(value, str) else json.dumps(value)))


@dataclass
class Row:
    """A row of the host's list and which messages it really is."""

    data: dict[str, Any]
    ids: tuple[int, ...] = ()
    """Private ids of its messages: several for a fold; none for what an engine wrote."""
    ours: str = ""
    """``summary`` or ``filler`` if an engine wrote it, also where a message was merged behind it;
    ``pasted`` if a person sent the text of a summary row again."""
    under: tuple[int, ...] = ()
    """Of a summary: the messages that it really stands for."""
    lifted: tuple[int, ...] = ()
    """Of a summary: the user's message that stands behind it although later ones are under it."""
    spoken: bool = False
    """Whether a person's words were merged behind a row that the host wrote itself."""
    rest: str = ""
    """What a host merged behind a row of an engine's."""

    def copied(self) -> Row:
        return replace(self, data=copied(self.data))


@dataclass
class Line:
    """The messages of one conversation in their order, and which of them were taken back."""

    order: list[int] = field(default_factory=list)
    withdrawn: set[int] = field(default_factory=set)

    def active(self) -> list[int]:
        return [each for each in self.order if each not in self.withdrawn]

    def show(self, rows: Sequence[Row]) -> None:
        """A list was shown: what is new stands where the list has it, what is missing at the end is taken back."""
        before = list(self.order)
        place = {each: n for n, each in enumerate(before)}
        shown = [each for row in rows for each in (*row.under, *row.ids)]
        reached = max((place[each] for each in shown if each in place), default=-1)
        self._insert(rows, set(before))
        self.withdrawn |= {each for each in before if place[each] > reached}
        self.withdrawn -= set(shown)

    def _insert(self, rows: Sequence[Row], before: set[int]) -> None:
        waiting: list[int] = []
        for row in rows:
            if row.under:  # behind a summary another stretch of the conversation begins
                self.order += waiting
                waiting = []
            known = [each for each in row.ids if each in before]
            if known:
                at = self.order.index(known[0])
                self.order[at:at] = waiting
                waiting = []
            else:
                waiting += [each for each in row.ids if each not in self.order]
        self.order += [each for each in dict.fromkeys(waiting) if each not in self.order]


class Truth:
    """Every message that any door saw, in the form in which it was first seen."""

    def __init__(self) -> None:
        self.first: dict[int, dict[str, Any]] = {}
        self.uids: dict[int, str] = {}
        self.lines: dict[str, Line] = {}
        self.said: set[str] = set()
        self.most: dict[str, int] = {}
        """How often the same words stood in one conversation at one time, at the most."""

    def show(self, session: str, rows: Sequence[Row]) -> None:
        """A door of the engine was shown *rows*."""
        for row in rows:
            self._see(row)
        line = self.lines.setdefault(session, Line())
        line.show(rows)
        alive: dict[str, int] = {}
        for each in line.active():
            words = json.dumps(self.first[each], sort_keys=True)
            alive[words] = alive.get(words, 0) + 1
        for words, count in alive.items():
            self.most[words] = max(self.most.get(words, 0), count)

    def _see(self, row: Row) -> None:
        known = tuple(each for each in row.ids if each in self.first)
        # What was never seen apart is no message of its own: the row as it came is what was said.
        row.ids = known or row.ids[:1]
        if row.ours and not row.ids:
            return
        said = plain(row.data)
        if row.ours:
            said = {"role": said["role"], "content": row.rest}
        self.said |= pieces(said)
        for each in row.ids:
            if each not in self.first:
                self.first[each] = copied(said)
            if uid := row.data.get("message_uid"):
                self.uids.setdefault(each, uid)

    def branch(self, parent: str, name: str) -> None:
        """A session began as a copy of another one."""
        line = self.lines.get(parent, Line())
        self.lines[name] = Line(list(line.order), set(line.withdrawn))

    def expected(self, session: str) -> list[dict[str, Any]]:
        """What is in the conversation now, as it was first seen, in order."""
        return [self.first[each] for each in self.lines.get(session, Line()).active()]

    def under(
        self, session: str, rows: Sequence[Row], suffix: Sequence[Row], lifted: Row | None
    ) -> tuple[int, ...]:
        """What a summary stands for that takes the place of all of *rows* but *suffix* and *lifted*."""
        order = self.lines[session].order
        place = {each: n for n, each in enumerate(order)}
        active = set(self.lines[session].active())
        newest = max(rows, key=lambda row: len(row.under))
        old = newest.under
        shown = [place[each] for row in rows for each in (*row.under, *row.ids)]
        start = place[old[-1]] + 1 if old else min(shown, default=0)
        stays = [place[each] for row in suffix for each in row.ids[:1]]
        end = stays[0] if stays else max(shown, default=-1) + 1
        out = set(lifted.ids) if lifted else set()
        fresh = [each for each in order[start:end] if each in active]
        kept = {each for row in suffix for each in row.ids}
        return tuple(sorted({*old, *newest.lifted, *fresh} - out - kept, key=place.__getitem__))
