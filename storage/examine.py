"""Looks at a database file as a doctor does: reads it, changes nothing, and says what it sees.

Each question has an answer of its own, so that a file that is damaged in one place still gives the
others. That every message is there and whole is more than this looks at: ``verify`` does.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from . import bodies, fts, graph_tables, old_bytes
from .canon import digest
from .errors import BROKEN, StoreError
from .migrations import APPLICATION_ID, NAMES, TABLES, applied, tables
from .pages import page_faults
from .reading import read_only
from .schema import odd_objects
from .seals import prepare
from .translation import translated

__all__ = ["Examination", "examine", "sqlite_version"]

_MOST_FAULTS: Final = 5


@dataclass(slots=True)
class Examination:
    """What a database file looks like from outside and from inside."""

    path: str
    owner: str = "ours"
    """``ours``, ``empty`` or ``foreign``; of the last nothing else is looked at."""
    journal: str = ""
    newer: tuple[str, ...] = ()
    """Migrations that this version does not know: a newer one wrote the file."""
    pending: tuple[str, ...] = ()
    """Migrations that the next writer will do."""
    missing: tuple[str, ...] = ()
    """Tables that should be there; search indexes are not among them."""
    odd: tuple[tuple[str, str], ...] = ()
    """(name, what is wrong with it) of what is in the file beside our tables and indexes."""
    faults: list[str] = field(default_factory=list)
    """What SQLite's own check says of the file."""
    index: list[str] = field(default_factory=list)
    """What is wrong with the search index."""
    older_index: bool = False
    """Whether an earlier version made it, and it parts texts into other words."""
    messages: int = 0
    looked: int = 0
    """Messages that were looked at: some from everywhere, for all of them take a verification."""
    altered: int = 0
    """Those of them that are not what was stored, or cannot be read."""
    degraded: int = 0
    """Summaries that no model wrote, and none has written again."""
    damaged: int = 0
    """Nodes that are not what was written."""
    scrubbed: bool = True
    """Whether nothing that was forgotten may have left old bytes."""
    ahead: list[str] = field(default_factory=list)
    """What sessions remember of the work ahead, as JSON."""

    @property
    def sound(self) -> bool:
        """Whether it may be written to."""
        return self.owner == "ours" and not (self.newer or self.missing or self.faults)


def sqlite_version() -> str:
    """The version of the SQLite library in use."""
    return sqlite3.sqlite_version


def examine(path: Path, looking: Callable[[str], None] = lambda _what: None) -> Examination:
    """Look at the database at *path*; *looking* is told at what.

    Raises:
        StoreError: nothing can be read of it: no permission, no database, its first page is damaged.
    """
    seen = Examination(str(path))
    with read_only(path) as sql:
        with translated(str(path)):
            prepare(sql)
            owner = sql.execute("PRAGMA application_id").fetchone()[0]
            there = tables(sql)
            seen.journal = str(sql.execute("PRAGMA journal_mode").fetchone()[0])
        if owner != APPLICATION_ID:
            seen.owner = "foreign" if there else "empty"
            return seen
        with _part(seen):
            _schema(sql, there, seen)
        looking("the pages of the file")
        with _part(seen):
            faults, index = page_faults(sql, _MOST_FAULTS)
            seen.faults += faults
            seen.index += index
        with _part(seen):
            seen.messages = sql.execute("SELECT count(*) FROM messages").fetchone()[0]
            seen.degraded = graph_tables.counts(sql, None)[1]
            seen.damaged = graph_tables.damaged(sql)
            seen.scrubbed = old_bytes.marked(sql) is None
            ahead = sql.execute("SELECT value FROM memory WHERE name = 'ahead'")
            seen.ahead = [str(value) for (value,) in ahead]
        looking("some of the messages")
        with _part(seen):
            seen.looked, seen.altered = _some_messages(sql, str(path))
        looking("the search index")
        _index(sql, seen)
    return seen


def _index(sql: sqlite3.Connection, seen: Examination) -> None:
    seen.index += fts.symptoms(sql, seen.path)
    with _part(seen):
        seen.older_index = fts.is_older(sql)


def _some_messages(sql: sqlite3.Connection, path: str) -> tuple[int, int]:
    """How many were looked at, and how many of them are neither what was stored nor what was left on request."""
    numbers = fts.spread(sql, "messages", "")
    stones = sql.execute("SELECT digest FROM forgotten WHERE kind = 'message'")
    left = {mark for (mark,) in stones}
    altered = 0
    for number in numbers:
        try:
            (message,) = bodies.read(sql, [(number, 0)], path)
            mark = digest(message.body)
            altered += mark != message.digest and mark not in left
        except BROKEN:
            altered += 1
    return len(numbers), altered


@contextlib.contextmanager
def _part(seen: Examination) -> Iterator[None]:
    """What a damaged file raises in the block is one of its faults."""
    try:
        with translated(seen.path):
            yield
    except StoreError as error:
        if str(error) not in seen.faults:
            seen.faults.append(str(error))


def _schema(sql: sqlite3.Connection, there: set[str], seen: Examination) -> None:
    """Compare what is there with what all migrations make."""
    done = applied(sql)
    seen.newer = tuple(sorted(done.difference(NAMES)))
    seen.pending = tuple(name for name in NAMES if name not in done)
    if not (seen.newer or seen.pending):
        seen.missing = tuple(sorted(TABLES - there))
        seen.odd = tuple(odd_objects(sql))
