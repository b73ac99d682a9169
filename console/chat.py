"""``/lcm VERB`` in a chat: plain text of bounded length, never an exception.

A chat may be anybody's on a gateway, so it sees its own session unless it asks for all, and can
name no other file.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NoReturn

from ..storage import open_store
from ..storage.errors import StoreMissing
from . import screen
from .arguments import add_verbs, options_of
from .explaining import explain
from .pointing import in_a_terminal
from .verb import Answer, Call, Verb
from .verbs import VERBS

__all__ = ["slash"]

#: Characters of a reply: the strictest chat takes 4,096.
_MOST_CHARS: Final = 3500
_COLUMNS: Final = 72
_HELP: Final = """\
/lcm status              is it on, what is kept
/lcm why                 what stands in the context now, and what was replaced
/lcm search WORDS        find it again (--mode exact, --scope all, --limit 5)
/lcm show UID            a message word for word
/lcm tree                the graph of summaries (--depth 2, --messages)
/lcm doctor              what is wrong, and what to do about it
/lcm verify              re-derive every digest: is every message still there?"""


class _Said(Exception):
    """What the parser would print before it leaves."""


class _Parser(argparse.ArgumentParser):
    """Reads a chat's words; says what is wrong with them instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        raise _Said(f"{message}\n{_HELP}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise _Said(message or _HELP)

    def print_help(self, file: Any = None) -> None:
        raise _Said(_HELP)


def slash(
    raw_args: str, *, db_path: str, session: str = "", facts: Mapping[str, Any] | None = None
) -> str:
    """Answer ``/lcm raw_args``.

    Args:
        session: the chat's own session; empty before its first turn.
        facts: what the host knows of its engine.
    """
    try:
        verb, options = _read(raw_args or "")
        verb.check(options)
        call = Call(verb.name, db_path, None, options, session, exactly=True, facts=facts)
        return _short(_reply(verb, call))
    except _Said as said:
        return _short(screen.clean(str(said)))
    except Exception as error:  # noqa: BLE001 - a chat gets words, whatever happens
        return _short(screen.flat(in_a_terminal(" ".join(explain(error, db_path)))))


def _read(raw: str) -> tuple[Verb, dict[str, Any]]:
    try:
        words = shlex.split(raw)
    except ValueError:  # an apostrophe
        words = raw.split()
    if words[:1] in (["help"], ["-h"], ["--help"]):
        raise _Said(_HELP)
    parser = _Parser(prog="/lcm", add_help=False)
    offered = {name: verb for name, verb in VERBS.items() if verb.in_chat}
    if words and words[0] in VERBS and words[0] not in offered:
        raise _Said(f"`hermes lcm {words[0]}` works in a terminal only.")
    add_verbs(parser, offered.values(), lambda _verb: None)
    options = options_of(parser.parse_args(words or ["status"]))
    return offered[options["verb"]], options


def _reply(verb: Verb, call: Call) -> str:
    found = _answer(verb, call)
    return found.text or screen.page(*found.shown, width=_COLUMNS).strip("\n")


def _answer(verb: Verb, call: Call) -> Answer:
    if verb.opens == "itself":
        return verb.run(call)
    try:
        store = open_store(f"sqlite:{call.path}", create=False)
    except StoreMissing:  # nobody has said anything yet, and a chat can name no other file
        return verb.run(call)
    try:
        return verb.run(replace(call, store=store))
    finally:
        store.close()


def _short(text: str) -> str:
    """*text*, or its begin and end where it is too long for a message."""
    if len(text) <= _MOST_CHARS:
        return text
    head = text[: _MOST_CHARS - 600].rpartition("\n")[0] or text[: _MOST_CHARS - 600]
    tail = text[-400:].partition("\n")[2] or text[-400:]
    return f"{head}\n… `hermes lcm` in a terminal shows all of it …\n{tail}"
