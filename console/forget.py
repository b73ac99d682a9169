"""``forget``: takes a session, or a string, out of the database for good, after showing what goes.

The string is read from standard input or a prompt, so that it does not stay in a shell's history.
It is never printed. Nothing changes without a yes.
"""

from __future__ import annotations

import argparse
import getpass
import sys
import time as clock
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..dag.forget import (
    LEAST_CHARACTERS,
    SessionPlan,
    TextPlan,
    forget_session,
    forget_text,
    plan_session,
    plan_text,
)
from ..storage.protocol import Store
from ..storage.records import Session
from .backup import make_backup
from .screen import clean, many, put
from .verb import Answer, Call, WrongCall, find_session

__all__ = ["add", "check", "run"]

_LISTED: Final = 12
_DECLINED: Final = "Nothing was changed."
_NOT_DONE: Final = "Nothing was changed. To do it, add --yes."
_LEFT: Final = (
    "Old bytes may still be in the file, because another process is using it just now. "
    "`forget --finish` wipes them when it is free."
)
_TOLD: Final = (
    "Parts of it that stand in the summaries over it go too. What a model wrote there in other words is not known "
    "and stays. Look with `show UID` at"
)
_NOWHERE: Final = "It stands nowhere in the database. Nothing was changed."
_STAYS: Final = "It stands only where it cannot be taken out. Nothing was changed."
_ELSEWHERE: Final = (
    "Not touched: what Hermes keeps itself (its session database, its logs), the list of an agent that "
    "is running now, and backups and exports made before."
)


def run(call: Call) -> Answer:
    """Show what would go, ask, and do it."""
    options = call.options
    if options.get("finish"):
        return _finished(call)
    text = options.get("text")
    return _session(call) if text is None else _text(call, text or _asked_for())


def check(options: Mapping[str, Any]) -> None:
    """One thing at a time."""
    if options.get("finish"):
        if options.get("text") is not None or options.get("session"):
            raise WrongCall(
                "--finish goes alone: it forgets nothing more, and only wipes old bytes."
            )
        return
    if (options.get("text") is None) == (not options.get("session")):
        raise WrongCall("Say what to forget: --session ID, or --text for a string; one of them.")


def _finished(call: Call) -> Answer:
    scrubbed = call.open().eraser().scrub()
    said = "Nothing that was deleted is left in the file." if scrubbed else _LEFT
    return Answer({"scrubbed": scrubbed, "note": said}, scrubbed, text=f"{said}\n", prose=True)


def _session(call: Call) -> Answer:
    store = call.open()
    if store.session(call.session) is None and store.eraser().is_forgotten(call.session):
        data = _of_session(SessionPlan(0, (call.session,), (), 0, (), ()))
        data |= {"done": False, "note": "It was forgotten already. Nothing was changed."}
        return Answer(data, text=f"{clean(call.session)}: {data['note']}\n", prose=True)
    session = _meant(call, store)
    return _settle(
        call,
        lambda: _of_session(plan_session(store, session)),
        lambda: _of_session(forget_session(store, session, clock.time(), call.progress)),
    )


def _meant(call: Call, store: Store) -> Session:
    """The session to forget: who is not asked gives its whole id, for a beginning may be another's.

    Raises:
        LookupError: nothing, or more than one, is called so, or only its beginning was given.
    """
    session = find_session(store, call.session)
    if session is None:
        raise LookupError(f"There is no session {call.session!r}.")
    if session.name != call.session and call.options.get("yes"):
        raise LookupError(
            f"There is no session {call.session!r}. {session.name!r} begins so; with --yes give the whole id."
        )
    return session


def _text(call: Call, text: str) -> Answer:
    store = call.open()
    if len(text.strip()) < LEAST_CHARACTERS:
        raise LookupError(f"The string must have {LEAST_CHARACTERS} characters at least.")
    return _settle(
        call,
        lambda: _of_text(store, plan_text(store, text, call.progress)),
        lambda: _of_text(store, forget_text(store, text, clock.time(), call.progress)),
    )


def _of_session(plan: SessionPlan) -> dict[str, Any]:
    return {
        "what": "session",
        "sessions": list(plan.sessions),
        "messages": [entry.uid for entry in plan.entries],
        "nodes": list(plan.nodes),
        "rows": plan.rows,
        "shared": plan.shared,
        "branches": list(plan.branches),
    }


def _of_text(store: Store, plan: TextPlan) -> dict[str, Any]:
    return {
        "what": "text",
        "messages": list(dict.fromkeys(message.uid for message in plan.messages)),
        "versions": len(plan.messages),
        "nodes": list(plan.nodes),
        "rows": sum(node.kind not in ("leaf", "condensed") for node in store.nodes(plan.nodes)),
        "uids": len(plan.uids),
        "told": list(plan.told),
        "session_names": list(plan.names),
        "left": dict(plan.left),
    }


def _settle(
    call: Call, plan: Callable[[], dict[str, Any]], do: Callable[[], dict[str, Any]]
) -> Answer:
    """Show, ask, keep a backup where one is wanted, and do it.

    Who agreed before is shown what went, and nothing is looked for twice.
    """
    agreed = bool(call.options.get("yes"))
    copies = {"note": _ELSEWHERE, "older_backups": _backups(call.path)}
    if agreed and call.options.get("backup") is None:
        return _done(call, do(), copies)
    data = plan()
    if _is_nowhere(data):
        return _nowhere(data)
    data |= copies
    asked = not agreed and sys.stdin.isatty() and not call.options.get("json")
    if asked:
        put(_view(data), sys.stderr)
        agreed = _says_yes("Forget it? This cannot be undone. [y/N] ")
        if agreed and call.options.get("backup") is None and _says_yes(_OFFER):
            call = _with_backup(call)
    if not agreed:
        data |= {"done": False, "note": _DECLINED if asked else _NOT_DONE}
        text = f"{_DECLINED}\n" if asked else _view(data)  # who was asked has seen what would go
        return Answer(data, good=False, text=text, prose=True)
    if call.options.get("backup") is not None:
        copies["backup"] = make_backup(call.path, call.options["backup"], call.progress).path
    return _done(call, do(), copies)


