"""What is known of a host's list: what each of its rows stands for, and how far it has reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

__all__ = ["Binding", "Bound", "IngestReport", "Memo"]


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one call of ``ingest`` found: rows without system rows and our own."""

    new: int = 0
    known: int = 0
    revised: int = 0
    """Known messages of which the list shows a new version."""
    withdrawn: int = 0
    """Stored messages that the list no longer has at its end."""


class Bound(NamedTuple):
    """What one row of the list stands for; a tuple, for there are as many as rows."""

    kind: str
    """``message``, ``frame`` (a summary row), ``filler`` or ``system``."""
    messages: tuple[int, ...] = ()
    """Our numbers of its messages: several for a fold."""
    version: int = 0
    """The version of its one message that it is to the letter; 0: a fold, a stub, a stripped row."""
    frame: str = ""
    """uid of the frame, also where a message was merged behind the summary."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A host's list and what its rows stand for."""

    rows: Sequence[Any]
    bound: Sequence[Bound]
    ends: Sequence[int]
    """For each row the highest order key that the list has reached with it."""


@dataclass(slots=True)
class Memo:
    """What a ledger knows of the last list; changed in place."""

    lineage: tuple[int, ...]
    """The line and those it was branched from."""
    bound: list[Bound] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    end: tuple[int, int] | None = None
    """Order key and turn of the line's last message, if the list ends with it."""
    named: bool = False
    """Whether a row of the list has a uid of the host's."""
    renamed: bool = False
    """Whether the list before it may have had none: see :class:`leftover.Uids`."""
    before: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """By place of a row what it was bound to, where all is bound anew for others changed the line."""
    lifted: tuple[int, tuple[int, ...]] = (-1, ())
    """Place of the last summary row, and the messages that its frame left out and that stand behind it."""

    def awaited(self) -> tuple[int, ...]:
        """The lifted messages, if the list as far as it is known stops before the first message behind the summary.

        They stand there or nowhere: an undo may have taken them.
        """
        place, messages = self.lifted
        if not messages or place >= len(self.bound):
            return ()
        # In the summary row itself may stand what a host put there.
        seen = not set(messages).isdisjoint(self.bound[place].messages) or any(
            bound.messages for bound in islice(self.bound, place + 1, None)
        )
        return () if seen else messages
