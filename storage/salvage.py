"""Reads what can be read of a damaged database, into a new one that is whole; the damaged file is never written to.

Tables are walked from both ends up to what cannot be read, and what lies between is tried row by
row. A row counts only if its seal says that it is what was written. What is lost is named as far
as the index of names can be read. A message whose place is lost stands where the index has it, or
behind the one before it.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from . import log_tables, session_tables
from .connection import Connection
from .errors import StoreDamaged
from .migrations import TABLES
from .records import Session
from .seals import SEALED, reseal, seal
from .sqlite import SqliteStore
from .translation import translated
from .uids import unpack_uid

__all__ = ["Lost", "salvaged"]

#: Rows that are tried one by one where the end of a table is lost, at the most.
_MOST_TRIED: Final = 2_000_000
#: Bytes of the smallest row there is.
_LEAST_ROW: Final = 40
#: Between the order keys of messages whose places are lost: a thousand go between any two.
_STEP: Final = log_tables.GAP >> 10
_KEYS: Final = {
    "aliases": "uid",
    "entries": "line, seq",
    "edges": "node, place",
    "memory": "session, name",
    "forgotten": "kind, name",
}
"""Tables without a number of their own for each row, and what they are ordered by."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """What could not be read."""

    messages: tuple[str, ...]
    """uids, as far as they are known."""
    nodes: tuple[str, ...]
    placed: int
    """Messages that could be read, whose place could not."""


@contextlib.contextmanager
def salvaged(path: Path, looking: Callable[[str], None]) -> Iterator[tuple[SqliteStore, Lost]]:
    """A store of what can be read of the database at *path*; it is gone at the end of the block.

    Raises:
        StoreDamaged: nothing of it can be read.
        StoreError: there is no such file, or it may not be read.
    """
    with tempfile.TemporaryDirectory(prefix="lcm-salvage-") as folder:
        copy = Path(folder) / "lcm.db"
        with translated(str(path)), contextlib.closing(_open(path)) as source:
            lost = _Salvage(source, looking).into(copy)
        store = SqliteStore(copy, create=False)
        store.path = str(path)
        try:
            if not store.totals().messages:
                raise StoreDamaged(
                    f"{path} is damaged, and no message of it can be read. `hermes lcm doctor` says what to do.",
                    str(path),
                )
            yield store, lost
        finally:
            store.close()


def _open(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, also to a file that is shorter than it says."""
    url = f"{path.resolve().as_uri()}?mode=ro"
    for end in ("", "&immutable=1"):  # the folder may be one where SQLite can make no file
        sql = sqlite3.connect(f"{url}{end}", uri=True, isolation_level=None)
        sql.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            sql.execute("PRAGMA writable_schema = ON")  # SQLite then does not mind the length
            sql.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            sql.close()
            if end:
                raise
        else:
            return sql
    raise AssertionError  # one of the two was returned or raised


