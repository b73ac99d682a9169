"""Searching with the full-text indexes: a few candidates by the rare words, then their exact order.

SQLite's own ranking looks up the length of every message that holds any of the words; in a million
messages a plain question meets a hundred thousand. Here only numbers of messages are read, of the rare
words first and no more than ``_MOST`` in all; the places where most of their weight comes
together are looked at closely, common words included. ``storage.ranking`` says what the order is.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from heapq import nlargest
from itertools import chain
from typing import NamedTuple

from . import ranking
from .fts_terms import condition, expression
from .migrations import TOKENS
from .records import Filter, Hit
from .uids import unpack_uid

__all__ = ["search", "search_nodes", "vocabulary"]

#: Occurrences of words that are read for one question.
_MOST = 40_000
#: Messages of a scope whose words are counted for that scope alone, and that are told from others' by number.
_SMALL = 20_000
#: Neighbouring numbers that are one place, and how many places are looked at closely.
_PLACE, _PLACES = 8, 24
_CHUNK = 500
#: Results with which a search is content.
_FEW = 10
#: Share of the database from which on a scope is read as if it were all of it.
_WIDE = 0.1

_NUMBERS = "SELECT rowid FROM message_index WHERE message_index MATCH ? AND rowid BETWEEN ? AND ?"
_COUNT = f"SELECT count(*) FROM ({_NUMBERS})"


class _Scope(NamedTuple):
    """Where a search looks."""

    low: int
    high: int
    """The first and the last number of its messages, others' perhaps among them."""
    messages: int
    members: frozenset[int] | None
    """Its messages, where they are few and others' are among their numbers."""
    share: float = 1.0
    """Of the numbers of the database, what it spans."""
    loose: bool = False
    """Whether others' messages may be among its numbers, and are not told apart."""


class _Found(NamedTuple):
    """A term, and what is known of it before any message is looked at."""

    text: str
    """As an expression."""
    stem: str
    """As the index spells it; empty if it is several words."""
    spreads: bool
    holders: int
    """Messages of the scope that hold it."""


_Numbers = dict[_Found, Counter[int]]
"""How often each term stands in which message."""


def search(
    sql: sqlite3.Connection, words: Sequence[str], phrases: Sequence[str], where: Filter, limit: int
) -> list[Hit]:
    """Messages that hold any of the terms, best first; a message once, however many versions match."""
    asked = {expression([term]): False for term in phrases}
    asked |= {expression([term]): True for term in words}
    asked.pop("", None)
    if not asked:
        return []
    scope = _scope(sql, where)
    terms = _terms(sql, asked, scope)
    numbers = _numbers(sql, terms, scope)
    found = _ranked(sql, terms, numbers, scope, (where, limit))
    if scope.loose and len(found) < min(limit, _FEW):  # others' words hid those of the scope
        passing = _passing(sql, sorted(set().union(*numbers.values())), where)
        numbers = _among(numbers, passing)
        found = _ranked(sql, terms, numbers, scope, (where, limit))
    best = {number: Hit(worth, message=number) for number, worth in found.items()}
    for hit in _earlier(sql, list(asked), where, limit):
        if hit.message is not None and hit.score > best.get(hit.message, Hit(0)).score:
            best[hit.message] = hit
    return sorted(best.values(), key=lambda hit: (-hit.score, -(hit.message or 0)))[:limit]


def _ranked(
    sql: sqlite3.Connection,
    terms: Sequence[_Found],
    numbers: _Numbers,
    scope: _Scope,
    wanted: tuple[Filter, int],
) -> dict[int, float]:
    """What messages are worth: those of the likeliest places exactly, and then others up to the limit."""
    where, limit = wanted
    likely = _likely(numbers, _kept(sql, numbers, where), terms, scope)
    runs = _runs(sql, _spans(likely[:_PLACES], scope), where)
    counts = _filled(sql, numbers, terms, runs)
    weighed = [
        ranking.Term(ranking.weight(scope.messages, term.holders), counts[term], term.spreads)
        for term in terms
    ]
    kind = ranking.kind_of((row.role, row.length) for run in runs for row in run)
    found = ranking.scores(runs, weighed, kind, scope.high)
    if len(found) < limit and len(likely) > _PLACES:
        least = min(found.values(), default=1.0)
        found |= _further(sql, set(likely[_PLACES:]), weighed, where, least)
    return found


def _scope(sql: sqlite3.Connection, where: Filter) -> _Scope:
    (last,) = sql.execute("SELECT ifnull(max(id), 0) FROM messages").fetchone()
    if where.lines is None:
        return _Scope(1, last, last, None)
    marks = ",".join("?" * len(where.lines))
    of_lines = f"SELECT message FROM entries WHERE line IN ({marks}) LIMIT {_SMALL + 1}"
    low, high, count = sql.execute(
        f"SELECT ifnull(min(message), 1), ifnull(max(message), 0), count(*) FROM ({of_lines})",
        where.lines,
    ).fetchone()
    if count > _SMALL:
        return _Scope(1, last, last, None, loose=True)
    members = None
    if high - low >= count:
        members = frozenset(chain.from_iterable(sql.execute(of_lines, where.lines)))
    return _Scope(low, high, count, members, (high - low + 1) / max(last, 1))


