"""Reads the databases of three neighbours: hermes-lcm, lcm-x and lossless-claw. Never writes one.

What kind a file is, its tables say, never its name. A column that an older version did not have reads
as NULL. What comes out is a message as a host would show it, with the name of the row it came from.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from . import claw
from .errors import StoreForeign
from .migrations import APPLICATION_ID
from .payload_files import Payloads
from .reading import read_only, snapshot

__all__ = ["KINDS", "Conversation", "Peer", "PeerRow", "open_peer"]

KINDS: Final = ("hermes-lcm", "lcm-x", "lossless-claw")


_NEEDED: Final = {"lossless-claw": ("conversations",)}


class Conversation(NamedTuple):
    """One conversation in a neighbour's database."""

    key: Any
    """How the database knows it."""
    name: str
    """The host's session id; made unique if several have the same."""
    title: str
    rows: int
    """Rows of it, skipped ones included."""


class PeerRow(NamedTuple):
    """A message, and where it was."""

    name: str
    """Of the row, unique in its conversation."""
    message: Mapping[str, Any]
    time: float | None
    """Unix seconds, where it says."""
    whole: Mapping[str, Any] | None = None
    """The same message with its payload, where ``message`` only names the file that holds it."""


class Peer(Protocol):
    """A neighbour's database, opened to read."""

    kind: str
    summaries: int
    """Summaries in it, which stay where they are."""

    def conversations(self) -> list[Conversation]:
        """All of them, oldest first."""

    def rows(self, conversation: Conversation) -> Iterator[PeerRow]:
        """Its messages in order, system prompts included."""


@contextlib.contextmanager
def open_peer(path: Path, kind: str = "") -> Iterator[Peer]:
    """The database at *path*, as of one moment; *kind* overrides what its tables say.

    Raises:
        StoreMissing: there is no such file.
        StoreForeign: it is not a database of a neighbour; the text says what it is.
    """
    with read_only(path) as sql, snapshot(sql):
        sql.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        tables = _tables(sql)
        if not kind and sql.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
            raise StoreForeign(
                f"{path} is a database of this engine. Restore it, or `export` it and import that.",
                str(path),
            )
        kind = kind or _kind(tables)
        if kind and not {"messages", *_NEEDED.get(kind, ())} <= tables.keys():
            raise StoreForeign(f"{path} has no messages of {kind}.", str(path))
        if kind == "lossless-claw":
            yield _Claw(sql, tables)
        elif kind:
            yield _Plain(sql, tables, kind, path.parent)
        else:
            known = ", ".join(KINDS)
            raise StoreForeign(f"{path} is no database of {known}: it has other tables.", str(path))


def _tables(sql: sqlite3.Connection) -> dict[str, set[str]]:
    """Columns of every table."""
    names = [name for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: {row[0] for row in sql.execute("SELECT name FROM pragma_table_info(?)", [name])}
        for name in names
    }


def _kind(tables: Mapping[str, set[str]]) -> str:
    messages = tables.get("messages", set())
    if {"message_id", "conversation_id", "seq"} <= messages and "conversations" in tables:
        return "lossless-claw"
    if {"store_id", "session_id", "role"} <= messages:
        return "lcm-x" if messages & {"ingested_at", "observed_at"} else "hermes-lcm"
    return ""


def _select(columns: Sequence[str], there: set[str], prefix: str = "") -> str:
    """The columns, NULL for each that is not there."""
    return ", ".join(f"{prefix}{name}" if name in there else f"NULL AS {name}" for name in columns)


def _count(sql: sqlite3.Connection, tables: Mapping[str, set[str]], table: str) -> int:
    return int(sql.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) if table in tables else 0


class _Plain:
    """hermes-lcm and lcm-x: one table of messages, in order of ``store_id``."""

    _COLUMNS = (
        "store_id", "role", "content", "tool_calls", "tool_call_id", "tool_name",
        "timestamp", "observed_at", "ingested_at",
    )  # fmt: skip

    def __init__(
        self, sql: sqlite3.Connection, tables: Mapping[str, set[str]], kind: str, folder: Path
    ) -> None:
        self.kind = kind
        self.summaries = _count(sql, tables, "summary_nodes")
        self._sql = sql
        self._columns = _select(self._COLUMNS, tables.get("messages", set()))
        self._payloads = Payloads(folder)

    def conversations(self) -> list[Conversation]:
        rows = self._sql.execute(
            "SELECT session_id, count(*) FROM messages GROUP BY session_id ORDER BY min(store_id)"
        )
        return [Conversation(key, _name(key) or "unnamed", "", count) for key, count in rows]

    def rows(self, conversation: Conversation) -> Iterator[PeerRow]:
        found = self._sql.execute(
            f"SELECT {self._columns} FROM messages WHERE session_id IS ? ORDER BY store_id",
            [conversation.key],
        )
        for number, role, content, calls, call_id, tool, *times in found:
            message: dict[str, Any] = {"role": role, "content": _text(content)}
            known = {"tool_calls": _json(calls), "tool_call_id": call_id, "tool_name": tool}
            message |= {key: value for key, value in known.items() if value is not None}
            whole = None
            if self.kind == "lcm-x":
                message["content"] = _parts(message["content"])
                payload = self._payloads.behind(message["content"]) if role == "tool" else None
                whole = None if payload is None else {**message, "content": payload}
            yield PeerRow(str(number), message, _seconds(times), whole)


