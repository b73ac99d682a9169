"""One connection to one SQLite file: opened safely, locked, translated.

WAL with ``synchronous=NORMAL``: a commit survives ``kill -9`` at once, and a
power cut at the next checkpoint. SQLite up to 3.51.2 can corrupt a WAL file
when two checkpoints race (the WAL-reset bug), so SQLite's own checkpoints are
off and ours run under a lock file: there is never more than one. The database
file itself is never opened by any other means, which would drop the POSIX
locks that SQLite holds on it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from sqlite_utils import Database

from .errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreMissing,
    StoreTooNew,
    StoreUnwritable,
)
from .migrations import APPLICATION_ID, MIGRATIONS
from .seals import prepare

try:
    import fcntl

    _HAS_LOCKS = True
except ImportError:  # Windows: no lock file, so no WAL either
    _HAS_LOCKS = False

__all__ = ["Connection", "translated"]

#: Seconds to wait for another process's write. A door that waits longer gives
#: up, and the next door stores what it could not.
BUSY_SECONDS = 5.0
#: Size of the WAL at which a commit is followed by a checkpoint.
CHECKPOINT_BYTES = 4_000_000
_CACHE_KIB = 2_000


class translated:  # noqa: N801 - used as a verb; a class costs a fifth of a generator
    """Turn what SQLite and the file system raise into our errors.

    The text names what failed and what to do, never the data of a statement.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        path = self._path
        if isinstance(error, sqlite3.DatabaseError):
            raise _translate(error, path) from error
        if isinstance(error, PermissionError):
            raise StoreUnwritable(
                f"No permission to write {path}. Give its owner read and write access.", path
            ) from error
        if isinstance(error, OSError):
            raise StoreUnwritable(
                f"Cannot use {path}: {error.strerror or type(error).__name__}.", path
            ) from error


