"""``python -m benchmarks drift``: are the changes of subject that are found those that there are?

Real changes are the beginnings of sessions in real conversations, whose sessions stand one after
the other as if a host had never parted them; what tells the sessions apart (times, ids) is not
shown. Every second conversation of a data set served to choose the constants of dag/drift.py; the
figures are those of the others (``--half tuned`` gives those that it was tuned on). A conversation
that is alone in its set is parted in the middle, at a session.

Exact and within one turn: precision, recall and F1 of the turns that are named. WindowDiff
(Pevzner and Hearst, "A Critique and Improvement of an Evaluation Metric for Text Segmentation",
Computational Linguistics 28, 2002): the share of windows of half a session in which the number of
changes is wrong, so 0 is best. Beside it cuts at fixed lengths, as many as were found.

The second table is of leaves, cut by dag/segment.py with and without what was found: how many
there are, and how many of their ends stand where a session ends.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from .plugin import ROOT, load
from .work import conversation

__all__ = ["Told", "main", "matched", "window_diff"]

#: Where real conversations are; not part of the project.
DATA = ROOT.parent / "shared" / "data"
_WINDOW = 10
_LEAVES = (1500, 8000)
_TIMED = 10_000
_HALVES = ("held-out", "tuned")


@dataclass(frozen=True)
class Told:
    """One conversation, or a half of one."""

    rows: list[dict[str, Any]]
    turns: list[int]
    """Number of the turn of each row, from 1."""
    changes: frozenset[int]
    """Numbers of the turns with which a session begins, the first one aside."""


Finder = Callable[[Told], set[int]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the tables to standard output; 0 whatever the figures are."""
    asked = _parser().parse_args(arguments)
    load()
    sets = {name: _half(asked.data, name, asked.half) for name in asked.sets or _sets(asked.data)}
    sets = {name: told for name, told in sets.items() if told}
    if not sets:
        sys.stderr.write(f"There are no conversations with sessions in {asked.data}.\n")
        return 2
    sys.stdout.write(f"half: {asked.half}, window: {asked.window}\n\n")
    sys.stdout.write(_found_table(sets, asked.window) + "\n")
    sys.stdout.write(_leaves_table(sets, asked.window) + "\n")
    seconds = min(_seconds(asked.window) for _ in range(5))
    sys.stdout.write(f"{_TIMED:,} synthetic messages: {seconds * 1000:.0f} ms of processor time\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks drift", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with conv/ and meta/")
    parser.add_argument("--sets", type=lambda text: text.split(","), help="separated by commas")
    parser.add_argument("--half", choices=_HALVES, default=_HALVES[0])
    parser.add_argument("--window", type=int, default=_WINDOW, help="drift_window_size")
    return parser


# conversations


def _sets(data: Path) -> list[str]:
    return sorted(path.name for path in (data / "conv").glob("*") if path.is_dir())


def _half(data: Path, name: str, half: str) -> list[Told]:
    """The conversations of a set that have sessions, every second of them."""
    every = []
    for path in sorted((data / "conv" / name).glob("*.jsonl")):
        meta = json.loads((data / "meta" / name / f"{path.stem}.json").read_text("utf-8"))
        starts = [each["first"] for each in meta.get("sessions", ())]
        if len(starts) > 1:
            lines = path.read_text("utf-8").splitlines()
            every.append((list(map(json.loads, lines)), starts))
    wanted = _HALVES[::-1].index(half)
    if len(every) != 1:
        return [_told(rows, starts) for rows, starts in every[wanted::2]]
    rows, starts = every[0]
    middle = starts[len(starts) // 2]
    if wanted:
        return [_told(rows[middle:], [each - middle for each in starts if each >= middle])]
    return [_told(rows[:middle], [each for each in starts if each < middle])]


def _told(rows: list[dict[str, Any]], starts: Iterable[int]) -> Told:
    turns, number = [], 0
    for row in rows:
        number += row["role"] == "user" or not number
        turns.append(number)
    first = {number: at for at, number in reversed(list(enumerate(turns)))}
    begun = {
        next((turn for turn in sorted(first) if first[turn] >= start), None) for start in starts
    }
    return Told(rows, turns, frozenset(turn for turn in begun if turn and turn > 1))


def _entries(told: Told) -> list[Any]:
    """What the store would keep of each row."""
    records, tokens = (importlib.import_module(f"lcm.{name}") for name in _MODULES)
    placed = enumerate(zip(told.rows, told.turns, strict=True))
    return [
        records.Entry(at, at, str(at), row["role"], turn, b"", b"", 1, tokens.count_message(row))
        for at, (row, turn) in placed
    ]


_MODULES = ("storage.records", "dag.tokens")

# finders


def _words(told: Told, window: int, *, openings: bool = True) -> set[int]:
    drift = importlib.import_module("lcm.dag.drift")
    turns = drift.turns_of(_entries(told), dict(enumerate(told.rows)))
    return {turns[at].number for at in drift.by_words(turns, window, openings=openings)}


def _fixed(told: Told, cuts: int) -> set[int]:
    last = told.turns[-1]
    return {round(last * (n + 1) / (cuts + 1)) + 1 for n in range(cuts)} - {1, last + 1}


def _finders(window: int) -> dict[str, Finder]:
    return {
        "words and openings": lambda told: _words(told, window),
        "words alone": lambda told: _words(told, window, openings=False),
        "fixed lengths": lambda told: _fixed(told, len(_words(told, window))),
    }


# judging


def matched(found: set[int], real: Iterable[int], reach: int) -> int:
    """How many of *found* are real, each real one counted once, up to *reach* turns aside."""
    left = set(real)
    hits = 0
    for turn in sorted(found):
        near = [turn + by for by in sorted(range(-reach, reach + 1), key=abs) if turn + by in left]
        left.difference_update(near[:1])
        hits += bool(near)
    return hits


def window_diff(found: set[int], real: Iterable[int], turns: int) -> float:
    """The share of windows in which the number of changes differs."""
    truth = set(real)
    size = max(turns // (2 * (len(truth) + 1)), 2)
    windows = range(2, turns - size + 2)
    wrong = sum(
        sum(at in found for at in range(start, start + size))
        != sum(at in truth for at in range(start, start + size))
        for start in windows
    )
    return wrong / max(len(windows), 1)


def _figures(hits: int, found: int, real: int) -> tuple[float, float, float]:
    precision, recall = hits / max(found, 1), hits / max(real, 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def _found_table(sets: dict[str, list[Told]], window: int) -> str:
    lines = [
        "| set | changes | by | found | precision | recall | F1 | F1 within a turn | WindowDiff |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    means: dict[str, list[tuple[float, ...]]] = {}
    for name, conversations in sets.items():
        real = sum(len(told.changes) for told in conversations)
        for by, finder in _finders(window).items():
            found = [(told, finder(told)) for told in conversations]
            count = sum(len(turns) for _, turns in found)
            hits, near = (
                sum(matched(turns, told.changes, reach) for told, turns in found)
                for reach in (0, 1)
            )
            wrong = fmean(window_diff(turns, told.changes, told.turns[-1]) for told, turns in found)
            exact = _figures(hits, count, real)
            row = (*exact, _figures(near, count, real)[2], wrong)
            means.setdefault(by, []).append(row)
            lines.append(f"| {name} | {real} | {by} | {count} | {_cells(row)} |")
    for by, rows in means.items():
        mean = tuple(map(fmean, zip(*rows, strict=True)))
        lines.append(f"| mean of the sets | | {by} | | {_cells(mean)} |")
    return "\n".join(lines) + "\n"


def _cells(row: Iterable[float]) -> str:
    return " | ".join(f"{figure:.2f}" for figure in row)


def _leaves_table(sets: dict[str, list[Told]], window: int) -> str:
    lines = [
        "| set | leaf_tokens | leaves by size | ends at a change | leaves by subject | ends at a change |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, conversations in sets.items():
        for most in _LEAVES:
            cells = []
            for by_subject in (False, True):
                ends = [
                    (told, _ends(told, most, _words(told, window) if by_subject else set()))
                    for told in conversations
                ]
                hits = sum(len(turns & told.changes) for told, turns in ends)
                cuts = sum(len(turns) for _, turns in ends)
                cells.append(f"{cuts + len(ends)} | {hits / max(cuts, 1):.2f}")
            lines.append(f"| {name} | {most} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _ends(told: Told, most: int, seams: set[int]) -> set[int]:
    """Turns with which a leaf begins, the first leaf aside."""
    item = importlib.import_module("lcm.dag.nodes").Item
    leaves = importlib.import_module("lcm.dag.segment").leaves
    groups = leaves([item(entry=each) for each in _entries(told)], told.rows, most, seams)
    return {
        after[0].first_turn
        for before, after in pairwise(groups)
        if before[-1].last_turn != after[0].first_turn
    }


def _seconds(window: int) -> float:
    """Processor time of what the first pass over a long past asks of the words."""
    drift = importlib.import_module("lcm.dag.drift")
    told = _told(conversation(_TIMED), [0])
    entries, rows = _entries(told), dict(enumerate(told.rows))
    start = time.process_time()
    drift.by_words(drift.turns_of(entries, rows), window)
    return time.process_time() - start
