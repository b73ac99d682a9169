"""``search``: the same search, in the same order, as the agent's ``lcm_grep``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ..dag.settings import Settings
from ..storage.protocol import Store
from ..storage.records import Session
from ..tools.desk import Desk
from ..tools.grep import MODES, ROLES, grep
from .pointing import in_a_terminal, pointed
from .screen import flat
from .status import no_session
from .verb import Answer, Call, number_to

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["add", "gather", "run", "view"]

#: Options that are arguments of the tool, by the same names.
_ASKED: Final = ("mode", "scope", "limit", "cursor", "role", "tool", "since", "until")
_TURNS: Final = re.compile(r"([1-9]\d{0,8})(?:(-)([1-9]\d{0,8})?)?", re.ASCII)
_SHORT: Final = 8
#: Where in the note of the tool begins what an agent can call.
_OPENS: Final = "lcm_expand("
_MOST_RESULTS: Final = 50
#: Characters of a result as text: a few lines around what was found; `show` has all of it.
_BRIEF: Final = 320


def gather(
    store: Store, session: Session, query: str, *, brief: bool = False, **how: Any
) -> dict[str, Any]:
    """What ``lcm_grep`` answers; *how*: its other arguments; *brief*: with less of each text.

    Raises:
        ToolError: the query cannot be answered; says what to do next.
    """
    desk = Desk(store, session, Settings(), snippet=_BRIEF if brief else None)
    return grep(desk, query, **how)


def view(data: Mapping[str, Any], options: Mapping[str, Any]) -> RenderableType:
    """The results, best first; *options*: those of the call, of which the next one names the same database."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    shown: list[RenderableType] = []
    first = int(str(options.get("cursor") or "0").partition(":")[0]) + 1
    for number, result in enumerate(data["results"], first):
        shown.append(Text(f"{number}. ", style="bold").append(_head(result)))
        shown.append(Padding(Text(flat(result["snippet"])), (0, 0, 0, 3)))
    if data["results"]:
        opens = pointed("`show UID` opens one", options)
        shown.append(Text(f"{_counted(data, options)}; {opens}", style="dim"))
        if how := data["note"].partition(_OPENS)[0].strip():
            shown.append(Text(flat(in_a_terminal(how)), style="dim"))
    elif options.get("cursor"):
        shown.append(Text(f"nothing more: {data['total']:,} in all, mode {data['mode']}"))
    else:
        shown.append(Text(flat(in_a_terminal(data["note"]))))
    return Group(*shown)


def _counted(data: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """How many of how many, and how to get at the next ones."""
    count, total = len(data["results"]), data["total"]
    if data["cursor"]:
        more = " more" if options.get("cursor") else ""
        return f"{count}{more} of {total:,}, mode {data['mode']}; the next with `--cursor {data['cursor']}`"
    if options.get("cursor"):
        return f"the last {count} of {total:,}, mode {data['mode']}"
    alike = total - count
    found = f"{count} of {total:,}" if alike else f"{total:,} found"
    same = f"; {alike:,} more {'says' if alike == 1 else 'say'} the same as one of these"
    return f"{found}, mode {data['mode']}{same if alike else ''}"


def _head(result: Mapping[str, Any]) -> Any:
    from rich.text import Text

    text = Text(result["uid"][:_SHORT], style="cyan")
    text.append(f" {result['role'] or 'summary'}{_turns_of(result)}, {result['time']}", style="")
    if result.get("session"):
        text.append(f", session {flat(result['session'])}", style="dim")
    if result["covered_by"]:
        text.append(f", under {result['covered_by'][:_SHORT]}", style="dim")
    if result.get("withdrawn"):
        text.append(", withdrawn", style="yellow")
    if result.get("damaged"):
        text.append(f", {result['damaged']}", style="red")
    return text


def _turns_of(result: Mapping[str, Any]) -> str:
    first, last = result.get("turns") or (result["turn"], result["turn"])
    if not first:
        return ""
    return f", turn {first}" if first == last else f", turns {first}-{last}"


def run(call: Call) -> Answer:
    """Find it, where any session began."""
    session = call.found()
    if session is None:
        said = no_session(call.store, call.facts)
        return Answer({"session": None, "note": said}, shown=[said])
    asked = {name: call.options[name] for name in _ASKED}
    asked["start_turn"], asked["end_turn"] = call.options["turns"] or (None, None)
    brief = not call.options.get("json")
    data = gather(call.open(), session, " ".join(call.options["query"]), **asked, brief=brief)
    return Answer(data, shown=[view(data, call.options)])


def _turns(text: str) -> tuple[int, int | None]:
    """A type for argparse: ``12``, ``12-30``, or ``12-`` for all from there on."""
    found = _TURNS.fullmatch(text)
    first, to, last = found.groups() if found else ("", "", "")
    if not first or int(last or first) < int(first):
        raise argparse.ArgumentTypeError(f"{text!r} is no turn, nor two in order: 12, 12-30, 12-")
    if to and not last:
        return int(first), None
    return int(first), int(last or first)


def add(parser: argparse.ArgumentParser) -> None:
    """What to look for, how, and where."""
    parser.add_argument("lcm_query", metavar="QUERY", nargs="+", help="a question, words, a path")
    parser.add_argument(
        "--mode",
        dest="lcm_mode",
        choices=MODES,
        default="auto",
        help="how to search (default: auto)",
    )
    parser.add_argument(
        "--scope",
        dest="lcm_scope",
        choices=("session", "all"),
        default="session",
        help="where (default: session)",
    )
    parser.add_argument(
        "--limit",
        dest="lcm_limit",
        type=number_to(_MOST_RESULTS),
        default=10,
        metavar="N",
        help=f"results (default: 10, at most {_MOST_RESULTS})",
    )
    parser.add_argument(
        "--cursor",
        dest="lcm_cursor",
        metavar="TEXT",
        help="the next results, with what the answer before this one gave for it",
    )
    _add_filters(parser)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--role", dest="lcm_role", choices=ROLES, help="only what was said by that one"
    )
    parser.add_argument(
        "--tool", dest="lcm_tool", metavar="NAME", help="only calls and results of that tool"
    )
    parser.add_argument(
        "--since",
        dest="lcm_since",
        metavar="WHEN",
        help="a date or time, ISO or in words: 2026-05-31, 'last Tuesday', 'two weeks ago'",
    )
    parser.add_argument(
        "--until", dest="lcm_until", metavar="WHEN", help="the same; a day is meant to its end"
    )
    parser.add_argument(
        "--turns",
        dest="lcm_turns",
        type=_turns,
        metavar="A-B",
        help="only these turns, both included; A- for all from there on",
    )
