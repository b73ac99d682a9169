"""Reads messages that may be damaged: each is what was stored, or nobody takes it for that.

A body whose bytes were changed is often still one: it reads well, and says something else. Only its digest tells.
So whoever shows a message word for word asks here whether it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .canon import digest
from .errors import BROKEN
from .protocol import Store
from .records import Entry, Message

__all__ = ["ALTERED", "altered", "numbers_of", "read_whole"]

#: What is said of one that is not.
ALTERED: Final = "damaged: this is not what was stored; `hermes lcm verify` says more"


def altered(store: Store, wanted: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Those of these messages, as (number, version), that are not what was stored, or cannot be read."""
    found = zip(wanted, read_whole(store, wanted), strict=True)
    return {pair for pair, message in found if message is None}


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
