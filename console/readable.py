"""The export for people: a conversation in Markdown, word for word.

What was said is quoted, so that a heading or a fence in it does not break what stands around it;
calls and results of tools stand in fences longer than any inside. Control characters are made visible.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ..dag.erase import Cleaner
from ..storage.canon import decode
from ..storage.proof import read_whole
from ..storage.protocol import Store
from ..storage.records import Entry, Message, Session
from ..storage.text import content_text
from ..tools.describe import stamp
from .screen import clean, many
from .writing import Manner, batches

__all__ = ["markdown"]

_TICKS: Final = re.compile(r"`+")
_SHOWN: Final = frozenset({"role", "content", "tool_calls", "tool_name", "name", "tool_call_id"})
#: How a provider says that an answer ended as it should: nothing to read.
_ENDED: Final = frozenset({"stop", "tool_calls", "end_turn", "tool_use"})
_LEAST_FENCE: Final = 3


def markdown(store: Store, session: Session, manner: Manner) -> Iterator[str]:
    """The conversation of *session*, in pieces."""
    cleaner = Cleaner(manner.redact)
    entries = [
        entry._replace(uid=cleaner.name(entry.uid), role=cleaner.text(entry.role))
        for entry in store.entries(session.line)
    ]
    session = replace(session, name=cleaner.name(session.name), parent=cleaner.name(session.parent))
    yield _head(session, entries, shareable=manner.redact is not None)
    manner.counted.sessions += 1
    turn, done = -1, 0
    for part in batches(entries):
        for entry, message in zip(part, read_whole(store, [(e.id, 0) for e in part]), strict=True):
            if entry.turn != turn:
                turn = entry.turn
                yield f"\n## Turn {turn}\n" if turn else "\n## Before the first turn\n"
            if message is None:
                manner.counted.damaged.append(entry.uid)
                yield f"\n### {entry.role} ({entry.uid[:8]}): damaged, cannot be read\n"
                continue
            row = decode(message.body)
            if manner.redact is not None:
                row = cleaner.row(row)
            manner.counted.messages += 1
            yield _message(entry, message, row)
        done += len(part)
        manner.progress("messages", done, len(entries))


def _head(session: Session, entries: list[Entry], *, shareable: bool) -> str:
    said = [f"# Session {_flat(session.name)}\n"]
    if session.relation != "new":
        said.append(f"{session.relation.capitalize()} of {_flat(session.parent)}.")
    withdrawn = sum(entry.withdrawn for entry in entries)
    said.append(f"{many(len(entries), 'message')}, {withdrawn:,} of them withdrawn.")
    if shareable:
        said.append("Secrets that are known as such were taken out: an export to be shared.")
    return "\n".join(said) + "\n"


def _message(entry: Entry, message: Message, row: Mapping[str, Any]) -> str:
    when = stamp(message.time).replace("T", " ").replace("Z", " UTC")
    marks = [entry.uid[:8], when]
    if message.versions > 1:
        marks.append(f"version {message.versions}")
    if entry.withdrawn:
        marks.append("withdrawn")
    name = row.get("tool_name") or row.get("name")
    role = f"{entry.role} {name}" if isinstance(name, str) else entry.role
    parts = [f"\n### {_flat(role)} ({', '.join(marks)})\n"]
    text = content_text(row.get("content"))
    if text:
        parts.append(_fenced(text) if entry.role == "tool" else _quoted(text))
    rest = {key: value for key, value in row.items() if key not in _SHOWN and value}
    if rest.get("finish_reason") in _ENDED:
        del rest["finish_reason"]
    if row.get("tool_calls"):
        rest = {"tool_calls": row["tool_calls"], **rest}
    if not isinstance(row.get("content"), str | None):
        rest = {"content": row["content"], **rest}
    if rest:
        lead = "\n" if text else ""
        parts.append(lead + _fenced(json.dumps(rest, ensure_ascii=False, indent=1), "json"))
    return "\n".join(parts) + "\n"


def _flat(text: str) -> str:
    return clean(" ".join(text.split()))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in clean(text).split("\n"))


def _fenced(text: str, language: str = "") -> str:
    longest = max((len(found) for found in _TICKS.findall(text)), default=0)
    fence = "`" * max(_LEAST_FENCE, longest + 1)
    return f"{fence}{language}\n{clean(text)}\n{fence}"
