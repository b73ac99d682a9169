"""How large a database is beside what was said: bytes on disk for each byte of the messages' own JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from .clock import Figure
from .floor import Bare
from .plugin import engine_on
from .replay.data import conversations
from .work import Row, conversation

__all__ = ["size"]

_MOST = 1.25
_DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "conv"
#: Real conversations that are measured beside the synthetic one, where they are.
_SETS = ("claude_code", "beam", "tau_shift")


def size(folder: Path, sizes: Sequence[int], runs: int) -> list[Figure]:
    """Bytes per byte, of synthetic conversations and of real ones; *runs* do not matter, it is no time."""
    del runs
    figures = [_figure(folder / f"size-{n}", f"{n:,} messages", conversation(n)) for n in sizes]
    for name in _SETS:
        rows = [row for _, talk in conversations(_DATA, name) for row in talk]
        if rows:
            what = f"{len(rows):,} messages of {name}"
            figures.append(_figure(folder / f"size-{name}", what, rows))
    return figures


def _figure(path: Path, what: str, rows: Sequence[Row]) -> Figure:
    raw = sum(len(json.dumps(row, ensure_ascii=False).encode()) for row in rows)
    engine = engine_on(path.with_suffix(".db"), "size")
    engine.ingest(rows)
    engine.close()
    floor = Bare(path.with_suffix(".bare"))
    floor.add(rows)
    floor.close()
    mine, least = (_bytes(path.with_suffix(suffix)) / raw for suffix in (".db", ".bare"))
    return Figure(
        "size", f"database of {what}", mine, least, "bytes/byte",
        reach=f"{_MOST:g}", reached=mine <= _MOST,
        detail={"raw": raw, "tables": _tables(path.with_suffix(".db"), raw)},
    )  # fmt: skip


def _bytes(path: Path) -> int:
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return path.stat().st_size


def _tables(path: Path, raw: int) -> dict[str, float]:
    """Bytes of each table and index per byte of the messages; empty where SQLite was built without ``dbstat``."""
    with closing(sqlite3.connect(path)) as sql:
        try:
            rows = sql.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
        except sqlite3.OperationalError:
            return {}
    return {name: taken / raw for name, taken in rows}
