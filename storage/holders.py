"""Which processes hold a database's locks at this moment, as Linux tells; elsewhere nobody knows.

Looking opens nothing: to open and close a database file would drop the locks that SQLite holds on it.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["writers"]

#: Where SQLite's write lock is: a byte of the ``-shm`` file with a WAL, of the file itself without.
_WAL_WRITE_BYTE = 120
_RESERVED_BYTE = 0x40000001
_LOCKS = Path("/proc/locks")


def writers(path: Path) -> list[int] | None:
    """Process ids that hold the write lock or the lock file; None where that cannot be known."""
    try:
        lines = _LOCKS.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    wanted = {
        _inode(path.with_name(f"{path.name}-shm")): ("POSIX", _WAL_WRITE_BYTE),
        _inode(path): ("POSIX", _RESERVED_BYTE),
        _inode(path.with_name(f"{path.name}-lock")): ("FLOCK", 0),
    }
    wanted.pop(0, None)
    found: dict[int, None] = {}
    for line in lines:
        # 7: POSIX  ADVISORY  WRITE 4321 08:02:131075 120 120
        parts = [part for part in line.split() if part != "->"]
        if len(parts) < 8 or parts[3] != "WRITE" or not parts[4].isdecimal():  # noqa: PLR2004
            continue
        kind, byte = wanted.get(int(parts[5].rpartition(":")[2]), ("", 0))
        if parts[1] == kind and _holds(byte, parts[6], parts[7]):
            found[int(parts[4])] = None
    return list(found)


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return 0


def _holds(byte: int, first: str, last: str) -> bool:
    return int(first) <= byte and (last == "EOF" or byte <= int(last))
