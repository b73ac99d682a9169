"""Binds the rows of a host's list to the stored messages of one stretch of a line.

Three passes. By uid, where the host gives one: a dictionary. By words, with
``align``, between what the first pass fixed; results of one row's calls, which
a host may give in another order, also by their calls. And what is left over,
between matched neighbours: rows that the host decorated, pruned, masked,
edited or folded. What no pass binds is new.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ..storage.records import Entry
from .align import align
from .folds import folds_beside
from .leftover import LOOK_AHEAD, Leftover, Probe, Read, Uids
from .messages import (
    KEY_BYTES,
    calls_of,
    is_minted,
    same_words,
    text_of,
)

__all__ = ["Match", "match"]


@dataclass(slots=True)
class Match:
    """For each probe the indexes of its stored messages; several for a fold."""

    found: list[tuple[int, ...]]
    taken: set[int] = field(default_factory=set)
    sure: set[int] = field(default_factory=set)
    """Probes that were bound by a uid, or are what they were in the list before."""
    new: set[int] = field(default_factory=set)
    """Probes that are no stored message, however much they look like one."""
    same: int = 0
    """How many probes, from the first on, are the stored messages in their places to the letter."""

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
    *,
    behind: bool = False,
) -> Match:
    """Bind *probes* to *stored*; *read* loads the messages of entries.

    *behind*: something that both stand behind is known, so what is missing at their beginning is in between.
    """
    same = _as_before(stored, probes, uids)
    if same:
        return _behind(same, match(stored[same:], probes[same:], uids, read, behind=True))
    result = Match([()] * len(probes))
    if not stored:
        return result
    _by_uid(stored, probes, uids.numbers, result)
    _by_memory(stored, probes, uids.before, result)
    _by_uid_and_fold(stored, probes, Leftover(stored, uids, read, result.taken), result)
    _all_by_words(stored, probes, uids, result, behind=behind)
    while _by_fold(stored, probes, Leftover(stored, uids, read, result.taken), result):
        _all_by_words(stored, probes, uids, result, behind=behind)
    _drop_weak_end(stored, probes, Leftover(stored, uids, read, result.taken), result)
    _drop_end_taken_back(stored, probes, result, behind=behind)
    _by_call(probes, Leftover(stored, uids, read, result.taken), result)
    for withdrawn in (False, True):  # what is in the conversation before what was taken out of it
        for window in _gaps(len(stored), result):
            leftover = Leftover(stored, uids, read, result.taken, withdrawn=withdrawn)
            _by_likeness(leftover, probes, window, result)
    _close_up(stored, probes, uids, result, behind=behind)
    return result


#: Rows at the end of what is as before that are looked at all the same: what follows may have to do with them.
_SEAM = 64


def _as_before(stored: Sequence[Entry], probes: Sequence[Probe], uids: Uids) -> int:
    """How many rows are as they were, far from any that is not: a process that goes on has thousands.

    Where no uid is known, that is what the passes below would find of them.
    """
    if uids.given or uids.numbers or min(len(stored), len(probes)) <= 2 * _SEAM:
        return 0
    pairs = zip(stored, probes, strict=False)
    same = next(
        (
            n
            for n, (entry, probe) in enumerate(pairs)
            if entry.key != probe.key or entry.withdrawn or probe.names
        ),
        min(len(stored), len(probes)),
    )
    same = same - _SEAM if same > 2 * _SEAM else 0
    while same and probes[same].row.get("role") == "tool":  # results go with the row of their calls
        same -= 1
    return same


def _behind(same: int, rest: Match) -> Match:
    """The whole, of what is as before and what is behind it."""
    return Match(
        [*((n,) for n in range(same)), *(tuple(n + same for n in found) for found in rest.found)],
        {*range(same), *(n + same for n in rest.taken)},
        {n + same for n in rest.sure},
        {n + same for n in rest.new},
        same,
    )


def _by_uid(
    stored: Sequence[Entry], probes: Sequence[Probe], by_uid: Mapping[str, int], result: Match
) -> None:
    places = {entry.id: place for place, entry in enumerate(stored)}
    for n, probe in enumerate(probes):
        parts = [places[by_uid[name]] for name in probe.names if by_uid.get(name) in places]
        if parts and by_uid.get(probe.names[0]) in places:
            result.bind(n, *dict.fromkeys(parts))
            result.sure.add(n)


def _by_memory(
    stored: Sequence[Entry],
    probes: Sequence[Probe],
    before: Mapping[int, Sequence[int]],
    result: Match,
) -> None:
    """Rows that are as they were in the list before, and stand for what another agent's list has taken back."""
    if not before:
        return
    places = {entry.id: place for place, entry in enumerate(stored)}
    for n, probe in enumerate(probes):
        wanted = before.get(probe.at, ())
        found = [
            places[each] for each in wanted if each in places and stored[places[each]].withdrawn
        ]
        whole = found and len(found) == len(wanted) and result.taken.isdisjoint(found)
        if whole and not probe.names:
            result.bind(n, *found)
            result.sure.add(n)


