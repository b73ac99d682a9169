"""Where the subject of a conversation changes, told by its words.

Every word of a turn is tied to the nearest turn before it that has the word too. Where few ties
cross from what was said to what follows, fewer than around it, a new subject begins: the lexical
cohesion of TextTiling (Hearst, "TextTiling: Segmenting Text into Multi-paragraph Subtopic
Passages", Computational Linguistics 23, 1997), with single ties in the place of whole blocks,
which finds short segments as well and reads each word once. How people open a conversation, or
another subject, counts beside it.

Whether a subject begins at a turn depends on about *window* turns before and behind it that say
something, and on nothing else. So the same messages are cut alike by every pass that sees as much
of what follows. Time stamps are no help there: hosts drop them when they restore a message, and
the cut would move.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, repeat
from operator import mul
from typing import Final, NamedTuple

from ..storage.records import Entry
from .messages import Row, text_of
from .redact import Redact

__all__ = ["Drift", "Turn", "by_words", "described", "turns_of"]

# Set by ``python -m benchmarks drift`` on one half of its conversations.
_HEAD, _TAIL = 120, 60  #: characters of a question that are read
_ANSWER = 40  #: and of an answer, at each end
_NEAR: Final = (1000, 600, 360, 216, 130, 78, 47, 28, 17, 10)
"""What a tie counts by the turns between, in thousandths: whole numbers, for a sum of fractions
depends on its order, and the order of a set changes between runs."""
_LINK, _WORDS = 500, 2500  #: thousandths of a tie, and of a word, that every turn is taken to have
_TIED = 0.25  #: what is tied closer is tied: a question that is asked twice parts no neighbour
_OPENED = 0.8
_DRIFT = 0.55
_KEY_WORDS = 3
_TELLING = 3  #: a turn of fewer words ("go on", "done") is passed over
_SHORTEST, _STEM = 4, 5  #: letters of a word that counts, and those that stand for it

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
#: What separates words in ASCII, and capitals.
_PLAIN: Final = {code: chr(code).lower() if chr(code).isalpha() else " " for code in range(128)}
_LETTERS: Final = re.compile(rf"[^\W\d_{_UNSPACED}]{{4,}}")
_PAIR: Final = re.compile(rf"(?=([{_UNSPACED}]{{2}}))")
_WORD: Final = re.compile(rf"[^\W\d_{_UNSPACED}]{{4,24}}|[{_UNSPACED}]{{2,8}}")
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        "also always because been being could does doing done even every from going good great have"
        " having here into just know like make many maybe more most much need only other over please"
        " really same some sure take than thank thanks that their them then there these they thing"
        " things think this those very want well were what when where which while will with would"
        " your yours about after again before shall should",
    )
)
_OPENING: Final = re.compile(
    r"\W*(?:\w+:\s*)?(?:(?:hi|hiya|hey|hello|greetings|good (?:morning|afternoon|evening)|long time"
    r"|guess what|what'?s (?:up|new)|by the way|btw|on another note|another question|next question"
    r"|(?:new|next|different) (?:topic|task)|different question|changing the subject|unrelated"
    r"|separately|now for something|let'?s (?:talk about|move on|switch)|hallo|guten (?:morgen|tag|abend)"
    r"|\u00fcbrigens|bonjour|salut|au fait|hola|buen[oa]s|por cierto|ciao|ol\u00e1"
    r"|\u043f\u0440\u0438\u0432\u0435\u0442)\b"
    r"|\u4f60\u597d|\u65e9\u4e0a\u597d|\u987a\u4fbf|\u6362\u4e2a\u8bdd\u9898"
    r"|\u3053\u3093\u306b\u3061\u306f|\u3068\u3053\u308d\u3067|\uc548\ub155)",
    re.IGNORECASE,
)


class Turn(NamedTuple):
    """What is read of a turn; a tuple, for there are many."""

    number: int
    asked: str
    """What the user said, its ends if it is long."""
    answered: str
    """What the agent said last in it, the same."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A change of subject."""

    turn: int
    """Number of the turn with which the new subject begins."""
    before: tuple[str, ...]
    """Key words of what was spoken of, at most three."""
    after: tuple[str, ...]
    """Those of the new subject."""


def turns_of(entries: Iterable[Entry], rows: Mapping[int, Row]) -> list[Turn]:
    """The turns of messages that stand in order; *rows* holds each message by its number."""
    turns: list[Turn] = []
    number, asked, answered = 0, "", ""
    open_turn = False
    for entry in entries:
        if not open_turn or entry.turn != number:
            if open_turn:
                turns.append(Turn(number, asked, answered))
            number, asked, answered, open_turn = entry.turn, "", "", True
        if entry.role == "user" and not asked:  # what follows in a turn is the host's
            asked = _ends(text_of(rows[entry.id]), _HEAD, _TAIL)
        elif entry.role == "assistant":
            answered = _ends(text_of(rows[entry.id]), _ANSWER, _ANSWER) or answered
    if open_turn:
        turns.append(Turn(number, asked, answered))
    return turns


