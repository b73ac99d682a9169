"""What the rows of a database say about each other, and about themselves: seals, and who needs whom.

Everything here is asked in SQL and answered with the rows that fail, so it takes no memory for
those that do not. The bytes of messages and of nodes are not looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from .archive import RETURNED
from .audit import Place, Weighed
from .connection import Connection
from .errors import StoreError
from .log_tables import VERSIONS
from .records import Fault
from .seals import CALL
from .uids import unpack_uid

__all__ = ["SqliteAudit"]

_CHUNK = 500
_OF = "(SELECT uid FROM messages WHERE id = {0})"

_NAMES: Final = {
    "lines": ("file", "'line ' || line"),
    "sessions": ("session", "name"),
    "messages": ("message", "uid"),
    "versions": ("message", f"ifnull({_OF.format('message')}, 'message ' || message)"),
    "aliases": ("message", "uid"),
    "entries": ("message", f"ifnull({_OF.format('message')}, 'message ' || message)"),
    "nodes": ("node", "uid"),
    "memory": ("session", "session"),
    "passes": ("session", "session"),
    "forgotten": ("file", "kind || ' ' || name"),
}
"""By table: what a row of it is about, and SQL for the name of that."""

_ROWS: Final = {
    "lines": "its base, the line it was branched from",
    "sessions": "its line, parent or time",
    "messages": "its uid, role, time, version, key, size or references",
    "versions": "the number, version, key or references of an earlier version",
    "aliases": "the message that this other name of it leads to",
    "entries": "its place on a line: order, turn, or whether it is withdrawn",
    "nodes": "its kind, line, depth, time, texts or the like",
    "memory": "what is remembered for it",
    "passes": "the record of one of its compactions",
    "forgotten": "the record of what was forgotten",
}

_BETWEEN: Final = (
    ("message", "stands on no line",
     "SELECT uid FROM messages WHERE NOT EXISTS (SELECT 1 FROM entries WHERE message = messages.id)"),
    ("message", "stands on a line and is missing",
     ("SELECT DISTINCT 'message ' || message FROM entries"
      " WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id = entries.message)")),
    ("message", "stands twice on a line",
     (f"SELECT DISTINCT {_NAMES['entries'][1]} FROM entries INDEXED BY entries_by_message"
     " GROUP BY message, line HAVING count(*) > 1")),
    ("message", "has other versions than it says",
     ("SELECT uid FROM messages LEFT JOIN"
      " (SELECT message, count(*) n, min(version) low, max(version) high FROM versions GROUP BY message)"
      " ON message = id WHERE version - 1 != ifnull(n, 0) OR (n AND (low != 1 OR high != n))")),
    ("message", "an earlier version is kept of it, and it is missing",
     "SELECT 'message ' || message FROM versions WHERE message NOT IN (SELECT id FROM messages)"),
    ("message", "is another name for a message that is missing",
     "SELECT uid FROM aliases WHERE message NOT IN (SELECT id FROM messages)"),
    ("message", "is the uid of one message and another name for another",
     "SELECT a.uid FROM aliases a JOIN messages m ON m.uid = a.uid AND m.id != a.message"),
    ("file", "is not on record and has messages",
     "SELECT DISTINCT 'line ' || line FROM entries WHERE line NOT IN (SELECT line FROM lines)"),
    ("file", "no session stands on it",
     ("SELECT 'line ' || line FROM lines WHERE line NOT IN (SELECT line FROM sessions)"
      " AND line NOT IN (SELECT line FROM forgotten)")),
    ("file", "was branched from a line that is not on record",
     "SELECT 'line ' || line FROM lines WHERE base NOT IN (SELECT line FROM lines)"),
    ("session", "its line is not on record",
     "SELECT name FROM sessions WHERE line NOT IN (SELECT line FROM lines)"),
    ("node", "its line is not on record",
     "SELECT uid FROM nodes WHERE line NOT IN (SELECT line FROM lines)"),
    ("node", "its edges are not numbered as they were",
     ("SELECT uid FROM nodes JOIN (SELECT node, count(*) n, min(place) low, max(place) high FROM edges"
      " GROUP BY node) ON node = id WHERE low != 0 OR high != n - 1")),
    ("node", "it has a source that was made after it",
     "SELECT DISTINCT uid FROM edges JOIN nodes ON id = node WHERE source >= node"),
    ("file", "an edge begins at a node that is missing",
     "SELECT DISTINCT 'node ' || node FROM edges WHERE node NOT IN (SELECT id FROM nodes)"),
)  # fmt: skip
"""(what it is about, what is wrong with it, SQL for the names of those)."""


class SqliteAudit:
    """An :class:`storage.audit.Audit` of a file."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def faults(self) -> Iterator[Fault]:
        """Everything that does not hold; a table that cannot be read is one too."""
        yield from self._odd()
        for table, (kind, name) in _NAMES.items():
            where = f"SELECT {name} FROM {table} WHERE seal IS NOT {CALL[table]}"
            yield from self._found(where, kind, f"its seal is broken: {_ROWS[table]} was changed")
        for kind, what, statement in _BETWEEN:
            yield from self._found(statement, kind, what)

    def _odd(self) -> Iterator[Fault]:
        """What is in the file beside our tables and indexes."""
        from .schema import odd_objects  # sqlite-utils, a tenth of a second

        try:
            with self._connection.reading() as sql:
                found = odd_objects(sql)
        except StoreError as error:
            yield Fault("file", str(self._connection.path), f"its schema cannot be read: {error}")
            return
        for name, what in found:
            yield Fault("file", name, what)

    def _found(self, statement: str, kind: str, what: str) -> Iterator[Fault]:
        try:
            with self._connection.reading() as sql:
                rows = sql.execute(statement).fetchall()
        except StoreError as error:
            text = f"could not be looked through for what {what}: {error}"
            yield Fault("file", str(self._connection.path), text)
            return
        for (name,) in rows:
            yield Fault(kind, unpack_uid(name) if isinstance(name, bytes) else str(name), what)

    def messages(self, after: int, limit: int) -> list[Weighed]:
        """By number."""
        with self._connection.reading() as sql:
            rows = sql.execute(
                f"SELECT id, uid, {VERSIONS}, refs IS NOT NULL FROM messages m WHERE id > ? ORDER BY id LIMIT ?",
                [after, limit],
            ).fetchall()
        return [
            Weighed(number, unpack_uid(uid), newest, bool(large))
            for number, uid, newest, large in rows
        ]

    def nodes(self, after: int, limit: int) -> list[tuple[int, str]]:
        """By number."""
        with self._connection.reading() as sql:
            rows = sql.execute(
                "SELECT id, uid FROM nodes WHERE id > ? ORDER BY id LIMIT ?", [after, limit]
            ).fetchall()
        return [(number, unpack_uid(uid)) for number, uid in rows]

    def places(self, line: int, first: int, last: int, limit: int) -> list[Place]:
        """Without a look at the messages: the rows of a place are short."""
        with self._connection.reading() as sql:
            rows = sql.execute(
                "SELECT message, seq, withdrawn FROM entries WHERE line = ? AND seq BETWEEN ? AND ?"
                " ORDER BY seq DESC LIMIT ?",
                [line, first, last, limit],
            ).fetchall()
        return [_place(*row) for row in rows]

    def placed(self, line: int, messages: Collection[int]) -> dict[int, Place]:
        """By message."""
        found: dict[int, Place] = {}
        wanted = list(messages)
        for start in range(0, len(wanted), _CHUNK):
            part = wanted[start : start + _CHUNK]
            with self._connection.reading() as sql:
                rows = sql.execute(
                    "SELECT message, seq, withdrawn FROM entries"
                    f" WHERE +line = ? AND message IN ({','.join('?' * len(part))})",
                    [line, *part],
                ).fetchall()
            found.update((row[0], _place(*row)) for row in rows)
        return found

    def digests(self, wanted: Collection[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        """Current versions many at a time, earlier ones one by one."""
        numbers = list({number for number, _ in wanted})
        found: dict[tuple[int, int], bytes] = {}
        with self._connection.reading() as sql:
            for start in range(0, len(numbers), _CHUNK):
                part = numbers[start : start + _CHUNK]
                rows = sql.execute(
                    "SELECT id, version, digest FROM messages"
                    f" WHERE id IN ({','.join('?' * len(part))})",
                    part,
                )
                found.update(((number, version), mark) for number, version, mark in rows)
            for pair in set(wanted) - found.keys():
                row = sql.execute(
                    "SELECT digest FROM versions WHERE message = ? AND version = ?", pair
                ).fetchone()
                if row is not None:
                    found[pair] = row[0]
        return found

    def keys(self, line: int) -> Iterator[bytes]:
        """Current versions by their places, each followed by the earlier ones."""
        after = -(1 << 62)
        while True:
            with self._connection.reading() as sql:
                rows = sql.execute(
                    "SELECT e.seq, m.id, m.version, m.key FROM entries e JOIN messages m ON m.id = e.message"
                    " WHERE e.line = ? AND e.seq > ? ORDER BY e.seq LIMIT ?",
                    [line, after, _CHUNK],
                ).fetchall()
                several = [number for _, number, version, _ in rows if version > 1]
                earlier = sql.execute(
                    f"SELECT key FROM versions WHERE message IN ({','.join('?' * len(several))})",
                    several,
                ).fetchall()
            if not rows:
                return
            yield from (key for *_, key in rows)
            yield from (key for (key,) in earlier)
            after = rows[-1][0]


def _place(message: int, seq: int, state: int) -> Place:
    return Place(message, seq, state == 1, state == RETURNED)
