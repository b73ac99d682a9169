"""What a list of messages must be like when it reaches a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    faults: list[str] = []
    waiting: list[str] = []
    before = ""
    for place, row in enumerate(rows):
        role = row["role"]
        if role == "tool":
            answered = row.get("tool_call_id")
            if answered in waiting:
                waiting.remove(answered)
            else:
                faults.append(f"row {place}: answers no call ({answered})")
            before = role
            continue
        if waiting:
            faults.append(f"row {place}: comes before the results of {waiting}")
            waiting = []
        if role == "system" and place:
            faults.append(f"row {place}: a system row inside")
        if role == before or (before == "system" and role == "assistant"):
            faults.append(f"row {place}: {role} after {before}")
        if role == "assistant":
            waiting = [call["id"] for call in row.get("tool_calls") or []]
        before = role
    if waiting:
        faults.append(f"the end: calls without results {waiting}")
    return faults
