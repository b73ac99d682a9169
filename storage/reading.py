"""Opens a SQLite file to read it and nothing else: one of ours, or another program's.

Such a connection never writes a page and never checkpoints. In WAL mode it may leave ``-shm`` and an
empty ``-wal`` beside the file, as every reader does until the next writer closes; where the
folder cannot be written and no writer has left anything behind, the file is taken as it is.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .errors import StoreMissing
from .translation import translated

__all__ = ["connect", "read_only", "snapshot"]

#: Seconds to wait for a writer of a file without a WAL.
_PATIENCE = 10.0


@contextlib.contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write; closed at the end of the block.

    Raises:
        StoreError: there is no such file, it is no database, or it cannot be read.
    """
    with translated(str(path)):  # a folder may be shut
        there = path.is_file()
    if not there:
        raise StoreMissing(f"There is no file `{path}`.", str(path))
    with translated(str(path)):
        sql = connect(path)
        try:
            yield sql
        finally:
            sql.close()


def connect(path: Path) -> sqlite3.Connection:
    """A connection that cannot write.

    Raises:
        sqlite3.Error: it is no database, or cannot be read.
    """
    url = f"{path.resolve().as_uri()}?mode=ro"
    open_it = partial(
        sqlite3.connect, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    sql = open_it(url)
    try:
        sql.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        sql.close()
        wal = path.with_name(f"{path.name}-wal")
        held = wal.exists() and wal.stat().st_size
        if held or not any(said in str(error) for said in ("unable to open", "readonly")):
            raise
        return open_it(f"{url}&immutable=1")
    except BaseException:
        sql.close()
        raise
    return sql


@contextlib.contextmanager
def snapshot(sql: sqlite3.Connection) -> Iterator[None]:
    """Everything read in the block is of one moment, whoever writes meanwhile."""
    sql.execute("BEGIN")
    try:
        sql.execute("SELECT count(*) FROM sqlite_master").fetchone()  # takes the snapshot
        yield
    finally:
        if sql.in_transaction:
            sql.execute("COMMIT")
