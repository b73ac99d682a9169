"""What the doctor says of one thing that it looked at."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Check", "good", "note", "typed", "wrong"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: str
    """``ok``, ``note`` (worth a word, nothing to repair) or ``wrong``."""
    said: str
    remedy: str = ""
    """What to do; empty where there is nothing to do."""
    fixable: bool = False
    """Whether ``--fix`` can do it."""
    commands: tuple[str, ...] = ()
    """What to type for the remedy, one after the other."""
    lines: tuple[str, ...] = ()
    """How lines of config.yaml must read."""


def good(name: str, said: str) -> Check:
    """All is as it should be."""
    return Check(name, "ok", said)


def note(
    name: str, said: str, remedy: str = "", *, fixable: bool = False, lines: Sequence[str] = ()
) -> Check:
    """Worth knowing, and no fault."""
    return Check(name, "note", said, remedy, fixable, lines=tuple(lines))


def wrong(
    name: str,
    said: str,
    remedy: str,
    *,
    fixable: bool = False,
    commands: Sequence[str] = (),
    lines: Sequence[str] = (),
) -> Check:
    """To be put right."""
    return Check(name, "wrong", said, remedy, fixable, tuple(commands), tuple(lines))


def typed(*words: object) -> str:
    """A command as one types it, marked off from the sentence around it: so no full stop is copied with it."""
    return f"`{shlex.join(map(str, words))}`"
