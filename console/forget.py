"""``forget``: takes a session, or a string, out of the database for good, after showing what goes.

The string is read from standard input or a prompt, so that it does not stay in a shell's history.
It is never printed. Nothing changes without a yes.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import shlex
import sys
import time as clock
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..dag.forget import (
    SessionPlan,
    TextPlan,
    forget_session,
    forget_text,
    plan_session,
    plan_text,
    refusal,
)
from ..storage.errors import StoreError
from ..storage.protocol import Store
from ..storage.records import Session
from .backup import make_backup
from .forgetting import BEFORE, FULL, LEFT, STAYS, WIPED, is_nowhere, view
from .pointing import pointed
from .screen import clean, folded, progress, put, width_of
from .verb import Answer, Call, WrongCall, find_session

__all__ = ["add", "check", "run"]

_DECLINED: Final = "Nothing was changed."
_NOT_DONE: Final = "Nothing was changed. To do it, add --yes."
_NOWHERE: Final = "It stands nowhere in the database."
_ELSEWHERE: Final = (
    "Not touched: what Hermes keeps itself (its session database, its logs), the list of an agent that "
    "is running now, and backups and exports made before. `hermes sessions delete ID` takes a whole session out of "
    "Hermes's session database."
)


def run(call: Call) -> Answer:
    """Show what would go, ask, and do it."""
    options = call.options
    if options.get("finish"):
        return _finished(call)
    text = options.get("text")
    if text is None:
        return _session(call)
    if text:
        return _text(call, text)
    text = _asked_for()
    with _from_now(call) as begun:
        return _text(begun, text)


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
    left = _scrubbed(call)
    said = left or "Nothing that was deleted is left in the file."
    return Answer({"scrubbed": not left, "note": said}, not left, text=f"{said}\n", prose=True)


def _scrubbed(call: Call) -> str:
    """Wipe old bytes; why some may be left, empty if none is."""
    try:
        left = "" if call.open().eraser().scrub() else LEFT
    except StoreError as error:
        left = FULL.format(error)
    return pointed(left, call.options)


def _unchanged(call: Call, said: str) -> dict[str, Any]:
    """What is said where nothing goes; but an earlier call may have left old bytes, which only a yes wipes."""
    scrubbed = call.open().eraser().is_scrubbed()
    if scrubbed or not call.options.get("yes"):
        more = _DECLINED if scrubbed else f"{_DECLINED} {pointed(BEFORE, call.options)}"
    else:
        left = _scrubbed(call)
        scrubbed, more = not left, left or WIPED
    return {"done": False, "scrubbed": scrubbed, "note": f"{said} {more}"}


def _session(call: Call) -> Answer:
    store = call.open()
    if store.session(call.session) is None and store.eraser().is_forgotten(call.session):
        data = _of_session(SessionPlan(0, (call.session,), (), 0, (), ()))
        data |= _unchanged(call, "It was forgotten already.")
        text = f"{clean(call.session)}: {data['note']}\n"
        return Answer(data, data["scrubbed"], text=text, prose=True)
    session = _meant(call, store)
    return _settle(
        call,
        lambda _call: _of_session(plan_session(store, session)),
        lambda call: _of_session(forget_session(store, session, clock.time(), call.progress)),
        session.name,
    )


def _meant(call: Call, store: Store) -> Session:
    """The session to forget: who is not asked gives its whole id, for a beginning may be another's.

    Raises:
        LookupError: nothing, or more than one, is called so.
        WrongCall: only its beginning was given.
    """
    session = find_session(store, call.session)
    if session is None:
        raise LookupError(f"There is no session {call.session!r}.")
    if session.name != call.session and call.options.get("yes"):
        raise WrongCall(
            f"There is no session {call.session!r}. {session.name!r} begins so; with --yes give the whole id."
        )
    return session


def _text(call: Call, text: str) -> Answer:
    store = call.open()
    if why := refusal(text):
        raise WrongCall(why)
    return _settle(
        call,
        lambda call: _of_text(store, plan_text(store, text, call.progress)),
        lambda call: _of_text(store, forget_text(store, text, clock.time(), call.progress)),
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
        "other_case": dict(plan.other_case),
    }


_Found = Callable[[Call], dict[str, Any]]


def _settle(call: Call, plan: _Found, do: _Found, session: str = "") -> Answer:
    """Show, ask, keep a backup where one is wanted, and do it.

    Who agreed before is shown what went, and nothing is looked for twice. *session*: the whole id of what goes.
    """
    agreed = bool(call.options.get("yes"))
    copies = {
        "older_backups": _backups(call.path),
        "not_touched": _ELSEWHERE,
        "hermes_database": _of_hermes(call.path),
    }
    if agreed and call.options.get("backup") is None:
        return _done(call, do(call), copies)
    data = plan(call)
    if is_nowhere(data):
        return _nowhere(call, data)
    data |= copies
    asked = not agreed and sys.stdin.isatty() and not call.options.get("json")
    if asked:
        put(folded(view(data, call.options), width_of(sys.stderr)), sys.stderr)
        agreed = _says_yes("Forget it? This cannot be undone. [y/N] ")
        if agreed and call.options.get("backup") is None and _says_yes(_OFFER):
            call = _with_backup(call)
    if not agreed:
        data |= {"done": False, "note": _DECLINED if asked else _not_done(call, session)}
        # Who was asked has seen what would go.
        text = f"{_DECLINED}\n" if asked else view(data, call.options)
        return Answer(data, good=False, text=text, prose=True)
    with _from_now(call) as begun:
        if call.options.get("backup") is not None:
            copies["backup"] = make_backup(call.path, call.options["backup"], begun.progress).path
        return _done(begun, do(begun), copies)


def _not_done(call: Call, session: str) -> str:
    """What to add to the call, so that it is done: a beginning of an id alone is not enough then."""
    if session in ("", call.session):
        return _NOT_DONE
    return f"{_DECLINED} To do it, give the whole id: --session {shlex.quote(session)} --yes"


@contextlib.contextmanager
def _from_now(call: Call) -> Iterator[Call]:
    """*call* with a progress that begins now: how long a person took to answer is not counted."""
    if call.progress is None:
        yield call
        return
    with progress(call.verb) as begun:
        yield replace(call, progress=begun)


def _done(call: Call, data: dict[str, Any], copies: Mapping[str, Any]) -> Answer:
    """What went, once its old bytes are wiped."""
    if is_nowhere(data):
        return _nowhere(call, data)
    left = _scrubbed(call)
    data |= {
        **copies,
        "note": "",
        "scrubbed": not left,
        "not_scrubbed": left,
        "done": not data.get("left"),
    }
    return Answer(
        data,
        good=bool(data["scrubbed"] and data["done"]),
        text=view(data, call.options),
        prose=True,
    )


def _nowhere(call: Call, data: dict[str, Any]) -> Answer:
    unchanged = _unchanged(call, STAYS if data["left"] else _NOWHERE)
    scrubbed = unchanged.pop("scrubbed")
    text = view(data | unchanged, call.options)
    data |= unchanged | {"scrubbed": scrubbed}
    return Answer(data, scrubbed and not data["left"], text=text, prose=True)


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


def _of_hermes(path: str) -> str | None:
    """Hermes's own database in the home of ours; None where there is none."""
    own = Path(path).absolute().parent.parent / "state.db"
    return str(own) if own.is_file() else None