def _by_uid_and_fold(
    stored: Sequence[Entry], probes: Sequence[Probe], leftover: Leftover, result: Match
) -> None:
    """A fold whose uid names its first part only: the host had given the others none yet."""
    for n in sorted(result.sure):
        first, *others = result.found[n]
        if others or same_words(probes[n].key, stored[first].key):
            continue
        run = [first, *_unnamed_behind(stored, first, result.taken)]
        if len(run) > 1 and (folded := leftover.fold(probes[n].row, run)):
            result.bind(n, *folded)


def _unnamed_behind(stored: Sequence[Entry], first: int, taken: Collection[int]) -> Iterator[int]:
    """The next messages, up to one of the same role that has a uid of its own; taken back, if the first one is."""
    role, back = stored[first].role, stored[first].withdrawn
    there = (i for i in range(first + 1, len(stored)) if back or not stored[i].withdrawn)
    for i in islice(there, LOOK_AHEAD - 1):
        if i in taken or (stored[i].role == role and not is_minted(stored[i].uid)):
            return
        yield i


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


def _all_by_words(
    stored: Sequence[Entry], probes: Sequence[Probe], uids: Uids, result: Match, *, behind: bool
) -> None:
    for window in _gaps(len(stored), result):
        _by_words(stored, probes, window, uids, result)
    _close_up(stored, probes, uids, result, behind=behind, leftover=True)


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
    gone = {n for n, i in enumerate(free) if stored[i].withdrawn}
    found = align(keys, [probes[n].key[:KEY_BYTES] for n in rows], gone)
    for n, place in zip(rows, found, strict=True):
        if place is not None and uids.allow(probes[n].row, stored[free[place]]):
            result.bind(n, free[place])


def _by_fold(
    stored: Sequence[Entry], probes: Sequence[Probe], leftover: Leftover, result: Match
) -> bool:
    """Bind folds that stand beside words of theirs; those say the same anew, or are those of another message.

    True if there were any: rows beside them, and more folds, may be known then.
    """
    folds = folds_beside(stored, probes, result.found, result.sure, leftover)
    places = {place for fold in folds.values() for place in fold}
    result.found = [() if places.intersection(each) else each for each in result.found]
    for n, fold in folds.items():
        result.bind(n, *fold)
    return bool(folds)


def _drop_weak_end(
    stored: Sequence[Entry], probes: Sequence[Probe], leftover: Leftover, result: Match
) -> None:
    """Unbind short answers at the end that follow another question than before.

    "Done." after a new request is not the "Done." that was withdrawn with the
    old one; bound to it, it would make the new request an edit of the old.
    """
    start, end = _last_run(result.found, len(probes))
    if not start or _is_strong(probes, start, end, result):
        return
    if _is_strong(probes, start, _alike_until(stored, probes, leftover, end, result), result):
        return
    while start and not _is_strong(probes, start, end, result):
        row = start
        while row and not result.found[row - 1]:
            row -= 1
        before = result.found[row - 1][-1] if row else -1
        free = [
            i
            for i in range(before + 1, result.found[start][0])
            if i not in result.taken and not stored[i].withdrawn
        ]
        tried = (free[n : n + LOOK_AHEAD] for n in range(min(len(free), LOOK_AHEAD)))
        if not free or any(leftover.run(probes[row], run) for run in tried):
            return
        for n in range(start, end):
            result.unbind(n)
        start, end = _last_run(result.found, start)


