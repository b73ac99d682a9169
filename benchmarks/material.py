"""Real transcripts as the work that is measured: one after another, and again and again with changed text.

Of agents and of people. Each time around digits are other ones, and every text ends in a word of its own: so no text is
said twice, no large one is kept once for two, and what a tool call asked for is another thing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

__all__ = ["SETS", "chosen", "part", "use"]

SETS: Final = ("claude_code", "pi", "tau", "beam", "locomo")
_FOLDER: Final = "LCM_BENCHMARK_TRANSCRIPTS"
"""Where they are, for this process and the children that it measures in; not set for the synthetic conversation."""
_TURNED: Final = [
    str.maketrans("0123456789", "0123456789"[n:] + "0123456789"[:n]) for n in range(10)
]
#: What names a call and its result, or says who speaks: to be the same in both, or as it is.
_NAMES: Final = frozenset({"id", "tool_call_id"})
_KEPT: Final = frozenset({"role", "type", "name", "tool_name"})


def use(folder: Path | None) -> None:
    """Measure with the transcripts in *folder*, one folder a data set; None: with the synthetic conversation.

    Raises:
        LookupError: there are none.
    """
    os.environ.pop(_FOLDER, None)
    if folder is not None:
        if not _rows(folder):
            raise LookupError(f"There are no transcripts of {', '.join(SETS)} in {folder}.")
        os.environ[_FOLDER] = str(folder)


def chosen() -> Path | None:
    """The folder in use; None for the synthetic conversation."""
    folder = os.environ.get(_FOLDER)
    return Path(folder) if folder else None


def part(folder: Path, name: str, start: int, count: int) -> list[dict[str, Any]]:
    """*count* rows of the conversation *name*, from row *start* on."""
    rows = _rows(folder)
    made = []
    for place in range(start, start + count):
        around, at = divmod(place, len(rows))
        turned = _TURNED[around % len(_TURNED)]
        made.append(
            _changed(rows[at], partial(_said, turned, f"{name}{place:06d}"), f"{name}{around}")
        )
    return made


def _said(turned: dict[int, int], mark: str, text: str) -> str:
    return f"{text.translate(turned)} {mark}" if text else text


def _changed(value: Any, said: Callable[[str], str], around: str, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _changed(item, said, around, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_changed(item, said, around, key) for item in value]
    if not isinstance(value, str) or key in _KEPT:
        return value
    return f"{value}-{around}" if key in _NAMES else said(value)


@cache
def _rows(folder: Path) -> list[dict[str, Any]]:
    from .replay.data import conversations, sets_in

    there = [name for name in SETS if name in sets_in(folder)]
    rows = [row for name in there for _, talk in conversations(folder, name) for row in talk]
    return [row for row in rows if row["role"] != "system"]  # those are no messages
