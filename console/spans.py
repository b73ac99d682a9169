"""Whether every node stands for a run of its line, one node after another as they were stored.

A node's sources were stored before it, so all that is needed of them is known when it comes, and
the graph cannot go round in a circle. Of a node that was checked a few numbers are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise, product

from ..dag.wording import many
from ..storage.audit import Place
from ..storage.forget import given
from ..storage.protocol import Store
from ..storage.records import Node, Source
from . import proofs
from .report import Findings

__all__ = ["Spans"]

#: Places that are looked at in one span; a longer one is damaged.
_LONGEST = 1_000_000


class Spans:
    """The nodes that were checked, and the checks."""

    def __init__(self, store: Store, findings: Findings) -> None:
        self._store, self._findings = store, findings
        self._audit = store.audit()
        self.given: dict[str, bytes] = {}
        """What nodes give that do not give their uid: see :func:`storage.forget.given`."""
        self.known: dict[str, proofs.Known] = {}
        self.aside: dict[str, set[int]] = {}
        """Messages inside the span of a node that were not in the conversation when it was made."""

    def check(self, node: Node) -> None:
        """Check a node whose sources were checked, and keep what others need of it."""
        wrong = self._findings.wrong
        pairs = [(s.message, s.version) for s in node.sources if s.message is not None]
        for fault in self._digest_faults(node, self._audit.digests(pairs)):
            wrong("node", node.uid, fault)
        below = {source.node for source in node.sources if source.node}
        missing = sorted(below - self.known.keys())
        for uid in missing:
            wrong("node", node.uid, f"its source, node {uid}, is missing")
        if not missing:
            shape = [self.known[source.node] for source in node.sources if source.node]
            for fault in proofs.shape_faults(node, shape):
                wrong("node", node.uid, fault)
            self._span(node)
        self.take(node)

    def take(self, node: Node) -> None:
        """Keep what others need of a node."""
        self.known[node.uid] = self._known(node)

    def _digest_faults(self, node: Node, digests: Mapping[tuple[int, int], bytes]) -> list[str]:
        faults = proofs.digest_faults(node, digests, self.given.get(node.uid, b""))
        if faults:  # an import, or somebody who forgets, may have come in between
            self.given = given(self._store.eraser())
            faults = proofs.digest_faults(node, digests, self.given.get(node.uid, b""))
        return faults

    def under(self, uid: str) -> Iterator[int]:
        """Every message under a node, the last one first; it holds those of one leaf at a time."""
        known = self.known.get(uid)
        if known is None:
            return
        (node,) = self._store.nodes([uid], damaged=True) if known.below else (None,)
        if node is None:
            yield from (message for message, _ in reversed(self._store.stands_for(uid)))
            return
        for source in reversed(node.sources):
            if source.message is not None:
                yield source.message
            elif source.node in known.below:
                yield from self.under(source.node)

    def beside(self, uid: str) -> set[int]:
        """The messages inside the spans of a node, and of those under it, that it does not hold for a reason."""
        found: set[int] = set()
        seen, left = {uid}, [uid] if self.aside else []
        while left:
            at = left.pop()
            found |= self.aside.get(at, set())
            below = set(self.known[at].below if at in self.known else ()) - seen
            seen |= below
            left += below
        return found

    # of one node

    def _ends(self, source: Source) -> tuple[int, int]:
        if source.message is not None:
            return source.message, source.message
        return self.known[source.node or ""].ends if source.node in self.known else (0, 0)

    def _known(self, node: Node) -> proofs.Known:
        ends = [self._ends(source) for source in node.sources]
        newest = self._newest(node)
        return proofs.Known(
            line=node.line,
            depth=node.depth,
            messages=node.messages,
            seqs=(node.first_seq, node.last_seq),
            ends=(ends[0][0], ends[-1][1]) if ends and all(map(all, ends)) else (0, 0),
            newest=(newest[0][0], newest[-1][1]) if newest else (0, 0),
            below=tuple(s.node for s in node.sources if s.node and s.node in self.known),
            lifted=node.lifted,
        )

    def _span(self, node: Node) -> None:
        """The node stands for a run of the line, in order and without holes but the lifted one."""
        ends = [self._ends(source) for source in node.sources]
        if not all(map(all, ends)):
            return  # said already, of what is missing
        run = self._run(node)
        wanted = {message for pair in ends for message in pair} - run.keys()
        placed = run | self._audit.placed(node.line, wanted) if wanted else run
        if any(first not in placed or last not in placed for first, last in ends):
            self._findings.wrong("node", node.uid, "messages under it are not on its line")
            return
        seqs = [(placed[first].seq, placed[last].seq) for first, last in ends]
        if any(seq[1] >= after[0] for seq, after in pairwise(seqs)):
            self._findings.wrong("node", node.uid, "its sources are out of order")
            return
        said = [
            self.known[source.node].seqs if source.node else seq
            for source, seq in zip(node.sources, seqs, strict=True)
        ]
        if (node.first_seq, node.last_seq) != (min(s for s, _ in said), max(s for _, s in said)):
            what = "the span that it says it has is not that of its sources"
            self._findings.wrong("node", node.uid, what)
        newest = self._newest(node)
        inside = product(run.values(), newest[0][:1]) if run else self._between(node, seqs, newest)
        under = {source.message for source in node.sources} | set(node.lifted)
        left_out = [
            (place, then)
            for place, then in inside
            if not place.withdrawn and place.message not in under
        ]
        if left_out:
            self._explain(node, left_out)

    def _newest(self, node: Node) -> list[tuple[int, int]]:
        """``proofs.Known.newest`` of each source: a leaf was made when all its messages were there."""
        own = max((source.message for source in node.sources if source.message), default=0)
        return [
            self.known[source.node].newest if source.node in self.known else (own, own)
            for source in node.sources
        ]

    def _run(self, node: Node) -> dict[int, Place]:
        """All places from the first to the last of a node that has only messages for sources."""
        if any(source.node for source in node.sources):
            return {}
        places = self._audit.places(node.line, node.first_seq, node.last_seq, _LONGEST)
        return {place.message: place for place in places}

    def _between(
        self, node: Node, seqs: list[tuple[int, int]], newest: list[tuple[int, int]]
    ) -> Iterator[tuple[Place, int]]:
        """The places between one source and the next, each with the newest message there was when both were made."""
        for (seq, after), (one, other) in zip(pairwise(seqs), pairwise(newest), strict=True):
            for place in self._audit.places(node.line, seq[1] + 1, after[0] - 1, _LONGEST):
                yield place, max(one[1], other[0])

    def _explain(self, node: Node, left_out: list[tuple[Place, int]]) -> None:
        """Say what it means that active messages stand inside the node's span and not under it.

        Each with the newest message that was stored when what is around it was made.
        """
        verb = "stands" if len(left_out) == 1 else "stand"
        said = f"{many(len(left_out), 'message')} {verb} inside its span and not under it"
        under = {message for message, _ in self._store.stands_for(node.uid)}
        if any(place.withdrawn for place in self._audit.placed(node.line, under).values()):
            self._findings.note("node", node.uid, f"{said}; the host has gone back behind it since")
        elif all(place.returned or place.message > then for place, then in left_out):
            self.aside[node.uid] = {place.message for place, _ in left_out}
            what = f"{said}; they came later, or were withdrawn and came back"
            self._findings.note("node", node.uid, what)
        else:
            self._findings.wrong("node", node.uid, said)
