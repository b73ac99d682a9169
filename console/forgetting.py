"""What ``forget`` would do, or has done, in words; never the string itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..dag.erase import GONE
from .pointing import pointed
from .screen import clean, many

__all__ = ["BEFORE", "FULL", "LEFT", "STAYS", "WIPED", "is_nowhere", "view"]

_LISTED: Final = 12
LEFT: Final = (
    "Old bytes may still be in the file, because another process is using it just now. "
    "`forget --finish` wipes them when it is free."
)
FULL: Final = (
    "{} Old bytes are still in the file until that is mended; then `forget --finish` wipes them."
)
BEFORE: Final = (
    "Old bytes of what was forgotten before may still be in the file. `forget --finish` wipes them."
)
WIPED: Final = "Old bytes of what was forgotten before were still in the file; they are wiped now."
_TOLD: Final = (
    "Parts of it that stand in the summaries over it go too. What a model wrote there in other words is not known "
    "and stays. Look with `show UID` at"
)
STAYS: Final = "It stands only where it cannot be taken out."
_CASES: Final = {
    "lower": "in small letters in {}",
    "upper": "in capitals in {}",
    "title": "each word with a capital in {}",
    "capitalized": "the first word with a capital in {}",
}


def view(data: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """What goes, or went, in words; *options*: those of the call, of which the next one names the same database."""
    done = "scrubbed" in data
    lines = [] if is_nowhere(data) else [_head(data["what"], done=done)]
    if data["what"] == "session":
        lines.append(f"  {many(len(data['sessions']), 'session')}: {', '.join(data['sessions'])}")
    if lines:
        lines.append(f"  {many(len(data['messages']), 'message')}{_names(data['messages'])}")
    if data.get("versions", 0) > len(data["messages"]):
        lines.append(f"  in {data['versions']:,} versions, the earlier ones included")
    lines += [*(_nodes(data) if lines else []), *_also(data, options), *_in_another_case(data)]
    lines += _elsewhere(data)
    return clean("\n".join(lines)) + "\n"


def _elsewhere(data: Mapping[str, Any]) -> list[str]:
    """What still holds it."""
    lines = []
    if data.get("backup"):
        lines.append(f"Backup: `{data['backup']}`. It still holds what was forgotten.")
    if data.get("older_backups"):
        lines.append(f"Backups that may still hold it: {', '.join(data['older_backups'])}")
    if data.get("not_scrubbed"):
        lines.append(data["not_scrubbed"])
    if data.get("not_touched"):
        lines.append(data["not_touched"])
    if data.get("hermes_database"):
        # Indented, for a path is not to be broken.
        lines.append(f"  session database: {data['hermes_database']}")
    if data.get("note"):
        lines.append(data["note"])
    return lines


def _head(what: str, *, done: bool) -> str:
    """A string goes out of messages that stay; a session goes with them."""
    if what == "text":
        return f"{'Replaced' if done else 'It would be replaced'} by {GONE} in:"
    return "Forgotten:" if done else "This would go:"


def _in_another_case(data: Mapping[str, Any]) -> list[str]:
    """Where it stands with other letters large; how they differ, for the string itself is never shown."""
    found = data.get("other_case") or {"messages": 0}
    if not found["messages"]:
        return []
    forms = ", ".join(_CASES[name].format(f"{count:,}") for name, count in found["forms"].items())
    where = many(found["messages"], "message")
    said = f"It also stands in another case in {where}; upper and lower case count."
    return [f"{said} To be rid of it there, forget these as well: {forms}."]


def _nodes(data: Mapping[str, Any]) -> list[str]:
    """How many summaries, and as `verify` counts them: rows that showed some are no summaries."""
    count, rows = len(data["nodes"]), data["rows"]
    if not count and data.get("told"):
        return []  # parts of it go from those, and are told below
    beside = f", and {_rows(rows)}" if rows else ""
    return [f"  {many(count - rows, 'summary')}{beside}{_names(data['nodes'])}"]


def _rows(count: int) -> str:
    return f"{many(count, 'summary row')} or {'state' if count == 1 else 'states'} by turn"


def _also(data: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """What stays, and why."""
    lines = []
    if data.get("shared"):
        kept = ", ".join(data["branches"]) or "the session that it was branched from"
        lines.append(f"It stays: {many(data['shared'], 'message')} that {kept} shows too.")
    if data.get("session_names"):
        lines.append(f"It stays in the names of: {', '.join(data['session_names'])}")
    if data.get("uids"):
        lines.append(f"  {many(data['uids'], 'uid')} of messages; each gets another in its place")
    if data.get("told"):
        told = pointed(_TOLD, options)
        lines.append(f"{told} {many(len(data['told']), 'summary')}{_names(data['told'])}")
    if data.get("left") and "scrubbed" in data:
        lines.append(
            f"NOT DONE: it still stands in {_places(data['left'])}. That cannot be taken out."
        )
    elif data.get("left") and str(data.get("note")).startswith(STAYS):
        lines.append(f"It stands in {_places(data['left'])}.")
    return lines


#: What stands in the tables of a store.
_WORDS: Final = {
    "messages": "message",
    "versions": "earlier version",
    "payloads": "large text",
    "aliases": "other name of a message",
    "nodes": "summary",
    "sessions": "session's name",
    "memory": "note on a session",
    "passes": "record of a compaction",
    "forgotten": "record of what was forgotten",
}


def _places(left: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} x {_WORDS.get(table, table)}" for table, count in left.items())


def _names(uids: list[str]) -> str:
    """The first of them, as they are shown elsewhere."""
    if not uids:
        return ""
    more = " …" if len(uids) > _LISTED else ""
    return f": {' '.join(uid[:8] for uid in uids[:_LISTED])}{more}"


def is_nowhere(data: Mapping[str, Any]) -> bool:
    """Whether a string stands in nothing that could go."""
    return data["what"] == "text" and not (data["versions"] or data["nodes"] or data["uids"])
