"""The graph of summary nodes as a whole: its shape, its outline, its soundness.

Only summary nodes are in it, never messages: 50,000 messages make some 2,700 nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from ..storage.records import Node

__all__ = ["Branch", "cycle", "outline"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A node with the nodes among its sources."""

    node: Node
    sources: tuple[Branch, ...]


def _below(node: Node) -> list[str]:
    return [source.node for source in node.sources if source.node]


def outline(nodes: Sequence[Node]) -> list[Branch]:
    """Trees of the nodes that are under no other, oldest first."""
    by_uid = {node.uid: node for node in nodes}
    under = {uid for node in nodes for uid in _below(node)}
    roots = [node for node in by_uid.values() if node.uid not in under]
    return [
        _branch(node.uid, by_uid)
        for node in sorted(roots, key=lambda node: (node.first_seq, node.time))
    ]


def _branch(uid: str, by_uid: Mapping[str, Node]) -> Branch:
    node = by_uid[uid]
    return Branch(node, tuple(_branch(each, by_uid) for each in _below(node) if each in by_uid))


def cycle(nodes: Sequence[Node]) -> list[str]:
    """uids on a cycle, if the graph has one: it never may."""
    try:
        TopologicalSorter({node.uid: _below(node) for node in nodes}).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[:-1]  # its last is its first
    return []
