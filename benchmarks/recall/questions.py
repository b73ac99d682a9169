"""Questions with evidence, and the conversations that they are asked of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["HALVES", "Asked", "Question", "questions", "sets_in"]

HALVES = ("tuned", "held-out")


@dataclass(frozen=True)
class Question:
    """One question."""

    text: str
    evidence: frozenset[int]
    """Indexes of the messages that answer it; never empty."""
    before: int | None
    """It was asked there: nothing from this index on may be found. None: at the end."""
    half: str
    """Whether constants were chosen on it: one of ``HALVES``."""


@dataclass(frozen=True)
class Asked:
    """A conversation and what is asked of it."""

    name: str
    rows: list[dict[str, Any]]
    questions: list[Question]
    """By ``before``, so that the conversation may grow between them."""
    times: list[float] = field(default_factory=list)
    """When each message was said, as Unix seconds; empty where the data do not say it."""


def sets_in(data: Path) -> list[str]:
    """Names of the data sets that have questions, in order."""
    return sorted(path.stem for path in (data / "qa").glob("*.jsonl"))


def questions(data: Path, name: str, halves: Sequence[str] = HALVES) -> list[Asked]:
    """The conversations of a data set, with their questions of these halves.

    Every second conversation is held out; of one that is alone in its set, every second question.
    """
    by_talk: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in _lines(data / "qa" / f"{name}.jsonl"):
        if line["evidence_message_indexes"]:
            talk = (line.get("conversation_dataset", name), line["conversation"])
            by_talk.setdefault(talk, []).append(line)
    found = []
    for number, (talk, asked) in enumerate(sorted(by_talk.items())):
        alone = len(by_talk) == 1
        chosen = [
            each
            for at, line in enumerate(asked)
            if (each := _question(line, (at if alone else number) % 2)).half in halves
        ]
        if chosen:
            name = "/".join(talk)
            rows = list(_lines(data / "conv" / f"{name}.jsonl"))
            times = _times(data / "meta" / f"{name}.json")
            found.append(Asked(name, rows, _in_order(chosen, len(rows)), times))
    return found


def _times(path: Path) -> list[float]:
    """The times in what is known of a conversation; none unless each message has one."""
    if not path.exists():
        return []
    told = json.loads(path.read_text(encoding="utf-8")).get("times") or []
    times = [_time(each or "") for each in told]
    return [] if None in times else [each for each in times if each is not None]


def _time(text: str) -> float | None:
    for form in ("%I:%M %p on %d %B, %Y", "%Y-%m-%d"):
        try:
            bare = re.sub(r"\s*\(\w+\)$", "", text)  # a weekday
            return datetime.strptime(bare, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None


def _question(line: dict[str, Any], half: int) -> Question:
    evidence = frozenset(line["evidence_message_indexes"])
    return Question(line["question"], evidence, line["before"], HALVES[half])


def _in_order(asked: Iterable[Question], end: int) -> list[Question]:
    return sorted(asked, key=lambda question: end if question.before is None else question.before)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
