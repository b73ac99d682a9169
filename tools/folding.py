"""Repeats of the same passage are one result: a page shows what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..storage.records import Hit, Message
from .desk import Desk

__all__ = ["Page", "page_of"]

#: Words by which most messages differ: only those that begin with the same ones are compared as a whole.
_OPENING = 8


@dataclass(frozen=True, slots=True)
class Page:
    """Some of what was found."""

    hits: list[Hit]
    following: int | None
    """Where in all that was found the next page begins; None: there is none."""
    read: dict[int, tuple[Message, str]]
    """The messages among them and what can be searched of each, by number."""
    repeats: dict[int, int] = field(default_factory=dict)
    """How many messages further down say the same as one of these, by its number, as far as was looked."""


def page_of(desk: Desk, hits: Sequence[Hit], start: int, count: int, *, folds: bool) -> Page:
    """*count* of *hits* from *start* on; with *folds*, without those that only say what a better one says."""
    if not folds:
        end = start + count
        shown = list(hits[start:end])
        return Page(shown, end if end < len(hits) else None, _read(desk, shown))
    heard = _Heard()
    shown = []
    read: dict[int, tuple[Message, str]] = {}
    repeats: dict[int, int] = {}
    at, ahead = 0, 1
    while at < len(hits):
        batch = hits[at : at + max(start + count - at, count - len(shown), ahead)]
        texts = _read(desk, batch)
        for place, hit in enumerate(batch, at):
            number = hit.message or 0
            first = heard.first(number, *texts[number]) if number in texts else number
            if first != number:
                repeats[first] = repeats.get(first, 0) + 1
            elif len(shown) == count:
                return Page(shown, place, read, repeats)
            elif place >= start:
                shown.append(hit)
                read |= {number: texts[number]} if number in texts else {}
        if at >= start + count:
            ahead *= 2
        at += len(batch)
    return Page(shown, None, read, repeats)


class _Heard:
    """Who said what, white space aside, as far as was looked."""

    def __init__(self) -> None:
        self._by_opening: dict[tuple[str, ...], list[tuple[int, str]]] = {}

    def first(self, number: int, message: Message, text: str) -> int:
        """The number of the first message that says the same; *number*, if it is this one."""
        opening = (message.role, *text.split(None, _OPENING)[:_OPENING])
        alike = self._by_opening.setdefault(opening, [])
        words = text.split() if alike else []
        for other, said in alike:
            if said.split() == words:
                return other
        alike.append((number, text))
        return number


def _read(desk: Desk, hits: Sequence[Hit]) -> dict[int, tuple[Message, str]]:
    pairs = [(hit.message, hit.version) for hit in hits if hit.message is not None]
    return {message.id: (message, text) for message, text in desk.said(pairs)}
