"""``python -m benchmarks ahead``: how long a turn waits in ``compress()``, with work ahead and without.

The same conversation twice, with a summariser that takes its time. Between two turns a person reads
and types; how long the background is at work meanwhile is said, for a person who is faster waits.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from .plugin import answer, engine_on
from .work import ROWS_PER_BLOCK, Row, conversation

__all__ = ["Run", "main", "run"]

#: What the issue that asked for it wants: seconds at the median, with a summariser of five.
_REACH = 0.05


@dataclass
class Run:
    """What one conversation took."""

    mode: str
    turns: int = 0
    waits: list[float] = field(default_factory=list)
    """Seconds of each pass."""
    cpu: list[float] = field(default_factory=list)
    """Of these, at work: on a machine that does other things as well, less."""
    busy: list[float] = field(default_factory=list)
    """Seconds that the background was at work behind each turn that gave it any."""
    doors: list[float] = field(default_factory=list)
    """Seconds that the end of each turn took."""
    calls: int = 0
    in_passes: int = 0


class _Slow:
    """A summariser that sleeps."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls = self.in_passes = 0
        self.passing = False

    def __call__(self, request: Any) -> str:
        self.calls += 1
        self.in_passes += self.passing
        time.sleep(self.seconds)
        return answer(self.calls)


def run(path: Path, mode: str, *, seconds: float, window: int, passes: int) -> Run:
    """One conversation, until there were so many *passes*; *mode* is a value of ``state_updates``."""
    slow = _Slow(seconds)
    engine: Any = engine_on(path, "ahead", slow, window=window, state_updates=mode)  # type: ignore[arg-type]
    done, rows = Run(mode), list[Row]()
    while len(done.waits) < passes:
        begun, *rest = conversation(ROWS_PER_BLOCK, start=done.turns)
        done.turns += 1
        rows.append(begun)
        if engine.should_compress(engine.count_tokens(rows)):
            slow.passing, start, began = True, time.perf_counter(), time.thread_time()
            rows = list(engine.compress(rows, engine.count_tokens(rows)))
            done.waits.append(time.perf_counter() - start)
            done.cpu.append(time.thread_time() - began)
            slow.passing = False
        rows += rest
        engine.update_from_response({"prompt_tokens": engine.count_tokens(rows)})
        _turn_over(engine, rows, slow, done)
    problems = engine.get_status()["problems"]
    engine.close()
    if problems:
        raise RuntimeError(f"the engine has problems: {problems}")
    done.calls, done.in_passes = slow.calls, slow.in_passes
    return done


def _turn_over(engine: Any, rows: Sequence[Row], slow: _Slow, done: Run) -> None:
    """The door at the end of a turn, and the time that a person takes."""
    before, start = slow.calls, time.perf_counter()
    engine.on_turn_complete(rows)
    done.doors.append(time.perf_counter() - start)
    vars(engine)["_ahead"].wait()
    if slow.calls > before:
        done.busy.append(time.perf_counter() - start)


def main(arguments: Sequence[str]) -> int:
    """Measure both, and write the table to standard output; 1 if what is to be reached is not."""
    asked = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="lcm-ahead-") as folder:
        runs = []
        for mode in ("ahead", "off"):
            sys.stderr.write(f"{mode} ...\n")
            runs.append(
                run(
                    Path(folder) / f"{mode}.db", mode,
                    seconds=asked.seconds, window=asked.window, passes=asked.passes,
                )
            )  # fmt: skip
    sys.stdout.write(
        f"a summariser that takes {asked.seconds:g} s, a window of {asked.window:,} tokens\n\n"
        "| state_updates | turns | passes | a turn waits in a pass, median | longest | CPU, median | model calls"
        " | of them in passes | background at work after a turn, median | longest | end of a turn, median |\n"
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n"
    )
    sys.stdout.write("\n".join(map(_row, runs)) + "\n")
    return 0 if median(runs[0].waits) < _REACH else 1


def _row(done: Run) -> str:
    busy = done.busy or [0.0]
    cells = [
        done.mode,
        f"{done.turns:,}",
        str(len(done.waits)),
        f"{median(done.waits) * 1000:,.1f} ms",
        f"{max(done.waits) * 1000:,.1f} ms",
        f"{median(done.cpu) * 1000:,.1f} ms",
        str(done.calls),
        str(done.in_passes),
        f"{median(busy):.1f} s",
        f"{max(busy):.1f} s",
        f"{median(done.doors) * 1000:.2f} ms",
    ]
    return f"| {' | '.join(cells)} |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ahead", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="what a summary takes")
    parser.add_argument("--window", type=int, default=64_000, help="tokens of the model's window")
    parser.add_argument("--passes", type=int, default=6, help="compactions of each conversation")
    return parser
