"""The explorer's page, and what it may ask: the same for the server, the host's dashboard and a file.

Its policy lets it run its own script and style and nothing else: what is in a conversation is text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from ..storage.canon import dumper
from ..storage.protocol import Store
from ..storage.records import Session
from ..tools.answers import ToolError
from . import finding, pieces, search, sessions
from .chart import Known, chart, whole
from .course import Courses
from .passages import passages
from .verb import Progress, find_session, last_used

__all__ = ["ASKED", "Written", "answer", "framed", "page", "policy", "standalone"]

_ASSETS: Final = Path(__file__).parent / "assets"
_STYLES: Final = ("vendor/uplot.css", "explorer.css")
_SCRIPTS: Final = (
    "vendor/uplot.js",
    "origin.js",
    "words.js",
    "query.js",
    "postings.js",
    "places.js",
    "lookup.js",
    "when.js",
    "manner.js",
    "find.js",
    "hover.js",
    "graph.js",
    "curve.js",
    "panel.js",
    "page.js",
)
_MOST_RESULTS: Final = 50
_as_json: Final = dumper(json.JSONEncoder(separators=(",", ":")))
#: What could end the element that data stands in, as JSON has it too.
_SPELT: Final = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"))


# the page


@cache
def _script() -> str:
    library, *ours = [(_ASSETS / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    return f"{library}\n(() => {{\n'use strict';\n{''.join(ours)}}})();\n"


@cache
def _style() -> str:
    return "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in _STYLES)


@cache
def policy(connect: str) -> str:
    """The content security policy; *connect*: from where the page may fetch."""
    script, style = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (_script(), _style())
    )
    return (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src {connect}; "
        "base-uri 'none'; form-action 'none'"
    )


def page() -> str:
    """The page that asks its server."""
    return "".join(_page("'self'", iter(())))


def framed() -> str:
    """The page that asks who framed it."""
    return "".join(_page("'none'", iter(())))


def _page(connect: str, data: Iterator[str]) -> Iterator[str]:
    text = (_ASSETS / "explorer.html").read_text(encoding="utf-8")
    text = text.replace("{{policy}}", policy(connect)).replace("{{style}}", _style())
    head, tail = text.split("{{data}}")
    yield head
    yield from data
    yield tail.replace("{{script}}", _script())


@dataclass(slots=True)
class Written:
    """What is in a page of its own, known when it is written."""

    messages: int = 0
    damaged: int = 0
    """Messages of which a version cannot be read, and is marked as such."""


def standalone(
    store: Store, session: Session, progress: Progress, written: Written
) -> Iterator[str]:
    """The page with all of a session in it, in pieces; of one moment if it is read within a snapshot."""
    yield from _page("'none'", _data(store, session, progress, written))


def _data(store: Store, session: Session, progress: Progress, written: Written) -> Iterator[str]:
    drawn, course, entries = whole(store, session)
    yield _block("chart", drawn)
    yield _block("rule", finding.rule())
    lines, uids = store.lineage(session.line), {entry.id: entry.uid for entry in entries}
    nodes = [n for n in course.nodes.values() if n.line in lines or n.uid in course.spans]
    yield _block("nodes", pieces.nodes(nodes, uids))
    searched = finding.Searched()
    done, names = 0, store.archive().aliases(None)
    for number, (many, text) in enumerate(passages(store, entries, names, searched)):
        yield _element(f"messages-{number}", text)
        done += many
        progress("messages", done, drawn["count"])
    written.messages, written.damaged = done, searched.damaged
    yield _block("found", finding.told(store, session, entries, list(course.spans)))


def _block(name: str, value: Any) -> str:
    return _element(name, _as_json(value))


def _element(name: str, text: str) -> str:
    """Data for the page, as JSON; nothing in it can end the element that it stands in."""
    for sign, spelt in _SPELT:
        if sign in text:  # a tenth of what it takes to replace none
            text = text.replace(sign, spelt)
    return f'<script type="application/json" id="{name}">{text}</script>\n'


# what it asks


def answer(
    store: Store, name: str, asked: Mapping[str, str], courses: Courses | None = None
) -> dict[str, Any]:
    """The answer to a question of the page; *courses*: what earlier ones have read.

    Raises:
        ToolError: it is none, or cannot be answered.
        LookupError: there is no such session.
    """
    if name == "chart":
        return _chart(store, asked, courses)
    ask = ASKED.get(name)
    if ask is None:
        raise ToolError(f"Nothing answers to '{name[:40]}'.", "")
    return ask(store, asked)


def _session(store: Store, asked: Mapping[str, str]) -> Session:
    name = asked.get("session", "")
    found = store.session(name) if name else find_session(store, "")
    if found is None:
        raise LookupError(f"There is no session {name!r}." if name else "There is no session yet.")
    return found


def _sessions(store: Store, _asked: Mapping[str, str]) -> dict[str, Any]:
    listed = [each for each in sessions.gather(store) if not each["continued_as"]]
    chosen = last_used(store)
    return {
        "sessions": [{"session": each["session"], "messages": each["messages"]} for each in listed],
        "chosen": chosen.name if chosen else None,
    }


def _chart(
    store: Store, asked: Mapping[str, str], courses: Courses | None = None
) -> dict[str, Any]:
    marks = (asked.get(name, "") for name in ("mark", "revision", "over"))
    known = Known(_number(asked, "count"), *marks)
    with store.archive().snapshot():
        return chart(store, _session(store, asked), known, courses)


def _node(store: Store, asked: Mapping[str, str]) -> dict[str, Any]:
    return pieces.node(store, _session(store, asked), asked.get("uid", ""))


def _messages(store: Store, asked: Mapping[str, str]) -> dict[str, Any]:
    ends = asked.get("first", ""), asked.get("last", "")
    return {"messages": pieces.messages(store, _session(store, asked), *ends)}


def _search(store: Store, asked: Mapping[str, str]) -> dict[str, Any]:
    query, mode = asked.get("query", ""), asked.get("mode", "auto")
    found = search.gather(
        store, _session(store, asked), query, mode=mode or "auto", limit=_MOST_RESULTS
    )
    # What to call next is said to an agent; what a person can try, the page says.
    advice = "lcm_expand(" if found["results"] else " Try other words"
    return {**found, "note": found["note"].partition(advice)[0].strip()}


def _number(asked: Mapping[str, str], name: str) -> int:
    text = asked.get(name) or "0"
    if not text.isdecimal() or len(text) > 9:  # noqa: PLR2004 - no conversation has as many messages
        raise ToolError(f"{name} is no number.", "")
    return int(text)


ASKED: Final[Mapping[str, Callable[[Store, Mapping[str, str]], dict[str, Any]]]] = {
    "sessions": _sessions,
    "chart": _chart,
    "node": _node,
    "messages": _messages,
    "search": _search,
}
