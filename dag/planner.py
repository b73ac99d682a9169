"""Decides where the verbatim tail begins.

By whole turns if they fit; inside the newest turn, at a step, if that turn
alone is too large: its user message is then lifted in front of the steps that
stay. A cut never parts a call from its result, and stands behind rows of
earlier turns that no strict provider takes: those are compacted first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, islice
from typing import Any

from .budget import Budget
from .fit import SMALLEST_STUB
from .messages import Row, calls_of, is_system, starts_turn, text_of
from .tokens import count_text
from .validity import crossed, partners, refuses

__all__ = ["Cut", "choose_cut", "cut_to_come"]

_TURNS_KEPT = 3
"""User turns that stay if they fit at all: a host's undo and retry look for the last ones.

The newest alone is no reason to go beyond the tail: it may be one of a hundred steps, and is cut at one of them.
"""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the verbatim part of a list begins."""

    keep_from: int
    """Index of its first row; the length of the list if there is none."""
    lifted: int | None = None
    """Index of the user row that is kept in front of it."""
    stubs: Mapping[int, int] = field(default_factory=dict)
    """Rows that are shown in part: index, and the tokens that their text may have."""


def choose_cut(
    rows: Sequence[Any],
    tokens: Sequence[int],
    budget: Budget,
    speaks: Callable[[int], bool] | None = None,
) -> Cut:
    """Where to cut *rows*, whose sizes are *tokens*; ``Cut(0)`` if all of it stays.

    *speaks* says of an index whether a person spoke there, where more is known than the rows tell.
    """
    pairs = partners(rows)
    crossing = crossed(pairs, len(rows))
    speaks = speaks or (lambda index: not is_system(rows[index]) and starts_turn(rows[index]))
    starts = _newest_turns(crossing, speaks)  # from the end: an old list is long, its tail is not
    few = list(islice(starts, _TURNS_KEPT))
    newest = few[0] if few else None
    stubs = {} if newest is None else _user_stub(rows, tokens, newest, budget)
    shown = [stubs.get(i, size) for i, size in enumerate(tokens)]
    wide = max(budget.tail, budget.turns_tail)
    alone = wide if few and sum(shown[few[-1] :]) <= wide else budget.tail
    best: int | None = None
    spent, behind = 0, len(rows)
    for kept, index in enumerate(chain(few, starts), 1):
        spent += sum(shown[index:behind])
        allowed = (alone, wide, wide)[kept - 1] if kept <= _TURNS_KEPT else budget.tail
        refused = best is not None and refuses(rows, range(index, behind), pairs)
        if spent > allowed or refused:
            break
        best, behind = index, index
    if best is not None:
        return Cut(0 if best == _first(rows) else best, None, stubs)
    return _inside(rows, shown, crossing, newest, budget, stubs)


