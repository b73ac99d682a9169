"""Statements on sessions, and on the lines that they stand on."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from typing import Any, Final

from .errors import StoreDamaged
from .records import Pass, Session
from .seals import reseal

__all__ = [
    "every",
    "lineage",
    "named",
    "passed",
    "passes",
    "put",
    "record_pass",
    "revision",
    "start",
]

_SESSION = "SELECT name, line, parent, relation, created FROM sessions "


def named(sql: sqlite3.Connection, name: str) -> Session | None:
    """The session of that name."""
    row = sql.execute(f"{_SESSION}WHERE name = ?", [name]).fetchone()
    return Session(*row) if row else None


def every(sql: sqlite3.Connection, lines: Sequence[int] | None = None) -> list[Session]:
    """All sessions, or those of these lines, oldest first."""
    where = "" if lines is None else f"WHERE line IN ({','.join('?' * len(lines))}) "
    rows = sql.execute(f"{_SESSION}{where}ORDER BY created, name", list(lines or ()))
    return [Session(*row) for row in rows]


def start(sql: sqlite3.Connection, name: str, parent: str, relation: str) -> Session:
    """A new session: on its parent's line (rotation), a copy of it (branch), or one of its own."""
    source = named(sql, parent) if parent else None
    if source is not None and relation == "rotation":
        line = source.line
    else:
        line = _new_line(sql, source.line if source is not None and relation == "branch" else None)
    return _record(sql, Session(name, line, parent, relation if source else "new", time.time()))


def put(sql: sqlite3.Connection, session: Session, base: int | None) -> Session:
    """A session as it was elsewhere, on its line, which is made if it is new."""
    if sql.execute("SELECT 1 FROM lines WHERE line = ?", [session.line]).fetchone() is None:
        _empty_line(sql, base, session.line)
    return _record(sql, session)


def _record(sql: sqlite3.Connection, session: Session) -> Session:
    sql.execute(
        "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, lcm_seal(?1, ?2, ?3, ?4, ?5))",
        [session.name, session.line, session.parent, session.relation, session.created],
    )
    return session


def _empty_line(sql: sqlite3.Connection, base: int | None, number: int | None = None) -> int:
    insert = "INSERT INTO lines (line, base) VALUES (?, ?) RETURNING line"
    line: int = sql.execute(insert, [number, base]).fetchone()[0]
    reseal(sql, "lines", "line = ?", [line])
    return line


def _new_line(sql: sqlite3.Connection, base: int | None) -> int:
    line = _empty_line(sql, base)
    sql.execute(
        "INSERT INTO entries SELECT ?1, seq, message, turn, withdrawn,"
        " lcm_seal(?1, seq, message, turn, withdrawn) FROM entries WHERE line = ?2",
        [line, base],
    )
    return line


def lineage(sql: sqlite3.Connection, line: int) -> tuple[int, ...]:
    """The line and those it was branched from, nearest first; a circle ends where it closes."""
    rows = sql.execute(
        "WITH RECURSIVE up(line, base, n) AS (SELECT line, base, 0 FROM lines WHERE line = ?"
        " UNION ALL SELECT lines.line, lines.base, n + 1 FROM lines JOIN up ON lines.line = up.base"
        " WHERE lines.line < up.line) SELECT line FROM up ORDER BY n",
        [line],
    )
    return tuple(row[0] for row in rows)


def revision(sql: sqlite3.Connection, line: int) -> int:
    """How often the line changed; 0 for one that is not there."""
    row = sql.execute("SELECT revision FROM lines WHERE line = ?", [line]).fetchone()
    return row[0] if row else 0


def record_pass(sql: sqlite3.Connection, done: Pass) -> None:
    """Keep a compaction."""
    data = {name: getattr(done, name) for name in Pass.__slots__ if name != "session"}
    row = sql.execute(
        "INSERT INTO passes (session, data) VALUES (?, ?) RETURNING id",
        [done.session, json.dumps(data)],
    ).fetchone()
    reseal(sql, "passes", "id = ?", row)


def passes(sql: sqlite3.Connection, sessions: Sequence[str] | None) -> list[Pass]:
    """Compactions of these sessions (None: all), oldest first.

    Raises:
        StoreDamaged: what is on record of one is not what was written.
    """
    where = "" if sessions is None else f"WHERE session IN ({','.join('?' * len(sessions))})"
    rows = sql.execute(f"SELECT session, data FROM passes {where} ORDER BY id", sessions or ())
    return [_pass(session, data) for session, data in rows]


def _pass(session: str, data: Any) -> Pass:
    try:
        done = Pass(session=session, **json.loads(data))
        whole = (
            type(done.time) in (int, float)
            and all(type(getattr(done, name)) is int for name in _COUNTS)
            and type(done.frame) is str
            and type(done.detail) is dict
        )
    except (ValueError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise StoreDamaged(
            f"The record of a compaction of session {session} is damaged. Run `hermes lcm verify`."
        )
    return done


_COUNTS: Final = ("tokens_before", "tokens_after", "rows_before", "rows_after")


def passed(sql: sqlite3.Connection, session: str) -> int:
    """How many compactions it has had."""
    row = sql.execute("SELECT count(*) FROM passes WHERE session = ?", [session]).fetchone()
    return int(row[0])
