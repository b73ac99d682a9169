"""What the explorer draws of a conversation: messages in a row, and the summaries over them.

Messages are columns of values rather than objects, for there are many, and hold no words: those are
asked for one by one (:mod:`.pieces`). A chart of a conversation that went on comes as what is new in it.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..storage.protocol import Store
from ..storage.records import Entry, Node, Pass, Session, Totals
from ..tools.describe import stamp
from .course import Course, Courses
from .present import Present, present

__all__ = ["Known", "chart", "whole"]


@dataclass(frozen=True, slots=True)
class Known:
    """What who asks has already: so many messages, of this mark, at that revision, and the summaries of a mark."""

    count: int = 0
    mark: str = ""
    revision: str = ""
    over: str = ""


def chart(
    store: Store, session: Session, known: Known | None = None, courses: Courses | None = None
) -> dict[str, Any]:
    """What there is to draw; of what is *known* nothing but that it is still so. To be read in one snapshot.

    *courses*: what was read before, where it is asked for again and again.
    """
    known = known or Known()
    totals = store.totals(session.line)
    now = _revision(store, session, totals)
    if now == known.revision:
        return {"revision": now, "same": True}
    here = present(store, session)
    course = (courses or Courses()).of(session.line)
    course.look(store, totals, here.frame)
    return _drawn(store, session, now, known, here, course)


def whole(store: Store, session: Session) -> tuple[dict[str, Any], Course, list[Entry]]:
    """The chart of all of it, with what was read for it: whoever writes all of it needs that again."""
    totals, here, course = store.totals(session.line), present(store, session), Course(session.line)
    entries = course.look(store, totals, here.frame)
    now = _revision(store, session, totals)
    return _drawn(store, session, now, Known(), here, course), course, entries


def _drawn(
    store: Store, session: Session, now: str, known: Known, here: Present, course: Course
) -> dict[str, Any]:
    start = known.count if course.had(known.count, known.mark) else 0
    shown = {each.node.uid: each.level for each in here.blocks}
    nodes = [_node(course.nodes[uid], span, shown.get(uid)) for uid, span in course.spans.items()]
    over = _over(nodes)
    return {
        "revision": now,
        "same": False,
        "session": session.name,
        "count": len(course),
        "mark": course.mark,
        "start": start,
        "messages": course.messages(start),
        "over": over,
        "nodes": None if start and over == known.over else nodes,
        "passes": _passes(store, session, here, course.seqs),
        "present": _present(here, course.places),
    }


def _revision(store: Store, session: Session, totals: Totals) -> str:
    """Changes whenever the chart of the session does."""
    family = [each.name for each in store.sessions([session.line])]
    nodes = sum(totals.nodes.values())
    return f"{session.name}/{store.revision(session.line)}/{nodes}/{len(store.passes(family))}"


def _over(nodes: Sequence[Mapping[str, Any]]) -> str:
    """The same for the same summaries as the chart shows them."""
    said = "\n".join(
        f"{node['uid']} {node['span']} {node['shown_at']} {node['topic']}" for node in nodes
    )
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _node(node: Node, span: tuple[int, int], shown_at: int | None) -> dict[str, Any]:
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
        "shown_at": shown_at,
        "sources": [source.node for source in node.sources if source.node],
    }


def _passes(
    store: Store, session: Session, here: Present, seqs: Sequence[int]
) -> list[dict[str, Any]]:
    """Each compaction: how large the list was, and after how many messages it came."""
    frames = {node.uid: node for node in store.nodes([p.frame for p in here.passes if p.frame])}
    found: list[dict[str, Any]] = []
    at, rows = 0, 0
    for done in here.passes:
        frame = frames.get(done.frame)
        at = _place(done, at + done.rows_before - rows, seqs)
        if frame is not None and frame.line == session.line:
            at = max(at, bisect_left(seqs, frame.last_seq) + 1)
        at = min(max(at, 0), len(seqs))
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


def _present(here: Present, places: Mapping[int, int]) -> dict[str, Any]:
    """Which messages stand in the list word for word: places, and all from one on."""
    lifted = set(here.frame.lifted) if here.frame else set()
    behind = [entry for entry in here.behind if entry.id not in lifted]
    return {
        "tokens": here.tokens,
        "frame": here.frame.uid if here.frame else None,
        "since": here.since,
        "seen": here.is_seen or not here.passes,
        "parts": sorted(places[number] for number in here.parts if number in places),
        "from": places[behind[0].id] if behind else len(places),
        "lifted": sorted(places[number] for number in lifted if number in places),
        "messages": len(here.behind),
    }
