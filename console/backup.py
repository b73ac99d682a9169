"""``backup [FILE]``: a copy of everything, made while agents write, and checked."""

from __future__ import annotations

import argparse
import re
import shlex
import time as clock
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .absent import FOLDER
from .screen import clean, many
from .status import size
from .verb import Answer, Call, Progress, WrongCall

if TYPE_CHECKING:
    from ..storage.backup import Copied

__all__ = ["add", "check", "how_to_restore", "make_backup", "run"]

#: Signs that mean something in a pattern of `find`.
_PATTERN: Final = re.compile(r"[][*?\\]")


def make_backup(path: str, target: str = "", progress: Progress | None = None) -> Copied:
    """Copy the database at *path*; another verb calls this before it changes much.

    Args:
        path: the database; agents may write to it meanwhile.
        target: a file that is not there yet, or a folder; by default a file
            with the date in its name in the folder ``backups`` beside the database.

    Raises:
        StoreError: no copy was made; the text says why.
    """
    from ..storage import backup as storage_backup  # SQLite, which a shell must not pay for
    from ..storage.translation import translated

    database = Path(path)
    given = Path(target).expanduser() if target else database.parent / FOLDER
    with translated(str(given)):  # a folder may be shut
        if not target and database.is_file() and database.stat().st_size:
            given.mkdir(mode=0o700, exist_ok=True)
        if not target or given.is_dir():
            given = _dated(given, database.stem)
    return storage_backup.copy(database, given, progress)


def _dated(folder: Path, stem: str) -> Path:
    """A name that is not taken."""
    name = f"{stem}-{clock.strftime('%Y%m%d-%H%M%S')}"
    path, number = folder / f"{name}.db", 2
    while path.exists():
        path, number = folder / f"{name}-{number}.db", number + 1
    return path


def how_to_restore(copied: str, path: str) -> list[str]:
    """Shell commands that put *copied* in the place of the database, which is kept too.

    Whoever carries them out a second time, or each by itself, overwrites nothing: only a folder that is new
    takes the old one, and what stands in the place, or a WAL beside it, keeps the copy out.

    The WAL goes with the old database: SQLite would replay it into the new one. `find`, because what lies beside
    the database may be anything or nothing, and shells differ in what they make of a pattern that fits nothing.
    """
    aside = f"{path}.{clock.strftime('%Y%m%d-%H%M%S')}"
    database, wal, kept = map(shlex.quote, (path, f"{path}-wal", aside))
    within = shlex.quote(
        f"{Path(path).parent}/".replace("//", "/")
    )  # of a link to a folder, what is in it
    plain = _PATTERN.sub(r"\\\g<0>", Path(path).name)
    names = rf"\( -name {shlex.quote(plain)} -o -name {shlex.quote(f'{plain}-*')} \)"
    return [
        rf"mkdir {kept} && find {within} -maxdepth 1 {names} -exec mv -n {{}} {kept} \;",
        f"test ! -e {database} && test ! -e {wal} && cp {shlex.quote(copied)} {database}",
    ]


def run(call: Call) -> Answer:
    """Make one, and say how to put it back."""
    done = make_backup(call.path, call.options.get("file") or "", call.progress)
    copied = str(Path(done.path).absolute())
    commands = how_to_restore(copied, str(Path(call.path).absolute()))
    data = {**asdict(done), "path": copied, "checked": True, "restore": commands}
    return Answer(data, text=_view(done, copied, commands), prose=True)


def _view(done: Copied, copied: str, commands: list[str]) -> str:
    """In words; the commands unwrapped, for they are there to be copied."""
    held = ", ".join(
        [
            many(done.messages, "message"),
            many(done.nodes, "summary"),
            many(done.sessions, "session"),
        ]
    )
    lines = [
        f"backup: {copied}",
        f"It holds {held} ({size(done.bytes)}), and was checked.",
        "To restore it, stop every Hermes that uses this home, then",
        *(f"  {command}" for command in commands),
    ]
    return clean("\n".join(lines) + "\n")


def check(options: Mapping[str, Any]) -> None:
    """A backup of a part would not be one."""
    if options.get("session"):
        raise WrongCall("A backup is of everything. `export --session ID` takes one conversation.")


def add(parser: argparse.ArgumentParser) -> None:
    """Where to."""
    parser.add_argument(
        "lcm_file",
        metavar="FILE",
        nargs="?",
        help=f"a new file, or a folder (default: {FOLDER}/ beside the database, with the date)",
    )
