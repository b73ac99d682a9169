"""What happened to a conversation, for people and for programs that watch it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Literal

from ..storage.records import Node
from .wording import many

__all__ = [
    "ContextCompacted",
    "DriftDetected",
    "Event",
    "StateUpdated",
    "Verbosity",
    "is_shown",
    "state_of",
]

Verbosity = Literal["all", "normal", "minimal", "off"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in one session."""

    kind: ClassVar[str] = ""
    session: str

    def line(self) -> str:
        """The event for people, in one line."""
        raise NotImplementedError

    def plain(self) -> dict[str, Any]:
        """The event for JSON: its kind, and its fields by name."""
        return {
            "event": self.kind,
            **{each.name: getattr(self, each.name) for each in fields(self)},
        }


@dataclass(frozen=True, slots=True)
class StateUpdated(Event):
    """A summary was made: of messages, or of summaries."""

    kind: ClassVar[str] = "state_updated"
    uid: str
    first_turn: int
    last_turn: int
    source_tokens: int
    """Tokens of what it stands for."""
    sufficient_tokens: int
    """The size at which nothing important is missing."""
    hints: tuple[str, ...]
    """What one could ask for."""
    topic: str = ""
    degraded: str = ""
    """Why its sentences are extracted and not written by a model; empty if they are not."""

    def line(self) -> str:
        turns = _turns(self.first_turn, self.last_turn)
        hints = f"; ask about {', '.join(self.hints)}" if self.hints else ""
        return f"lcm: {turns} summarised, {self.sufficient_tokens} tokens suffice{hints}"


@dataclass(frozen=True, slots=True)
class DriftDetected(Event):
    """The subject changed."""

    kind: ClassVar[str] = "drift_detected"
    turn: int
    """The turn with which the new subject begins."""
    before: tuple[str, ...] = ()
    """Key words of what was spoken of."""
    after: tuple[str, ...] = ()
    """Those of the new subject."""

    def line(self) -> str:
        words = [", ".join(each) for each in (self.before, self.after)]
        said = f": from {words[0]} to {words[1]}" if all(words) else ""
        return f"lcm: the subject changed at turn {self.turn}{said}"


@dataclass(frozen=True, slots=True)
class ContextCompacted(Event):
    """A list was made smaller."""

    kind: ClassVar[str] = "context_compacted"
    tokens_before: int
    tokens_after: int
    rows_before: int
    rows_after: int
    nodes: tuple[str, ...]
    """uids of the summaries that the new list shows, oldest first."""
    levels: tuple[int, ...]
    """The size in tokens at which it shows each of them."""
    made: int = 0
    """How many summaries were new."""

    def line(self) -> str:
        sizes = ", ".join(
            f"{self.levels.count(level)} at {level}" for level in sorted(set(self.levels))
        )
        shown = f"; {many(len(self.nodes), 'summary')} shown ({sizes} tokens)" if self.nodes else ""
        return f"lcm: compacted {self.tokens_before:,} tokens to {self.tokens_after:,}{shown}"


#: What each verbosity shows.
_SHOWN: Final[Mapping[str, Sequence[type[Event]]]] = {
    "all": (StateUpdated, DriftDetected, ContextCompacted),
    "normal": (DriftDetected, ContextCompacted),
    "minimal": (DriftDetected,),
    "off": (),
}


def is_shown(event: Event, verbosity: Verbosity) -> bool:
    """Whether *event* is among those that a user wants to see."""
    return isinstance(event, tuple(_SHOWN[verbosity]))


def state_of(session: str, node: Node) -> StateUpdated:
    """The event of a node that was just made."""
    return StateUpdated(
        session,
        uid=node.uid,
        first_turn=node.first_turn,
        last_turn=node.last_turn,
        source_tokens=node.source_tokens,
        sufficient_tokens=node.sufficient,
        hints=node.hints,
        topic=node.topic,
        degraded=node.degraded,
    )


def _turns(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first}-{last}"
