"""The tables, and every step that ever led to them.

A migration is recorded by its name and never edited afterwards. Natural keys
and our own message numbers only, so that another database needs no
translation. A uid of 32 hex characters is kept as 16 bytes, any other as text.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sqlite_utils import Database, Migrations

    MIGRATIONS: Migrations

__all__ = [
    "APPLICATION_ID",
    "INDEXES",
    "MIGRATIONS",
    "NAMES",
    "TABLES",
    "TOKENS",
    "applied",
    "tables",
]

#: "LCM1" in the file's header: says whose database this is.
APPLICATION_ID = 0x4C434D31

_SET: Final = "lcm"
_RECORD: Final = "_sqlite_migrations"

TOKENS: Final = "tokenize=\"porter unicode61 remove_diacritics 2 categories 'L* N* Co Mc Mn'\""
"""How the indexes part a text into words: vowel signs belong to theirs, as Indic scripts write them."""
_INDEX = f"{TOKENS}, content=''"

INDEXES = {
    "message_index": f"CREATE VIRTUAL TABLE message_index USING fts5(text, {_INDEX})",
    "node_index": f"CREATE VIRTUAL TABLE node_index USING fts5(text, {_INDEX})",
}
"""Full-text indexes by name. Contentless: the text is in the log, which can rebuild them."""

_TABLES = """
CREATE TABLE lines (
    line INTEGER PRIMARY KEY,
    base INTEGER,              -- the line this one was branched from
    revision INTEGER NOT NULL DEFAULT 0, -- grows with every change
    seal INTEGER NOT NULL DEFAULT 0      -- see storage.seals; here as in other tables
);
CREATE TABLE sessions (
    name TEXT NOT NULL PRIMARY KEY,
    line INTEGER NOT NULL REFERENCES lines,
    parent TEXT NOT NULL,
    relation TEXT NOT NULL,
    created REAL NOT NULL,
    seal INTEGER NOT NULL
);
CREATE TABLE messages (        -- the current version of each message
    id INTEGER PRIMARY KEY,
    uid NOT NULL UNIQUE,
    role TEXT NOT NULL,
    time REAL NOT NULL,
    version INTEGER NOT NULL,
    digest BLOB NOT NULL,
    key BLOB NOT NULL,
    tokens INTEGER NOT NULL,
    tool TEXT NOT NULL,
    body BLOB NOT NULL,        -- canonical JSON, large strings taken out
    refs TEXT,                 -- where they belong: [[path, digest], ...]
    seal INTEGER NOT NULL
);
CREATE TABLE versions (        -- those before
    id INTEGER PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES messages,
    version INTEGER NOT NULL,
    digest BLOB NOT NULL,
    key BLOB NOT NULL,
    body BLOB NOT NULL,
    refs TEXT,
    seal INTEGER NOT NULL DEFAULT 0,
    UNIQUE (message, version)
);
CREATE TABLE aliases (
    uid NOT NULL PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES messages,
    seal INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE payloads (digest BLOB NOT NULL PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE entries (
    line INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    message INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    withdrawn INTEGER NOT NULL DEFAULT 0,
    seal INTEGER NOT NULL,
    PRIMARY KEY (line, seq)
) WITHOUT ROWID;
CREATE INDEX entries_by_message ON entries (message);
CREATE INDEX entries_withdrawn ON entries (line, seq) WHERE withdrawn;
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY,
    uid NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    line INTEGER NOT NULL,
    source_key TEXT NOT NULL,
    depth INTEGER NOT NULL,
    degraded TEXT NOT NULL,
    time REAL NOT NULL,
    data TEXT NOT NULL,        -- the rest of the record, as JSON
    seal INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX nodes_by_source ON nodes (source_key);
CREATE INDEX nodes_by_line ON nodes (line, kind);
CREATE TABLE edges (
    node INTEGER NOT NULL REFERENCES nodes,
    place INTEGER NOT NULL,
    message INTEGER,
    version INTEGER NOT NULL DEFAULT 0,
    source INTEGER,            -- id of a node
    level INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (node, place)
) WITHOUT ROWID;
CREATE INDEX edges_by_message ON edges (message) WHERE message IS NOT NULL;
CREATE TABLE memory (
    session TEXT,
    name TEXT,
    value TEXT NOT NULL,
    seal INTEGER NOT NULL,
    PRIMARY KEY (session, name)
) WITHOUT ROWID;
CREATE TABLE passes (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    data TEXT NOT NULL,
    seal INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX passes_by_session ON passes (session);
CREATE TABLE forgotten (       -- what was taken out on request: see storage.forget
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    time REAL NOT NULL,
    digest BLOB NOT NULL,
    line INTEGER NOT NULL,
    detail TEXT NOT NULL,
    seal INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
"""


TABLES: Final = frozenset(re.findall(r"CREATE TABLE (\w+)", _TABLES))
"""What every database has, search indexes left out: a file without one of them is damaged."""


def m001_messages_lines_nodes(db: Database) -> None:
    """The first schema: a log of messages, lines over it, a graph over the lines."""
    for statement in _TABLES.split(";\n"):
        if statement.strip():
            db.conn.execute(statement)
    for statement in INDEXES.values():
        db.conn.execute(statement)
    db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")


_STEPS: Final = (m001_messages_lines_nodes,)
NAMES: Final = tuple(step.__name__ for step in _STEPS)
"""Every step, the first one first."""


def applied(sql: sqlite3.Connection) -> set[str]:
    """Names of the steps that a database has gone through, of newer versions too, as sqlite-utils records them."""
    if _RECORD not in tables(sql):
        return set()
    rows = sql.execute(f"SELECT name FROM {_RECORD} WHERE migration_set = ?", [_SET])
    return {name for (name,) in rows}


def tables(sql: sqlite3.Connection) -> set[str]:
    """Names of the tables that are there."""
    return {name for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


@cache
def _migrations() -> Migrations:
    from sqlite_utils import (
        Migrations,
    )  # a tenth of a second, for a database that is made or brought up to date

    made = Migrations(_SET)
    for step in _STEPS:
        made()(step)
    return made


def __getattr__(name: str) -> Any:
    """What can carry the steps out, made when it is asked for."""
    if name == "MIGRATIONS":
        return _migrations()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
