"""The export of the state, turn by turn: what stands for what, in which sizes, and when it was compacted.

For each turn: its messages, the summaries over it from the finest to the coarsest, how many tokens
suffice for it, and what one could ask of it. A turn under no summary stands in the context verbatim.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..dag.erase import Cleaner
from ..dag.redact import Redact
from ..storage.protocol import Store
from ..storage.records import Entry, Node, Pass, Session

__all__ = ["state"]


def state(store: Store, session: Session, redact: Redact | None) -> dict[str, Any]:
    """The state of *session* as plain data. With *redact* no secret leaves."""
    lines = store.lineage(session.line)
    entries = store.entries(session.line)
    here = {entry.id for entry in entries}
    nodes = _standing(store.nodes_on(lines), here)
    names = [each.name for each in store.sessions() if each.line == session.line]
    say, name = redact or (lambda text: text), Cleaner(redact).name
    return {
        "session": name(session.name),
        "parent": name(session.parent),
        "relation": session.relation,
        "shareable": redact is not None,
        "messages": len(entries),
        "turns": _turns([entry._replace(uid=name(entry.uid)) for entry in entries], nodes, say),
        "nodes": [_node(node, say) for node in nodes.values()],
        "compactions": [
            _compaction(store, replace(done, session=name(done.session)))
            for done in store.passes(names)
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
    entries: Sequence[Entry], nodes: Mapping[str, Node], say: Callable[[str], str]
) -> list[dict[str, Any]]:
    messages: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        messages[entry.turn].append(entry)
    turns = sorted(messages)
    over: dict[int, list[Node]] = defaultdict(list)
    for node in nodes.values():
        first, last = bisect_left(turns, node.first_turn), bisect_right(turns, node.last_turn)
        for turn in turns[first:last]:
            over[turn].append(node)
    return [
        {
            "turn": turn,
            "messages": [entry.uid for entry in messages[turn]],
            "withdrawn": sum(entry.withdrawn for entry in messages[turn]),
            "tokens": sum(entry.tokens for entry in messages[turn]),
            "nodes": [node.uid for node in over[turn]],
            "levels": sorted(over[turn][0].texts) if over[turn] else [],
            "sufficient_tokens": over[turn][0].sufficient if over[turn] else None,
            "topic": say(over[turn][0].topic) if over[turn] else None,
            "hints": [say(hint) for hint in over[turn][0].hints] if over[turn] else [],
        }
        for turn in turns
    ]


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
