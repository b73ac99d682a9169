"""Times both sides in turns, so that whatever else the machine does hits both."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

__all__ = ["Figure", "Race", "Taken", "alternate", "timed", "typical"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    group: str
    name: str
    ours: float
    floor: float | None
    """The bare script's figure in the same unit; None where it has nothing to do."""
    unit: str
    """``msg/s``, ``ms``, ``s`` or ``MB``."""
    reach: str = ""
    """What is to be reached, in words."""
    reached: bool | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    """Whatever a reader of the JSON may want: every run, spreads, counts."""

    @property
    def ratio(self) -> float | None:
        """Ours over the floor."""
        return self.ours / self.floor if self.floor else None


class Taken(NamedTuple):
    """How long something took, in seconds."""

    wall: float
    cpu: float
    """Of this process: what other programs do hardly changes it."""


def timed(work: Callable[[], object]) -> Taken:
    """How long *work* takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Taken(time.perf_counter() - wall, time.process_time() - cpu)


def typical(times: Sequence[Taken]) -> Taken:
    """The median of each clock."""
    return Taken(median(each.wall for each in times), median(each.cpu for each in times))


class Race(NamedTuple):
    """Both sides, measured in turns."""

    ours: Taken
    floor: Taken
    detail: dict[str, Any]
    """Every run, and the ratio of the processor times."""


def alternate(runs: int, ours: Callable[[int], Taken], floor: Callable[[int], Taken]) -> Race:
    """The medians of *runs* runs of each side; run 0 is a warm-up and not counted.

    A side takes the number of the run. Garbage is collected before each,
    untimed; the collector stays on, as in a host. Who begins changes from run
    to run.
    """
    sides = (ours, floor)
    results: list[list[Taken]] = [[] for _ in sides]
    for run in range(runs + 1):
        order = list(range(len(sides)))
        for side in order if run % 2 else order[::-1]:
            gc.collect()
            taken = sides[side](run)
            if run:
                results[side].append(taken)
    mine, least = map(typical, results)
    detail = {
        "seconds": [each.wall for each in results[0]],
        "floor_seconds": [each.wall for each in results[1]],
        "cpu_ratio": mine.cpu / least.cpu if least.cpu else None,
    }
    return Race(mine, least, detail)
