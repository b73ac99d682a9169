"""SQLite's own check of a file, with what it says of the search indexes kept apart.

From 3.44 on the check asks the indexes too, and one that is broken enough answers with an error
instead of a row. An index can be made again from the log; a page of the log cannot.
"""

from __future__ import annotations

import sqlite3

from .migrations import INDEXES

__all__ = ["page_faults"]


def page_faults(sql: sqlite3.Connection, most: int) -> tuple[list[str], list[str]]:
    """What is wrong with the file itself, and with the indexes in it; *most* of each table at the most.

    Raises:
        sqlite3.DatabaseError: not even the check can be done.
    """
    try:
        found = _check(sql, f"{most}")
    except sqlite3.DatabaseError as error:
        if not _is_about_index(str(error)):
            raise
        rows = sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = [name for (name,) in rows if not name.startswith(tuple(INDEXES))]
        return [fault for name in tables for fault in _check(sql, f"'{name}'")], [str(error)]
    index = [fault for fault in found if _is_about_index(fault)]
    return [fault for fault in found if fault not in index], index


def _check(sql: sqlite3.Connection, what: str) -> list[str]:
    rows = sql.execute(f"PRAGMA quick_check({what})").fetchall()
    return [str(row[0]) for row in rows if tuple(row) != ("ok",)]


def _is_about_index(said: str) -> bool:
    return "fts5" in said.lower() or any(name in said for name in INDEXES)
