"""What was really said, told by the model's side of the wire and by the person who spoke.

It is independent of the plugin and of the host's own list: the user's texts come from the
test, the assistant's from what the scripted model sent, tool results from what the host
sent back for each call. Each is reduced to a key, and keys are counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from lcm.demo.model import Request, text_of

Key = tuple[str, str, str]


def key_of(row: Mapping[str, Any]) -> Key:
    """Role, text, and what ties the row to tool calls: ids, names and arguments."""
    calls = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in row.get("tool_calls") or []
    ]
    ties = json.dumps(calls) if calls else str(row.get("tool_call_id") or "")
    return row["role"], text_of(row.get("content")), ties


def said(requests: Iterable[Request], users: Iterable[str]) -> Counter[Key]:
    """Every message of a conversation, with how often it occurs."""
    spoken = list(requests)
    keys = Counter[Key](("user", text, "") for text in users)
    seen: set[str] = set()
    for request in spoken:
        asked = json.dumps(request.messages)
        if asked in seen:
            continue  # the same request, sent again
        seen.add(asked)
        calls = [
            {"id": id_, "function": {"name": call.name, "arguments": call.wire}}
            for id_, call in zip(request.call_ids, request.reply.calls, strict=True)
        ]
        row = {"role": "assistant", "content": request.reply.text, "tool_calls": calls}
        keys[key_of(row)] += 1
    keys.update(_results(spoken))
    return keys


def _results(requests: list[Request]) -> set[Key]:
    """The tool results, each as the host first sent it: later it may stand as a stub."""
    first: dict[str, Key] = {}
    for request in requests:
        for row in request.messages:
            if row["role"] == "tool":
                first.setdefault(row["tool_call_id"], key_of(row))
    return set(first.values())


def stored(entries: Iterable[Mapping[str, Any]]) -> Counter[Key]:
    """The same keys for what the plugin's tools gave back."""
    whole = (json.loads(entry["json"]) if "json" in entry else entry for entry in entries)
    return Counter(key_of(row) for row in whole)


def difference(truth: Counter[Key], found: Counter[Key]) -> dict[str, list[Any]]:
    """What is missing from the store, and what is there too often; empty lists when all is well."""

    def short(keys: Counter[Key]) -> list[Any]:
        return [(role, text[:80], ties[:60], n) for (role, text, ties), n in keys.items()]

    return {"lost": short(truth - found), "too much": short(found - truth)}


NOTHING: dict[str, list[Any]] = {"lost": [], "too much": []}