class _Salvage:
    """One reading of a damaged file."""

    def __init__(self, source: sqlite3.Connection, looking: Callable[[str], None]) -> None:
        self.source, self.looking = source, looking
        self.places: list[Row] = []
        """(message, line, order key), as the index knows them."""
        pages, size = (
            source.execute(f"PRAGMA {n}").fetchone()[0] for n in ("page_count", "page_size")
        )
        self.most = min(pages * size // _LEAST_ROW, _MOST_TRIED)

    def into(self, path: Path) -> Lost:
        """Fill a new database."""
        made = Connection(path, create=True)
        try:
            with made.writing() as sql:
                for table in sorted(TABLES, key=lambda name: (name in _KEYS, name)):
                    self.looking(f"what can be read of {table}")
                    self._table(sql, table)
                sql.execute("DELETE FROM entries WHERE message NOT IN (SELECT id FROM messages)")
                placed = _placed(sql, self.places)
                _on_record(sql)
                return Lost(self._names(sql, "messages"), self._names(sql, "nodes"), placed)
        finally:
            made.close()

    def _table(self, sql: sqlite3.Connection, table: str) -> None:
        ours = [row[1] for row in sql.execute(f"PRAGMA table_info({table})")]
        theirs = {row[1] for row in self.source.execute(f"PRAGMA table_info({table})")}
        columns = [name for name in ours if name in theirs]
        insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        read = f"SELECT {', '.join(columns)} FROM {table}"
        if table in _KEYS:
            rows = self._from_both_ends(read, _KEYS[table])
            missing = (
                self._edges(sql, read)
                if table == "edges"
                else self._entries(read)
                if table == "entries"
                else iter(())
            )
        else:
            rows, missing = self._numbered(table, columns), iter(())
        for part in (rows, missing):
            for row in part:
                if _sound(table, columns, row):
                    sql.execute(insert, row)

    def _ask(self, query: str, values: Sequence[object] = ()) -> Iterator[Row]:
        """The rows up to the first that cannot be read."""
        with contextlib.suppress(sqlite3.DatabaseError):
            yield from self.source.execute(query, values)

    def _numbered(self, table: str, columns: Sequence[str]) -> Iterator[Row]:
        """From both ends as far as it goes, then each number between."""
        read = f"SELECT rowid, {', '.join(columns)} FROM {table} WHERE rowid"
        last = 0
        for row in self._ask(f"{read} > ? ORDER BY rowid", [0]):
            if _sound(table, columns, row[1:]):
                last = max(last, row[0])
            yield row[1:]
        first = last + self.most
        for row in self._ask(f"{read} > ? ORDER BY rowid DESC", [last]):
            if _sound(table, columns, row[1:]):
                first = min(first, row[0])
            yield row[1:]
        if first == last + self.most and self._ends(table, last):
            return
        for number in range(last + 1, first):
            for row in self._ask(f"{read} = ?", [number]):
                yield row[1:]

    def _ends(self, table: str, last: int) -> bool:
        """Whether it can be seen that nothing comes behind *last*."""
        try:
            query = f"SELECT rowid FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT 1"
            return self.source.execute(query, [last]).fetchone() is None
        except sqlite3.DatabaseError:
            return False

    def _from_both_ends(self, read: str, key: str) -> Iterator[Row]:
        """What comes twice is put once."""
        yield from self._ask(f"{read} ORDER BY {key}")
        down = ", ".join(f"{name} DESC" for name in key.split(", "))
        yield from self._ask(f"{read} ORDER BY {down}")

    def _entries(self, read: str) -> Iterator[Row]:
        """Places, by the index from messages to them."""
        index = "SELECT message, line, seq FROM entries INDEXED BY entries_by_message"
        self.places = sorted(set(self._from_both_ends(index, "message")))
        for _, line, seq in self.places:
            yield from self._ask(f"{read} WHERE line = ? AND seq = ?", [line, seq])

    def _edges(self, sql: sqlite3.Connection, read: str) -> Iterator[Row]:
        for number in sql.execute("SELECT id FROM nodes").fetchall():
            yield from self._ask(f"{read} WHERE node = ?", number)

    def _names(self, sql: sqlite3.Connection, table: str) -> tuple[str, ...]:
        """Names in the index of those that are not in the new database."""
        index = f"SELECT uid FROM {table} INDEXED BY sqlite_autoindex_{table}_1"
        named = {row[0] for row in self._from_both_ends(index, "uid")}
        here = {row[0] for row in sql.execute(f"SELECT uid FROM {table}")}
        return tuple(sorted(map(unpack_uid, named - here)))


def _sound(table: str, columns: Sequence[str], row: Row) -> bool:
    """Whether a row is what was written, as far as its seal knows."""
    values = dict(zip(columns, row, strict=True))
    if not isinstance(values.get("body", b""), bytes):
        return False
    names = SEALED.get(table, ())
    if not names or not values.keys() >= {*names, "seal"}:
        return True
    return bool(seal(*(values[name] for name in names)) == values["seal"])


def _placed(sql: sqlite3.Connection, places: Sequence[Row]) -> int:
    """Put messages that stand nowhere where the index says, or behind the one before them; gives how many.

    Their turns are counted anew. Summaries directly over them are left out: they say of which turns they are.
    """
    alone = (
        "SELECT id, role FROM messages WHERE id NOT IN (SELECT message FROM entries) ORDER BY id"
    )
    before = "SELECT line, seq FROM entries WHERE message < ? ORDER BY message DESC LIMIT 1"
    turn_of = "SELECT turn FROM entries WHERE line = ? AND seq < ? ORDER BY seq DESC LIMIT 1"
    known = {number: (line, seq) for number, line, seq in places}
    found = sql.execute(alone).fetchall()
    for number, role in found:
        line, seq = known.get(number) or _behind(
            sql, *(sql.execute(before, [number]).fetchone() or (1, 0))
        )
        (turn,) = sql.execute(turn_of, [line, seq]).fetchone() or (0,)
        sql.execute(log_tables.INSERT_ENTRY, [line, seq, number, turn + (role == "user")])
        over = "DELETE FROM nodes WHERE id IN (SELECT node FROM edges WHERE message = ?)"
        sql.execute(over, [number])
    return len(found)


def _behind(sql: sqlite3.Connection, line: int, seq: int) -> tuple[int, int]:
    """A place close behind one, so that many can follow."""
    taken = "SELECT 1 FROM entries WHERE line = ? AND seq > ? AND seq <= ?"
    if sql.execute(taken, [line, seq, seq + _STEP]).fetchone() is None:
        return line, seq + _STEP
    return line, log_tables.places(sql, line, 1, None)[0]


def _on_record(sql: sqlite3.Connection) -> None:
    """Lines and sessions for messages that have lost theirs."""
    for table in ("entries", "sessions", "nodes"):
        lacking = f"SELECT DISTINCT line FROM {table} WHERE line NOT IN (SELECT line FROM lines)"
        for line in sql.execute(lacking).fetchall():
            sql.execute("INSERT INTO lines (line) VALUES (?)", line)
            reseal(sql, "lines", "line = ?", line)
    lacking = "SELECT line FROM lines WHERE line NOT IN (SELECT line FROM sessions)"
    for (line,) in sql.execute(lacking).fetchall():
        session_tables.put(sql, Session(f"salvaged-{line}", line, "", "new", 0.0), None)
