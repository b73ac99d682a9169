"""How messages are ranked for a question, whatever store they are in.

BM25 (Robertson and Zaragoza, 2009) in which a word counts for the messages around it as well: what
answers a question often stands next to what repeats its words. Each word counts once for a message, with
its best occurrence near it, less the further away that is. In a conversation whose answers are much
longer than what is asked, the user's few words say more than the many that answer them. A
question as long as a message goes on with what was said lately.

The figures were chosen on one half of the conversations of ``python -m benchmarks recall``.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .text import MARKS, beginning, indexable

__all__ = [
    "FIGURES",
    "REACH",
    "Kind",
    "Row",
    "Term",
    "bag_of",
    "kind_of",
    "ranked",
    "relevant",
    "scores",
    "terms_in",
    "weight",
    "words_of",
]

_WORD = re.compile(rf"(?:[^\W_]|[{MARKS}])+")
_SATURATION, _BY_LENGTH = 0.6, 0.6
#: Times the length of the average from which on a message is no longer.
_TIMES = 12.0
#: What a word of a message counts for those so many places away.
_NEAR = (0.7, 0.5, 0.3, 0.2)
REACH = len(_NEAR)
"""How far away a word still counts."""
_VOICE = 0.25
#: Terms from which on a question is one: a message without any of them is found by what stands around it.
_QUESTION = 3
#: Share of the best message's worth that such a message must have.
_WITHOUT = 0.4
#: Words of a question that begins to be a message itself, and of one that is.
_LONG, _LONGEST = 14, 28
#: Messages in which what was said lately loses two thirds of its advantage.
_LATELY = 120
FIGURES: Mapping[str, Any] = {
    "saturation": _SATURATION, "by_length": _BY_LENGTH, "times": _TIMES, "near": _NEAR, "voice": _VOICE,
    "question": _QUESTION, "without": _WITHOUT, "long": _LONG, "longest": _LONGEST, "lately": _LATELY,
}  # fmt: skip
"""The same by name, for a page that ranks without us."""


class Row(NamedTuple):
    """A message where it stands."""

    id: int
    role: str
    length: int
    """In any unit, the same for all."""
    found: bool = True
    """Whether the search may return it; its words count for those around it in any case."""


class Term(NamedTuple):
    """A word or a phrase that is asked for."""

    weight: float
    counts: Mapping[int, int]
    """How often it stands in a message, by number."""
    spreads: bool = True
    """Whether it counts for the messages around it."""


class Kind(NamedTuple):
    """What the messages around are like."""

    length: float
    """Of a message, on average."""
    voice: float
    """By how much what a user says counts more."""


def relevant(run: Iterable[tuple[Row, str]], without_tools: Sequence[str]) -> list[Row]:
    """The rows of a run, with the names of their tools, but for calls of these tools and their results.

    Some hosts name the tool in the call alone: what follows a call without a name is its result.
    """
    kept: list[Row] = []
    inside = False
    for row, tool in run:
        if row.role != "tool" or tool:
            inside = tool in without_tools
        if not inside:
            kept.append(row)
    return kept


def weight(messages: int, holding: int) -> float:
    """What a term is worth that so many of the messages hold."""
    holding = min(holding, messages)
    return math.log(1 + (messages - holding + 0.5) / (holding + 0.5))


def kind_of(rows: Iterable[tuple[str, int]]) -> Kind:
    """What the messages are like, by their (role, length)."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for role, length in rows:
        lengths[role].append(length)
    every = [length for each in lengths.values() for length in each]
    mean = max(sum(every) / len(every), 1.0) if every else 1.0
    asked, answered = ([max(n, 1) for n in lengths[role]] for role in ("user", "assistant"))
    if not (asked and answered):
        return Kind(mean, 1.0)
    ratio = (sum(answered) / len(answered)) / (sum(asked) / len(asked))
    return Kind(mean, max(ratio**_VOICE, 1.0))


