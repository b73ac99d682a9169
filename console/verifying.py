"""``verify``: what was checked, how much of it there was, and what is wrong."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..storage.errors import StoreBusy, StoreForeign
from .report import Finding, Report
from .screen import grid, many
from .verb import Answer, Call, WrongCall
from .verify import HostLogAt, verify

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["add", "check", "run"]


def check(options: Mapping[str, Any]) -> None:
    """A part cannot be accounted for without the rest."""
    if options.get("session"):
        raise WrongCall("`verify` checks all sessions. `show --session ID` is about one.")


def run(call: Call) -> Answer:
    """Check the whole store."""
    report = verify(call.open(), call.progress, _host_log(call))
    return Answer(report.data(), report.good, _view(report))


def _host_log(call: Call) -> HostLogAt | None:
    """Hermes's own log: as named, else of the home that is named, else of the one that the database lies in."""
    alone = call.facts is None
    if named := call.options.get("host_db"):
        return HostLogAt(
            _hermes_log(Path(named).expanduser(), alone=alone), asked_for=True, alone=alone
        )
    if home := call.options.get("home"):
        return HostLogAt(Path(home).expanduser() / "state.db", alone=alone)
    folder = Path(call.path).resolve().parent
    return HostLogAt(folder.parent / "state.db", alone=alone) if folder.name == "lcm" else None


def _hermes_log(path: Path, *, alone: bool) -> Path:
    """*path*, if it is a log of Hermes's.

    Raises:
        LookupError: it is something else; nothing is wrong with the store then.
        StoreError: it cannot be read.
    """
    from ..storage.host_log import open_host_log  # SQLite, which a shell must not pay for

    if path.is_dir():
        raise LookupError(f"{path} is a folder. --host-db takes Hermes's own state.db.")
    if not path.exists():
        raise LookupError(f"There is no file `{path}`. --host-db takes Hermes's own state.db.")
    try:
        with open_host_log(path, alone=alone):
            pass
    except StoreBusy:
        pass  # Hermes writes to it: it is looked through again with locks
    except StoreForeign as error:
        raise LookupError(
            f"{path} is no Hermes database. --host-db takes Hermes's own state.db; nothing was checked."
        ) from error
    return path


def add(parser: argparse.ArgumentParser) -> None:
    """Where Hermes's own log is."""
    parser.add_argument(
        "--host-db",
        dest="lcm_host_db",
        metavar="PATH",
        help="Hermes's own log, read only (default: state.db in the same Hermes home)",
    )


def _view(report: Report) -> list[RenderableType]:
    from rich.text import Text

    counts = report.counts
    earlier = many(counts.versions, "earlier version")
    frames = many(counts.frames, "summary row")
    if counts.states:
        frames += f", {many(counts.states, 'state')} by turn"
    rows = [
        ("database", report.database or "in memory"),
        ("messages", f"{counts.messages:,}, and {earlier}: each digest from its bytes"),
        ("summaries", f"{counts.nodes:,}, and {frames}: each uid from texts and sources"),
        ("edges", f"{counts.edges:,}: whether each leads somewhere, and none in a circle"),
        ("sessions", f"{counts.sessions:,}: whether summary and rest hold each message once"),
        ("withdrawn", f"{counts.withdrawn:,}: kept, and no longer in a conversation"),
    ]
    if counts.forgotten:
        rows.append(
            ("forgotten", f"{counts.forgotten:,}: on request; what stands there is what was put")
        )
    rows.append(("Hermes", _of_host(report)))
    shown: list[RenderableType] = [grid([(f"checked {name}", said) for name, said in rows])]
    if report.notes:
        shown.append(grid([("note", _found(each)) for each in report.notes]))
    if report.failures:
        shown.append(grid([("WRONG", _found(each)) for each in report.failures]))
    shown.append(Text(report.verdict, style="bold green" if report.good else "bold red"))
    return shown


def _found(each: Finding) -> str:
    """A finding; what the graph calls a node is a summary everywhere else."""
    kind = "summary" if each.kind == "node" else each.kind
    return f"{kind} {each.uid}: {each.what}"


def _of_host(report: Report) -> str:
    host = report.host
    if host is None:
        return f"its own log was not looked at: {report.unread}"
    rows = f"{many(host.rows, 'row')} of {many(host.sessions, 'session')} in {host.path}"
    why = "its log has a message once more for each compaction that left it in the list"
    left_out = f"{host.own:,} written by lcm itself, {host.system:,} of the system"
    return f"{rows} ({why}): {host.found:,} of messages that are here, {left_out}"
