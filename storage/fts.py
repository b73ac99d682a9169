"""The full-text indexes, and the scan that does without them.

The indexes are contentless: a row is the number of a message (its current
version), or minus the number of a superseded version, or the number of a
node. The words are in the log, so a broken index can be made again from it,
and a write never fails because of it: the index is then marked and search
falls back to the scan.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sqlite3
import time as clock
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from . import bodies
from .errors import StoreError, StoreIndexBroken, StoreSlow
from .fts_terms import condition
from .migrations import INDEXES, TOKENS
from .records import Filter, Node
from .text import indexable, searchable
from .translation import is_obstacle
from .uids import pack_uid, unpack_uid

__all__ = [
    "UNINDEXED",
    "add_messages",
    "add_nodes",
    "check",
    "count",
    "is_marked",
    "is_older",
    "mark",
    "next_texts",
    "node_text",
    "rebuild",
    "replace_message",
    "spread",
    "symptoms",
    "working",
]


UNINDEXED = ("frame", "state")
"""Kinds of nodes that are in no index: they only repeat what others say."""
_log = logging.getLogger(__name__)

#: Messages that are read and indexed at a time when the index is made again.
_INDEXED_AT_ONCE = 2_000

_BROKEN = (
    "The search index is broken. No message is lost, and searching reads the log instead, more slowly."
    " `hermes lcm doctor --fix` makes the index again."
)
_SLOW = (
    "The search index took too long for this query and was stopped; the log was read instead."
    " Ask with fewer words."
)
#: Seconds that the index may take for an answer, and steps of SQLite between two looks at the clock.
ASKED_SECONDS, _STEPS = 4.0, 10_000


def add_messages(sql: sqlite3.Connection, texts: Sequence[tuple[int, str]]) -> None:
    """Index new messages, as (number, searchable text)."""
    _guarded(
        sql,
        "INSERT INTO message_index (rowid, text) VALUES (?, ?)",
        [(number, indexable(text)) for number, text in texts],
    )


def replace_message(
    sql: sqlite3.Connection, message: int, old_text: str, version: int, text: str
) -> None:
    """Index a new current version; the old one moves to minus *version*."""
    old = indexable(old_text)
    _guarded(
        sql,
        "INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', ?, ?)",
        [(message, old)],
    )
    _guarded(
        sql,
        "INSERT INTO message_index (rowid, text) VALUES (?, ?)",
        [(-version, old), (message, indexable(text))],
    )


def add_nodes(sql: sqlite3.Connection, nodes: Sequence[Node]) -> None:
    """Index summary nodes."""
    rows = []
    for node in nodes:
        if node.kind not in UNINDEXED:
            found = sql.execute("SELECT id FROM nodes WHERE uid = ?", [pack_uid(node.uid)])
            rows.append((found.fetchone()[0], indexable(node_text(node))))
    _guarded(sql, "INSERT INTO node_index (rowid, text) VALUES (?, ?)", rows)


def node_text(node: Node) -> str:
    """What of a node can be searched: its topic, its hints and its longest text."""
    longest = node.texts[max(node.texts)] if node.texts else ""
    return "\n".join([node.topic, *node.hints, longest])


def _guarded(sql: sqlite3.Connection, statement: str, rows: Sequence[tuple[int, str]]) -> None:
    """Write to an index; if that fails, keep the message and mark the index, which is then left alone.

    Raises:
        StoreIndexBroken: SQLite from 3.44 on may not go on with a transaction in which an index failed. It is
            to be done again after :func:`mark`.
    """
    if is_marked(sql):
        return
    sql.execute("SAVEPOINT search_index")
    try:
        sql.executemany(statement, rows)
        sql.execute(
            "SAVEPOINT written"
        )  # the index writes now, not at a release that cannot be undone
    except sqlite3.DatabaseError as error:
        try:
            sql.execute("ROLLBACK TO search_index")
            mark(sql, error)
        except sqlite3.DatabaseError:
            raise StoreIndexBroken(_BROKEN) from error
    sql.execute("RELEASE search_index")


def is_marked(sql: sqlite3.Connection) -> bool:
    """Whether an index failed, and has not been made again since."""
    marked = "SELECT 1 FROM memory WHERE session = '' AND name = 'index_broken'"
    return sql.execute(marked).fetchone() is not None


def mark(sql: sqlite3.Connection, error: Exception) -> None:
    """Remember that the index is broken, until it is made again; said in the log once."""
    if not is_marked(sql):
        sql.execute(
            "INSERT INTO memory VALUES ('', 'index_broken', ?1, lcm_seal('', 'index_broken', ?1))",
            [f'"{type(error).__name__}"'],
        )
        _log.warning("%s (%s: %s)", _BROKEN, type(error).__name__, error)


@contextlib.contextmanager
def working(sql: sqlite3.Connection, seconds: float | None = None) -> Iterator[None]:
    """Ask the index only if it can answer, and no longer than so many *seconds* (None: as many as a search has).

    Raises:
        StoreIndexBroken: it holds not all that it should, or cannot be read.
        StoreSlow: it took too long.
    """
    if is_marked(sql):
        raise StoreIndexBroken(_BROKEN)
    end = clock.monotonic() + (ASKED_SECONDS if seconds is None else seconds)
    sql.set_progress_handler(lambda: clock.monotonic() > end, _STEPS)
    try:
        yield
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname == "SQLITE_INTERRUPT":
            raise StoreSlow(_SLOW) from error
        if _is_busy(error) or _of_log(error):
            raise
        # A corrupt page may be any page: nothing is written then, unless it is said to be the index's.
        if error.sqlite_errorname != "SQLITE_CORRUPT" or "fts5" in str(error):
            with contextlib.suppress(sqlite3.DatabaseError):  # a file that cannot be written
                mark(sql, error)
        raise StoreIndexBroken(_BROKEN) from error
    finally:
        sql.set_progress_handler(None, 0)


def _is_busy(error: sqlite3.Error) -> bool:
    """Whether another process keeps the file."""
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _of_log(error: sqlite3.Error) -> bool:
    """Whether what is missing is no index."""
    text = str(error)
    return "no such table" in text and not any(name in text for name in INDEXES)


def check(sql: sqlite3.Connection, path: str) -> dict[str, str]:
    """What is wrong with the indexes; SQLite's own check of them is a write, so samples where none may be made."""
    wrong = {}
    if is_marked(sql):
        wrong["index"] = _BROKEN
    for name in INDEXES:
        try:
            sql.execute(f"INSERT INTO {name} ({name}) VALUES ('integrity-check')")
        except sqlite3.DatabaseError as error:
            if is_obstacle(error) or _is_busy(error):
                found = symptoms(sql, path)
                return {"index": " ".join(found)} if found else {}
            wrong[name] = "The search index is damaged."
    return wrong


