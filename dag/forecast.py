"""What a pass would take out of a list, without making one."""

from __future__ import annotations

from ..storage.protocol import Store
from .ingest import Binding
from .messages import is_system
from .passes import PassRequest, budget_of
from .planner import choose_cut
from .renderer import FILLER, HEAD
from .scene import scene_of, size_of, speaks
from .tokens import count_text

__all__ = ["would_help"]

#: Tokens of the first block and of two rows beside their texts, rounded up.
_FIRST = 110
#: Of fewer tokens no block is made that is smaller.
_LEAST = 20


def would_help(store: Store, binding: Binding, request: PassRequest) -> bool:
    """Whether a pass would make the list smaller: what it takes out is more than what it puts in.

    Raises:
        StoreError: the store failed.
    """
    sizes = [size_of(row) for row in binding.rows]
    before = sum(sizes)
    budget = budget_of(request, before)
    if before > budget.limit:
        return True
    scene = scene_of(store, binding, sizes)
    live = scene.live
    rows = [each.row for each in live]
    cut = choose_cut(rows, scene.tokens, budget, lambda at: speaks(store, live[at]))
    if any(live[index].bound.messages for index in cut.stubs):
        return True
    leaving = sum(
        scene.tokens[n]
        for n in range(cut.keep_from)
        if n != cut.lifted and live[n].bound.messages and not is_system(rows[n])
    )
    new = _LEAST if scene.frame else count_text(HEAD) + count_text(FILLER) + _FIRST
    return leaving > new
