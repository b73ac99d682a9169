"""Writes tests/data/mNNN.sql: a database as the newest migration leaves it, as SQL that anybody can run.

    python3 scripts/run.py scripts.freeze_schema

Done once for each released schema; after the release such a file is never made again, and every later version
is tested against it. The search indexes are made by their own statements; the rows of their tables follow, so
that the file holds what that version wrote, byte for byte.
"""  # noqa: INP001 - a script, not a package
# ruff: noqa: S608 - names of tables and literals are what it is made of

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..dag.compact import PassRequest, compact
from ..dag.ingest import Ledger
from ..dag.settings import Settings
from ..storage import open_store
from ..storage.migrations import INDEXES, MIGRATIONS
from ..storage.records import Pass

FOLDER: Final = Path(__file__).resolve().parent.parent / "tests" / "data"
ROWS: Final = "-- rows\n"
"""What stands between the tables and their rows."""


def main(_arguments: list[str]) -> int:
    """Write the file of the newest migration."""
    target = FOLDER / f"{newest()}.sql"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lcm.db"
        fill(path)
        target.write_text(dump(path), "utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes")  # noqa: T201
    return 0


def newest() -> str:
    """The number of the newest migration: ``m001``."""
    return MIGRATIONS._migrations[-1].name.partition("_")[0]  # noqa: SLF001


def conversation(turns: int) -> list[dict[str, Any]]:
    """Text, a tool's large result, and a picture."""
    rows: list[dict[str, Any]] = []
    for n in range(1, turns + 1):
        call = {
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": "look", "arguments": "{}"},
        }
        rows += [
            {
                "role": "user",
                "content": f"Question {n}: what is in room {n}, the café or the 港?",
                "timestamp": 1e9 + n,
            },
            {"role": "assistant", "content": None, "tool_calls": [call], "timestamp": 1e9 + n},
            {
                "role": "tool",
                "tool_call_id": f"call_{n}",
                "content": f"Room {n} holds:" + f" thing{n}" * 400,
            },
            {"role": "assistant", "content": [{"type": "text", "text": f"Room {n} holds things."}]},
        ]
    return rows


def fill(path: Path) -> None:
    """One of everything: versions, aliases, payloads, a withdrawn end, a branch, summaries, frames, passes."""
    store = open_store(path)
    try:
        ledger = Ledger(store, store.open_session("first"))
        rows = conversation(12)
        ledger.ingest(rows)
        rows[2] = {**rows[2], "content": "[pruned]"}  # a second version
        rows[0] = {**rows[0], "message_uid": "0123456789abcdef0123456789abcdef"}  # and an alias
        ledger.ingest(rows)
        _, binding = ledger.bind(rows)
        done = compact(
            store,
            ledger.session.line,
            binding,
            PassRequest(Settings(), 6000, 4000, None, force=True, stamp=False),
        )
        frame = done.frame.uid if done.frame else ""
        store.record_pass(
            Pass(1e9, "first", done.before, done.after, len(rows), len(done.rows), frame)
        )
        store.remember("first", "note", {"kept": True})
        ledger.ingest(list(done.rows)[:-1])  # undone
        branch = Ledger(store, store.open_session("second", parent="first", relation="branch"))
        branch.ingest([*rows, {"role": "user", "content": "And in the garden?"}])
    finally:
        store.close()


def dump(path: Path) -> str:
    """The whole database as SQL: tables, then ``-- rows``, then rows."""
    with contextlib.closing(sqlite3.connect(path)) as sql:
        lines = [*_tables(sql), ROWS.strip(), *_rows(sql)]
    return "\n".join(lines) + "\n"


def _tables(sql: sqlite3.Connection) -> Iterator[str]:
    owner = sql.execute("PRAGMA application_id").fetchone()[0]
    yield f"PRAGMA application_id = {owner};"
    made = sql.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    yield from (f"{text};" for name, text in made if not _is_shadow(name))
    for row in sql.execute("SELECT * FROM _sqlite_migrations"):
        yield f"INSERT INTO _sqlite_migrations VALUES ({', '.join(map(_literal, row))});"


def _rows(sql: sqlite3.Connection) -> Iterator[str]:
    tables = sql.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    ).fetchall()
    for (name,) in tables:
        if name in INDEXES or name.startswith(("sqlite_", "_sqlite_")):
            continue
        if _is_shadow(name):
            yield f"DELETE FROM {name};"
        for row in sql.execute(f"SELECT * FROM {name}"):
            yield f"INSERT INTO {name} VALUES ({', '.join(map(_literal, row))});"


def _is_shadow(name: str) -> bool:
    """Whether a table belongs to a search index."""
    return any(name.startswith(f"{index}_") for index in INDEXES)


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return (
        repr(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"
    )