def is_older(sql: sqlite3.Connection) -> bool:
    """Whether an index parts texts into words as an earlier version did: some are not found by what is asked now."""
    rows = sql.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    return any(name in INDEXES and statement != INDEXES[name] for name, statement in rows)


def symptoms(sql: sqlite3.Connection, path: str) -> list[str]:
    """What is wrong with the indexes, found by reading alone: whether they find what they hold."""
    found = []
    with contextlib.suppress(sqlite3.DatabaseError):
        if is_marked(sql):
            found.append("It failed once, and has not been made again since.")
    for name, what, texts in (
        ("message_index", "messages", _some_messages(sql, path)),
        ("node_index", "summaries", _some_nodes(sql)),
    ):
        lost = looked = 0
        try:
            for number, phrase in _sampled(texts):
                looked += 1
                lost += not _finds(sql, name, number, phrase)
        except (sqlite3.Error, StoreError) as error:
            found.append(f"Its part for {what} cannot be read ({type(error).__name__}).")
        if lost:
            found.append(f"It does not find {lost} of {looked} {what} by a word that they hold.")
    return found


#: Rows of each index that are looked at, and words of one that are tried.
_SAMPLES, _TRIED = 200, 8
_SAMPLE = re.compile(r'[^\s"]{3,60}')


