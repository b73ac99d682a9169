"""Repeats of the same passage are one result: a page shows what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..storage.records import Hit, Message
from ..storage.text import searchable
from .desk import Desk

__all__ = ["Page", "page_of"]

#: Messages that are read at a time, at the least, where the page is full and what follows may be repeats.
_LOOKED = 4


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
    first: dict[tuple[str, str], int] = {}
    shown = []
    read: dict[int, tuple[Message, str]] = {}
    repeats: dict[int, int] = {}
    at = 0
    while at < len(hits):
        batch = hits[at : at + max(start + count - at, _LOOKED)]
        texts = _read(desk, batch)
        for place, hit in enumerate(batch, at):
            number = hit.message or 0
            same = _said(*texts[number]) if number in texts else None
            if same is not None and first.setdefault(same, number) != number:
                repeats[first[same]] = repeats.get(first[same], 0) + 1
            elif len(shown) == count:
                return Page(shown, place, read, repeats)
            elif place >= start:
                shown.append(hit)
                read |= {number: texts[number]} if number in texts else {}
        at += len(batch)
    return Page(shown, None, read, repeats)


def _read(desk: Desk, hits: Sequence[Hit]) -> dict[int, tuple[Message, str]]:
    pairs = [(hit.message, hit.version) for hit in hits if hit.message is not None]
    return {message.id: (message, searchable(row)) for message, row in desk.rows(pairs)}


def _said(message: Message, text: str) -> tuple[str, str]:
    """Who says what, white space aside."""
    return message.role, " ".join(text.split())