# terms


def _terms(sql: sqlite3.Connection, asked: dict[str, bool], scope: _Scope) -> list[_Found]:
    """What is asked for, the rarest first."""
    stems = _stems(sql, list(asked))
    found: dict[str, _Found] = {}
    for text, spreads in asked.items():
        (count,) = sql.execute(_COUNT, [text, scope.low, scope.high]).fetchone()
        found[stems[text] or text] = _Found(text, stems[text], spreads, count)
    return sorted(found.values(), key=lambda term: term.holders)


def _stems(sql: sqlite3.Connection, texts: Sequence[str]) -> dict[str, str]:
    """How the index spells each text that is one word to it; empty for others."""
    sql.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.asked USING fts5(text, {TOKENS}, content='')"
    )
    sql.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.spelt USING fts5vocab(temp, asked, instance)"
    )
    sql.execute("INSERT INTO temp.asked (asked) VALUES ('delete-all')")
    sql.executemany("INSERT INTO temp.asked (rowid, text) VALUES (?, ?)", enumerate(texts))
    stems: dict[int, str] = {}
    several: set[int] = set()
    for at, stem in sql.execute("SELECT doc, term FROM temp.spelt"):
        if at in stems:
            several.add(at)
        stems[at] = stem
    return {text: "" if at in several else stems.get(at, "") for at, text in enumerate(texts)}


def _numbers(sql: sqlite3.Connection, terms: Sequence[_Found], scope: _Scope) -> _Numbers:
    """Which messages hold each term and how often, the rare ones first, until it is enough."""
    left = _MOST
    numbers: _Numbers = {}
    for term in terms:
        numbers[term] = Counter()
        if term.holders and term.holders <= left:
            numbers[term] = _all_numbers(sql, term, scope)
        elif term.holders and left == _MOST:  # no rarer one: the newest
            newest = f"{_NUMBERS} ORDER BY rowid DESC LIMIT {left}"
            rows = sql.execute(newest, [term.text, scope.low, scope.high])
            numbers[term] = Counter(chain.from_iterable(rows))
        left -= min(term.holders, left)
    return numbers if scope.members is None else _among(numbers, scope.members)


def _among(numbers: _Numbers, members: AbstractSet[int]) -> _Numbers:
    return {
        term: Counter({number: counts[number] for number in counts.keys() & members})
        for term, counts in numbers.items()
    }


def _all_numbers(sql: sqlite3.Connection, term: _Found, scope: _Scope) -> Counter[int]:
    if term.stem and _is_wide(sql, term, scope):
        sql.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.held USING fts5vocab(main, message_index, instance)"
        )
        rows = sql.execute(
            "SELECT doc FROM temp.held WHERE term = ? AND doc BETWEEN ? AND ?",
            [term.stem, scope.low, scope.high],
        )
    else:
        rows = sql.execute(_NUMBERS, [term.text, scope.low, scope.high])
    return Counter(chain.from_iterable(rows))


def _is_wide(sql: sqlite3.Connection, term: _Found, scope: _Scope) -> bool:
    """Whether reading every occurrence in the database costs little more than reading those of the scope."""
    if scope.share >= _WIDE:
        return True
    few = f"SELECT count(*) FROM (SELECT 1 FROM message_index WHERE message_index MATCH ? LIMIT {_SMALL})"
    return int(sql.execute(few, [term.text]).fetchone()[0]) < _SMALL


# places


def _kept(sql: sqlite3.Connection, numbers: _Numbers, where: Filter) -> set[int] | None:
    """Those that the search may return, where it may not return all of its scope."""
    if not (where.roles or where.tool or where.since is not None or where.until is not None):
        return None
    return _passing(sql, sorted(set().union(*numbers.values())), replace(where, lines=None))


def _passing(sql: sqlite3.Connection, every: Sequence[int], where: Filter) -> set[int]:
    """Those of these messages that *where* lets pass."""
    clause, values = condition(where)
    passing: set[int] = set()
    for start in range(0, len(every), _CHUNK):
        part = every[start : start + _CHUNK]
        query = f"SELECT m.id FROM messages m WHERE m.id IN ({','.join('?' * len(part))}){clause}"
        passing.update(chain.from_iterable(sql.execute(query, [*part, *values])))
    return passing


