"""Repairs words that nobody ever wrote: the nearest ones of the index's vocabulary, and says which."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..storage.errors import StoreDamaged
from ..storage.records import Hit
from .desk import Desk

__all__ = ["FIGURES", "readings", "repair"]

#: Similarity (0 to 100) from which a word is taken for a misspelling of another.
_NEAR = 72
_MOST = 3
#: Characters of a word that may be a misspelling.
_SHORTEST, _LONGEST = 3, 64
#: Results that are read for the word of a stem.
_READ = 5
FIGURES: Mapping[str, Any] = {
    "near": _NEAR, "most": _MOST, "shortest": _SHORTEST, "longest": _LONGEST, "read": _READ,
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


def readings(desk: Desk, hits: Sequence[Hit], repaired: Mapping[str, Sequence[str]]) -> list[str]:
    """How each misspelt word was read, as words of what was found; nothing of one that is there.

    The index has but stems, so a word that ends otherwise is taken for a misspelt one.
    """
    if not repaired:
        return []
    best = [(hit.message, hit.version) for hit in hits if hit.message is not None][:_READ]
    try:
        texts = [text for _, text in desk.said(best)]
    except StoreDamaged:  # which is said when it is shown
        texts = []
    read = {
        word: dict.fromkeys(_whole(stem, texts) for stem in near) for word, near in repaired.items()
    }
    return [f"{word}: read as {', '.join(near)}" for word, near in read.items() if word not in near]


def _whole(stem: str, texts: Iterable[str]) -> str:
    """The shortest word of *texts* that begins as *stem* does; that itself if there is none.

    A stem may end in a letter that the word has not: ``happi``, or ``file`` of ``filing``.
    """
    start = stem[:-1] if len(stem) > _SHORTEST and stem[-1] in "ie" else stem
    pattern = re.compile(rf"(?<!\w){re.escape(start)}\w*", re.IGNORECASE)
    met = {word.lower() for text in texts for word in pattern.findall(text)}
    return min(met, key=lambda word: (len(word), word), default=stem)
