"""Asks a model where the subject of a conversation changes; what it does not tell, the words do.

One call for a block of turns, one line for each. Blocks lie fixed on the numbers of the turns, and
what a block brought is remembered, a failure too: a pass that the host threw away is cut alike the
next time, and asks nobody again. Nothing is raised: the words always tell something.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from ..storage.canon import digest, encode
from .breaker import Breaker
from .drift import Turn
from .extractive import extract
from .messages import normal
from .patience import Patience
from .redact import Redact
from .replies import Rejected, Reply, words_of

__all__ = ["DriftModel", "DriftRequest", "Judge"]

_log = logging.getLogger(__name__)

_ASKED_TOKENS, _ANSWERED_TOKENS = 40, 20
#: Calls of one pass, and the seconds for all of them: a turn waits for it.
_CALLS: Final = 12
_SECONDS: Final = 60.0
_REMEMBERED: Final = 2000
#: A model that finds a new subject nearly everywhere has not looked.
_MOST_SHARE: Final = 0.75
_FEW: Final = 3

_OBJECT: Final = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class DriftRequest:
    """A block of turns that a model is shown."""

    lines: tuple[tuple[int, str], ...]
    """Number and one-line state of each turn, in order."""
    judged: tuple[int, ...]
    """Numbers of those that may begin a new subject; a turn before them shows what it would part from."""
    seconds: float | None = None
    """What the call may take."""

    @property
    def text(self) -> str:
        """What a model is to read: a line for each turn."""
        return "\n".join(f"{number}: {line}" for number, line in self.lines)


DriftModel = Callable[[DriftRequest], str | Reply]


class Judge:
    """One model, for one pass.

    *breaker*: of its route. *known*: what was found before, by what was shown; kept from pass to
    pass by the caller.
    """

    def __init__(
        self,
        model: DriftModel,
        breaker: Breaker | None = None,
        known: MutableMapping[str, tuple[int, ...] | None] | None = None,
        seconds: float = _SECONDS,
    ) -> None:
        self.breaker = breaker or Breaker()
        self._model = model
        self._known = {} if known is None else known
        self._seconds = seconds

    def seams(
        self, turns: Sequence[Turn], by_words: Sequence[int], window: int, clean: Redact
    ) -> list[int]:
        """Indexes of the turns with which a new subject begins.

        *by_words*: those that the words tell; they stand where the model says nothing, and beyond
        the first dozen blocks. *window*: turns of a block. *clean* takes secrets out of the lines.
        """
        patience = Patience(self._seconds)
        found = set(by_words)
        for block in list(_blocks(turns, window))[:_CALLS]:
            request = _request(turns, block, clean)
            numbers = self._numbers(request, patience)
            if numbers is not None:
                found.difference_update(block)
                found.update(at for at in block if turns[at].number in numbers)
        return sorted(found)

    def _numbers(self, request: DriftRequest, patience: Patience) -> tuple[int, ...] | None:
        key = digest(encode([list(line) for line in request.lines])).hex()
        if key not in self._known:
            while len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = self._asked(request, patience)
        return self._known[key]

    def _asked(self, request: DriftRequest, patience: Patience) -> tuple[int, ...] | None:
        """What the model says; None if it says nothing that can be used, or is not asked."""
        seconds = patience.for_a_call()
        if self.breaker.rests() or not seconds:
            return None
        request = DriftRequest(request.lines, request.judged, seconds)
        try:
            numbers = _read(self._answer(request), request)
        except Rejected as rejected:
            _log.warning("drift model: %s; the words tell the subjects", rejected)
            self.breaker.note(f"drift model: {rejected}")
            return None
        self.breaker.note()
        return numbers

    def _answer(self, request: DriftRequest) -> str | Reply:
        """A call in the thread that the host watches: it ends one that is late.

        Raises:
            Rejected: it failed.
        """
        try:
            return self._model(request)
        except Exception as error:  # where, but not in its own words: they may hold a key
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.info("where the drift model failed:\n%s", where)
            raise Rejected(f"failed: {type(error).__name__}") from error


def _blocks(turns: Sequence[Turn], window: int) -> Iterator[list[int]]:
    """Indexes of the turns of each block that is complete: what may still grow is left to the words."""
    last = turns[-1].number if turns else 0
    places = range(1, len(turns))
    for block, group in groupby(places, lambda at: turns[at].number // window):
        if last >= (block + 1) * window:
            yield list(group)


def _request(turns: Sequence[Turn], block: Sequence[int], clean: Redact) -> DriftRequest:
    shown = turns[block[0] - 1 : block[-1] + 1]
    return DriftRequest(
        tuple((turn.number, _line(turn, clean)) for turn in shown),
        tuple(turns[at].number for at in block),
    )


def _line(turn: Turn, clean: Redact) -> str:
    """The state of a turn in one line."""
    asked = extract(clean(normal(turn.asked)), _ASKED_TOKENS)
    answered = extract(clean(normal(turn.answered)), _ANSWERED_TOKENS)
    return normal(f"{asked} -> {answered}" if answered else asked)


def _read(answer: object, request: DriftRequest) -> tuple[int, ...]:
    """The numbers in an answer.

    Raises:
        Rejected: there are none, or they cannot be meant.
    """
    for found in reversed(_OBJECT.findall(words_of(answer))):
        try:
            numbers = json.loads(found).get("new_subject")
        except (ValueError, RecursionError):
            continue
        if isinstance(numbers, list) and all(type(each) is int for each in numbers):
            break
    else:
        raise Rejected("not the JSON that was asked for")
    if not set(numbers) <= {number for number, _ in request.lines}:
        raise Rejected("numbers of turns that it was not shown")
    named = tuple(sorted(set(numbers) & set(request.judged)))
    if len(named) > max(_FEW, _MOST_SHARE * len(request.judged)):
        raise Rejected("a new subject nearly everywhere")
    return named
