"""Where a search in all sessions found something: of which session it is, and of which turn of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..storage.records import Entry, Message, Node, Session
from .desk import Desk

__all__ = ["Origins", "origins"]

#: Characters of a session's name that an answer shows.
_SHOWN_NAME = 100


@dataclass(frozen=True, slots=True)
class Origins:
    """Where messages and nodes are from."""

    places: dict[int, Entry]
    """Where each message stands, by number: on the line of the session that asks, or else on the oldest."""
    sessions: dict[str, str]
    """The name of the session of each message and node, by uid."""


def origins(desk: Desk, messages: Sequence[Message], nodes: Sequence[Node]) -> Origins:
    """Where these are from."""
    places = desk.places([message.id for message in messages])
    lines = dict.fromkeys(places, desk.session.line)
    others = desk.store.lines_of([each.id for each in messages if each.id not in places])
    lines |= others
    for line in set(others.values()):
        on_line = [number for number in others if others[number] == line]
        places |= {entry.id: entry for entry in desk.store.placed(line, on_line)}
    held: dict[int, list[Session]] = defaultdict(list)
    for session in desk.store.sessions([*{*lines.values(), *(node.line for node in nodes)}]):
        held[session.line].append(session)
    found = [(each.uid, lines.get(each.id, 0), each.time) for each in messages]
    found += [(each.uid, each.line, each.time) for each in nodes]
    return Origins(places, {uid: _name(held[line], time) for uid, line, time in found})


def _name(sessions: Sequence[Session], time: float) -> str:
    """Of the sessions of one line, which follow one another, the one that was open at *time*."""
    begun = [session for session in sessions if session.created <= time] or sessions[:1]
    name = begun[-1].name if begun else ""
    return name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…"
