"""What the scripted model writes when it is asked for a summary: whole sentences, from what its source holds.

Of a source in which it knows turns, or sentences of its own about them, it composes their notes; of any
other it takes the lines that tell most.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .notes import CORE, FULL, SHORT, Matter, Note

#: A token is about four characters; a text of so many is within its size.
CHARS_PER_TOKEN = 4
#: What a summary keeps of one line.
LONGEST_LINE = 160
#: Whose words a topic is taken from, in this order.
SPEAKERS = ("user", "assistant")
_SAID = tuple(f"{who}: " for who in SPEAKERS)
_TOPIC_WORDS = 8
_HINTS = 3


@dataclass(frozen=True)
class Told:
    """What a source says of one matter."""

    matter: Matter
    which: tuple[str, ...]  #: of which things, in the order in which they came
    degree: int  #: how much in detail; that which it says least of sets it
    first: int  #: where it is spoken of first
    last: int  #: and last

    def sentences(self, degree: int) -> list[str]:
        """What there is to say of it."""
        return self.matter.sentences(self.which, degree)

    @property
    def name(self) -> str:
        """Its name in a topic."""
        return self.matter.name(self.which)


@dataclass(frozen=True)
class Noted:
    """A turn's note, and the words by which the turn is known: all of them are in its messages."""

    note: Note
    words: tuple[str, ...]


def told_in(text: str, noted: Iterable[Noted]) -> list[Told]:
    """What *text* says of each matter: by the turns that are in it, and by sentences about them."""
    turns = list(noted)
    found: dict[int, list[tuple[int, tuple[str, ...], int]]] = {}
    matters = {id(turn.note.matter): turn.note.matter for turn in turns}
    for turn in turns:
        if all(words in text for words in turn.words):
            place = (text.index(turn.words[0]), turn.note.which, FULL)
            found.setdefault(id(turn.note.matter), []).append(place)
    for key, matter in matters.items():
        for said in matter.said_in(text):
            found.setdefault(key, []).append(said)
    told = [_told(matters[key], sorted(said)) for key, said in found.items()]
    return sorted(told, key=lambda each: each.first)


def _told(matter: Matter, said: Sequence[tuple[int, tuple[str, ...], int]]) -> Told:
    which = dict.fromkeys(each for _, some, _ in said for each in some)
    degree = min(degree for _, _, degree in said)
    return Told(matter, tuple(which), degree, said[0][0], said[-1][0])


def compose(told: Sequence[Told], room: int) -> tuple[str, bool]:
    """The sentences that matter most, in their order, in at most *room* characters; and whether none lacks.

    First a core for as many matters as there is room for, then more detail where there is room left.
    """
    degrees: dict[int, int] = {}
    order = sorted(range(len(told)), key=lambda n: -told[n].matter.weight)
    for degree in (CORE, SHORT, FULL):
        for n in order:
            known = told[n].degree >= degree and degrees.get(n, CORE - 1) == degree - 1
            if known and len(_text(told, degrees | {n: degree})) <= room:
                degrees[n] = degree
    enough = (degrees.get(n, -1) >= min(each.degree, SHORT) for n, each in enumerate(told))
    return _text(told, degrees), all(enough)


def _text(told: Sequence[Told], degrees: dict[int, int]) -> str:
    return " ".join(s for n in sorted(degrees) for s in told[n].sentences(degrees[n]))


def topic(told: Sequence[Told], *, of_summaries: bool) -> str:
    """A few words: of messages what weighs most in them, of summaries from what to what they go."""
    last = max(told, key=lambda each: each.last)
    if of_summaries and last is not told[0]:
        words = f"{told[0].name} to {last.name}"
    else:
        most = sorted(told, key=lambda each: -each.matter.weight)[:2]
        words = " and ".join(each.name for each in sorted(most, key=lambda each: each.first))
    return words[:1].upper() + words[1:]


def questions(told: Sequence[Told]) -> list[str]:
    """Two or three questions, of what weighs most."""
    most = sorted(told, key=lambda each: -each.matter.weight)[:_HINTS]
    asked = [each.matter.questions(each.which) for each in most]
    return [first for first, _ in asked] + ([asked[0][1]] if len(asked) == 1 else [])


def summarise(text: str, max_chars: int = 900) -> str:
    """The lines of *text* that carry most: decisions, paths, numbers, names, in their order.

    A line that says something twice counts once. The result is at most *max_chars* long.
    """
    lines = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    said = [line for line in lines if line.startswith(_SAID)]  # and not what tools printed
    lines = said or lines
    weight = re.compile(
        r"[/_]\w|\d{2,}|\b(?:decide|because|must|never|error|fix)\w*", re.IGNORECASE
    )
    weights = [len(weight.findall(line[:200])) for line in lines]
    telling = [i for i, told in enumerate(weights) if told] or range(len(lines))
    ranked = sorted(telling, key=lambda i: (-weights[i], i))
    longest = min(LONGEST_LINE, max_chars)
    chosen: list[int] = []
    room = max_chars + 1
    for index in ranked:
        room -= min(len(lines[index]), longest) + 1
        if room < 0:
            break
        chosen.append(index)
    return "\n".join(lines[i][:longest] for i in sorted(chosen))


def topic_of(text: str) -> str:
    """What a person said first, else what the agent did, else how it begins; eight words at most."""
    spoken = (re.search(rf"^{who}: ([^.?!\n]+[.?!]?)", text, re.MULTILINE) for who in SPEAKERS)
    first = next((found.group(1) for found in spoken if found), text)
    return " ".join(first.split()[:_TOPIC_WORDS])


def answer_summary(prompt: str, noted: Iterable[Noted] = ()) -> str:
    """The answer of a summary model: the JSON that the plugin asks for, made from its source.

    Any other prompt without tools gets a plain summary of itself.
    """
    sizes = re.findall(r'^- "(\d+)": at most (\d+) tokens', prompt, re.MULTILINE)
    source = re.search(r" conversation begins\n(.*)\n[^\n]* conversation ends", prompt, re.DOTALL)
    if not sizes or source is None:
        return summarise(prompt) or "Nothing was said."
    text = source.group(1)
    rooms = {size: int(tokens) * CHARS_PER_TOKEN for size, tokens in sizes}
    told = told_in(text, noted)
    return json.dumps(_composed(told, text, rooms) if told else _taken(text, rooms))


def _composed(told: Sequence[Told], text: str, rooms: dict[str, int]) -> dict[str, object]:
    """An answer of the notes that *text* is known to hold."""
    made = {size: compose(told, room) for size, room in rooms.items()}
    of_summaries = not any(line.startswith(_SAID) for line in text.splitlines())
    return {
        "topic": topic(told, of_summaries=of_summaries),
        "hints": questions(told),
        "levels": {size: words for size, (words, _) in made.items()},
        "sufficient_tokens": int(next((s for s, (_, all_) in made.items() if all_), [*made][-1])),
    }


def _taken(text: str, rooms: dict[str, int]) -> dict[str, object]:
    """An answer of lines of *text*."""
    levels = {size: summarise(text, room * 3 // 4) or text[:40] for size, room in rooms.items()}
    named = list(dict.fromkeys(re.findall(r"\w+/[\w.-]+\w", text)))
    about = topic_of(text)
    return {
        "topic": about,
        "hints": named[:4] or [about],
        "levels": levels,
        "sufficient_tokens": int([*rooms][-1]),
    }