def _ends(text: str, head: int, tail: int) -> str:
    return text if len(text) <= head + tail else f"{text[:head]} {text[-tail:]}"


def by_words(turns: Sequence[Turn], window: int, *, openings: bool = True) -> list[int]:
    """Indexes of the turns with which a new subject begins.

    *window*: turns that are looked at together, half of them on each side of a change; beyond 20
    it makes no difference. *openings*: whether it counts how a turn opens.
    """
    told: list[int] = []  # turns that say something
    opens: list[bool] = []  # and whether each opens like a conversation
    drifts = _drifts(_telling(turns, told, opens, openings=openings), _half(window))
    scores = [drift + _OPENED * opened for drift, opened in zip(drifts, opens, strict=True)]
    return [
        at
        for at, before, score, after in zip(
            told[1:], scores, scores[1:], [*scores[2:], 0.0], strict=False
        )
        if score >= _DRIFT and score > before and score >= after
    ]


def _half(window: int) -> int:
    return min(max(window // 2, 1), len(_NEAR))


def _telling(
    turns: Iterable[Turn], told: list[int], opens: list[bool], *, openings: bool
) -> Iterator[set[str]]:
    """The words of each turn that says something, one at a time: all of them together would be large.

    Its index is added to *told*, and whether it opens a conversation to *opens*.
    """
    stems = _Stems()
    for at, turn in enumerate(turns):
        words = stems.of(turn)
        opened = openings and bool(_OPENING.match(turn.asked))
        if opened or len(words) >= _TELLING:
            told.append(at)
            opens.append(opened)
            yield words


def _drifts(stems: Iterable[set[str]], half: int) -> list[float]:
    """How much the words of each turn speak for a change: 0 if they tell nothing, 1 if none is tied."""
    cohesion = _cohesion(stems, half)
    drifts = [0.0] * len(cohesion)
    for at in range(1, len(cohesion)):
        around = cohesion[max(1, at - half) : at + half]
        drifts[at] = 1 - cohesion[at] * len(around) / sum(around)
    return drifts


def _cohesion(stems: Iterable[set[str]], half: int) -> list[float]:
    """For each turn the share of the words from it on that are tied to a turn before it.

    Nearer words and nearer ties count more; none reaches over more than *half* turns.
    """
    ties = [0]  # what comes at each turn, and goes
    sizes: list[int] = []
    met: dict[str, int] = {}
    never = repeat(-half - 1)
    for at, words in enumerate(stems):
        ties.append(0)
        sizes.append(len(words))
        first = at - half
        for last in [last for last in map(met.get, words, never) if last >= first]:
            tie = _NEAR[at - last - 1]
            ties[last + 1] += tie
            ties[at + 1] -= tie
        met.update(dict.fromkeys(words, at))
    near = _NEAR[:half]
    known = [
        sum(near[:at]) / sum(near) for at in range(half)
    ]  # at the beginning less can be tied to
    known += [1.0] * (len(sizes) - half)
    follow = [*sizes, *[0] * half]
    return [
        min((_LINK + tied) / (share * sum(map(mul, follow[at : at + half], near)) + _WORDS), _TIED)
        for at, (tied, share) in enumerate(zip(accumulate(ties[:-1]), known, strict=False))
    ]


class _Stems(dict[str, str]):
    """The stem of each word that was met: its first letters, "" for a word that tells nothing."""

    def __missing__(self, word: str) -> str:
        self[word] = stem = "" if len(word) < _SHORTEST or word in _COMMON else word[:_STEM]
        return stem

    def of(self, turn: Turn) -> set[str]:
        text = f"{turn.asked} {turn.answered}"
        if text.isascii():
            stems = set(map(self.__getitem__, text.translate(_PLAIN).split()))
        else:
            stems = set(map(self.__getitem__, _LETTERS.findall(text.lower())))
            stems.update(_PAIR.findall(text))
        stems.discard("")
        return stems


def described(turns: Sequence[Turn], at: int, window: int, clean: Redact = str) -> Drift:
    """The change at index *at* with key words of both sides, which *clean* takes secrets out of."""
    half = max(window // 2, 1)
    sides = [
        Counter(_words(clean("\n".join(f"{turn.asked}\n{turn.answered}" for turn in side))))
        for side in (turns[max(at - half, 0) : at], turns[at : at + half])
    ]
    before, after = (
        tuple(sorted(own, key=lambda word: other[word] - own[word])[:_KEY_WORDS])
        for own, other in (sides, sides[::-1])
    )
    return Drift(turns[at].number, before, after)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _COMMON]
