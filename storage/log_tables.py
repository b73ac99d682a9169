"""Statements on the log: messages, their versions and their places on lines.

Each function takes the connection of a block that is already locked (and, to
write, already in a transaction).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from . import bodies, fts, payloads
from .archive import RETURNED, Kept, Placed
from .errors import StoreDamaged
from .records import Brief, Draft, Entry
from .seals import reseal, seal
from .text import searchable
from .uids import pack_uid, prefix_range, unpack_uid

__all__ = [
    "FREE_NAME",
    "INSERT_ENTRY",
    "VERSIONS",
    "append",
    "counts",
    "entries",
    "known",
    "lines_of",
    "next_messages",
    "next_number",
    "placed",
    "places",
    "put_entry",
    "resolve",
    "revise",
    "single",
    "stow",
    "touch",
    "withdrawn",
    "write",
]

#: Distance of two order keys: room for twenty insertions between any two rows, halving each time.
GAP = 1 << 20

_ENTRY = (
    "SELECT m.id, e.seq, {uid}, m.role, e.turn, {key}, {digest},"
    f" m.version, m.tokens, e.withdrawn = 1, e.withdrawn = {RETURNED}"
    " FROM entries e JOIN messages m ON m.id = e.message WHERE "
)
_UID = "iif(typeof(m.uid) = 'blob', lower(hex(m.uid)), m.uid)"
_GIVEN: dict[Brief, dict[str, str]] = {
    "": {"uid": _UID, "key": "m.key", "digest": "m.digest"},
    "places": {"uid": "NULL", "key": "NULL", "digest": "m.digest"},
    "names": {"uid": _UID, "key": "NULL", "digest": "NULL"},
}
_INSERT_MESSAGE = "INSERT INTO messages VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, nullif(?, ''), ?)"
INSERT_ENTRY = "INSERT INTO entries VALUES (?1, ?2, ?3, ?4, 0, lcm_seal(?1, ?2, ?3, ?4, 0))"
"""Takes line, order key, message, turn."""
FREE_NAME = "DELETE FROM aliases WHERE uid = ?"
"""Before a message gets a uid: it names this one alone."""
VERSIONS = (
    "CASE version WHEN 1 THEN 1 ELSE"
    " min(version, 2 + (SELECT count(*) FROM versions v WHERE v.message = m.id)) END"
)
"""How many versions of message ``m`` to ask for: as many as it says that it has. A number that was damaged
may be anything; of those that are not there one is enough, for it is found missing."""
_CHUNK = 500


def touch(sql: sqlite3.Connection, line: int) -> None:
    """Say that the line changed."""
    sql.execute("UPDATE lines SET revision = revision + 1 WHERE line = ?", [line])


def places(sql: sqlite3.Connection, line: int, count: int, after: int | None) -> list[int]:
    """Order keys for *count* rows behind *after* (None: at the end), ascending."""
    if after is None:
        row = sql.execute(
            "SELECT seq FROM entries WHERE line = ? ORDER BY seq DESC LIMIT 1", [line]
        ).fetchone()
        start = row[0] if row else 0
        return list(range(start + GAP, start + GAP * (count + 1), GAP))
    row = sql.execute(
        "SELECT seq FROM entries WHERE line = ? AND seq > ? ORDER BY seq LIMIT 1", [line, after]
    ).fetchone()
    if row is None:
        return list(range(after + GAP, after + GAP * (count + 1), GAP))
    room = (row[0] - after) // (count + 1)
    if room == 0:
        raise StoreDamaged(f"No room left for {count} rows between two rows of line {line}.")
    return [after + room * (n + 1) for n in range(count)]


def append(
    sql: sqlite3.Connection, line: int, drafts: Sequence[tuple[Draft, int]], after: int | None
) -> tuple[list[Entry], list[tuple[int, str]]]:
    """Store new messages; returns their entries, and what is to be indexed of them."""
    if not drafts:
        return [], []
    if sql.execute("SELECT 1 FROM aliases LIMIT 1").fetchone():
        sql.executemany(FREE_NAME, [[pack_uid(draft.uid)] for draft, _ in drafts])
    seqs = places(sql, line, len(drafts), after)
    return write(sql, line, drafts, list(enumerate(seqs, next_number(sql))))


def next_number(sql: sqlite3.Connection) -> int:
    """The number of the next new message."""
    (last,) = sql.execute("SELECT ifnull(max(id), 0) FROM messages").fetchone()
    return int(last) + 1


def write(
    sql: sqlite3.Connection,
    line: int,
    drafts: Sequence[tuple[Draft, int]],
    where: Sequence[tuple[int, int]],
) -> tuple[list[Entry], list[tuple[int, str]]]:
    """The same under these numbers and order keys, none of which is taken."""
    rows, placed, texts, made = [], [], [], []
    for (number, seq), (draft, turn) in zip(where, drafts, strict=True):
        uid, role, body, text, key, digest, time, tokens, tool = draft
        skeleton, refs = (body, None) if len(body) <= payloads.LARGE else stow(sql, body)
        name = pack_uid(uid)
        check = seal(number, name, role, time, 1, digest, key, tokens, tool, refs)
        made.append(Entry(number, seq, uid, role, turn, key, digest, 1, tokens))
        # sqlite3 looks for an adapter of each bytes and each None, at 0.5 us; a bytearray it takes as it is.
        kept = name if isinstance(name, str) else bytearray(name)
        binary = [bytearray(digest), bytearray(key), bytearray(skeleton)]
        rows.append(
            (number, kept, role, time, *binary[:2], tokens, tool, binary[2], refs or "", check)
        )
        placed.append((line, seq, number, turn, seal(line, seq, number, turn, 0)))
        texts.append((number, text))
    sql.executemany(_INSERT_MESSAGE, rows)
    sql.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, 0, ?)", placed)
    touch(sql, line)
    return made, texts


def put_entry(sql: sqlite3.Connection, line: int, placed: Placed) -> None:
    """Put a message that is stored already at its order key on the line."""
    sql.execute(INSERT_ENTRY, [line, placed.seq, placed.number, placed.turn])


def stow(sql: sqlite3.Connection, body: bytes) -> tuple[bytes, str | None]:
    """Store the large strings of a body; returns what is left of it, and where they belong."""
    skeleton, refs, large = payloads.split(body)
    for name, data in large.items():
        key = bytes.fromhex(name)
        if sql.execute("SELECT 1 FROM payloads WHERE digest = ?", [key]).fetchone() is None:
            sql.execute("INSERT INTO payloads VALUES (?, ?)", [key, payloads.shrink(data)])
    return skeleton, json.dumps(refs) if refs else None


def revise(sql: sqlite3.Connection, message: int, draft: Draft) -> None:
    """Make *draft* the current version of *message*."""
    try:
        ((_, old),) = bodies.parsed(sql, [(message, 0)], "")
    except StoreDamaged as error:  # the index cannot be told what it holds of it
        fts.mark(sql, error)
        old = {}
    version = sql.execute(
        "INSERT INTO versions (message, version, digest, key, body, refs)"
        " SELECT id, version, digest, key, body, refs FROM messages WHERE id = ? RETURNING id",
        [message],
    ).fetchone()[0]
    reseal(sql, "versions", "id = ?", [version])
    fts.replace_message(sql, message, searchable(old), version, draft.text)
    skeleton, refs = stow(sql, draft.body)
    sql.execute(
        "UPDATE messages SET version = version + 1, digest = ?, key = ?, tokens = ?, tool = ?, body = ?, refs = ?"
        " WHERE id = ?",
        [draft.digest, draft.key, draft.tokens, draft.tool, skeleton, refs, message],
    )
    reseal(sql, "messages", "id = ?", [message])


def entries(
    sql: sqlite3.Connection,
    where: str,
    values: Sequence[object],
    *,
    order: str = "e.seq",
    extra: Sequence[object] = (),
    brief: Brief = "",
) -> list[Entry]:
    """Entries that fulfil the condition; *brief*: what of them is wanted."""
    columns = _ENTRY.format(**_GIVEN[brief])
    rows = sql.execute(f"{columns}{where} ORDER BY {order}", [*values, *extra])
    new = tuple.__new__
    return [new(Entry, row) for row in rows]  # half the time of Entry._make


def withdrawn(sql: sqlite3.Connection, line: int, last: int) -> list[Entry]:
    """What was taken back of a line, as far as *last*.

    By its own index, which SQLite would leave aside for the line's: with that, all of a session is read.
    """
    gone = sql.execute(
        "SELECT message FROM entries INDEXED BY entries_withdrawn"
        " WHERE line = ? AND seq <= ? AND withdrawn AND withdrawn = 1",
        [line, last],
    )
    return placed(sql, line, [message for (message,) in gone])


def placed(sql: sqlite3.Connection, line: int, messages: Sequence[int]) -> list[Entry]:
    """The entries of these messages on the line, in order."""
    found = [
        entry
        for part in _parts(messages)
        for entry in entries(sql, f"+e.line = ? AND e.message IN ({_marks(part)})", [line, *part])
    ]
    return sorted(found, key=lambda entry: entry.seq)


def lines_of(sql: sqlite3.Connection, messages: Sequence[int]) -> dict[int, int]:
    """For each message the oldest line that it stands on."""
    found: dict[int, int] = {}
    for which, values in _among(messages):
        query = f"SELECT message, min(line) FROM entries WHERE message {which} GROUP BY message"
        found.update(sql.execute(query, values))
    return found


def single(sql: sqlite3.Connection, messages: Sequence[int]) -> list[Kept]:
    """Those of these messages that have one version and are kept in one piece."""
    query = "SELECT id, time, tool, digest, body FROM messages WHERE id {} AND version = 1 AND refs IS NULL"
    query += " AND typeof(tool) = 'text' AND typeof(body) = 'blob'"
    found: list[Kept] = []
    for which, values in _among(messages):
        found += sql.execute(query.format(which), values)
    return found


def _among(numbers: Sequence[int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Conditions that these numbers fulfil, and their values; neighbours are found as such, in half of the time."""
    first = numbers[0] if numbers else 0
    if numbers and list(numbers) == list(range(first, first + len(numbers))):
        yield "BETWEEN ? AND ?", [first, numbers[-1]]
        return
    for part in _parts(numbers):
        yield f"IN ({_marks(part)})", part


