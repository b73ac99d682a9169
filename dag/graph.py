"""The graph of summary nodes as a whole: its shape, its outline, its soundness.

Only summary nodes are in it, never messages: 50,000 messages make some 2,700
nodes, which networkx builds in 3 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..storage.records import Node

__all__ = ["Branch", "cycle", "layers", "outline"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A node with the nodes among its sources."""

    node: Node
    sources: tuple[Branch, ...]


def _graph(nodes: Iterable[Node]) -> Any:
    import networkx as nx  # 105 ms; no turn pays for it

    graph = nx.DiGraph()
    for node in nodes:
        graph.add_node(node.uid, node=node)
        graph.add_edges_from((node.uid, source.node) for source in node.sources if source.node)
    return graph


def outline(nodes: Sequence[Node]) -> list[Branch]:
    """Trees of the nodes that are under no other, oldest first."""
    graph = _graph(nodes)
    by_uid = {node.uid: node for node in nodes}
    roots = [uid for uid, degree in graph.in_degree() if degree == 0 and uid in by_uid]
    return [
        _branch(uid, by_uid)
        for uid in sorted(roots, key=lambda uid: (by_uid[uid].first_seq, by_uid[uid].time))
    ]


def _branch(uid: str, by_uid: Mapping[str, Node]) -> Branch:
    node = by_uid[uid]
    below = (source.node for source in node.sources if source.node)
    return Branch(node, tuple(_branch(each, by_uid) for each in below if each in by_uid))


def layers(nodes: Sequence[Node]) -> list[list[str]]:
    """uids by distance from the top; a node is always above its sources."""
    import networkx as nx

    return [sorted(layer) for layer in nx.topological_generations(_graph(nodes))]


def cycle(nodes: Sequence[Node]) -> list[str]:
    """uids on a cycle, if the graph has one: it never may."""
    import networkx as nx

    graph = _graph(nodes)
    if nx.is_directed_acyclic_graph(graph):  # forty times faster than to look for one
        return []
    return [edge[0] for edge in nx.find_cycle(graph)]
