"""The export of the state, turn by turn: what stands for what, in which sizes, and when it was compacted.

For each turn: its messages, the summaries over it from the finest to the coarsest, the state of the
conversation after it where there is one, how many tokens suffice, and what one could ask of it. A turn
under no summary stands in the context verbatim.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..dag.erase import Cleaner
from ..dag.redact import Redact
from ..dag.states import standing_states
from ..dag.taken import taken
from ..storage.protocol import Store
from ..storage.records import Entry, Node, Pass, Session

__all__ = ["state"]


def state(
    store: Store, session: Session, family: Sequence[Session], redact: Redact | None
) -> dict[str, Any]:
    """The state of *session*, one of the *family* on its line, as plain data. With *redact* no secret leaves."""
    lines = store.lineage(session.line)
    entries = store.entries(session.line)
    here = {entry.id for entry in entries}
    nodes = _standing(store.nodes_on(lines), here)
    states = standing_states(store, session.line)
    names = [each.name for each in family]
    say, name = redact or (lambda text: text), Cleaner(redact).name
    return {
        "session": name(session.name),
        "parent": name(session.parent),
        "relation": session.relation,
        "shareable": redact is not None,
        "messages": len(entries),
        "turns": _turns(
            [entry._replace(uid=name(entry.uid)) for entry in entries], nodes, states, say
        ),
        "nodes": [_node(node, say) for node in nodes.values()],
        "states": [_node(node, say) for node in states],
        "compactions": [
            _compaction(store, replace(done, session=name(done.session)))
            for done in taken(store, names)
        ],
    }


def _standing(nodes: Sequence[Node], here: set[int]) -> dict[str, Node]:
    """The nodes of which all messages are on the line: of a parent's, those that it shares."""
    found: dict[str, Node] = {}
    for node in sorted(nodes, key=lambda node: node.depth):
        if all(
            source.message in here if source.node is None else source.node in found
            for source in node.sources
        ):
            found[node.uid] = node
    return found


def _turns(
    entries: Sequence[Entry],
    nodes: Mapping[str, Node],
    states: Sequence[Node],
    say: Callable[[str], str],
) -> list[dict[str, Any]]:
    after = {state.last_turn: state for state in states}
    messages: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        messages[entry.turn].append(entry)
    turns = sorted(messages)
    over: dict[int, list[Node]] = defaultdict(list)
    for node in nodes.values():
        first, last = bisect_left(turns, node.first_turn), bisect_right(turns, node.last_turn)
        for turn in turns[first:last]:
            over[turn].append(node)
    known = {turn: after.get(turn) or next(iter(over[turn]), None) for turn in turns}
    return [
        {
            "turn": turn,
            "messages": [entry.uid for entry in messages[turn]],
            "withdrawn": sum(entry.withdrawn for entry in messages[turn]),
            "tokens": sum(entry.tokens for entry in messages[turn]),
            "nodes": [node.uid for node in over[turn]],
            "state": after[turn].uid if turn in after else None,
            **_said(known[turn], say),
        }
        for turn in turns
    ]


def _said(node: Node | None, say: Callable[[str], str]) -> dict[str, Any]:
    """What the state after a turn, else the finest summary over it, says of it."""
    return {
        "levels": sorted(node.texts) if node else [],
        "sufficient_tokens": node.sufficient if node else None,
        "topic": say(node.topic) if node else None,
        "hints": [say(hint) for hint in node.hints] if node else [],
    }


def _node(node: Node, say: Callable[[str], str]) -> dict[str, Any]:
    return {
        "uid": node.uid,
        "kind": node.kind,
        "depth": node.depth,
        "turns": [node.first_turn, node.last_turn],
        "messages": node.messages,
        "source_tokens": node.source_tokens,
        "levels": {str(level): say(text) for level, text in sorted(node.texts.items())},
        "sufficient_tokens": node.sufficient,
        "topic": say(node.topic),
        "hints": [say(hint) for hint in node.hints],
        "degraded": node.degraded,
        "time": node.time,
        "sources": [source.node for source in node.sources if source.node is not None],
    }


def _compaction(store: Store, done: Pass) -> dict[str, Any]:
    """A compaction point: how large the list was before and after, and up to which turn it reached."""
    frames = store.nodes([done.frame]) if done.frame else []
    shown = frames[0] if frames else None
    return {
        "session": done.session,
        "time": done.time,
        "tokens": [done.tokens_before, done.tokens_after],
        "rows": [done.rows_before, done.rows_after],
        "summary_row": done.frame,
        "turns": [shown.first_turn, shown.last_turn] if shown else None,
        "shows": [[source.node, source.level] for source in shown.sources] if shown else [],
    }
