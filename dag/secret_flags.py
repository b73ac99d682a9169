"""Passwords that a command is given by a flag, such as ``-p`` of mysql and ``-u`` of curl.

The flag is looked for first, and then what stands in front of it, up to where the command begins: a text that
holds the name of a command again and again costs no more than any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["without_flags"]

_OPEN: Final = r"\\{0,3}[\"']?"
_WORD: Final = r"[^\s\"'\\|;&<>()-][^\s\"'\\|;&<>()]{2,}+"
#: Characters in front of a flag that are looked at.
_BEFORE: Final = 220


class _Flag(NamedTuple):
    """One command with a flag of its own."""

    sign: str
    """Without which it stands nowhere."""
    command: re.Pattern[str]
    flag: re.Pattern[str]
    """The flag and the secret behind it, as the group ``v``."""


_FLAGS: Final = (
    _Flag("mysql", re.compile(r"\bmysql\w{0,8}\b"), re.compile(rf"\s-p{_OPEN}(?P<v>{_WORD})")),
    _Flag("mariadb", re.compile(r"\bmariadb[\w-]{0,8}\b"), re.compile(rf"\s-p{_OPEN}(?P<v>{_WORD})")),
    _Flag("redis-cli", re.compile(r"\bredis-cli\b"), re.compile(rf"\s(?:-a|--pass)[ =]{{0,3}}{_OPEN}(?P<v>{_WORD})")),
    _Flag(
        "login",
        re.compile(r"(?<=(?:docker|podman) )login\b"),
        re.compile(rf"\s-p[ =]{{0,3}}{_OPEN}(?P<v>{_WORD})"),
    ),
    _Flag(
        "curl",
        re.compile(r"\bcurl\b"),
        re.compile(rf"\s(?:-[a-zA-Z]{{0,8}}u|--(?:proxy-)?user)[ =]{{0,3}}{_OPEN}[^\s:\"'\\]{{0,80}}:(?P<v>{_WORD})"),
    ),
)  # fmt: skip


def without_flags(text: str, mask: Callable[[re.Match[str]], str]) -> str:
    """*text* with what *mask* makes of each flag that belongs to its command."""
    if "-" not in text:
        return text
    for flag in _FLAGS:
        if flag.sign in text:
            text = flag.flag.sub(_of(flag, mask), text)
    return text


def _of(flag: _Flag, mask: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    """The same, where it stands behind the command of *flag*."""

    def masked(found: re.Match[str]) -> str:
        start = found.start()
        before = found.string[max(0, start - _BEFORE) : start]
        at = before.find(flag.sign, _begin(before))
        return mask(found) if at >= 0 and flag.command.search(before, at) else found[0]

    return masked


def _begin(before: str) -> int:
    """Where the command begins that goes on to the end: behind the last sign that ends one and is not escaped."""
    end = len(before)
    while end > 0:
        end = max(before.rfind(sign, 0, end) for sign in "\n|;")
        if before[end - 1 : end] != "\\":
            return end + 1
    return 0