def _parts(values: Sequence[int]) -> Iterator[Sequence[int]]:
    return (values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK))


def _marks(values: Sequence[int]) -> str:
    return ",".join("?" * len(values))


def known(sql: sqlite3.Connection, uids: Sequence[str]) -> dict[str, int]:
    """Our numbers of the messages that these uids name."""
    found: dict[str, int] = {}
    for start in range(0, len(uids), _CHUNK):
        part = [pack_uid(uid) for uid in uids[start : start + _CHUNK]]
        marks = ",".join("?" * len(part))
        for table, column in (("aliases", "message"), ("messages", "id")):
            rows = sql.execute(f"SELECT uid, {column} FROM {table} WHERE uid IN ({marks})", part)
            found.update((unpack_uid(uid), number) for uid, number in rows)
    return found


def next_messages(
    sql: sqlite3.Connection, line: int | None, after: int, limit: int
) -> list[tuple[int, int]]:
    """(number, how many versions it has: see ``VERSIONS``) of the messages that follow *after* in number."""
    there = "EXISTS (SELECT 1 FROM entries WHERE message = m.id AND line = ?)"
    where, values = ("", []) if line is None else (f" AND {there}", [line])
    rows = sql.execute(
        f"SELECT id, {VERSIONS} FROM messages m WHERE id > ?{where} ORDER BY id LIMIT ?",
        [after, *values, limit],
    )
    return rows.fetchall()


