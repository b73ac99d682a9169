"""The words of a call: the verbs, their options, and what all have in common.

Every destination begins with ``lcm_``: the host's parser shares its namespace with ours.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, NoReturn

from .screen import folded
from .verb import Verb

__all__ = ["Help", "add_common", "add_verbs", "options_of"]

_PREFIX: Final = "lcm_"
#: How argparse refuses a word that is none of those that it knows, and an option that it does not know.
_CHOICE: Final = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)$", re.DOTALL)
_OPTION: Final = re.compile(r"unrecognized arguments: (?:[^-]\S* )*(--?[^\s=]+)")


class Help(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the examples, and breaks sentences that are too wide."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return folded(super()._fill_text(text, width, indent), width)


class _Late(argparse.ArgumentParser):
    """Asks a verb for its options when it is called: only the one that is called is imported."""

    fill: Callable[[], None] | None = None

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        """Read what was given, by what the verb takes."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill()
        return super().parse_known_args(*args, **kwargs)


def _guess(parser: argparse.ArgumentParser) -> None:
    """Let *parser* name what comes nearest to a mistyped word, whoever made it."""
    fail = parser.error

    def error(message: str) -> NoReturn:
        fail(f"{message}{_nearest(message, _options(parser))}")

    parser.error = error  # type: ignore[method-assign]


def _answering(parser: argparse.ArgumentParser, *, verbs: bool = False) -> None:
    """Let *parser* refuse by itself what it does not know: that of a host, over it, would show the host's usage.

    *verbs*: a verb follows its options.
    """
    read = parser.parse_known_args

    def parse_known_args(args: Any = None, namespace: Any = None) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        if verbs and given and given[0].startswith("--") and not _known(given[0], _options(parser)):
            parser.error(
                f"unrecognized arguments: {given[0]}"
            )  # its value would be taken for a verb
        found, more = read(given, namespace)
        if more:
            parser.error(f"unrecognized arguments: {' '.join(more)}")
        return found, more

    parser.parse_known_args = parse_known_args  # type: ignore[method-assign]


def _known(word: str, options: list[str]) -> bool:
    """Whether it is an option, or the beginning of one."""
    name = word.partition("=")[0]
    return any(each.startswith(name) for each in [*options, "--help"])


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return re.findall("--[a-z-]+", parser.format_usage())


def _nearest(message: str, options: list[str]) -> str:
    """The word that may be meant where argparse refuses one; empty where none is near."""
    if found := _CHOICE.search(message):
        wrong, known = found[1], re.findall(r"[\w-]+", found[2])
    elif found := _OPTION.search(message):
        wrong, known = found[1], options
    else:
        return ""
    from difflib import get_close_matches  # only who mistypes pays for it

    near = get_close_matches(wrong, known, n=1)
    return f". Did you mean {near[0]}?" if near else ""


def add_verbs(
    parser: argparse.ArgumentParser,
    verbs: Iterable[Verb],
    common: Callable[[argparse.ArgumentParser], None],
) -> None:
    """The verbs with their own options; *common* adds those that all have."""
    _guess(parser)
    _answering(parser, verbs=True)
    late = type("Late", (_Late, type(parser)), {})
    listed: Any = parser.add_subparsers(
        dest="lcm_verb", metavar="VERB", title="verbs", parser_class=late
    )
    for verb in verbs:
        lines = "\n".join(f"  {parser.prog} {verb.name} {each}".rstrip() for each in verb.examples)
        made = listed.add_parser(
            verb.name,
            help=verb.help,
            description=f"{verb.help[:1].upper()}{verb.help[1:]}.",
            epilog=f"examples:\n{lines}",
            formatter_class=Help,
        )
        made.fill = partial(_fill, made, verb, common)
        _guess(made)
        _answering(made)


def _fill(
    parser: argparse.ArgumentParser,
    verb: Verb,
    common: Callable[[argparse.ArgumentParser], None],
) -> None:
    common(parser)
    verb.add(parser)


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
        help="a session, or how its id begins (default: the one last used, where one is meant)",
    )
    group.add_argument(
        "--json",
        dest="lcm_json",
        action="store_true",
        default=hidden,
        help="print data instead of text",
    )


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """What was read for the verb, by name."""
    return {
        name.removeprefix(_PREFIX): value
        for name, value in vars(args).items()
        if name.startswith(_PREFIX) and not callable(value)
    }
