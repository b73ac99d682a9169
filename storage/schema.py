"""What a database is made of, against what all migrations make: whatever else is in it is none of ours.

A trigger takes rows away that a door has stored, and a view takes a table's name: rows alone do not
tell. An index that is lacking is missed by nobody but him who waits.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import Final

from sqlite_utils import Database

from .migrations import INDEXES, MIGRATIONS

__all__ = ["odd_objects"]

_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
#: SQLite's own, and the record of migrations, which sqlite-utils writes.
_THEIRS: Final = re.compile(r"sqlite_|_sqlite_migrations\Z")
#: Full-text indexes, which have a check of their own, and the tables that each may keep itself in.
_SEARCH: Final = {
    f"{name}{part}"
    for name in INDEXES
    for part in ("", "_data", "_idx", "_content", "_docsize", "_config")
}
_COMMENT: Final = re.compile(r"--[^\n]*")


def odd_objects(sql: sqlite3.Connection) -> list[tuple[str, str]]:
    """(name, what is wrong with it) of what is not ours, is lacking, or is not as we make it; tables that are
    lacking are left out.

    Of a database at the newest schema. Of an object that is not ours nothing is said but its kind and table.
    """
    ours, found = _expected(), _objects(sql)
    odd = [
        (name, f"is a{'n' if kind == 'index' else ''} {kind} on {table} that is none of lcm's")
        for (kind, name), (table, _) in found.items()
        if (kind, name) not in ours
    ]
    odd += [
        (name, f"is a {kind} that is not as lcm makes it")
        for (kind, name), (_, statement) in found.items()
        if statement != ours.get((kind, name), ("", statement))[1]
    ]
    lacking = [name for kind, name in ours.keys() - found.keys() if kind == "index"]
    return odd + [(name, "is an index that is lacking") for name in sorted(lacking)]


def _expected() -> dict[tuple[str, str], tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as sql:
        MIGRATIONS.apply(Database(sql, execute_plugins=False, recursive_triggers=False))
        return _objects(sql)


def _objects(sql: sqlite3.Connection) -> dict[tuple[str, str], tuple[str, str]]:
    """(table, statement without comments) by (kind, name)."""
    return {
        (kind, name): (table, " ".join(_COMMENT.sub("", statement or "").split()))
        for kind, name, table, statement in sql.execute(_OBJECTS)
        if not (_THEIRS.match(name) or (kind == "table" and name in _SEARCH))
    }
