"""Bulk ingest and the single turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from .clock import Figure, Race, Taken, alternate, timed, typical
from .floor import Bare
from .plugin import Stub, check_stored, engine_on
from .work import ROWS_PER_BLOCK, Row, conversation, turn

__all__ = ["ingest", "old", "turns"]

_TURNS = 20
"""Turns in a run of long lists; a fifth of it where a list would grow too much."""
_OTHER_SESSION = 10_000
"""Messages of each of the other sessions in a large database."""
_LIVE_TAIL = 46_000
"""``fresh_tail_tokens`` that leave about 350 rows of this conversation."""
_GROWTH = 1_000
"""Rows between two compactions while a session grows old."""
_MOST_MS, _MOST_RATIO, _BULK_RATIO = 1.0, 4.0, 0.5
_MOST_TOOL_MS, _TOOL_LIST = 2.0, 10_000


def ingest(folder: Path, sizes: Sequence[int], runs: int) -> list[Figure]:
    """Messages a second of a list that is stored at once; opening the database is left out."""
    figures = []
    for size in sizes:
        rows = conversation(size)

        def ours(run: int, rows: Sequence[Row] = rows, size: int = size) -> Taken:
            engine = engine_on(folder / f"ingest-{size}-{run}.db", "bulk")
            taken = timed(lambda: engine.ingest(rows))
            check_stored(engine, rows, len(rows))
            engine.close()
            return taken

        def bare(run: int, rows: Sequence[Row] = rows, size: int = size) -> Taken:
            floor = Bare(folder / f"ingest-{size}-{run}.bare")
            taken = timed(lambda: floor.add(rows))
            floor.close()
            return taken

        race = alternate(runs, ours, bare)
        figures.append(
            Figure(
                "ingest", f"bulk ingest of {size:,} messages", size / race.ours.wall,
                size / race.floor.wall, "msg/s",
                reach=f"ratio of at least {_BULK_RATIO}",
                reached=race.floor.wall / race.ours.wall >= _BULK_RATIO,
                detail=race.detail,
            )
        )  # fmt: skip
    return figures


_USED = 1_000
"""Tokens that the provider is said to have counted: nothing has to be prepared for a compaction then."""


class _Talk:
    """A conversation that goes on, on both sides."""

    def __init__(self, engine: Any, floor: Bare, live: list[Row], stored: int) -> None:
        self.engine, self.floor, self.live, self.stored = engine, floor, live, stored
        self._number = 0

    def measure(self, runs: int, count: int) -> Race:
        """Medians of *count* turns a run; what was timed is checked to be on disk."""
        race = alternate(
            runs,
            lambda _: typical([self._ours() for _ in range(count)]),
            lambda _: typical([self._bare() for _ in range(count)]),
        )
        check_stored(self.engine, self.live, self.stored)
        self.engine.close()
        self.floor.close()
        return race

    def _ours(self) -> Taken:
        """One turn through the host's door, committed when it returns."""
        new = self._next()
        self.live += new
        self.stored += len(new)
        self.engine.update_from_response(
            {"prompt_tokens": _USED}
        )  # as a host does after each answer
        return timed(lambda: self.engine.on_turn_complete(self.live))

    def _bare(self) -> Taken:
        """One turn by the bare script, one commit."""
        new = self._next()
        return timed(lambda: self.floor.add(new))

    def _next(self) -> list[Row]:
        self._number += 1
        return turn(self._number)


