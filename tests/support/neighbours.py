"""Databases as hermes-lcm, lcm-x and lossless-claw leave them, and their import."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Any

from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.storage import open_store
from lcm.storage.canon import decode

HERMES = """
CREATE TABLE messages (store_id INTEGER PRIMARY KEY, session_id TEXT, source TEXT, role TEXT, content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, token_estimate INTEGER, pinned INTEGER);
CREATE TABLE summary_nodes (node_id INTEGER PRIMARY KEY, session_id TEXT, depth INTEGER, summary TEXT,
    token_count INTEGER, source_token_count INTEGER, source_ids TEXT, source_type TEXT, created_at REAL,
    earliest_at REAL, latest_at REAL, expand_hint TEXT);
CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT);
"""
LCM_X = HERMES.replace(
    "pinned INTEGER)",
    "pinned INTEGER, conversation_id TEXT, ingested_at REAL, observed_at REAL, observed_at_source TEXT)",
)
CLAW = """
CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY, session_id TEXT, session_key TEXT, active INTEGER,
    title TEXT, created_at TEXT);
CREATE TABLE messages (message_id INTEGER PRIMARY KEY, conversation_id INTEGER, seq INTEGER, role TEXT, content TEXT,
    token_count INTEGER, identity_hash TEXT, transcript_entry_id TEXT, created_at TEXT);
CREATE TABLE message_parts (part_id TEXT PRIMARY KEY, message_id INTEGER, session_id TEXT, part_type TEXT,
    ordinal INTEGER, text_content TEXT, tool_call_id TEXT, tool_name TEXT, tool_status TEXT, tool_input TEXT,
    tool_output TEXT, tool_error TEXT, file_mime TEXT, file_name TEXT, file_url TEXT, metadata TEXT);
CREATE TABLE summaries (summary_id TEXT PRIMARY KEY, conversation_id INTEGER, kind TEXT, depth INTEGER, content TEXT,
    token_count INTEGER, earliest_at TEXT, latest_at TEXT);
CREATE TABLE summary_messages (summary_id TEXT, message_id INTEGER, ordinal INTEGER);
CREATE TABLE summary_parents (summary_id TEXT, parent_summary_id TEXT, ordinal INTEGER);
CREATE TABLE large_files (file_id TEXT PRIMARY KEY, storage_uri TEXT);
"""


def make(path: Path, schema: str, *inserts: tuple[str, Sequence[dict[str, Any]]]) -> Path:
    """A database in WAL mode, as these programs leave one."""
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("PRAGMA journal_mode = WAL")
        sql.executescript(schema)
        for table, rows in inserts:
            for row in rows:
                marks = ", ".join(f":{name}" for name in row)
                names = ", ".join(row)
                sql.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)  # noqa: S608
        sql.commit()
    return path


def plain(session: str, *said: Any, start: float = 1_000_000.0) -> list[dict[str, Any]]:
    """Rows of hermes-lcm: (role, content) or (role, content, other columns)."""
    return [
        {
            "session_id": session,
            "role": role,
            "content": content,
            "timestamp": start + n,
            **(more[0] if more else {}),
        }
        for n, (role, content, *more) in enumerate(said)
    ]


def talk(*words: str) -> list[tuple[str, str]]:
    """A conversation of these words, user and assistant in turn."""
    return [(("user", "assistant")[n % 2], word) for n, word in enumerate(words)]


def bring(path: Path, database: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Import *path*; gives (exit code, the answer)."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = main(["import", str(path), "--db", str(database), "--json", *words])
    return code, json.loads(out.getvalue())


def said(database: Path, session: str) -> list[Any]:
    """What the session holds: rows as a host would show them."""
    store = open_store(database, create=False)
    report = verify(store)
    assert report.good, report.failures
    entries = store.entries(store.session(session).line)
    rows = [decode(message.body) for message in store.read([(e.id, 0) for e in entries])]
    store.close()
    return rows


def contents(database: Path, session: str) -> list[Any]:
    """What was said in it."""
    return [row["content"] for row in said(database, session)]


def claw(
    path: Path,
    said: Sequence[dict[str, Any]],
    parts: Sequence[dict[str, Any]] = (),
    conversations: Sequence[dict[str, Any]] = (
        {"conversation_id": 1, "session_id": "s", "title": "The harbour"},
    ),
) -> Path:
    """A database of lossless-claw with these messages (in conversation ``of``) and parts."""
    rows = [
        {"message_id": 10 + n, "conversation_id": each.get("of", 1), "seq": n, "role": each["role"],
         "content": each.get("content", ""), "created_at": f"2026-03-01 10:00:{n:02}"}
        for n, each in enumerate(said)
    ]  # fmt: skip
    made = [{"part_id": str(n), "ordinal": n, **part} for n, part in enumerate(parts)]
    return make(
        path, CLAW, ("conversations", conversations), ("messages", rows), ("message_parts", made)
    )
