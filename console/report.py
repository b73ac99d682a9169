"""What a verification found, as a value: counts, failures, notes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from ..storage.errors import BROKEN, StoreError
from .screen import many

__all__ = ["Counts", "Finding", "Findings", "Report"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be, or that is worth a word."""

    kind: str
    """``message``, ``node``, ``session``, ``file`` or ``host`` (its log): what ``uid`` names."""
    uid: str
    what: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much was checked."""

    sessions: int = 0
    messages: int = 0
    versions: int = 0
    """Superseded versions, beside the current one of each message."""
    withdrawn: int = 0
    nodes: int = 0
    """Summary nodes, frames and states left out."""
    frames: int = 0
    states: int = 0
    edges: int = 0
    forgotten: int = 0
    """Versions of messages, and nodes, in which something was forgotten on request, and that are what they
    became then; and messages that went with their session."""


@dataclass(frozen=True, slots=True)
class HostCounts:
    """How much of Hermes's own log was looked for."""

    path: str
    sessions: int
    """Those that are kept here too."""
    rows: int
    """Rows of those sessions, in use or archived."""
    found: int
    """Rows whose message is in the store."""
    own: int
    """Summary rows and the like, written by the engine itself."""
    system: int
    """System prompts, which are no messages."""


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of ``console.verify.verify``."""

    database: str
    counts: Counts
    failures: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    """What looks odd and has an innocent explanation."""
    host: HostCounts | None = None
    """None: Hermes's own log was not looked at; ``unread`` says why."""
    unread: str = ""

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failures

    @property
    def verdict(self) -> str:
        """The last line: whether every message is accounted for."""
        counts = self.counts
        of = ", ".join(
            [
                many(counts.messages, "message"),
                many(counts.nodes, "summary"),
                many(counts.sessions, "session"),
            ]
        )
        if self.good:
            gone = f", {counts.forgotten:,} forgotten on request" if counts.forgotten else ""
            return f"verify: every message accounted for ({of}{gone})"
        return f"verify: {many(len(self.failures), 'fault')} in {of}"

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "good": self.good,
            "verdict": self.verdict,
            "database": self.database,
            "checked": asdict(self.counts),
            "host": asdict(self.host) if self.host else None,
            "host_unread": self.unread,
            "failures": [asdict(finding) for finding in self.failures],
            "notes": [asdict(finding) for finding in self.notes],
        }


@dataclass(slots=True)
class Findings:
    """Collects; the same thing is said once."""

    failures: dict[Finding, None] = field(default_factory=dict)
    notes: dict[Finding, None] = field(default_factory=dict)

    def wrong(self, kind: str, uid: str, what: str) -> None:
        """Add a failure."""
        self.failures[Finding(kind, uid, what)] = None

    def note(self, kind: str, uid: str, what: str) -> None:
        """Add a note."""
        self.notes[Finding(kind, uid, what)] = None

    def add(self, others: Findings) -> None:
        """Add what another one collected."""
        self.failures |= others.failures
        self.notes |= others.notes

    @contextmanager
    def guarded(self, kind: str, uid: str) -> Iterator[None]:
        """Make a failure of whatever a damaged row raises inside the block."""
        try:
            yield
        except BROKEN as error:
            said = str(error) if isinstance(error, StoreError) else f"cannot be read: {error!r}"
            self.wrong(kind, uid, said)
