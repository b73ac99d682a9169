"""``export``: everything, or a session, as JSON lines, as Markdown, or the state turn by turn."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from ..dag.redact import redacted
from ..storage.protocol import Store
from ..storage.records import Session
from . import transfer
from .pointing import pointed
from .readable import markdown
from .screen import many, pour
from .states import state
from .verb import Answer, Call
from .writing import Counted, Manner, by_line, records

__all__ = ["FORMATS", "add", "pieces", "run"]

FORMATS: Final = ("jsonl", "markdown", "state")
_NAMED: Final = 10
#: Characters that are written at a time.
_AT_ONCE: Final = 1 << 16


def run(call: Call) -> Answer:
    """Write it to a file, or to standard output."""
    store = call.open()
    session = call.found() if call.session else None
    form = call.options.get("format") or FORMATS[0]
    redact = redacted if call.options.get("shareable") else None
    counted = Counted()
    manner = Manner(redact, call.progress or (lambda _what, _done, _total: None), counted)
    target = call.options.get("out") or ""
    with store.archive().snapshot():
        _look_through(store)
        path = _write(pieces(store, session, form, manner), target)
    data = {
        "export": path,
        "format": form,
        "session": session.name if session else None,
        "shareable": redact is not None,
        **asdict(counted),
    }
    return Answer(
        data, not counted.damaged, text=_view(data, call.options), to_stderr=not target, prose=True
    )


def _look_through(store: Store) -> None:
    """Read all but the messages once, so that a damaged file is known before anything is written.

    Raises:
        StoreDamaged: it is one.
    """
    sessions = store.sessions()
    lines = {each.line for each in sessions}
    for line in lines:
        store.nodes_on([line], kinds=["leaf", "condensed", "frame", "state"])
        store.entries(line)
    store.passes()
    store.archive().aliases(None)
    store.totals()


def _write(text: Iterator[str], target: str) -> str:
    """To the file of that name, which must be new, or to standard output; gives the whole name."""
    from ..storage.translation import translated
    from ..storage.whole import new_file

    if not target:
        for some in _by_size(text):
            pour(some)
        return ""
    path = Path(target).expanduser().absolute()
    with (
        new_file(path) as part,
        translated(str(path)),  # what the store cannot do is in our words by then
        part.open("w", encoding="utf-8", errors="replace", newline="\n") as file,
    ):
        file.writelines(text)
    return str(path)


def _by_size(text: Iterator[str]) -> Iterator[str]:
    """Pieces together: each is handed to the system by itself, and there are 100,000."""
    waiting, size = [], 0
    for piece in text:
        waiting.append(piece)
        size += len(piece)
        if size >= _AT_ONCE:
            yield "".join(waiting)
            waiting, size = [], 0
    yield "".join(waiting)


def _view(data: dict[str, Any], options: Mapping[str, Any]) -> str:
    held = [many(data["sessions"], "session"), many(data["messages"], "message")]
    if data["format"] == "jsonl":
        held += [many(data["versions"], "earlier version"), many(data["nodes"], "summary")]
    lines = [f"export: {data['export'] or 'written'}", f"It holds {', '.join(held)}."]
    if data["shareable"]:
        lines.append(
            "Secrets that are known as such were taken out. Read it before you share it: "
            "a secret that looks like any other word is still there."
        )
    if left := data["left_out"]:
        lines.append(f"Left out: {many(left, 'summary')}. What is under it is not whole.")
    if damaged := data["damaged"]:
        named = ", ".join(damaged[:_NAMED])
        is_not = "is not" if len(damaged) == 1 else "are not"
        lines.append(
            f"WRONG: {many(len(damaged), 'message')} could not be read and {is_not} in it: {named}. "
            f"{pointed('`hermes lcm verify` says more.', options)}"
        )
    return "\n".join(lines) + "\n"


def pieces(store: Store, session: Session | None, form: str, manner: Manner) -> Iterator[str]:
    """The text of an export of *session* (None: of everything), bit by bit."""
    if form == "jsonl":
        yield from map(transfer.as_line, records(store, session, manner))
        return
    # Sessions that the host rotated are one conversation, under the name of the last.
    sessions = [session] if session else list({s.line: s for s in store.sessions()}.values())
    if form == "state":
        yield from _states(store, sessions, manner)
        return
    for number, each in enumerate(sessions):
        yield "\n" if number else ""
        yield from markdown(store, each, manner)


def _states(store: Store, sessions: list[Session], manner: Manner) -> Iterator[str]:
    counted = manner.counted
    lines = by_line(store.sessions())  # asked for once: no index leads from a line to its sessions
    yield '{"sessions": ['
    for number, each in enumerate(sessions):
        found = state(store, each, lines[each.line], manner.redact)
        counted.sessions += 1
        counted.messages += found["messages"]
        counted.nodes += len(found["nodes"])
        yield ("," if number else "") + "\n" + json.dumps(found, indent=1)
        manner.progress("sessions", number + 1, len(sessions))
    yield "\n]}\n"


def add(parser: argparse.ArgumentParser) -> None:
    """In which form, where to, and for whom."""
    parser.add_argument(
        "--format",
        dest="lcm_format",
        choices=FORMATS,
        default=FORMATS[0],
        help="jsonl: verbatim, can be imported (default); markdown: to read; state: what stands "
        "for what, turn by turn, as one JSON object",
    )
    target = parser.add_mutually_exclusive_group()
    how: Any = {"dest": "lcm_out", "metavar": "FILE", "default": argparse.SUPPRESS}
    target.add_argument(nargs="?", help="a new file (default: standard output)", **how)
    target.add_argument("--out", help="the same", **how)
    parser.add_argument(
        "--shareable",
        dest="lcm_shareable",
        action="store_true",
        help="without secrets that are known as such, and, as jsonl, without summaries",
    )