def scores(
    runs: Sequence[Sequence[Row]], terms: Sequence[Term], kind: Kind, newest: int
) -> dict[int, float]:
    """What each message is worth for a question.

    *runs*: messages that follow one another; *newest*: the number of the last one there is.
    """
    slots: list[Row | None] = []
    for run in runs:
        slots += [*run, *([None] * REACH)]  # so that no word reaches from one run to another
    place = {row.id: at for at, row in enumerate(slots) if row is not None}
    totals: dict[int, float] = defaultdict(float)
    holding: Counter[int] = Counter()
    for term in terms:
        for at, worth in _spread(term, place, slots, kind).items():
            totals[at] += worth * term.weight
        holding.update(place[number] for number in term.counts if number in place)
    asked = sum(term.spreads for term in terms)
    lately = min(max(asked - _LONG, 0) / (_LONGEST - _LONG), 1.0)
    # Around a message that holds all that is asked for, there is nothing to look for.
    is_open = asked >= _QUESTION and max(holding.values(), default=0) < len(terms)
    least = max(totals.values(), default=0.0) * (_WITHOUT if is_open else 1.0)
    found = {}
    for at, total in totals.items():
        row = slots[at] if at < len(slots) else None
        if row is not None and row.found and (at in holding or total > least):
            worth = total * kind.voice if row.role == "user" else total
            if lately:
                worth *= 1 + lately * math.exp((row.id - newest) / _LATELY)
            found[row.id] = worth
    return found


def _spread(
    term: Term, place: Mapping[int, int], slots: Sequence[Row | None], kind: Kind
) -> dict[int, float]:
    """What the best occurrence near a place counts there, by place."""
    best: dict[int, float] = defaultdict(float)
    for number, count in term.counts.items():
        at = place.get(number)
        row = slots[at] if at is not None else None
        if at is None or row is None:
            continue
        times = min(row.length / kind.length, _TIMES) if term.spreads else 1.0
        long = 1 - _BY_LENGTH + _BY_LENGTH * times
        worth = count * (1 + _SATURATION) / (count + _SATURATION * long)
        best[at] = max(best[at], worth)
        for away, share in enumerate(_NEAR if term.spreads else (), 1):
            for near in (at - away, at + away):
                if 0 <= near and worth * share > best[near]:
                    best[near] = worth * share
    return best


# texts in memory


def words_of(text: str) -> list[str]:
    """The words of a text, in its own case."""
    return _WORD.findall(text)


def ranked(
    texts: Mapping[Any, str], words: Sequence[str], phrases: Sequence[str]
) -> list[tuple[Any, float]]:
    """Keys of the texts that hold any term, best first, each text for itself."""
    keys = list(texts)
    bags = {at: bag_of(text) for at, text in enumerate(texts.values())}
    rows = [Row(at, "", bag.count(" ")) for at, bag in bags.items()]
    terms = [term._replace(spreads=False) for term in terms_in(bags, words, phrases)]
    found = scores([[row] for row in rows], terms, kind_of(row[1:3] for row in rows), len(rows))
    return sorted(((keys[at], worth) for at, worth in found.items()), key=lambda pair: -pair[1])


def bag_of(text: str) -> str:
    """The words of a text in lower case, a blank around each."""
    return f" {' '.join(words_of(indexable(text).lower()))} "


def terms_in(bags: Mapping[int, str], words: Sequence[str], phrases: Sequence[str]) -> list[Term]:
    """Words and phrases as terms over texts: how often each stands where."""
    terms = []
    for asked, spreads in ((words, True), (phrases, False)):
        for text in dict.fromkeys(f"{beginning(bag_of(each)).rstrip()} " for each in asked):
            if text.strip():
                counts = {key: bag.count(text) for key, bag in bags.items() if text in bag}
                terms.append(Term(weight(len(bags), len(counts)), counts, spreads))
    return terms
