"""Results that nobody misses, shown by head and tail: between two passes, or in place of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..storage.protocol import Store
from .budget import Budget
from .fit import fresh, stub
from .ingest import Binding
from .messages import is_system
from .names import names_of
from .savings import STUB_TOKENS, Saving, savings, worth_of, worthwhile
from .scene import size_of

__all__ = ["prune", "spared"]


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
    found = _found(binding, tokens, budget)
    requests = sum(not is_system(row) and row.get("role") == "assistant" for row in rows)
    step = sum(tokens) / max(requests, 1)
    worth = worth_of(limit - used, step, limit, budget.target)
    chosen = worthwhile(found, tokens, worth, least)
    pruned = list(rows)
    for index, shown in _shown(store, binding, chosen):
        pruned[index] = {**rows[index], "content": shown["content"]}  # with the host's notes on it
    return pruned, len(chosen)


def spared(
    store: Store, binding: Binding, tokens: Sequence[int], budget: Budget
) -> list[Any] | None:
    """The list of *binding* brought down to what a pass aims at by stubs alone; None if they do not suffice.

    *tokens*: sizes of the rows. As few as suffice, the newest first: what stands before stays as it is.

    Raises:
        StoreError: the store failed.
    """
    excess = sum(tokens) - budget.target
    found = _found(binding, tokens, budget)
    while len(found) > 1 and sum(each.saved for each in found[1:]) >= excess:
        del found[0]
    if not found or sum(each.saved for each in found) < excess:
        return None
    rows = [fresh(row) for row in binding.rows]
    for index, shown in _shown(store, binding, found):
        rows[index] = shown
    return rows


def _found(binding: Binding, tokens: Sequence[int], budget: Budget) -> list[Saving]:
    """What of the list could be left out."""
    rows = binding.rows
    steps = [n for n, row in enumerate(rows) if not is_system(row) and row.get("role") != "tool"]
    if not steps:
        return []
    found = savings(rows, tokens, _tail(tokens, budget.tail), steps[-1])
    return [each for each in found if _is_whole(binding, each)]


def _shown(
    store: Store, binding: Binding, chosen: Sequence[Saving]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Place and stub of each of *chosen*."""
    uids = names_of(store, [binding.bound[each.index] for each in chosen])
    for each in chosen:
        uid = uids[binding.bound[each.index].messages[0]]
        yield each.index, stub(binding.rows[each.index], uid, STUB_TOKENS)


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
