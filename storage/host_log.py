"""Reads the log that Hermes keeps of its own, ``state.db``: never writes to it, in any version.

What is known of its tables is data here: names of columns, of which a version may lack some. A
row comes as the message that the host would make of it.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .errors import StoreBusy, StoreForeign
from .reading import read_only
from .translation import translated

__all__ = ["HostLog", "HostRow", "open_host_log"]

#: What marks a content that is JSON.
_JSON: Final = "\x00json:"
#: Columns that a message is made of, and the key and the form that each has there.
_KEYS: Final = {
    "tool_calls": ("tool_calls", True),
    "tool_call_id": ("tool_call_id", False),
    "tool_name": ("tool_name", False),
    "message_uid": ("message_uid", False),
    "absorbed_message_uids": ("_absorbed_message_uids", True),
    "_compressed_summary": ("_compressed_summary", False),
}
_NEEDED: Final = {"id", "session_id", "role", "content"}
#: Columns that say that a row may never have been in a list of messages.
_ASIDE: Final = ("observed", "display_kind")
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class HostRow:
    """A row of the host's log."""

    number: int
    """Its id in that database: ascending with time."""
    message: Mapping[str, Any]
    active: bool
    """Whether it is in the session's conversation as the host has it now."""
    taken_back: bool
    """Whether the person took it back (undo, retry)."""
    aside: bool
    """Whether the host may have kept it out of the list: chatter it overheard, what it only displays."""


class HostLog:
    """One such database, open for reading."""

    def __init__(self, sql: sqlite3.Connection, path: str) -> None:
        self._sql, self.path = sql, path
        columns = {row[1] for row in sql.execute("PRAGMA table_info(messages)")}
        if not columns >= _NEEDED:
            raise StoreForeign(f"{path} is not a database of Hermes's sessions.", path)
        self._columns = [c for c in ("active", "compacted", *_ASIDE, *_KEYS) if c in columns]

    def sessions(self) -> dict[str, int]:
        """How many rows each session has, whether they are in use or not."""
        rows = self._sql.execute("SELECT session_id, count(*) FROM messages GROUP BY session_id")
        return {str(name): count for name, count in rows}

    def rows(self, session: str) -> Iterator[HostRow]:
        """All rows of a session, oldest first; a few at a time are held."""
        after = -1
        names = ", ".join(["id", "role", "content", *(f'"{name}"' for name in self._columns)])
        while True:
            page = self._sql.execute(
                f"SELECT {names} FROM messages WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?",
                [session, after, _MOST],
            ).fetchall()
            if not page:
                return
            yield from (self._row(*row) for row in page)
            after = page[-1][0]

    def _row(self, number: int, role: str, content: Any, *values: Any) -> HostRow:
        found = dict(zip(self._columns, values, strict=True))
        message: dict[str, Any] = {"role": role, "content": _content(content)}
        for column, (key, is_json) in _KEYS.items():
            value = found.get(column)
            if value:
                message[key] = _parsed(value) if is_json else value
        return HostRow(
            number=number,
            message=message,
            active=bool(found.get("active", 1)),
            taken_back=not found.get("active", 1) and not found.get("compacted", 1),
            aside=any(found.get(name) for name in _ASIDE),
        )


def _content(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_JSON):
        return _parsed(value.removeprefix(_JSON))
    return value


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


@contextlib.contextmanager
def open_host_log(path: Path, *, alone: bool) -> Iterator[HostLog]:
    """Hermes's log at *path*.

    A reader leaves two files beside a database in WAL mode that nobody else has open. Where this
    process is not the host's own (*alone*) and no writer's file is there, the database is therefore
    read as it lies, without locks; if somebody wrote to it meanwhile, what was read is worth nothing.

    Raises:
        StoreBusy: it was written to while it was read as it lay: read it again, not *alone*.
        StoreError: there is none, it is of something else, or it cannot be read.
    """
    before = _looks(path)
    if not alone or before is None:
        with read_only(path) as sql, translated(str(path)):
            yield HostLog(sql, str(path))
        return
    with translated(str(path)), contextlib.closing(_as_it_lies(path)) as sql:
        yield HostLog(sql, str(path))
    if _looks(path) != before:
        raise StoreBusy(f"Hermes wrote to {path} while it was read.", str(path))


def _as_it_lies(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None
    )


def _looks(path: Path) -> tuple[int, int, int] | None:
    """What the file looks like; None if it is not there or somebody writes to it."""
    if any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal")):
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
