"""Searching without an index: every text is read for every question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from .memory_rows import Kept
from .ranking import Row, bag_of, kind_of, ranked, relevant, scores, terms_in
from .records import Filter, Hit

__all__ = ["admits", "search"]


def search(
    kept: Mapping[int, Kept],
    lines: Sequence[Sequence[int]],
    texts: Iterable[tuple[int, int, str]],
    passing: AbstractSet[int],
    asked: tuple[Sequence[str], Sequence[str]],
    without_tools: Sequence[str],
) -> list[Hit]:
    """The *passing* messages that hold, or stand around, the words and phrases that are *asked*, best first.

    *lines*: the messages of each line, in order; *texts*: (message, version, text) of all that the lines hold;
    *without_tools*: their calls and results count for nothing.
    """
    bags: dict[int, str] = {}
    earlier: dict[tuple[int, int], str] = {}
    for number, version, text in texts:
        if version == len(kept[number].drafts):
            bags[number] = bag_of(text)
        elif number in passing:
            earlier[number, version] = text
    runs: list[list[Row]] = []
    seen: set[int] = set()
    for line in lines:
        run = [number for number in line if number in bags.keys() - seen]
        rows = [(_row(n, kept[n], n in passing), kept[n].drafts[-1].tool) for n in run]
        runs.append(relevant(rows, without_tools))
        seen.update(run)
    kind = kind_of((row.role, row.length) for run in runs for row in run)
    found = scores(runs, terms_in(bags, *asked), kind, max(seen, default=0))
    best = {number: Hit(worth, message=number) for number, worth in found.items()}
    for (number, version), worth in ranked(earlier, *asked):
        if worth > best.get(number, Hit(0)).score:
            best[number] = Hit(worth, message=number, version=version)
    return sorted(best.values(), key=lambda hit: (-hit.score, -(hit.message or 0)))


def _row(number: int, kept: Kept, passes: bool) -> Row:  # noqa: FBT001
    return Row(number, kept.drafts[0].role, kept.drafts[-1].tokens, passes)


def admits(where: Filter, number: int, kept: Kept) -> bool:
    """Whether *where* lets the message pass, wherever it stands."""
    return (
        (not where.roles or kept.drafts[0].role in where.roles)
        and (not where.tool or where.tool in kept.drafts[-1].tool.split(" "))
        and kept.drafts[-1].tool not in where.without_tools
        and number not in where.without
        and (where.last is None or number <= where.last)
        and (where.since is None or kept.time >= where.since)
        and (where.until is None or kept.time <= where.until)
    )