def _backups(path: str) -> list[str]:
    """Copies beside the database: those that `backup` made, and one that was moved aside to restore another."""
    own = Path(path)
    copies = {*own.parent.rglob("*.db"), *own.parent.glob("*.db.*")}
    # The database itself is not to be opened here: closing it would drop SQLite's locks on it.
    others = [each for each in copies if each.is_file() and not each.samefile(own)]
    exports = filter(Path.is_file, own.parent.glob("*.jsonl"))
    return sorted(map(str, [*filter(_is_ours, others), *exports]))


#: Where SQLite's header has the number of the program that a file belongs to.
_MARK_AT: Final = 68
_HEAD: Final = 72


def _is_ours(path: Path) -> bool:
    """Whether a file is a database of this program, or cannot be told to be none."""
    from ..storage.migrations import APPLICATION_ID

    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return True
    return head[_MARK_AT:] == APPLICATION_ID.to_bytes(_HEAD - _MARK_AT, "big")


def add(parser: argparse.ArgumentParser) -> None:
    """What, and whether it was thought over."""
    parser.add_argument(
        "--text",
        dest="lcm_text",
        nargs="?",
        const="",
        metavar="STRING",
        help="a string, wherever it stands; upper and lower case count; without STRING it is read from standard "
        "input or asked for",
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