def cut_to_come(
    rows: Sequence[Any],
    tokens: Sequence[int],
    budget: Budget,
    to_come: int,
    speaks: Callable[[int], bool],
) -> Cut:
    """Where a list is cut once *to_come* more tokens, in one turn or more, stand behind.

    If the agent is at work the first of them are steps of the newest turn.
    """
    crossing = crossed(partners(rows), len(rows))
    starts = _newest_turns(crossing, speaks)
    few = list(islice(starts, _TURNS_KEPT))
    wide = max(budget.tail, budget.turns_tail)
    at_work = bool(few and _is_result(rows[-1]))
    alone = wide if few and sum(tokens[few[-1] :]) + to_come <= wide else budget.tail
    if at_work and sum(tokens[few[0] :]) + to_come > alone:
        room = budget.tail - tokens[few[0]]
        least = _least(rows, tokens, max(room // 3, SMALLEST_STUB))
        steps = (i for i in _steps(rows, crossing, few[0]) if least[i] <= room - to_come)
        return Cut(next(steps, len(rows)), few[0])
    spent, place = to_come, len(rows)
    for kept, index in enumerate(chain(few, starts), 1 if at_work else 2):
        spent += sum(tokens[index:place])
        if spent > ((alone, wide, wide)[kept - 1] if kept <= _TURNS_KEPT else budget.tail):
            break
        place = index
    return Cut(place)


def _newest_turns(crossing: Sequence[bool], speaks: Callable[[int], bool]) -> Iterator[int]:
    """Indexes of the rows with which a person's turn begins, the newest first."""
    for index in range(len(crossing) - 1, -1, -1):
        if not crossing[index] and speaks(index):
            yield index


def _user_stub(
    rows: Sequence[Any], tokens: Sequence[int], user: int, budget: Budget
) -> dict[int, int]:
    """The newest user message, if it alone takes more than half: what may be shown of it."""
    if tokens[user] <= budget.limit // 2:
        return {}
    room = max(budget.limit // 2 - budget.reserve, SMALLEST_STUB)
    return {user: min(room, count_text(text_of(rows[user])) + SMALLEST_STUB)}


def _first(rows: Sequence[Any]) -> int:
    return next((i for i, row in enumerate(rows) if not is_system(row)), len(rows))


def _inside(
    rows: Sequence[Any],
    tokens: Sequence[int],
    crossing: Sequence[bool],
    user: int | None,
    budget: Budget,
    stubs: dict[int, int],
) -> Cut:
    """A cut at a step of the newest turn."""
    spent = 0 if user is None else tokens[user]
    steps = _steps(rows, crossing, user)
    for room in (
        budget.tail - spent,
        max(budget.tail, budget.turns_tail) - spent,
        budget.limit - budget.reserve - spent,
    ):
        most = max(room // 3, SMALLEST_STUB)
        least = _least(rows, tokens, most) if steps else []
        for index in steps:
            if least[index] <= room:
                stubs |= _stubs(rows, tokens, index, room, most)
                return _cut(rows, index, user, stubs)
    if steps and _pending(rows):
        return _cut(
            rows, steps[-1], user, stubs | _stubs(rows, tokens, steps[-1], 0, SMALLEST_STUB)
        )
    return _cut(rows, len(rows), user, stubs)


def _steps(rows: Sequence[Any], crossing: Sequence[bool], user: int | None) -> list[int]:
    """Rows of the agent with which a step of the turn of *user* begins."""
    return [
        i
        for i in range(0 if user is None else user + 1, len(rows))
        if not is_system(rows[i]) and rows[i].get("role") == "assistant" and not crossing[i]
    ]


def _cut(rows: Sequence[Any], keep_from: int, user: int | None, stubs: Mapping[int, int]) -> Cut:
    if user is None:
        return Cut(keep_from if keep_from > _first(rows) else 0, None, stubs)
    if not any(not is_system(row) for row in rows[user + 1 : keep_from]):
        return Cut(0 if user == _first(rows) else user, None, stubs)  # the whole turn stays
    return Cut(keep_from, user, stubs)


def _least(rows: Sequence[Any], tokens: Sequence[int], most: int) -> list[int]:
    """For each row the tokens from it on, if every tool result is cut to *most*."""
    shown = [
        min(size, most) if _is_result(row) else size
        for row, size in zip(reversed(rows), reversed(tokens), strict=True)
    ]
    return list(accumulate(shown))[::-1]


def _stubs(
    rows: Sequence[Any], tokens: Sequence[int], start: int, room: int, most: int
) -> dict[int, int]:
    """The largest results first, until the rest fits as it is."""
    total = sum(tokens[start:])
    chosen: dict[int, int] = {}
    results = (i for i in range(start, len(rows)) if _is_result(rows[i]) and tokens[i] > most)
    for index in sorted(results, key=lambda i: -tokens[i]):
        if total <= room:
            break
        chosen[index] = most
        total -= tokens[index] - most
    return chosen


def _is_result(row: Any) -> bool:
    return not is_system(row) and row.get("role") == "tool"


def _pending(rows: Sequence[Any]) -> bool:
    """Whether the list ends in calls that are being carried out."""
    answered = set(partners(rows).values())
    last: Row | None = None
    place = -1
    for place in range(len(rows) - 1, -1, -1):
        if not is_system(rows[place]):
            last = rows[place]
            break
    return last is not None and bool(calls_of(last)) and place not in answered
