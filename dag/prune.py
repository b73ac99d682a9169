"""Between two passes: results that nobody misses, shown by head and tail where that is worth it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..storage.protocol import Store
from .budget import Budget
from .fit import stub
from .ingest import Binding
from .messages import is_system
from .names import names_of
from .savings import STUB_TOKENS, Saving, savings, worth_of, worthwhile
from .scene import size_of

__all__ = ["prune"]


def prune(
    store: Store, binding: Binding, budget: Budget, used: int, limit: int, least: int
) -> tuple[list[Any], int]:
    """The list of *binding* with stubs, and how many; nothing changes where that is not worth it.

    *used*: tokens of the whole request. *limit*: those at which the list is compacted anyway.
    *least*: the smallest saving that is worth a change.

    Raises:
        StoreError: the store failed.
    """
    rows = binding.rows
    tokens = [size_of(row) for row in rows]
    steps = [n for n, row in enumerate(rows) if not is_system(row) and row.get("role") != "tool"]
    if not steps:
        return list(rows), 0
    found = savings(rows, tokens, _tail(tokens, budget.tail), steps[-1])
    named = [each for each in found if _is_whole(binding, each)]
    requests = sum(rows[n].get("role") == "assistant" for n in steps)
    step = sum(tokens) / max(requests, 1)
    worth = worth_of(limit - used, step, limit, budget.target)
    chosen = worthwhile(named, tokens, worth, least)
    uids = names_of(store, [binding.bound[each.index] for each in chosen])
    pruned = list(rows)
    for each in chosen:
        row = rows[each.index]
        shown = stub(row, uids[binding.bound[each.index].messages[0]], STUB_TOKENS)
        pruned[each.index] = {**row, "content": shown["content"]}  # with the host's notes on it
    return pruned, len(chosen)


def _tail(tokens: Sequence[int], most: int) -> int:
    """Index of the first of the last rows that take *most* tokens."""
    at, left = len(tokens), most
    while at and tokens[at - 1] <= left:
        at -= 1
        left -= tokens[at]
    return at


def _is_whole(binding: Binding, each: Saving) -> bool:
    """Whether the row is one stored message to the letter: nothing that a stub already is, nothing of ours."""
    bound = binding.bound[each.index]
    return len(bound.messages) == 1 and bound.version > 0