def _name(value: Any) -> str:
    """A session's name as the store takes it: no NUL, no half of a character."""
    text = str(value or "").replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8")


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _json(text: Any) -> Any:
    """Tool calls, of which an empty list is none; text that is no JSON stays as it is."""
    if not text:
        return None
    try:
        return json.loads(text) or None
    except (ValueError, TypeError):
        return text


_PARTS: Final = frozenset(
    {
        "text", "input_text", "output_text", "image", "image_url", "input_image", "file", "input_file",
        "audio", "input_audio", "refusal",
    }
)  # fmt: skip


def _parts(content: Any) -> Any:
    """Content that is the JSON of a list of content parts, as that list."""
    if not isinstance(content, str) or not content.startswith("["):
        return content
    try:
        parts = json.loads(content)
    except ValueError:
        return content
    good = (
        isinstance(parts, list)
        and parts
        and all(isinstance(part, dict) and part.get("type") in _PARTS for part in parts)
    )
    return parts if good else content


def _seconds(times: Sequence[Any]) -> float | None:
    """The first of *times* that is one: Unix seconds or ISO text, UTC if it names no zone."""
    for value in times:
        if isinstance(value, int | float) and value > 0:
            return float(value)
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                moment = datetime.fromisoformat(value)
                return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


class _Claw:
    """lossless-claw: conversations, messages in order of ``seq``, and their parts."""

    _CONVERSATION = ("session_id", "session_key", "title")

    def __init__(self, sql: sqlite3.Connection, tables: Mapping[str, set[str]]) -> None:
        self.kind = KINDS[2]
        self.summaries = _count(sql, tables, "summaries")
        self._sql = sql
        self._columns = _select(self._CONVERSATION, tables["conversations"], "c.")
        there = tables.get("message_parts", set())
        self._parts = _select(claw.COLUMNS, there, "p.")
        self._join = "LEFT JOIN message_parts p ON p.message_id = m.message_id" if there else ""
        self._order = ", p.ordinal" if "ordinal" in there else ""
        self._answers = {"tool_call_id", "message_id"} <= there

    def conversations(self) -> list[Conversation]:
        found = self._sql.execute(
            f"SELECT c.conversation_id, {self._columns}, (SELECT count(*) FROM messages m"
            " WHERE m.conversation_id = c.conversation_id) FROM conversations c ORDER BY 1"
        ).fetchall()
        names = [_name(session or key) or f"conversation-{n}" for n, session, key, _, _ in found]
        often = Counter(names)
        return [
            Conversation(n, name if often[name] == 1 else f"{name}#{n}", str(title or ""), count)
            for (n, _, _, title, count), name in zip(found, names, strict=True)
        ]

    def rows(self, conversation: Conversation) -> Iterator[PeerRow]:
        answered = self._answered(conversation.key)
        found = self._sql.execute(
            f"SELECT m.message_id, m.role, m.content, m.created_at, {self._parts} FROM messages m"
            f" {self._join} WHERE m.conversation_id = ? ORDER BY m.seq, m.message_id{self._order}",
            [conversation.key],
        )
        for (number, role, content, time), parts in claw.grouped(found):
            messages = claw.messages_of(role, _text(content), parts, answered)
            for place, message in enumerate(messages):
                name = f"{number}.{place}" if place else str(number)
                yield PeerRow(name, message, _seconds([time]))

    def _answered(self, key: Any) -> set[str]:
        """Ids of the calls whose results are messages of their own."""
        if not self._answers:
            return set()
        rows = self._sql.execute(
            "SELECT p.tool_call_id FROM messages m JOIN message_parts p ON p.message_id = m.message_id"
            " WHERE m.conversation_id = ? AND m.role = 'tool' AND p.tool_call_id IS NOT NULL",
            [key],
        )
        return {str(value) for (value,) in rows}
