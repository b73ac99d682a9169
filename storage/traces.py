"""Where an error came from, in the words of the code alone.

The text of an error may hold what was being worked on: a line of a conversation, a key that a
provider refused. It does not belong into a log. Classes and frames say what a repair needs.
"""

from __future__ import annotations

import traceback

__all__ = ["trace_of"]


def trace_of(error: BaseException) -> str:
    """The frames of *error* and of those that it came from, the first one first, each with its class."""
    parts: list[str] = []
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        parts.append("".join(traceback.format_tb(at.__traceback__)) + type(at).__name__)
        at = at.__cause__ or at.__context__
    return "\n".join(reversed(parts))
