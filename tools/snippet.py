"""The part of a text that answers a search: around the first telling match."""

from __future__ import annotations

from collections.abc import Sequence

from ..dag.tokens import is_boundary

__all__ = ["snippet"]


def snippet(text: str, needles: Sequence[str], room: int, at: int | None = None) -> str:
    """At most about *room* characters of *text* around *at*, or the first of *needles* that is in it.

    A text that fits is given whole.
    """
    if len(text.strip()) <= room:
        return text.strip()
    at = _place(text, needles) if at is None else max(at, 0)
    start = max(min(at - room // 3, len(text) - room), 0)
    end = min(start + room, len(text))
    start, end = _to_word(text, start, 20), _to_word(text, end, 20)
    while start < end and not is_boundary(text, start):
        start += 1
    while start < end and not is_boundary(text, end):
        end -= 1
    return f"{'…' if start else ''}{text[start:end].strip()}{'…' if end < len(text) else ''}"


def _place(text: str, needles: Sequence[str]) -> int:
    lowered = text.lower()
    if len(lowered) != len(text):  # lower() may lengthen; places would be off
        lowered = text
    return next((place for needle in needles if (place := lowered.find(needle.lower())) >= 0), 0)


def _to_word(text: str, at: int, reach: int) -> int:
    """*at*, moved on to the next blank if one is near."""
    if at in (0, len(text)):
        return at
    blank = text.find(" ", at, at + reach)
    return at if blank < 0 else blank
