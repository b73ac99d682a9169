"""Lets no exception of ours into the host, and none go by in silence."""

from __future__ import annotations

import contextlib
import logging
import time as clock
from collections.abc import Iterator

from ..storage.errors import StoreError

__all__ = ["Failures", "said_by"]

_log = logging.getLogger(__name__)

#: Failures that are remembered, and shown.
_KEPT = 20
_SHOWN = 5


def said_by(error: BaseException) -> str:
    """An error in our words: a store's own text, else the class; never data from a conversation."""
    return str(error) if isinstance(error, StoreError) else type(error).__name__


class Failures:
    """What went wrong in one engine, newest last."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def note(self, what: str, error: BaseException) -> None:
        """Log a failure with its traceback, and remember it for the status."""
        text = f"{clock.strftime('%H:%M:%S')} {what}: {said_by(error)}"
        self._texts = [*self._texts[1 - _KEPT :], text]
        _log.error("lcm: %s failed: %s", what, said_by(error), exc_info=error)

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
        except KeyboardInterrupt as error:
            if not last:
                raise
            self.note(f"{what} was interrupted", error)

    def recent(self) -> list[str]:
        """The last few, for the status."""
        return self._texts[-_SHOWN:]
