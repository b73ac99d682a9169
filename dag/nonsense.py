"""What a weak model writes in place of a summary, known by its form.

A model that is too small for the job goes round in circles, gives back what it was told, or speaks
of things that nobody said. Whether a summary is true cannot be seen from here; but these three can be
counted. Each measure is far from what any good summary comes to, in any language, and says nothing
where there is little to count: in doubt a text is a summary.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import Final

from .extractive import STOP_WORDS
from .prompts import instructions

__all__ = ["echoes", "fault_of"]

#: Characters of an answer that are looked at; no size that is asked for is longer.
_READ: Final = 60_000

#: A word: letters and digits together, or one character of a script that has no spaces.
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_DIGIT: Final = re.compile(r"\d")

#: Words that make a run. Where a list says the same of each thing, a run holds the thing's name as
#: well, and differs; where a model is caught in a loop, nothing does.
_LOOP_RUN: Final = 12
#: Words that are looked at together, and the fewest that are judged.
_LOOP_WORDS: Final = 80
#: Share of the runs that differ where something stands three times.
_LOOP_SHARE: Final = 0.34

#: Words that make a run, and the share of a text in runs that the instructions have and its source has not.
_ECHO_RUN: Final = 5
_ECHO_SHARE: Final = 0.5

#: A sentence about a conversation that tells nothing of it.
_VAGUE: Final = re.compile(
    r"(?:the|this) (?:whole |entire )?(?:conversation|discussion|dialogue|exchange|transcript|text|summary)"
    r" (?:also |then )?(?:is|covers|discusses|describes|goes|includes|contains|provides|focuses|revolves|details"
    r"|explains|mentions|deals|touches)\b[^.!?\d]*[.!?]*",
    re.IGNORECASE,
)
_SENTENCE_GAP: Final = re.compile(r"(?<=[.!?])\s+")

#: Letters that two forms of a word have in common, and the fewest of a word that tells anything.
_STEM: Final = 5
#: Words of an answer, of its source; fewer are not judged: one sentence may say it all in words of its own.
_FEW: Final = 20
_SHORT: Final = 200
#: Share of the words that the source must have. Summaries of real conversations have 0.3 and more; of
#: texts about something else, half have less than this beside a source of 2,000 characters.
_KNOWN_SHARE: Final = 0.08

#: Figures of an answer, the fewest that are judged; and the share that its source must not have.
_FIGURES: Final = 5
_FIGURES_SHARE: Final = 0.8


def fault_of(text: str, source: str) -> str:
    """Why *text* is no summary of *source*; empty where nothing speaks against it."""
    text = text[:_READ]
    words = _words(text)
    if _is_vague(text) and len(set(_words(source))) >= _SHORT:
        return "what it is about in place of what was said"
    judges: tuple[tuple[Callable[[Sequence[str], str], bool], str], ...] = (
        (_loops, "the same words over and over"),
        (_echoed, "the instructions in place of a summary"),
        (_invented, "nothing in it is from its source"),
        (_miscounted, "figures that its source does not have"),
    )
    return next((fault for judge, fault in judges if judge(words, source)), "")


def echoes(text: str) -> bool:
    """Whether *text*, a line, is one that the model was told."""
    return _echoed(_words(text), "")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _runs(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(length)), strict=False))


def _is_vague(text: str) -> bool:
    """Whether each of its sentences only says what the conversation covers, and none names a figure."""
    return all(_VAGUE.fullmatch(sentence) for sentence in _SENTENCE_GAP.split(text.strip()))


def _loops(words: Sequence[str], source: str) -> bool:
    return _circular(words) and not _circular(_words(source))


def _circular(words: Sequence[str]) -> bool:
    """Whether all of it, or a stretch of eighty words, says something three times."""
    runs = _runs(words, _LOOP_RUN)
    near = _LOOP_WORDS - _LOOP_RUN + 1
    if len(runs) < near:
        return False
    stretches = (runs[start : start + near] for start in range(0, len(runs) - near + 1, near // 4))
    return any(len(set(found)) < len(found) * _LOOP_SHARE for found in (runs, *stretches))


@functools.cache
def _told() -> frozenset[tuple[str, ...]]:
    return frozenset(_runs(_words(instructions()), _ECHO_RUN))


def _echoed(words: Sequence[str], source: str) -> bool:
    """Whether half of it is from the instructions, and not from a source that speaks of them."""
    runs = _runs(words, _ECHO_RUN)
    told = [at for at, run in enumerate(runs) if run in _told()]
    covered = {at + n for at in told for n in range(_ECHO_RUN)}
    if not told or len(covered) < len(words) * _ECHO_SHARE:
        return False
    return {runs[at] for at in told}.isdisjoint(_runs(_words(source), _ECHO_RUN))


def _invented(words: Sequence[str], source: str) -> bool:
    """Whether next to no word is from the source, nor any figure, although both are written alike."""
    telling = {word for word in words if len(word) >= _STEM and word not in STOP_WORDS}
    known = set(_words(source))
    if len(telling) < _FEW or len(known) < _SHORT or _scripts(telling).isdisjoint(_scripts(known)):
        return False  # the last: a translation
    stems = {word[:_STEM] for word in known}
    found = sum(word[:_STEM] in stems for word in telling)
    figures = any(word in known for word in words if len(word) > 1 and _DIGIT.search(word))
    return not figures and found <= len(telling) * _KNOWN_SHARE


def _scripts(words: Collection[str]) -> set[str]:
    """What they are written in: ``LATIN``, ``CYRILLIC``."""
    first = {word[0] for word in words if len(word) >= _STEM and word[0].isalpha()}
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in first}


def _miscounted(words: Sequence[str], source: str) -> bool:
    """Whether nearly all of its numbers and names with digits are nowhere in the source."""
    figures = {word for word in words if len(word) > 1 and _DIGIT.search(word)}
    known = source.casefold()
    new = sum(figure not in known for figure in figures)
    return len(figures) >= _FIGURES and new >= len(figures) * _FIGURES_SHARE
