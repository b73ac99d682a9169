"""Finds rows that are folds of a message whose words another row says again.

A list is bound by words first, and a fold has none of a message's words alone. So where the host folded two messages,
and the words of one of them stand in the list again, a row beside the fold is taken for that message.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from ..storage.records import Entry
from .leftover import LOOK_AHEAD, Leftover, Probe
from .messages import normal, role_of, text_of

__all__ = ["folds_beside"]


def folds_beside(
    stored: Sequence[Entry],
    probes: Sequence[Probe],
    found: Sequence[Sequence[int]],
    sure: Collection[int],
    leftover: Leftover,
) -> Mapping[int, Sequence[int]]:
    """For rows that are not *found* the messages that they are folds of, one of them found in the next row that is.

    Folds, and the rows that are *sure*, keep what they are bound to.
    """
    bound = [n for n, places in enumerate(found) if places]
    kept = {place for n in bound if n in sure or len(found[n]) > 1 for place in found[n]}
    free = [i not in kept and not entry.withdrawn for i, entry in enumerate(stored)]
    folds: dict[int, Sequence[int]] = {}
    for n, probe in enumerate(probes):
        if found[n]:
            continue
        at = bisect_right(bound, n)
        for k in range(max(at - 1, 0), min(at + 1, len(bound))):
            if n in folds or not _says_more(probe, probes[bound[k]]):
                continue
            place, before = found[bound[k]][0], found[bound[k - 1]][-1] if k else -1
            start, end = max(before, place - LOOK_AHEAD) + 1, place + LOOK_AHEAD
            near = [i for i in range(start, min(end, len(stored))) if free[i]]
            fold = _around(probe, near, place, leftover)
            if fold and (k == at or place != fold[0]):  # in front stands what may be a note
                folds[n] = fold
                for i in fold:
                    free[i] = False
    return folds


def _around(probe: Probe, near: Sequence[int], place: int, leftover: Leftover) -> Sequence[int]:
    """The run of neighbours, *place* among them, that a row is a fold of."""
    for at in range(near.index(place) + 1 if place in near else 0):
        fold = leftover.fold_of(probe, near[at : at + LOOK_AHEAD])
        if place in fold:
            return fold
    return ()


def _says_more(probe: Probe, other: Probe) -> bool:
    """Whether a row says what another one says, and more."""
    if role_of(probe.row) != role_of(other.row):
        return False
    words, fewer = _normal(text_of(probe.row)), _normal(text_of(other.row))
    return 0 < len(fewer) < len(words) and fewer in words


@lru_cache(maxsize=4)  # one row is compared with many
def _normal(text: str) -> str:
    return normal(text)
