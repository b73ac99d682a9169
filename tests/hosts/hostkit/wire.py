"""What a list of messages must be like when it reaches a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

Row = Mapping[str, Any]

#: All keys that the chat-completions format knows, and those that Hermes itself sends.
KNOWN_KEYS = {
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
}


def stray_keys(rows: Iterable[Row]) -> set[str]:
    """The keys that no provider expects."""
    return {key for row in rows for key in row} - KNOWN_KEYS


def faults_of(rows: Iterable[Row]) -> list[str]:
    """What a strict provider would refuse: unanswered or orphaned tool rows, double roles."""
    listed = list(rows)
    return [*_unpaired(listed), *_wrong_order(listed)]


def _unpaired(rows: list[Row]) -> list[str]:
    faults: list[str] = []
    waiting: list[str] = []
    for place, row in enumerate([*rows, {"role": "end"}]):
        if row["role"] == "tool":
            if row.get("tool_call_id") in waiting:
                waiting.remove(row["tool_call_id"])
            else:
                faults.append(f"row {place}: answers no call ({row.get('tool_call_id')})")
            continue
        if waiting:
            faults.append(f"row {place}: comes before the results of {waiting}")
        waiting = [call["id"] for call in row.get("tool_calls") or []]
    return faults


def _wrong_order(rows: list[Row]) -> list[str]:
    """Roles that follow each other and must not; tool rows belong to the assistant's."""
    roles = [row["role"] for row in rows]
    forbidden = {
        ("user", "user"),
        ("assistant", "assistant"),
        ("system", "assistant"),
        ("system", "tool"),
    }
    return [
        f"row {place + 1}: {after} after {before}"
        for place, (before, after) in enumerate(pairwise(roles))
        if (before, after) in forbidden or after == "system"
    ]
