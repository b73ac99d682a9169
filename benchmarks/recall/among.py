"""``python -m benchmarks among``: is an answer found as well with a million messages of others around it?

Each conversation is asked alone, in a database of its own, and then in one database together with messages of
other sessions, half of them stored before it and half after. The others speak of the same things: their
messages are drawn from the sentences of all the conversations, those that are asked included, so every word
is about as frequent around a conversation as in it. Asked are the questions that come at its end.

In the scope of all sessions a repeated sentence is a result like the original, and does not count as evidence:
that figure is for information.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ..plugin import engine_on
from ..report import machine
from .questions import Asked, Question, questions
from .run import DATA

__all__ = ["main"]

_SETS = ("locomo", "beam", "bfcl_memory")
#: Messages of each of the other sessions, and sentences of one message at the most.
_SESSION, _SENTENCES = 2_000, 6
_SHORTEST, _LONGEST = 15, 400
_END = re.compile(r"(?<=[.!?])\s+|\n+")
_STEP = 50
"""Sessions between two lines on how far it is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the table to standard output; 0 whatever the figures are, 2 without data."""
    asked = _parser().parse_args(arguments)
    if not (asked.data / "qa").is_dir():
        sys.stderr.write(f"There are no questions in {asked.data}.\n")
        return 2
    talks = [talk for name in asked.sets for talk in _at_the_end(asked.data, name)]
    with tempfile.TemporaryDirectory(prefix="lcm-among-", dir=asked.folder) as folder:
        alone = [_alone(Path(folder) / f"{at}.db", talk) for at, talk in enumerate(talks)]
        among = _among(Path(folder) / "all.db", talks, asked)
    for key, value in machine().items():
        if key not in ("method", "load"):
            sys.stdout.write(f"{key}: {value}\n")
    sys.stdout.write(f"\n{_table(talks, alone, among, asked.others)}\n")
    return 0


def _at_the_end(data: Path, name: str) -> list[Asked]:
    """The conversations of a set, with the questions that are asked when all was said."""
    talks = questions(data, name)
    late = [
        Asked(talk.name, talk.rows, [each for each in talk.questions if each.before is None])
        for talk in talks
    ]
    return [talk for talk in late if talk.questions]


def _alone(path: Path, talk: Asked) -> list[float]:
    engine = engine_on(path, talk.name)
    names = _told(engine, 0, talk)
    found = [_found(engine, names, each, "session") for each in talk.questions]
    engine.close()
    return found


def _among(
    path: Path, talks: Sequence[Asked], asked: argparse.Namespace
) -> list[tuple[list[float], list[float]]]:
    """For each conversation whether its questions are answered, in its own scope and in that of all sessions."""
    others = _others(_sentences(asked.data))
    count = max(asked.others // _SESSION // 2, 1)
    engine = engine_on(path, "other")
    _hear(engine, others, range(count))
    names = [_told(engine, at, talk) for at, talk in enumerate(talks, 1)]
    _hear(engine, others, range(count, 2 * count))
    found = []
    for talk, named in zip(talks, names, strict=True):
        engine.on_session_start(talk.name)
        scores = [
            [_found(engine, named, each, scope) for each in talk.questions]
            for scope in ("session", "all")
        ]
        found.append((scores[0], scores[1]))
    engine.close()
    return found


def _told(engine: Any, at: int, talk: Asked) -> dict[str, int]:
    """Let *engine* hear a conversation; the place of each message, by its uid."""
    names = [f"{at * 1_000_000 + place:032x}" for place in range(len(talk.rows))]
    engine.on_session_start(talk.name)
    engine.ingest([row | {"message_uid": name} for row, name in zip(talk.rows, names, strict=True)])
    return {name: place for place, name in enumerate(names)}


def _found(engine: Any, names: dict[str, int], question: Question, scope: str) -> float:
    """1 if some evidence is among the first ten results."""
    call = {"query": question.text, "scope": scope}
    told = json.loads(engine.handle_tool_call("lcm_grep", call))
    return float(any(names.get(each["uid"]) in question.evidence for each in told["results"]))


def _hear(engine: Any, others: Iterator[list[dict[str, Any]]], sessions: range) -> None:
    for at in sessions:
        engine.on_session_start(f"other-{at}")
        engine.ingest(next(others))
        if at % _STEP == 0:
            sys.stderr.write(f"{at * _SESSION:,} messages of others\n")


def _sentences(data: Path) -> list[str]:
    """What is said in all the conversations, each sentence once."""
    found: dict[str, None] = {}
    for path in sorted((data / "conv").glob("*/*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                content = json.loads(line).get("content")
                for sentence in _END.split(content) if isinstance(content, str) else ():
                    if len(sentence) >= _SHORTEST:
                        found[sentence[:_LONGEST]] = None
    return list(found)


def _others(sentences: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    """One session after the other, the same each time."""
    dice = random.Random(5)  # noqa: S311
    while True:
        yield [
            {
                "role": "assistant" if at % 2 else "user",
                "content": " ".join(dice.choices(sentences, k=dice.randint(1, _SENTENCES))),
            }
            for at in range(_SESSION)
        ]


def _table(
    talks: Sequence[Asked],
    alone: Sequence[list[float]],
    among: Sequence[tuple[list[float], list[float]]],
    others: int,
) -> str:
    lines = [
        f"| set | questions | any@10 alone | among {others:,} of others | in all sessions |",
        "| --- | --: | --: | --: | --: |",
    ]
    sets = list(dict.fromkeys(talk.name.partition("/")[0] for talk in talks))
    for name in [*sets, ""]:
        of = [at for at, talk in enumerate(talks) if talk.name.startswith(name)]
        scores = [
            [score for at in of for score in alone[at]],
            *([score for at in of for score in among[at][scope]] for scope in (0, 1)),
        ]
        cells = " | ".join(f"{fmean(each):.3f}" for each in scores)
        lines.append(f"| {name or 'all'} | {len(scores[0])} | {cells} |")
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks among",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder with conv/ and qa/")
    parser.add_argument(
        "--sets", type=lambda text: text.split(","), default=_SETS, help="separated by commas"
    )
    parser.add_argument("--others", type=int, default=1_000_000, help="messages of other sessions")
    parser.add_argument("--folder", type=Path, help="disk for the databases")
    return parser
