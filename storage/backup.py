"""Copies a whole database while agents write, and looks whether the copy holds all of it.

SQLite's backup starts again whenever somebody else commits between two of its steps: under steady
writing, for ever. Here all steps read one snapshot: the reader's transaction stays open from
the first page to the last. In WAL mode that holds up no writer (only the WAL cannot be emptied
meanwhile), so it may go in steps that show how far it is and can be stopped. Nothing has the name
asked for until it is whole, checked and on the disk.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .errors import StoreDamaged, StoreError, StoreForeign, StoreMissing
from .migrations import APPLICATION_ID
from .pages import page_faults
from .reading import read_only, snapshot
from .translation import translated
from .whole import new_file

__all__ = ["Copied", "Steps", "copy"]

#: Pages copied between two signs of life: 8 MB at the usual 4 KiB.
STEP_PAGES = 2000

Steps = Callable[[str, int, int], None]
"""Called with what is being done, pages done, and pages in all."""

_COUNTS = (
    "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM versions),"
    " (SELECT count(*) FROM nodes WHERE kind NOT IN ('frame', 'state')),"
    " (SELECT count(*) FROM nodes WHERE kind = 'frame'),"
    " (SELECT count(*) FROM sessions)"
)


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy that was checked."""

    path: str
    bytes: int
    messages: int
    versions: int
    """Superseded versions, beside the current ones."""
    nodes: int
    """Summaries."""
    frames: int
    """Summary rows."""
    sessions: int


def copy(path: Path, target: Path, steps: Steps | None = None) -> Copied:
    """Copy the database at *path* to *target*, which must not be there yet; mode 0600.

    Raises:
        StoreMissing: there is no database at *path*.
        StoreForeign: it is not one of ours.
        StoreDamaged: the copy does not pass its check; it is not kept.
        StoreUnwritable: *target* is there already, or cannot be written.
    """
    show = steps or (lambda _what, _done, _total: None)
    with translated(str(path)):  # a folder may be shut
        there = path.is_file() and path.stat().st_size > 0
    if not there:
        raise StoreMissing(
            f"There is no database at {path} yet: it begins with the first turn.", str(path)
        )
    with new_file(target) as part:
        with read_only(path) as source:
            if source.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise StoreForeign(
                    f"{path} is no database of this engine. Set lcm.database to another path.",
                    str(path),
                )
            with snapshot(source):
                counts = source.execute(_COUNTS).fetchone()
                try:
                    _fill(source, part, show)
                except sqlite3.OperationalError:  # a full disk: that of the copy
                    with translated(str(target)):
                        raise
        show("checking the copy", 0, 0)
        _check(part, counts, path)
    return Copied(str(target), target.stat().st_size, *counts)


def _fill(source: sqlite3.Connection, part: Path, show: Steps) -> None:
    def step(_status: int, remaining: int, total: int) -> None:
        show("pages", total - remaining, total)

    with contextlib.closing(_open(part)) as copied:
        # A journal for a file that is thrown away if anything fails would only cost time.
        copied.execute("PRAGMA journal_mode = OFF")
        copied.execute("PRAGMA synchronous = OFF")
        source.backup(copied, pages=STEP_PAGES, progress=step)
        # One file on its own, which can also be read where nothing can be written.
        copied.execute("PRAGMA journal_mode = DELETE")


def _open(part: Path) -> sqlite3.Connection:
    return sqlite3.connect(part, isolation_level=None)


def _check(part: Path, counts: tuple[int, ...], path: Path) -> None:
    """Whether the copy is sound and holds as many rows as its source did at that moment."""
    try:
        with translated(str(part)), contextlib.closing(_open(part)) as copied:
            found, _ = page_faults(copied, 3)  # a broken index is no reason to have no backup
            if not found and copied.execute(_COUNTS).fetchone() != counts:
                found = ["it holds fewer rows than its source"]
    except StoreError as error:
        found = [type(error).__name__]
    if found:
        raise StoreDamaged(
            f"The copy of {path} does not pass its check ({'; '.join(found)}), and is not kept. "
            "Run `hermes lcm verify`.",
            str(path),
        )
