"""The lock of a database as the doctor sees it."""

from __future__ import annotations

import contextlib
import time as clock
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .check import Check, good, note, wrong

__all__ = ["check_lock"]

#: Looks at a lock, and seconds between two of them: a write takes less than all of it.
_LOOKS: Final = 10
_BETWEEN_LOOKS: Final = 0.25


def check_lock(path: Path) -> Iterator[Check]:
    """Whether a process sits on the lock that a write needs, without writing anything."""
    from ..storage.holders import writers

    held, before = writers(path), _written(path)
    if held is None:
        yield note("lock", "who writes to it cannot be seen on this system")
        return
    for _ in range(_LOOKS):
        if not held or _written(path) != before:
            break
        clock.sleep(_BETWEEN_LOOKS)
        still = writers(path) or []
        held = [each for each in held if each in still]
    names = ", ".join(f"{each} ({_name_of(each)})" for each in held)
    if held and _written(path) == before:
        said = (
            f"Process {names} has held the lock for longer than a write takes: others cannot store."
        )
        yield wrong(
            "lock", said, "If it hangs, end that process: what it had not finished is undone."
        )
    else:
        yield good("lock", f"process {names} is writing" if held else "nobody holds it")


def _written(path: Path) -> list[tuple[int, int]]:
    """Something that is another one after each write."""
    found = []
    for each in (path, path.with_name(f"{path.name}-wal")):
        with contextlib.suppress(OSError):
            seen = each.stat()
            found.append((seen.st_size, seen.st_mtime_ns))
    return found


def _name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return "unknown"
