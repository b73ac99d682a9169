"""``lcm_status``: what is kept, what it costs, and whether all is well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dag.ahead_record import AheadRecord
from ..dag.meter import spent_by, totals_of
from ..dag.taken import taken
from ..storage.protocol import Store
from .describe import stamp
from .desk import Desk

__all__ = ["DOCTOR", "of_store", "said_briefly", "status", "warning"]


def status(desk: Desk) -> dict[str, Any]:
    """Counts, budget, last compaction and integrity, in one screen."""
    totals = desk.store.totals(desk.session.line)
    everything = desk.store.totals()
    family = [each.name for each in desk.store.sessions([desk.session.line])]
    before = family[: family.index(desk.session.name)]
    passes = taken(desk.store, family)
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
    if spent := spent_by(desk.store, family):
        answer["model_calls"] = totals_of(spent)
    if ahead := _ahead(desk.store, family):
        answer["ahead"] = ahead
    problems = [*of_store(desk.store), *desk.facts.get("problems", ())]
    said = {"warning": warning(problems)} if problems else {}
    return said | answer | dict(desk.facts)


def _ahead(store: Store, sessions: Sequence[str]) -> dict[str, Any]:
    """What was prepared between turns; {} if nothing was tried."""
    records = [AheadRecord.of(store, session) for session in sessions]
    last = AheadRecord.newest(records)
    if not (last.time or last.failed):
        return {}
    said: dict[str, Any] = {
        "nodes": sum(record.nodes for record in records),
        "repaired": sum(record.repaired for record in records),
        "last": stamp(last.time) if last.time else None,
    }
    return said | ({"failures": last.failures, "why": last.why} if last.failures else {})


def of_store(store: Store) -> list[str]:
    """What the store itself remembers to be wrong; the doctor looks at more."""
    found = []
    if store.recall("", "index_broken"):
        found += ["the search index is broken, and searching reads the log instead"]
    if not store.eraser().is_scrubbed():
        found += ["old bytes of what was forgotten may still be in the file"]
    return found


def warning(problems: Sequence[str]) -> str:
    """All *problems* in one line: how many, the most serious, which is the first, and who knows what to do."""
    count = "" if len(problems) == 1 else f"{len(problems)} things, the worst: "
    return f"{count}{said_briefly(problems[0])} {DOCTOR}"


def said_briefly(problem: str) -> str:
    """*problem* as one sentence that is not too long."""
    said = " ".join(problem.split())
    if len(said) > _LONGEST:
        said = f"{said[: _LONGEST - 1]}\u2026"
    return said if said[-1:] in (".", "!", "?") else f"{said}."


DOCTOR = "`hermes lcm doctor` says what to do."


#: Characters of a problem that are shown in one line with others.
_LONGEST = 240
