"""Advice as who reads it can follow it: for the database that was named, in the words of the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from .absent import ANOTHER
from .verbs import VERBS

__all__ = ["in_a_terminal", "named", "pointed"]

#: Our commands in a text: with their program, or the verb alone with what follows it (`show UID`).
_COMMAND: Final = re.compile(
    rf"(?:hermes lcm|scripts/lcm) [a-z]+|(?<=`)(?:{'|'.join(VERBS)}) [^`]+(?=`)"
)
#: Where the file comes from --db, no setting names another.
_SETTINGS: Final = (
    "Set lcm.database to another path.",
    "Name another file: `database:` under `lcm:` in config.yaml.",
)
_ARGUMENTS: Final = re.compile(r"\b(mode|scope) '(\w+)'")


def named(options: Mapping[str, Any]) -> str:
    """The words that name the same database again; empty where none was named."""
    for name in ("db", "home"):
        if options.get(name):
            return f"--{name} {shlex.quote(str(options[name]))}"
    return ""


def pointed(text: str, options: Mapping[str, Any]) -> str:
    """*text* with commands about the database that *options* name, and no advice on one that the settings name."""
    words = named(options)
    if not words:
        return text
    if options.get("db"):
        for each in _SETTINGS:
            text = text.replace(each, ANOTHER)
    return _COMMAND.sub(lambda found: f"{found[0]} {words}", text)


def in_a_terminal(text: str) -> str:
    """*text* with a tool's arguments as options: ``mode 'exact'`` is ``--mode exact``."""
    return _ARGUMENTS.sub(r"`--\1 \2`", text)
