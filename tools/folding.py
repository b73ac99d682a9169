"""Repeats of the same passage are one result: a page shows what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..storage.records import Hit
from ..storage.text import searchable
from .desk import Desk

__all__ = ["Page", "page_of"]


@dataclass(frozen=True, slots=True)
class Page:
    """Some of what was found."""

    hits: list[Hit]
    following: int | None
    """Where in all that was found the next page begins; None: there is none."""
    repeats: dict[int, int] = field(default_factory=dict)
    """How many messages further down say the same as one of these, by its number, as far as was looked."""


def page_of(desk: Desk, hits: Sequence[Hit], start: int, count: int, *, folds: bool) -> Page:
    """*count* of *hits* from *start* on; with *folds*, without those that only say what a better one says."""
    if not folds:
        end = start + count
        return Page(list(hits[start:end]), end if end < len(hits) else None)
    first: dict[tuple[str, str], int] = {}
    shown: list[Hit] = []
    repeats: dict[int, int] = {}
    for at in range(0, len(hits), count):
        batch = hits[at : at + count]
        texts = _texts(desk, batch)
        for place, hit in enumerate(batch, at):
            number = hit.message or 0
            same = texts.get(number)
            if same is not None and first.setdefault(same, number) != number:
                repeats[first[same]] = repeats.get(first[same], 0) + 1
            elif len(shown) == count:
                return Page(shown, place, repeats)
            elif place >= start:
                shown.append(hit)
    return Page(shown, None, repeats)


def _texts(desk: Desk, hits: Sequence[Hit]) -> dict[int, tuple[str, str]]:
    """Who says what in each message, white space aside."""
    pairs = [(hit.message, hit.version) for hit in hits if hit.message is not None]
    return {
        message.id: (message.role, " ".join(searchable(row).split()))
        for message, row in desk.rows(pairs)
    }
