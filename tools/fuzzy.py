"""Repairs words that nobody ever wrote: the nearest ones of the index's vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["FIGURES", "repair"]

#: Similarity (0 to 100) from which a word is taken for a misspelling of another.
_NEAR = 72
_MOST = 3
#: Characters of a word that may be a misspelling.
_SHORTEST, _LONGEST = 3, 64
FIGURES: Mapping[str, Any] = {
    "near": _NEAR, "most": _MOST, "shortest": _SHORTEST, "longest": _LONGEST,
}  # fmt: skip
"""The same by name, for a page that ranks without us."""


def repair(words: Sequence[str], vocabulary: Iterable[str]) -> dict[str, list[str]]:
    """For each of *words* that is not in the vocabulary, up to three that are and come near."""
    from rapidfuzz import fuzz, process  # 15 ms; only after too few hits

    known = sorted(set(vocabulary))
    present = set(known)
    repaired = {}
    for word in dict.fromkeys(word.lower() for word in words):
        if word in present or not _SHORTEST <= len(word) <= _LONGEST:
            continue
        near = process.extract(word, known, scorer=fuzz.ratio, limit=_MOST, score_cutoff=_NEAR)
        if near:
            repaired[word] = [match[0] for match in near]
    return repaired
