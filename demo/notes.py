"""What a summary says of a turn: notes that are written beforehand, and how they are known again.

A note belongs to a matter, such as the logs of the nights. A matter has sentences for one thing and
for several, in three degrees of detail, each whole. So what a text says of a matter can be read back,
and be said shorter, without a word that the text does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

#: Degrees of detail, the least first: the core, one sentence with all figures, a sentence a thing.
CORE, SHORT, FULL = range(3)
#: Fewer numbers in a row are listed.
_RUN: Final = 3


@dataclass(frozen=True)
class Matter:
    """Something that is spoken of. In its words ``{which}`` are things, ``{found}`` what came of them."""

    label: tuple[str, str]  #: its name in a topic, of one thing and of several
    core: tuple[str, str]  #: at most sixty characters: what is left in the smallest size
    short: tuple[str, str]  #: one sentence with all names and figures
    full: str  #: of each thing what was asked, done and found; empty: nothing to tell one by one
    hints: tuple[str, str]  #: questions that only the messages answer; ``{first}`` is a thing
    weight: int = 1  #: the more, the longer it is kept
    found: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    """For each of its things what came of it; a matter that has no things is one itself."""

    def sentences(self, which: Sequence[str], degree: int) -> list[str]:
        """What there is to say of *which*, so much in detail."""
        if degree == FULL and self.full:
            return [self._filled(self.full, [each]) for each in which]
        words = self.core if degree == CORE else self.short
        return [self._filled(words[len(which) > 1], which)]

    def name(self, which: Sequence[str]) -> str:
        """Its name in a topic."""
        return self.label[len(which) > 1].format(which=spans(which, 2).replace(" to ", "-"))

    def questions(self, which: Sequence[str]) -> list[str]:
        """What to ask about *which*."""
        return [hint.format(first=which[0]) for hint in self.hints]

    def said_in(self, text: str) -> Iterator[tuple[int, tuple[str, ...], int]]:
        """Where *text* says one of its sentences, of which things, and how much in detail."""
        for degree, words in ((CORE, self.core), (SHORT, self.short), (FULL, (self.full,))):
            for each in filter(None, words):
                for found in _pattern(each).finditer(text):
                    which = things(found.groupdict().get("which", ""))
                    if self.found.keys() >= set(which):
                        yield found.start(), which, degree

    def _filled(self, words: str, which: Sequence[str]) -> str:
        found = listed([self.found[each] for each in which])
        return words.format(which=spans(which), found=found)


@dataclass(frozen=True)
class Note:
    """What a turn was about: things of a matter; of a matter that has no things, nothing more."""

    matter: Matter
    which: tuple[str, ...] = ("",)


def _pattern(words: str) -> re.Pattern[str]:
    """*words* with anything in the place of ``{which}``, everywhere the same, and of ``{found}``."""
    pattern = re.escape(words).replace(r"\{found\}", r"[\w, ]+?")
    pattern = pattern.replace(r"\{which\}", r"(?P<which>[\w, ]+?)", 1)
    return re.compile(r"(?<!\w)" + pattern.replace(r"\{which\}", "(?P=which)"))


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def spans(which: Sequence[str], run: int = _RUN) -> str:
    """The same, with ``1 to 5`` for *run* numbers in a row or more."""
    rows: list[list[str]] = []
    for each in which:
        follows = rows and each.isdigit() and int(each) == int(rows[-1][-1]) + 1
        rows[-1].append(each) if follows else rows.append([each])
    parts = [[f"{row[0]} to {row[-1]}"] if len(row) >= run else row for row in rows]
    return listed([each for part in parts for each in part])


def things(text: str) -> tuple[str, ...]:
    """What :func:`spans` made *text* of."""
    found: list[str] = []
    for part in re.split(r", | and ", text):
        ends = [int(end) for end in part.split(" to ") if end.isdecimal()]
        found += [str(n) for n in range(ends[0], ends[1] + 1)] if ends[1:] else [part]
    return tuple(found)