def _likely(
    numbers: _Numbers,
    kept: set[int] | None,
    terms: Sequence[_Found],
    scope: _Scope,
) -> list[int]:
    """Places, that is runs of ``_PLACE`` numbers, the one with the most to say first."""
    worth: dict[int, float] = defaultdict(float)
    for term in terms:
        of_term = numbers[term].keys() if kept is None else numbers[term].keys() & kept
        gain = ranking.weight(scope.messages, term.holders)
        for place in {number // _PLACE for number in of_term}:
            worth[place] += gain
    likely = nlargest(4 * _PLACES, worth, key=lambda place: (worth[place], place))
    around = {
        place: worth[place] + (worth.get(place - 1, 0.0) + worth.get(place + 1, 0.0)) / 2
        for place in likely
    }
    return sorted(likely, key=lambda place: (-around[place], -place))


def _spans(places: Sequence[int], scope: _Scope) -> list[tuple[int, int]]:
    """What is looked at closely: runs of numbers, as (first, last)."""
    if scope.messages <= _PLACE * _PLACES and scope.members is None:
        return [(scope.low, scope.high)]
    return _joined(
        (place * _PLACE - ranking.REACH, (place + 1) * _PLACE + ranking.REACH - 1)
        for place in sorted(places)
    )


def _further(
    sql: sqlite3.Connection,
    places: set[int],
    terms: Sequence[ranking.Term],
    where: Filter,
    most: float,
) -> dict[int, float]:
    """Messages of places that were not looked at closely, by the words that they hold: for further pages."""
    worth: dict[int, float] = defaultdict(float)
    for term in terms:
        for number in term.counts:
            if number // _PLACE in places:
                worth[number] += term.weight
    top = max(worth.values(), default=1.0)
    return {number: most * worth[number] / top for number in _passing(sql, list(worth), where)}


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
    """The messages of *spans*, in the order of their lines."""
    clause, values = condition(replace(where, lines=None))
    lines = (
        f" AND +e.line IN ({','.join('?' * len(where.lines))})" if where.lines is not None else ""
    )
    query = (
        f"SELECT e.line, e.message, m.role, m.tokens, 1{clause}"
        " FROM entries e INDEXED BY entries_by_message JOIN messages m ON m.id = e.message"
        f" WHERE e.message BETWEEN ? AND ?{lines} ORDER BY e.line, e.seq"
    )
    runs: dict[tuple[int, int], list[ranking.Row]] = defaultdict(list)
    seen: set[int] = set()
    for low, high in spans:
        for line, number, role, length, kept in sql.execute(
            query, [*values, low, high, *(where.lines or ())]
        ):
            if number not in seen:  # a branch has its parent's
                seen.add(number)
                runs[low, line].append(ranking.Row(number, role, length, bool(kept)))
    return list(runs.values())


def _filled(
    sql: sqlite3.Connection,
    numbers: _Numbers,
    terms: Sequence[_Found],
    runs: Sequence[Sequence[ranking.Row]],
) -> _Numbers:
    """With the words that are too common to be read everywhere, where the others come together."""
    found = dict(numbers)
    for term in terms:
        if term.holders and not numbers[term]:
            found[term] = Counter()
            for run in runs:
                span = min(row.id for row in run), max(row.id for row in run)
                found[term].update(chain.from_iterable(sql.execute(_NUMBERS, [term.text, *span])))
    return found


def _earlier(sql: sqlite3.Connection, texts: Sequence[str], where: Filter, limit: int) -> list[Hit]:
    """Earlier versions of messages that hold any of the terms."""
    if sql.execute("SELECT 1 FROM versions LIMIT 1").fetchone() is None:
        return []
    clause, values = condition(where)
    rows = sql.execute(
        "SELECT m.id, v.version, bm25(message_index) FROM message_index f JOIN versions v ON v.id = -f.rowid"
        f" JOIN messages m ON m.id = v.message WHERE message_index MATCH ? AND f.rowid < 0{clause}"
        " ORDER BY 3, 1 DESC LIMIT ?",
        [" OR ".join(texts), *values, limit],
    )
    return [Hit(-rank, message=number, version=version) for number, version, rank in rows]


# summaries and words


def search_nodes(
    sql: sqlite3.Connection, words: Sequence[str], phrases: Sequence[str], where: Filter, limit: int
) -> list[Hit]:
    """Summary nodes that hold any of the terms, best first."""
    match = expression([*words, *phrases])
    if not match:
        return []
    lines = "" if where.lines is None else f" AND n.line IN ({','.join('?' * len(where.lines))})"
    rows = sql.execute(
        "SELECT n.uid, bm25(node_index) FROM node_index f JOIN nodes n ON n.id = f.rowid"
        f" WHERE node_index MATCH ?{lines} ORDER BY 2, n.id DESC LIMIT ?",
        [match, *(where.lines or ()), limit],
    )
    return [Hit(-rank, node=unpack_uid(uid)) for uid, rank in rows]


def vocabulary(sql: sqlite3.Connection) -> list[str]:
    """All terms of the message index."""
    sql.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, message_index, row)"
    )
    return [term for (term,) in sql.execute("SELECT term FROM temp.terms")]
