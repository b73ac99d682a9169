"""How long a search takes: the tool's whole answer, beside SQLite's own ``bm25()`` for the same words and rows.

Sessions of 2,000 messages each. The floor gives the numbers of ten messages and nothing else.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from .clock import Figure, Taken, alternate, timed
from .plugin import engine_on
from .work import conversation, words

__all__ = ["search"]

_SESSION = 2_000
#: Ranks of words by how frequent they are: of a plain question, and of one of common words only.
_PLAIN = ((400, 900, 1700, 3100), (520, 1100, 2300, 4000), (610, 750, 1500, 5200, 2900))
_COMMON = ((0, 1, 2, 3), (4, 5, 6))
_MANY = 1_000_000
#: What is asked, the words of each question, where, and what it may take of the floor: at a million messages, and at
#: other sizes.
_KINDS = (
    ("a plain question", _PLAIN, "all", (1.0, 1.2)),
    ("common words only", _COMMON, "all", (0.2, 0.5)),
    (f"a question to a session of {_SESSION:,}", _PLAIN, "session", (0.1, None)),
)
#: Rows of the live list of a call in a long conversation, and milliseconds that it may take before it searches.
_LIST, _OWN = 10_000, 2
#: Sessions between two lines on how far the filling is.
_STEP = 50


def search(folder: Path, sizes: Sequence[int], runs: int) -> list[Figure]:
    """Milliseconds for a question to all sessions, for common words, and for a question to one session."""
    figures = []
    for size in sizes:
        path = folder / f"search-{size}.db"
        engine = _filled(path, size)
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as bare:
            for what, ranks, scope, limits in _KINDS:
                asked = [[words()[rank] for rank in each] for each in ranks]
                race = alternate(
                    runs, partial(_ours, engine, asked, scope), partial(_floor, bare, asked)
                )
                ours, floor = race.ours.wall / len(asked), race.floor.wall / len(asked)
                limit = limits[size != _MANY]
                ratio = race.detail["cpu_ratio"]
                figures.append(
                    Figure(
                        "search",
                        f"{what}, {size:,} messages",
                        ours * 1000,
                        floor * 1000,
                        "ms",
                        reach=f"at most {limit}, by CPU time" if limit else "",
                        reached=None if limit is None or ratio is None else ratio <= limit,
                        detail=race.detail,
                    )
                )
        figures.append(_before(engine, size, runs))
        engine.close()
        for name in folder.glob(f"{path.name}*"):
            name.unlink()
    return figures


def _before(engine: Any, size: int, runs: int) -> Figure:
    """What a call takes before its search: an empty query is answered when all else is done, the list looked at too.

    The floor compares the list with copies of its rows, which is how a change in place of any row is seen.
    """
    rows = conversation(min(size, _LIST), "live")
    copied = deepcopy(rows)
    engine.on_session_start("live")
    engine.ingest(rows)

    def ours(_: int) -> Taken:
        call = {"query": ""}
        return timed(lambda: engine.handle_tool_call("lcm_grep", call, messages=list(rows)))

    race = alternate(runs, ours, lambda _: timed(lambda: rows == copied))
    return Figure(
        "search",
        f"before a search, live list of {len(rows):,}, {size:,} messages stored",
        race.ours.wall * 1000,
        race.floor.wall * 1000,
        "ms",
        reach=f"under {_OWN} ms of CPU time at {_LIST:,}",
        reached=race.ours.cpu * 1000 < _OWN if len(rows) == _LIST else None,
        detail=race.detail,
    )


def _filled(path: Path, size: int) -> Any:
    """An engine on the session in the middle of *size* messages."""
    engine = engine_on(path, "session-0")
    names = [f"session-{at}" for at in range(max(size // _SESSION, 1))]
    for at, name in enumerate(names):
        engine.on_session_start(name)
        engine.ingest(conversation(min(size, _SESSION), f"s{at}n"))
        if at % _STEP == _STEP - 1:
            sys.stderr.write(f"{(at + 1) * _SESSION:,} messages\n")
    engine.on_session_start(names[len(names) // 2])
    return engine


def _ours(engine: Any, asked: Sequence[Sequence[str]], scope: str, _: int) -> Taken:
    def ask() -> None:
        for each in asked:
            call = {"query": f"{' '.join(each)}?", "scope": scope}
            if not json.loads(engine.handle_tool_call("lcm_grep", call))["results"]:
                raise RuntimeError(f"nothing found for {call}")

    return timed(ask)


def _floor(bare: sqlite3.Connection, asked: Sequence[Sequence[str]], _: int) -> Taken:
    query = "SELECT rowid FROM message_index WHERE message_index MATCH ? ORDER BY rank LIMIT 10"

    def ask() -> None:
        for each in asked:
            bare.execute(query, [" OR ".join(f'"{word}"' for word in each)]).fetchall()

    return timed(ask)
