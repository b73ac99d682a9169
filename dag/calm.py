"""Lets the garbage collector stand aside while a long list is worked through.

Python looks for garbage whenever so many more objects were made than freed, and then looks through
what stands already, the host's whole list too. What is made of a list of thousands of rows stays,
and holds no cycle, so nothing is found: a third of the time of binding 50,000 rows goes to looking.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator

__all__ = ["calm"]

#: Rows from which on it pays; below, the collector hardly comes by.
_MANY = 500


@contextlib.contextmanager
def calm(rows: int) -> Iterator[None]:
    """No collection while *rows* rows are worked through; to be entered around no foreign code.

    Who switched the collector off switches it on again: a host that has it off before keeps it off,
    and so does a thread that came second.
    """
    if rows < _MANY or not gc.isenabled():
        yield
        return
    _off.append(rows)
    try:
        gc.disable()
        yield
    finally:
        gc.enable()
        _off.remove(rows)


#: Of each thread that has switched it off, the rows that it is at.
_off: list[int] = []


def _awake() -> None:
    """In a forked process, of which the thread that would switch it on again is no part."""
    if _off:
        _off.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_awake)
