"""Where strings may stand in a SQLite file: found in its bytes, before anything is decoded.

To read 100,000 messages takes seconds, to look through their bytes a tenth of one. Whoever takes a string out
looks closely at what is found here; what is not found cannot hold it:

- A body is canonical JSON, and that writes each character by itself, whatever stands beside it. So what a text
  in it holds, written in the same way, stands in its bytes.
- One that was imported may be written otherwise: with ``\\u`` or ``\\/`` in front of any character. So each body
  that has these two is named, and each that SQLite takes for no JSON, for whoever reads it to complain of.
- A text in it may hold JSON that was written otherwise, by whoever wrote a tool's arguments. That has such escapes too,
  at whatever depth (see ``storage.escapes``).
- A large string is kept beside its message, compressed and not as JSON. All of them are looked through, also with their
  escapes undone.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from .canon import encode, pack_text
from .escapes import ODD, undone
from .migrations import TABLES
from .payloads import swell
from .uids import unpack_uid

__all__ = ["holding", "large", "names", "suspects"]

#: What a reader puts where a text is no UTF-8: it stands in no bytes.
_REPLACED: Final = "\ufffd".encode()
#: How what zlib wrote begins: its method, the size of its window, and a check of both.
_HEADS: Final = ",".join(
    f"x'{head:04x}'"
    for first in range(0x08, 0x80, 0x10)
    for head in range(first << 8, first + 1 << 8)
    if not head % 31
)


def _fewest(needles: Iterable[bytes]) -> list[bytes]:
    """Those of *needles* that hold no other one: where any of them all stands, one of these does."""
    found: list[bytes] = []
    for needle in sorted(set(needles), key=len):
        if not any(other in needle for other in found):
            found.append(needle)
    return found


def _has(column: str, needles: Sequence[bytes], first: int = 1) -> str:
    """A condition: the column holds one of *needles*, which are bound from number *first* on."""
    numbers = range(first, first + len(needles))
    return "(" + " OR ".join(f"instr(CAST({column} AS BLOB), ?{n})" for n in numbers) + ")"


def _odd(column: str) -> str:
    """A condition: the column may hold something that is not spelt as we do. Most have no backslash at all."""
    data = f"CAST({column} AS BLOB)"
    some = " OR ".join(f"instr({data}, x'{each.hex()}')" for each in ODD)
    return f"(instr({data}, x'5c') AND ({some}))"


def suspects(
    sql: sqlite3.Connection,
    strings: Sequence[str],
    after: int,
    last: int,
    payloads: Mapping[str, bool],
) -> list[tuple[int, int]]:
    """(number, version) of what may hold any of *strings*, of the messages behind *after* up to *last*.

    *payloads*: what :func:`large` has found; of those that came since any may hold it.
    """
    said, plain = _fewest(map(_written, strings)), _fewest(map(pack_text, strings))
    first = 3
    odd = f"({_has('body', said, first)} OR {_odd('body')} OR {_broken(sql)})"
    spoken = f"({_has('role', plain, first + len(said))} OR {_odd('role')})"
    values, within = [after, last, *said], "BETWEEN ?1 + 1 AND ?2"
    found = set[tuple[int, int]]()
    rows = sql.execute(
        f"SELECT id, version, {odd}, refs, {spoken} FROM messages"
        f" WHERE id {within} AND ({odd} OR {spoken} OR refs IS NOT NULL)",
        [*values, *plain],
    )
    speaking = []
    for number, version, is_odd, refs, speaks in rows:
        if is_odd or speaks or _leads(refs, payloads):
            found.add((number, version))
        if speaks:
            speaking.append(number)
    rows = sql.execute(
        f"SELECT message, version, {odd}, refs FROM versions WHERE message {within}"
        f" AND message IN (SELECT id FROM messages) AND ({odd} OR refs IS NOT NULL)",
        values,
    )
    found.update((n, v) for n, v, is_odd, refs in rows if is_odd or _leads(refs, payloads))
    for number in speaking:  # a role is that of every version
        found.update(
            sql.execute("SELECT message, version FROM versions WHERE message = ?", [number])
        )
    return sorted(found)


def _broken(sql: sqlite3.Connection) -> str:
    """A condition: the body cannot be read; where this SQLite knows no JSON, any may be such a one."""
    try:
        sql.execute("SELECT json_valid('1')").fetchone()
    except sqlite3.OperationalError:
        return "1"
    return "NOT json_valid(CAST(body AS TEXT))"


def _written(text: str) -> bytes:
    """*text* as it stands within a text of canonical JSON."""
    return encode(text)[1:-1]


def large(sql: sqlite3.Connection, strings: Sequence[str]) -> dict[str, bool]:
    """For each large string, by digest, whether it holds one of *strings* or cannot be read."""
    needles = _fewest(map(pack_text, strings))
    rows = sql.execute("SELECT digest, data FROM payloads")
    return {digest.hex(): _in_payload(data, needles) for digest, data in rows}


def _in_payload(data: bytes, needles: Sequence[bytes]) -> bool:
    try:
        text = swell(data)
    except (TypeError, zlib.error):
        return True  # whoever reads its message says so
    return any(needle in each for each in (text, *undone(text)) for needle in needles)


def _leads(refs: str | None, payloads: Mapping[str, bool]) -> bool:
    """Whether a large string of a message may hold it: also if it is not there, or not known."""
    if refs is None:
        return False
    try:
        return any(payloads.get(digest, True) for _, digest in json.loads(refs))
    except (TypeError, ValueError, RecursionError):
        return True


def names(sql: sqlite3.Connection, strings: Sequence[str]) -> list[tuple[int, str]]:
    """Numbers of messages, and those of their names that hold any of *strings*, or may without their escapes."""
    needles = _fewest(map(pack_text, strings))
    return [
        (number, unpack_uid(uid))
        for table, column in (("messages", "id"), ("aliases", "message"))
        for number, uid in sql.execute(
            f"SELECT {column}, uid FROM {table} WHERE typeof(uid) = 'text'"
            f" AND ({_has('uid', needles)} OR {_odd('uid')}) ORDER BY 1, 2",
            needles,
        )
    ]


def holding(
    sql: sqlite3.Connection, needles: Sequence[bytes], plain: Sequence[bytes] = ()
) -> dict[str, int]:
    """In how many rows of each table any of *needles* stands, or of *plain* once escapes are undone.

    Nothing of those in which none does.
    """
    few, found = _fewest(needles), dict[str, int]()
    whole = any(_REPLACED in needle for needle in few)
    for table in sorted(TABLES):
        columns = [row[1] for row in sql.execute(f"PRAGMA table_info({table})")]
        where = (
            "1" if whole else " OR ".join(_may_hold(table, each, few, plain) for each in columns)
        )
        rows = sql.execute(f"SELECT * FROM {table} WHERE {where}", [] if whole else few)
        look = partial(_holds, needles=few, plain=plain, swollen=table == "payloads")
        if count := sum(any(map(look, row)) for row in rows):
            found[table] = count
    return found


def _may_hold(table: str, column: str, needles: Sequence[bytes], plain: Collection[bytes]) -> str:
    """A condition: the column holds one of *needles*, or what zlib or another JSON may have written, where it does."""
    said = _has(column, needles)
    if plain:
        said += f" OR {_odd(column)}"
    if table == "payloads":
        said += f" OR substr(CAST({column} AS BLOB), 1, 2) IN ({_HEADS})"
    return f"({column} >= '' AND ({said}))"  # texts and blobs are: quicker than to ask for its type


def _holds(
    value: object, *, needles: Collection[bytes], plain: Collection[bytes], swollen: bool
) -> bool:
    if isinstance(value, str):
        data = pack_text(value)
    elif isinstance(value, bytes):
        data = value
    else:
        return False
    if swollen:
        with contextlib.suppress(zlib.error):
            data = swell(data)
    return any(needle in data for needle in needles) or (
        bool(plain) and any(each in view for view in undone(data) for each in plain)
    )
