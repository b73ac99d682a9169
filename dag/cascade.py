"""At which size each node is shown: the newest in detail, older ones coarser.

A provider's prompt cache lives by identical prefixes. So a node is never shown in more detail than
before, a new one takes only a part of the room, and those that stand stay as they are until there is
no room left; then all of them but the newest become coarser at once, and it lasts again for a while.
Unless a person asks for it: ``/compress TOPIC`` keeps what concerns a topic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache

from ..storage.records import Node
from .renderer import block
from .tokens import count_text

__all__ = ["choose_levels"]

#: Sizes that the newest node, and any other new one, can still lose when room is made for another one.
_TO_LOSE = (2, 1)


def choose_levels(
    nodes: Sequence[Node],
    room: int,
    *,
    before: Mapping[str, int],
    by_need: bool,
    new: int | None = None,
    wanted: Collection[str] = (),
) -> list[int]:
    """A level for each of *nodes*, oldest first, so that the blocks take at most *room* tokens if they can.

    *before*: levels in the list as it is, by uid. *by_need*: never more than
    a node's sufficient level. *new*: tokens for the newest block if it was not
    there before, and as many for all others that were not; None: any number.
    *wanted*: uids of nodes that a person asked to keep; they are shown at
    their finest again, and coarsened last.
    """
    levels = [
        max(node.texts)
        if node.uid in wanted
        else _finest(node, before.get(node.uid), by_need=by_need)
        for node in nodes
    ]
    cost = cache(lambda n, level: count_text(block(nodes[n], level)))
    newest = len(nodes) - 1
    if new is not None:
        fresh = [n for n, node in enumerate(nodes) if node.uid not in before.keys() | wanted]
        last = [n for n in fresh if n == newest]
        for several, keeps in zip((last, [n for n in fresh if n != newest]), _TO_LOSE, strict=True):
            levels = _capped(nodes, levels, several, cost, new, keeps)
    rest = [n for n, node in enumerate(nodes) if node.uid not in wanted]
    every = list(range(len(nodes)))
    for several in ([n for n in rest if n != newest], rest, every):
        others = set(every).difference(several)
        taken = sum(cost(n, levels[n]) for n in others)
        levels = _capped(nodes, levels, several, cost, room - taken)
    return levels


def _capped(
    nodes: Sequence[Node],
    levels: Sequence[int],
    which: Sequence[int],
    cost: Callable[[int, int], int],
    room: int,
    keeps: int = 0,
) -> list[int]:
    """*levels*, of which those at *which* go down to the largest size at which their blocks take *room*.

    *keeps*: sizes below the one it is shown at that a node keeps at the least.
    """
    capped = list(levels)
    least = {n: _least(nodes[n], levels[n], keeps) for n in which}
    sizes = {level for n in which for level in nodes[n].texts if level <= levels[n]}
    for cap in sorted(sizes, reverse=True):
        for n in which:
            under = max((level for level in nodes[n].texts if level <= cap), default=0)
            capped[n] = min(max(under, least[n]), levels[n])
        if sum(cost(n, capped[n]) for n in which) <= room:
            break
    return capped


def _least(node: Node, level: int, keeps: int) -> int:
    """The coarsest size that a node may go down to from *level*."""
    sizes = sorted(node.texts)
    return min(sizes[min(keeps, len(sizes) - 1)], level)


def _finest(node: Node, before: int | None, *, by_need: bool) -> int:
    allowed = [level for level in node.texts if before is None or level <= before]
    if by_need:
        enough = [level for level in allowed if level >= node.sufficient]
        return min(enough) if enough else max(allowed)
    return max(allowed)
