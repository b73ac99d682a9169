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
import time as clock
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from . import files, handles, migrations, reading
from .errors import (
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreMissing,
    StoreTooNew,
    StoreUnwritable,
)
from .handles import HAS_LOCKS, Handle, alone
from .migrations import APPLICATION_ID, NAMES, TABLES
from .seals import prepare
from .translation import is_damage, is_obstacle, translated

if TYPE_CHECKING:
    from sqlite_utils import Migrations

__all__ = ["Connection", "translated"]

#: Seconds to wait for another process's write. A door that waits longer gives
#: up, and the next door stores what it could not.
BUSY_SECONDS = 5.0
#: The same for a door that comes while the lock that another one waited for is still held.
_IMPATIENT_SECONDS = 0.25
#: So long after one that waited in vain; then a door waits as long as the first one again.
_IMPATIENT_FOR_SECONDS = 15.0
#: Size of the WAL at which a commit is followed by a checkpoint.
CHECKPOINT_BYTES = 4_000_000
_CACHE_KIB = 2_000


class _Reading(translated):
    """Exclusive use of a connection, without a transaction of its own."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(str(connection.path))
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:  # type: ignore[override]
        self._connection.check_owner()  # first: who holds the mutex may be in the other process
        self._connection.mutex.acquire()
        return self._connection.sql

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._connection.mutex.release()
        if isinstance(error, sqlite3.Error):
            self._connection.note(error)
        super().__exit__(kind, error, trace)


class Connection:
    """A connection that several threads may share; they take turns."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        writes: bool = False,
        read_only: bool = False,
        patient: bool = True,
        migrations: Migrations | None = None,
    ) -> None:
        """*writes*: also without *create* it gets a lock file, in a folder that may be written.

        *patient*: whether to wait for whoever holds that just now.
        """
        self.path = path
        self._writes = writes
        self._read_only = read_only
        self._migrations = migrations
        self.depth = 0
        """How many writing blocks are open, one in another."""
        self.begun = 0
        """How many transactions were begun."""
        self._waits = BUSY_SECONDS
        self._patience = BUSY_SECONDS if patient else 0.0
        self._impatient_until = 0.0
        self._obstacle = False
        self._damage: tuple[int, ...] | None = None
        """What the file looked like when it was found to be damaged: nothing is written to it since."""
        self._why = "is damaged"
        self._handle = Handle(path)
        self.is_foreign = self._handle.foreign
        self.mutex = self._handle.mutex
        self._close = weakref.finalize(self, self._handle.shut)
        try:
            with translated(str(path)), self.mutex:
                self._open(create=create)
        except BaseException:
            self._close()
            raise

    def _open(self, *, create: bool) -> None:
        self._handle.lock_file = self._prepare(create=create)
        with contextlib.suppress(FileNotFoundError):
            handles.check(self.path)
        with self._alone():
            self._handle.sql = self.sql = self._connect(create=create)
            self._handle.identity = self._file = files.identity(self.path)
            self._obstacle = not files.may_write(self.path)
            self._set_up()
        self._patience = BUSY_SECONDS

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock file, waiting for it as long as for another process's write.

        Raises:
            StoreBusy: another process holds it for longer.
        """
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(alone(self._handle.lock_file, seconds=self._patience))
            except BlockingIOError as error:
                raise StoreBusy(
                    f"Another process holds {self.path}-lock. If it hangs, `hermes lcm doctor` names it.",
                    str(self.path),
                ) from error
            yield

    def _prepare(self, *, create: bool) -> IO[bytes] | None:
        """Make the folder and open the lock file."""
        left = files.size(
            f"{self.path}-wal"
        )  # looked at first: whoever makes one makes the file before
        if not files.size(str(self.path)):
            if left:
                raise StoreDamaged(
                    f"{self.path} is missing or empty, and {self.path.name}-wal beside it is not. "
                    f"Put the file back, or move {self.path.name}-wal away to begin anew.",
                    str(self.path),
                )
            if not create:
                raise self._missing()
        if create:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not HAS_LOCKS or self._read_only:
            return None
        name = self.path.with_name(self.path.name + "-lock")
        # Who only looks at a backup leaves no file beside it, and its journal mode as it is.
        makes = create or (self._writes and files.may_write(self.path))
        try:
            return os.fdopen(
                os.open(name, os.O_RDWR | (os.O_CREAT if makes else 0), 0o600), "r+b", buffering=0
            )
        except OSError:
            if create:
                raise
            return None  # reading a file in a folder that is not ours

    def _missing(self) -> StoreMissing:
        folder = self.path.parent.parent
        if not folder.exists():
            return StoreMissing(f"There is no folder `{folder}`.", str(self.path))
        return StoreMissing(
            f"There is no database at {self.path} yet: it begins with the first turn.",
            str(self.path),
        )

    def _connect(self, *, create: bool) -> sqlite3.Connection:
        if self._read_only or (not create and not os.access(self.path.parent, os.W_OK)):
            sql = reading.connect(self.path)  # SQLite makes files beside one that it might write
            _teach(sql)
            return sql
        files.make(self.path)
        files.free(self.path)
        sql = sqlite3.connect(
            self.path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        _teach(sql)
        return sql

    def _set_up(self) -> None:
        """Look whose file it is before anything is written to it."""
        sql = self.sql
        owner = sql.execute("PRAGMA application_id").fetchone()[0]
        empty = sql.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if owner != APPLICATION_ID and not empty:
            raise StoreForeign(
                f"{self.path} belongs to another program. Set lcm.database to another path.",
                str(self.path),
            )
        applied = migrations.applied(sql)
        steps = self._migrations._migrations if self._migrations else ()  # noqa: SLF001
        known = {each.name for each in steps} or set(NAMES)
        if newer := applied - known:
            raise StoreTooNew(
                f"{self.path} was written by a newer version (it has {min(newer)}). Upgrade this plugin.",
                str(self.path),
            )
        if (
            self._handle.lock_file is not None
            and sql.execute("PRAGMA journal_mode").fetchone()[0] != "wal"
        ):
            sql.execute("PRAGMA journal_mode = WAL")
        sql.execute("PRAGMA wal_autocheckpoint = 0")
        sql.execute("PRAGMA synchronous = NORMAL")
        sql.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        if known - applied:
            self._migrate()
        elif lacking := TABLES - migrations.tables(sql):
            self._damage = files.looks(self.path)  # what is left may be read
            self._why = f"lacks the table {min(lacking)}"

    def _migrate(self) -> None:
        """All steps in one transaction: a database is at one schema or at another, never between."""
        from sqlite_utils import Database

        if self._read_only:
            raise StoreError(
                f"{self.path} was written by an older version. `hermes lcm status` brings it up to date.",
                str(self.path),
            )
        with self.writing():
            try:
                db = Database(self.sql, execute_plugins=False, recursive_triggers=False)
                (self._migrations or migrations.MIGRATIONS).apply(db)
            except (sqlite3.Error, StoreError):
                raise
            except Exception as error:
                raise StoreError(
                    f"{self.path} could not be brought up to date ({type(error).__name__}). It is as it was.",
                    str(self.path),
                ) from error

    def stale(self) -> bool:
        """Whether it has to be opened anew: see ``storage.protocol.Store.stale``."""
        if self.is_foreign() or (self._obstacle and files.may_write(self.path)):
            return True
        try:
            if self._damage is not None:
                return self._damage != files.looks(self.path)
            return self._file != files.identity(self.path)
        except OSError:
            return True

    def check_owner(self) -> None:
        """Whether this process may use it.

        Raises:
            StoreClosed: it came with a fork.
        """
        if self.is_foreign():
            said = f"{self.path} was opened before this process was forked."
            raise StoreClosed(said, str(self.path))

    def note(self, error: sqlite3.Error) -> None:
        """Remember what failed, for the next write and for :meth:`stale`."""
        if is_obstacle(error):
            self._obstacle = True
        elif is_damage(error) and self._damage is None:
            with contextlib.suppress(OSError):
                self._damage = files.looks(self.path)

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction; nested blocks join it.

        Raises:
            StoreDamaged: the file was found to be damaged, and must not be written to.
        """
        with self.reading():
            if self.depth == 0:
                if self._damage is not None:
                    raise StoreDamaged(
                        f"{self.path} {self._why}, and nothing more is written to it. "
                        "`hermes lcm doctor` says what to do.",
                        str(self.path),
                    )
                self._handle.check_log()
                self._begin()
            self.depth += 1
            try:
                yield self.sql
                self.check_owner()
            except BaseException:
                self.depth -= 1
                if self.depth == 0 and not self.is_foreign() and self.sql.in_transaction:
                    self.sql.execute("ROLLBACK")
                raise
            self.depth -= 1
            if self.depth == 0:
                self.sql.execute("COMMIT")
                self._handle.note_log()
                self._checkpoint_at_need()

    def _begin(self) -> None:
        """Wait for the write lock: long, and then for a while only a moment as long as somebody keeps it.

        A host calls several doors a turn, and they may not hold it up one after the other.
        """
        if clock.monotonic() > self._impatient_until:
            self._wait(BUSY_SECONDS)
        try:
            self.sql.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            if self._waits == BUSY_SECONDS:
                self._impatient_until = clock.monotonic() + _IMPATIENT_FOR_SECONDS
            self._wait(_IMPATIENT_SECONDS)
            raise
        self._impatient_until = 0.0
        self.begun += 1

    def _wait(self, seconds: float) -> None:
        """Wait so long for locks from now on."""
        if seconds != self._waits:
            self.sql.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            self._waits = seconds

    def reading(self) -> _Reading:
        """Exclusive use of the connection, without a transaction of its own."""
        return _Reading(self)

    def scrub(self) -> bool:
        """Write the file anew without what was deleted, and empty the log of writes.

        False if another process reads or writes, so that old bytes are still there.

        Raises:
            StoreUnwritable: there is no room for it.
        """
        with self.reading():
            try:
                with self._alone():
                    self.sql.execute("VACUUM")
                    busy = self.sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except StoreBusy:
                return False
            except sqlite3.OperationalError as error:
                if "locked" in str(error):
                    return False
                if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL:
                    said = f"There is no room to write `{self.path}` anew, which takes as much as it has."
                    raise StoreUnwritable(said, str(self.path)) from error
                raise
        return not busy

    def _checkpoint_at_need(self) -> None:
        try:
            size = os.stat(f"{self.path}-wal").st_size  # noqa: PTH116 - 1 us; this runs at every commit
        except OSError:
            return
        if size > CHECKPOINT_BYTES:
            with (
                contextlib.suppress(BlockingIOError, sqlite3.OperationalError),
                alone(self._handle.lock_file),
            ):
                self._checkpoint_now()

    def _checkpoint_now(self) -> None:
        """What can be written into the file at once; a reader of old pages must not hold up a turn."""
        self._wait(0)
        try:
            self.sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self._wait(BUSY_SECONDS)  # whoever committed is patient

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self._close()


def _teach(sql: sqlite3.Connection) -> None:
    prepare(sql)
    sql.text_factory = partial(
        str, encoding="utf-8", errors="replace"
    )  # one bad row hides no other
