"""How long it takes to prove a store, and how much memory.

Each run is a process of its own, as ``hermes lcm verify`` is. Memory is what the process took on
beyond its imports and an open database.
"""

from __future__ import annotations

import importlib
import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import Any

from .child import ask
from .clock import Figure
from .memory import peak
from .plugin import load
from .speed import old

__all__ = ["checked", "rehashed", "verify"]

_MOST_SECONDS, _FOR = 20.0, 100_000


def verify(folder: Path, sizes: Sequence[int], runs: int) -> list[Figure]:
    """Seconds and MB for one session of each size that was compacted whenever that was due."""
    figures = []
    for size in sizes:
        path = folder / f"verify-{size}"
        talk = old(path, size)
        talk.engine.close()
        talk.floor.close()
        told: dict[str, list[dict[str, Any]]] = {"rehash": [], "verify": []}
        for _ in range(runs):
            told["rehash"].append(ask("rehash", size, path.with_suffix(".bare")))
            told["verify"].append(ask("verify", size, path.with_suffix(".db")))
        (mine, least), (memory, floor) = (
            [median(run[name] for run in told[mode]) for mode in ("verify", "rehash")]
            for name in ("seconds", "peak")
        )
        detail = {"runs": told, "bytes": path.with_suffix(".db").stat().st_size}
        cpu = [median(run["cpu"] for run in told[mode]) for mode in ("verify", "rehash")]
        what = f"verify of {size:,} messages, {told['verify'][0]['nodes']:,} nodes"
        figures += [
            Figure(
                "verify", what, mine, least, "s",
                reach=f"under {_MOST_SECONDS:g} s at {_FOR:,}",
                reached=mine < _MOST_SECONDS if size == _FOR else None,
                detail=detail | {"cpu_ratio": cpu[0] / cpu[1]},
            ),
            Figure("verify", f"memory for {what}", memory, floor, "MB", reach="the same at any size"),
        ]  # fmt: skip
        for name in folder.glob(f"{path.name}.*"):
            shutil.rmtree(name) if name.is_dir() else name.unlink()
    return figures


def checked(path: Path, size: int) -> dict[str, Any]:
    """Run in a child: verify the store at *path*.

    Raises:
        RuntimeError: something is wrong with it, or it does not hold *size* messages.
    """
    load()
    run = importlib.import_module("lcm.console.verify").verify
    store = importlib.import_module("lcm.storage").open_store(path, create=False)
    store.sessions()
    importlib.import_module("sqlite_utils")  # which is there in a process that has made a database
    before = peak()
    start, cpu = time.perf_counter(), time.process_time()
    report = run(store)
    told = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    told["peak"] = peak() - before
    store.close()
    if not report.good or report.counts.messages - 2 != size:
        raise RuntimeError(f"{report.verdict}: {report.failures[:3]}")
    return told | {"nodes": report.counts.nodes}


def rehashed(path: Path, size: int) -> dict[str, Any]:
    """Run in a child: read every body of the bare script's log and hash it.

    Raises:
        RuntimeError: a digest is wrong, or there are not *size* messages.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as sql:
        before = peak()
        start, cpu = time.perf_counter(), time.process_time()
        good = sum(
            blake2b(body.encode(), digest_size=16).digest() == mark
            for body, mark in sql.execute("SELECT body, digest FROM messages ORDER BY id")
        )
        told = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
        if good != size:
            raise RuntimeError(f"{good} of {size} messages are whole")
        return told | {"peak": peak() - before}
