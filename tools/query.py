"""A question as search terms: words that carry meaning, and phrases in quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..storage.text import indexable

__all__ = ["Terms", "looks_like_a_pattern", "pairs_of", "terms_of", "unspaced"]

_PHRASE = re.compile(r'"([^"]{2,})"')
_WORD = re.compile(r"\w[\w.\-/:@+#]*\w|\w", re.UNICODE)
_PIECE = re.compile(r"\w+", re.UNICODE)
_MOST_TERMS = 64
#: What is written in a pattern and hardly anywhere else.
_PATTERN = re.compile(r"\.[*+]|\\[wWdDsSbB]|[\w)]\|[\w(]|\[[^\]\s]+\][*+{]|\(\?[:=!<]")

#: Words of a question that say nothing about its answer.
_STOP = frozenset(
    [
        "a",
        "about",
        "after",
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
        "been",
        "before",
        "being",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "done",
        "for",
        "from",
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
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "let",
        "me",
        "more",
        "most",
        "my",
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
        "them",
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
        "very",
        "was",
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
    ]
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What to look for."""

    words: tuple[str, ...]
    phrases: tuple[str, ...]
    """Runs of words that must stand together: in quotes, or an identifier of several parts."""

    @property
    def needles(self) -> tuple[str, ...]:
        """All of them, longest first: where a snippet should be."""
        return tuple(sorted((*self.phrases, *self.words), key=len, reverse=True))


def terms_of(question: str) -> Terms:
    """The terms of a plain question; never empty for a question with a letter or digit in it."""
    phrases = [phrase.strip() for phrase in _PHRASE.findall(question)]
    rest = _PHRASE.sub(" ", question)
    words: dict[str, None] = {}
    for found in _WORD.findall(rest):
        pieces = _PIECE.findall(found)
        if len(pieces) > 1:
            phrases.append(found)
        for piece in pieces:
            words.setdefault(piece.lower(), None)
    telling = [word for word in words if word not in _STOP]
    return Terms(
        tuple((telling or list(words))[:_MOST_TERMS]), tuple(dict.fromkeys(phrases))[:_MOST_TERMS]
    )


def looks_like_a_pattern(question: str) -> bool:
    """Whether it reads as a regular expression."""
    return _PATTERN.search(question) is not None


def unspaced(words: Sequence[str]) -> list[str]:
    """Those of *words* that hold characters of a script without spaces between words."""
    return [word for word in words if indexable(word) != word]


def pairs_of(word: str) -> list[str]:
    """The neighbouring characters of *word*, two at a time: its words, where nothing says which they are."""
    return [word[at : at + 2] for at in range(len(word) - 1)] or [word]