class _Reading(translated):
    """Exclusive use of a connection, without a transaction of its own."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(str(connection.path))
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:  # type: ignore[override]
        self._connection.mutex.acquire()
        return self._connection.sql

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._connection.mutex.release()
        super().__exit__(kind, error, trace)


def _translate(error: sqlite3.DatabaseError, path: str) -> StoreError:
    text = str(error).lower()
    if "locked" in text or "busy" in text:
        return StoreBusy(
            f"Another process is writing {path}; what is missing is stored at the next chance.",
            path,
        )
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return StoreUnwritable(
            f"{path} cannot be written. Check the permissions of the file and its folder.", path
        )
    if "full" in text:
        return StoreUnwritable(
            f"No space left for {path}. Free some, then go on: nothing stored is lost.", path
        )
    if "not a database" in text:
        return StoreForeign(
            f"{path} is no SQLite database. Move it away, or set lcm.database to another path.",
            path,
        )
    if "malformed" in text or "corrupt" in text or "disk i/o" in text:
        return StoreDamaged(
            f"{path} is damaged. Move it aside and restore the last backup; nothing is overwritten.",
            path,
        )
    return StoreError(f"SQLite failed on {path}: {type(error).__name__}.", path)


class Connection:
    """A connection that several threads may share; they take turns."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        self.mutex = threading.RLock()
        self.depth = 0
        """How many writing blocks are open, one in another."""
        with translated(str(path)):
            self._lock_file = self._prepare(create=create)
            try:
                self.sql = self._connect()
            except BaseException:
                _shut(None, self._lock_file)
                raise
            self._close = weakref.finalize(self, _shut, self.sql, self._lock_file)
            try:
                with _alone(self._lock_file):
                    self._set_up()
            except BaseException:
                self._close()
                raise

    def _prepare(self, *, create: bool) -> IO[bytes] | None:
        """Make the folder and open the lock file."""
        if not create and (not self.path.exists() or self.path.stat().st_size == 0):
            folder = self.path.parent.parent
            if not folder.exists():
                raise StoreMissing(f"There is no folder {folder}.", str(self.path))
            raise StoreMissing(
                f"There is no database at {self.path} yet: it begins with the first turn.",
                str(self.path),
            )
        if create:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _HAS_LOCKS:
            return None
        name = self.path.with_name(self.path.name + "-lock")
        try:
            return os.fdopen(
                os.open(name, os.O_RDWR | (os.O_CREAT if create else 0), 0o600), "r+b", buffering=0
            )
        except OSError:
            if create:
                raise
            return None  # reading a file in a folder that is not ours

    def _connect(self) -> sqlite3.Connection:
        new = not self.path.exists()
        before = os.umask(0o077) if new else None
        try:
            sql = sqlite3.connect(
                self.path,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
            prepare(sql)
            if new:
                sql.execute("PRAGMA user_version")  # the file is made at the first access
        finally:
            if before is not None:
                os.umask(before)
        return sql

    def _set_up(self) -> None:
        sql = self.sql
        owner = sql.execute("PRAGMA application_id").fetchone()[0]
        empty = sql.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if owner != APPLICATION_ID and not empty:
            raise StoreForeign(
                f"{self.path} belongs to another program. Set lcm.database to another path.",
                str(self.path),
            )
        if (
            self._lock_file is not None
            and sql.execute("PRAGMA journal_mode").fetchone()[0] != "wal"
        ):
            sql.execute("PRAGMA journal_mode = WAL")
        sql.execute("PRAGMA wal_autocheckpoint = 0")
        sql.execute("PRAGMA synchronous = NORMAL")
        sql.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._migrate()

    def _migrate(self) -> None:
        db = Database(self.sql, execute_plugins=False, recursive_triggers=False)
        applied = {migration.name for migration in MIGRATIONS.applied(db)}
        if newer := applied - {migration.name for migration in MIGRATIONS._migrations}:  # noqa: SLF001
            raise StoreTooNew(
                f"{self.path} was written by a newer version (it has {min(newer)}). Upgrade this plugin.",
                str(self.path),
            )
        if MIGRATIONS.pending(db):
            with self.writing():
                MIGRATIONS.apply(db)

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction; nested blocks join it."""
        with self.mutex, translated(str(self.path)):
            if self.depth == 0:
                self.sql.execute("BEGIN IMMEDIATE")
            self.depth += 1
            try:
                yield self.sql
            except BaseException:
                self.depth -= 1
                if self.depth == 0 and self.sql.in_transaction:
                    self.sql.execute("ROLLBACK")
                raise
            self.depth -= 1
            if self.depth == 0:
                self.sql.execute("COMMIT")
                self._checkpoint_at_need()

    def reading(self) -> _Reading:
        """Exclusive use of the connection, without a transaction of its own."""
        return _Reading(self)

    def _checkpoint_at_need(self) -> None:
        try:
            size = os.stat(f"{self.path}-wal").st_size  # noqa: PTH116 - 1 us; this runs at every commit
        except OSError:
            return
        if size > CHECKPOINT_BYTES:
            with (
                contextlib.suppress(BlockingIOError, sqlite3.OperationalError),
                _alone(self._lock_file, wait=False),
            ):
                self.sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        with self.mutex:
            self._close()


@contextlib.contextmanager
def _alone(lock_file: IO[bytes] | None, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock file.

    Raises:
        BlockingIOError: someone else holds it, and *wait* is false.
    """
    if lock_file is None:
        yield
        return
    fcntl.flock(lock_file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield
    finally:
        fcntl.flock(lock_file, fcntl.LOCK_UN)


def _shut(sql: sqlite3.Connection | None, lock_file: IO[bytes] | None) -> None:
    """Close both; the last connection's own checkpoint runs under the lock if it is free.

    It must not wait: the garbage collector may call this while the same
    thread holds the lock for another connection. Nothing is risked, for SQLite
    checkpoints on close only where no other connection is left.
    """
    if sql is not None:
        try:
            with _alone(lock_file, wait=False):
                sql.close()
        except BlockingIOError:
            sql.close()
    if lock_file is not None:
        lock_file.close()
