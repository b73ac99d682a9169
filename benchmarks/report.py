"""The table, and what a reader must know to trust it."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .clock import Figure
from .plugin import ROOT

__all__ = ["as_json", "machine", "table"]


def machine() -> dict[str, str]:
    """Where the figures come from."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()} ({platform.machine()})",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "SQLite": sqlite3.sqlite_version,
        "packages": ", ".join(
            f"{name} {_version(name)}" for name in ("networkx", "rapidfuzz", "sqlite-utils")
        ),
        "load": " ".join(f"{load:.1f}" for load in os.getloadavg()) + " (1, 5, 15 minutes)",
        "commit": _commit(),
        "method": (
            "both sides in turns in one process, one warm-up run, garbage collected before each run"
            " and the collector on; time by perf_counter, medians; WAL, synchronous=NORMAL"
        ),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


def _commit() -> str:
    git = shutil.which("git")
    if git is None:
        return "unknown"
    command = [git, "-C", str(ROOT), "describe", "--always", "--dirty", "--tags"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() or "unknown"


def table(figures: Sequence[Figure]) -> str:
    """A Markdown table."""
    head = ("figure", "lcm", "bare sqlite3", "ratio", "by CPU time", "to reach", "")
    lines = [head, ("---", "--:", "--:", "--:", "--:", "---", "---"), *map(_cells, figures)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(figure: Figure) -> tuple[str, ...]:
    mark = {True: "yes", False: "**no**", None: ""}[figure.reached]
    ratio = f"{figure.ratio:.2f}" if figure.ratio is not None else ""
    return (
        figure.name,
        _value(figure.ours, figure.unit),
        _value(figure.floor, figure.unit),
        ratio,
        _cpu_ratio(figure),
        figure.reach,
        mark,
    )


def _cpu_ratio(figure: Figure) -> str:
    """The same from processor times, which other programs disturb less."""
    ratio = figure.detail.get("cpu_ratio")
    if ratio is None:
        return ""
    return f"{1 / ratio if figure.unit == 'msg/s' else ratio:.2f}"


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = {"msg/s": 0, "MB": 1}.get(unit, 3)
    return f"{value:,.{digits}f} {unit}"


def as_json(figures: Sequence[Figure]) -> dict[str, Any]:
    """Everything, for a file."""
    return {
        "machine": machine(),
        "command": " ".join(["python -m benchmarks", *sys.argv[1:]]),
        "figures": [asdict(figure) | {"ratio": figure.ratio} for figure in figures],
    }
