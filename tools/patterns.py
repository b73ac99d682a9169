"""Looking through the whole log for a string or a pattern, within a time."""

from __future__ import annotations

import re
import time as clock
import unicodedata
from collections.abc import Callable, Sequence

from .answers import ToolError

__all__ = ["Find", "Stopwatch", "exactly", "mentions", "pattern"]

#: Seconds that a scan may take.
SCAN_SECONDS = 8.0
#: Characters of one message that a pattern is tried on at a time: backtracking is bounded by it.
_WINDOW = 4_000
_OVERLAP = 500

#: A repeated group that holds a repetition: the shape that backtracks for ever.
_NESTED = re.compile(r"\((?:[^()\\]|\\.)*[*+}?](?:[^()\\]|\\.)*\)\s*[*+{]")
#: A repeated group of alternatives may match the same text in several ways.
_ALTERNATIVES = re.compile(r"\((?:[^()\\]|\\.)*\|(?:[^()\\]|\\.)*\)\s*[*+{]")

Find = Callable[[str], int]
"""Where a text matches, or -1."""


class Stopwatch:
    """Says when a scan has to stop."""

    def __init__(self, seconds: float = SCAN_SECONDS) -> None:
        self._end = clock.monotonic() + seconds

    def over(self) -> bool:
        """Whether the time is up."""
        return clock.monotonic() > self._end


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
    """Regular-expression search without regard to case; *watch* ends it inside a long text too.

    Raises:
        ToolError: the pattern is wrong, or one that may run for ever.
    """
    try:
        compiled = re.compile(query, re.IGNORECASE | re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        reason = str(error)
        raise ToolError(
            f"The pattern is wrong: {reason}.",
            "Escape special characters with \\, or use mode 'exact'.",
        ) from None
    if _NESTED.search(query) or _ALTERNATIVES.search(query):
        raise ToolError(
            "A repetition inside a repeated group, or a repeated choice, may run for ever.",
            "Write it without the outer repetition, or use mode 'exact'.",
        )

    def find(text: str) -> int:
        for start in range(0, max(len(text), 1), _WINDOW):
            match = compiled.search(text[start : start + _WINDOW + _OVERLAP])
            if match:
                return start + match.start()
            if watch.over():
                break
        return -1

    return find
