"""Reads and restores what a SQLite file holds; what each method promises is in ``storage.archive``."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence

from . import fts, fts_beside, log_tables, session_tables
from .archive import Beside, Kept, LineTotals, Placed
from .connection import Connection
from .reading import snapshot
from .records import Draft, Session
from .sqlite_forget import SqliteEraser
from .uids import unpack_uid

__all__ = ["SqliteArchive"]

_CHUNK = 500
#: For all words of all summaries: whoever waits asked for something else.
_BESIDE_SECONDS = 1.0
_MARK = "UPDATE entries SET withdrawn = ?1, seal = lcm_seal(line, seq, message, turn, ?1) WHERE line = ?2 AND seq = ?3"
_OLDER = (
    "SELECT message, min(line) FROM entries e WHERE line < ?1"
    " AND EXISTS (SELECT 1 FROM entries WHERE message = e.message AND line = ?1) GROUP BY message"
)


class SqliteArchive:
    """A :class:`storage.archive.Archive` of one file."""

    def __init__(
        self,
        connection: Connection,
        index: Callable[[sqlite3.Connection, Sequence[tuple[int, str]]], None],
    ) -> None:
        self._connection, self._index = connection, index

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._connection.reading() as sql, snapshot(sql):
            yield

    def overview(self) -> dict[int, LineTotals]:
        with self._connection.reading() as sql:
            made = "SELECT line, count(*) FROM nodes WHERE kind NOT IN ('frame', 'state') GROUP BY line"
            nodes = dict(sql.execute(made).fetchall())
            rows = sql.execute(
                "SELECT e.line, count(*), sum(e.withdrawn = 1), max(e.turn), min(m.time), max(m.time)"
                " FROM entries e JOIN messages m ON m.id = e.message GROUP BY e.line"
            ).fetchall()
        return {
            line: LineTotals(messages, withdrawn, turns, first, last, nodes.get(line, 0))
            for line, messages, withdrawn, turns, first, last in rows
        }

    def aliases(self, messages: Sequence[int] | None = None) -> dict[int, tuple[str, ...]]:
        wanted = None if messages is None else set(messages)
        found: dict[int, list[str]] = {}
        with self._connection.reading() as sql:
            # Not indexed by message: one pass over 100,000 takes 50 ms, and who asks has time.
            for uid, message in sql.execute("SELECT uid, message FROM aliases"):
                if wanted is None or message in wanted:
                    found.setdefault(message, []).append(unpack_uid(uid))
        return {message: tuple(sorted(uids)) for message, uids in found.items()}

    def single(self, messages: Sequence[int]) -> list[Kept]:
        with self._connection.reading() as sql:
            return log_tables.single(sql, messages)

    def older(self, line: int) -> dict[int, int]:
        with self._connection.reading() as sql:
            return dict(sql.execute(_OLDER, [line]).fetchall())

    def beside(self, nodes: Sequence[str]) -> Beside:
        with self._connection.reading() as sql, fts.working(sql, _BESIDE_SECONDS):
            return fts_beside.beside(sql, nodes)

    def restore_session(self, session: Session, base: int | None = None) -> Session:
        with self._connection.writing() as sql:
            SqliteEraser(self._connection).unbury("session", session.name)
            return session_tables.named(sql, session.name) or session_tables.put(sql, session, base)

    def next_line(self) -> int:
        with self._connection.reading() as sql:
            return int(sql.execute("SELECT ifnull(max(line), 0) + 1 FROM lines").fetchone()[0])

    def shift(self, numbers: Sequence[int]) -> int:
        with self._connection.reading() as sql:
            following = log_tables.next_number(sql)
            if not numbers or min(numbers) >= following or not _taken(sql, numbers):
                return 0
            return following - min(numbers)

    def restore(self, line: int, rows: Sequence[tuple[Placed, Draft | None]]) -> None:
        with self._connection.writing() as sql:
            for placed, draft in rows:
                if draft is None:
                    log_tables.put_entry(sql, line, placed)
            new = [(placed, draft) for placed, draft in rows if draft is not None]
            _, texts = log_tables.write(
                sql,
                line,
                [(draft, placed.turn) for placed, draft in new],
                [(placed.number, placed.seq) for placed, _ in new],
            )
            self._index(sql, texts)
            marked = [(placed.state, line, placed.seq) for placed, _ in rows if placed.state]
            sql.executemany(_MARK, marked)


def _taken(sql: sqlite3.Connection, numbers: Sequence[int]) -> bool:
    """Whether any message has one of these numbers."""
    for start in range(0, len(numbers), _CHUNK):
        part = numbers[start : start + _CHUNK]
        marks = ",".join("?" * len(part))
        if sql.execute(f"SELECT 1 FROM messages WHERE id IN ({marks}) LIMIT 1", part).fetchone():
            return True
    return False
