"""A checksum in every row over what no digest covers: uids, places, times, turns, sizes.

A message's bytes are under its digest, and a node's texts and sources under its uid. What stands
beside them in a row (whose uid is it, where does it stand, is it withdrawn) would be changed by a
flipped bit without a trace. A CRC-32 finds every burst of up to 32 changed bits, and all else but
one time in four thousand million. It proves that a row is what was written, not who wrote it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from marshal import dumps
from typing import Final
from zlib import crc32

__all__ = ["CALL", "SEALED", "prepare", "reseal", "seal"]

SEALED: Final[dict[str, tuple[str, ...]]] = {
    "lines": ("line", "base"),
    "sessions": ("name", "line", "parent", "relation", "created"),
    "messages": ("id", "uid", "role", "time", "version", "digest", "key", "tokens", "tool", "refs"),
    "versions": ("id", "message", "version", "digest", "key", "refs"),
    "aliases": ("uid", "message"),
    "entries": ("line", "seq", "message", "turn", "withdrawn"),
    "nodes": ("id", "uid", "kind", "line", "source_key", "depth", "degraded", "time", "data"),
    "memory": ("session", "name", "value"),
    "passes": ("id", "session", "data"),
    "forgotten": ("kind", "name", "time", "digest", "line", "detail"),
}
"""Columns under the seal, by table. Bodies, payloads and edges are under digests."""

CALL: Final = {table: f"lcm_seal({', '.join(columns)})" for table, columns in SEALED.items()}
"""SQL for the seal that a row must have, by table."""


def seal(*values: str | float | bytes | None) -> int:
    """The checksum over the values of a row.

    Over their marshalled form (version 2: no references, the same in every Python), at a fifth of
    the time of their printed one: this runs twice for every message.
    """
    return crc32(dumps(values, 2))


def prepare(sql: sqlite3.Connection) -> None:
    """Teach the connection ``lcm_seal(...)``."""
    sql.create_function("lcm_seal", -1, seal, deterministic=True)


def reseal(sql: sqlite3.Connection, table: str, where: str, values: Sequence[object]) -> None:
    """Seal the rows that fulfil the condition again, after a change."""
    sql.execute(f"UPDATE {table} SET seal = {CALL[table]} WHERE {where}", values)
