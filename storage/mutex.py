"""A lock that a fork leaves free: who held it in another thread is not in the child."""

from __future__ import annotations

import os
import threading
from typing import Any, Final

from .living import Living

__all__ = ["mutex"]

_all: Final[Living[Any]] = Living()


def mutex() -> threading.RLock:
    """A new one. Its owner may take it again; in a child, what it guards is as it was at the fork."""
    made = threading.RLock()
    _all.add(made)
    return made


def _in_child() -> None:
    for each in _all:
        if not each._is_owned():  # noqa: SLF001 - the thread that forked goes on, and gives back what it holds
            each._at_fork_reinit()  # noqa: SLF001 - as the threading module does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
