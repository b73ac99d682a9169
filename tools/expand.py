"""``lcm_expand`` and ``retrieve_conversation_history``: open again what was replaced."""

from __future__ import annotations

from typing import Any

from ..dag.extractive import extract
from ..dag.source_text import message_text, most_shown, source_text
from ..dag.wording import many
from ..storage.records import Entry, Message, Node
from .answers import ToolError, to_json, weight
from .desk import Desk
from .pages import page, piece_of, position, text_page
from .turns import in_order, turn_of

__all__ = ["DETAILS", "expand", "retrieve"]

DETAILS = ("brief", "medium", "full", "raw")
#: The size that a name of detail asks for; full is the largest there is.
_SIZES = {"brief": 50, "medium": 250}


def expand(desk: Desk, uid: Any, detail: Any = "raw", cursor: Any = None) -> dict[str, Any]:
    """What *uid* stands for: verbatim, or a node's text at a size."""
    wanted = _detail(detail)
    found = desk.find(uid)
    if found.node is not None:
        return _node(desk, found.node, wanted, cursor)
    if found.message is None:
        raise ToolError("Nothing to open.", "Give the uid of a message or a node.")
    return _message(desk, found.message, wanted, cursor)


def _detail(value: Any) -> str:
    wanted = str(value or "raw").strip().lower()
    if wanted not in DETAILS:
        raise ToolError(
            f"There is no detail '{wanted[:40]}'.", f"Use one of: {', '.join(DETAILS)}."
        )
    return wanted


def _node(desk: Desk, node: Node, wanted: str, cursor: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "uid": node.uid,
        "kind": "node",
        "turns": [node.first_turn, node.last_turn],
    }
    if node.kind == "frame":
        answer["shows"] = [source.node for source in node.sources]
        if wanted != "raw":
            answer["note"] = "This names a whole summary row; open one of the nodes that it shows."
            return answer | {"messages": [], "cursor": None}
    if wanted == "raw":
        pairs = desk.store.stands_for(node.uid)
        places = desk.places([number for number, _ in pairs])
        turns = {number: entry.turn for number, entry in places.items()}
        entries, following = page(pairs, turns, cursor, desk, desk.page)
        total = {"total_messages": len(pairs), "total_tokens": node.source_tokens}
        return answer | total | {"messages": entries, "cursor": following}
    level = nearest(node, wanted)
    text, following = text_page(node.texts[level], cursor, desk.page)
    answer |= {"level": level, "text": text, "topic": node.topic, "messages": []}
    answer["cursor"] = following
    answer["next"] = (
        f"lcm_expand(uid='{node.uid[:8]}', detail='raw') gives the {many(node.messages, 'message')} verbatim."
    )
    if node.degraded:
        answer["degraded"] = "These are extracted sentences, not a written summary."
    return answer


def nearest(node: Node, detail: str) -> int:
    """The level of *node* that a name of detail stands for."""
    if detail == "full":
        return max(node.texts)
    return min(node.texts, key=lambda level: (abs(level - _SIZES[detail]), level))


def _message(desk: Desk, message: Message, wanted: str, cursor: Any) -> dict[str, Any]:
    place = desk.places([message.id]).get(message.id)
    answer: dict[str, Any] = {"uid": message.uid, "kind": "message"}
    if place and place.withdrawn:
        answer["withdrawn"] = True
    if wanted == "raw":
        turns = {message.id: place.turn} if place else {}
        pairs = [(message.id, message.version)]
        entries, following = page(pairs, turns, cursor, desk, desk.page)
        return answer | {"messages": entries, "cursor": following}
    ((_, row),) = desk.rows([(message.id, message.version)])
    text, following = text_page(_derived(message_text(row), wanted), cursor, desk.page)
    return answer | {"text": text, "derived": True, "messages": [], "cursor": following}


def _derived(text: str, wanted: str) -> str:
    """*text* at a size, for what is under no node yet."""
    return extract(text, _SIZES.get(wanted, 1000)) if text.strip() else ""


def retrieve(
    desk: Desk, start: Any, end: Any, detail: Any = "raw", cursor: Any = None
) -> dict[str, Any]:
    """Turns *start* to *end* of the session, 1-indexed, both included."""
    wanted = _detail(detail)
    first, last = turn_of(start, "start_turn"), turn_of(end, "end_turn")
    in_order(first, last)
    entries = desk.store.turns(desk.session.line, first, last)
    if wanted == "raw":
        pairs = [(entry.id, 0) for entry in entries]
        numbers = {entry.id: entry.turn for entry in entries}
        rows, following = page(pairs, numbers, cursor, desk, desk.page)
        gone = {entry.uid for entry in entries if entry.withdrawn}
        messages = [row | {"withdrawn": True} if row["uid"] in gone else row for row in rows]
        return {"messages": messages, "cursor": following}
    return _told(desk, entries, wanted, cursor)


def _told(desk: Desk, entries: list[Entry], wanted: str, cursor: Any) -> dict[str, Any]:
    """One text a turn, extracted from its messages."""
    turns = sorted({entry.turn for entry in entries})
    at, offset = position(cursor, max(turns, default=0) + 1)
    messages: list[dict[str, Any]] = []
    room = desk.page
    for turn in turns:
        if turn < at:
            continue
        inside = [entry for entry in entries if entry.turn == turn]
        rows = [row for _, row in desk.rows([(entry.id, 0) for entry in inside])]
        text = _derived(source_text(rows, most=most_shown), wanted)
        head = {"uid": inside[0].uid, "role": "turn", "turn": turn, "derived": True}
        entry, more = piece_of(head, text, offset if turn == at else 0, room)
        size = weight(to_json(entry))
        if messages and (more or size > room):  # it begins the next page
            return {"messages": messages, "cursor": f"{turn}:0"}
        messages.append(entry)
        room -= size
        if more:
            return {"messages": messages, "cursor": f"{turn}:{more}"}
    return {"messages": messages, "cursor": None}
