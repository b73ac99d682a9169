"""Reads messages that may be damaged: each is what was stored, or None."""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.canon import digest
from ..storage.protocol import Store
from ..storage.records import Entry, Message
from .report import BROKEN

__all__ = ["numbers_of", "read_whole"]


def numbers_of(store: Store, entry: Entry) -> range:
    """Its versions; of those that it says it has and that are not there the first is enough."""
    there = len(store.editions(entry.id)) if entry.version > 1 else 1
    return range(1, min(entry.version, there + 1) + 1)


def read_whole(store: Store, wanted: Sequence[tuple[int, int]]) -> list[Message | None]:
    """Messages as (number, version), whole; None for each that is not what was stored."""
    try:
        found: list[Message | None] = list(store.read(wanted))
    except BROKEN:
        found = [_one(store, pair) for pair in wanted]
    if all([each and digest(each.body) == each.digest for each in found]):  # noqa: C419 - a third faster
        return found
    marks = [each and digest(each.body) for each in found]
    stones = {stone.name: stone.digest for stone in store.eraser().stones("message")}
    return [
        each
        if each and mark in (each.digest, stones.get(f"{each.id}@{each.version}"))
        else None  # neither what was stored nor what was left of it on request
        for each, mark in zip(found, marks, strict=True)
    ]


def _one(store: Store, pair: tuple[int, int]) -> Message | None:
    try:
        return store.read([pair])[0]
    except BROKEN:
        return None
