"""The replay's figures as Markdown, and whether its aims are reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from .tally import Tally

__all__ = ["Pair", "aims", "as_json", "tables"]

_REUSE, _KEPT = 0.95, 0.6
"""Least share of the ideal reuse, and of the summary text that outlives a compaction."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One data set, or one conversation of it, in one window, on both sides."""

    group: str
    name: str
    window: int
    ours: Tally
    theirs: Tally


def _merged(pairs: Sequence[Pair]) -> list[Pair]:
    """By data set and window."""
    keys = list(dict.fromkeys((pair.group, pair.window) for pair in pairs))
    merged = []
    for group, window in keys:
        of_both = [pair for pair in pairs if (pair.group, pair.window) == (group, window)]
        ours = reduce(add, (pair.ours for pair in of_both))
        theirs = reduce(add, (pair.theirs for pair in of_both))
        count = f"{len(of_both)} conversation{'s' * (len(of_both) > 1)}"
        merged.append(Pair(group, count, window, ours, theirs))
    return merged


def _per_pass(total: Callable[[Tally], int]) -> Callable[[Tally], str]:
    return lambda tally: f"{total(tally) / tally.compactions:,.0f}" if tally.compactions else "-"


#: What each column shows of a side.
_COLUMNS: tuple[tuple[str, Callable[[Tally], str]], ...] = (
    ("compactions", lambda tally: f"{tally.compactions:,}"),
    ("invalid", lambda tally: f"{tally.invalid:,}"),
    ("above budget", lambda tally: f"{tally.over:,}"),
    ("tokens sent", lambda tally: f"{tally.sent:,}"),
    ("reuse", lambda tally: f"{tally.reuse:.3f}"),
    ("of the ideal", lambda tally: f"{tally.reuse / tally.best:.3f}" if tally.best else "-"),
    ("summary stands", lambda tally: "-" if tally.kept is None else f"{tally.kept:.2f}"),
    ("summary left", _per_pass(lambda tally: tally.summary)),
    ("tail left", _per_pass(lambda tally: tally.tail)),
    ("calls", lambda tally: f"{tally.calls:,}"),
    ("read", lambda tally: f"{tally.read:,}"),
    ("written", lambda tally: f"{tally.written:,}"),
    ("cost", lambda tally: f"{tally.cost:,.0f}"),
)


def tables(pairs: Sequence[Pair]) -> str:
    """A table for each data set; in a cell, ours before the compressor's."""
    merged = _merged(pairs)
    blocks = []
    for group in dict.fromkeys(pair.group for pair in merged):
        of_group = [pair for pair in merged if pair.group == group]
        head = ["window", "requests", *(name for name, _ in _COLUMNS), "cost ratio"]
        lines = [head, ["--:"] * len(head), *map(_cells, of_group)]
        rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        blocks.append(f"### {group}, {of_group[0].name}\n\n{rows}")
    return "\n\n".join(blocks)


def _cells(pair: Pair) -> list[str]:
    both = [f"{show(pair.ours)} / {show(pair.theirs)}" for _, show in _COLUMNS]
    ratio = pair.ours.cost / pair.theirs.cost if pair.theirs.cost else 1.0
    return [f"{pair.window:,}", f"{pair.ours.requests:,}", *both, f"{ratio:.3f}"]


def aims(pairs: Sequence[Pair]) -> str:
    """What is to be reached, and where it is not."""
    merged = [pair for pair in _merged(pairs) if _compacts(pair)]
    whole = [reduce(_joined, (p for p in merged if p.group == g)) for g in _groups(merged)]
    standing = [pair for pair in merged if pair.ours.kept is not None]
    rows = [
        _aim("no list that a provider refuses", merged, lambda p: not p.ours.invalid),
        _aim("no list above its budget", merged, lambda p: not p.ours.over),
        _aim(f"reuse at least {_REUSE} of the ideal", merged, _reuses),
        _aim(f"{_KEPT} of the summary stands", standing, lambda p: (p.ours.kept or 0) >= _KEPT),
        _aim("costs less than the compressor, all windows together", whole, _cheaper),
        _aim("costs less than the compressor, in each window", merged, _cheaper),
    ]
    head = ["aim", "", "reached in", "not in"]
    lines = [head, ["---", "---", "--:", "---"], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _groups(pairs: Sequence[Pair]) -> list[str]:
    return list(dict.fromkeys(pair.group for pair in pairs))


def _compacts(pair: Pair) -> bool:
    return bool(pair.ours.compactions or pair.theirs.compactions)


def _joined(one: Pair, other: Pair) -> Pair:
    return Pair(one.group, "", 0, one.ours + other.ours, one.theirs + other.theirs)


def _reuses(pair: Pair) -> bool:
    return pair.ours.reuse >= _REUSE * pair.ours.best


def _cheaper(pair: Pair) -> bool:
    return pair.ours.cost < pair.theirs.cost


def _aim(name: str, pairs: Sequence[Pair], reached: Callable[[Pair], bool]) -> list[str]:
    missed = [
        f"{pair.group} {pair.window:,}" if pair.window else pair.group
        for pair in pairs
        if not reached(pair)
    ]
    mark = "**no**" if missed else "yes"
    return [name, mark, f"{len(pairs) - len(missed)} of {len(pairs)}", ", ".join(missed)]


def as_json(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Every conversation, window and side."""
    return [
        {
            "set": pair.group,
            "conversation": pair.name,
            "window": pair.window,
            "ours": pair.ours.as_json(),
            "theirs": pair.theirs.as_json(),
        }
        for pair in pairs
    ]
