"""Makes ahead what the next pass will need, between two turns. It makes no pass, and touches no list.

Nodes are found by their sources and sizes. So preparing a pass means: tell where it will cut, and
make the leaves in front of that, and the nodes over those. What was extracted because a summariser
failed is made again; the next pass shows the new node in the place of the old one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from ..storage.protocol import Store
from ..storage.records import Node
from .again import Again
from .blocks import Blocks
from .erase import Cleaner, eraser
from .ingest import Binding
from .maker import Maker
from .nodes import Item
from .passes import PassRequest, budget_of
from .planner import Cut, cut_to_come
from .replies import Reply
from .scene import Scene, beginning, scene_of, size_of, speaks
from .sources import Plan, Sources
from .states import updated
from .summarizer import Route, SummaryRequest, is_barred, is_final
from .tokens import count_text
from .underway import Halted, Leash, NotMade

__all__ = ["Prepared", "Task", "is_due", "prepare"]

#: Degraded nodes that are looked at after one turn.
_LOOKED_AT = 16
#: So many of the last leaves of a list may grow when more messages follow.
_OPEN_LEAVES = 2
#: Tokens of the list that are looked at first: twice what one job may read.
_AT_ONCE = 200_000
#: Part of a leaf from which on one is made of what stands behind a leaf that is there.
_LITTLE = 2


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be prepared: the list after a turn, and the pass that is to come."""

    line: int
    session: str
    binding: Binding
    """The list, in rows that nobody changes."""
    request: PassRequest
    """What a pass would be asked for now; ``current_tokens`` are those of the last request."""
    soft_tokens: int
    """Below so many nothing is made ahead."""

    @property
    def is_small(self) -> bool:
        """Whether the last request, which is known, says that there is nothing to be made ahead."""
        request = self.request
        tokens = request.current_tokens or 0
        return 0 < tokens < self.soft_tokens and request.settings.state_updates != "every_turn"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What came of it."""

    made: Sequence[Node] = ()
    repaired: Sequence[Node] = ()
    states: Sequence[Node] = ()
    """The state after the newest turn, if it was made now."""
    failure: str = ""
    """Why a summariser gave nothing; empty if it did, or was not asked."""
    degraded: bool = True
    """Whether there may be nodes that are to be made again."""


def is_due(task: Task, *, repairs: bool) -> bool:
    """Whether there may be anything to do; *repairs*: nodes that are to be made again. Asks no store."""
    if repairs or task.request.settings.state_updates == "every_turn":
        return True
    return _measured(task, sum(map(size_of, task.binding.rows))) >= task.soft_tokens


def _measured(task: Task, tokens: int) -> int:
    """Tokens of the whole request, of which the list has *tokens*."""
    return max(task.request.current_tokens or 0, tokens)


def prepare(store: Store, task: Task, leash: Leash) -> Prepared:
    """Do it, as far as the *leash* reaches.

    Raises:
        StoreError: the store failed, or what it holds was forgotten meanwhile.
    """
    job = _Job(store, task, leash)
    failure = ""
    try:
        for step in (job.repair,) if task.is_small else (job.state, job.ahead, job.repair):
            try:
                step()
            except NotMade as error:
                failure = failure or str(error)
                if is_barred(failure):
                    break
    except Halted:
        pass  # it was told to end, and what is made by then is told below
    return Prepared(job.maker.made, job.repaired, job.states, failure, job.degraded)


class _Job:
    """One job over one scene."""

    def __init__(self, store: Store, task: Task, leash: Leash) -> None:
        self._store, self._task, self._leash = store, task, leash
        request = task.request
        stones = tuple(store.eraser().stones("text"))
        self._clean = Cleaner(request.redact, eraser(stones)).text
        routes = [_counted(route, leash) for route in request.routes]
        self._voice = replace(request, routes=routes).voice(self._clean, stones, leash)
        levels = request.settings.target_token_levels
        self.maker = Maker(store, task.line, levels, self._voice)
        self._again_of = Again(store, self.maker, self._clean)
        self.repaired: list[Node] = []
        self.states: list[Node] = []
        self.degraded = True

    @cached_property
    def _scene(self) -> Scene:
        """The list as a pass sees it; a job that only looks for nodes to be made again needs none."""
        scene = scene_of(self._store, self._task.binding, self._sizes)
        return replace(scene, top=self._again_of.whole(scene.top))

    @cached_property
    def _sizes(self) -> list[int]:
        return [size_of(row) for row in self._task.binding.rows]

    @property
    def _measured(self) -> int:
        return _measured(self._task, sum(self._sizes))

    # the state after this turn

    def state(self) -> None:
        """Bring it up to date, where that is wanted after every turn."""
        if self._task.request.settings.state_updates != "every_turn":
            return
        where = (self._task.line, self._task.session)
        self.states = updated(self._store, self.maker, where, self._scene.top, self._clean)

    # what the next pass will need

    def ahead(self) -> None:
        """The leaves, and the nodes over them."""
        settings = self._task.request.settings
        (last,) = self._store.tail(self._task.line, 1) or (None,)
        turns = last.turn if last else 0
        if self._measured < self._task.soft_tokens or turns < settings.min_turns_before_compaction:
            return
        sources, groups = self._due()
        blocks = Blocks(Plan(self._scene.top, [], (), None), sources, self.maker)
        for group in groups:
            blocks.add([group])
            blocks.condense(settings.condense_fanin)
        blocks.condense(settings.condense_fanin)

    def _due(self) -> tuple[Sources, Sequence[list[Item]]]:
        """The leaves that a pass will want as soon as the list is at the threshold, by their sources.

        Those that are there, and more of them: up to where the tail will begin, if that stands in the
        list yet, else those that are full. What is little waits for the pass after it.
        """
        request = self._task.request
        budget = budget_of(request, sum(self._sizes))
        to_come = max(request.threshold_tokens - self._measured, 0)
        live = self._scene.live
        rows = [each.row for each in live]
        cut = cut_to_come(
            rows, self._scene.tokens, budget, to_come, lambda at: speaks(self._store, live[at])
        )
        place = cut.keep_from
        for end in self._reaches(place):
            lifted = cut.lifted if cut.lifted is not None and cut.lifted < end else None
            scene = (
                self._scene
                if end == place or lifted is not None
                else beginning(self._store, self._task.line, self._scene, end)
            )
            sources = Sources(self._store, self._task.line, scene, request, self._clean)
            groups = sources.plan(Cut(end, lifted), budget.leaf).groups
            made = [*self.maker.there(groups), False].index(False)
            if made < len(groups) - _OPEN_LEAVES:
                break
        if end < place or to_come >= budget.tail:
            return sources, groups[: max(made, len(groups) - _OPEN_LEAVES)]
        little = (
            made == len(groups) - 1
            and sum(item.tokens for item in groups[-1]) < budget.leaf // _LITTLE
        )
        return sources, groups[:made] if made and little else groups

    def _reaches(self, place: int) -> Iterator[int]:
        """Up to which rows to look, nearest first: one job makes a few leaves, and a list may be very long."""
        reach = _AT_ONCE
        for end, tokens in enumerate(accumulate(self._scene.tokens[:place])):
            if tokens > reach and end:
                yield end
                reach = 2 * tokens
        yield place

    # what was extracted

    def repair(self) -> None:
        """Make again what no model wrote, the newest first."""
        lines = self._store.lineage(self._task.line)
        found = [
            node
            for node in self._store.degraded(lines, _LOOKED_AT)
            if not is_final(node.degraded) and not self._leash.gave_up(node.source_key)
        ]
        self.degraded = bool(found)
        for node in found:
            try:
                self._again(node)
            except NotMade:
                self._leash.tries_again(node.source_key)
                raise
        self.degraded = False

    def _again(self, node: Node) -> None:
        """Make a better node for what *node* stands for, if that is all there still."""
        items = self._again_of.items(node)
        if items is not None:
            maker = Maker(self._store, node.line, node.levels, self._voice)
            self.repaired += maker.remade(node, items, self._again_of.text)


def _counted(route: Route, leash: Leash) -> Route:
    """The same route; what it is asked is on the bill of *leash*."""

    def call(request: SummaryRequest) -> str | Reply:
        leash.spend(count_text(request.text))
        return route.call(request)

    return replace(route, call=call)
