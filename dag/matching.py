"""Binds the rows of a host's list to the stored messages of one stretch of a line.

Three passes. By uid, where the host gives one: a dictionary. By words, with
``align``, between what the first pass fixed. And what is left over, between
matched neighbours: rows that the host decorated, pruned, masked, edited or
folded. What no pass binds is new.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import NamedTuple

from ..storage.records import Entry
from .align import align
from .identity import is_certain, is_fold, is_less, likeness, parted
from .messages import (
    KEY_BYTES,
    Row,
    calls_of,
    host_uid,
    is_minted,
    normal,
    role_of,
    same_words,
    text_of,
)

__all__ = ["Match", "Probe", "match"]

#: How many stored messages beyond the next one are tried for a leftover row.
_LOOK_AHEAD = 8
_LOOK_AHEAD_WITHDRAWN = 32
_FAR = 256
"""Stored messages of its role that are tried for the leftover rows of one gap beyond those: a list without
its calls and results has a gap for each turn, as long as that."""
#: Share of words from which an edited row between matched neighbours is taken for the same message.
_ALIKE = 0.3


Read = Callable[[Sequence[Entry]], Sequence[Sequence[Row]]]
"""Loads the messages of entries, each in its versions, the current one first."""


class Uids(NamedTuple):
    """What the uids of a list say."""

    numbers: Mapping[str, int]
    """Our number of every message that a uid in the rows names."""
    given: bool
    """Whether the host gives uids: then a row without one is none that has had one."""
    renamed: bool = False
    """Whether it may have given other ones than are known: the list before this one had none."""

    def allow(self, row: Row, entry: Entry) -> bool:
        """Whether the row may be that message: a host's uid is for ever."""
        uid = host_uid(row)
        if uid is None:
            return not (self.given or entry.withdrawn) or is_minted(entry.uid)
        if self.renamed and uid not in self.numbers:
            return True
        return is_minted(entry.uid) or self.numbers.get(uid) == entry.id


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
    uids: Uids,
    read: Read,
) -> Match:
    """Bind *probes* to *stored*; *read* loads the messages of entries."""
    result = Match([()] * len(probes))
    if not stored:
        return result
    _by_uid(stored, probes, uids.numbers, result)
    _by_uid_and_fold(stored, probes, _Leftover(stored, uids, read, result.taken), result)
    for window in _gaps(len(stored), result):
        _by_words(stored, probes, window, uids, result)
    _drop_weak_end(stored, probes, _Leftover(stored, uids, read, result.taken), result)
    for withdrawn in (False, True):  # what is in the conversation before what was taken out of it
        for window in _gaps(len(stored), result):
            leftover = _Leftover(stored, uids, read, result.taken, withdrawn=withdrawn)
            _by_likeness(leftover, probes, window, result)
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


def _by_uid_and_fold(
    stored: Sequence[Entry], probes: Sequence[Probe], leftover: _Leftover, result: Match
) -> None:
    """A fold whose uid names its first part only: the host had given the others none yet."""
    for n in sorted(result.sure):
        first, *others = result.found[n]
        if others or same_words(probes[n].key, stored[first].key):
            continue
        there = (i for i in range(first + 1, len(stored)) if not stored[i].withdrawn)
        minted = takewhile(
            lambda i: i not in result.taken and is_minted(stored[i].uid),
            islice(there, _LOOK_AHEAD - 1),
        )
        run = [first, *minted]
        if len(run) > 1 and (folded := leftover.fold(probes[n].row, run)):
            result.bind(n, *folded)


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
    uids: Uids,
    result: Match,
) -> None:
    a, b, c, d = window
    free = [i for i in range(a, b) if i not in result.taken]
    rows = [n for n in range(c, d) if not result.found[n]]
    keys = [stored[i].key[:KEY_BYTES] for i in free]
    for n, place in zip(rows, align(keys, [probes[n].key[:KEY_BYTES] for n in rows]), strict=True):
        if place is not None and uids.allow(probes[n].row, stored[free[place]]):
            result.bind(n, free[place])


