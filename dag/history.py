"""What a history must be before it is sent to a model, and the reason where it is not.

Stricter than :mod:`.validity`, which judges a list of Hermes against the one before it: a loop that
hands its history over wants to be told what is wrong with it, and where. Knows the two forms in
which loops keep tool calls: ``tool_calls`` with rows of the role ``tool`` behind them, and content
parts (``tool_use``, answered by ``tool_result`` in the next user row).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..storage.canon import plain_text
from .messages import Row, is_system, starts_turn

__all__ = ["ending_fault", "leading", "pairing_fault", "rows_of", "speaks", "system_fault"]

#: With these a model is asked for its next message.
_ASKING: Final = ("user", "tool")
_NAME: Final = 40  #: characters of an id that a reason quotes


def rows_of(messages: Iterable[Any]) -> list[Row]:
    """*messages*, any iterable of mappings with a role, as a list that holds the very same rows.

    Raises:
        ValueError: it is something else, or empty.
    """
    if not _is_list(messages):
        raise ValueError(f"a history is a list of messages, not {_type(messages)}")
    rows = list(messages)
    if not rows:
        raise ValueError("the history is empty")
    for index, row in enumerate(rows):
        if odd := _odd(row):
            raise ValueError(f"message {index} {odd}")
    return rows


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _odd(row: Any) -> str:
    """Why *row* is no message, or has calls that are none: objects of a client library, mostly."""
    if not isinstance(row, Mapping):
        return f"is no mapping but {_type(row)}"
    if not isinstance(row.get("role"), str):
        return "has no role"
    calls = row.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        return f"has tool calls that are no list but {_type(calls)}"
    odd = next((call for call in calls if not isinstance(call, Mapping)), None)
    return "" if odd is None else f"has a tool call that is no mapping but {_type(odd)}"


def _type(value: object) -> str:
    return type(value).__name__


def leading(rows: Sequence[Row]) -> int:
    """How many system rows a history begins with."""
    return next((index for index, row in enumerate(rows) if not is_system(row)), len(rows))


def speaks(row: Row) -> bool:
    """Whether a user's turn begins: a user row that is more than the results of tools."""
    return starts_turn(row) and not _answers(row)


def system_fault(rows: Sequence[Row]) -> str:
    """Why the system rows of *rows* stand wrong; empty if they do not."""
    start = leading(rows)
    if start == len(rows):
        return "there is no message beside the system rows"
    wrong = next((index for index in range(start, len(rows)) if is_system(rows[index])), None)
    if wrong is None:
        return ""
    return f"message {wrong} is a system row, and only the first messages of a history may be"


def pairing_fault(rows: Sequence[Row], start: int = 0) -> str:
    """What parts a call from its results, from index *start* on; empty if nothing does.

    The results of a row's calls stand directly behind it, in any order. Ids may be used again.
    """
    waiting: Counter[str] = Counter()
    caller = start
    for index in range(start, len(rows)):
        answers = _answers(rows[index])
        for name in answers:
            if waiting[name] < 1:
                return f"message {index} is a tool result without its call ({name[:_NAME]!r})"
            waiting[name] -= 1
        if not answers:
            if missing := +waiting:
                return _unanswered(caller, missing)
            waiting, caller = Counter(_calls(rows[index])), index
    return _unanswered(caller, missing) if (missing := +waiting) else ""


def _unanswered(index: int, missing: Mapping[str, int]) -> str:
    names = ", ".join(repr(name[:_NAME]) for name in list(missing)[:3])
    return f"message {index} has a call without all results behind it ({names})"


def _answers(row: Row) -> list[str]:
    """The calls that a row has the results of."""
    if row.get("role") == "tool":
        return [plain_text(row.get("tool_call_id"))]
    if row.get("role") != "user":
        return []
    return [plain_text(part.get("tool_use_id")) for part in _parts(row, "tool_result")]


def _calls(row: Row) -> list[str]:
    """The calls that a row makes."""
    if calls := row.get("tool_calls"):
        return [plain_text(call.get("id")) for call in calls]
    return [plain_text(part.get("id")) for part in _parts(row, "tool_use")]


def _parts(row: Row, kind: str) -> list[Row]:
    content = row.get("content")
    parts = content if isinstance(content, list | tuple) else ()
    return [part for part in parts if isinstance(part, Mapping) and part.get("type") == kind]


def ending_fault(rows: Sequence[Row], before: Sequence[Row]) -> str:
    """Why a model cannot go on from the end of *rows*; empty if it can, or if *before* ended so too."""
    role = rows[-1].get("role")
    if role in (*_ASKING, before[-1].get("role")):
        return ""
    return f"the last message is of the role {plain_text(role)[:_NAME]!r}, not of user or tool"
