"""How long a pass waits for foreign code: not for ever."""

from __future__ import annotations

import contextvars
import queue
import threading
import time as clock
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Patience", "within"]

Value = TypeVar("Value")


class Patience:
    """The time that one pass has for its summariser, in seconds from now on.

    Calls begin while it lasts; the one that is under way at its end has a fifth of it more, so that
    a slow model's work is not thrown away.
    """

    def __init__(self, seconds: float) -> None:
        self._end = clock.monotonic() + seconds
        self._grace = seconds / 5

    def for_a_call(self) -> float:
        """Seconds that a call may take that begins now; 0: none may begin."""
        left = self._end - clock.monotonic()
        return left + self._grace if left > 0 else 0.0


def within(seconds: float | None, call: Callable[[], Value]) -> Value:
    """What *call* returns or raises, if it does so within *seconds*; None: however long it takes.

    It runs in a thread of its own, in the caller's context variables. One that is late goes on
    there, for nothing can stop it, and what it returns is dropped; it keeps no process alive.

    Raises:
        TimeoutError: it was not in time.
    """
    if seconds is None:
        return call()
    ended: queue.SimpleQueue[tuple[list[Value], BaseException | None]] = queue.SimpleQueue()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            ended.put(([context.run(call)], None))
        except BaseException as error:  # noqa: BLE001 -- the caller's to handle, interrupts too
            ended.put(([], error))

    threading.Thread(target=run, name="lcm-summariser", daemon=True).start()
    try:
        values, error = ended.get(timeout=max(seconds, 0.0))
    except queue.Empty:
        raise TimeoutError(f"not within {seconds:.0f} seconds") from None
    if error is not None:
        raise error
    return values[0]
