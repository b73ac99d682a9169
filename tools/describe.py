"""``lcm_describe``: what a node is made of, and the outline of the whole graph."""

from __future__ import annotations

import time as clock
from functools import lru_cache
from math import floor
from typing import Any

from ..dag.graph import Branch, outline
from ..storage.records import Node
from .answers import ToolError, to_json, weight
from .desk import Desk

__all__ = ["describe", "minute", "stamp"]

_MOST_DEPTH = 8
#: Digits of a number that an answer may have given.
_LONGEST_CURSOR = 18


def describe(desk: Desk, uid: Any = None, depth: Any = 1, cursor: Any = None) -> dict[str, Any]:
    """One node with its levels and sources; without *uid* the outline of the graph."""
    levels_down = _depth(depth)
    start = _start(cursor)
    if uid in (None, ""):
        return _outline(desk, levels_down, start)
    found = desk.find(uid)
    if found.node is not None:
        return _node(desk, found.node, start)
    message = found.message
    if message is None:
        raise ToolError("Nothing to describe.", "Give the uid of a message or a node.")
    place = desk.places([message.id]).get(message.id)
    return {
        "uid": message.uid,
        "kind": "message",
        "role": message.role,
        "turn": place.turn if place else None,
        "time": stamp(message.time),
        "tokens": place.tokens if place else None,
        "versions": message.versions,
        "withdrawn": bool(place and place.withdrawn),
        "covered_by": desk.store.over([message.id]).get(message.id),
        "next": f"lcm_expand(uid='{message.uid[:8]}') gives it verbatim.",
    }


@lru_cache(maxsize=1000)
def _date(day: int) -> str:
    """The date of a day since 1970: of 100,000 messages in a row few are of different ones."""
    return clock.strftime("%Y-%m-%d", clock.gmtime(day * 86_400))


@lru_cache(maxsize=1000)
def _moment(time: int) -> str:
    """The same of a second: what is stored at once is of one."""
    day, second = divmod(time, 86_400)
    return f"{_date(day)}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def stamp(time: float) -> str:
    """A time as ISO text in UTC, to the second; one that no calendar has as the number that it is."""
    try:
        return _moment(floor(time))
    except (OverflowError, ValueError, OSError, TypeError):
        return str(time)


def minute(stamped: str | None) -> str:
    """A time as :func:`stamp` gives it, to the minute, for a narrow column; empty for none."""
    if stamped is None or not stamped.endswith("Z"):
        return stamped or ""
    return f"{stamped[:-4]}Z"


def _depth(value: Any) -> int:
    try:
        return min(max(int(1 if value in (None, "") else value), 1), _MOST_DEPTH)
    except (TypeError, ValueError, OverflowError):
        raise ToolError("depth must be a whole number.", f"Use 1 to {_MOST_DEPTH}.") from None


def _start(cursor: Any) -> int:
    if cursor in (None, ""):
        return 0
    if not str(cursor).isdecimal() or len(str(cursor)) > _LONGEST_CURSOR:
        raise ToolError(
            f"'{str(cursor)[:40]}' is no cursor of this answer.",
            "Leave it out to start at the beginning.",
        )
    return int(str(cursor))


def _head(node: Node) -> dict[str, Any]:
    return {
        "uid": node.uid,
        "kind": "node",
        "depth": node.depth,
        "turns": [node.first_turn, node.last_turn],
        "messages": node.messages,
        "tokens": node.source_tokens,
        "topic": node.topic,
    }


def _node(desk: Desk, node: Node, start: int) -> dict[str, Any]:
    levels = {str(level): node.texts[level] for level in sorted(node.texts)}
    while len(levels) > 1 and weight(to_json(levels)) > desk.page // 2:
        levels.popitem()  # the largest; lcm_expand gives it page by page
    answer = _head(node) | {
        "levels": levels,
        "hints": list(node.hints),
        "sufficient_tokens": node.sufficient,
        "made": stamp(node.time),
    }
    if node.degraded:
        answer["degraded"] = node.degraded
    if len(levels) < len(node.texts):
        answer["note"] = f"lcm_expand(uid='{node.uid[:8]}', detail='full') gives its longest text."
    sources: list[dict[str, Any]] = []
    numbers = [source.message for source in node.sources if source.message is not None]
    messages = {
        message.id: message for message, _ in desk.rows([(number, 0) for number in numbers])
    }
    places = desk.places(numbers)
    nodes = {
        each.uid: each
        for each in desk.store.nodes([source.node for source in node.sources if source.node])
    }
    size = weight(to_json(answer))
    for index, source in enumerate(node.sources[start:], start):
        if source.message is not None:
            message, place = messages[source.message], places.get(source.message)
            entry = {
                "uid": message.uid,
                "kind": "message",
                "role": message.role,
                "turn": place.turn if place else None,
            }
        else:
            entry = _head(nodes[source.node or ""])
            if node.kind == "frame":
                entry["level"] = source.level
        size += weight(to_json(entry))
        if sources and size > desk.page:
            return answer | {"sources": sources, "cursor": str(index)}
        sources.append(entry)
    return answer | {"sources": sources, "cursor": None}


def _outline(desk: Desk, depth: int, start: int) -> dict[str, Any]:
    nodes = desk.store.nodes_on(desk.lineage)
    shown: list[dict[str, Any]] = []
    size = 0
    branches = outline(nodes)
    for index, branch in enumerate(branches[start:], start):
        entry = _fitting(branch, depth, desk.page)
        size += weight(to_json(entry))
        if shown and size > desk.page:
            return {"kind": "outline", "nodes": shown, "cursor": str(index)}
        shown.append(entry)
    answer: dict[str, Any] = {"kind": "outline", "nodes": shown, "cursor": None}
    if not nodes:
        answer["note"] = "Nothing has been compacted yet: the whole conversation is in the context."
    return answer


def _fitting(branch: Branch, depth: int, most: int) -> dict[str, Any]:
    """A branch at *depth*, or at the largest below it that fits on a page."""
    for less in range(depth, 1, -1):
        entry = _entry(branch, less)
        if weight(to_json(entry)) <= most:
            return entry | ({"depth_shown": less} if less < depth else {})
    return _entry(branch, 1) | ({"depth_shown": 1} if depth > 1 else {})


def _entry(branch: Branch, depth: int) -> dict[str, Any]:
    node = branch.node
    entry = _head(node) | {"text": node.texts[min(node.texts)], "hints": list(node.hints)}
    if depth > 1 and branch.sources:
        entry["sources"] = [_entry(source, depth - 1) for source in branch.sources]
    return entry