def _drop_weak_end(
    stored: Sequence[Entry], probes: Sequence[Probe], leftover: _Leftover, result: Match
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
        tried = (free[n : n + _LOOK_AHEAD] for n in range(min(len(free), _LOOK_AHEAD)))
        if not free or any(leftover.run(probes[row], run) for run in tried):
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
    free = leftover.free(a, b)
    rows = [n for n in range(c, d) if not result.found[n] and n not in result.new]
    if not free or not rows:
        return
    leftover.closed = any(result.found[d:])
    at = 0
    for n in rows:
        before = result.found[n - 1][-1:] if n else (-1,)
        tried = (
            leftover.run(
                probes[n],
                free[place : place + _LOOK_AHEAD],
                alone=len(free) == len(rows) == 1,
                anchored=before == (free[place] - 1,),
            )
            for place in range(at, min(at + leftover.reach, len(free)))
        )
        run = next(filter(None, tried), ()) or leftover.far(probes[n], free, at + leftover.reach)
        if run:
            result.bind(n, *run)
            at = bisect_right(free, run[-1])


class _Leftover:
    """Stored messages of one gap that no row has claimed yet."""

    def __init__(
        self,
        stored: Sequence[Entry],
        uids: Uids,
        read: Read,
        taken: AbstractSet[int],
        *,
        withdrawn: bool = False,
    ) -> None:
        self._stored, self._uids, self._read, self._withdrawn = stored, uids, read, withdrawn
        self._taken = taken
        self._messages: dict[int, Sequence[Row]] = {}
        self.closed = False
        """Whether the gap ends in front of a row that is known."""
        self.reach = _LOOK_AHEAD_WITHDRAWN if withdrawn else _LOOK_AHEAD
        self._left = 0 if withdrawn else _FAR
        """How many messages may still be tried beyond that."""

    def free(self, start: int, end: int) -> list[int]:
        """The messages between that are looked at."""
        return [
            i
            for i in range(start, end)
            if i not in self._taken and self._stored[i].withdrawn == self._withdrawn
        ]

    def _versions(self, i: int, near: Sequence[int]) -> Sequence[Row]:
        """The message at *i*, its current version first; its neighbours are loaded with it."""
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
        if entry.role != role_of(row) or not self._uids.allow(row, entry):
            return ()
        if folded := self.fold(row, free) or self.fold(row, self._back(free[0])):
            return folded
        if alone and self.closed and not self._withdrawn:
            return free[:1]  # one for one between known rows: an edit, however different
        by_id = bool(row.get("tool_call_id") or calls_of(row))
        return free[:1] if (anchored or not by_id) and self._alike(row, free) else ()

    def far(self, probe: Probe, free: Sequence[int], start: int) -> Sequence[int]:
        """The same for those of *free* from place *start* on: only what cannot be chance, one read at a time."""
        row = probe.row
        for place in range(start, len(free)):
            i = free[place]
            if not self._left:
                break
            if self._stored[i].role != role_of(row) or not self._uids.allow(row, self._stored[i]):
                continue
            self._left -= 1
            versions = self._versions(i, [i])
            begins = normal(text_of(row)).startswith(normal(text_of(versions[0])))
            if begins and (run := self.fold(row, free[place : place + _LOOK_AHEAD])):
                return run
            if any(is_certain(old, row) for old in versions):
                return (i,)
        return ()

    def _back(self, first: int) -> Sequence[int]:
        """*first* and its neighbours, if what follows it was taken back: a fold may bring it back."""
        run = [first]
        while len(run) < _LOOK_AHEAD and run[-1] + 1 < len(self._stored):
            if run[-1] + 1 in self._taken:
                break
            run.append(run[-1] + 1)
        mixed = not self._withdrawn and len(run) > 1 and self._stored[run[1]].withdrawn
        return run if mixed else ()

    def _alike(self, row: Row, free: Sequence[int]) -> bool:
        """At the end of a list only what is beyond doubt: the rest is an undo and a new message."""
        enough = _ALIKE if self.closed and not self._withdrawn else 1.0
        return any(
            is_less(old, row) or likeness(old, row) >= enough
            for old in self._versions(free[0], free)
        )

    def fold(self, row: Row, free: Sequence[int]) -> Sequence[int]:
        """The run of two or more neighbours that the host folded into *row*, perhaps with notes."""
        parts: list[Sequence[Row]] = []
        run: list[int] = []
        noted: Sequence[int] = ()
        for i in free:
            if run and not self._are_neighbours(run[-1], i, free):
                break
            versions = self._versions(i, free)
            if versions[0].get("role") != row.get("role"):
                continue  # a host drops a stray row first, and folds those around it then
            parts.append(versions)
            run.append(i)
            if len(run) > 1 and is_fold([each[0] for each in parts], row):
                return tuple(run)
            if len(run) > 1 and _same_calls(parts, row) and parted(parts, row, own_lines=True):
                noted = tuple(run)
        return noted

    def _are_neighbours(self, one: int, other: int, free: Sequence[int]) -> bool:
        """Whether nothing that the list has stands between, nor what it may have."""
        return all(
            i in free or (self._stored[i].withdrawn and not self._withdrawn)
            for i in range(one + 1, other)
        )


def _same_calls(parts: Sequence[Sequence[Row]], row: Row) -> bool:
    ids = [call.get("id") for versions in parts for call in calls_of(versions[0])]
    return ids == [call.get("id") for call in calls_of(row)]
