"""Which nodes are condensed into one of the next depth.

Like digits of a number: as soon as more than ``fanin`` nodes of one depth
stand side by side, the oldest ``fanin`` of them become one. So a conversation
of any length shows a number of blocks that grows with its logarithm.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.records import Node

__all__ = ["next_run"]

#: Blocks, in multiples of the fan-in, from which any neighbours are condensed.
_CROWDED = 4


def next_run(nodes: Sequence[Node], fanin: int, hole: int | None) -> tuple[int, int] | None:
    """The half-open range of *nodes* to condense next, or None.

    *hole*: index of the first node behind a lifted user message; a run does
    not reach over it.
    """
    runs = _runs(nodes, hole)
    for _, start, end in sorted(runs, key=lambda run: run[0]):
        if end - start > fanin:
            return start, start + fanin
    if len(nodes) > _CROWDED * fanin:
        sides = [(0, len(nodes))] if hole is None else [(0, hole), (hole, len(nodes))]
        choices = [
            (sum(node.depth for node in nodes[start : start + fanin]), start)
            for low, high in sides
            for start in range(low, high - fanin + 1)
        ]
        if choices:
            start = min(choices)[1]
            return start, start + fanin
    return None


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
