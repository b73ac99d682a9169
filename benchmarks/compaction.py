"""The first compaction of a long list, without the time of the summariser."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

from .child import ask
from .clock import Figure, Taken, alternate, timed
from .floor import Bare
from .plugin import Stub, answer, engine_on
from .work import conversation

__all__ = ["compress", "first_in_process", "imports"]

_MOST_SECONDS, _MOST_FOR = 0.3, 10_000


def compress(folder: Path, sizes: Sequence[int], runs: int) -> list[Figure]:
    """Seconds of the first ``compress()`` of a list that is stored already.

    A new database each run. Besides the warm figure, the one of a new process,
    and how much of it is the import of what only a compaction needs.
    """
    figures = []
    for size in sizes:
        nodes: list[int] = []

        def ours(run: int, size: int = size, nodes: list[int] = nodes) -> Taken:
            taken, made = _first(folder / f"compress-{size}-{run}.db", size)
            nodes.append(made)
            return taken

        def bare(run: int, size: int = size, nodes: list[int] = nodes) -> Taken:
            floor = Bare(folder / f"compress-{size}-{run}.bare")
            floor.add(conversation(size))
            made, text = (nodes[-1] if nodes else 1), answer(1)
            taken = timed(lambda: floor.summarise(size, made, text))
            floor.close()
            return taken

        ours(-1)  # the first run may be the floor's, which makes as many nodes as ours
        race = alternate(runs, ours, bare)
        mine, least = race.ours.wall, race.floor.wall
        figures.append(
            Figure(
                "compress", f"first compaction of {size:,}, warm", mine, least, "s",
                reach=f"under {_MOST_SECONDS:g} s at {_MOST_FOR:,}",
                reached=mine < _MOST_SECONDS if size == _MOST_FOR else None,
                detail=race.detail | {"nodes": nodes[-1]},
            )
        )  # fmt: skip
        figures += [_cold(folder, size, runs, mode) for mode in ("levels", "prose")]
    return figures


def _cold(folder: Path, size: int, runs: int, mode: str) -> Figure:
    """The same as the first work of a process, and what of it goes to imports."""
    told = [ask(mode, size, folder / f"{mode}-{size}-{run}.db") for run in range(runs)]
    modules = json.dumps(told[-1]["modules"])
    late = ask("imports", size, folder / f"{mode}-{size}-late.db", modules)["seconds"]
    answers = "" if mode == "levels" else ", answers in plain text"
    return Figure(
        "compress", f"the same, first in a process{answers}; of it imports {late:.2f} s",
        median(each["seconds"] for each in told), None, "s",
        detail={
            "imports_seconds": late,
            "packages": told[-1]["packages"],
            "seconds": [each["seconds"] for each in told],
        },
    )  # fmt: skip


def _first(path: Path, size: int) -> tuple[Taken, int]:
    """(seconds without the stub's, nodes made) of one first compaction."""
    stub, rows = Stub(), conversation(size)
    engine = engine_on(path, "long", stub)
    engine.ingest(rows)
    result: list[list[object]] = []
    taken = timed(lambda: result.append(engine.compress(rows, force=True)))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as sql:
        (nodes,) = sql.execute("SELECT count(*) FROM nodes WHERE kind != 'frame'").fetchone()
    if engine.get_status()["problems"] or len(result[0]) >= len(rows) or not nodes:
        raise RuntimeError(f"nothing was compacted: {engine.get_status()}")
    engine.close()
    return _without(taken, stub), nodes


def _without(taken: Taken, stub: Stub) -> Taken:
    """Less what the summariser took; it waits for nothing, so both clocks say the same."""
    return Taken(taken.wall - stub.seconds, taken.cpu - stub.seconds)


def first_in_process(path: Path, size: int, *, prose: bool) -> dict[str, object]:
    """Run in a child: the first compaction of a process, and the modules that it imported."""
    stub, rows = Stub(prose=prose), conversation(size)
    engine = engine_on(path, "long", stub)
    engine.ingest(rows)
    before = set(sys.modules)
    taken = timed(lambda: engine.compress(rows, force=True))
    late = [name for name in sys.modules if name not in before]
    own = {name.partition(".")[0] for name in late} - set(sys.stdlib_module_names)
    engine.close()
    return {"seconds": _without(taken, stub).wall, "modules": late, "packages": sorted(own)}


def imports(path: Path, size: int, modules: Sequence[str]) -> dict[str, object]:
    """Run in a child that is as far: how long importing *modules* takes, in their order."""
    engine = engine_on(path, "long")
    engine.ingest(conversation(size))
    taken = timed(lambda: [__import__(name) for name in modules])
    engine.close()
    return {"seconds": taken.wall}
