"""Binds the rows of a host's list to the stored messages of one stretch of a line.

Three passes. By uid, where the host gives one: a dictionary. By words, with
``align``, between what the first pass fixed. And what is left over, between
matched neighbours: rows that the host decorated, pruned, masked, edited or
folded. What no pass binds is new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..storage.records import Entry
from .align import align
from .identity import is_fold, is_less, likeness
from .messages import KEY_BYTES, Row, calls_of, host_uid, is_minted, role_of, text_of

__all__ = ["Match", "Probe", "match"]

#: How many stored messages beyond the next one are tried for a leftover row.
_LOOK_AHEAD = 8
_LOOK_AHEAD_WITHDRAWN = 32
#: Share of words from which an edited row between matched neighbours is taken for the same message.
_ALIKE = 0.3


Read = Callable[[Sequence[Entry]], Sequence[Sequence[Row]]]
"""Loads the messages of entries, each in its current version and, if it has others, its first."""


class Probe(NamedTuple):
    """A row of the host's list that is a message; a tuple, for there are as many as rows."""

    at: int
    """Its place in the list."""
    row: Row
    key: bytes
    names: tuple[str, ...] = ()
    """uids of its messages, as far as it tells: the host's, or those in a stub of ours."""


@dataclass(slots=True)
class Match:
    """For each probe the indexes of its stored messages; several for a fold."""

    found: list[tuple[int, ...]]
    taken: set[int] = field(default_factory=set)
    sure: set[int] = field(default_factory=set)
    """Probes that were bound by a uid."""
    new: set[int] = field(default_factory=set)
    """Probes that are no stored message, however much they look like one."""

    def bind(self, probe: int, *stored: int) -> None:
        self.found[probe] = stored
        self.taken.update(stored)

    def unbind(self, probe: int) -> None:
        self.taken.difference_update(self.found[probe])
        self.found[probe] = ()
        self.new.add(probe)


def match(
    stored: Sequence[Entry],
    probes: Sequence[Probe],
    by_uid: Mapping[str, int],
    read: Read,
) -> Match:
    """Bind *probes* to *stored*.

    *by_uid* gives the number of every message that a uid in the rows names;
    *read* loads the messages of entries.
    """
    result = Match([()] * len(probes))
    if not stored:
        return result
    _by_uid(stored, probes, by_uid, result)
    for window in _gaps(len(stored), result):
        _by_words(stored, probes, window, by_uid, result)
    _drop_weak_end(stored, probes, read, result)
    for withdrawn in (False, True):  # what is in the conversation before what was taken out of it
        for window in _gaps(len(stored), result):
            _by_likeness(_Leftover(stored, read, withdrawn=withdrawn), probes, window, result)
    return result


def _by_uid(
    stored: Sequence[Entry], probes: Sequence[Probe], by_uid: Mapping[str, int], result: Match
) -> None:
    places = {entry.id: place for place, entry in enumerate(stored)}
    for n, probe in enumerate(probes):
        parts = [places[by_uid[name]] for name in probe.names if by_uid.get(name) in places]
        if parts and by_uid.get(probe.names[0]) in places:
            result.bind(n, *dict.fromkeys(parts))
            result.sure.add(n)


def _gaps(count: int, result: Match) -> list[tuple[int, int, int, int]]:
    """Windows (a, b, c, d) of stored ``a:b`` and probes ``c:d`` between bound neighbours, in rising order."""
    windows = []
    at = row_at = 0
    for n, places in enumerate(result.found):
        if places and places[0] >= at:
            if n > row_at:
                windows.append((at, places[0], row_at, n))
            at, row_at = max(places) + 1, n + 1
        elif places:
            row_at = max(row_at, n + 1) if n == row_at else row_at
    windows.append((at, count, row_at, len(result.found)))
    return windows


def _by_words(
    stored: Sequence[Entry],
    probes: Sequence[Probe],
    window: tuple[int, int, int, int],
    by_uid: Mapping[str, int],
    result: Match,
) -> None:
    a, b, c, d = window
    free = [i for i in range(a, b) if i not in result.taken]
    rows = [n for n in range(c, d) if not result.found[n]]
    keys = [stored[i].key[:KEY_BYTES] for i in free]
    for n, place in zip(rows, align(keys, [probes[n].key[:KEY_BYTES] for n in rows]), strict=True):
        if place is not None and _may_be(probes[n], stored[free[place]], by_uid):
            result.bind(n, free[place])


def _may_be(probe: Probe, entry: Entry, by_uid: Mapping[str, int]) -> bool:
    """Whether the uids allow that the row is that message: a host's uid is for ever."""
    uid = host_uid(probe.row)
    return uid is None or is_minted(entry.uid) or by_uid.get(uid) == entry.id


