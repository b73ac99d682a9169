"""Where in the log an answer must be: places in which most of what is asked for comes together.

A place is a run of neighbouring numbers, which are neighbours in a conversation unless several are
held at once. Those that have the most to say are looked at closely, with what stands around them.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import chain, islice

from . import ranking
from .fts_terms import NUMBERS, Found, Numbers, Scope, condition
from .records import Filter

__all__ = ["passing", "ranked"]

#: Neighbouring numbers that are one place, how many places are looked at closely, and how many at all.
_PLACE, _PLACES, _LIKELY = 8, 24, 60
_CHUNK = 500
#: Messages with which a close look is content.
_FEW = 10


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
    for start in range(0, max(len(likely), 1), _PLACES):
        runs += _runs(sql, _spans(likely[start : start + _PLACES], scope), where)
        if _suffices(runs, numbers):
            break
    counts = _filled(sql, numbers, terms, runs)
    weighed = [
        ranking.Term(ranking.weight(scope.messages, term.holders), counts[term], term.spreads)
        for term in terms
    ]
    kind = ranking.kind_of((row.role, row.length) for run in runs for row in run)
    found = ranking.scores(runs, weighed, kind, scope.high)
    if len(found) < limit and len(likely) > _PLACES:
        seen = {row.id for run in runs for row in run}
        others = _runs(sql, _spans(likely[_PLACES:], scope), where)
        further = _further(others, weighed, min(found.values(), default=1.0))
        found |= {number: worth for number, worth in further.items() if number not in seen}
    return found


def _suffices(runs: Sequence[Sequence[ranking.Row]], numbers: Numbers) -> bool:
    """Whether enough of these messages hold any of the terms, of those that may be returned."""
    rows = (row for run in runs for row in run if row.found)
    holding = (row for row in rows if any(row.id in counts for counts in numbers.values()))
    return sum(1 for _ in islice(holding, _FEW)) == _FEW


def _kept(sql: sqlite3.Connection, numbers: Numbers, where: Filter) -> set[int] | None:
    """Those that the search may return, where it may not return all of its scope."""
    if not where.is_narrow:
        return None
    return passing(sql, sorted(set().union(*numbers.values())), _inside(where))


def _inside(where: Filter) -> Filter:
    """*where*, for messages of which it is known that they are on its lines."""
    return where if where.turns is not None else replace(where, lines=None)


def passing(
    sql: sqlite3.Connection,
    every: Sequence[int],
    where: Filter,
) -> set[int]:
    """Those of these messages that *where* lets pass."""
    clause, values = condition(where)
    found: set[int] = set()
    for start in range(0, len(every), _CHUNK):
        part = every[start : start + _CHUNK]
        query = f"SELECT m.id FROM messages m WHERE m.id IN ({','.join('?' * len(part))}){clause}"
        found.update(chain.from_iterable(sql.execute(query, [*part, *values])))
    return found


def _likely(
    numbers: Numbers,
    kept: set[int] | None,
    terms: Sequence[Found],
    scope: Scope,
) -> list[int]:
    """Places, that is runs of ``_PLACE`` numbers, the one with the most to say first."""
    worth: dict[int, float] = defaultdict(float)
    for term in terms:
        of_term = numbers[term].keys() if kept is None else numbers[term].keys() & kept
        gain = ranking.weight(scope.messages, term.holders)
        for place in {number // _PLACE for number in of_term}:
            worth[place] += gain
    likely = nlargest(_LIKELY, worth, key=lambda place: (worth[place], place))
    around = {
        place: worth[place] + (worth.get(place - 1, 0.0) + worth.get(place + 1, 0.0)) / 2
        for place in likely
    }
    return sorted(likely, key=lambda place: (-around[place], -place))


def _spans(places: Sequence[int], scope: Scope) -> list[tuple[int, int]]:
    """What is looked at closely: runs of numbers, as (first, last)."""
    if scope.messages <= _PLACE * _PLACES and scope.members is None:
        return [(scope.low, scope.high)]
    return _joined(
        (place * _PLACE - ranking.REACH, (place + 1) * _PLACE + ranking.REACH - 1)
        for place in sorted(places)
    )


def _further(
    runs: Sequence[Sequence[ranking.Row]], terms: Sequence[ranking.Term], most: float
) -> dict[int, float]:
    """Messages of places that were not looked at closely, by the words that they hold: for further pages."""
    worth = {
        row.id: sum(term.weight for term in terms if row.id in term.counts)
        for run in runs
        for row in run
        if row.found
    }
    top = max(worth.values(), default=0.0) or 1.0
    return {number: most * own / top for number, own in worth.items() if own}


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for low, high in spans:
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined


def _runs(
    sql: sqlite3.Connection, spans: Sequence[tuple[int, int]], where: Filter
) -> list[list[ranking.Row]]:
    """The messages of *spans*, in the order of their lines; those aside that count for nothing."""
    kept, values = condition(replace(_inside(where), without_tools=(), without=(), last=None))
    there, more = condition(Filter(without=where.without, last=where.last))
    if where.lines is not None:
        there += f" AND +e.line IN ({','.join('?' * len(where.lines))})"
        more += where.lines
    query = (
        f"SELECT e.line, e.seq, e.message, m.role, m.tokens, 1{kept}, m.tool"
        " FROM entries e INDEXED BY entries_by_message JOIN messages m ON m.id = e.message"
        f" WHERE e.message BETWEEN ? AND ?{there} ORDER BY e.line, e.seq"
    )
    runs: dict[tuple[int, int], list[tuple[ranking.Row, str]]] = {}
    seen: set[int] = set()
    for low, high in spans:
        for line, seq, number, role, length, passes, tool in sql.execute(
            query, [*values, low, high, *more]
        ):
            if number in seen:  # a branch has its parent's
                continue
            seen.add(number)
            if (low, line) not in runs:
                runs[low, line] = []
                if role == "tool" and not tool and where.without_tools:
                    tool = _called(sql, line, seq)  # noqa: PLW2901 - the host does not say it
            runs[low, line].append((ranking.Row(number, role, length, bool(passes)), tool))
    return [ranking.relevant(run, where.without_tools) for run in runs.values()]


def _called(sql: sqlite3.Connection, line: int, seq: int) -> str:
    """The tool whose result stands there, by the call before it."""
    before = (
        "SELECT m.role, m.tool FROM entries e JOIN messages m ON m.id = e.message"
        " WHERE e.line = ? AND e.seq < ? ORDER BY e.seq DESC LIMIT 64"
    )
    rows = sql.execute(before, [line, seq])
    return next((tool for role, tool in rows if role != "tool" or tool), "")


def _filled(
    sql: sqlite3.Connection,
    numbers: Numbers,
    terms: Sequence[Found],
    runs: Sequence[Sequence[ranking.Row]],
) -> Numbers:
    """With the words that are too common to be read everywhere, where the others come together."""
    found = dict(numbers)
    for term in terms:
        if term.holders and not numbers[term]:
            found[term] = Counter()
            for run in filter(None, runs):
                span = min(row.id for row in run), max(row.id for row in run)
                found[term].update(chain.from_iterable(sql.execute(NUMBERS, [term.text, *span])))
    return found
