"""``hermes lcm``, ``scripts/lcm`` and ``hermes-lcm``: one program.

Exit codes: 0 all is good, 1 something is wrong, 2 the call is. Opening never creates a database.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..storage import open_store
from ..storage.errors import StoreDamaged, StoreIndexBroken, StoreMissing
from ..tools.answers import WrongArgument
from . import screen
from .absent import mistaken
from .arguments import Help, add_common, add_verbs, options_of
from .chat import slash
from .explaining import explain
from .pointing import in_a_terminal, pointed
from .salvaging import on_what_is_left
from .verb import Answer, Call, Verb, WrongCall
from .verbs import VERBS

__all__ = ["database_path", "main", "run", "setup_parser", "slash"]

#: A thousand times as many new objects as usual before the youngest are looked at, and hardly ever the oldest.
_SELDOM: Final = (700_000, 50, 100)

GOOD, WRONG, USAGE, STOPPED = 0, 1, 2, 130

#: How pip calls it.
_SCRIPT: Final = "hermes-lcm"
_ABOUT: Final = "See what the lcm context engine keeps, and check that nothing is lost."
_EXAMPLES: Final = """\
examples:
  %(prog)s status                 is it on, what is kept
  %(prog)s why                    what stands in the context now, and for what
  %(prog)s view --open            see it in the browser
  %(prog)s search "which port"    find it again, like the agent's lcm_grep
  %(prog)s show 1a2b3c4d          a message word for word
  %(prog)s tree --messages        the graph of summaries, down to the messages
  %(prog)s doctor                 what is wrong, and what to do
  %(prog)s verify --json          re-derive every digest; exit code 1 if one fails
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    _open_stderr()
    try:
        return _read_and_run(argv)
    except KeyboardInterrupt:
        return _stopped()


def _read_and_run(argv: list[str] | None) -> int:
    called = Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(prog=called if called == _SCRIPT else "lcm")
    setup_parser(parser)
    try:
        args = parser.parse_args(argv)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else USAGE
    return run(args)


def setup_parser(parser: argparse.ArgumentParser) -> None:
    """Give *parser* the verbs; what it reads goes to :func:`run`."""
    parser.description = _ABOUT
    parser.epilog = _EXAMPLES
    parser.formatter_class = Help
    add_common(parser)
    add_verbs(parser, VERBS.values(), add_common)
    parser.set_defaults(lcm_help=parser.format_help)


def database_path(args: argparse.Namespace, default: str = "") -> str:
    """--db, else the database of --home, else *default*, else that of the environment's home."""
    if given := getattr(args, "lcm_db", None):
        return str(Path(given).expanduser())
    home = getattr(args, "lcm_home", None)
    if not home and default:
        return default
    home = home or os.environ.get("HERMES_HOME") or "~/.hermes"
    return str(Path(home).expanduser() / "lcm" / "lcm.db")


def run(
    args: argparse.Namespace, *, db_path: str = "", facts: Mapping[str, Any] | None = None
) -> int:
    """Carry out what :func:`setup_parser` read; returns the exit code.

    Args:
        db_path: the database of the Hermes that asks; --db and --home go before it.
        facts: what that Hermes knows of its engine; without meaning for another database.
    """
    _open_stderr()
    if not getattr(args, "lcm_verb", None):
        screen.put(args.lcm_help(), sys.stderr)
        return USAGE
    as_data = getattr(args, "lcm_json", False)
    if (home := getattr(args, "lcm_home", None)) and not Path(home).expanduser().is_dir():
        error = LookupError(f"There is no folder {home}: --home takes a Hermes home that exists.")
        return _fail(explain(error, home), as_data=as_data, code=USAGE)
    path = database_path(args, db_path)
    elsewhere = getattr(args, "lcm_db", None) or getattr(args, "lcm_home", None)
    try:
        with _seldom_swept():
            found = _carry_out(path, args, None if elsewhere else facts)
            _show(found, as_data=as_data)
    except (BrokenPipeError, screen.Unshown) as error:
        return _unwritten(error)
    except (KeyboardInterrupt, EOFError):  # Ctrl-C, or Ctrl-D where something is asked
        return _stopped()
    except Exception as error:  # noqa: BLE001 - a person gets words, never a traceback
        code = USAGE if isinstance(error, WrongCall | WrongArgument) else WRONG
        why = ""
        if isinstance(error, StoreMissing) and (elsewhere or not db_path):
            why = mistaken(Path(path), named=bool(getattr(args, "lcm_db", None)))
        what, hint = (
            in_a_terminal(pointed(each, options_of(args)))
            for each in explain(error, path, why, VERBS[args.lcm_verb].undone)
        )
        return _fail((what, hint), as_data=as_data, code=code)
    return GOOD if found.good else WRONG


def _stopped() -> int:
    screen.put("\nlcm: stopped\n", sys.stderr)
    return STOPPED


def _open_stderr() -> None:
    """Where standard error is closed (``2>&-``) what goes there goes nowhere, and no file of ours takes its number."""
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


@contextlib.contextmanager
def _seldom_swept() -> Iterator[None]:
    """Python looks for garbage seldom: of 100,000 messages that all are needed that takes a third of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _carry_out(path: str, args: argparse.Namespace, facts: Mapping[str, Any] | None) -> Answer:
    verb = VERBS[args.lcm_verb]
    options = options_of(args)
    verb.check(options)
    with screen.progress(verb.name) as progress:
        call = Call(
            verb.name,
            path,
            options=options,
            session=options.get("session", ""),
            facts=facts,
            progress=progress,
        )
        if verb.opens == "itself":
            return verb.run(call)
        try:
            return _on_store(verb, call)
        except StoreIndexBroken:
            raise
        except StoreDamaged as error:
            if not verb.salvages:
                raise
            return on_what_is_left(verb, call, error)


def _on_store(verb: Verb, call: Call) -> Answer:
    try:
        store = open_store(f"sqlite:{call.path}", create=False, writes=verb.opens == "to write")
    except StoreMissing:
        if verb.opens != "maybe":
            raise
        return verb.run(call)
    try:
        return verb.run(replace(call, store=store))
    finally:
        store.close()


def _show(found: Answer, *, as_data: bool) -> None:
    if found.warning:
        screen.put(found.warning, sys.stderr)
    aside = sys.stderr if found.to_stderr else None
    if as_data:
        for piece in screen.data_pieces(found.data):
            screen.put(piece, aside)
        screen.put("\n", aside)
        return
    if found.text:
        to = aside or sys.stdout
        fold = found.prose and to is not None and to.isatty()  # a program reads whole lines
        screen.put(screen.folded(found.text, screen.width_of(to)) if fold else found.text, to)
        return
    out = sys.stdout
    if out is None:
        raise screen.Unshown("it is closed")
    encoding = getattr(out, "encoding", None) or "utf-8"
    for piece in screen.pieces(
        *found.shown, width=screen.width_of(out), encoding=encoding, colour=out.isatty()
    ):
        screen.put(piece)


def _fail(said: tuple[str, str], *, as_data: bool, code: int) -> int:
    what, hint = said
    if as_data:
        screen.put(f"{screen.to_data({'error': what, 'hint': hint})}\n")
    else:
        screen.put(f"lcm: {screen.flat(f'{what} {hint}')}\n", sys.stderr)
    return code


def _unwritten(error: Exception) -> int:
    """The reader has left (``| head``), which is no fault, or the disk is full; Python is not to complain at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, screen.Unshown):
        screen.put(f"lcm: what was found cannot be written: {error}\n", sys.stderr)
    return WRONG