def turns(folder: Path, sizes: Sequence[int], stored: int, runs: int) -> list[Figure]:
    """Two more messages: by length of the list, by size of the database, by age of the session."""
    figures = []
    for size in sizes:
        talk = _fresh(folder / f"turn-{size}", size)
        figures.append(_figure(f"+2, list of {size:,}", talk, runs, _TURNS))
    size = sizes[-1]
    asked = max([each for each in sizes if each <= _TOOL_LIST], default=sizes[0])
    figures.append(_before_a_tool(folder / f"tool-{asked}", asked, runs))
    talk = _among_others(folder / "turn-others", size, stored)
    figures.append(
        _figure(f"+2, list of {size:,}, {stored:,} of other sessions", talk, runs, _TURNS)
    )
    for age in sorted({min(_OTHER_SESSION, stored // 2), stored}):
        talk = old(folder / f"turn-old-{age}", age)
        name = f"+2, list of {len(talk.live)} after compactions, session of {age:,}"
        figures.append(_figure(name, talk, runs, _TURNS // 4))
    return figures


def _figure(name: str, talk: _Talk, runs: int, count: int) -> Figure:
    rows = len(talk.live)
    race = talk.measure(runs, count)
    mine, least = race.ours.wall, race.floor.wall
    detail = {"rows_at_first": rows, "rows_at_last": len(talk.live), "turns_per_run": count}
    return Figure(
        "turn", name, mine * 1e3, least * 1e3, "ms",
        reach=f"{_MOST_MS:g} ms, or a ratio of {_MOST_RATIO:g}",
        reached=mine * 1e3 <= _MOST_MS or mine <= _MOST_RATIO * least,
        detail=detail | race.detail,
    )  # fmt: skip


def _before_a_tool(path: Path, size: int, runs: int) -> Figure:
    """A tool call that has nothing to look for: what any costs, for the list that comes with it is looked at first."""
    talk = _fresh(path, size)
    call = {"target": "ffffffff"}  # nothing has this uid
    taken = [
        typical(
            [
                timed(
                    lambda: talk.engine.handle_tool_call("lcm_describe", call, messages=talk.live)
                )
                for _ in range(_TURNS)
            ]
        )
        for _ in range(runs + 1)
    ][1:]
    talk.measure(1, 1)  # closes both, when all is counted
    mine = median(each.wall for each in taken) * 1e3
    return Figure(
        "turn", f"a tool call without its search, list of {size:,}", mine, None, "ms",
        reach=f"under {_MOST_TOOL_MS:g} ms", reached=mine < _MOST_TOOL_MS,
        detail={"ours": [[each.wall, each.cpu] for each in taken]},
    )  # fmt: skip


def _fresh(path: Path, size: int) -> _Talk:
    """A list of *size* rows, nothing else in the database."""
    live, engine = conversation(size), engine_on(path.with_suffix(".db"), "live")
    floor = Bare(path.with_suffix(".bare"))
    engine.ingest(live)
    floor.add(live)
    return _Talk(engine, floor, live, len(live))


def _among_others(path: Path, size: int, others: int) -> _Talk:
    """A list of *size* rows in a database that holds *others* messages of other sessions."""
    engine, floor = engine_on(path.with_suffix(".db"), "other-0"), Bare(path.with_suffix(".bare"))
    each = min(_OTHER_SESSION, others)
    for number in range(others // each):
        rows = conversation(each, name=f"s{number}x")
        engine.on_session_start(f"other-{number}")
        engine.ingest(rows)
        floor.add(rows)
    live = conversation(size)
    engine.on_session_start("live")
    engine.ingest(live)
    floor.add(live)
    return _Talk(engine, floor, live, others // each * each + len(live))


def old(path: Path, age: int) -> _Talk:
    """A session that has stored *age* messages and was compacted whenever that was due."""
    engine = engine_on(path.with_suffix(".db"), "old", Stub(), fresh_tail_tokens=_LIVE_TAIL)
    floor = Bare(path.with_suffix(".bare"))
    live: list[Row] = []
    step = min(_GROWTH, age)
    for start in range(0, age, step):
        new = conversation(step, start=start // ROWS_PER_BLOCK)
        live = [*live, *new]
        engine.ingest(live)
        floor.add(new)
        if engine.count_tokens(live) >= engine.threshold_tokens:
            live = engine.compress(live)
    if not engine.compression_count:
        live = engine.compress(live, force=True)
    engine.ingest(live)
    return _Talk(engine, floor, live, age)
