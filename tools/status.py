"""``lcm_status``: what is kept, what it costs, and whether all is well."""

from __future__ import annotations

from typing import Any

from .describe import stamp
from .desk import Desk

__all__ = ["status"]


def status(desk: Desk) -> dict[str, Any]:
    """Counts, budget, last compaction and integrity, in one screen."""
    totals = desk.store.totals(desk.session.line)
    everything = desk.store.totals()
    family = [each.name for each in desk.store.sessions() if each.line == desk.session.line]
    before = family[: family.index(desk.session.name)]
    passes = desk.store.passes(family)
    answer: dict[str, Any] = {
        "session": desk.session.name,
        "rotated_from": before,
        "database": desk.store.path or "in memory, nothing is written",
        "database_bytes": everything.bytes,
        "messages": totals.messages,
        "withdrawn": totals.withdrawn,
        "earlier_versions": totals.versions,
        "nodes_by_depth": {str(depth): count for depth, count in totals.nodes.items()},
        "degraded_nodes": totals.degraded,
        "sessions": everything.sessions,
        "messages_in_all_sessions": everything.messages,
        "compactions": len(passes),
    }
    if passes:
        last = passes[-1]
        answer["last_compaction"] = {
            "time": stamp(last.time),
            "tokens_before": last.tokens_before,
            "tokens_after": last.tokens_after,
            "rows_before": last.rows_before,
            "rows_after": last.rows_after,
        }
    return answer | dict(desk.facts)
