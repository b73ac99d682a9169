"""Takes things out of a SQLite file for good; what each method promises is in ``storage.forget``."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from . import fts, fts_taken, graph_tables, log_tables, old_bytes, suspects
from .canon import DIGEST_BYTES
from .connection import Connection
from .errors import StoreBusy, StoreDamaged
from .forget import Stone
from .records import Draft, Entry, Node
from .seals import reseal
from .uids import pack_uid, unpack_uid

__all__ = ["SqliteEraser"]

#: Messages that are looked through, and nodes that are read, at a time.
_STRIDE, _PAGE = 50_000, 500
_COLUMNS = "kind, name, time, digest, line, detail"


class SqliteEraser:
    """A :class:`storage.forget.Eraser` of one file."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._noted: tuple[int, fts_taken.Taken] | None = None
        """What the indexes still have, and in which transaction it was taken out."""

    def _taken(self, sql: sqlite3.Connection) -> fts_taken.Taken:
        """What this transaction has taken out so far."""
        now = self._connection.begun
        if self._noted is None or self._noted[0] != now:
            self._noted = (now, fts_taken.Taken(sql, str(self._connection.path)))
        return self._noted[1]

    @contextlib.contextmanager
    def _erasing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction in which what is deleted is overwritten with zeros."""
        with self._connection.writing() as sql:
            sql.execute("PRAGMA secure_delete = ON")
            yield sql

    def stones(self, *kinds: str) -> list[Stone]:
        marks = ",".join("?" * len(kinds))
        where = f"WHERE kind IN ({marks})" if kinds else ""
        with self._connection.reading() as sql:
            rows = sql.execute(
                f"SELECT {_COLUMNS} FROM forgotten {where} ORDER BY kind, name", kinds
            ).fetchall()
        return [
            Stone(kind, name, time, digest, line, _detail(kind, name, detail))
            for kind, name, time, digest, line, detail in rows
        ]

    def is_forgotten(self, session: str) -> bool:
        query = "SELECT 1 FROM forgotten WHERE kind = 'session' AND name = ?"
        with self._connection.reading() as sql:
            return sql.execute(query, [session]).fetchone() is not None

    def bury(self, stone: Stone) -> None:
        values = [
            stone.kind, stone.name, stone.time, stone.digest, stone.line,
            json.dumps(dict(stone.detail), sort_keys=True),
        ]  # fmt: skip
        with self._connection.writing() as sql:
            sql.execute(
                f"INSERT OR REPLACE INTO forgotten ({_COLUMNS}, seal)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, lcm_seal(?1, ?2, ?3, ?4, ?5, ?6))",
                values,
            )

    def unbury(self, kind: str, name: str) -> None:
        with self._connection.writing() as sql:
            sql.execute("DELETE FROM forgotten WHERE kind = ? AND name = ?", [kind, name])

    def alone(self, line: int) -> list[Entry]:
        other = "SELECT 1 FROM entries o WHERE o.message = e.message AND o.line != e.line"
        with self._connection.reading() as sql:
            return log_tables.entries(sql, f"e.line = ? AND NOT EXISTS ({other})", [line])

    def above(self, messages: Sequence[int]) -> list[str]:
        gone, under = set(messages), set[int]()
        if not gone:
            return []
        with self._connection.reading() as sql:
            # A node's sources are stored before it, so one look at the edges in order finds all.
            for node, message, source in sql.execute(
                "SELECT node, message, source FROM edges ORDER BY node, place"
            ):
                if message in gone or source in under:
                    under.add(node)
            rows = sql.execute("SELECT id, uid FROM nodes ORDER BY id").fetchall()
        return [unpack_uid(uid) for number, uid in rows if number in under]

    def remove(self, line: int, messages: Sequence[int], nodes: Sequence[str]) -> None:
        with self._erasing() as sql:
            self._taken(sql).nodes(sql, nodes)
            self._taken(sql).messages(sql, messages)
            for uid in nodes:
                (number,) = sql.execute(
                    "DELETE FROM nodes WHERE uid = ? RETURNING id", [pack_uid(uid)]
                ).fetchone()
                sql.execute("DELETE FROM edges WHERE node = ?", [number])
            sql.execute("CREATE TEMP TABLE IF NOT EXISTS gone (id INTEGER PRIMARY KEY)")
            sql.execute("DELETE FROM temp.gone")
            sql.executemany("INSERT INTO temp.gone VALUES (?)", [(each,) for each in messages])
            for table, column in _OF_MESSAGES:
                sql.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT id FROM temp.gone)")
            sql.execute(_STONES_OF_MESSAGES)
            sql.executemany(
                "DELETE FROM forgotten WHERE kind IN ('node', 'moved') AND name = ?",
                [(uid,) for uid in nodes],
            )
            for table in ("passes", "memory"):
                sql.execute(
                    f"DELETE FROM {table} WHERE session IN (SELECT name FROM sessions WHERE line = ?)",
                    [line],
                )
            sql.execute("DELETE FROM sessions WHERE line = ?", [line])

    def overwrite(self, message: int, version: int, draft: Draft) -> None:
        with self._erasing() as sql:
            self._taken(sql).message(sql, message, version, draft.text)
            skeleton, refs = log_tables.stow(sql, draft.body)
            current = "id = ? AND version = ?"
            done = sql.execute(
                f"UPDATE messages SET role = ?, key = ?, tokens = ?, tool = ?, body = ?, refs = ? WHERE {current}",
                [draft.role, draft.key, draft.tokens, draft.tool, skeleton, refs, message, version],
            )
            if done.rowcount:
                reseal(sql, "messages", current, [message, version])
                return
            earlier = "message = ? AND version = ?"
            sql.execute(
                f"UPDATE versions SET key = ?, body = ?, refs = ? WHERE {earlier}",
                [draft.key, skeleton, refs, message, version],
            )
            reseal(sql, "versions", earlier, [message, version])

    def overwrite_node(self, node: Node) -> None:
        with self._erasing() as sql:
            self._taken(sql).node(sql, node)
            where, values = "uid = ?", [pack_uid(node.uid)]
            sql.execute(
                f"UPDATE nodes SET data = ? WHERE {where}", [graph_tables.data_of(node), *values]
            )
            reseal(sql, "nodes", where, values)

    def rename(self, message: int, uid: str, other: str) -> None:
        old, new = pack_uid(uid), pack_uid(other)
        with self._erasing() as sql:
            own = sql.execute(
                "UPDATE messages SET uid = ? WHERE id = ? AND uid = ?", [new, message, old]
            )
            sql.execute(
                "DELETE FROM aliases WHERE message = ? AND uid IN (?, ?)", [message, old, new]
            )
            if own.rowcount:
                reseal(sql, "messages", "id = ?", [message])
            else:
                sql.execute(
                    "INSERT OR IGNORE INTO aliases SELECT ?1, ?2, lcm_seal(?1, ?2)"
                    " WHERE NOT EXISTS (SELECT 1 FROM messages WHERE uid = ?1)",
                    [new, message],
                )

    def suspects(self, strings: Sequence[str]) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        with self._connection.reading() as sql:
            end, payloads = log_tables.next_number(sql), suspects.large(sql, strings)
        for after in range(0, end, _STRIDE):  # nobody waits for more than a part of the log
            with self._connection.reading() as sql:
                found = suspects.suspects(sql, strings, after, after + _STRIDE, payloads)
            yield min(after + _STRIDE, end - 1), found

    def called(self, strings: Sequence[str]) -> list[tuple[int, str]]:
        with self._connection.reading() as sql:
            return suspects.names(sql, strings)

    def words(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        after = 0
        while True:
            with self._connection.reading() as sql:
                page = graph_tables.words(sql, after, _PAGE)
            if not page:
                return
            yield from (each[1:] for each in page)
            after = page[-1][0]

    def holding(self, needles: Sequence[bytes], plain: Sequence[bytes] = ()) -> dict[str, int]:
        with self._connection.reading() as sql:
            return suspects.holding(sql, needles, plain)

    def sweep(self, told: Callable[[int], None] | None = None) -> None:
        with self._erasing() as sql:
            used = {
                bytes.fromhex(digest)
                for table in ("messages", "versions")
                for (refs,) in sql.execute(f"SELECT refs FROM {table} WHERE refs IS NOT NULL")
                for digest in _DIGEST.findall(str(refs))
            }
            kept = sql.execute("SELECT digest FROM payloads").fetchall()
            sql.executemany(
                "DELETE FROM payloads WHERE digest = ?", [row for row in kept if row[0] not in used]
            )
            taken, path = self._taken(sql), str(self._connection.path)
            self._noted = None
            if not fts_taken.settle(sql, path, taken):
                fts.rebuild(sql, path, told)
            sql.execute("UPDATE lines SET revision = revision + 1")
            old_bytes.mark(sql)

    def scrub(self) -> bool:
        with self._connection.reading() as sql:
            found = old_bytes.marked(sql)
        if not self._connection.scrub():
            return False
        if found is not None:
            try:
                with self._connection.writing() as sql:
                    old_bytes.unmark(sql, found)
            except StoreBusy:
                return False
        return self.is_scrubbed()

    def is_scrubbed(self) -> bool:
        with self._connection.reading() as sql:
            return old_bytes.marked(sql) is None


def _detail(kind: str, name: str, kept: Any) -> Mapping[str, Any]:
    """What a stone says beside its columns; of one that is damaged nothing, where that only informs.

    Raises:
        StoreDamaged: what was forgotten cannot be known again without it.
    """
    try:
        said = json.loads(kept)
        for field, is_one in _FIELDS.get(kind, {}).items():
            if not is_one(said[field]):
                raise ValueError(field)  # noqa: TRY301 - as what else is wrong with it
        return {} if type(said.get("messages", 0)) is not int else said
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        if kind not in _FIELDS:
            return {}
        raise StoreDamaged(
            f"The record of what must not be kept ({kind} {name}) is damaged. Run `hermes lcm verify`."
        ) from error


_FIELDS: Final[Mapping[str, Mapping[str, Callable[[Any], bool]]]] = {
    "text": {
        "length": lambda value: type(value) is int,
        "shade": lambda value: bytes.fromhex(value) is not None,
    },
    "unkept": {"pattern": lambda value: type(value) is str},
}
"""What the stones must say that something is known again by."""
#: A digest among references, also where these are no JSON any more: what they may need stays.
_DIGEST: Final = re.compile(f'"([0-9a-f]{{{2 * DIGEST_BYTES}}})"')
#: A number that nobody has any more may be given to another message.
_STONES_OF_MESSAGES = (
    "DELETE FROM forgotten WHERE kind = 'message'"
    " AND CAST(substr(name, 1, instr(name, '@') - 1) AS INTEGER) IN (SELECT id FROM temp.gone)"
)
_OF_MESSAGES = (
    ("aliases", "message"),
    ("versions", "message"),
    ("entries", "message"),
    ("messages", "id"),
)
