"""What becomes of letters, said in few numbers to a page that searches without us.

The index makes small letters and takes accents away by tables of its own, which are older than a browser's; an exact
search folds case by Python's. A question may hold any letter, and more when it was put into small ones. So the page
is told of all of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from ..storage import fts_search

__all__ = ["alike", "as_runs", "caseless", "of_index"]

#: Beyond them no character has a case or parts words, but for some that are not seen.
_END: Final = 0x20000
_UNSEEN: Final = range(0xE0000, 0xE0200)
_SURROGATES: Final = range(0xD800, 0xE000)
#: No characters, and never to be any.
_NONE: Final = "\ufffe\uffff"
#: What ``re.IGNORECASE`` takes for one letter although the case of each is folded otherwise.
_DOTTED: Final = "Ii\u0130\u0131"
#: How far apart letters of one run are: alphabets have capitals by themselves, or in front of each small letter.
_STEPS: Final = (1, 2)


@cache
def of_index() -> Mapping[str, str]:
    """What the index makes of each letter that is no ASCII and that it does not keep: a blank, where it parts words."""
    codes = (*range(0x80, _END), *_UNSEEN)
    asked = [letter for letter in map(chr, codes) if _may_change(letter)]
    found = fts_search.letters([*asked, *_NONE])
    lone = {chr(code): " " for code in _SURROGATES}  # as `indexable` takes them
    return lone | {letter: made for letter, made in found.items() if made != letter}


def _may_change(letter: str) -> bool:
    """Whether the index must be asked: nine of ten are letters without a case and an accent."""
    kind = unicodedata.category(letter)
    if kind in ("Lo", "Lm", "No", "Nd"):
        return unicodedata.decomposition(letter) != ""
    return kind not in ("Cn", "Cs", "Co")


@cache
def caseless() -> Mapping[str, str]:
    """What ``str.casefold`` makes of each letter that it changes although it is a small one."""
    return {each: folded for each, folded in _folded().items() if each.lower() == each}


@cache
def _folded() -> Mapping[str, str]:
    every = map(chr, range(_END))
    return {letter: folded for letter in every if (folded := letter.casefold()) != letter}


@cache
def alike(letter: str) -> str:
    """All that ``re.IGNORECASE`` takes for *letter*."""
    if letter in _DOTTED:
        return _DOTTED
    folded = letter.casefold()
    same = {letter, folded, *(each for each, other in _folded().items() if other == folded)}
    return "".join(sorted(each for each in same if len(each) == 1))


def as_runs(made: Mapping[str, str]) -> list[list[Any]]:
    """*made* in few numbers: the first of some letters, how many, how far apart, and what becomes of each.

    That is one text, or by how much its number grows.
    """
    runs: list[list[Any]] = []
    for code, text in sorted((ord(letter), text) for letter, text in made.items()):
        grown = ord(text) - code if len(text) == 1 else None
        first, many, step, become = runs[-1] if runs else (code, 0, 0, "")
        if many == 1:
            step = code - first
            become = text if made[chr(first)] == text else become
        if step in _STEPS and code == first + many * step and become in (text, grown):
            runs[-1] = [first, many + 1, step, become]
        else:
            runs.append([code, 1, 1, text if grown is None else grown])
    return runs
