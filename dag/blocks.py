"""The nodes that a summary row shows, oldest first, and how new leaves change them."""

from __future__ import annotations

from collections.abc import Sequence

from .condense import crowded, next_runs
from .maker import Maker
from .nodes import Item
from .sources import Plan, Sources

__all__ = ["Blocks"]


class Blocks:
    """The nodes shown by one summary row to be; none stands for both sides of its hole."""

    def __init__(self, plan: Plan, sources: Sources, maker: Maker) -> None:
        self.nodes = list(plan.top)
        self._hole = plan.hole
        self._sources, self._maker = sources, maker

    def add(self, groups: Sequence[Sequence[Item]]) -> None:
        """Put a leaf over each of *groups* in its place; nodes among its sources go under it."""
        for node in self._maker.nodes(groups, self._sources.text):
            inside = {source.node for source in node.sources}
            self.nodes = [each for each in self.nodes if each.uid not in inside]
            behind = (n for n, each in enumerate(self.nodes) if each.first_seq > node.last_seq)
            self.nodes.insert(next(behind, len(self.nodes)), node)

    def condense(self, fanin: int, *, made_only: bool = False) -> None:
        """Once there are many, condense neighbours until no more than about *fanin* of one depth stand side by side.

        *made_only*: nobody waits for a node that is not there yet; a later pass condenses then,
        unless there are too many to wait.
        """
        if not crowded(len(self.nodes), fanin):
            return
        few = not crowded(len(self.nodes), 2 * fanin)
        while runs := next_runs(self.nodes, fanin, self._place()):
            if made_only and few and not all(self._maker.there(self._groups(runs))):
                return
            self._replace(runs)

    def squash(self, most: int) -> None:
        """One node on each side of the hole, in at most *most* tokens."""
        at = self._place()
        sides = [(0, len(self.nodes))] if at is None else [(0, at), (at, len(self.nodes))]
        if runs := [(start, end) for start, end in sides if start < end]:
            self._replace(runs, most)

    def _replace(self, runs: Sequence[tuple[int, int]], most: int | None = None) -> None:
        """Put one node in the place of each run."""
        made = self._maker.nodes(self._groups(runs), self._sources.text, most)
        for (start, end), node in reversed(list(zip(runs, made, strict=True))):
            self.nodes[start:end] = [node]

    def _groups(self, runs: Sequence[tuple[int, int]]) -> list[list[Item]]:
        """The nodes of each run, a repaired one in the place of one that no model wrote."""
        repaired = self._maker.repaired(self.nodes)
        return [[Item(node=node) for node in repaired[start:end]] for start, end in runs]

    def _place(self) -> int | None:
        """Index of the first node behind the lifted message."""
        hole = self._hole
        if hole is None:
            return None
        return next((n for n, node in enumerate(self.nodes) if node.first_seq > hole), None)
