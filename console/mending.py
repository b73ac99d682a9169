"""What puts a database right that is damaged or gone: the newest backup, with the commands that put it in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from .absent import FOLDER, backups, exports
from .backup import how_to_restore
from .check import Check, typed, wrong

__all__ = ["damaged", "missing"]

_STOP: Final = "Stop every Hermes that uses this home. "
_AFTER: Final = "What was said since is stored again from the lists that Hermes shows."


def damaged(name: str, path: Path, said: str, more: str = "") -> Check:
    """A file that is not what was written: what gives most of it back, with the commands."""
    found = backups(path)
    newest = str(found[-1].absolute()) if found else ""
    first = (
        f"The newest backup here is `{newest}`: with it the commands below put it right. {_AFTER}"
        if newest
        else f"There is no backup in `{path.parent / FOLDER}`. If you have one elsewhere, put its name "
        f"for BACKUP in the commands below. {_AFTER}"
    )
    rest = (
        " What can still be read comes with `hermes lcm export --out NEW-FILE`, and can be imported into an empty "
        f"database. If that gives nothing, try the `.recover` of sqlite3 on a copy. The file was not touched. {more}"
    )
    commands = how_to_restore(newest or "BACKUP", str(path.absolute()))
    return wrong(name, said, f"{_STOP}{first}{rest}".strip(), commands=commands)


def missing(path: Path, said: str) -> Check:
    """None is there, and what lies beside it was made of one."""
    anew = "To begin anew, do nothing: the next turn makes an empty one."
    if not (found := backups(path)):
        again = typed("hermes", "lcm", "import", exports(path)[-1].absolute())
        return wrong("database", said, f"{again} brings back what the newest export holds. {anew}")
    newest = str(found[-1].absolute())
    remedy = (
        f"{_STOP}The newest backup is `{newest}`: the commands below put it there. {_AFTER} {anew}"
    )
    commands = how_to_restore(newest, str(path.absolute()))
    return wrong("database", said, remedy, commands=commands)
