"""Where there is no database: whether one will come to be there, or the call names a wrong place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["ANOTHER", "mistaken"]

ANOTHER: Final = "Name another one with --db FILE or --home HERMES_HOME."
#: One of these is in every home in which Hermes was started, or into which the plugin was put.
_OF_A_HOME: Final = ("config.yaml", "state.db", "plugins/lcm")


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
