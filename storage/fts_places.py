"""Where in the log an answer must be: places in which most of what is asked for comes together.

A place is a run of neighbouring numbers, which are neighbours in a conversation unless several are
held at once. Those that have the most to say are looked at closely, with what stands around them.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from . import ranking
from .fts_rows import passing, runs_of
from .fts_terms import NUMBERS, Found, Numbers, Scope, inside, listed
from .records import Filter

__all__ = ["FIGURES", "ranked"]

#: Neighbouring numbers that are one place, how many places are looked at closely, and how many at all.
_PLACE, _PLACES, _LIKELY = 8, 24, 60
#: Places from which on it pays to find out whether a term can still lift a new one, by so much and not by rounding.
_MANY, _ROUNDED = 1_000, 1.000_001
#: Messages with which a close look is content.
_FEW = 10
FIGURES: Mapping[str, Any] = {
    "place": _PLACE, "places": _PLACES, "likely": _LIKELY, "many": _MANY, "rounded": _ROUNDED, "few": _FEW,
}  # fmt: skip
"""The same by name, for a page that ranks without us."""

Span = tuple[int, int]
"""The first and the last of neighbouring numbers."""


def ranked(
    sql: sqlite3.Connection,
    terms: Sequence[Found],
    numbers: Numbers,
    scope: Scope,
    wanted: tuple[Filter, int],
) -> dict[int, float]:
    """What messages are worth: those of the likeliest places exactly, and then others up to the limit."""
    where, limit = wanted
    likely = _likely(numbers, _kept(sql, numbers, where), terms, scope)
    runs: list[list[ranking.Row]] = []
    near: list[Span] = []
    for start in range(0, max(len(likely), 1), _PLACES):
        spans = _spans(likely[start : start + _PLACES], scope)
        near = _joined([*near, *spans])
        runs += runs_of(sql, spans, where)
        if _suffices(runs, numbers, near):
            break
    numbers = _filled(sql, numbers, runs)
    weights = {term: ranking.weight(scope.messages, term.holders) for term in terms}
    weighed = [
        ranking.Term(weights[term], Counter(_within(numbers[term], near)), term.spreads)
        for term in terms
    ]
    kind = ranking.kind_of((row.role, row.length) for run in runs for row in run)
    found = ranking.scores(runs, weighed, kind, scope.high)
    if len(found) < limit and len(likely) > _PLACES:
        spans = _spans(likely[_PLACES:], scope)
        worth = _held_in(spans, weights, numbers)
        let = passing(sql, sorted(worth), where if scope.loose else inside(where))
        seen = {row.id for run in runs for row in run}
        found |= _below(found, {number: worth[number] for number in let}, seen)
    return found


def _suffices(
    runs: Iterable[Iterable[ranking.Row]], numbers: Numbers, near: Sequence[Span]
) -> bool:
    """Whether enough of these messages hold any of the terms, of those that may be returned."""
    found = {row.id for run in runs for row in run if row.found}
    holding: set[int] = set()
    for each in numbers.values():
        holding |= found.intersection(_within(each, near))
        if len(holding) >= _FEW:
            return True
    return False


def _kept(sql: sqlite3.Connection, numbers: Numbers, where: Filter) -> set[int] | None:
    """Those that the search may return, where it may not return all of its scope."""
    if not where.is_narrow:
        return None
    return passing(sql, sorted(set().union(*numbers.values())), inside(where))


def _likely(
    numbers: Numbers, kept: set[int] | None, terms: Sequence[Found], scope: Scope
) -> list[int]:
    """Places, that is runs of ``_PLACE`` numbers, the one with the most to say first.

    As soon as all that is left cannot lift a new place among the best, only those that are known are counted on.
    """
    worth: dict[int, float] = defaultdict(float)
    held: list[tuple[set[int], float]] = []
    rest = sum(ranking.weight(scope.messages, term.holders) for term in terms)
    for term in terms:
        gain = ranking.weight(scope.messages, term.holders)
        holding = numbers[term] if kept is None else kept.intersection(numbers[term])
        places = {number // _PLACE for number in holding}
        settled = len(places) > _MANY and _least(worth) > rest * _ROUNDED
        for place in places.intersection(worth) if settled else places:
            worth[place] += gain
        held.append((places, gain))
        rest -= gain

    def whole(place: int) -> float:
        if place in worth:
            return worth[place]
        return sum((gain for places, gain in held if place in places), 0.0)

    least = _least(worth)
    best = sorted((own, place) for place, own in worth.items() if own >= least)[-_LIKELY:]
    around = {place: own + (whole(place - 1) + whole(place + 1)) / 2 for own, place in best}
    return sorted(around, key=lambda place: (-around[place], -place))


def _least(worth: Mapping[int, float]) -> float:
    """What the last of the ``_LIKELY`` best places is worth; 0 if there are fewer."""
    left = _LIKELY
    held = Counter(worth.values())  # few: each is a sum of the same weights
    for own in sorted(held, reverse=True):
        left -= held[own]
        if left <= 0:
            return own
    return 0.0


def _spans(places: Sequence[int], scope: Scope) -> list[Span]:
    """What is looked at closely."""
    if scope.messages <= _PLACE * _PLACES and scope.members is None:
        return [(scope.low, scope.high)]
    return _joined(
        (place * _PLACE - ranking.REACH, (place + 1) * _PLACE + ranking.REACH - 1)
        for place in places
    )


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _within(numbers: Sequence[int], spans: Iterable[Span]) -> list[int]:
    """Those of ascending *numbers* that are in one of *spans*."""
    found: list[int] = []
    for low, high in spans:
        start = bisect_left(numbers, low)
        found += numbers[start : bisect_right(numbers, high, start)]
    return found


def _held_in(
    spans: Sequence[Span], weights: Mapping[Found, float], numbers: Numbers
) -> dict[int, float]:
    """What messages are worth by the words that they hold alone."""
    worth: dict[int, float] = defaultdict(float)
    for term, weight in weights.items():
        for number in set(_within(numbers[term], spans)):
            worth[number] += weight
    return worth


def _below(
    found: Mapping[int, float], worth: Mapping[int, float], seen: set[int]
) -> dict[int, float]:
    """Messages of places that were not looked at closely, behind all that were: for further pages."""
    top = max(worth.values(), default=0.0) or 1.0
    most = min(found.values(), default=1.0)
    return {number: most * own / top for number, own in worth.items() if own and number not in seen}


def _filled(
    sql: sqlite3.Connection, numbers: Numbers, runs: Sequence[Sequence[ranking.Row]]
) -> Numbers:
    """With the words that are too common to be read everywhere, where the others come together."""
    spans = [(min(row.id for row in run), max(row.id for row in run)) for run in runs if run]
    common = [term for term in numbers if term.holders and not numbers[term]]
    return {
        **numbers,
        **{
            term: sorted(
                chain.from_iterable(listed(sql, NUMBERS, [term.text, *span]) for span in spans)
            )
            for term in common
        },
    }
