"""The state of a conversation by turn: all of it up to there, in every size.

A state is a node whose sources are the state before it and the messages since: one call of a
summariser brings it up to date, and nothing is summarised from the start again. It is shown in no
list, searched by nobody and under no summary; it answers what stood at a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..storage.protocol import Store
from ..storage.records import Entry, Node
from .extractive import key_terms
from .maker import Maker
from .nodes import STATE, Item
from .redact import Redact
from .source_text import node_text, source_text

__all__ = ["TurnState", "standing_states", "state_at", "updated"]

_NEWEST: Final = "state"
"""Under this name a session keeps the uid of its newest state."""
_HINTS: Final = 5
_BEFORE, _SINCE = "What is known of the conversation so far:", "What was said since:"


@dataclass(frozen=True, slots=True)
class TurnState:
    """What is known of one turn, and by what."""

    turn: int
    by: str
    """``state``: the state after that turn; ``node``: the finest summary over it; ``messages``: they
    stand under no summary, and this is extracted from them."""
    uid: str
    """Of the state or the summary; empty for messages."""
    turns: tuple[int, int]
    """First and last turn that it stands for."""
    sufficient_tokens: int
    """The size at which nothing important is missing; of messages, their own."""
    hints: tuple[str, ...]
    """What one could ask for."""
    topic: str = ""
    levels: dict[int, str] = field(default_factory=dict)
    """Its texts by size in tokens; of messages, none."""
    degraded: str = ""

    def plain(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "turn": self.turn,
            "by": self.by,
            "uid": self.uid,
            "turns": list(self.turns),
            "sufficient_tokens": self.sufficient_tokens,
            "hints": list(self.hints),
            "topic": self.topic,
            "levels": {str(level): text for level, text in sorted(self.levels.items())},
            "degraded": self.degraded,
        }


# bringing it up to date


def updated(
    store: Store, maker: Maker, where: tuple[int, str], top: Sequence[Node], clean: Redact
) -> list[Node]:
    """The state after the newest turn; nothing if it is there.

    *where*: line and session. *top*: the nodes that stand for the older part of the list, for a
    session that has no state yet.

    Raises:
        NotMade, Halted: it was not made.
    """
    line, session = where
    newest = _newest(store, line, session)
    base = [newest] if newest else list(top)
    first = newest.last_seq + 1 if newest else min((node.first_seq for node in base), default=0)
    items = _items(store.entries(line, first=first), base)
    if not any(item.entry for item in items):
        return []
    made = maker.state(
        items, _text(store, items, clean), lambda uid: _remember(store, session, uid)
    )
    return [made]


def _remember(store: Store, session: str, uid: str) -> None:
    store.remember(session, _NEWEST, uid)


def _newest(store: Store, line: int, session: str) -> Node | None:
    """The newest state that holds: nothing that it was made of was withdrawn or changed since."""
    kept = store.recall(session, _NEWEST)
    nodes = store.nodes([kept], damaged=True) if isinstance(kept, str) else []
    if not nodes:
        nodes = standing_states(store, line)[-1:]
    while nodes:
        state = nodes[0]
        own = {s.message: s.version for s in state.sources if s.message is not None}
        placed = store.placed(line, own)
        holds = len(placed) == len(own) and not any(
            entry.withdrawn or entry.version != own[entry.id] for entry in placed
        )
        if state.kind == STATE and holds and state.texts:
            return state
        below = [source.node for source in state.sources if source.node]
        nodes = store.nodes(below, damaged=True) if state.kind == STATE and len(below) == 1 else []
    return None


def _items(entries: Sequence[Entry], base: Sequence[Node]) -> list[Item]:
    """*base*, and the messages beside and behind it, in order."""
    spans = [(node.first_seq, node.last_seq) for node in base]
    beside = [
        Item(entry=entry)
        for entry in entries
        if not entry.withdrawn and not any(low <= entry.seq <= high for low, high in spans)
    ]
    return sorted([*(Item(node=node) for node in base), *beside], key=lambda item: item.first_seq)


def _text(store: Store, items: Sequence[Item], clean: Redact) -> str:
    """What a summariser reads: what was known, then what is new."""
    wanted = [(item.entry.id, item.entry.version) for item in items if item.entry]
    new = source_text([row for _, row in store.parsed(wanted, damaged=True)], clean)
    known = "\n\n".join(node_text(item.node) for item in items if item.node)
    return f"{_BEFORE}\n{clean(known)}\n\n{_SINCE}\n{new}" if known else new


# asking for it


def standing_states(store: Store, line: int) -> list[Node]:
    """The states of a line, oldest first: of those of its parents what it shares, and none of what was withdrawn."""
    here = {entry.id for entry in store.entries(line) if not entry.withdrawn}
    states = {state.uid: state for state in store.nodes_on(store.lineage(line), kinds=[STATE])}
    found: dict[str, Node] = {}
    for state in states.values():
        under = {s.message for s in state.sources if s.message is not None}
        below = {s.node for s in state.sources if s.node in states}
        if under <= here and below <= found.keys():
            found[state.uid] = state
    return sorted(found.values(), key=lambda state: (state.last_turn, state.time))


def state_at(store: Store, line: int, turn: int) -> TurnState | None:
    """What is known of *turn*; None if there is no such turn."""
    entries = [entry for entry in store.turns(line, turn, turn) if not entry.withdrawn]
    if not entries:
        return None
    exact = [state for state in standing_states(store, line) if state.last_turn == turn]
    if exact:
        return _of_node(turn, "state", exact[-1])
    if over := _over(store, line, turn):
        return _of_node(turn, "node", over)
    pairs = [(entry.id, entry.version) for entry in entries]
    rows = [row for _, row in store.parsed(pairs, damaged=True)]
    return TurnState(
        turn,
        "messages",
        "",
        (turn, turn),
        sum(entry.tokens for entry in entries),
        tuple(key_terms(source_text(rows), _HINTS)),
    )


def _over(store: Store, line: int, turn: int) -> Node | None:
    """The finest summary over a turn of the line, a repaired one before a degraded one."""
    here = {entry.id for entry in store.turns(line, turn, turn)}
    nodes = [
        node
        for node in store.nodes_on(store.lineage(line))
        if node.first_turn <= turn <= node.last_turn
        and here.intersection(message for message, _ in store.stands_for(node.uid))
    ]
    return min(nodes, key=lambda node: (node.depth, bool(node.degraded), -node.time), default=None)


def _of_node(turn: int, by: str, node: Node) -> TurnState:
    return TurnState(
        turn,
        by,
        node.uid,
        (node.first_turn, node.last_turn),
        node.sufficient,
        node.hints,
        node.topic,
        dict(node.texts),
        node.degraded,
    )
