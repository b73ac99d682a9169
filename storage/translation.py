"""What SQLite and the file system raise, in our words: what failed, and what to do.

The text never quotes a statement or its data. SQLite's result codes are mapped, not its texts; the
few texts that are looked at have no code of their own.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zlib
from pathlib import Path
from typing import Final

from .errors import (
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreUnwritable,
)

__all__ = ["is_damage", "is_obstacle", "translated"]

_DOCTOR: Final = "`hermes lcm doctor` says what to do."
#: Reading gave other bytes, or fewer, than were written.
_BAD_READS: Final = frozenset(
    {
        sqlite3.SQLITE_IOERR_SHORT_READ,
        sqlite3.SQLITE_IOERR_READ,
        sqlite3.SQLITE_IOERR_DATA,
        sqlite3.SQLITE_IOERR_CORRUPTFS,
    }
)
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_OBSTACLES: Final = frozenset(
    {
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
    }
)
#: What decoding raises where the bytes are not those that were written; SystemError is the sqlite3
#: module's own, where SQLite gives it less than it asked for.
_UNREADABLE: Final = (UnicodeDecodeError, zlib.error, SystemError)
_LACKS: Final = ("no such table", "no such column", "has no column", "values were supplied")


def _code(error: sqlite3.Error) -> int:
    """SQLite's extended result code; 0 where Python itself complains."""
    return getattr(error, "sqlite_errorcode", 0)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is not what was written: then nothing more may be written to it."""
    return _code(error) & 0xFF in _DAMAGE or _code(error) in _BAD_READS


def is_obstacle(error: sqlite3.Error) -> bool:
    """Whether the file could not be used, for a reason that may be gone at the next look."""
    return _code(error) & 0xFF in _OBSTACLES and not is_damage(error)


class translated:  # noqa: N801 - used as a verb; a class costs a fifth of a generator
    """Turn what SQLite, a decoder and the file system raise about *path* into our errors.

    A broken pipe is none of them: who reads what is written meanwhile has read enough.

    A damaged file makes them all complain: SQLite quotes bytes of a damaged schema in its message, and
    Python cannot even decode that.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise _of_sqlite(error, self._path) from error
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise _of_files(error, self._path) from error
        if isinstance(error, _UNREADABLE):
            raise StoreDamaged(
                f"{self._path} is damaged. It is left as it is. {_DOCTOR}", self._path
            ) from error
        if isinstance(error, UnicodeEncodeError | OverflowError):
            raise StoreError(
                f"{self._path} cannot take a value that it was given ({type(error).__name__}).",
                self._path,
            ) from error


def _of_files(error: OSError, path: str) -> StoreError:
    if isinstance(error, PermissionError):
        return StoreUnwritable(
            f"No permission to read and write {path} and its folder. {_DOCTOR}", path
        )
    said = error.strerror or type(error).__name__
    return StoreUnwritable(f"Cannot use {path}: {said}. {_DOCTOR}", path)


def _of_sqlite(error: sqlite3.Error, path: str) -> StoreError:
    code, primary = _code(error), _code(error) & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"Another process is writing `{path}`.", path)
    if primary == sqlite3.SQLITE_NOTADB:
        return StoreForeign(
            f"{path} is no SQLite database, or its first page is damaged. It is left as it is. {_DOCTOR}",
            path,
        )
    if is_damage(error):
        return StoreDamaged(f"{path} is damaged. It is left as it is. {_DOCTOR}", path)
    if primary in _OBSTACLES:
        return StoreUnwritable(_obstacle(primary, path), path)
    return _other(error, path, code)


def _obstacle(primary: int, path: str) -> str:
    if primary == sqlite3.SQLITE_FULL:
        return f"No space left for `{path}`. Free some; then it goes on by itself, and nothing stored is lost."
    if primary == sqlite3.SQLITE_IOERR:
        return f"The disk did not read or write {path}: it may be full, or failing. {_DOCTOR}"
    with contextlib.suppress(OSError):  # nor may we look at it
        if Path(path).is_dir():
            return f"{path} is a folder, not a database. {_DOCTOR}"
    readable = os.access(path, os.R_OK) or not os.path.lexists(path)
    what = "written" if readable else "read"
    return f"{path} cannot be {what}. Check the permissions of the file and its folder. {_DOCTOR}"


def _other(error: sqlite3.Error, path: str, code: int) -> StoreError:
    text = str(error)
    if any(lack in text for lack in _LACKS):
        return StoreDamaged(
            f"{path} does not have the tables that it should. It is left as it is. {_DOCTOR}", path
        )
    if "fts5" in text and not code & ~1:
        return StoreError("The SQLite of this Python has no full-text search (FTS5).", path)
    if isinstance(error, sqlite3.ProgrammingError):
        return StoreClosed(f"{path} was closed while it was in use.", path)
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    return StoreError(f"SQLite failed on {path}: {name}. {_DOCTOR}", path)
