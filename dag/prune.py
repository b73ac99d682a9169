"""Results that nobody misses, shown by head and tail: between two passes, or in place of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..storage.protocol import Store
from .budget import Budget
from .fit import fresh, stub
from .identity import STUB
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
    worth = worth_of(limit - used, _step(binding, tokens, budget), limit, budget.target)
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


def _step(binding: Binding, tokens: Sequence[int], budget: Budget) -> float:
    """Tokens that a request adds to the list, by its newest part.

    What stands before has been made smaller: the more of it, the smaller its rows are on average, and
    the more requests would seem to fit before the list is compacted.
    """
    smaller = (n for n in range(len(tokens) - 1, -1, -1) if _is_smaller(binding, n))
    start = min(next(smaller, -1) + 1, _tail(tokens, budget.tail))
    for first in (start, 0):
        said = [row for row in binding.rows[first:] if not is_system(row)]
        if requests := len([row for row in said if row.get("role") == "assistant"]):
            return sum(tokens[first:]) / requests
    return float(sum(tokens))


def _is_smaller(binding: Binding, index: int) -> bool:
    """Whether a row is of ours, or shown by head and tail."""
    row, bound = binding.rows[index], binding.bound[index]
    if bound.kind != "message":
        return bound.kind != "system"
    content = row.get("content")
    return not bound.version and isinstance(content, str) and bool(STUB.search(content))


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