def _sampled(texts: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """For each of *texts* a word by which a healthy index finds it: as one in memory does.

    How an index parts a text into words only an index tells: it takes no word for one that this
    SQLite has not heard of, and a vowel sign for a part of its word.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as own:
        own.execute(f"CREATE VIRTUAL TABLE healthy USING fts5(text, {TOKENS}, content='')")
        for number, text in texts:
            own.execute(
                "INSERT INTO healthy (rowid, text) VALUES (?, ?)", [number, indexable(text)]
            )
            for word in islice(_SAMPLE.finditer(indexable(text)), _TRIED):
                if _finds(own, "healthy", number, phrase := f'"{word[0]}"'):
                    yield number, phrase
                    break


def _finds(sql: sqlite3.Connection, index: str, number: int, phrase: str) -> bool:
    query = f"SELECT 1 FROM {index} WHERE {index} MATCH ? AND rowid = ?"
    return sql.execute(query, [phrase, number]).fetchone() is not None


def _some_messages(sql: sqlite3.Connection, path: str) -> Iterator[tuple[int, str]]:
    for number in spread(sql, "messages", ""):
        with contextlib.suppress(StoreError):  # a damaged message is verify's business
            ((_, row),) = bodies.parsed(sql, [(number, 0)], path)
            yield number, searchable(row)


def _some_nodes(sql: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    from . import graph_tables

    for number in spread(sql, "nodes", f"AND kind NOT IN {UNINDEXED}"):
        (uid,) = sql.execute("SELECT uid FROM nodes WHERE id = ?", [number]).fetchone()
        with contextlib.suppress(StoreError):
            yield from ((number, node_text(n)) for n in graph_tables.by_uid(sql, [unpack_uid(uid)]))


def spread(sql: sqlite3.Connection, table: str, which: str) -> list[int]:
    """Numbers of rows from the whole of a table, the newest among them."""
    (last,) = sql.execute(f"SELECT ifnull(max(id), 0) FROM {table}").fetchone()
    wanted = range(last, 0, -max(last // _SAMPLES, 1))
    query = f"SELECT id FROM {table} WHERE id <= ? {which} ORDER BY id DESC LIMIT 1"
    rows = (sql.execute(query, [number]).fetchone() for number in wanted)
    return sorted({row[0] for row in rows if row})


def rebuild(sql: sqlite3.Connection, path: str, told: Callable[[int], None] | None = None) -> int:
    """Make both indexes again from what is stored, in the caller's transaction; returns the number of rows.

    *told* is called with the number of texts that are in already.
    """
    from . import graph_tables

    for name, statement in INDEXES.items():
        _drop(sql, name)
        sql.execute(statement)
    sql.execute("DELETE FROM memory WHERE session = '' AND name = 'index_broken'")
    rows = 0
    for some in _all_texts(sql, path):
        add_messages(sql, some)
        rows += len(some)
        if told is not None:
            told(rows)
    uids = sql.execute(f"SELECT uid FROM nodes WHERE kind NOT IN {UNINDEXED}").fetchall()
    add_nodes(sql, graph_tables.by_uid(sql, [unpack_uid(uid) for (uid,) in uids], damaged=True))
    return rows + len(uids)


def _all_texts(sql: sqlite3.Connection, path: str) -> Iterator[list[tuple[int, str]]]:
    """What the index of messages holds, as (its row, text), in ascending order; earlier versions come last.

    For the index writes what it has gathered as soon as a row comes before the last one: four times the work.
    """
    from . import log_tables

    old = {
        (message, version): -number
        for number, message, version in sql.execute("SELECT id, message, version FROM versions")
    }
    earlier, after = [], 0
    while batch := log_tables.next_messages(sql, None, after, _INDEXED_AT_ONCE):
        wanted = [(number, version) for number, many in batch for version in range(1, many + 1)]
        found = [
            (old.get((message.id, message.version), message.id), searchable(row))
            for message, row in bodies.readable(sql, wanted, path)
        ]
        earlier += [each for each in found if each[0] < 0]
        yield [each for each in found if each[0] > 0]
        after = batch[-1][0]
    yield sorted(earlier)


def _drop(sql: sqlite3.Connection, name: str) -> None:
    """Take an index away, also one whose own tables are so broken that SQLite refuses to."""
    try:
        sql.execute(f"DROP TABLE IF EXISTS {name}")
    except sqlite3.DatabaseError:
        sql.execute(f"CREATE TABLE IF NOT EXISTS {name}_data (id INTEGER PRIMARY KEY, block BLOB)")
        sql.execute("PRAGMA writable_schema = ON")
        sql.execute("DELETE FROM sqlite_master WHERE type = 'table' AND name = ?", [name])
        sql.execute("PRAGMA writable_schema = RESET")  # reads the schema anew
    for part in ("data", "idx", "content", "docsize", "config"):
        sql.execute(f"DROP TABLE IF EXISTS {name}_{part}")


def count(sql: sqlite3.Connection, where: Filter) -> int:
    """How many messages *where* lets pass."""
    if where.lines is None or where.turns is not None:
        clause, values = condition(where)
    else:  # the places of a few lines are read sooner than every message is looked up among them
        clause, values = condition(replace(where, lines=None))
        marks = ",".join("?" * len(where.lines))
        clause = f" AND m.id IN (SELECT message FROM entries WHERE line IN ({marks})){clause}"
        values = [*where.lines, *values]
    query = f"SELECT count(*) FROM messages m WHERE true{clause}"
    return int(sql.execute(query, values).fetchone()[0])


def next_texts(
    sql: sqlite3.Connection, where: Filter, before: int, limit: int, path: str
) -> tuple[list[tuple[int, int, str]], int]:
    """Searchable texts of the messages before number *before*, newest first, all versions of each; and where to go on.

    That is 0 at the end. One that cannot be read is passed over.
    """
    from . import log_tables

    clause, values = condition(where)
    rows = sql.execute(
        f"SELECT m.id, {log_tables.VERSIONS} FROM messages m WHERE m.id < ?{clause} ORDER BY m.id DESC LIMIT ?",
        [before, *values, limit],
    ).fetchall()
    wanted = [(number, version) for number, newest in rows for version in range(newest, 0, -1)]
    found = [
        (message.id, message.version, searchable(row))
        for message, row in bodies.readable(sql, wanted, path)
    ]
    return found, rows[-1][0] if rows else 0