def _last_run(found: Sequence[Sequence[int]], end: int) -> tuple[int, int]:
    """From which to which of the rows in front of *end* the last ones are that are bound."""
    while end and not found[end - 1]:
        end -= 1
    start = end
    while start and found[start - 1]:
        start -= 1
    return start, end


def _alike_until(
    stored: Sequence[Entry], probes: Sequence[Probe], leftover: Leftover, end: int, result: Match
) -> int:
    """Behind which row from *end* on the rows are the stored ones that follow, stripped or flattened."""
    place = result.found[end - 1][-1] + 1
    while end < len(probes) and place < len(stored):
        near = leftover.free(place, min(place + LOOK_AHEAD, len(stored)))
        run = leftover.run(probes[end], near) if near[:1] == [place] else ()
        if not run:
            break
        end, place = end + 1, run[-1] + 1
    return end


def _drop_end_taken_back(
    stored: Sequence[Entry], probes: Sequence[Probe], result: Match, *, behind: bool
) -> None:
    """Unbind short answers at the end that were taken back before, where the list lacks what stands in front of them.

    That was taken back as well, then, and the same is said anew: it is no filtered list that has them again.
    """
    start = end = len(probes)
    while start and (places := result.found[start - 1]) and stored[places[0]].withdrawn:
        start -= 1
    before = result.found[start - 1] if start else (-1,) * behind
    if not before or start == end or _is_strong(probes, start, end, result):
        return
    between = range(before[-1] + 1, result.found[start][0])
    if any(i not in result.taken and not stored[i].withdrawn for i in between):
        for n in range(start, end):
            result.unbind(n)


def _by_call(probes: Sequence[Probe], leftover: Leftover, result: Match) -> None:
    """Results of one row's calls, in whatever order the host gives them: each by the call that it answers."""
    if all(result.found):
        return
    called: tuple[int, ...] = ()
    for n, probe in enumerate(probes):
        if probe.row.get("role") != "tool":
            called = result.found[n]
        elif called and not result.found[n] and n not in result.new:
            place = leftover.answer(probe, called[-1])
            if place is not None:
                result.bind(n, place)


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
    leftover: Leftover, probes: Sequence[Probe], window: tuple[int, int, int, int], result: Match
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
                free[place : place + LOOK_AHEAD],
                alone=len(free) == len(rows) == 1,
                anchored=before == (free[place] - 1,),
            )
            for place in range(at, min(at + leftover.reach, len(free)))
        )
        run = next(filter(None, tried), ()) or leftover.far(probes[n], free, at + leftover.reach)
        if run:
            result.bind(n, *run)
            at = bisect_right(free, run[-1])


def _close_up(
    stored: Sequence[Entry],
    probes: Sequence[Probe],
    uids: Uids,
    result: Match,
    *,
    behind: bool,
    leftover: bool = False,
) -> None:
    """Bind a row to the message right behind that of the row before it, where that says the same.

    Of two that say the same, the one behind a hole was taken back with what stands in the hole: hosts cut lists
    at their end. Or a row that follows is a fold of what stands in the hole and that one. *leftover*: rows that
    are not bound yet may be in the hole, so only what stands right behind a row that is bound is looked at.
    """
    at = -1 if behind else len(stored)
    for n, places in enumerate(result.found):
        if leftover and n and not result.found[n - 1]:
            at = len(stored)
        if places and at + 1 < places[0] and len(places) == 1 and n not in result.sure:
            there = (i for i in range(at + 1, places[0]) if not stored[i].withdrawn)
            nearest = next(there, places[0])
            if _may_be(probes[n], stored[nearest], uids) and nearest not in result.taken:
                result.taken.discard(places[0])
                result.bind(n, nearest)
        if result.found[n]:
            at = max(result.found[n])


def _may_be(probe: Probe, entry: Entry, uids: Uids) -> bool:
    return same_words(probe.key, entry.key) and uids.allow(probe.row, entry)
