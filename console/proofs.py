"""What must hold of a node and of the line it stands on: pure checks over values.

A failure contradicts what was promised when the node was made. What came later and has an
innocent explanation (a host that went back to an older list, a row put in between) is a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..dag.nodes import asked_for, marks_of, uid_of
from ..storage.records import Node, Source
from .report import Findings

__all__ = [
    "Account",
    "Ends",
    "Line",
    "Web",
    "account",
    "digest_faults",
    "shape_faults",
    "span",
]


@dataclass(slots=True)
class Line:
    """The order of the messages on a line: a few numbers for each, no bodies."""

    messages: list[int] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    """Order keys of ``messages``."""
    place: dict[int, int] = field(default_factory=dict)
    """Index in ``messages`` by message."""
    withdrawn: set[int] = field(default_factory=set)

    def add(self, message: int, seq: int, *, withdrawn: bool) -> bool:
        """Put a message at the end; False if it stands on the line already."""
        new = message not in self.place
        self.place[message] = len(self.messages)
        self.messages.append(message)
        self.seqs.append(seq)
        if withdrawn:
            self.withdrawn.add(message)
        return new

    def seq(self, message: int) -> int:
        """The order key of a message; 0 if it is not on the line."""
        return self.seqs[self.place[message]] if message in self.place else 0

    def active(self, start: int, stop: int) -> list[int]:
        """Messages at these places that are not withdrawn."""
        return [message for message in self.messages[start:stop] if message not in self.withdrawn]


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and last message under a node, and the one that was stored last."""

    first: int
    last: int
    newest: int


@dataclass(slots=True)
class Web:
    """All nodes, without their texts, and what is under them. Free of cycles."""

    nodes: Mapping[str, Node]
    ends: dict[str, Ends] = field(default_factory=dict)

    def learn(self, uid: str) -> None:
        """Find the ends of a node whose sources are learnt."""
        found = [self.of(source) for source in self.nodes[uid].sources]
        known = [ends for ends in found if ends]
        if known and len(known) == len(found):
            newest = max(ends.newest for ends in known)
            self.ends[uid] = Ends(known[0].first, known[-1].last, newest)

    def of(self, source: Source) -> Ends | None:
        """The ends of a source; None if something under it is missing."""
        if source.message is not None:
            return Ends(source.message, source.message, source.message)
        return self.ends.get(source.node or "")

    def covered(self) -> frozenset[int]:
        """Every message that is under any node."""
        return frozenset(
            source.message
            for node in self.nodes.values()
            for source in node.sources
            if source.message is not None
        )

    def under(self, uid: str) -> Iterator[int]:
        """Every message under a node, in order."""
        for source in self.nodes[uid].sources:
            if source.message is not None:
                yield source.message
            elif source.node and source.node in self.nodes:
                yield from self.under(source.node)


@dataclass(frozen=True, slots=True)
class Account:
    """Where a session's active messages are: under its newest frame, behind it, or not."""

    faults: tuple[tuple[int, str], ...] = ()
    """(message, what is wrong with it)."""
    left_out: int = 0
    """Messages in front of the frame that never were summarised: the host's list began later."""
    shown: bool = True
    """Whether the host may show it still: a list that does revives what is withdrawn under it."""


def shape_faults(node: Node, below: Sequence[Node]) -> list[str]:
    """What contradicts the node's own record; *below* are the nodes among its sources."""
    faults = [
        f"its edge {place} leads nowhere"
        for place, source in enumerate(node.sources)
        if not _is_edge(node, source)
    ]
    messages = [source.message for source in node.sources if source.message is not None]
    if not node.sources:
        faults.append("it stands for nothing")
    if node.kind not in ("leaf", "condensed", "frame") or (node.kind == "leaf") != bool(messages):
        faults.append(f"it says it is a {node.kind}, and its sources say it is not")
    deepest = max((each.depth for each in below), default=-1)
    if node.depth != (max(deepest, 0) if node.kind == "leaf" else deepest + 1):
        faults.append(f"its depth cannot be {node.depth}")
    if node.messages != len(messages) + sum(each.messages for each in below):
        faults.append(f"it says it stands for {node.messages} messages, and does not")
    return faults


