"""Has conversations that are killed: for each line of its input a fork of this process begins one.

What a door has returned for is acknowledged at once, by a line that is in the pipe before the
next door is called. The fork ends by being killed; this process says so then.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import loaded  # noqa: F401 - makes ``lcm`` importable
from lcm.storage.backup import copy
from talking import engine_on, rows_until, talk

BACKUP_EVERY = 7


def tell(**told: Any) -> None:
    """One line, whole or not at all."""
    os.write(1, json.dumps(told).encode() + b"\n")


def converse(path: Path, session: str, start: int, backups: Path) -> None:
    """Go on with a conversation of which the host has *start* turns, without an end."""
    engine = engine_on(path, session)

    def said(what: str, value: Any) -> None:
        tell(**{what: value})
        if what == "turn" and value % BACKUP_EVERY == BACKUP_EVERY - 1:
            target = backups / f"{os.getpid()}-{value}.db"
            copy(path, target)
            tell(backup=str(target), turns=value + 1)

    talk(
        engine,
        session,
        range(start, 1 << 30),
        live=rows_until(session, start),
        compact_every=5,
        said=said,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:  # so that a fork has everything imported
        engine = engine_on(Path(folder) / "lcm.db", "warm")
        talk(engine, "warm", range(6), compact_every=3)
        engine.close()
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if not pid:
            tell(pid=os.getpid())
            try:
                converse(Path(job["path"]), job["session"], job["start"], Path(job["backups"]))
            except Exception as error:  # noqa: BLE001 - told to the parent
                tell(failed=repr(error))
            os._exit(0)
        tell(ended=os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    main()
