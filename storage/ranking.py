"""BM25 over texts in memory: what a full-text index does for a store in a file."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from .text import indexable

__all__ = ["ranked", "words_of"]

_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """The words of a text, in its own case."""
    return _WORD.findall(text)


def ranked(
    texts: Mapping[Any, str], words: Sequence[str], phrases: Sequence[str]
) -> list[tuple[Any, float]]:
    """Keys of the texts that hold any term, best first, by BM25 with k1 = 1.2, b = 0.75 (Robertson, Zaragoza 2009)."""
    terms = [" ".join(words_of(indexable(term).lower())) for term in (*words, *phrases)]
    bags = {key: f" {' '.join(words_of(indexable(text).lower()))} " for key, text in texts.items()}
    mean = sum(map(len, bags.values())) / len(bags) if bags else 1.0
    scores: dict[Any, float] = defaultdict(float)
    for term in filter(None, terms):
        counts = {key: bag.count(f" {term} ") for key, bag in bags.items() if f" {term} " in bag}
        weight = math.log(1 + (len(bags) - len(counts) + 0.5) / (len(counts) + 0.5))
        for key, count in counts.items():
            scores[key] += (
                weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(bags[key]) / mean))
            )
    return sorted(scores.items(), key=lambda item: -item[1])
