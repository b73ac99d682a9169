"""A strict provider: what it refuses in a list, and what of it a compaction is to blame for.

Real conversations have faults of their own: calls that nobody answered, the same role twice in a
row. So each fault has a place. It is excused if it lies in rows that the conversation has too, one
beside the other, with the same fault. Shares no code with the plugin: it is there to judge it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["blamed"]

Row = dict[str, Any]

#: How the host's compressor begins a row that it has written into.
_WRITTEN_INTO = "[PRIOR CONTEXT"


class Fault(NamedTuple):
    """One fault, and the rows it lies in."""

    kind: str
    first: int
    last: int


def blamed(sent: Sequence[Row], source: Sequence[Row]) -> list[str]:
    """Kinds of the faults of *sent* that the conversation so far, *source*, does not have there."""
    if not sent:
        return ["an empty list"] if source else []
    found = _faults(sent)
    if not found:
        return []
    origin = _origins(sent, source)
    own = set(_faults(source))
    return [
        fault.kind
        for fault in found
        if Fault(fault.kind, origin.get(fault.first, -1), origin.get(fault.last, -2)) not in own
    ]


def _origins(sent: Sequence[Row], source: Sequence[Row]) -> dict[int, int]:
    """Index in *source* of each row of *sent* that both have at their beginning or at their end."""
    most = min(len(sent), len(source))
    places: dict[int, int] = {}
    for back in range(1, most + 1):
        if not _same(sent[-back], source[-back]):
            break
        places[len(sent) - back] = len(source) - back
    for at in range(most):
        if at in places or not _same(sent[at], source[at]):
            break
        places[at] = at
    return places


def _same(row: Row, source: Row) -> bool:
    """Whether *row* stands for *source*, be it in part."""
    if row.get("_compressed_summary") and not str(row.get("content")).startswith(_WRITTEN_INTO):
        return False
    return _name(row) == _name(source)


def _name(row: Row) -> tuple[Any, ...]:
    return row.get("role"), row.get("tool_call_id"), tuple(_ids(row))


def _ids(row: Row) -> list[Any]:
    return [call.get("id") for call in row.get("tool_calls") or []]


def _faults(rows: Sequence[Row]) -> list[Fault]:
    talk = [at for at, row in enumerate(rows) if row.get("role") != "system"]
    if not talk:
        return [Fault("nothing but system rows", 0, 0)]
    found = [*_unpaired(rows, talk), *_doubled(rows, talk)]
    found += [Fault("an answer that says nothing", at, at) for at in talk if _blank(rows[at])]
    if rows[talk[0]].get("role") != "user":
        found.append(Fault("the first row is not a user's", talk[0], talk[0]))
    if rows[talk[-1]].get("role") == "assistant":
        found.append(Fault("the last row is an assistant's", talk[-1], talk[-1]))
    return found


def _blank(row: Row) -> bool:
    return row.get("role") == "assistant" and not row.get("content") and not _ids(row)


def _doubled(rows: Sequence[Row], talk: Sequence[int]) -> list[Fault]:
    return [
        Fault(f"two {rows[at]['role']} rows in a row", at, behind)
        for at, behind in pairwise(talk)
        if rows[at]["role"] == rows[behind]["role"] and rows[at]["role"] in ("user", "assistant")
    ]


def _unpaired(rows: Sequence[Row], talk: Sequence[int]) -> list[Fault]:
    """Results must stand directly behind the row that called for them, each call with one."""
    found: list[Fault] = []
    waiting: list[Any] = []
    caller = -1
    for at in talk:
        row = rows[at]
        if row.get("role") == "tool":
            if row.get("tool_call_id") in waiting:
                waiting.remove(row.get("tool_call_id"))
            else:
                found.append(Fault("a result without its call", at, at))
            continue
        found += [Fault("a call without its result", caller, caller) for _ in waiting]
        waiting, caller = _ids(row), at
    return found + [Fault("a call without its result", caller, caller) for _ in waiting]
