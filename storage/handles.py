"""The files that this process holds open, and what becomes of them in a process that is forked from it.

A fork copies what SQLite knows of a file's locks, but not the locks: POSIX locks belong to a process.
SQLite in the child believes that it holds them, and takes none when the file is opened once more, for it
keeps one account of all connections to a file. So another process removes the WAL under it, and what
the child commits is gone. There is no way to have such a connection take its locks again: it has to be
closed, down to the last one, before the file is opened anew. Closing must neither checkpoint nor delete
the WAL, for what the child knows of them may be long past.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import sys
import threading
import time as clock
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from . import files
from .errors import StoreForked
from .mutex import mutex

try:
    import fcntl

    HAS_LOCKS = True
except ImportError:  # Windows: no lock file, so no WAL either; and no fork
    HAS_LOCKS = False

__all__ = ["HAS_LOCKS", "Handle", "alone", "check"]

#: Seconds that a fork waits for other threads to be through with what they read or write: as long as a
#: write waits for another process, and a moment more.
_PATIENCE = 6.0
#: Seconds to wait for a process that closes the file as the last one, at this moment.
_GUARD_SECONDS = 1.0
#: Seconds between two looks at the lock file, at the most.
_PAUSE = 0.02
#: Where every SQLite connection in WAL mode holds a shared lock on its file (os_unix.c).
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510
#: Where the descriptors of a process can be listed.
_DESCRIPTORS = Path("/dev/fd")

_open: Final[set[Handle]] = set()
_inherited: Final[set[tuple[int, int]]] = set()
"""Files that were open at the fork, and have not been opened anew since."""
_held: Final[list[Handle]] = []
"""Those whose mutexes this process holds while it forks."""
_forking = threading.RLock()

_checking = mutex()


class Handle:
    """A connection of SQLite and its lock file. They belong to the process that opened them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pid = os.getpid()
        self.mutex = threading.RLock()
        """Held by whoever uses them, from the moment they are opened until they are closed."""
        self.sql: sqlite3.Connection | None = None
        self.lock_file: IO[bytes] | None = None
        self.identity: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        """Which file the WAL is, from the first commit on."""
        _open.add(self)

    def foreign(self) -> bool:
        """Whether it is another process's; it is let go of then."""
        if self.pid == os.getpid():
            return False
        _drop_inherited()
        return True

    def note_log(self) -> None:
        """Something was committed: remember which file the WAL is."""
        if self._log is None:
            with contextlib.suppress(OSError):  # there may be none
                self._log = files.identity(f"{self.path}-wal")

    def check_log(self) -> None:
        """Before something is written: whether the WAL is the one that other processes see.

        Whoever in this process opens and closes the database by other means drops SQLite's locks on it.
        Then another process that closes it takes itself for the last one, and deletes the WAL.

        Raises:
            StoreForked: it was deleted, and that cannot be undone in this process.
        """
        if self._is_severed():
            raise StoreForked(
                f"Something in this process opened and closed {self.path} by itself, which drops SQLite's"
                " locks, and another process has deleted the log of writes since. Nothing more is stored here."
                " Start the process anew: what is missing is stored from the conversation then.",
                str(self.path),
            )

    def _is_severed(self) -> bool:
        if self._log is None:
            return False
        try:
            if self._log == files.identity(f"{self.path}-wal"):
                return False
            # The log of another file, if that is there by now, is its own.
            return self.identity == files.identity(self.path)
        except FileNotFoundError:
            return self.path.exists()
        except OSError:
            return False

    def shut(self) -> None:
        """Close both; the last connection's own checkpoint runs under the lock if it is free.

        It must not wait for the lock: the garbage collector may call this while the same
        thread holds the lock for another connection. Nothing is risked, for SQLite
        checkpoints on close only where no other connection is left.
        """
        if self.foreign():
            return
        with self.mutex:
            if self.sql is not None and self._is_severed():
                _keep(self.sql)  # closing it would write what is long past into the file
            elif self.sql is not None:
                try:
                    with alone(self.lock_file):
                        self.sql.close()
                except BlockingIOError:
                    self.sql.close()
            self._log = None  # the last one to close it takes the WAL along
            if self.lock_file is not None:
                self.lock_file.close()
            _open.discard(self)

    def drop(self) -> None:
        """Let go of what the process before the fork opened, without a trace in the files."""
        _open.discard(self)
        if self.lock_file is not None:
            self.lock_file.close()  # never unlocked: the lock is one with the other process's
        with contextlib.suppress(OSError):
            _inherited.add(self.identity or files.identity(self.path))
        if self.sql is None or (self._is_quiet() and _closed(self.sql, self.path)):
            return
        _keep(self.sql)  # not even the end of this process may close it

    def _is_quiet(self) -> bool:
        """Whether nobody was in the middle of something with it when the process was forked."""
        return (
            self.sql is not None
            and self.mutex.acquire(blocking=False)
            and not self.sql.in_transaction
        )


