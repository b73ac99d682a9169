"""What ``storage.memory.MemoryStore`` keeps of a message and of a line."""

from __future__ import annotations

from dataclasses import dataclass, field

from .records import Draft

__all__ = ["Kept", "Line"]


@dataclass
class Kept:
    """A message with all its versions; the last is current."""

    uid: str
    time: float
    drafts: list[Draft]


@dataclass
class Line:
    base: int | None
    """The line it was branched from."""
    revision: int = 0
    places: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """(message, turn, state as in ``archive.Placed``) by order key."""
