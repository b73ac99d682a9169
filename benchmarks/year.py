"""``python -m benchmarks year``: a year of one conversation, day by day, and whether a turn costs more at its end.

Every turn goes through the host's door; the list is compacted whenever that is due; each morning the
process is another one: the database is opened anew, and the list recognised. The background has the
time between two turns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from .plugin import Stub, check_stored, engine_on
from .report import machine
from .work import ROWS_PER_BLOCK, Row, conversation

__all__ = ["Day", "drawn", "main", "run"]

#: Days of which the first and the last are compared.
_SPAN = 30


@dataclass(frozen=True, slots=True)
class Day:
    """Medians of one day, in milliseconds of processor time."""

    number: int
    turn: float
    compaction: float | None
    """None on a day without any."""
    opening: float
    """Opening the database and recognising the list."""
    megabytes: float
    """The database in the evening."""
    messages: int
    """Stored by then."""


def run(
    path: Path, days: int, turns: int, window: int, said: Callable[[Day], None] | None = None
) -> list[Day]:
    """Live *days* of *turns* each; *said* is told of each day.

    Raises:
        RuntimeError: a message is missing, or there is one too many.
    """
    found: list[Day] = []
    live: list[Row] = []
    stub, number, passes = Stub(), 0, 0
    for day in range(1, days + 1):
        begun: list[Any] = []
        opening = _milliseconds(
            lambda: begun.append(_begun(path, stub, window, live))  # noqa: B023 - called at once
        )
        (engine,) = begun
        took: list[float] = []
        passed: list[float] = []
        for _ in range(turns):
            live = [*live, *conversation(ROWS_PER_BLOCK, start=number)]
            number += 1
            took.append(_milliseconds(lambda: engine.on_turn_complete(live)))  # noqa: B023
            tokens = engine.count_tokens(live)
            engine.update_from_response({"prompt_tokens": tokens})
            vars(engine)["_ahead"].wait()
            if engine.should_compress(tokens):
                before = stub.seconds
                made: list[list[Row]] = []
                spent = _milliseconds(lambda: made.append(engine.compress(live, tokens)))  # noqa: B023
                passed.append(spent - (stub.seconds - before) * 1e3)
                live, passes = list(made[0]), passes + 1
        check_stored(engine, live, number * ROWS_PER_BLOCK)
        engine.close()
        size = path.stat().st_size / 1e6
        compaction = median(passed) if passed else None
        found.append(Day(day, median(took), compaction, opening, size, number * ROWS_PER_BLOCK))
        if said:
            said(found[-1])
    return found


def _begun(path: Path, stub: Stub, window: int, live: Sequence[Row]) -> Any:
    """What a new process does before its first turn."""
    engine = engine_on(path, "year", stub, window=window)
    engine.ingest(live)
    return engine


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e3


def drawn(days: Sequence[Day], file: Path) -> None:
    """Draw what a day costs over the year, as SVG.

    Raises:
        ImportError: matplotlib is not installed.
    """
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "lcm"  # the same figures give the same file
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 5.2), layout="constrained")
    curves: list[tuple[str, Sequence[float | None]]] = [
        ("a turn, ms", [day.turn for day in days]),
        ("a compaction, ms", [day.compaction for day in days]),
        ("opening and recognising, ms", [day.opening for day in days]),
        ("database, MB", [day.megabytes for day in days]),
    ]
    numbers = [day.number for day in days]
    for axis, (name, values) in zip(axes.flat, curves, strict=True):
        shown = {
            day: value for day, value in zip(numbers, values, strict=True) if value is not None
        }
        axis.plot(list(shown), list(shown.values()), linewidth=1.2, color="#2563eb")
        axis.set_title(name, loc="left", fontsize=10)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.25)
        axis.set_xlabel("day", fontsize=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None}, facecolor="white")


def main(arguments: Sequence[str]) -> int:
    """Measure, write a table of months, draw; 0 whatever the figures are, 2 if nothing can be drawn."""
    asked = _parser().parse_args(arguments)
    if asked.plot:
        try:
            importlib.import_module("matplotlib")
        except ImportError:
            sys.stderr.write("--plot needs matplotlib: pip install matplotlib\n")
            return 2
    with tempfile.TemporaryDirectory(prefix="lcm-year-", dir=asked.folder) as folder:
        days = run(
            Path(folder) / "year.db", asked.days, asked.turns, asked.window,
            lambda day: _say(day, asked.days),
        )  # fmt: skip
    sys.stderr.write("\n")
    for name, value in machine().items():
        if name != "method":
            sys.stdout.write(f"{name}: {value}\n")
    sys.stdout.write(f"\n{_table(days)}\n")
    if asked.json:
        asked.json.write_text(json.dumps([asdict(day) for day in days]) + "\n", encoding="utf-8")
    if asked.plot:
        drawn(days, asked.plot)
    return 0


def _say(day: Day, days: int) -> None:
    sys.stderr.write(f"\rday {day.number} of {days}: {day.turn:.2f} ms a turn ")


def _table(days: Sequence[Day]) -> str:
    lines = [
        "| days | messages at the end | a turn | a compaction | opening and recognising | database |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for start in range(0, len(days), _SPAN):
        part = days[start : start + _SPAN]
        passes = [day.compaction for day in part if day.compaction is not None]
        lines.append(
            f"| {part[0].number} to {part[-1].number} | {part[-1].messages:,}"
            f" | {median(day.turn for day in part):.2f} ms"
            f" | {f'{median(passes):.1f} ms' if passes else ''}"
            f" | {median(day.opening for day in part):.1f} ms | {part[-1].megabytes:,.1f} MB |"
        )
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks year", description=__doc__)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--turns", type=int, default=300, help="a day, of four messages each")
    parser.add_argument("--window", type=int, default=128_000, help="tokens of the model's window")
    parser.add_argument("--plot", type=Path, help="draw an SVG there")
    parser.add_argument("--json", type=Path, help="write every day there")
    parser.add_argument("--folder", type=Path, help="disk to measure on")
    return parser
