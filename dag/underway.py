"""Who makes which node at this moment, in this process; and how one who works in the background is held.

Two makers that want the same node ask no model twice: one makes it, the other waits or does
something else. Between processes nobody waits; there the first committed one wins.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

__all__ = ["Halted", "Leash", "NotMade", "Underway"]

#: Times that a node is tried in the background, in one process, before it is left as it is.
ATTEMPTS = 2

#: Seconds that the end of a job waits for what is being written.
_PATIENCE = 10.0


class NotMade(Exception):
    """No summariser gave a text for a node that only a summariser should write; says why."""


class Halted(Exception):
    """Whoever works ahead is to make no further node: told to end, or enough for one turn."""


class Underway:
    """What is being made. Any thread may use it."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Nothing is being made: at the start, and in a forked process."""
        self._mutex = threading.Lock()
        self._made: dict[Hashable, threading.Event] = {}

    def claim(self, what: Hashable) -> bool:
        """Begin to make it; False if somebody does already."""
        with self._mutex:
            if what in self._made:
                return False
            self._made[what] = threading.Event()
            return True

    def wait(self, what: Hashable, seconds: float) -> bool:
        """Wait until nobody makes it any more; False if that takes longer than *seconds*."""
        with self._mutex:
            event = self._made.get(what)
        return event is None or event.wait(seconds)

    def release(self, claimed: Iterable[Hashable]) -> None:
        """It is stored, or will not be: whoever waits goes on."""
        with self._mutex:
            events = [self._made.pop(what, None) for what in claimed]
        for event in events:
            if event is not None:
                event.set()


class Leash:
    """Holds one job in the background: what it may spend, and when it has to end.

    Args:
        calls: calls of summarisers after which it begins no further node.
        tokens: the same for what they read.
        attempts: how often each node, by source key, was tried in vain, by this job and those before it.
    """

    def __init__(self, calls: int, tokens: int, attempts: Counter[str] | None = None) -> None:
        self.stopped = threading.Event()
        """Set: nothing that it makes is stored any more."""
        self.calls = self.tokens = 0
        self._most_calls, self._most_tokens = calls, tokens
        self._attempts = Counter() if attempts is None else attempts
        self._eased = False
        self._writing = threading.RLock()  # the garbage collector may end the job within the job

    def stop(self) -> None:
        """End it: what is being written is written when this returns, and nothing after it.

        It waits longer than a write waits for another process, but not for ever: an engine may be collected where
        its thread holds a lock that the job needs.
        """
        self.stopped.set()
        if self._writing.acquire(timeout=_PATIENCE):
            self._writing.release()

    def ease(self) -> None:
        """Let it finish the node that it is at, and begin no other."""
        self._eased = True

    def spend(self, tokens: int) -> None:
        """A summariser is asked to read so many tokens."""
        self.calls += 1
        self.tokens += tokens

    def tries_again(self, key: str) -> bool:
        """No summariser wrote the node: whether another job is to try it."""
        self._attempts[key] += 1
        return self._attempts[key] < ATTEMPTS

    def gave_up(self, key: str) -> bool:
        """Whether it was tried so often that it is left as it is."""
        return self._attempts[key] >= ATTEMPTS

    def check(self) -> None:
        """Before a node is begun.

        Raises:
            Halted: none is to be.
        """
        spent = self.calls >= self._most_calls or self.tokens >= self._most_tokens
        if self._eased or spent or self.stopped.is_set():
            raise Halted

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A block that writes, or makes files.

        Raises:
            Halted: it was stopped before.
        """
        with self._writing:
            if self.stopped.is_set():
                raise Halted
            yield
