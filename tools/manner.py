"""How a message says what it says, which its words alone do not tell: read of the best results, and weighed.

What follows a question of another answers it. What an assistant asks answers little. Who asks about a person
wants what that person says; who asks when, a message that names a time. How a user opens a conversation says
what it is about.

The figures were chosen on one half of the conversations of ``python -m benchmarks recall``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..storage.errors import StoreDamaged
from ..storage.ranking import kind_of, words_of
from ..storage.records import Hit
from .desk import Desk

__all__ = ["FIGURES", "by_manner"]

#: Results that are read, and characters of each end of one that are looked at.
_READ, _LOOKED = 50, 2_000
#: Of its worth, what a message loses that is nothing but questions.
_ASKS = 0.5
#: By how much one counts more that the person says who is asked about, that names a time where one is
#: asked for, or that opens a conversation.
_SPEAKS, _DATED, _OPENS = 1.25, 1.4, 1.3

_SPEAKER: Final = re.compile(r"\W?([^\W\d_][\w.' -]{0,30}?)[\]>)]?:\s|\[([^\]\n]{1,30})\]\s")
_OPENING: Final = re.compile(
    r"\W*(?:hi|hiya|hey|hello|greetings|good (?:morning|afternoon|evening)|hallo|guten (?:morgen|tag|abend)"
    r"|bonjour|salut|hola|buen[oa]s|ciao|ol\u00e1|\u043f\u0440\u0438\u0432\u0435\u0442)\b"
    r"|\W*(?:\u4f60\u597d|\u65e9\u4e0a\u597d|\u3053\u3093\u306b\u3061\u306f|\uc548\ub155)",
    re.IGNORECASE,
)
_WHEN: Final = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:date|day|month|year|time)\b|\bhow long ago\b", re.IGNORECASE
)
_TIME: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|weekend|recently|ago|since|\d{4}|\d+(?:st|nd|rd|th)"
    r"|(?:last|next|this) (?:night|week|month|year|morning|summer|winter|spring|fall|autumn)"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|the other day)\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s*")
_ASIDE: Final = re.compile(r"\[[^\]\n]*\]\s*\Z")
_MARKS: Final = ("?", "\uff1f", "\u061f")
FIGURES: Mapping[str, Any] = {
    "read": _READ, "looked": _LOOKED, "asks": _ASKS, "speaks": _SPEAKS, "dated": _DATED, "opens": _OPENS,
    "marks": _MARKS,
    "speaker": _SPEAKER, "opening": _OPENING, "when": _WHEN, "time": _TIME, "sentence": _SENTENCE, "aside": _ASIDE,
}  # fmt: skip
"""The same by name, for a page that ranks without us."""


class _Read(NamedTuple):
    """A result that was read."""

    hit: Hit
    number: int
    role: str
    length: int
    text: str
    """Its two ends, if it is long."""


def by_manner(desk: Desk, hits: Sequence[Hit], question: str) -> list[Hit]:
    """*hits* in the order that they have when the best of them are read as well."""
    read = _read(desk, [hit for hit in hits if hit.message is not None][:_READ])
    answers = _answers(desk, read)
    asked = frozenset(word.lower() for word in words_of(question))
    wants_time = _WHEN.search(question) is not None
    worth = {
        each.hit: answers.get(each.number, each.hit.score) * _weight(each, asked, wants_time)
        for each in read
    }
    told = [replace(hit, score=worth[hit]) if hit in worth else hit for hit in hits]
    return sorted(told, key=lambda hit: -hit.score)


def _read(desk: Desk, hits: Sequence[Hit]) -> list[_Read]:
    try:
        said = desk.said([(hit.message or 0, hit.version) for hit in hits])
    except StoreDamaged:  # which is said when it is shown
        return []
    found = []
    for hit, (message, text) in zip(hits, said, strict=True):
        ends = text if len(text) <= 2 * _LOOKED else f"{text[:_LOOKED]}\n{text[-_LOOKED:]}"
        found.append(_Read(hit, message.id, message.role, len(text), ends))
    return found


def _answers(desk: Desk, read: Sequence[_Read]) -> dict[int, float]:
    """What those are worth that another's question stands before: no less than it, but for the user's voice."""
    numbers = {each.number: each for each in read}
    pairs = [
        (before, each)
        for each in read
        if (before := numbers.get(each.number - 1))
        and before.role != each.role
        and _asks_last(before.text)
    ]
    lines = desk.store.lines_of([one.number for pair in pairs for one in pair]) if pairs else {}
    voice = kind_of((each.role, each.length) for each in read).voice
    found = {}
    for before, each in pairs:
        if lines.get(before.number) == lines.get(each.number):
            asked, own = (voice if one.role == "user" else 1.0 for one in (before, each))
            found[each.number] = max(each.hit.score, before.hit.score * own / asked)
    return found


def _weight(each: _Read, asked: AbstractSet[str], wants_time: bool) -> float:  # noqa: FBT001
    """By how much the manner of a message makes it count more, or less."""
    worth = 1.0
    if each.role == "assistant":
        worth -= _ASKS * _share_of_questions(each.text)
    speaker = _SPEAKER.match(each.text)
    if speaker and not asked.isdisjoint((speaker[1] or speaker[2]).lower().split()):
        worth *= _SPEAKS
    if wants_time and _TIME.search(each.text):
        worth *= _DATED
    if each.role == "user" and _OPENING.match(each.text):
        worth *= _OPENS
    return worth


def _asks_last(text: str) -> bool:
    """Whether *text* ends with a question, what it shows behind it aside."""
    return _ASIDE.sub("", text).rstrip().endswith(_MARKS)


def _share_of_questions(text: str) -> float:
    sentences = _SENTENCE.split(_ASIDE.sub("", text).strip())
    asking = sum(len(sentence) for sentence in sentences if sentence.endswith(_MARKS))
    return asking / max(sum(map(len, sentences)), 1)
