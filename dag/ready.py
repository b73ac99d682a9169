"""A cut at which everything that a pass needs is there already, so that nobody waits for a summariser.

Leaves are made ahead up to where the verbatim tail will begin, as far as that can be told. What a
pass would like to put away beyond that is mostly little: it stays in the list, if it fits, and goes
with a later pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..storage.protocol import Store
from .budget import Budget
from .maker import Maker
from .messages import is_system
from .nodes import Item
from .planner import Cut
from .scene import Scene, speaks
from .sources import Plan, Sources
from .validity import crossed, partners, refuses

__all__ = ["Choice", "Ready"]

#: Part of the verbatim tail that is enough, if all leaves in front of it are there.
_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """What a pass does with the list."""

    cut: Cut
    plan: Plan
    target: int
    """Tokens that the new list is to have."""
    ready: bool = False
    """Whether all leaves of the plan are there already."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Looks for one in a scene."""

    store: Store
    scene: Scene
    sources: Sources
    maker: Maker

    def choice(self, wanted: Choice, budget: Budget) -> Choice:
        """The latest one for which all leaves are there; *wanted* itself where there is none that fits."""
        cut, plan = wanted.cut, wanted.plan
        if all(self.maker.there(plan.groups)):
            return replace(wanted, ready=True)
        if (cut.lifted is None) != (plan.hole is None):
            return wanted
        groups = self.sources.plan(Cut(len(self.scene.live), cut.lifted), budget.leaf).groups
        made = [*self.maker.there(groups), False].index(False)
        return self._behind(wanted, budget, groups[:made]) or wanted

    def _behind(self, wanted: Choice, budget: Budget, made: Sequence[list[Item]]) -> Choice | None:
        """The latest cut behind some of the leaves that are *made*: at a turn, or at a step if the newest is cut."""
        lifted, stubs = wanted.cut.lifted, wanted.cut.stubs
        shown = [stubs.get(n, tokens) for n, tokens in enumerate(self.scene.tokens)]
        rows = [each.row for each in self.scene.live]
        pairs = partners(rows)
        crossing = crossed(pairs, len(rows))
        for count in range(len(made), 0, -1):
            place = self.sources.behind(made[count - 1])
            kept = sum(shown[place:])
            if kept < budget.tail // _ENOUGH:
                continue
            if lifted is not None:
                kept += shown[lifted]
            if (lifted is not None and place <= lifted) or not self._fits(place, kept, budget):
                return None
            if place < len(rows) and not crossing[place] and self._begins(place, lifted):
                if refuses(rows, range(place, wanted.cut.keep_from), pairs):
                    return None
                more = sum(shown[place : wanted.cut.keep_from])
                return Choice(
                    Cut(place, lifted, stubs),
                    replace(wanted.plan, groups=list(made[:count])),
                    min(wanted.target + more, _most(budget)),
                    ready=True,
                )
        return None

    def _begins(self, place: int, lifted: int | None) -> bool:
        """Whether a turn begins there, or a step of the one whose first row is *lifted*."""
        live = self.scene.live[place]
        if lifted is None:
            return speaks(self.store, live)
        return not is_system(live.row) and live.row.get("role") == "assistant"

    def _fits(self, place: int, kept: int, budget: Budget) -> bool:
        """Whether the *kept* tokens from *place* on leave room for the summaries, and a while until the next pass."""
        systems = sum(
            tokens
            for each, tokens in zip(self.scene.live[:place], self.scene.tokens, strict=False)
            if is_system(each.row)
        )
        return systems + kept + budget.reserve <= _most(budget)


def _most(budget: Budget) -> int:
    """Tokens of a list that leaves a while until the next pass."""
    return (budget.target + budget.limit) // 2
