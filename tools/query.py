"""A question as search terms: words that carry meaning, and phrases in quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..storage.text import MARKS, UNSPACED, parts_of

__all__ = ["FIGURES", "STOP", "Terms", "looks_like_a_pattern", "pairs_of", "terms_of", "unspaced"]

_PHRASE = re.compile(r'"([^"]{2,})"')
_WORD = re.compile(rf"[\w{MARKS}][\w{MARKS}.\-/:@+#]*[\w{MARKS}]|\w")
_PIECE = re.compile(rf"[\w{MARKS}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
#: Of a script without spaces, or of none.
_RUN = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_MOST_TERMS = 64
#: Inside a word, what hardly any has but a name in code: an underscore, or a capital behind a small letter.
_NAME = re.compile(r"\w_\w|[a-z][A-Z]")
#: What joins the parts of a path, an address or a number; a hyphen alone also joins words.
_MARKED = re.compile(r"[./:@+#\d]")
#: What is written in a pattern and hardly anywhere else.
_PATTERN = re.compile(r"\.[*+]|\\[wWdDsSbB]|[\w)]\|[\w(]|\[[^\]\s]+\][*+{]|\(\?[:=!<]")

#: Words of a question that say nothing about its answer.
STOP = frozenset(
    [
        "a",
        "about",
        "after",
        "again",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "d",
        "did",
        "didn",
        "do",
        "does",
        "doesn",
        "doing",
        "don",
        "done",
        "during",
        "each",
        "few",
        "for",
        "from",
        "further",
        "get",
        "got",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "herself",
        "him",
        "himself",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "isn",
        "it",
        "its",
        "itself",
        "just",
        "let",
        "ll",
        "m",
        "me",
        "more",
        "most",
        "my",
        "myself",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "ours",
        "ourselves",
        "out",
        "over",
        "own",
        "please",
        "re",
        "s",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "t",
        "tell",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "themselves",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "ve",
        "very",
        "was",
        "wasn",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "yours",
        "yourself",
        "yourselves",
    ]
)

FIGURES: Mapping[str, Any] = {"stop": sorted(STOP), "most_terms": _MOST_TERMS}
"""The same by name, for a page that ranks without us."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What to look for."""

    words: tuple[str, ...]
    phrases: tuple[str, ...]
    """Runs of words that must stand together: in quotes, or an identifier of several parts."""
    pairs: tuple[str, ...] = ()
    """Words that say something, next to each other in the question: better still if they are so in the answer."""

    names: tuple[str, ...] = ()
    """Identifiers of several parts, as they are written."""

    @property
    def needles(self) -> tuple[str, ...]:
        """All of them, longest first: where a snippet should be."""
        return tuple(sorted((*self.phrases, *self.words), key=len, reverse=True))


def terms_of(question: str) -> Terms:
    """The terms of a plain question; never empty for a question with a letter or digit in it."""
    phrases = [phrase.strip() for phrase in _PHRASE.findall(question)]
    rest = _PHRASE.sub(" ", question)
    words: list[str] = []
    names: list[str] = []
    for found in _WORD.findall(rest):
        pieces = _PIECE.findall(found)
        if len(pieces) > 1:
            phrases.append(found)
            if _MARKED.search(found):
                names.append(found)
        for piece in pieces:
            phrases += _in_words(piece)
            if _NAME.search(piece):
                names.append(piece)
            parts = _parts(piece.lower())
            if len(parts) > 1:
                phrases.append(piece)
            words += parts
    telling = [word for word in words if word not in STOP] or words
    spaced = [("" if unspaced([word]) else word) for word in words]
    pairs = [f"{a} {b}" for a, b in pairwise(spaced) if a and b and STOP.isdisjoint((a, b))]
    return Terms(_first(telling), _first(phrases), _first(pairs), _first(names))


def _in_words(name: str) -> list[str]:
    """A name in camel case as it would be said, without a "get" or an "is" before it."""
    parts = [part.lower() for part in parts_of(name)]
    while parts and parts[0] in STOP:
        parts = parts[1:]
    return [" ".join(parts)] if len(parts) > 1 else []


def _parts(word: str) -> list[str]:
    """*word*, or what it may be made of: where no blank says which its words are, all neighbouring characters."""
    return [
        part
        for run in _RUN.findall(word)
        for part in (pairs_of(run) if _UNSPACED.match(run) else [run])
    ]


def _first(terms: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms))[:_MOST_TERMS]


def looks_like_a_pattern(question: str) -> bool:
    """Whether it reads as a regular expression."""
    return _PATTERN.search(question) is not None


def unspaced(words: Sequence[str]) -> list[str]:
    """Those of *words* that hold characters of a script without spaces between words."""
    return [word for word in words if _UNSPACED.search(word)]


def pairs_of(word: str) -> list[str]:
    """The neighbouring characters of *word*, two at a time: its words, where nothing says which they are."""
    return [word[at : at + 2] for at in range(len(word) - 1)] or [word]
