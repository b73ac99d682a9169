"""Whether the numbers beside a summary of an export are those of what it stands for.

Its uid is over texts and sources. How deep it is, for how many messages it stands and where it begins
are said beside that, and whoever reads them trusts them: so they are derived before it comes in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..storage.records import Node
from .proofs import Known, shape_faults

__all__ = ["Fitting"]

#: No message has as many tokens: hosts do not send, nor models take, a hundredth.
_MOST_TOKENS: Final = 100_000_000


class Fitting:
    """What was read so far: the summaries, and where messages stand."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        """Without texts."""
        self.seqs: dict[tuple[int, int], int] = {}
        """Order key of a message on a line, by (line, number)."""

    def check(self, node: Node) -> None:
        """Remember a node, if it fits; what it rests on must have been read.

        Raises:
            ValueError: it does not.
        """
        below = [self.nodes[source.node] for source in node.sources if source.node]
        faults = shape_faults(node, [_known(each) for each in below])
        if faults:
            raise ValueError(faults[0])
        if not 0 <= node.source_tokens <= node.messages * _MOST_TOKENS:
            raise ValueError(f"its messages cannot have {node.source_tokens} tokens")
        if node.first_turn > node.last_turn:
            raise ValueError("it ends in a turn before that in which it begins")
        self._ends(node)
        if len(below) == len(node.sources):
            self._sums(node, below)
        self.nodes[node.uid] = replace(node, texts={}, hints=())

    def _ends(self, node: Node) -> None:
        spans = [
            (each.first_seq, each.last_seq)
            for each in (self.nodes[source.node] for source in node.sources if source.node)
        ]
        for source in node.sources:
            if source.message is not None:
                seq = self.seqs.get((node.line, source.message))
                if seq is None:
                    raise ValueError("messages under it are not on its line")
                spans.append((seq, seq))
        if (node.first_seq, node.last_seq) != (min(s for s, _ in spans), max(s for _, s in spans)):
            raise ValueError("the span that it says it has is not that of its sources")

    def _sums(self, node: Node, below: list[Node]) -> None:
        """A node over nodes says what they say."""
        said = (node.source_tokens, node.first_turn, node.last_turn)
        tokens = sum(each.source_tokens for each in below)
        if said != (tokens, below[0].first_turn, below[-1].last_turn):
            raise ValueError("its turns and tokens are not those of its sources")


def _known(node: Node) -> Known:
    return Known(
        line=node.line,
        depth=node.depth,
        messages=node.messages,
        seqs=(node.first_seq, node.last_seq),
        ends=(0, 0),
        newest=(0, 0),
        below=(),
        lifted=node.lifted,
    )
