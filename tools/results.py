"""What a search answers: results with snippets within a budget, and a note on how they were found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..dag.tokens import count_text
from ..dag.wording import many
from ..storage.proof import ALTERED
from ..storage.records import Entry, Filter, Hit, Message, Node
from .answers import to_json
from .describe import stamp
from .desk import Desk
from .folding import Page
from .origins import origins
from .patterns import Find
from .snippet import snippet

__all__ = ["POOL", "Ranking", "note_on", "results"]

#: Hits that are ranked for a question; the rest would not be read.
POOL = 200
_SMALLEST_SNIPPET = 40
#: Ways to end a sentence.
_STOPS = (".", "!", "?", "\u2026", "\u3002", "\uff1f", "\uff01")


@dataclass(frozen=True, slots=True)
class Ranking:
    """All that was found, best first."""

    hits: Sequence[Hit]
    needles: Sequence[str]
    mode: str
    note: str = ""
    tried: str = ""
    """What was tried, where it was more than the one mode."""
    looked: int | None = None
    """How many messages were read before the time was up; None: all of them."""
    find: Find | None = None
    """Where in a text the match is, if no needle says it."""


def results(desk: Desk, page: Page, ranking: Ranking, *, everywhere: bool) -> list[dict[str, Any]]:
    """A page as the tool answers it, within the budget that the settings give a search.

    *everywhere*: of any session, so each says of which.
    """
    hits = page.hits
    rows = page.read
    covers = desk.store.over(list(rows))
    nodes = {node.uid: node for node in desk.store.nodes([hit.node for hit in hits if hit.node])}
    messages = [message for message, _ in rows.values()]
    found_in = origins(desk, messages, list(nodes.values())) if everywhere else None
    places = found_in.places if found_in else desk.places(list(rows))
    pairs = {each.id: (each.id, each.version) for each in messages}
    altered = desk.altered(list(pairs.values()))
    budget = desk.settings.search_budget_tokens
    room = max(budget * 4 // max(len(hits), 1) - 330, 80)
    room = min(room, desk.snippet or room)
    while True:
        found = [
            _of_message(rows[hit.message][0], hit, places.get(hit.message), covers.get(hit.message))
            | {"snippet": _snippet(rows[hit.message][1], ranking, room)}
            | ({"repeats": page.repeats[hit.message]} if hit.message in page.repeats else {})
            | ({"damaged": ALTERED} if pairs[hit.message] in altered else {})
            if hit.message is not None
            else _of_node(nodes[hit.node or ""], hit, ranking.needles, room)
            for hit in hits
        ]
        if found_in:
            found = [each | {"session": found_in.sessions[each["uid"]]} for each in found]
        if room <= _SMALLEST_SNIPPET or count_text(to_json(found)) <= budget:
            return found
        room = room * 3 // 4


def _snippet(text: str, ranking: Ranking, room: int) -> str:
    at = ranking.find(text) if ranking.find and len(text) > room else None
    return snippet(text, ranking.needles, room, at)


def _of_message(
    message: Message, hit: Hit, place: Entry | None, cover: str | None
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "uid": message.uid,
        "kind": "message",
        "role": message.role,
        "turn": place.turn if place else None,
        "time": stamp(message.time),
        "snippet": "",
        "covered_by": cover,
        "score": round(hit.score, 3),
    }
    if place and place.withdrawn:
        result["withdrawn"] = True
    if message.version != message.versions:
        result["version"] = (
            f"{message.version} of {message.versions}; uid@{message.version} opens it"
        )
    return result


def _of_node(node: Node, hit: Hit, needles: Sequence[str], room: int) -> dict[str, Any]:
    return {
        "uid": node.uid,
        "kind": "node",
        "role": None,
        "turn": node.first_turn,
        "turns": [node.first_turn, node.last_turn],
        "time": stamp(node.time),
        "snippet": snippet(_told(node), needles, room),
        "covered_by": None,
        "score": round(hit.score, 3),
    }


def _told(node: Node) -> str:
    """Its topic and its largest text; a topic may be a sentence itself."""
    text = node.texts[max(node.texts)]
    stop = "" if node.topic.endswith(_STOPS) else "."
    return f"{node.topic}{stop} {text}" if node.topic else text


def note_on(desk: Desk, ranking: Ranking, hits: Sequence[Hit], where: Filter) -> str:
    """How *hits* were found, or how much was searched in vain, and what to do next."""
    notes = [ranking.note] if ranking.note else []
    if not hits:
        reach = "in this session" if where.lines is not None else "in all sessions"
        reach += " that the filters let through" if where.is_narrow else ""
        count = desk.store.count(replace(where, without=()))
        mode = ranking.tried or ranking.mode
        more = ["other words"]
        more += ["mode 'exact' for a part of a word"] if mode != "exact" else []
        more += ["scope 'all'"] if where.lines is not None else []
        more += ["fewer filters"] if where.is_narrow else []
        advice = " or ".join(filter(None, [", ".join(more[:-1]), more[-1]]))
        searched = (
            many(count, "message")
            if ranking.looked is None
            else f"the newest {ranking.looked} of {many(count, 'message')}"
        )
        notes.append(f"Searched {searched} {reach} in mode {mode}: nothing found. Try {advice}.")
    else:
        if ranking.mode in ("auto", "fuzzy") and len(hits) >= POOL:
            notes.append("There may be more than are counted here.")
        notes.append(
            "lcm_expand(uid) opens a result verbatim; with covered_by's uid, what was around it."
        )
    return " ".join(notes)
