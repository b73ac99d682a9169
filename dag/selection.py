"""A list for one request alone, where the host's own list does not fit its model.

Hosts compact long before. Where they do not (it is switched off, its attempts are used up, another
agent holds the lock), the request would be refused. What is sent in its place is made of what is
there: rows as they are, stubs of large results, the summary row, nodes that no row shows yet, and
the names of what is left out. No model is asked, and no node is made: a later pass finds its
sources as untouched as before.

The same list and the same store give the same text. A cut moves by a quarter of the room at a
time, so that the requests of the next turns begin alike, and a provider's cache knows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from ..storage.protocol import Store
from .budget import Budget
from .fit import SMALLEST_STUB, fresh, stub
from .ingest import Bound
from .messages import is_system, starts_turn
from .names import names_of
from .outline import Past, past_text
from .planner import Cut, choose_cut
from .renderer import filler_row
from .scene import size_of
from .validity import crossed, new_faults, partners

__all__ = ["Request", "selection"]

_ROW: Final = 48
"""Tokens of a row beside its text, rounded up."""
_OLD, _NEW = 8, 3
"""An old result may take an eighth of the room, one of the newest turn a third."""
_SUMMARY, _OUTLINE = 3, 8
"""So may the summary row, and the names of what is left out."""
_STEPS = 4
"""A cut moves by this part of the room."""


@dataclass(frozen=True)
class Request:
    """What a host is about to send, and what its rows stand for."""

    rows: Sequence[Any]
    bound: Sequence[Bound | None]
    """For each row what it stands for; None for a row of the host's that is no part of the conversation."""
    room: int
    """Tokens that a list may have."""

    @cached_property
    def sizes(self) -> list[int]:
        """Tokens of each row."""
        return [size_of(row) for row in self.rows]

    @cached_property
    def lead(self) -> int:
        """How many rows stand before the conversation: the system's, and a host's prefill."""
        first = (
            n
            for n, (row, bound) in enumerate(zip(self.rows, self.bound, strict=True))
            if bound is not None and not is_system(row)
        )
        return next(first, len(self.rows))

    def is_message(self, index: int) -> bool:
        """Whether the row is a message that can be named."""
        bound = self.bound[index]
        return bound is not None and bool(bound.messages) and not is_system(self.rows[index])

    def is_ours(self, index: int) -> bool:
        """Whether the row is a summary row, or the sentence behind one."""
        bound = self.bound[index]
        return bound is not None and (bool(bound.frame) or bound.kind == "filler")

    def speaks(self, index: int) -> bool:
        """Whether a person spoke."""
        return self.is_message(index) and starts_turn(self.rows[index])


def selection(store: Store, line: int, request: Request) -> list[Any] | None:
    """A valid list within the room of *request*, or the smallest there is; None if none is smaller than it.

    Every message among its rows must be in *store*.

    Raises:
        StoreError: the store failed.
    """
    best: list[Any] | None = None
    least = sum(request.sizes)
    for cut in _cuts(request):
        made = _built(store, line, request, cut)
        if new_faults(request.rows, made):
            continue
        size = sum(map(size_of, made))
        if size < least:
            best, least = made, size
        if size <= request.room:
            break
    return best


def _cuts(request: Request) -> Iterator[Cut]:
    """Cuts to try, from the one that leaves out the least."""
    stubs = _stubs(request)
    sizes = [stubs[n] + _ROW if n in stubs else size for n, size in enumerate(request.sizes)]
    if sum(sizes) <= request.room:
        yield Cut(0, None, stubs)
    ours = sum(size for n, size in enumerate(sizes) if request.is_ours(n))
    past = min(ours, request.room // _SUMMARY) + request.room // _OUTLINE + _ROW
    room = request.room - sum(sizes[: request.lead]) - past
    for at in _turns(request, sizes, room):
        yield Cut(at, None, stubs)
    for part in (1, 2, 4):
        yield _inside(request, sizes, max(room // part, SMALLEST_STUB), stubs)


def _stubs(request: Request) -> dict[int, int]:
    """The largest results first, until the rest fits: index, and the tokens that its text may have."""
    newest = max((n for n in range(len(request.rows)) if request.speaks(n)), default=0)
    most = {
        n: max(request.room // (_NEW if n > newest else _OLD), SMALLEST_STUB)
        for n, row in enumerate(request.rows)
        if request.is_message(n) and row.get("role") == "tool"
    }
    total = sum(request.sizes)
    chosen = {}
    for index in sorted(most, key=lambda n: (-request.sizes[n], n)):
        saved = request.sizes[index] - most[index] - _ROW
        if total <= request.room or saved <= 0:
            continue
        chosen[index] = most[index]
        total -= saved
    return chosen


def _turns(request: Request, sizes: Sequence[int], room: int) -> Iterator[int]:
    """Turns before which all is left out so that the rest fits *room*: first at a full step, then at the nearest."""
    crossing = crossed(partners(request.rows), len(request.rows))
    rest = [0 if n < request.lead or request.is_ours(n) else s for n, s in enumerate(sizes)]
    before = [0, *accumulate(rest)]
    need = before[-1] - room
    if need <= 0 or room <= 0:
        return
    step = max(room // _STEPS, 1)
    starts = [n for n in range(len(sizes)) if not crossing[n] and request.speaks(n)]
    for least in (-(-need // step) * step, need):
        found = next((n for n in starts if before[n] >= least), None)
        if found is not None:
            yield found


def _inside(request: Request, sizes: Sequence[int], room: int, stubs: dict[int, int]) -> Cut:
    """A cut at a step of the newest turn, whose user message is kept in front of it."""
    reserve = min(room // _OUTLINE, room - 1)
    budget = Budget(
        limit=room, target=room, tail=room, turns_tail=room, leaf=1, reserve=reserve, least=reserve, most=room,
    )  # fmt: skip
    cut = choose_cut(request.rows, sizes, budget, request.speaks)
    named = {n: most for n, most in {**stubs, **cut.stubs}.items() if request.is_message(n)}
    return replace(cut, stubs=named)


def _built(store: Store, line: int, request: Request, cut: Cut) -> list[Any]:
    """The rows that *cut* keeps, behind one that stands for all others."""
    rows = request.rows
    kept = [
        *([cut.lifted] if cut.lifted is not None else []),
        *range(max(cut.keep_from, request.lead), len(rows)),
    ]
    stubbed = [n for n in kept if n in cut.stubs]
    bounds = {n: bound for n in stubbed if (bound := request.bound[n]) is not None}
    uids = names_of(store, bounds.values())
    shown = [
        stub(rows[n], uids[bounds[n].messages[0]], cut.stubs[n]) if n in bounds else fresh(rows[n])
        for n in kept
    ]
    gone = [n for n in range(request.lead, max(cut.keep_from, request.lead)) if n != cut.lifted]
    lead = [
        fresh(row)
        for row in [*rows[: request.lead], *(rows[n] for n in gone if is_system(rows[n]))]
    ]
    if all(is_system(rows[n]) for n in gone):
        return [*lead, *shown]
    past = Past(
        rows=[(rows[n], bound) for n in gone if (bound := request.bound[n]) is not None],
        summary=request.room // _SUMMARY,
        names=request.room // _OUTLINE,
    )
    ours: list[Any] = [{"role": "user", "content": past_text(store, line, past)}]
    if shown and shown[0].get("role") == "user":
        ours.append({name: value for name, value in filler_row().items() if name[0] != "_"})
    return [*lead, *ours, *shown]
