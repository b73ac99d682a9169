"""``python -m benchmarks recall``: is what answers a question found, asked in its own words?

Every question with evidence is asked verbatim, at default settings, of the conversation that it is about
(where it was asked in the middle of it, of what was said before), beside plain FTS5 in the same run.
Constants were chosen on one half of the conversations; a gain that the other half does not show is none.

any@10: some evidence is among the first ten. all@20: all of it is among the first twenty. MRR: one
through the rank of the first evidence, 0 beyond fifty. tokens: what ten results cost to read, as the tool
answers them; of plain search, ten messages. per 1,000: the share of the evidence that is among the first ten,
by what they cost. dated: each message came with its time, where the data say it, as hosts give it.

With --window, what a question is about was compacted whenever that was due. A summary among the results takes up
its place and counts for nothing; in the lines with "summaries too" it counts for the evidence in the turns that the
answer says it was made from.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ..plugin import ROOT
from ..report import machine
from .ours import WINDOW, Engine
from .plain import PLAIN, plain
from .questions import HALVES, Asked, Question, questions, sets_in

__all__ = ["Score", "main", "scored"]

DATA = ROOT.parent / "shared" / "data"
_OURS, _DATED, _SUMMARIES = "lcm", ", dated", ", summaries too"
#: The sets whose mean says most: talk, long answers, requests.
_MEAN = ("locomo", "beam", "realmem")
_DEPTH = 50


@dataclass(frozen=True)
class Score:
    """How well one question was answered."""

    method: str
    half: str
    any10: float
    all20: float
    mrr: float
    share: float
    """Of the evidence, among the first ten."""
    tokens: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the table to standard output; 0 whatever the figures are, 2 without data."""
    asked = _parser().parse_args(arguments)
    sets = asked.sets or sets_in(asked.data)
    if not sets:
        sys.stderr.write(f"There are no questions in {asked.data}.\n")
        return 2
    scores = {}
    for name in sets:
        talks = questions(asked.data, name, (asked.half,) if asked.half else HALVES)
        scores[name] = [score for talk in talks for score in _of_talk(talk, asked)]
        sys.stderr.write(f"{name}: {len(scores[name])} answers\n")
    for key, value in machine().items():
        if key not in ("method", "load"):
            sys.stdout.write(f"{key}: {value}\n")
    sys.stdout.write(f"\n{_table(scores)}\n")
    if asked.json:
        told = {name: [asdict(score) for score in found] for name, found in scores.items()}
        asked.json.write_text(json.dumps(told) + "\n", encoding="utf-8")
    return 0


def _of_talk(talk: Asked, asked: argparse.Namespace) -> list[Score]:
    scores = []
    sizes = [len(json.dumps(row, ensure_ascii=False)) // 4 for row in talk.rows]
    for kind in PLAIN:
        search = plain(talk, kind)
        for question in talk.questions:
            found = search(question, _DEPTH)
            cost = sum(sizes[at] for at in found[:10])
            each = [frozenset({at}) for at in found]
            scores.append(scored(kind, question, each[:10], each, cost))
    for dated in (False, True) if talk.times else (False,):
        scores += _of_ours(talk, asked, dated=dated)
    return scores


def _of_ours(talk: Asked, asked: argparse.Namespace, *, dated: bool) -> list[Score]:
    scores = []
    with tempfile.TemporaryDirectory(prefix="lcm-recall-", dir=asked.folder) as folder:
        engine = Engine(talk, Path(folder) / "lcm.db", dict(asked.set), asked.window, dated=dated)
        for question in talk.questions:
            ten = engine.ask(question)
            deep = engine.ask(question, limit=_DEPTH)
            for summaries in (False, True) if asked.window < WINDOW else (False,):
                method = f"{_OURS}{_DATED * dated}{_SUMMARIES * summaries}"
                found = (each.leads(summaries=summaries) for each in (ten, deep))
                scores.append(scored(method, question, *found, ten.tokens))
        engine.close()
    return scores


def scored(
    method: str,
    question: Question,
    ten: Sequence[AbstractSet[int]],
    deep: Sequence[AbstractSet[int]],
    tokens: int,
) -> Score:
    """What *ten* results, and the ranking *deep* down, are worth as an answer: the messages to which each leads."""
    wanted = question.evidence
    rank = next((at for at, found in enumerate(deep, 1) if found & wanted), 0)
    share = len(wanted & set().union(*ten)) / len(wanted)
    return Score(
        method, question.half, float(share > 0), float(wanted <= set().union(*deep[:20])),
        1 / rank if rank else 0.0, share, tokens,
    )  # fmt: skip


def _table(scores: dict[str, list[Score]]) -> str:
    lines = [
        "| set | half | questions | by | any@10 | all@20 | MRR | tokens | per 1,000 |",
        "| --- | --- | --: | --- | --: | --: | --: | --: | --: |",
    ]
    ours = [f"{_OURS}{dated}{also}" for dated in ("", _DATED) for also in ("", _SUMMARIES)]
    methods = (*PLAIN, *ours)
    for name, found in scores.items():
        for half in ("all", *HALVES):
            for method in methods if half == "all" else (PLAIN[1], *ours):
                of = [s for s in found if s.method == method and half in ("all", s.half)]
                lines += [_line(name, half, method, of)] if of else []
    for half in ("all", *HALVES):
        lines += [line for method in methods if (line := _mean(scores, half, method))]
    return "\n".join(lines)


def _line(name: str, half: str, method: str, scores: Sequence[Score]) -> str:
    tokens = fmean(score.tokens for score in scores)
    share = fmean(score.share for score in scores)
    return (
        f"| {name} | {half} | {len(scores)} | {method} | {_any10(scores):.3f}"
        f" | {fmean(s.all20 for s in scores):.3f} | {fmean(s.mrr for s in scores):.3f}"
        f" | {tokens:,.0f} | {share / max(tokens, 1) * 1000:.3f} |"
    )


def _mean(scores: dict[str, list[Score]], half: str, method: str) -> str:
    """The line of the mean over the sets that count; empty if one of them was not asked."""
    chosen = [
        [s for s in scores.get(name, ()) if s.method == method and half in ("all", s.half)]
        for name in _MEAN
    ]
    if not all(chosen):
        return ""
    mean = fmean(map(_any10, chosen))
    return f"| mean of {', '.join(_MEAN)} | {half} | | {method} | {mean:.3f} | | | | |"


def _any10(scores: Iterable[Score]) -> float:
    return fmean(score.any10 for score in scores)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks recall",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder with conv/ and qa/")
    parser.add_argument("--sets", type=lambda text: text.split(","), help="separated by commas")
    parser.add_argument("--half", choices=HALVES, help="only its questions")
    parser.add_argument(
        "--window", type=int, default=WINDOW,
        help="context window in tokens: what does not fit is compacted, without a model, before it is asked for",
    )  # fmt: skip
    parser.add_argument(
        "--set", type=_pair, action="append", default=[], metavar="KEY=VALUE",
        help="another setting of lcm, to try out",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, help="write every answer there")
    parser.add_argument("--folder", type=Path, help="disk for the databases")
    return parser


def _pair(text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    return key, json.loads(value)
