"""Lets no exception of ours into the host, and none go by in silence.

A failure stands until the same works again: it is in the status as long, and in the log once, however
many doors of the host meet it.
"""

from __future__ import annotations

import contextlib
import logging
import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from ..storage.errors import StoreBusy, StoreError
from ..storage.traces import trace_of

__all__ = ["Failures", "said_by"]

Value = TypeVar("Value")

_log = logging.getLogger(__name__)

#: Failures that are shown.
_SHOWN = 5


def said_by(error: BaseException) -> str:
    """An error in our words: a store's own text, else the class; never data from a conversation."""
    if isinstance(error, StoreBusy):  # an agent shows its list again
        return f"{error} What is missing is stored at the next chance."
    return str(error) if isinstance(error, StoreError) else type(error).__name__


@dataclass(slots=True)
class _Failure:
    """One thing that is wrong."""

    said: str
    of_store: bool
    """Whether it is over as soon as something can be stored."""
    since: str = field(default_factory=lambda: clock.strftime("%H:%M:%S"))
    doors: dict[str, None] = field(default_factory=dict)
    """What could not be done because of it."""
    times: int = 0

    def __str__(self) -> str:
        often = f" ({self.times} times)" if self.times > 1 else ""
        return f"{self.since} {', '.join(self.doors)}: {self.said}{often}"


class Failures:
    """What is wrong in one engine, newest last."""

    def __init__(self) -> None:
        self._standing: dict[tuple[str, str], _Failure] = {}

    def note(self, what: str, error: BaseException) -> None:
        """Remember a failure for the status; with its traceback in the log if it is a new one."""
        said, of_store = said_by(error), isinstance(error, StoreError)
        key = ("" if of_store else what, said)
        failure = self._standing.pop(key, None)
        if failure is None:
            failure = _Failure(said, of_store)
            _log.error("lcm: %s failed: %s\n%s", what, said, trace_of(error))
        else:
            _log.debug("lcm: %s failed again: %s", what, said)
        failure.doors[what] = None
        failure.times += 1
        self._standing[key] = failure

    def works(self, what: str) -> None:
        """It works: what was wrong with it alone no longer is."""
        for key, failure in list(self._standing.items()):
            if key[0] == what:
                del self._standing[key]
                _log.info("lcm: %s works again (it was: %s)", what, failure.said)

    def over(self) -> None:
        """Something was stored: what was wrong with the store no longer is."""
        for key, failure in list(self._standing.items()):
            if failure.of_store:
                del self._standing[key]
                _log.info("lcm: stores again (it was: %s)", failure.said)

    @contextlib.contextmanager
    def kept(self, what: str, *, last: bool = False) -> Iterator[None]:
        """A block whose exceptions end here; what is none (an interrupt) goes through.

        Not so where it may be the *last* call of a process: whoever presses Ctrl-C
        while Hermes is leaving wants no traceback. The store has rolled back then,
        and stores what is missing when the session goes on.
        """
        try:
            yield
        except Exception as error:
            self.note(what, error)
        except KeyboardInterrupt:
            if not last:
                raise
            _log.warning("lcm: %s was interrupted; what it did not store comes next time", what)

    def instead(self, what: str, default: Value, call: Callable[[], Value]) -> Value:
        """What *call* gives; *default* where it raises an ``Exception``."""
        given = default
        with self.kept(what):
            given = call()
        return given  # noqa: RET504 - where the call raises, it is still the default

    def recent(self) -> list[str]:
        """The last few, for the status."""
        return [str(failure) for failure in list(self._standing.values())[-_SHOWN:]]
