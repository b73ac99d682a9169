"""What a model's provider demands of a list of messages, and where it may be cut.

Real lists hold calls that were never answered and the same role twice in a
row. So a list is judged against another one: ours may have no fault that the
host's did not have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from ..storage.canon import plain_text
from .messages import Row, calls_of, is_system

__all__ = ["crossed", "faults", "new_faults", "partners", "refuses"]


def partners(rows: Sequence[Any]) -> dict[int, int]:
    """For each tool result the index of the row that called for it.

    By position: provider ids repeat within a conversation, so a result
    belongs to the nearest call before it that is not answered yet.
    """
    open_calls: dict[str, list[int]] = {}
    found: dict[int, int] = {}
    for index, row in enumerate(rows):
        if not isinstance(row, dict) and is_system(row):
            continue
        if row.get("role") == "tool":
            name = row.get("tool_call_id")
            waiting = open_calls.get(name if type(name) is str else plain_text(name))
            if waiting:
                found[index] = waiting.pop()
        elif row.get("tool_calls"):
            for call in calls_of(row):
                name = call.get("id")
                name = name if type(name) is str else plain_text(name)
                if name in open_calls:
                    open_calls[name].append(index)
                else:
                    open_calls[name] = [index]
    return found


def crossed(pairs: Mapping[int, int], count: int) -> list[bool]:
    """For each index of a list of *count* rows whether a cut in front of it parts a call from its result.

    *pairs*: its :func:`partners`.
    """
    depth = [0] * (count + 1)
    for result, call in pairs.items():
        depth[call + 1] += 1
        depth[result + 1] -= 1
    return [total > 0 for total in accumulate(depth[:count])]


def refuses(rows: Sequence[Any], part: range, pairs: Mapping[int, int]) -> bool:
    """Whether a strict provider refuses one of the rows in *part* by itself.

    A call whose result never came, a result that stands elsewhere than behind
    its call, an answer that says nothing. *pairs*: the :func:`partners` of *rows*;
    none of them may reach out of *part*.
    """
    results = Counter(pairs[index] for index in part if index in pairs)
    for index in part:
        row = rows[index]
        if is_system(row):
            continue
        if row.get("role") == "tool":
            call = pairs.get(index)
            if call is None or _parted(rows, call, index):
                return True
        elif len(calls_of(row)) > results[index] or _says_nothing(row):
            return True
    return False


def _says_nothing(row: Row) -> bool:
    return row.get("role") == "assistant" and not calls_of(row) and not row.get("content")


_NO_USER_FIRST = "first row is not a user's"
_ASSISTANT_LAST = "last row is an assistant's"


def faults(rows: Sequence[Any]) -> Counter[str]:
    """What a strict provider would refuse, by kind, with how often it occurs."""
    found: Counter[str] = Counter()
    talk = [row for row in rows if not is_system(row)]
    answered = partners(talk)
    results = Counter(answered.values())
    for index, row in enumerate(talk):
        role = row.get("role")
        if role == "tool":
            found["result without its call"] += index not in answered
            found["result not directly behind its call"] += index in answered and _parted(
                talk, answered[index], index
            )
        found["call without its result"] += max(len(calls_of(row)) - results[index], 0)
        if index and role == talk[index - 1].get("role") and role in ("user", "assistant"):
            found[f"two {role} rows in a row"] += 1
    if talk:
        found[_NO_USER_FIRST] += talk[0].get("role") != "user"
        found[_ASSISTANT_LAST] += talk[-1].get("role") == "assistant" and not calls_of(talk[-1])
    return +found


def _parted(rows: Sequence[Row], call: int, result: int) -> bool:
    between = rows[call + 1 : result]
    return any(not is_system(row) and row.get("role") != "tool" for row in between)


def new_faults(before: Sequence[Any], after: Sequence[Any]) -> list[str]:
    """Faults of *after* that *before* did not have, or had less often."""
    found = faults(after)
    for end, kind in ((0, _NO_USER_FIRST), (-1, _ASSISTANT_LAST)):  # cheap to tell, and common
        talk = [row for row in (before[:1] if end == 0 else before[-1:]) if not is_system(row)]
        if found[kind] and talk and faults(talk)[kind]:
            del found[kind]
    return sorted(found - faults(before)) if found else []
