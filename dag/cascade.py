"""At which size each node is shown: the newest in detail, older ones coarser.

A node is never shown in more detail than before: that would change a prefix
for nothing, and a provider's prompt cache lives by identical prefixes. Unless
a person asks for it: ``/compress TOPIC`` keeps what concerns a topic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..storage.records import Node
from .renderer import block
from .tokens import count_text

__all__ = ["choose_levels"]


def choose_levels(
    nodes: Sequence[Node],
    room: int,
    *,
    before: Mapping[str, int],
    by_need: bool,
    wanted: Collection[str] = (),
) -> list[int]:
    """A level for each of *nodes*, oldest first, so that the blocks take at most *room* tokens if they can.

    *before*: levels in the list as it is, by uid. *by_need*: never more than
    a node's sufficient level. *wanted*: uids of nodes that a person asked to
    keep; they are shown at their finest again, and coarsened last.
    """
    levels = [
        max(node.texts)
        if node.uid in wanted
        else _finest(node, before.get(node.uid), by_need=by_need)
        for node in nodes
    ]
    costs = [count_text(block(node, level)) for node, level in zip(nodes, levels, strict=True)]
    total = sum(costs)
    for index in sorted(range(len(nodes)), key=lambda index: nodes[index].uid in wanted):
        node = nodes[index]
        for level in sorted((level for level in node.texts if level < levels[index]), reverse=True):
            if total <= room:
                return levels
            cost = count_text(block(node, level))
            total += cost - costs[index]
            levels[index], costs[index] = level, cost
    return levels


def _finest(node: Node, before: int | None, *, by_need: bool) -> int:
    allowed = [level for level in node.texts if before is None or level <= before]
    if by_need:
        enough = [level for level in allowed if level >= node.sufficient]
        return min(enough) if enough else max(allowed)
    return max(allowed)
