"""Searching with the full-text indexes: a few candidates by the rare words, then their exact order.

SQLite's own ranking looks up the length of every message that holds any of the words; in a million
messages a plain question meets a hundred thousand. Here only numbers of messages are read, of the rare
words first and no more than ``_MOST`` in all; the places where most of their weight comes
together are looked at closely, common words included. ``storage.ranking`` says what the order is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any

from .fts_places import ranked
from .fts_rows import passing
from .fts_terms import NUMBERS, Found, Numbers, Scope, condition, expression, listed
from .migrations import TOKENS
from .records import Filter, Hit
from .uids import unpack_uid

__all__ = ["FIGURES", "letters", "search", "search_nodes", "vocabulary"]

#: Occurrences of words that are read for one question.
_MOST = 40_000
#: Messages of a scope whose words are counted for that scope alone, and that are told from others' by number.
_SMALL = 20_000
#: Messages that hold a word, up to which every occurrence is read for a scope that is a small part of the database: how
#: often a word stands in a message is known in no other way, and with 4,000 long answers are found less well.
_OFTEN = 20_000
#: Numbers from which on frequent terms are counted in samples, how many of those, and numbers of each.
_SAMPLED, _SAMPLES, _SAMPLE = 100_000, 16, 4_000
#: The newest numbers, and how many of them must hold a word, or a phrase, that is counted so: phrases take longer.
_NEWEST, _FREQUENT, _FREQUENT_PHRASE = 20_000, 2_500, 250
#: Results with which a search is content.
_FEW = 10
#: Share of the database from which on a scope is read as if it were all of it.
_WIDE = 0.1
FIGURES: Mapping[str, Any] = {
    "most": _MOST, "small": _SMALL, "sampled": _SAMPLED, "samples": _SAMPLES, "sample": _SAMPLE,
    "newest": _NEWEST, "frequent": _FREQUENT, "frequent_phrase": _FREQUENT_PHRASE,
}  # fmt: skip
"""The same by name, for a page that ranks without us."""

_COUNT = f"SELECT count(*) FROM ({NUMBERS})"


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
    found = ranked(sql, terms, numbers, scope, (where, limit))
    if scope.loose and len(found) < min(limit, _FEW):  # others' words hid those of the scope
        among = passing(sql, sorted(set().union(*numbers.values())), where)
        numbers = _among(numbers, among)
        found = ranked(sql, terms, numbers, scope, (where, limit))
    best = {number: Hit(worth, message=number) for number, worth in found.items()}
    for hit in _earlier(sql, list(asked), where, limit):
        if hit.message is not None and hit.score > best.get(hit.message, Hit(0)).score:
            best[hit.message] = hit
    return sorted(best.values(), key=lambda hit: (-hit.score, -(hit.message or 0)))[:limit]


def _scope(sql: sqlite3.Connection, where: Filter) -> Scope:
    (newest,) = sql.execute("SELECT ifnull(max(id), 0) FROM messages").fetchone()
    last = newest if where.last is None else min(newest, where.last)
    if where.lines is None:
        return Scope(1, last, last, None)
    marks = ",".join("?" * len(where.lines))
    of_lines = (
        f"SELECT message FROM entries WHERE line IN ({marks}) AND message <= ? LIMIT {_SMALL + 1}"
    )
    values = [*where.lines, last]
    low, high, count = sql.execute(
        f"SELECT ifnull(min(message), 1), ifnull(max(message), 0), count(*) FROM ({of_lines})",
        values,
    ).fetchone()
    if count > _SMALL:
        return Scope(1, last, last, None, loose=True)
    members = None
    if high - low >= count:
        members = frozenset(chain.from_iterable(sql.execute(of_lines, values)))
    return Scope(low, high, count, members, (high - low + 1) / max(newest, 1))


# terms


def _terms(sql: sqlite3.Connection, asked: dict[str, bool], scope: Scope) -> list[Found]:
    """What is asked for, the rarest first."""
    stems = _stems(sql, list(asked))
    found: dict[str, Found] = {}
    for text, spreads in asked.items():
        among = _holders(sql, text, scope, _FREQUENT if spreads else _FREQUENT_PHRASE)
        holders = _own(sql, text, scope, among)
        found[stems[text] or text] = Found(text, stems[text], spreads, holders, among)
    return sorted(found.values(), key=lambda term: term.holders)


def _holders(sql: sqlite3.Connection, text: str, scope: Scope, frequent: int) -> int:
    """How many messages hold a term; of a frequent one about how many, for a weight needs to know no better.

    To count the holders of a phrase of common words in a million messages takes 80 ms.
    """
    low, high = scope.low, scope.high
    step = (high - low + 1) // _SAMPLES
    if step * _SAMPLES < _SAMPLED or _counted(sql, text, high - _NEWEST + 1, high) < frequent:
        return _counted(sql, text, low, high)
    firsts = range(low, low + step * _SAMPLES, step)
    some = sum(_counted(sql, text, first, first + _SAMPLE - 1) for first in firsts)
    return some * step // _SAMPLE


def _own(sql: sqlite3.Connection, text: str, scope: Scope, among: int) -> int:
    """How many of those that hold a term are the scope's; of very many about as large a part as of all messages."""
    if scope.members is None or not among:
        return among
    if among > _MOST:
        return among * scope.messages // (scope.high - scope.low + 1)
    return len(scope.members.intersection(listed(sql, NUMBERS, [text, scope.low, scope.high])))


