"""``sessions``: what conversations there are, how long each is, and where it comes from."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..storage.archive import LineTotals
from ..storage.protocol import Store
from ..storage.records import Session
from ..tools.describe import minute, stamp
from .screen import clean, many
from .status import no_session
from .transfer import ORIGIN
from .verb import Answer, Call, WrongCall

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["add", "check", "gather", "run", "view"]

#: Shown unless all are asked for.
_NEWEST: Final = 50


def gather(store: Store) -> list[dict[str, Any]]:
    """Every session, the one with the newest message first; counts are those of its conversation.

    Sessions that the host rotated are one conversation: each but the last says into which it went on.
    """
    sessions = store.sessions()
    totals = store.archive().overview()
    last = {session.line: session.name for session in sessions}
    found = [
        _session(
            each,
            totals.get(each.line, LineTotals()),
            last[each.line],
            store.recall(each.name, ORIGIN),
        )
        for each in sessions
    ]
    # Sessions of one conversation stay together, the newest of them first.
    order = {name: place for place, name in enumerate(each.name for each in sessions)}
    return sorted(
        found, key=lambda each: (each["used"], each["line"], order[each["session"]]), reverse=True
    )


def _session(session: Session, totals: LineTotals, last: str, origin: Any) -> dict[str, Any]:
    return {
        "session": session.name,
        "relation": session.relation,
        "parent": session.parent or None,
        "continued_as": last if last != session.name else None,
        "origin": origin,
        "line": session.line,
        "messages": totals.messages,
        "withdrawn": totals.withdrawn,
        "turns": totals.turns,
        "nodes": totals.nodes,
        "created": stamp(session.created),
        "first": stamp(totals.first) if totals.messages else None,
        "last": stamp(totals.last) if totals.messages else None,
        "used": totals.last or session.created,
    }


def _origin(origin: Any) -> str:
    """Program and file; whatever else may stand there, as it is."""
    if isinstance(origin, dict) and {"program", "file"} <= origin.keys():
        return f"{origin['program']}: {origin['file']}"
    return str(origin)


def view(sessions: Sequence[Mapping[str, Any]], *, everything: bool) -> list[RenderableType]:
    """A table; a session that went on under another name has its counts there."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("session", "messages", "turns", "summaries", "first", "last"):
        right = name in ("messages", "turns", "summaries")
        table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=right)
    shown = sessions if everything else sessions[:_NEWEST]
    for each in shown:
        called = Text(clean(each["session"]))
        if said := _whence(each):
            called.append(f"\n  {clean(said)}", style="dim")
        counts = [f"{each[key]:,}" for key in ("messages", "turns", "nodes")]
        times = [minute(each[key]) for key in ("first", "last")]
        table.add_row(
            called, *(["", "", "", "", ""] if each["continued_as"] else [*counts, *times])
        )
    more = len(sessions) - len(shown)
    note = f"; {many(more, 'older one')} with --all" if more else ""
    return [table, Text(f"{many(len(sessions), 'session')}{note}", style="dim")]


def _whence(each: Mapping[str, Any]) -> str:
    said = []
    if each["parent"]:
        said.append(f"{each['relation']} of {each['parent']}")
    if each["origin"]:
        said.append(f"imported from {_origin(each['origin'])}")
    if each["continued_as"]:
        said.append(f"goes on as {each['continued_as']}")
    return "; ".join(said)


def run(call: Call) -> Answer:
    """List them."""
    found = gather(call.open())
    if not found:
        return Answer({"sessions": []}, shown=[no_session(call.store, call.facts)])
    return Answer({"sessions": found}, shown=view(found, everything=bool(call.options.get("all"))))


def check(options: Mapping[str, Any]) -> None:
    """One of them is what other verbs are about."""
    if options.get("session"):
        raise WrongCall("`sessions` lists them all. `status --session ID` is about one.")


def add(parser: argparse.ArgumentParser) -> None:
    """How many."""
    parser.add_argument(
        "--all", dest="lcm_all", action="store_true", help=f"not only the {_NEWEST} last used ones"
    )
