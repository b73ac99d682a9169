"""What must hold of a node and of the line it stands on: pure checks over values.

A failure contradicts what was promised when the node was made. What came later and has an
innocent explanation (a host that went back to an older list, a row put in between) is a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..dag.nodes import asked_for, marks_of, uid_of
from ..dag.wording import many
from ..storage.audit import Place
from ..storage.records import Node, Source

__all__ = ["Account", "Known", "Line", "account", "digest_faults", "shape_faults"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of a node while others are checked: no text, no message but its ends."""

    line: int
    depth: int
    messages: int
    """How many it stands for."""
    seqs: tuple[int, int]
    """Order keys of the ends, as they are on record."""
    ends: tuple[int, int]
    """Our numbers of the first and the last message under it; 0 where something is missing."""
    newest: tuple[int, int]
    """The message that was stored last of those in the leaf at its beginning, and in the one at its end."""
    below: tuple[str, ...]
    """The nodes among its sources, of those that were stored before it: no walk down ends in a circle."""
    lifted: tuple[int, ...]


@dataclass(slots=True)
class Line:
    """The order of the messages on a line: a few numbers for each, no bodies."""

    messages: list[int] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    """Order keys of ``messages``."""
    place: dict[int, int] = field(default_factory=dict)
    """Index in ``messages`` by message."""
    withdrawn: set[int] = field(default_factory=set)
    returned: set[int] = field(default_factory=set)
    """Were withdrawn once, and came back."""

    def add(self, place: Place) -> None:
        """Put a message at the end."""
        self.place[place.message] = len(self.messages)
        self.messages.append(place.message)
        self.seqs.append(place.seq)
        if place.withdrawn:
            self.withdrawn.add(place.message)
        if place.returned:
            self.returned.add(place.message)

    def active(self, start: int, stop: int) -> list[int]:
        """Messages at these places that are not withdrawn."""
        return [message for message in self.messages[start:stop] if message not in self.withdrawn]


@dataclass(frozen=True, slots=True)
class Account:
    """Where a session's active messages are: under its newest frame, behind it, or not."""

    faults: tuple[tuple[int, str], ...] = ()
    """(message, what is wrong with it)."""
    shown: bool = True
    """Whether the host may show it still: a list that does revives what is withdrawn under it."""


def shape_faults(node: Node, below: Sequence[Known]) -> list[str]:
    """What contradicts the node's own record; *below* are the nodes among its sources."""
    faults = [
        f"its edge {place} leads nowhere"
        for place, source in enumerate(node.sources)
        if not _is_edge(node, source)
    ]
    messages = [source.message for source in node.sources if source.message is not None]
    if not node.sources:
        faults.append("it stands for nothing")
    flat = node.kind in ("leaf", "state")  # has messages among its sources
    if node.kind not in ("leaf", "state", "condensed", "frame") or flat != bool(messages):
        faults.append(f"it says it is a {node.kind}, and its sources say it is not")
    deepest = max((each.depth for each in below), default=-1)
    if node.depth != (max(deepest, 0) if flat else deepest + 1):
        faults.append(f"its depth cannot be {node.depth}")
    if node.messages != len(messages) + sum(each.messages for each in below):
        faults.append(f"it says it stands for {many(node.messages, 'message')}, and does not")
    return faults


def _is_edge(node: Node, source: Source) -> bool:
    if source.message is not None:
        return source.node is None and source.version >= 1 and source.level == 0
    return bool(source.node) and source.version == 0 and (node.kind == "frame" or not source.level)


def digest_faults(
    node: Node, digests: Mapping[tuple[int, int], bytes], given: bytes = b""
) -> list[str]:
    """What the digests say about a node; *given*: what it must give if that is not its uid."""
    wanted = [(s.message, s.version) for s in node.sources if s.message is not None]
    missing = [pair for pair in wanted if pair not in digests]
    if missing:
        return [f"its source, message {m} in version {v}, is missing" for m, v in missing]
    marks = marks_of(node, digests)
    faults = []
    if uid_of(node, marks) not in (node.uid, given.hex()):
        faults.append("its texts and sources do not give its uid")
    if asked_for(node, marks) != node.source_key:
        faults.append("its sources and sizes do not give its source key")
    return faults


def account(
    frame: Known,
    under: Sequence[int],
    line: Line,
    covered: Callable[[list[int]], Collection[int]],
    aside: Collection[int] = (),
) -> Account:
    """Say of each active message that is not where it should be what is wrong with it.

    Args:
        frame: the newest frame of a session.
        under: the messages under it, in order.
        line: the line that the session stands on.
        covered: gives those of the messages in front of the frame that are under any node.
        aside: messages that are not under the frame for a reason.
    """
    held = set(under)
    if held & line.withdrawn:
        return Account(shown=False)
    places = [line.place[message] for message in under if message in line.place]
    begin, end = min(places, default=0), max(places, default=-1)
    twice = [message for message, times in Counter(under).items() if times > 1]
    stray = [message for message in under if message not in line.place]
    spared = held.union(frame.lifted, aside)
    lost = [message for message in line.active(begin, end + 1) if message not in spared]
    # What was not in this list when its first summary row was made may be under that of another agent.
    known = spared.union(line.returned)
    before = [message for message in line.active(0, begin) if message not in known]
    lost += sorted(covered(before), key=line.place.__getitem__)
    faults: list[tuple[int, str]] = [
        *((message, "is twice under the newest summary row") for message in twice),
        *((message, "is under the newest summary row and not on its line") for message in stray),
        *((message, "is neither under the newest summary row nor behind it") for message in lost),
    ]
    both = [message for message in frame.lifted if message in held]
    faults += [(each, "is under the newest summary row and kept behind it") for each in both]
    if places and line.seqs[end] != frame.seqs[1]:
        said = "ends the newest summary row, which says that it ends elsewhere"
        faults.append((line.messages[end], said))
    return Account(tuple(faults))