def _counted(sql: sqlite3.Connection, text: str, low: int, high: int) -> int:
    (count,) = sql.execute(_COUNT, [text, low, high]).fetchone()
    return int(count)


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


def _numbers(sql: sqlite3.Connection, terms: Sequence[Found], scope: Scope) -> Numbers:
    """Which messages hold each term and how often, the rare ones first, until it is enough."""
    left = _MOST
    numbers: dict[Found, list[int]] = {}
    for term in terms:
        numbers[term] = []
        if term.holders and term.among <= left:
            numbers[term] = _all_numbers(sql, term, scope)
        elif term.holders and left == _MOST:  # no rarer one: the newest
            newest = f"{NUMBERS} ORDER BY rowid DESC LIMIT {left}"
            numbers[term] = sorted(listed(sql, newest, [term.text, scope.low, scope.high]))
        left -= min(term.among, left)
    return numbers if scope.members is None else _among(numbers, scope.members)


def _among(numbers: Numbers, members: AbstractSet[int]) -> Numbers:
    return {
        term: [number for number in holding if number in members]
        for term, holding in numbers.items()
    }


def _all_numbers(sql: sqlite3.Connection, term: Found, scope: Scope) -> list[int]:
    if term.stem and _is_wide(sql, term, scope):
        sql.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.held USING fts5vocab(main, message_index, instance)"
        )
        held = "SELECT doc AS number FROM temp.held WHERE term = ? AND doc BETWEEN ? AND ?"
        return listed(sql, held, [term.stem, scope.low, scope.high])
    return listed(sql, NUMBERS, [term.text, scope.low, scope.high])


def _is_wide(sql: sqlite3.Connection, term: Found, scope: Scope) -> bool:
    """Whether reading every occurrence in the database costs little more than reading those of the scope."""
    if scope.share >= _WIDE:
        return True
    few = f"SELECT count(*) FROM (SELECT 1 FROM message_index WHERE message_index MATCH ? LIMIT {_OFTEN})"
    return int(sql.execute(few, [term.text]).fetchone()[0]) < _OFTEN


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
    made = "" if where.made is None else " AND n.time <= ?"
    rows = sql.execute(
        "SELECT n.uid, bm25(node_index) FROM node_index f JOIN nodes n ON n.id = f.rowid"
        f" WHERE node_index MATCH ?{lines}{made} ORDER BY 2, n.id DESC LIMIT ?",
        [match, *(where.lines or ()), *([] if where.made is None else [where.made]), limit],
    )
    return [Hit(-rank, node=unpack_uid(uid)) for uid, rank in rows]


def vocabulary(sql: sqlite3.Connection) -> list[str]:
    """All terms of the message index."""
    sql.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, message_index, row)"
    )
    return [term for (term,) in sql.execute("SELECT term FROM temp.terms")]


def letters(characters: Sequence[str]) -> dict[str, str]:
    """What the index makes of each character in a word: itself, another one, nothing, or a blank, if it parts words."""
    sql = sqlite3.connect(":memory:")
    sql.execute(f"CREATE VIRTUAL TABLE asked USING fts5(text, {TOKENS}, content='')")
    sql.execute("CREATE VIRTUAL TABLE spelt USING fts5vocab(asked, instance)")
    words = " ".join(f"x{each}q" for each in characters)  # no stem takes a q away
    sql.execute("INSERT INTO asked (rowid, text) VALUES (1, ?)", [words])
    terms = (term for (term,) in sql.execute("SELECT term FROM spelt ORDER BY offset"))
    found = {each: _made(terms) for each in characters}
    sql.close()
    return found


def _made(terms: Iterator[str]) -> str:
    """The next word, without what was put around it; of one that was parted both parts are taken."""
    term = next(terms)
    if term != "x":
        return term[1:-1]
    next(terms)
    return " "
