"""Stored messages of one gap that no row has claimed yet, and whether a row that is left over is one of them.

It may be one that the host decorated, pruned, masked, edited or folded. Near its place less is enough
than far from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from ..storage.records import Entry
from .identity import is_certain, is_fold, is_less, likeness, parted
from .messages import Row, calls_of, host_uid, is_minted, normal, role_of, text_of

__all__ = ["LOOK_AHEAD", "Leftover", "Probe", "Read", "Uids"]

#: How many stored messages beyond the next one are tried for a leftover row.
LOOK_AHEAD = 8
_LOOK_AHEAD_WITHDRAWN = 32
_FAR = 256
"""Stored messages of its role that are tried for the leftover rows of one gap beyond those: a list without
its calls and results has a gap for each turn, as long as that."""
#: Share of words from which an edited row between matched neighbours is taken for the same message.
_ALIKE = 0.3


Read = Callable[[Sequence[Entry]], Sequence[Sequence[Row]]]
"""Loads the messages of entries, each in its versions, the current one first."""


class Uids(NamedTuple):
    """What the uids of a list say, and what is remembered of it."""

    numbers: Mapping[str, int]
    """Our number of every message that a uid in the rows names."""
    given: bool
    """Whether the host gives uids: then a row without one is none that has had one."""
    renamed: bool = False
    """Whether it may have given other ones than are known: the list before this one had none."""
    before: Mapping[int, Sequence[int]] = MappingProxyType({})
    """By place of a row what it stood for in the list before this one, where it is as it was there."""

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


class Leftover:
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
        self._answers: dict[int, list[tuple[object, int]]] = {}
        """For the place of a row of calls the calls that are answered behind it, and the places of the answers."""
        self.closed = False
        """Whether the gap ends in front of a row that is known."""
        self.reach = _LOOK_AHEAD_WITHDRAWN if withdrawn else LOOK_AHEAD
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
        if folded := self.fold(row, free, self._back(free[0])):
            return () if self._is_said_anew(row, folded) else folded
        if alone and self.closed and not self._withdrawn:
            return free[:1]  # one for one between known rows: an edit, however different
        by_id = bool(row.get("tool_call_id") or calls_of(row))
        if not (anchored or not by_id) or not self._alike(row, free):
            return ()
        return () if self._is_said_anew(row, free[:1]) else free[:1]

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
            if begins and (run := self.fold(row, free[place : place + LOOK_AHEAD])):
                return run
            if any(is_certain(old, row) for old in versions):
                return (i,)
        return ()

    def answer(self, probe: Probe, call: int) -> int | None:
        """The result behind the row of calls at *call* that answers what *probe* answers, unless a row has claimed it.

        The order does not count. What was taken back does last.
        """
        if call not in self._answers:
            behind = range(call + 1, len(self._stored))
            run = list(takewhile(lambda i: self._stored[i].role == "tool", behind))
            run.sort(key=lambda i: self._stored[i].withdrawn)
            self._answers[call] = [(self._versions(i, run)[0].get("tool_call_id"), i) for i in run]
        wanted = probe.row.get("tool_call_id")
        return next(
            (
                i
                for answered, i in self._answers[call]
                if wanted and answered == wanted and i not in self._taken
                if self._uids.allow(probe.row, self._stored[i])
            ),
            None,
        )

    def _back(self, first: int) -> Sequence[int]:
        """*first* and its neighbours, if what follows it was taken back: a fold may bring it back."""
        run = [first]
        while len(run) < LOOK_AHEAD and run[-1] + 1 < len(self._stored):
            if run[-1] + 1 in self._taken:
                break
            run.append(run[-1] + 1)
        mixed = any(self._stored[i].withdrawn for i in run[1:])
        return run if mixed and not self._withdrawn else ()

    def _alike(self, row: Row, free: Sequence[int]) -> bool:
        """At the end of a list only what is beyond doubt: the rest is an undo and a new message."""
        enough = _ALIKE if self.closed and not self._withdrawn else 1.0
        return any(
            is_less(old, row) or likeness(old, row) >= enough
            for old in self._versions(free[0], free)
        )

    def _is_said_anew(self, row: Row, found: Sequence[int]) -> bool:
        """Whether it says what a fold under another uid said, and the messages *found* are its last parts.

        A host names a fold by its first message alone.
        """
        last = found[-1]
        for first in range(found[0] - 1, max(last - LOOK_AHEAD, -1), -1):
            if first in self._taken:
                break
            if not self._uids.allow(row, self._stored[first]):
                run = self.free(first, min(first + LOOK_AHEAD, len(self._stored)))
                if run[:1] == [first] and last in self.fold(row, run):
                    return True
        return False

    def fold_of(self, probe: Probe, free: Sequence[int]) -> Sequence[int]:
        """The same for a row whose uid may say that it is another message."""
        return (
            self.fold(probe.row, free) if self._uids.allow(probe.row, self._stored[free[0]]) else ()
        )

    def fold(self, row: Row, *runs: Sequence[int]) -> Sequence[int]:
        """The neighbours, two or more of one of *runs*, that the host folded into *row*, perhaps with notes.

        Rather without notes, for a note may be what another run has as a message.
        """
        found = [self._parts(row, run) for run in runs]
        whole = (run for run, noted in found if not noted)
        return next(filter(None, whole), ()) or next((run for run, noted in found if noted), ())

    def _parts(self, row: Row, free: Sequence[int]) -> tuple[Sequence[int], bool]:
        """(the run of neighbours from the first of *free* on, whether there are notes beside them)."""
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
                return tuple(run), False
            if len(run) > 1 and _same_calls(parts, row) and parted(parts, row, own_lines=True):
                noted = tuple(run)
        return noted, bool(noted)

    def _are_neighbours(self, one: int, other: int, free: Sequence[int]) -> bool:
        """Whether nothing that the list has stands between, nor what it may have."""
        return all(
            i in free or (self._stored[i].withdrawn and not self._withdrawn)
            for i in range(one + 1, other)
        )


def _same_calls(parts: Sequence[Sequence[Row]], row: Row) -> bool:
    ids = [call.get("id") for versions in parts for call in calls_of(versions[0])]
    return ids == [call.get("id") for call in calls_of(row)]
