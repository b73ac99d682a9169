"""Peak memory of a process that holds a long list, with the engine and without.

``tracemalloc`` sees nothing of what SQLite allocates, so the peak is the
kernel's, of a process that does nothing else. On Linux that is ``VmHWM``:
``ru_maxrss`` of a child begins at the size of the process that started it.
"""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from .child import ask
from .clock import Figure
from .floor import Bare
from .plugin import Stub, engine_on
from .work import conversation, turn

__all__ = ["memory", "peak", "peak_of"]

_MOST_MB, _MOST_FOR = 80, 50_000
_TURNS = 10
_WARM_ROWS = 80


def memory(folder: Path, sizes: Sequence[int], runs: int) -> list[Figure]:
    """MB above the process that holds the list and the imports."""
    figures = []
    for size in sizes:
        told: dict[str, list[dict[str, float]]] = {"hold": [], "bare": [], "engine": []}
        for run in range(runs):
            for mode, answers in told.items():
                answers.append(ask(mode, size, folder / f"memory-{size}-{run}.{mode}"))
        held, bare = (median(each["peak"] for each in told[mode]) for mode in ("hold", "bare"))
        stages = {
            stage: median(each[stage] for each in told["engine"]) - held
            for stage in ("ingest", "turns", "peak")
        }
        figures.append(
            Figure(
                "memory", f"peak at {size:,} messages: ingest, {_TURNS} turns, first compaction",
                stages["peak"], bare - held, "MB",
                reach=f"under {_MOST_MB} MB at {_MOST_FOR:,}",
                reached=stages["peak"] < _MOST_MB if size == _MOST_FOR else None,
                detail={
                    "after_ingest": stages["ingest"], "after_turns": stages["turns"],
                    "list_and_imports_peak": held,
                    "list_and_imports_now": median(each["now"] for each in told["hold"]),
                },
            )
        )  # fmt: skip
    return figures


def peak_of(mode: str, path: Path, size: int) -> dict[str, float]:
    """Run in a child: peaks in MB of a process with the list, doing what *mode* says.

    All modes import the same: a small compaction runs in each before the list is made.
    """
    _warm(path.with_suffix(".warm"))
    rows = conversation(size)
    gc.collect()
    told = {"now": _now(), "held": peak()}
    if mode == "bare":
        floor = Bare(path)
        floor.add(rows)
        for number in range(_TURNS):
            floor.add(turn(number))
    elif mode == "engine":
        stub = Stub()
        engine = engine_on(path, "long", stub)
        engine.ingest(rows)
        told["ingest"] = peak()
        for number in range(_TURNS):
            rows += turn(number)
            engine.on_turn_complete(rows)
        told["turns"] = peak()
        if len(engine.compress(rows, force=True)) >= len(rows):
            raise RuntimeError("nothing was compacted")
    return told | {"peak": peak()}


def _warm(path: Path) -> None:
    rows = conversation(_WARM_ROWS, name="warm")
    engine = engine_on(path, "small")
    engine.ingest(rows)
    engine.compress(rows, force=True)
    engine.close()


def peak() -> float:
    """MB that the process had at its largest."""
    told = _status("VmHWM")
    if told is None:
        unit = 1 if sys.platform == "darwin" else 1024
        told = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    return told


def _now() -> float:
    """MB that the process has, 0 where nothing says."""
    return _status("VmRSS") or 0.0


def _status(name: str) -> float | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = next((line.split()[1] for line in lines if line.startswith(f"{name}:")), None)
    return int(found) * 1024 / 1e6 if found else None
