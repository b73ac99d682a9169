"""A mark in the file: something was taken out of it, and its old bytes may still be there.

Set in the transaction that takes something out, and taken away when the file was written anew since. So who is killed
in between, or kept from it by a reader or a full disk, leaves word, and nobody who asks later is told that all is well.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Final

__all__ = ["mark", "marked", "unmark"]

_SIZE: Final = 8
_MARK: Final = "session = '' AND name = 'old_bytes'"


def mark(sql: sqlite3.Connection) -> None:
    """Note that old bytes may be left from now on; each mark is another."""
    sql.execute(
        "INSERT OR REPLACE INTO memory VALUES ('', 'old_bytes', ?1, lcm_seal('', 'old_bytes', ?1))",
        [f'"{os.urandom(_SIZE).hex()}"'],
    )


def marked(sql: sqlite3.Connection) -> bytes | None:
    """The mark, if there is one, whatever was made of it."""
    row = sql.execute(f"SELECT CAST(value AS BLOB) FROM memory WHERE {_MARK}").fetchone()
    return row[0] if row else None


def unmark(sql: sqlite3.Connection, found: bytes) -> None:
    """Take this mark away; one that somebody has set since stays."""
    sql.execute(f"DELETE FROM memory WHERE {_MARK} AND CAST(value AS BLOB) = ?", [found])