def _done(call: Call, data: dict[str, Any], copies: Mapping[str, Any]) -> Answer:
    """What went, once its old bytes are wiped."""
    if _is_nowhere(data):
        return _nowhere(data)
    data |= {**copies, "scrubbed": call.open().eraser().scrub(), "done": not data.get("left")}
    return Answer(data, good=bool(data["scrubbed"] and data["done"]), text=_view(data), prose=True)


def _is_nowhere(data: Mapping[str, Any]) -> bool:
    """Whether a string stands in nothing that could go."""
    return data["what"] == "text" and not (data["versions"] or data["nodes"] or data["uids"])


def _nowhere(data: dict[str, Any]) -> Answer:
    data |= {"done": False, "note": _STAYS if data["left"] else _NOWHERE}
    return Answer(data, not data["left"], text=_view(data), prose=True)


_OFFER: Final = "Make a backup first? It would still hold what you want forgotten. [y/N] "


def _with_backup(call: Call) -> Call:
    return replace(call, options={**call.options, "backup": ""})


def _says_yes(question: str) -> bool:
    put(question, sys.stderr)
    said = sys.stdin.readline()
    if not said:  # Ctrl-D is no answer
        raise EOFError
    return said.strip().lower() in ("y", "yes")


def _asked_for() -> str:
    """The string: typed unseen, or all of standard input without the line break at its end."""
    if sys.stdin.isatty():
        return getpass.getpass("The string to forget (not shown): ")
    return sys.stdin.read().rstrip("\r\n")


def _backups(path: str) -> list[str]:
    """Copies beside the database: those that `backup` made, and one that was moved aside to restore another."""
    own = Path(path)
    copies = {*own.parent.rglob("*.db"), *own.parent.glob("*.db.*")}
    # The database itself is not to be opened here: closing it would drop SQLite's locks on it.
    others = [each for each in copies if each.is_file() and not each.samefile(own)]
    exports = filter(Path.is_file, own.parent.glob("*.jsonl"))
    return sorted(map(str, [*filter(_is_ours, others), *exports]))


def _is_ours(path: Path) -> bool:
    """Whether a file is a database of this program, or cannot be told to be none."""
    from ..storage.migrations import APPLICATION_ID

    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return True
    return head[_MARK_AT:] == APPLICATION_ID.to_bytes(_HEAD - _MARK_AT, "big")


def _view(data: Mapping[str, Any]) -> str:
    """What goes, or went, in words."""
    done = "scrubbed" in data
    lines = ["Forgotten:" if done else "This would go:"]
    if data["what"] == "session":
        lines.append(f"  {many(len(data['sessions']), 'session')}: {', '.join(data['sessions'])}")
    lines.append(f"  {many(len(data['messages']), 'message')}{_names(data['messages'])}")
    if data.get("versions", 0) > len(data["messages"]):
        lines.append(f"  in {data['versions']:,} versions, the earlier ones included")
    lines += _nodes(data)
    lines += _also(data)
    if data.get("backup"):
        lines.append(f"Backup: {data['backup']}. It still holds what was forgotten.")
    if data.get("older_backups"):
        lines.append(f"Backups that may still hold it: {', '.join(data['older_backups'])}")
    if done and not data["scrubbed"]:
        lines.append(_LEFT)
    return clean("\n".join([*lines, data["note"]])) + "\n"


def _nodes(data: Mapping[str, Any]) -> list[str]:
    """How many summaries, and as `verify` counts them: rows that showed some are no summaries."""
    count, rows = len(data["nodes"]), data["rows"]
    if not count and data.get("told"):
        return []  # parts of it go from those, and are told below
    beside = f", and {many(rows, 'row')} that showed them or states by turn" if rows else ""
    return [f"  {many(count - rows, 'summary node')}{beside}{_names(data['nodes'])}"]


def _also(data: Mapping[str, Any]) -> list[str]:
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
        lines.append(f"{_TOLD} {many(len(data['told']), 'summary node')}{_names(data['told'])}")
    if data.get("left") and "scrubbed" in data:
        lines.append(
            f"NOT DONE: it still stands in {_places(data['left'])}. That cannot be taken out."
        )
    elif data.get("left") and data["note"] is _STAYS:
        lines.append(f"It stands in {_places(data['left'])}.")
    return lines


#: Where SQLite's header has the number of the program that a file belongs to.
_MARK_AT: Final = 68
_HEAD: Final = 72

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


def add(parser: argparse.ArgumentParser) -> None:
    """What, and whether it was thought over."""
    parser.add_argument(
        "--text",
        dest="lcm_text",
        nargs="?",
        const="",
        metavar="STRING",
        help="a string, wherever it stands; without STRING it is read from standard input or asked for",
    )
    parser.add_argument("--yes", dest="lcm_yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--backup",
        dest="lcm_backup",
        nargs="?",
        const="",
        metavar="FILE",
        help="make a backup first; it still holds what is forgotten",
    )
    parser.add_argument(
        "--finish",
        dest="lcm_finish",
        action="store_true",
        help="only wipe old bytes that an earlier call could not",
    )
