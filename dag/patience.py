"""How long a pass waits for foreign code: not for ever."""

from __future__ import annotations

import contextvars
import queue
import threading
import time as clock
import weakref
from collections.abc import Callable
from typing import TypeAlias, TypeVar

__all__ = ["Patience"]

Value = TypeVar("Value")
#: What a call returned, as the one item, or what it raised.
_Ended: TypeAlias = "queue.SimpleQueue[tuple[list[Value], BaseException | None]]"


class Patience:
    """The time that one pass has for its summariser, in seconds from now on.

    Calls begin while it lasts; the one that is under way at its end has a fifth of it more, so that
    a slow model's work is not thrown away. One thread at a time: a pass makes its calls one by one.
    """

    def __init__(self, seconds: float) -> None:
        self._end = clock.monotonic() + seconds
        self._grace = seconds / 5
        self._worker: _Worker | None = None

    def for_a_call(self) -> float:
        """Seconds that a call may take that begins now; 0: none may begin."""
        left = self._end - clock.monotonic()
        return left + self._grace if left > 0 else 0.0

    def within(self, seconds: float, call: Callable[[], Value]) -> Value:
        """What *call* returns or raises, if it does so within *seconds*.

        It runs in another thread, in the caller's context variables. One that is late goes on
        there, for nothing can stop it, and what it returns is dropped; it keeps no process alive.

        Raises:
            TimeoutError: it was not in time.
        """
        if self._worker is None:
            self._worker = _Worker()
            weakref.finalize(self, self._worker.end)
        ended: _Ended[Value] = queue.SimpleQueue()
        self._worker.take(contextvars.copy_context(), call, ended)
        try:
            values, error = ended.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            self._worker.end()  # once it is through with this call; the next one gets another
            self._worker = None
            raise TimeoutError(f"not within {seconds:.0f} seconds") from None
        if error is not None:
            raise error
        return values[0]


class _Worker:
    """A thread that makes calls, one by one, until it is told to end."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="lcm-summariser", daemon=True).start()

    def take(
        self, context: contextvars.Context, call: Callable[[], Value], ended: _Ended[Value]
    ) -> None:
        """Make *call* in *context*, and put what came of it into *ended*."""

        def run() -> None:
            try:
                ended.put(([context.run(call)], None))
            except BaseException as error:  # noqa: BLE001 -- the caller's to handle, interrupts too
                ended.put(([], error))

        self._calls.put(run)

    def end(self) -> None:
        """Make no call behind those that were taken."""
        self._calls.put(None)

    def _work(self) -> None:
        while (run := self._calls.get()) is not None:
            run()
            del run  # what a call holds must not outlive it while this waits for the next
