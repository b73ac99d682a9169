"""What the program of pip's calls: the command line, in which Ctrl-C is quiet from the first moment on."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

__all__ = ["main", "stoppable"]

_STOPPED = 130


def main() -> int:
    """Import the command line, and run it; returns the exit code."""
    with stoppable():
        from .cli import main as run
    return run()


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C ends the process at once in the block, in which modules are imported and nothing is open yet."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # it is ignored
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(_number: int, _frame: object) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"\nlcm: stopped\n")
    os._exit(_STOPPED)