def counts(sql: sqlite3.Connection, line: int | None) -> tuple[int, int, int, int]:
    """(sessions, messages, withdrawn, superseded versions) of a line, or of all."""
    if line is None:
        one = "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM messages),"
        one += " (SELECT count(*) FROM entries WHERE withdrawn AND withdrawn = 1), (SELECT count(*) FROM versions)"
        row = sql.execute(one).fetchone()
    else:
        row = sql.execute(
            "SELECT (SELECT count(*) FROM sessions WHERE line = :line), count(*), ifnull(sum(withdrawn = 1), 0),"
            " (SELECT count(*) FROM versions JOIN entries USING (message) WHERE line = :line)"
            " FROM entries WHERE line = :line",
            {"line": line},
        ).fetchone()
    return row  # type: ignore[no-any-return]


def resolve(sql: sqlite3.Connection, prefix: str) -> list[tuple[str, str]]:
    """Up to ten (kind, uid) pairs whose uid, or alias, begins with *prefix*."""
    found: dict[tuple[str, str], None] = {}
    for table, column in (("messages", "id"), ("nodes", "id"), ("aliases", "message")):
        for low, high in prefix_range(prefix):
            rows = sql.execute(
                f"SELECT uid, {column} FROM {table} WHERE uid >= ? AND uid < ? LIMIT 10",
                [low, high],
            ).fetchall()
            for uid, number in rows:
                name = uid
                if table == "aliases":
                    (name,) = sql.execute(
                        "SELECT uid FROM messages WHERE id = ?", [number]
                    ).fetchone()
                found["node" if table == "nodes" else "message", unpack_uid(name)] = None
    return list(found)[:10]