def _drop_weak_end(
    stored: Sequence[Entry], probes: Sequence[Probe], read: Read, result: Match
) -> None:
    """Unbind short answers at the end that follow another question than before.

    "Done." after a new request is not the "Done." that was withdrawn with the
    old one; bound to it, it would make the new request an edit of the old.
    """
    end = len(probes)
    while True:
        while end and not result.found[end - 1]:
            end -= 1
        start = end
        while start and result.found[start - 1]:
            start -= 1
        if not start or start == end or _is_strong(probes, start, end, result):
            return
        row = start
        while row and not result.found[row - 1]:
            row -= 1
        before = result.found[row - 1][-1] if row else -1
        free = [
            i
            for i in range(before + 1, result.found[start][0])
            if i not in result.taken and not stored[i].withdrawn
        ]
        if not free or _Leftover(stored, read).run(probes[row], free[:_LOOK_AHEAD]):
            return
        for n in range(start, end):
            result.unbind(n)
        end = start


#: Rows, or characters, from which neighbours that stand in both lists are no chance.
_STRONG_ROWS = 3
_STRONG_TEXT = 60


def _is_strong(probes: Sequence[Probe], start: int, end: int, result: Match) -> bool:
    rows = [probes[n].row for n in range(start, end)]
    return (
        len(rows) >= _STRONG_ROWS
        or any(n in result.sure for n in range(start, end))
        or any(row.get("tool_call_id") or calls_of(row) for row in rows)
        or sum(len(text_of(row)) for row in rows) >= _STRONG_TEXT
    )


def _by_likeness(
    leftover: _Leftover, probes: Sequence[Probe], window: tuple[int, int, int, int], result: Match
) -> None:
    a, b, c, d = window
    free = leftover.free(a, b, result)
    rows = [n for n in range(c, d) if not result.found[n] and n not in result.new]
    if not free or not rows:
        return
    leftover.closed = any(result.found[d:])
    at = 0
    for n in rows:
        for place in range(at, min(at + leftover.reach, len(free))):
            before = result.found[n - 1][-1:] if n else (-1,)
            run = leftover.run(
                probes[n],
                free[place : place + _LOOK_AHEAD],
                alone=len(free) == len(rows) == 1,
                anchored=before == (free[place] - 1,),
            )
            if run:
                result.bind(n, *run)
                at = place + len(run)
                break


class _Leftover:
    """Stored messages of one gap that no row has claimed yet."""

    def __init__(self, stored: Sequence[Entry], read: Read, *, withdrawn: bool = False) -> None:
        self._stored, self._read, self._withdrawn = stored, read, withdrawn
        self._messages: dict[int, Sequence[Row]] = {}
        self.closed = False
        """Whether the gap ends in front of a row that is known."""
        self.reach = _LOOK_AHEAD_WITHDRAWN if withdrawn else _LOOK_AHEAD

    def free(self, start: int, end: int, result: Match) -> list[int]:
        """The messages between that are looked at."""
        return [
            i
            for i in range(start, end)
            if i not in result.taken and self._stored[i].withdrawn == self._withdrawn
        ]

    def _versions(self, i: int, near: Sequence[int]) -> Sequence[Row]:
        """The message at *i*: its current version, and its first; its neighbours are loaded with it."""
        if i not in self._messages:
            loaded = self._read([self._stored[j] for j in near])
            self._messages.update(zip(near, loaded, strict=True))
        return self._messages[i]

    def run(
        self, probe: Probe, free: Sequence[int], *, alone: bool = False, anchored: bool = True
    ) -> Sequence[int]:
        """The messages, from the first of *free* on, that *probe* stands for; empty if it is another.

        *anchored*: the row before stands for the message before. Only then do
        calls and results count as the same by their ids, which are used again.
        """
        entry, row = self._stored[free[0]], probe.row
        if entry.role != role_of(row) or (host_uid(row) and not is_minted(entry.uid)):
            return ()
        if folded := self._fold(row, free):
            return folded
        if alone and self.closed and not self._withdrawn:
            return free[:1]  # one for one between known rows: an edit, however different
        by_id = bool(row.get("tool_call_id") or calls_of(row))
        return free[:1] if (anchored or not by_id) and self._alike(row, free) else ()

    def _alike(self, row: Row, free: Sequence[int]) -> bool:
        """At the end of a list only what is beyond doubt: the rest is an undo and a new message."""
        enough = _ALIKE if self.closed and not self._withdrawn else 1.0
        return any(
            is_less(old, row) or likeness(old, row) >= enough
            for old in self._versions(free[0], free)
        )

    def _fold(self, row: Row, free: Sequence[int]) -> Sequence[int]:
        """The run of two or more neighbours that the host folded into *row*."""
        parts: list[Row] = []
        for count, i in enumerate(free, 1):
            if count > 1 and i != free[count - 2] + 1:
                break
            parts.append(self._versions(i, free)[0])
            if parts[-1].get("role") != row.get("role"):
                break
            if count > 1 and is_fold(parts, row):
                return free[:count]
        return ()
