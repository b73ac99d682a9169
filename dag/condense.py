"""Which nodes are condensed into one of the next depth.

Not before there are many: each block that is replaced breaks the prefix that a
provider has cached. Then like digits of a number: where more than ``fanin``
nodes of one depth stand side by side, the oldest ``fanin`` of them become one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.records import Node

__all__ = ["crowded", "next_runs"]

#: Blocks, in multiples of the fan-in, beyond which they are condensed.
_CROWDED = 6


def crowded(count: int, fanin: int) -> bool:
    """Whether *count* blocks are so many that they are condensed."""
    return count > _CROWDED * fanin


def next_runs(nodes: Sequence[Node], fanin: int, hole: int | None) -> list[tuple[int, int]]:
    """Half-open ranges of *nodes* to condense next, ascending and apart; none if all is well.

    *hole*: index of the first node behind a lifted user message; a run does
    not reach over it.
    """
    for depth in sorted({node.depth for node in nodes}):
        found = [
            (at, at + fanin)
            for each, start, end in _runs(nodes, hole)
            if each == depth
            for at in range(start, end - fanin, fanin)
        ]
        if found:
            return found
    return _mixed(nodes, fanin, hole) if crowded(len(nodes), fanin) else []


def _mixed(nodes: Sequence[Node], fanin: int, hole: int | None) -> list[tuple[int, int]]:
    """The oldest run of neighbours that are least deep, whatever their depths."""
    sides = [(0, len(nodes))] if hole is None else [(0, hole), (hole, len(nodes))]
    choices = [
        (sum(node.depth for node in nodes[start : start + fanin]), start)
        for low, high in sides
        for start in range(low, high - fanin + 1)
    ]
    return [(min(choices)[1], min(choices)[1] + fanin)] if choices else []


def _runs(nodes: Sequence[Node], hole: int | None) -> list[tuple[int, int, int]]:
    """(depth, start, end) of neighbours of one depth."""
    runs: list[tuple[int, int, int]] = []
    for index, node in enumerate(nodes):
        if runs and runs[-1][0] == node.depth and index != hole:
            depth, start, _ = runs[-1]
            runs[-1] = (depth, start, index + 1)
        else:
            runs.append((node.depth, index, index + 1))
    return runs
