"""How far back on a line the messages of a list without a summary row are looked for.

Mostly at the end of the line. But an agent that shares a session with another may show the
beginning of a long line, and words are said again: "hi" near the end is not the "hi" that its list
begins with. So the end is enough only where it explains nearly the whole list, from its first row
on. Otherwise more of the line is looked at, and the part that explains the most rows counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.protocol import Store
from ..storage.records import Entry
from .leftover import Probe, Read, Uids
from .matching import Match, match

__all__ = ["matched"]

_FIRST = 64
"""Stored messages looked at beyond twice the length of the list."""
_WIDER = 4
"""How many times as far it is looked back each time: all the times cost a third more than the last alone."""
_NEW_ROWS = 8
"""One row in so many may be new before more of the line is looked at: a list that shows its end has a turn's."""


def matched(
    store: Store, line: int, probes: Sequence[Probe], uids: Uids, read: Read
) -> tuple[list[Entry], Match]:
    """The end of the line that explains most of *probes*, and what is bound to it.

    The shortest of equals; the whole line where none explains any: it is what the list lacks.
    """
    stored = store.tail(line, 2 * len(probes) + _FIRST)
    found = match(stored, probes, uids, read)
    best = stored, found
    while not _is_enough(probes, found, uids) and _has_more(store, line, stored):
        stored = store.tail(line, _WIDER * len(stored))
        found = match(stored, probes, uids, read)
        if _explained(found) > _explained(best[1]) or not _explained(best[1]):
            best = stored, found
    return best


def _is_enough(probes: Sequence[Probe], found: Match, uids: Uids) -> bool:
    """Whether more of the line would tell no more; a row whose uid is known is found wherever it stands."""
    new = sum(
        not places and not (probe.names and probe.names[0] in uids.numbers)
        for probe, places in zip(probes, found.found, strict=True)
    )
    return bool(found.found[0]) and new * _NEW_ROWS <= len(probes)


def _explained(found: Match) -> int:
    return sum(map(bool, found.found))


def _has_more(store: Store, line: int, stored: Sequence[Entry]) -> bool:
    return bool(stored and store.tail(line, 1, before=stored[0].seq))
