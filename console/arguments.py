"""The words of a call: verbs, their options, and the wish that they make.

Every destination begins with ``lcm_``: the host's parser shares its namespace with ours.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from ..tools.grep import MODES
from .tree import DEPTH
from .verbs import Wish

__all__ = ["add_common", "add_verbs", "wish_of"]

_MOST_RESULTS: Final = 50
_MOST_DEPTH: Final = 99


def add_verbs(
    parser: argparse.ArgumentParser, common: Callable[[argparse.ArgumentParser], None]
) -> None:
    """The verbs with their own options; *common* adds those that all have.

    Every destination begins with ``lcm_``: the host's parser shares the namespace.
    """
    verbs = parser.add_subparsers(dest="lcm_verb", metavar="VERB", title="verbs")

    def verb(name: str, help_text: str, *examples: str) -> argparse.ArgumentParser:
        listed = "\n".join(f"  {parser.prog} {name} {example}".rstrip() for example in examples)
        made = verbs.add_parser(
            name,
            help=help_text,
            description=f"{help_text[:1].upper()}{help_text[1:]}.",
            epilog=f"examples:\n{listed}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        common(made)
        return made

    verb("status", "whether it is on, what is kept, what it saved", "", "--json")
    _search_options(
        verb(
            "search",
            "find what was said",
            "which port did we choose",
            "--scope all --mode regex 'E[0-9]{4}'",
        )
    )
    tree = verb("tree", "the graph of summaries", "", "--depth 1", "--messages")
    tree.add_argument(
        "--depth",
        dest="lcm_depth",
        type=_number(_MOST_DEPTH),
        default=DEPTH,
        metavar="N",
        help=f"levels to show (default: {DEPTH})",
    )
    tree.add_argument(
        "--messages",
        dest="lcm_messages",
        action="store_true",
        help="show the messages under each leaf",
    )
    opened = verb("show", "a message, or all under a node, word for word", "1a2b3c4d")
    opened.add_argument(
        "lcm_uid", metavar="UID", help="6 or more characters, as search and tree show them"
    )
    verb("verify", "re-derive every digest and account for every message", "", "--json")


def _search_options(search: argparse.ArgumentParser) -> None:
    search.add_argument("lcm_query", metavar="QUERY", nargs="+", help="a question, words, a path")
    search.add_argument(
        "--mode",
        dest="lcm_mode",
        choices=MODES,
        default="auto",
        help="how to search (default: auto)",
    )
    search.add_argument(
        "--scope",
        dest="lcm_scope",
        choices=("session", "all"),
        default="session",
        help="where (default: session)",
    )
    search.add_argument(
        "--limit",
        dest="lcm_limit",
        type=_number(_MOST_RESULTS),
        default=10,
        metavar="N",
        help="results (default: 10)",
    )


def _number(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {most}")
        return int(text)

    return number


def add_common(parser: argparse.ArgumentParser) -> None:
    """Options before or after the verb; the later one counts."""
    group = parser.add_argument_group("which database")
    hidden: Any = (
        argparse.SUPPRESS
    )  # no default: a verb's parser would overwrite what was given before the verb
    group.add_argument(
        "--db", dest="lcm_db", metavar="PATH", default=hidden, help="the database file"
    )
    group.add_argument(
        "--home",
        dest="lcm_home",
        metavar="DIR",
        default=hidden,
        help="a Hermes home (default: HERMES_HOME, or ~/.hermes)",
    )
    group.add_argument(
        "--session",
        dest="lcm_session",
        metavar="ID",
        default=hidden,
        help="a session, or how its id begins (default: the one last used)",
    )
    group.add_argument(
        "--json",
        dest="lcm_json",
        action="store_true",
        default=hidden,
        help="print data instead of text",
    )


def wish_of(args: argparse.Namespace) -> Wish:
    """What was read, as a wish."""
    asked = {
        name: value
        for name in ("session", "mode", "scope", "limit", "depth", "messages", "uid")
        if (value := getattr(args, f"lcm_{name}", None)) is not None
    }
    return Wish(args.lcm_verb, query=" ".join(getattr(args, "lcm_query", ())), **asked)
