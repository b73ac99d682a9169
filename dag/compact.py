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

from ..storage.canon import decode
from ..storage.errors import StoreForgotten
from ..storage.forget import Stone
from ..storage.protocol import Store
from ..storage.records import Entry, Node
from .budget import Budget
from .cascade import choose_levels
from .condense import next_runs
from .drift import turns_of
from .erase import Cleaner, eraser
from .fit import fresh, stub
from .focus import concerned
from .ingest import Binding
from .maker import Maker, Voice
from .messages import is_system
from .names import names_of
from .nodes import Item, frame_of
from .passes import Outcome, PassRequest, budget_of
from .planner import Cut, choose_cut
from .renderer import filler_row, render, summary_row
from .scene import Scene, scene_of, size_of, speaks
from .segment import leaves
from .source_text import source_text
from .subjects import Subjects
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
    for begun_anew in (False, True):
        try:
            stones = tuple(store.eraser().stones("text"))
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
    drifts = work.subjects.drifts(last) if work.subjects else ()
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
        self.store, self.line, self.request, self.scene = store, line, request, scene
        exact = [each for each in scene.live if each.bound.version]
        self.rows = {each.bound.messages[0]: each.row for each in exact}
        self.versions = {each.bound.messages[0]: each.bound.version for each in exact}
        self.clean = Cleaner(request.redact, eraser(stones)).text
        self.subjects: Subjects | None = None
        if request.force:
            for route in request.routes:
                route.breaker.wake()
            if request.judge is not None:
                request.judge.breaker.wake()
        voice = Voice(
            request.routes,
            self.clean(request.focus),
            self.clean(request.memory),
            request.seconds,
            self.clean,
            stones,
        )
        self.maker = Maker(store, line, request.settings.target_token_levels, voice)

    def run(self, rows: Sequence[Any], before: int, budget: Budget, *, squash: bool) -> Outcome:
        """One try: cut, summarise, render."""
        unchanged = Outcome(
            rows, changed=False, before=before, after=before, reason="there is nothing to compact"
        )
        live = self.scene.live
        cut = self._cut(budget)
        top, lifted = self._nodes(cut, budget, squash=squash)
        kept = self._kept(cut)
        lead = next((n for n, row in enumerate(kept) if not is_system(row)), len(kept))
        systems = [each.row for each in live[: cut.keep_from] if is_system(each.row)] + kept[:lead]
        kept = kept[lead:]
        if not top:
            result, frame = [*systems, *kept], None
        else:
            fixed = sum(map(size_of, systems)) + sum(map(size_of, kept))
            frame, text = self._frame(
                top, lifted, max(budget.target, fixed + budget.reserve) - fixed
            )
            ours: list[Any] = [summary_row(frame, text, stamp=self.request.stamp)]
            if kept and kept[0].get("role") == "user":
                ours.append(filler_row())
            result = [*systems, *ours, *kept]
        shown = self.scene.frame
        if not cut.stubs and (frame is None or (shown and frame.uid == shown.uid)):
            return unchanged
        after = sum(map(size_of, result))
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

    def _nodes(
        self, cut: Cut, budget: Budget, *, squash: bool
    ) -> tuple[list[Node], tuple[int, ...]]:
        """The nodes that the new summary row shows, and our numbers of the lifted user message."""
        top, groups, lifted, hole = self._plan(cut, budget)
        for node in self.maker.nodes(groups, self._text):
            inside = {source.node for source in node.sources}
            top = [each for each in top if each.uid not in inside]
            behind = (n for n, each in enumerate(top) if each.first_seq > node.last_seq)
            top.insert(next(behind, len(top)), node)
        fanin = self.request.settings.condense_fanin
        while runs := next_runs(top, fanin, self._hole(top, hole)):
            top = self._condensed(top, runs, None)
        if squash:
            at = self._hole(top, hole)
            sides = [(0, len(top))] if at is None else [(0, at), (at, len(top))]
            runs = [(start, end) for start, end in sides if start < end]
            top = self._condensed(top, runs, budget.reserve // 3) if runs else top
        return top, lifted

    def _condensed(
        self, top: list[Node], runs: Sequence[tuple[int, int]], most: int | None
    ) -> list[Node]:
        """*top* with each run of nodes replaced by one."""
        groups = [[Item(node=node) for node in top[start:end]] for start, end in runs]
        made = self.maker.nodes(groups, self._text, most)
        for (start, end), node in reversed(list(zip(runs, made, strict=True))):
            top[start:end] = [node]
        return top

    def _text(self, items: Sequence[Item]) -> str:
        """What a summariser reads of *items*."""
        rows = self._read(items)
        parts = [rows[item.entry.id] if item.entry else item.node for item in items]
        return source_text(parts, self.clean)

    def _read(self, items: Sequence[Item]) -> dict[int, Any]:
        """The messages among *items* by number: from the list where it has them to the letter."""
        entries = [item.entry for item in items if item.entry and item.entry.id not in self.rows]
        messages = self.store.read([(entry.id, entry.version) for entry in entries])
        if not messages:
            return self.rows
        return {**self.rows, **{message.id: decode(message.body) for message in messages}}

    def _hole(self, top: Sequence[Node], seq: int | None) -> int | None:
        if seq is None:
            return None
        return next((n for n, node in enumerate(top) if node.first_seq > seq), None)

    def _plan(
        self, cut: Cut, budget: Budget
    ) -> tuple[list[Node], list[list[Item]], tuple[int, ...], int | None]:
        """(nodes shown now, sources of new leaves, lifted messages, their last order key)."""
        scene = self.scene
        placed = self._placed(cut)
        raised = self.scene.live[cut.lifted].bound.messages if cut.lifted is not None else ()
        entries = [each for each in self._span(placed, cut) if each.id not in raised]
        items = [Item(entry=entry) for entry in entries]
        before = scene.frame.lifted if scene.frame else ()
        if before and self._is_kept(before[0], cut):
            raised = raised or before
        elif before:
            lifted = [Item(entry=placed[each]) for each in before if each in placed]
            hole = max((item.last_seq for item in lifted), default=0)
            partial = [Item(node=node) for node in scene.top if node.first_seq > hole]
            items = [*lifted, *partial, *(item for item in items if item.first_seq > hole)]
        hole_seq = max((placed[each].seq for each in raised if each in placed), default=None)
        groups = self._groups(items, hole_seq, budget.leaf)
        parts_turn = hole_seq is not None and (
            any(item.last_seq > hole_seq for item in items)
            or any(node.first_seq > hole_seq for node in scene.top)
        )
        return list(scene.top), groups, raised if parts_turn else (), hole_seq

    def _groups(self, items: Sequence[Item], hole: int | None, leaf: int) -> list[list[Item]]:
        """Sources of leaves; none reaches over the lifted message."""
        sides = [items] if hole is None else [
            [item for item in items if item.last_seq < hole],
            [item for item in items if item.first_seq > hole],
        ]  # fmt: skip
        rows = self._read(items)
        if items and self.subjects is None:
            self.subjects = self._subjects(items, rows, hole)
        seams = self.subjects.seams if self.subjects else ()
        return [
            group
            for side in sides
            for group in leaves(
                side, [rows[item.entry.id] if item.entry else {} for item in side], leaf, seams
            )
        ]

    def _subjects(
        self, items: Sequence[Item], rows: Mapping[int, Any], hole: int | None
    ) -> Subjects:
        """The same for every try, and for a later pass: what stays is looked at too."""
        own = [item.entry for item in items if item.entry]
        start = min(items[-1].last_seq + 1, hole or self.scene.end)
        behind = self.store.entries(self.line, first=start, last=self.scene.end)
        known = {each.id for each in own if each.seq >= start}
        rest = [self._shown(each) for each in behind if not each.withdrawn and each.id not in known]
        rows = {**rows, **self._read([Item(entry=each) for each in rest])} if rest else rows
        turns = turns_of(sorted([*own, *rest], key=lambda entry: entry.seq), rows)
        settings = self.request.settings
        return Subjects(turns, settings.drift_window_size, self.request.judge, self.clean)

    def _ids(self, index: int) -> tuple[int, ...]:
        """Our numbers of the first message (or fold) at or behind that place of the list."""
        behind = (each.bound.messages for each in self.scene.live[index:])
        return next((messages for messages in behind if messages), ())

    def _placed(self, cut: Cut) -> dict[int, Entry]:
        wanted = {*self._ids(0), *self._ids(cut.keep_from)}
        if cut.lifted is not None:
            wanted.update(self._ids(cut.lifted))
        if self.scene.frame:
            wanted.update(self.scene.frame.lifted)
        return {entry.id: self._shown(entry) for entry in self.store.placed(self.line, wanted)}

    def _span(self, placed: dict[int, Entry], cut: Cut) -> list[Entry]:
        """Stored messages between what is compacted and what stays, those that the list leaves out included."""
        if self.scene.frame is not None:
            start = self.scene.frame.last_seq + 1
        else:
            start = min((placed[each].seq for each in self._ids(0) if each in placed), default=1)
        first = [placed[each].seq for each in self._ids(cut.keep_from) if each in placed]
        last = min(first) - 1 if first else self.scene.end  # not what came during the pass
        entries = self.store.entries(self.line, first=start, last=last)
        shown = self.versions
        return [
            entry if shown.get(entry.id, entry.version) == entry.version else self._shown(entry)
            for entry in entries
            if not entry.withdrawn
        ]

    def _shown(self, entry: Entry) -> Entry:
        """The entry in the version that this list shows: another session may have made a later one."""
        version = self.versions.get(entry.id, 0)
        if version in (0, entry.version):
            return entry
        (message,) = self.store.read([(entry.id, version)])
        return entry._replace(version=version, digest=message.digest)

    def _is_kept(self, message: int, cut: Cut) -> bool:
        indexes = [
            *([cut.lifted] if cut.lifted is not None else []),
            *range(cut.keep_from, len(self.scene.live)),
        ]
        return any(message in self.scene.live[index].bound.messages for index in indexes)

    def _frame(self, top: Sequence[Node], lifted: Sequence[int], room: int) -> tuple[Node, str]:
        """A frame that shows *top*, in at most *room* tokens if the coarsest sizes allow it."""
        frame = self.scene.frame
        shown = {source.node or "": source.level for source in frame.sources} if frame else {}
        by_need = self.request.settings.estimate_sufficient_tokens
        nodes = {node.uid: node for node in top}
        wanted = concerned(top, self.request.focus)
        for_blocks = room
        while True:
            levels = choose_levels(top, for_blocks, before=shown, by_need=by_need, wanted=wanted)
            made = frame_of(self.line, list(zip(top, levels, strict=True)), lifted)
            text = render(made, nodes)
            excess = size_of(summary_row(made, text, stamp=True)) + size_of(filler_row()) - room
            if excess <= 0 or for_blocks <= 0:
                return made, text
            for_blocks -= max(excess, 16)
