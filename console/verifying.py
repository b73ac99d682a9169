"""``verify``: what was checked, how much of it there was, and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .report import Report
from .screen import grid, many
from .verb import Answer, Call, Verb
from .verify import verify

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["VERB"]


def run(call: Call) -> Answer:
    """Check the whole store; a session that is named must be there."""
    if call.session:
        call.found()
    report = verify(call.open(), call.progress)
    return Answer(report.data(), report.good, _view(report))


def _view(report: Report) -> list[RenderableType]:
    from rich.text import Text

    counts = report.counts
    earlier = many(counts.versions, "earlier version")
    frames = many(counts.frames, "summary row")
    rows = [
        ("database", report.database or "in memory"),
        ("messages", f"{counts.messages:,}, and {earlier}: each digest from its bytes"),
        ("nodes", f"{counts.nodes:,}, and {frames}: each uid from texts and sources"),
        ("edges", f"{counts.edges:,}: whether each leads somewhere, and none in a circle"),
        ("sessions", f"{counts.sessions:,}: whether summary and rest hold each message once"),
        ("withdrawn", f"{counts.withdrawn:,}: kept, and no longer in a conversation"),
    ]
    if counts.forgotten:
        rows.append(
            ("forgotten", f"{counts.forgotten:,}: on request; what stands there is what was put")
        )
    shown: list[RenderableType] = [grid([(f"checked {name}", said) for name, said in rows])]
    if report.notes:
        shown.append(
            grid([("note", f"{each.kind} {each.uid}: {each.what}") for each in report.notes])
        )
    if report.failures:
        shown.append(
            grid([("WRONG", f"{each.kind} {each.uid}: {each.what}") for each in report.failures])
        )
    shown.append(Text(report.verdict, style="bold green" if report.good else "bold red"))
    return shown


VERB = Verb(
    "verify", "re-derive every digest and account for every message", run, examples=("", "--json")
)
