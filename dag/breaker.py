"""When a summariser that fails is left alone, and for how long.

A model that is down costs time and money at every call. After a few failures
in a row nobody asks it for a while; then one call shows whether it is back.
Compaction goes on meanwhile: sentences are extracted. Failures are counted by
route (which model, by which provider), so that one that is down takes no
other with it, however many sessions and passes use it.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Hashable

from ..storage.mutex import mutex

__all__ = ["Breaker", "Breakers"]

#: Failures in a row after which a route is left alone.
_FAILURES = 4
#: Seconds of the first rest; each that follows is twice as long, up to the longest.
_REST = 60.0
_LONGEST_REST = 960.0


class Breaker:
    """What is known of one route. Any thread may use it."""

    def __init__(self, now: Callable[[], float] = clock.monotonic) -> None:
        self._now = now
        self._mutex = mutex()
        self._failures = 0
        self._last = ""
        self._rest = _REST
        self._until = 0.0
        self._room: int | None = None

    @property
    def room(self) -> int | None:
        """Tokens of a source that it may be able to read; None while it has never said that one is too long."""
        return self._room

    def overflowed(self, shorter: int) -> None:
        """A source was too long for it; the next ones have at most *shorter* tokens, in parts if need be."""
        with self._mutex:
            self._room = shorter if self._room is None else min(self._room, shorter)

    @property
    def reason(self) -> str:
        """Why the route is left alone."""
        return f"{self._last}, {self._failures} times in a row; not asked for a while"

    def rests(self) -> float:
        """Seconds until the route may be asked again; 0: now."""
        return max(self._until - self._now(), 0.0)

    def wake(self) -> None:
        """Let the next call through, however long the rest was to be, and of any length: a person asks for it."""
        with self._mutex:
            self._until, self._room = 0.0, None

    def note(self, failure: str = "") -> None:
        """A call has ended; *failure*: why it gave no summary, empty if it did."""
        with self._mutex:
            if not failure:
                self._failures, self._rest, self._until = 0, _REST, 0.0
                return
            self._failures, self._last = self._failures + 1, failure
            if self._failures >= _FAILURES and not self.rests():
                self._until = self._now() + self._rest
                self._rest = min(self._rest * 2, _LONGEST_REST)


class Breakers:
    """The breakers of all routes of a process."""

    def __init__(self) -> None:
        self._mutex = mutex()
        self._by_route: dict[Hashable, Breaker] = {}

    def of(self, route: Hashable) -> Breaker:
        """The breaker of *route*, whatever names it."""
        with self._mutex:
            return self._by_route.setdefault(route, Breaker())
