"""What the explorer draws of a conversation: messages in a row, and the summaries over them.

Messages are columns of values rather than objects, for there are many, and hold no words: those are
asked for one by one (:mod:`.pieces`). A chart of a conversation that went on comes as what is new in it.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..storage.protocol import Store
from ..storage.records import Entry, Node, Pass, Session
from ..tools.describe import stamp
from .present import Present, present, standing

__all__ = ["Known", "chart", "revision"]

_COLUMNS: Final = ("uid", "role", "turn", "tokens", "withdrawn")


@dataclass(frozen=True, slots=True)
class Known:
    """What who asks has already: so many messages, of this mark, at that revision."""

    count: int = 0
    mark: str = ""
    revision: str = ""


def chart(store: Store, session: Session, known: Known | None = None) -> dict[str, Any]:
    """What there is to draw; of what is *known* nothing but that it is still so. To be read in one snapshot."""
    known = known or Known()
    now = revision(store, session)
    if now == known.revision:
        return {"revision": now, "same": True}
    entries = store.entries(session.line)
    here = present(store, session)
    nodes = standing(store, session.line, here.frame)
    spans = _spans(store, session.line, entries, list(nodes.values()))
    start = known.count if known.count and known.mark == _mark(entries[: known.count]) else 0
    return {
        "revision": now,
        "same": False,
        "session": session.name,
        "count": len(entries),
        "mark": _mark(entries),
        "start": start,
        "messages": _messages(entries[start:]),
        "nodes": [_node(node, spans[uid], here) for uid, node in nodes.items() if uid in spans],
        "passes": _passes(store, session, here, entries),
        "present": _present(here, entries),
    }


def revision(store: Store, session: Session) -> str:
    """Changes whenever the chart of the session does."""
    family = [each.name for each in store.sessions() if each.line == session.line]
    nodes = sum(store.totals(session.line).nodes.values())
    return f"{session.name}/{store.revision(session.line)}/{nodes}/{len(store.passes(family))}"


def _mark(entries: Sequence[Entry]) -> str:
    """The same for the same entries as the chart shows them."""
    said = "\n".join(f"{e.uid} {e.version} {e.withdrawn} {e.turn}" for e in entries)
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _messages(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    return {
        name: [int(v) if isinstance(v := getattr(entry, name), bool) else v for entry in entries]
        for name in _COLUMNS
    }


def _spans(
    store: Store, line: int, entries: Sequence[Entry], nodes: Sequence[Node]
) -> dict[str, tuple[int, int]]:
    """From which to which place in the row of messages each node reaches."""
    seqs = [entry.seq for entry in entries]
    places = {entry.id: place for place, entry in enumerate(entries)}
    found: dict[str, tuple[int, int]] = {}
    for node in nodes:
        if node.line == line:
            first, last = bisect_left(seqs, node.first_seq), bisect_left(seqs, node.last_seq)
        else:
            under = [places[n] for n, _ in store.stands_for(node.uid) if n in places]
            first, last = (min(under), max(under)) if under else (1, 0)
        if first <= last < len(entries):
            found[node.uid] = (first, last)
    return found


def _node(node: Node, span: tuple[int, int], here: Present) -> dict[str, Any]:
    shown = {each.node.uid: each.level for each in here.blocks}
    return {
        "uid": node.uid,
        "depth": node.depth,
        "span": span,
        "turns": [node.first_turn, node.last_turn],
        "messages": node.messages,
        "tokens": node.source_tokens,
        "topic": node.topic,
        "degraded": bool(node.degraded),
        "made": stamp(node.time),
        "shown_at": shown.get(node.uid),
        "sources": [source.node for source in node.sources if source.node],
    }


def _passes(
    store: Store, session: Session, here: Present, entries: Sequence[Entry]
) -> list[dict[str, Any]]:
    """Each compaction: how large the list was, and after how many messages it came."""
    frames = {node.uid: node for node in store.nodes([p.frame for p in here.passes if p.frame])}
    seqs = [entry.seq for entry in entries]
    found: list[dict[str, Any]] = []
    at, rows = 0, 0
    for done in here.passes:
        frame = frames.get(done.frame)
        at = _place(done, at + done.rows_before - rows, seqs)
        if frame is not None and frame.line == session.line:
            at = max(at, bisect_left(seqs, frame.last_seq) + 1)
        at = min(max(at, 0), len(entries))
        rows = done.rows_after
        found.append(
            {
                "at": at,
                "time": stamp(done.time),
                "tokens": [done.tokens_before, done.tokens_after],
                "rows": [done.rows_before, done.rows_after],
                "frame": done.frame or None,
                "shows": [[s.node, s.level] for s in frame.sources] if frame else [],
            }
        )
    return found


def _place(done: Pass, counted: int, seqs: Sequence[int]) -> int:
    """How many messages there were at a compaction: as it was noted then, else as its rows tell."""
    end = done.detail.get("end")
    return bisect_left(seqs, end + 1) if isinstance(end, int) and end > 0 else counted


def _present(here: Present, entries: Sequence[Entry]) -> dict[str, Any]:
    """Which messages stand in the list word for word: places, and all from one on."""
    lifted = set(here.frame.lifted) if here.frame else set()
    behind = [entry for entry in here.behind if entry.id not in lifted]
    places = {entry.id: place for place, entry in enumerate(entries)}
    return {
        "tokens": here.tokens,
        "frame": here.frame.uid if here.frame else None,
        "since": stamp(here.since) if here.since is not None else None,
        "seen": here.is_seen or not here.passes,
        "parts": sorted(places[number] for number in here.parts if number in places),
        "from": places[behind[0].id] if behind else len(entries),
        "lifted": sorted(places[number] for number in lifted if number in places),
        "messages": len(here.behind),
    }
