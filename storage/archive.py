"""What moving a store needs and nobody else: to read and restore it exactly as it stands.

Numbers, order keys and lines are part of the digests of nodes. So an import that keeps them keeps
the uids of the nodes too. ``Store.archive()`` gives the one of a store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

from .records import Draft, Session

__all__ = ["RETURNED", "Archive", "Beside", "Kept", "LineTotals", "Placed"]

Kept = tuple[int, float, str, bytes, bytes]
"""Of a message its number, when it was first stored, its tools, its digest and its body."""

RETURNED = 2
"""How stores keep that a message was withdrawn and came back; 1: it is withdrawn; 0: neither."""


class Placed(NamedTuple):
    """Where a message stands on a line, and under which number."""

    number: int
    seq: int
    """Order key; no other message of the line has it."""
    turn: int
    withdrawn: bool = False
    returned: bool = False

    @property
    def state(self) -> int:
        """How stores keep whether it is, or was, withdrawn."""
        return RETURNED if self.returned else int(self.withdrawn)


@dataclass(frozen=True, slots=True)
class LineTotals:
    """What stands on a line, in numbers."""

    messages: int = 0
    withdrawn: int = 0
    turns: int = 0
    first: float = 0.0
    """Unix seconds of its earliest message; 0 if it has none."""
    last: float = 0.0
    nodes: int = 0
    """Summaries made on it, frames left out."""


class Beside(NamedTuple):
    """What the index of summaries holds beside some of them."""

    rows: int = 0
    tokens: int = 0
    """Words in those rows."""
    longest: int = 0
    """Words of the longest run that is counted."""
    holding: Mapping[str, int] = MappingProxyType({})
    """In how many of those rows a word of theirs stands, or a run of a few, as the index spells them."""


class Archive(Protocol):
    """Every method may raise :class:`storage.errors.StoreError`."""

    def snapshot(self) -> AbstractContextManager[None]:
        """All that is read in the block is of one moment, whoever writes meanwhile; it must not write."""

    def overview(self) -> dict[int, LineTotals]:
        """Every line with anything on it, in one look."""

    def aliases(self, messages: Sequence[int] | None = None) -> dict[int, tuple[str, ...]]:
        """The other names of those of these messages (None: of all) that have any, in alphabetical order."""

    def single(self, messages: Sequence[int]) -> list[Kept]:
        """Those of these messages that have one version and are kept in one piece, in any order.

        Nine of ten are; what these tuples leave out is what it takes to read the others.
        """

    def older(self, line: int) -> dict[int, int]:
        """For each message of the line that stands on an older one too, the oldest of these, by number."""

    def beside(self, nodes: Sequence[str]) -> Beside:
        """What counts besides when these nodes are ranked by the words that they hold.

        Raises:
            StoreIndexBroken: the index cannot be asked.
            StoreSlow: there are too many others.
        """

    def restore_session(self, session: Session, base: int | None = None) -> Session:
        """Put a session on record as it is, with its line, branched from *base*, if that is new.

        One of that name that is there already is returned as it is.
        """

    def next_line(self) -> int:
        """A number greater than that of every line that is there."""

    def shift(self, numbers: Sequence[int]) -> int:
        """What to add to these numbers so that no message has any of them: 0 if none has one now."""

    def restore(self, line: int, rows: Sequence[tuple[Placed, Draft | None]]) -> None:
        """Put messages on a line where they stood.

        With a draft: a new message, under a number that no other has. Without: the one that has it.
        """
