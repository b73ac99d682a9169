"""Writes a file that is there whole or not at all, and never in the place of another."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .errors import StoreUnwritable
from .translation import translated

__all__ = ["new_file", "refuse_taken"]


def refuse_taken(target: Path) -> None:
    """Say so where there is something of that name already, a dangling link included.

    Raises:
        StoreUnwritable: there is.
    """
    if os.path.lexists(target):
        raise StoreUnwritable(f"{target} is there already. Name another file.", str(target))


@contextlib.contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """An empty file beside *target*, mode 0600, to be filled in the block.

    At the end of the block it gets the name *target*; if the block fails, nothing is left of it.

    Raises:
        StoreUnwritable: *target* is there already, also if it came meanwhile; or the folder is not there, or
            cannot be written.
    """
    refuse_taken(target)
    with translated(str(target)):
        if not target.parent.exists():  # a name that was mistyped makes no folders
            raise StoreUnwritable(
                f"There is no folder `{target.parent}`. Make it, or name another file.", str(target)
            )
        handle, name = tempfile.mkstemp(".part", f".{target.name}.", target.parent)
        os.close(handle)
    part = Path(name)
    try:
        yield part
        with translated(str(target)):
            _settle(part, target)
    finally:
        part.unlink(missing_ok=True)


def _settle(part: Path, target: Path) -> None:
    """Bring the file to the disk, then give it its name, unless that was taken meanwhile."""
    _sync(part, os.O_RDWR)
    try:
        os.link(part, target)
    except FileExistsError:
        refuse_taken(target)
    except OSError:  # a file system without hard links
        part.rename(target)
    with contextlib.suppress(OSError):  # not every system can do this with a folder
        _sync(target.parent, os.O_RDONLY)


def _sync(path: Path, mode: int) -> None:
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
