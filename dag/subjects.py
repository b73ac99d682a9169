"""What one pass knows of the subjects of its conversation: where they change, and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from .drift import Drift, Turn, by_words, described
from .drift_model import Judge
from .redact import Redact

__all__ = ["Subjects"]

#: Changes that a pass tells of: the newest, for the first pass over a long past finds hundreds.
_TOLD = 10


class Subjects:
    """The subjects of *turns*, told by their words, or by *judge* where there is one.

    *window*: turns that are looked at together. *clean* takes secrets out of what is shown of them.
    """

    def __init__(
        self, turns: Sequence[Turn], window: int, judge: Judge | None = None, clean: Redact = str
    ) -> None:
        self._turns, self._window, self._clean = turns, window, clean
        self._places = by_words(turns, window)
        if judge is not None:
            self._places = judge.seams(turns, self._places, window, clean)
        self.seams = frozenset(turns[at].number for at in self._places)
        """Numbers of the turns with which a new subject begins."""

    def drifts(self, last: int) -> tuple[Drift, ...]:
        """The newest changes up to turn *last*, oldest first, ten at the most."""
        seen = (at for at in reversed(self._places) if self._turns[at].number <= last)
        newest = list(islice(seen, _TOLD))
        return tuple(
            described(self._turns, at, self._window, self._clean) for at in reversed(newest)
        )