def check(path: Path) -> None:
    """Before a file is opened: whether SQLite still knows it from before a fork.

    Raises:
        StoreForked: it does, and that cannot be undone in this process.
        OSError: the file cannot be looked at.
    """
    _drop_inherited()
    if not _inherited:
        return
    with _checking:  # who comes second must not meet the descriptors of the first
        identity = files.identity(path)
        if identity in _inherited and _has_descriptor(identity):
            raise StoreForked(
                f"This process was forked after {path} had been opened, at a moment when it could not be"
                " closed. SQLite's locks do not work here, so nothing is read or written. Start the process"
                " anew, or fork before the first turn.",
                str(path),
            )
        _inherited.discard(identity)


@contextlib.contextmanager
def alone(lock_file: IO[bytes] | None, *, seconds: float = 0.0) -> Iterator[None]:
    """Hold the lock file; wait so long for whoever holds it, who may have stopped for good.

    Raises:
        BlockingIOError: someone else holds it.
    """
    if lock_file is None:
        yield
        return
    _lock(lock_file, clock.monotonic() + seconds)
    try:
        yield
    finally:
        fcntl.flock(lock_file, fcntl.LOCK_UN)


def _lock(lock_file: IO[bytes], end: float) -> None:
    pause = 0.001
    while True:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() >= end:
                raise
        else:
            return
        clock.sleep(pause)
        pause = min(2 * pause, _PAUSE)


def _closed(sql: sqlite3.Connection, path: Path) -> bool:
    """Close a connection that came with a fork; false if that cannot be done without a trace.

    SQLite checkpoints and deletes the WAL if it gets the file for itself alone. Newer Pythons can forbid
    that. Else a lock of our own stands in the way, of a kind that also stands in this process's own way
    (OFD, Linux). It disturbs nobody: whoever closes the file at this moment leaves the WAL where it is.
    """
    config: Any = getattr(sql, "setconfig", None)
    if config is not None:  # Python 3.12
        config(getattr(sqlite3, "SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE"))  # noqa: B009 - unknown to older Pythons
        sql.close()
        return True
    if sys.platform != "linux":
        return False
    try:
        guard = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        sql.close()  # SQLite sees itself that there is nothing to checkpoint
        return True
    except OSError:
        return False
    try:
        if not _guarded(guard):
            return False
        sql.close()
        return True
    finally:
        os.close(guard)  # drops this process's locks of the file, of which it has none


def _guarded(guard: int) -> bool:
    lock = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, _SHARED_FIRST, _SHARED_SIZE, 0)
    end = clock.monotonic() + _GUARD_SECONDS
    while clock.monotonic() < end:
        with contextlib.suppress(OSError):
            fcntl.fcntl(guard, fcntl.F_OFD_SETLK, lock.ljust(32, b"\0"))
            return True
        clock.sleep(0.001)
    return False


def _keep(sql: sqlite3.Connection) -> None:
    """Have it never finalised: a rollback would spoil the index of the WAL, which processes share."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(sql))


def _has_descriptor(identity: tuple[int, int]) -> bool:
    """Whether this process has the file open, by whatever means."""
    try:
        numbers = [int(name) for name in os.listdir(_DESCRIPTORS)]  # noqa: PTH208 - numbers, not paths
    except OSError:
        return True
    for number in numbers:
        with contextlib.suppress(OSError):  # that of the listing itself
            found = os.fstat(number)
            if (found.st_dev, found.st_ino) == identity:
                return True
    return False


def _drop_inherited() -> None:
    pid = os.getpid()
    for handle in list(_open):
        if handle.pid != pid:
            handle.drop()


def _before_fork() -> None:
    """Wait until nobody is in the middle of something: only then can the child close what it inherits."""
    _forking.acquire()
    end = clock.monotonic() + _PATIENCE
    for handle in list(_open):
        if handle.mutex.acquire(timeout=max(end - clock.monotonic(), 0.0)):
            _held.append(handle)


def _in_parent() -> None:
    while _held:
        _held.pop().mutex.release()
    _forking.release()


def _in_child() -> None:
    _held.clear()
    _drop_inherited()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
