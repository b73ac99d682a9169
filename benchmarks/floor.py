"""The floor: a script that does the same work without the plugin's reasons.

Each message as canonical JSON under a uid of its own, with role, time and digest; its place and turn in
its session; a contentless FTS5 index with the tokenizer, journal mode and synchronous level of the
plugin. It recognises nothing, seals nothing, takes nothing back; what the plugin costs above it is the
price of those. Its own checkpoints are SQLite's.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from time import time

from .work import Row

__all__ = ["Bare"]

_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE messages (
    id INTEGER PRIMARY KEY, uid BLOB UNIQUE, role TEXT, time REAL, body TEXT, digest BLOB);
CREATE TABLE places (
    session TEXT, place INTEGER, message INTEGER, turn INTEGER,
    PRIMARY KEY (session, place)) WITHOUT ROWID;
CREATE INDEX places_by_message ON places (message);
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mc Mn'");
CREATE TABLE nodes (id INTEGER PRIMARY KEY, texts TEXT, first INTEGER, last INTEGER);
CREATE VIRTUAL TABLE node_words USING fts5(
    text, content='', tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mc Mn'");
"""
_SESSION = "bulk"
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class Bare:
    """A log of messages in one file, by bare ``sqlite3``."""

    def __init__(self, path: Path) -> None:
        self._sql = sqlite3.connect(path, isolation_level=None)
        self._sql.executescript(_TABLES)
        self._last = self._turn = 0

    def add(self, rows: Sequence[Row]) -> None:
        """Store *rows* in one transaction."""
        bodies = [_ENCODER.encode(row) for row in rows]
        first = self._last + 1
        self._last += len(rows)
        self._sql.execute("BEGIN IMMEDIATE")
        self._sql.executemany(
            "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)",
            [
                (number, os.urandom(16), row["role"], time(), body, _digest(body))
                for number, (row, body) in enumerate(zip(rows, bodies, strict=True), first)
            ],
        )
        placed = []
        for number, row in enumerate(rows, first):
            self._turn += row["role"] == "user"
            placed.append((_SESSION, number, number, self._turn))
        self._sql.executemany("INSERT INTO places VALUES (?, ?, ?, ?)", placed)
        self._sql.executemany(
            "INSERT INTO words (rowid, text) VALUES (?, ?)",
            [(number, _words(row)) for number, row in enumerate(rows, first)],
        )
        self._sql.execute("COMMIT")

    def summarise(self, last: int, nodes: int, answer: str) -> None:
        """Put messages 1 to *last* under that many nodes, each with the text *answer*.

        Reads every message back, as a summariser must see them, and commits once.
        """
        self._sql.execute("BEGIN IMMEDIATE")
        for number in range(nodes):
            first, end = last * number // nodes + 1, last * (number + 1) // nodes
            bodies = self._sql.execute(
                "SELECT body FROM messages WHERE id BETWEEN ? AND ?", [first, end]
            )
            source = "\n".join(_words(json.loads(body)) for (body,) in bodies)
            texts = json.loads(answer)["levels"] if source else {}
            self._sql.execute(
                "INSERT INTO nodes (texts, first, last) VALUES (?, ?, ?)",
                [json.dumps(texts), first, end],
            )
            self._sql.execute(
                "INSERT INTO node_words (text) VALUES (?)", [max(texts.values(), key=len)]
            )
        self._sql.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._sql.close()


def _digest(body: str) -> bytes:
    return blake2b(body.encode(), digest_size=16).digest()


def _words(row: Row) -> str:
    """What is searched: the content, and names and arguments of calls."""
    functions = [call["function"] for call in row.get("tool_calls") or ()]
    calls = [f"{function['name']} {function['arguments']}" for function in functions]
    content = row.get("content") or ""
    text = content if isinstance(content, str) else _ENCODER.encode(content)
    return "\n".join([text, *calls])