def _is_edge(node: Node, source: Source) -> bool:
    if source.message is not None:
        return source.node is None and source.version >= 1 and source.level == 0
    return bool(source.node) and source.version == 0 and (node.kind == "frame" or not source.level)


def digest_faults(node: Node, digests: Mapping[tuple[int, int], bytes]) -> list[str]:
    """What the digests say about a node."""
    wanted = [(s.message, s.version) for s in node.sources if s.message is not None]
    missing = [pair for pair in wanted if pair not in digests]
    if missing:
        return [f"its source, message {m} in version {v}, is missing" for m, v in missing]
    marks = marks_of(node, digests)
    faults = []
    if uid_of(node, marks) != node.uid:
        faults.append("its texts and sources do not give its uid")
    if asked_for(node, marks) != node.source_key:
        faults.append("its sources and sizes do not give its source key")
    return faults


def span(node: Node, line: Line, web: Web, findings: Findings) -> None:
    """The node stands for a run of the line, in order and without holes but the lifted one."""
    at, between = -1, []
    for source in node.sources:
        ends = web.of(source)
        if ends is None:
            return  # said already, of what is missing
        first, last = line.place.get(ends.first), line.place.get(ends.last)
        if first is None or last is None:
            findings.wrong("node", node.uid, "messages under it are not on its line")
            return
        if first <= at:
            findings.wrong("node", node.uid, "its sources are out of order")
            return
        between += line.active(at + 1, first) if at >= 0 else []
        at = last
    if not _is_span(node, line, web):
        findings.wrong("node", node.uid, "the span that it says it has is not that of its sources")
    left_out = [message for message in between if message not in node.lifted]
    if left_out:
        _explain(node, left_out, line, web, findings)


def _is_span(node: Node, line: Line, web: Web) -> bool:
    """Whether the order keys on record are those of the sources."""
    keys = [
        (line.seq(source.message), line.seq(source.message))
        if source.message is not None
        else (web.nodes[source.node or ""].first_seq, web.nodes[source.node or ""].last_seq)
        for source in node.sources
    ]
    return (node.first_seq, node.last_seq) == (min(k for k, _ in keys), max(k for _, k in keys))


def _explain(node: Node, left_out: list[int], line: Line, web: Web, findings: Findings) -> None:
    """Say what it means that active messages stand inside the node's span and not under it."""
    newest = web.ends[node.uid].newest
    many = f"{len(left_out)} messages stand inside its span and not under it"
    if any(message in line.withdrawn for message in web.under(node.uid)):
        findings.note("node", node.uid, f"{many}; the host has gone back behind it since")
    elif all(message > newest for message in left_out):
        findings.note("node", node.uid, f"{many}; they came later")
    else:
        findings.wrong("node", node.uid, many)


def account(frame: Node, line: Line, web: Web) -> Account:
    """Check that the frame and what follows it hold every active message exactly once."""
    under = list(web.under(frame.uid))
    held = set(under)
    if held & line.withdrawn:
        return Account(shown=False)
    places = [line.place[message] for message in under if message in line.place]
    begin, end = min(places, default=0), max(places, default=-1)
    twice = [message for message, times in Counter(under).items() if times > 1]
    stray = [message for message in under if message not in line.place]
    before = line.active(0, begin)
    summarised = web.covered() if before else frozenset()
    lost = [m for m in line.active(begin, end + 1) if m not in held and m not in frame.lifted]
    lost += [message for message in before if message in summarised]
    faults: list[tuple[int, str]] = [
        *((message, "is twice under the newest summary row") for message in twice),
        *((message, "is under the newest summary row and not on its line") for message in stray),
        *((message, "is neither under the newest summary row nor behind it") for message in lost),
    ]
    both = [message for message in frame.lifted if message in held]
    faults += [(each, "is under the newest summary row and kept behind it") for each in both]
    if places and line.seqs[end] != frame.last_seq:
        said = "ends the newest summary row, which says that it ends elsewhere"
        faults.append((line.messages[end], said))
    return Account(tuple(faults), left_out=len(set(before) - summarised))
