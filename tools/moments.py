"""Times that a question names, by the calendar or by what happened then: what is of that time counts more.

Nothing is left out: a question may be wrong about when something was, and so may we.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..storage.errors import StoreDamaged
from ..storage.records import Filter, Hit
from .describe import stamp
from .desk import Desk
from .query import terms_of
from .when import spans_in

__all__ = ["FIGURES", "Event", "event_in", "of_that_time"]

Find = Callable[[Sequence[str], Sequence[str], Filter], "list[Hit]"]

#: By how much a message counts more that is of a time which the question names, or on that side of an event.
_OF_THAT_TIME, _ON_THAT_SIDE = 2.0, 1.2
_MOST_TIMES = 3
#: Characters of a question in which events are looked for; a longer one is a story.
_LONGEST = 300
#: Share of the words of an event that a message must hold to be taken for it, and letters that tell a word.
_ENOUGH, _LETTERS = 0.6, 5
_EVENT: Final = re.compile(
    r"\b(?:(?P<before>before|prior to|until)|after|since)\s+(?P<what>(?:(?:the|my|our|your|his|her|their|its"
    r"|i|we|you|he|she|they)\b|(?-i:[A-Z])\w+(?:'s)?|\w+ing\b)(?:[ \t]+[^\s.,;:?!]+){0,9})",
    re.IGNORECASE,
)
FIGURES: Mapping[str, Any] = {
    "of_that_time": _OF_THAT_TIME, "on_that_side": _ON_THAT_SIDE, "most_times": _MOST_TIMES,
    "longest_question": _LONGEST, "enough_words": _ENOUGH, "letters": _LETTERS, "event": _EVENT,
}  # fmt: skip
"""The same by name, for a page that ranks without us."""


class Event(NamedTuple):
    """What happened at the time that a question means."""

    text: str
    before: bool
    """Whether it asks for what was before it, or for what came after."""


def event_in(question: str) -> Event | None:
    """The event that *question* is about the time before or after, if there is one: "after the launch"."""
    found = _EVENT.search(question) if len(question) <= _LONGEST else None
    return Event(found["what"], found["before"] is not None) if found else None


def of_that_time(
    desk: Desk, hits: Sequence[Hit], question: str, asked: tuple[Filter, float], find: Find
) -> tuple[list[Hit], str]:
    """*hits* in the order that they have when those of a time that *question* names count more, and what that is.

    *asked*: the filter of the search, and when it began; *find*: the messages that hold any of these words.
    """
    where, now = asked
    if not hits or where.since is not None or where.until is not None:
        return list(hits), ""
    told, named = _by_calendar(hits, question, asked, find)
    if not named and not spans_in(question, now) and (event := event_in(question)):
        told, named = _by_event(desk, hits, event, where, find)
    return sorted(told, key=lambda hit: -hit.score), named


def _by_calendar(
    hits: Sequence[Hit], question: str, asked: tuple[Filter, float], find: Find
) -> tuple[list[Hit], str]:
    where, now = asked
    spans = spans_in(question, now)[:_MOST_TIMES]
    terms = terms_of(question)
    then = {
        hit.message
        for span in spans
        for hit in find(
            terms.words,
            (*terms.phrases, *terms.pairs),
            replace(where, since=span.first, until=span.last),
        )
    }
    if not then:
        return list(hits), ""
    named = ", ".join(f"{span.text} ({stamp(span.first)[:10]})" for span in spans)
    return _raised(hits, then, _OF_THAT_TIME), f"Taken for a time: {named}."


def _by_event(
    desk: Desk, hits: Sequence[Hit], event: Event, where: Filter, find: Find
) -> tuple[list[Hit], str]:
    terms = terms_of(event.text)
    anybody = replace(where, roles=(), tool="", turns=None)
    found = find(terms.words, (*terms.phrases, *terms.pairs), anybody)
    best = next((hit for hit in found if hit.message is not None), None)
    if best is None or best.message is None:
        return list(hits), ""
    try:
        ((message, said),) = desk.said([(best.message, best.version)])
    except StoreDamaged:  # which is said when it is shown
        return list(hits), ""
    text = said.lower()
    if sum(word[:_LETTERS] in text for word in terms.words) < _ENOUGH * len(terms.words):
        return list(hits), ""
    there = {
        hit.message
        for hit in hits
        if hit.message is not None
        and (hit.message <= message.id if event.before else hit.message >= message.id)
    }
    side = "before" if event.before else "after"
    named = f"'{event.text}' taken for {message.uid[:12]} ({stamp(message.time)}); what was said {side} it counts more."
    return _raised(hits, there, _ON_THAT_SIDE), named


def _raised(hits: Sequence[Hit], those: AbstractSet[int | None], times: float) -> list[Hit]:
    return [replace(hit, score=hit.score * times) if hit.message in those else hit for hit in hits]
