"""The nodes of a :class:`storage.memory.MemoryStore`, and what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .records import Node

__all__ = ["MemoryGraph"]


class MemoryGraph:
    """What a store in memory does with nodes; see ``storage.protocol``."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def nodes(
        self, uids: Sequence[str], *, brief: bool = False, damaged: bool = False
    ) -> list[Node]:
        del damaged  # nothing in memory is
        found = [self._nodes[uid] for uid in uids if uid in self._nodes]
        return list(map(_brief, found)) if brief else found

    def nodes_for(self, source_keys: Sequence[str]) -> dict[str, Node]:
        wanted = set(source_keys)
        found: dict[str, Node] = {}
        for node in sorted(self._nodes.values(), key=lambda node: node.degraded != ""):
            if node.source_key in wanted:
                found.setdefault(node.source_key, _brief(node))
        return found

    def nodes_on(
        self, lines: Sequence[int], *, kinds: Sequence[str] = ("leaf", "condensed")
    ) -> list[Node]:
        return [node for node in self._nodes.values() if node.line in lines and node.kind in kinds]

    def degraded(self, lines: Sequence[int], limit: int) -> list[Node]:
        written = {node.source_key for node in self._nodes.values() if not node.degraded}
        return [
            node
            for node in reversed(self._nodes.values())
            if node.line in lines
            and node.degraded
            and node.kind != "state"
            and node.source_key not in written
        ][:limit]

    def over(self, messages: Sequence[int]) -> dict[int, str]:
        wanted = set(messages)
        return {
            source.message: node.uid
            for node in self._nodes.values()
            for source in node.sources
            if source.message in wanted and node.kind != "state"
        }

    def stands_for(self, uid: str) -> list[tuple[int, int]]:
        result: list[tuple[int, int]] = []
        for source in self._nodes[uid].sources if uid in self._nodes else ():
            if source.message is not None:
                result.append((source.message, source.version))
            elif source.node is not None:
                result += self.stands_for(source.node)
        return result


def _brief(node: Node) -> Node:
    """The node without the messages among its sources."""
    return replace(node, sources=tuple(source for source in node.sources if source.node))
