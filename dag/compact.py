"""One pass: a host's list in, a smaller list out, everything that left it under nodes.

Nodes are written before the list is returned, and are proposals until the
host shows them back: a pass that the host throws away costs nothing the next
time, because the same sources find the same nodes. No transaction is open
while a summariser works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..storage.errors import StoreForgotten
from ..storage.forget import Stone
from ..storage.protocol import Store
from ..storage.records import Node
from .again import Again
from .blocks import Blocks
from .budget import Budget
from .calm import calm
from .cascade import choose_levels
from .erase import Cleaner, eraser
from .fit import fresh, stub
from .focus import concerned
from .ingest import Binding
from .maker import Maker
from .messages import is_system
from .names import names_of
from .nodes import frame_of
from .passes import Outcome, PassRequest, budget_of
from .planner import Cut, choose_cut
from .prune import spared
from .ready import Choice, Ready
from .renderer import filler_row, render, summary_row
from .scene import Scene, scene_of, size_of, speaks
from .sources import Sources
from .validity import new_faults

__all__ = ["Outcome", "PassRequest", "compact"]

#: What is tried until the result fits: the share of the wanted tail that is kept, and whether
#: everything compacted goes into one node. None: nothing stays but the newest user message.
_TRIES: tuple[tuple[float | None, bool], ...] = (
    (1.0, False),
    (0.5, False),
    (0.2, False),
    (0.0, False),
    (0.0, True),
    (None, True),
)


#: Part of a summary row's room that a new block may take: so some can be appended before any is changed.
_NEW = 6


def compact(store: Store, line: int, binding: Binding, request: PassRequest) -> Outcome:
    """Make the list of *binding* fit.

    Raises:
        StoreError: the store failed, or what it holds was forgotten; the list stays as it is.
    """
    rows = binding.rows
    sizes = [size_of(row) for row in rows]
    before = sum(sizes)
    measured = max(request.current_tokens or 0, before)
    if not request.force and measured < request.threshold_tokens:
        return Outcome(
            rows,
            changed=False,
            before=before,
            after=before,
            reason="the list is below the threshold",
        )
    budget = budget_of(request, before)
    least = None if request.force else spared(store, binding, sizes, budget)
    if least and not new_faults(rows, least):
        after = sum(map(size_of, least))
        return Outcome(least, changed=True, before=before, after=after, rows_before=len(rows))
    for begun_anew in (False, True):
        try:
            stones = tuple(store.eraser().stones("text"))
            with calm(len(rows)):
                work = _Work(store, line, request, scene_of(store, binding, sizes), stones)
            return _fitted(work, rows, before, budget)
        except StoreForgotten:  # a string, while it was at work: what it has in hand may hold it
            if begun_anew:
                raise
    raise AssertionError


def _fitted(work: _Work, rows: Sequence[Any], before: int, budget: Budget) -> Outcome:
    """The first try that fits, or the smallest."""
    best = Outcome(rows, changed=False, before=before, after=before)
    for share, squash in _TRIES:
        tried = work.run(rows, before, _narrowed(budget, share), squash=squash)
        if tried.changed and (tried.after < best.after or not best.changed):
            best = tried
        elif not best.changed:
            best = replace(best, reason=best.reason or tried.reason)
        if best.after <= budget.limit:
            break
    last = best.frame.last_turn if best.frame else 0
    drifts = work.sources.subjects.drifts(last) if work.sources.subjects else ()
    return replace(best, made=tuple(work.maker.made), drifts=drifts)


def _narrowed(budget: Budget, share: float | None) -> Budget:
    """Less for the tail, and more for the summary row."""
    if share is None:
        return replace(budget, tail=0, turns_tail=0, reserve=budget.limit)
    return replace(
        budget,
        tail=int(budget.tail * share),
        turns_tail=int(budget.turns_tail * share),
        reserve=min(int(budget.reserve * (4 - 3 * share)), budget.limit // 2),
    )


class _Work:
    """The tries of one pass over one scene; nodes made by one are there for the next."""

    def __init__(
        self, store: Store, line: int, request: PassRequest, scene: Scene, stones: Sequence[Stone]
    ) -> None:
        self.store, self.line, self.request = store, line, request
        clean = Cleaner(request.redact, eraser(stones)).text
        if request.force:
            for route in request.routes:
                route.breaker.wake()
            if request.judge is not None:
                request.judge.breaker.wake()
        voice = request.voice(clean, stones)
        self.tried_ready = False
        """Whether a cut at what is there already was tried."""
        self.maker = Maker(store, line, request.settings.target_token_levels, voice)
        top = Again(store, self.maker, clean).whole(scene.top)
        self.scene = replace(scene, top=top)
        self.sources = Sources(store, line, self.scene, request, clean)

    def run(self, rows: Sequence[Any], before: int, budget: Budget, *, squash: bool) -> Outcome:
        """One try: cut, summarise, render."""
        unchanged = Outcome(
            rows, changed=False, before=before, after=before, reason="there is nothing to compact"
        )
        live = self.scene.live
        choice = self._choice(budget, squash=squash)
        cut = choice.cut
        top = self._top(choice, budget, squash=squash)
        kept = self._kept(cut)
        lead = next((n for n, row in enumerate(kept) if not is_system(row)), len(kept))
        systems = [each.row for each in live[: cut.keep_from] if each.bound.kind == "system"]
        systems += kept[:lead]
        kept = kept[lead:]
        after = sum(map(size_of, systems)) + sum(map(size_of, kept))
        if not top:
            result, frame = [*systems, *kept], None
        else:
            room = replace(budget, target=choice.target).for_summary(after)
            frame, text = self._frame(top, choice.plan.lifted, room)
            ours: list[Any] = [summary_row(frame, text, stamp=self.request.stamp)]
            if kept and kept[0].get("role") == "user":
                ours.append(filler_row())
            after += sum(map(size_of, ours))
            result = [*systems, *ours, *kept]
        shown = self.scene.frame
        if not cut.stubs and (frame is None or (shown and frame.uid == shown.uid)):
            return unchanged
        if after >= before:
            return replace(unchanged, reason="the result would not be smaller")
        if broken := new_faults(rows, result):
            return replace(unchanged, reason=f"the result would be invalid: {', '.join(broken)}")
        if frame is not None:
            with self.store.writing():
                self.maker.check()
                self.store.put_node(frame)
        return Outcome(
            result, changed=True, before=before, after=after, rows_before=len(rows), frame=frame
        )

    def _cut(self, budget: Budget) -> Cut:
        live = self.scene.live
        rows = [each.row for each in live]
        cut = choose_cut(rows, self.scene.tokens, budget, lambda at: speaks(self.store, live[at]))
        named = all(live[index].bound.messages for index in cut.stubs)
        return cut if named else replace(cut, stubs={})  # a row of ours has no name of its own

    # rows

    def _kept(self, cut: Cut) -> list[Any]:
        live = self.scene.live
        indexes = [
            *([cut.lifted] if cut.lifted is not None else []),
            *range(cut.keep_from, len(live)),
        ]
        uids = names_of(self.store, [live[index].bound for index in cut.stubs])
        return [
            stub(live[index].row, uids[live[index].bound.messages[0]], cut.stubs[index])
            if index in cut.stubs
            else fresh(live[index].row)
            for index in indexes
        ]

    # nodes

    def _choice(self, budget: Budget, *, squash: bool) -> Choice:
        """Where to cut, and what goes under nodes."""
        self.maker.await_leaf()
        cut = self._cut(budget)
        foreign = self.request.judge is not None  # a model that is asked takes its time
        with calm(0 if foreign else len(self.scene.live)):
            wanted = Choice(cut, self.sources.plan(cut, budget.leaf), budget.target)
        patient = self.request.force or self.request.settings.state_updates == "off"
        if squash or patient or self.tried_ready:
            return wanted
        self.tried_ready = True  # another try needs more room
        return Ready(self.store, self.scene, self.sources, self.maker).choice(wanted, budget)

    def _top(self, choice: Choice, budget: Budget, *, squash: bool) -> list[Node]:
        """The nodes that the new summary row shows."""
        blocks = Blocks(choice.plan, self.sources, self.maker)
        blocks.add(choice.plan.groups)
        blocks.condense(self.request.settings.condense_fanin, made_only=choice.ready)
        if squash:
            blocks.squash(budget.reserve // 3)
        return blocks.nodes

    def _frame(self, top: Sequence[Node], lifted: Sequence[int], room: int) -> tuple[Node, str]:
        """A frame that shows *top*, in at most *room* tokens if the coarsest sizes allow it."""
        frame = self.scene.frame
        shown = {source.node or "": source.level for source in frame.sources} if frame else {}
        by_need = self.request.settings.estimate_sufficient_tokens
        new = room // _NEW
        top, shown = self._repaired(top, shown)
        nodes = {node.uid: node for node in top}
        wanted = concerned(top, self.request.focus)
        for_blocks = room
        while True:
            levels = choose_levels(
                top, for_blocks, before=shown, by_need=by_need, new=new, wanted=wanted
            )
            made = frame_of(self.line, list(zip(top, levels, strict=True)), lifted)
            text = render(made, nodes)
            excess = size_of(summary_row(made, text, stamp=True)) + size_of(filler_row()) - room
            if excess <= 0 or for_blocks <= 0:
                return made, text
            for_blocks -= max(excess, 16)

    def _repaired(
        self, top: Sequence[Node], shown: Mapping[str, int]
    ) -> tuple[list[Node], dict[str, int]]:
        """*top* with what was made again since, and what is *shown* of it: an extract is not worth a prefix."""
        fresh = self.maker.repaired(top)
        renamed = {
            new.uid: shown[old.uid] for old, new in zip(top, fresh, strict=True) if old.uid in shown
        }
        return fresh, {**shown, **renamed}
