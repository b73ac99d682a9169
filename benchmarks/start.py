"""What a process pays before its first turn: the plugin, an old database, a long list that is known already."""

from __future__ import annotations

import importlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import Any

from .clock import Figure, Taken, alternate, timed
from .floor import Bare
from .plugin import ROOT, check_stored, engine_on, load
from .work import conversation

__all__ = ["registered", "start"]

#: Messages of each session of a large database.
_SESSION = 10_000
#: Rows of the list with which a process goes on, at the most.
_LIST = 50_000
_OPEN_MS, _KNOWN_SECONDS, _REGISTER_MS = 20.0, 0.5, 50.0
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def start(folder: Path, sizes: Sequence[int], runs: int) -> list[Figure]:
    """Opening by the size of the database, recognising by the length of the list, and registering."""
    figures = []
    for size in sizes:
        path = folder / f"start-{size}"
        _fill(path, size)
        figures.append(_open(path, size, runs))
    lists = sorted({min(size, _LIST) for size in sizes})
    known = [_known(folder / f"known-{size}", size, runs) for size in lists]
    return [*figures, *known, _register(runs)]


def _fill(path: Path, size: int) -> None:
    """A database of *size* messages in sessions, and one of the bare script."""
    engine, floor = engine_on(path.with_suffix(".db"), "start-0"), Bare(path.with_suffix(".bare"))
    for number in range(0, size, _SESSION):
        rows = conversation(min(_SESSION, size - number), name=f"s{number}x")
        engine.on_session_start(f"start-{number}")
        engine.ingest(rows)
        floor.add(rows)
    engine.close()
    floor.close()


def _open(path: Path, size: int, runs: int) -> Figure:
    """From a closed file to the answer to which sessions are in it, by way of the store."""
    storage = importlib.import_module("lcm.storage")

    def ours(_: int) -> Taken:
        opened: list[Any] = []

        def work() -> None:
            opened.append(storage.open_store(str(path.with_suffix(".db")), create=False))
            opened[0].session("start-0")

        taken = timed(work)
        opened[0].close()
        return taken

    def bare(_: int) -> Taken:
        def work() -> None:
            with closing(sqlite3.connect(path.with_suffix(".bare"))) as sql:
                sql.execute("SELECT body FROM messages LIMIT 1").fetchone()

        return timed(work)

    race = alternate(runs, ours, bare)
    mine = race.ours.wall * 1e3
    return Figure(
        "start", f"open a database of {size:,} messages", mine, race.floor.wall * 1e3, "ms",
        reach=f"under {_OPEN_MS:g} ms", reached=mine < _OPEN_MS, detail=race.detail,
    )  # fmt: skip


def _known(path: Path, size: int, runs: int) -> Figure:
    """A new process finds the whole list in the database; beside it, every row hashed and looked up."""
    rows = conversation(size)
    engine, floor = engine_on(path.with_suffix(".db"), "known"), Bare(path.with_suffix(".bare"))
    engine.ingest(rows)
    floor.add(rows)
    engine.close()
    floor.close()

    def ours(_: int) -> Taken:
        again = engine_on(path.with_suffix(".db"), "known")
        taken = timed(lambda: again.ingest(rows))
        check_stored(again, rows, size)
        again.close()
        return taken

    def bare(_: int) -> Taken:
        def work() -> None:
            with closing(sqlite3.connect(path.with_suffix(".bare"))) as sql:
                known = {digest for (digest,) in sql.execute("SELECT digest FROM messages")}
            for row in rows:
                body = _ENCODER.encode(row).encode()
                if blake2b(body, digest_size=16).digest() not in known:
                    raise RuntimeError("a row that was stored is not there")

        return timed(work)

    race = alternate(runs, ours, bare)
    mine = race.ours.wall
    return Figure(
        "start", f"go on with a list of {size:,} in a new process", mine, race.floor.wall, "s",
        reach=f"under {_KNOWN_SECONDS:g} s at {_LIST:,}, no duplicate",
        reached=mine < _KNOWN_SECONDS if size == _LIST else None, detail=race.detail,
    )  # fmt: skip


def _register(runs: int) -> Figure:
    """Import and ``register()`` in a process that holds Hermes, if there is one (``$LCM_HOST_OLD``)."""
    home = os.environ.get("LCM_HOST_OLD")
    python = str(Path(home) / "bin" / "python") if home and Path(home).is_dir() else home
    told = [_child(python or sys.executable) for _ in range(runs + 1)][
        1:
    ]  # the first writes bytecode
    mine = median(each["seconds"] for each in told) * 1e3
    where = "Hermes" if all(each["hermes"] for each in told) else "no Hermes (`LCM_HOST_OLD`)"
    return Figure(
        "start", f"import and register, first in a process that holds {where}", mine, None, "ms",
        reach=f"under {_REGISTER_MS:g} ms", reached=mine < _REGISTER_MS, detail={"runs": told},
    )  # fmt: skip


def _child(python: str) -> dict[str, float]:
    script = "from benchmarks.start import registered; registered()"
    said = subprocess.run(  # noqa: S603 - the Python of this process, or of the host that the user names
        [python, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    told: dict[str, float] = json.loads(said.splitlines()[-1])
    return told


def registered() -> None:
    """Run in a child: seconds to import the plugin and to register it."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
    try:
        importlib.import_module("run_agent")
        hermes = True
    except ImportError:
        hermes = False
    start = time.perf_counter()
    load()
    sys.modules["lcm"].register(_Context())
    took = time.perf_counter() - start
    sys.stdout.write(json.dumps({"seconds": took, "hermes": hermes}) + "\n")


class _Context:
    """Takes what the smallest of the hosts' contexts takes."""

    def register_context_engine(self, engine: Any) -> None:
        """Nobody will ask it."""

    def register_command(self, *_: Any, **__: Any) -> None:
        """Nor for this."""
