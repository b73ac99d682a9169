"""What a store takes and gives: plain, frozen values.

A *message* is kept once and has versions. A *line* is the order in which
messages stand in one conversation; sessions that a host rotated share a line,
a branch starts with its parent's. A *node* stands for a run of messages, or
of other nodes. All uids are strings, all times Unix seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

__all__ = [
    "Brief",
    "Draft",
    "Entry",
    "Fault",
    "Filter",
    "Hit",
    "Message",
    "Node",
    "Pass",
    "Session",
    "Source",
    "Totals",
]


class Draft(NamedTuple):
    """A message, or a new version of one, on its way into the store.

    A tuple, as :class:`Entry` is: made ten thousand times in a bulk ingest, at a third of the
    cost of a frozen dataclass.
    """

    uid: str
    """The host's uid, or one that we minted."""
    role: str
    body: bytes
    """Canonical JSON of the whole message."""
    text: str
    """What can be searched of it."""
    key: bytes
    """Identity for hosts that give no uid: equal keys are the same words by the same role."""
    digest: bytes
    """Digest over ``body``."""
    time: float
    tokens: int
    tool: str = ""
    """Names of the tools it calls or answers for, separated by blanks."""


Brief = Literal["", "places", "names"]
"""What who reads many entries wants of them: all, or less."""


class Entry(NamedTuple):
    """A message's place on a line, without its body."""

    id: int
    """Our own number of the message, the same on every line."""
    seq: int
    """Order key on the line: ascending, with gaps."""
    uid: str
    role: str
    turn: int
    """1-indexed; 0 before the first user message."""
    key: bytes
    digest: bytes
    version: int
    """Number of the current version, from 1."""
    tokens: int
    withdrawn: bool = False
    """No longer in the host's conversation (undo); still kept and found."""
    returned: bool = False
    """It was withdrawn and came back: nodes made in between do not hold it."""


class Message(NamedTuple):
    """A message with its body, in one version; a tuple, as :class:`Entry` is."""

    id: int
    uid: str
    role: str
    body: bytes
    digest: bytes
    version: int
    versions: int
    """How many versions there are; the last is current."""
    time: float
    """When it was first stored."""
    tool: str


class Source(NamedTuple):
    """One of the things that a node stands for, in order; a tuple, as :class:`Entry` is."""

    message: int | None = None
    """Our number of a message; exactly one of ``message`` and ``node`` is set."""
    version: int = 0
    node: str | None = None
    level: int = 0
    """For a frame: the size at which it shows the node."""


@dataclass(frozen=True, slots=True)
class Node:
    """Stands for a contiguous run of messages; immutable once stored."""

    uid: str
    kind: str
    """``leaf``: has messages among its sources; ``condensed``: only nodes;
    ``frame``: what one summary row shows, not a summary itself; ``state``: the whole
    conversation up to a turn, made of the state before it and the messages since."""
    line: int
    """The line it was made on."""
    source_key: str
    """Digest over the sources and the sizes (of a frame: those of its sources): what was asked for."""
    depth: int
    """0 for a leaf of messages, one more than its deepest node source otherwise."""
    texts: Mapping[int, str]
    """The text at each level, by level in tokens. Empty for a frame."""
    topic: str
    hints: tuple[str, ...]
    sufficient: int
    """The level at which nothing important is missing."""
    degraded: str
    """Why the text is extracted and not written by a model; empty if it is not."""
    first_seq: int
    last_seq: int
    first_turn: int
    last_turn: int
    messages: int
    """How many messages it stands for."""
    lifted: tuple[int, ...]
    """Of a frame: our numbers of the user message (several if the host folded it)
    that stands behind the summary row although its turn is under it in part."""
    source_tokens: int
    time: float
    sources: tuple[Source, ...] = field(repr=False)
    levels: tuple[int, ...] = ()
    """The sizes that were asked for, part of what the source key says. Empty for a frame."""


@dataclass(frozen=True, slots=True)
class Session:
    """A host's session id and the line that it stands on."""

    name: str
    line: int
    parent: str
    """The session it was rotated or branched from, or empty."""
    relation: str
    """``new``, ``rotation`` or ``branch``."""
    created: float


class Fault(NamedTuple):
    """A row that is not what was written, or that contradicts others."""

    kind: str
    """``message``, ``node``, ``session`` or ``file``: what ``uid`` names."""
    uid: str
    what: str


@dataclass(frozen=True, slots=True)
class Filter:
    """Which messages a search may return."""

    lines: tuple[int, ...] | None = None
    """None: every line of the database."""
    roles: tuple[str, ...] = ()
    tool: str = ""
    since: float | None = None
    until: float | None = None
    without_tools: tuple[str, ...] = ()
    """Leave out calls and results of these tools; what they say counts for nothing around them either."""
    without: tuple[int, ...] = ()
    """Leave out these messages, in the same way."""
    last: int | None = None
    """Leave out messages with greater numbers: those that came later."""
    made: float | None = None
    """Leave out summaries that were made later."""
    turns: tuple[int, int] | None = None
    """Only messages of these turns, the first and the last, of any of the lines."""

    @property
    def is_narrow(self) -> bool:
        """Whether it lets pass only some of what was said on its lines."""
        bounds = (self.since, self.until, self.turns)
        return bool(self.roles or self.tool) or any(bound is not None for bound in bounds)


@dataclass(frozen=True, slots=True)
class Hit:
    """A message or a node that a search found; higher scores are better."""

    score: float
    message: int | None = None
    node: str | None = None
    version: int = 0
    """Version of the message that matched; 0 means the current one."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One run of ``compress()`` that changed the list; whether the host took it over is told elsewhere."""

    time: float
    session: str
    tokens_before: int
    tokens_after: int
    rows_before: int
    rows_after: int
    frame: str
    """uid of the frame that the new summary row stands for, or empty."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What else is known of it; ``parts``: the names of the messages that it showed by head and tail."""


@dataclass(frozen=True, slots=True)
class Totals:
    """How much a store, or one line of it, holds."""

    sessions: int
    messages: int
    withdrawn: int
    versions: int
    """Superseded versions kept beside the current ones."""
    nodes: Mapping[int, int]
    """Number of summary nodes (frames left out) by depth."""
    degraded: int
    bytes: int
    """Size on disk, 0 for a store in memory."""
