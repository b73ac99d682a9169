"""A compaction in the middle of a long life: the list is some hundred messages, and most of the work is done ahead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from .clock import Figure, Taken, timed
from .plugin import Stub, check_stored, engine_on
from .work import ROWS_PER_BLOCK, Row, conversation

__all__ = ["steady"]

#: Tokens of the window: a list of this conversation has about 350 messages when it is due.
_WINDOW = 64_000
#: Compactions in a run, at every age.
_PASSES = 4
_MOST_MS = 8.0


def steady(folder: Path, sizes: Sequence[int], runs: int) -> list[Figure]:
    """Milliseconds of a due ``compress()`` in one session that has stored *sizes* messages, without the summariser's.

    Turn by turn, as in a host; the background has the time between two turns.
    """
    life, figures = _Life(folder / "steady.db"), []
    for size in sorted(sizes):
        life.live_until(size)
        taken = [life.passes(_PASSES) for _ in range(runs)]
        rows = median(each for run in taken for _, each in run)
        wall = [median(one.wall for one, _ in run) for run in taken]
        figures.append(
            Figure(
                "steady", f"a compaction of {rows:.0f} messages, session of {size:,}",
                median(wall) * 1e3, None, "ms",
                reach=f"under {_MOST_MS:g} ms, at any age", reached=median(wall) * 1e3 < _MOST_MS,
                detail={
                    "wall": wall,
                    "cpu": [median(one.cpu for one, _ in run) for run in taken],
                    "stored": life.stored,
                },
            )
        )  # fmt: skip
    life.end()
    return figures


class _Life:
    """One conversation that goes on."""

    def __init__(self, path: Path) -> None:
        self._stub = Stub()
        self._engine: Any = engine_on(path, "steady", self._stub, window=_WINDOW)
        self._live: list[Row] = []
        self.stored = 0

    def live_until(self, stored: int) -> None:
        """Go on until so many messages are stored."""
        while self.stored < stored:
            self._turn()

    def passes(self, count: int) -> list[tuple[Taken, int]]:
        """The next *count* compactions: what each took, and of how many messages it was."""
        done: list[tuple[Taken, int]] = []
        while len(done) < count:
            done += self._turn()
        return done

    def _turn(self) -> list[tuple[Taken, int]]:
        engine = self._engine
        self._live = [
            *self._live,
            *conversation(ROWS_PER_BLOCK, start=self.stored // ROWS_PER_BLOCK),
        ]
        self.stored += ROWS_PER_BLOCK
        engine.on_turn_complete(self._live)
        tokens = engine.count_tokens(self._live)
        engine.update_from_response({"prompt_tokens": tokens})
        vars(engine)["_ahead"].wait()
        if not engine.should_compress(tokens):
            return []
        rows, before, made = len(self._live), self._stub.seconds, []
        taken = timed(lambda: made.append(engine.compress(self._live, tokens)))
        self._live = list(made[0])
        spent = self._stub.seconds - before
        return [(Taken(taken.wall - spent, taken.cpu - spent), rows)]

    def end(self) -> None:
        """Count what is on disk, and close it."""
        check_stored(self._engine, self._live, self.stored)
        self._engine.close()
