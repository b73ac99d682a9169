"""Looking through the whole log for a string or a pattern, within a time."""

from __future__ import annotations

import math
import re
import time as clock
import unicodedata
from collections.abc import Callable, Sequence

from .answers import ToolError, WrongArgument

__all__ = ["Find", "Stopwatch", "exactly", "mentions", "pattern"]

#: Seconds that a scan may take.
SCAN_SECONDS = 8.0
#: Characters of the longest pattern, and what its counted repetitions may come to: they are written out
#: before it runs, which nothing can stop.
_LONGEST, _MOST_COUNTED = 1_000, 100_000
_COUNTED = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}")

Find = Callable[[str], int]
"""Where a text matches, or -1."""


class Stopwatch:
    """Says when a scan has to stop."""

    def __init__(self) -> None:
        self._end = clock.monotonic() + SCAN_SECONDS

    def over(self) -> bool:
        """Whether the time is up."""
        return clock.monotonic() > self._end

    def left(self) -> float:
        """Seconds that are left, a moment at the least."""
        return max(self._end - clock.monotonic(), 0.01)

    def stop(self) -> None:
        """Let the time be up."""
        self._end = 0.0


def exactly(query: str) -> Find:
    """Substring search without regard to case."""
    needle = _plain(query)

    def find(text: str) -> int:
        at = text.find(query)
        if at < 0 and needle in _plain(text):
            at = max(text.lower().find(query.lower()), 0)
        return at

    return find


def mentions(needles: Sequence[str]) -> Find:
    """How much of *needles* a text holds, less one: two for each whole word, one for a part of a word."""
    finds = [
        (exactly(needle), re.compile(rf"(?<!\w){re.escape(needle)}(?!\w)", re.IGNORECASE))
        for needle in needles
    ]

    def find(text: str) -> int:
        held = [whole for part, whole in finds if part(text) >= 0]
        return len(held) + sum(whole.search(text) is not None for whole in held) - 1

    return find


def _plain(text: str) -> str:
    """Without case, and with composed accents."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def pattern(query: str, watch: Stopwatch) -> Find:
    """Regular-expression search without regard to case; *watch* ends it, inside a text too.

    By the package regex: Python's own cannot be stopped, and stops every other thread meanwhile.

    Raises:
        ToolError: the pattern is wrong or too large, or the package is not there.
    """
    try:
        import regex
    except ImportError:
        raise ToolError(
            "Patterns need the package regex, which this Python does not have.",
            "Install it (pip install regex), or use mode 'exact'.",
        ) from None
    if len(query) > _LONGEST or _counted(query) > _MOST_COUNTED:
        raise WrongArgument("The pattern is too large.", "Use a shorter one, with smaller counts.")
    try:
        compiled = regex.compile(query, regex.IGNORECASE | regex.MULTILINE)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise WrongArgument(
            f"The pattern is wrong: {error}.",
            "Escape special characters with \\, or use mode 'exact'.",
        ) from None

    def find(text: str) -> int:
        try:
            match = compiled.search(text, timeout=watch.left(), concurrent=True)
        except (TimeoutError, MemoryError):
            watch.stop()
            return -1
        return match.start() if match else -1

    return find


def _counted(query: str) -> int:
    """How many times its counted repetitions may write out what they repeat, one in another."""
    times = [max(int(low or 1), int(high or 1)) for low, high in _COUNTED.findall(query)]
    return math.prod(max(each, 1) for each in times)
