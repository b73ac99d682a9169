"""Reads messages with their bodies, and knows of each whether it is what one must be.

That a body is what was written only its digest proves, which is for ``verify`` to derive. Here it is seen that it
is a message at all: whoever reads one gets an object, or hears by name which one is damaged.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from . import payloads
from .canon import decode, encode
from .errors import StoreDamaged
from .records import Message
from .uids import unpack_uid

__all__ = ["parsed", "read", "readable"]

_log = logging.getLogger(__name__)

_CHUNK: Final = 500
_LOST: Final = "[This message is damaged and cannot be read. `hermes lcm verify` names it.]"


def read(sql: sqlite3.Connection, wanted: Sequence[tuple[int, int]], path: str) -> list[Message]:
    """Messages with their bodies, in the order asked for.

    Raises:
        StoreDamaged: a message, a version or a payload is not there, or a body is none.
    """
    return [
        message if refs is None else message._replace(body=encode(_whole(sql, message, refs, path)))
        for message, refs in _kept(sql, wanted, path)
    ]


def parsed(
    sql: sqlite3.Connection,
    wanted: Sequence[tuple[int, int]],
    path: str,
    *,
    damaged: bool = False,
) -> list[tuple[Message, Any]]:
    """The same, with large strings left out of the bodies, and what each body says with them.

    Raises:
        StoreDamaged: as above; with *damaged* only of what is not there, and the rest says that it is damaged.
    """
    try:
        return [
            (message, _decoded(message, path) if refs is None else _whole(sql, message, refs, path))
            for message, refs in _kept(sql, wanted, path)
        ]
    except StoreDamaged:
        if not damaged:
            raise
        return [_even_so(sql, pair, path) for pair in wanted]


def readable(
    sql: sqlite3.Connection, wanted: Sequence[tuple[int, int]], path: str
) -> list[tuple[Message, Any]]:
    """The same without those that cannot be read; the log names them."""
    try:
        return parsed(sql, wanted, path)
    except StoreDamaged as error:
        if len(wanted) == 1:
            _log.warning("passed over: %s", error)
            return []
        return [found for pair in wanted for found in readable(sql, [pair], path)]


def _even_so(sql: sqlite3.Connection, pair: tuple[int, int], path: str) -> tuple[Message, Any]:
    """A message that may be damaged, by what its row tells of it."""
    try:
        return parsed(sql, [pair], path)[0]
    except StoreDamaged:
        number, version = pair
        row = _rows(sql, [number]).get(number)
        if row is None:
            raise
        _, uid, role, time, newest, mark, tool, _, _ = row
        said = {"role": role, "content": _LOST}
        known = (number, unpack_uid(uid), role, encode(said), mark, version or newest)
        return Message(*known, newest, time, tool), said


def _kept(
    sql: sqlite3.Connection, wanted: Sequence[tuple[int, int]], path: str
) -> Iterator[tuple[Message, str | None]]:
    """Messages as they are kept, and where the large strings belong that were taken out of their bodies."""
    current, new = _rows(sql, [number for number, _ in wanted]), tuple.__new__
    for number, version in wanted:
        row = current.get(number)
        if row is None:
            raise StoreDamaged(
                f"Message {number} is missing from `{path}`. Run `hermes lcm verify`.", path
            )
        _, uid, role, time, newest, mark, tool, body, refs = row
        if version not in (0, newest):
            old = sql.execute(
                "SELECT digest, body, refs FROM versions WHERE message = ? AND version = ?",
                [number, version],
            ).fetchone()
            if old is None:
                raise StoreDamaged(
                    f"Version {version} of message {unpack_uid(uid)} is missing from `{path}`.",
                    path,
                )
            mark, body, refs = old
        name = uid.hex() if isinstance(uid, bytes) else uid  # as unpack_uid does
        if type(body) is not bytes or body[:1] != b"{" or body[-1:] != b"}":
            raise _damaged(name, path)
        row = (number, name, role, body, mark, version or newest, newest, time, tool)
        yield new(Message, row), refs


def _rows(sql: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, tuple[Any, ...]]:
    ids = list(dict.fromkeys(numbers))
    found: dict[int, tuple[Any, ...]] = {}
    for start in range(0, len(ids), _CHUNK):
        part = ids[start : start + _CHUNK]
        rows = sql.execute(
            "SELECT id, uid, role, time, version, digest, tool, body, refs FROM messages"
            f" WHERE id IN ({','.join('?' * len(part))})",
            part,
        )
        found |= {row[0]: row for row in rows}
    return found


def _decoded(message: Message, path: str) -> Any:
    try:
        return decode(message.body)
    except StoreDamaged as error:
        raise _damaged(message.uid, path) from error


def _damaged(uid: str, path: str) -> StoreDamaged:
    return StoreDamaged(f"Message {uid} in {path} is damaged. Run `hermes lcm verify`.", path)


def _whole(sql: sqlite3.Connection, message: Message, refs: str, path: str) -> Any:
    try:
        references = json.loads(refs)
        texts = {}
        for _, payload in references:
            row = sql.execute(
                "SELECT data FROM payloads WHERE digest = ?", [bytes.fromhex(payload)]
            ).fetchone()
            if row is not None:
                texts[payload] = payloads.swell(row[0])
        return payloads.filled(message.body, references, texts)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
        zlib.error,
    ) as error:
        raise StoreDamaged(
            f"Message {message.uid} in {path} has a damaged payload. Run `hermes lcm verify`.", path
        ) from error
