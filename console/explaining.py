"""How a failure is put into words."""

from __future__ import annotations

import sys
from typing import Final

from ..storage.errors import StoreBusy, StoreError, StoreMissing
from ..tools.answers import ToolError
from .absent import ANOTHER
from .verb import WrongCall

__all__ = ["explain"]

_NEXT: Final = (
    "Start a conversation in a Hermes that has context.engine: lcm, "
    "or name another database with --db FILE or --home HERMES_HOME."
)
_AGAIN: Final = "Run this again when it is done."
_DOCTOR: Final = "`hermes lcm doctor` says what to do."


def explain(error: Exception, path: str, mistaken: str = "", undone: str = "") -> tuple[str, str]:
    """What is wrong, and what to do next.

    Args:
        mistaken: why no database will come to be where none is.
        undone: what a verb that writes leaves undone where another process keeps the file.
    """
    if isinstance(error, StoreMissing):
        return (mistaken, ANOTHER) if mistaken else (str(error), _NEXT)
    if isinstance(error, StoreBusy):
        return str(error), f"{undone} {_AGAIN}".lstrip()
    if isinstance(error, ToolError):
        return error.error, error.hint.replace("lcm_grep, from lcm_describe", "search, from tree")
    # No KeyError, which would be a fault of ours.
    if isinstance(error, StoreError) or type(error) in (LookupError, WrongCall):
        return str(error), ""
    if isinstance(error, ImportError):
        return (
            f"This Python, {sys.executable}, cannot import what lcm needs ({type(error).__name__}: {error}).",
            _DOCTOR,
        )
    from ..dag.redact import redacted  # 30 ms that nobody pays for whom all is well

    return (
        f"{path} could not be read ({type(error).__name__}: {redacted(str(error))}).",
        _DOCTOR,
    )
