"""Where there is no database: whether one will come to be there, the call names a wrong place, or one was lost."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from .screen import many

__all__ = ["ANOTHER", "FOLDER", "backups", "exports", "lost", "mistaken"]

ANOTHER: Final = "Name another one with --db FILE or --home HERMES_HOME."
FOLDER: Final = "backups"
"""Beside the database: where a backup goes that was given no name."""
#: One of these is in every home in which Hermes was started, or into which the plugin was put.
_OF_A_HOME: Final = ("config.yaml", "state.db", "plugins/lcm", f"lcm/{FOLDER}")


def mistaken(path: Path, *, named: bool) -> str:
    """Why the first turn of a Hermes makes no database at *path*; empty where it does.

    Args:
        named: the file itself was named. Else it is where the database of a home is.
    """
    if os.path.isdir(path):  # noqa: PTH112 - of what may not be looked at it says no, and raises nothing
        return f"{path} is a folder, not a database."
    if named and os.path.isfile(path):  # noqa: PTH113 - the same
        return f"{path} is empty: there is no database in it."
    if named:
        return f"There is no such file: `{path}`."
    home = path.parent.parent
    if any((home / each).exists() for each in _OF_A_HOME):
        return ""
    unlike = f"{home} does not look like a Hermes home: it has neither config.yaml nor state.db"
    return f"There is no database at `{path}`, and {unlike}."


def backups(path: Path) -> list[Path]:
    """The backups of the database at *path* that lie beside it, the newest last."""
    return _by_age(path.parent / FOLDER, "*.db")


def exports(path: Path) -> list[Path]:
    """The exports that lie beside the database or its backups, the newest last."""
    return _by_age(path.parent, "*.jsonl") or _by_age(path.parent / FOLDER, "*.jsonl")


def _by_age(folder: Path, pattern: str) -> list[Path]:
    """What is in these files was kept at some time: an empty one is none."""
    found: list[tuple[float, Path]] = []
    with contextlib.suppress(PermissionError):  # of a folder that is shut others say so
        for each in folder.glob(pattern):
            with contextlib.suppress(FileNotFoundError):  # gone meanwhile, or a link to nothing
                if (seen := each.stat()).st_size:
                    found.append((seen.st_mtime, each))
    return [each for _, each in sorted(found)]


def lost(path: Path) -> str:
    """What tells that there was a database at *path*, where none is; empty where nothing tells it."""
    if os.path.isdir(path):  # noqa: PTH112 - as above
        return ""
    for kind, found in (("backup", backups(path)), ("export", exports(path))):
        if found:
            there = f"is {many(1, kind)}" if len(found) == 1 else f"are {many(len(found), kind)}"
            return (
                f"There is no database at `{path}`, though there {there} in `{found[-1].parent}`."
            )
    return ""
