"""What the file system says of a database: how large it is, which file it is, whether it may be written."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["free", "identity", "looks", "make", "may_write", "size"]


def size(name: str) -> int:
    """Bytes of a file; 0 where there is none.

    Raises:
        OSError: it cannot be looked at.
    """
    try:
        return os.stat(name).st_size  # noqa: PTH116
    except FileNotFoundError:
        return 0


def may_write(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def make(path: Path) -> None:
    """Make the file, empty, if there is none: the owner's alone from the first moment on.

    SQLite gives what it puts beside the file the same mode. (A umask would do as well, but it is the whole
    process's: whatever another thread makes meanwhile would be the owner's alone.) Call it while nobody
    else can have opened the file, because closing one drops the locks that SQLite holds on it.

    Raises:
        OSError: it cannot be made.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def free(path: Path) -> None:
    """Give SQLite's own files the write access that they lack if they were made while the database was read-only."""
    if os.access(path, os.W_OK):
        for name in (f"{path}-wal", f"{path}-shm"):
            if not os.access(name, os.W_OK):
                with contextlib.suppress(OSError):  # it is not there, or not ours
                    os.chmod(name, 0o600)  # noqa: PTH101


def identity(path: Path | str) -> tuple[int, int]:
    """Which file is at the path."""
    found = os.stat(path)  # noqa: PTH116 - 1 us; a door of the host asks
    return found.st_dev, found.st_ino


def looks(path: Path) -> tuple[int, ...]:
    """The same, and what changes when somebody repairs it in place."""
    found = os.stat(path)  # noqa: PTH116
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
