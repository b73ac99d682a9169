"""What a replay adds up to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["CACHED", "WRITTEN", "Tally"]

#: Prices in units of a fresh input token.
CACHED, WRITTEN = 0.1, 5.0


@dataclass(slots=True)
class Tally:
    """Sums over the requests of a replay; all sizes in tokens."""

    requests: int = 0
    sent: int = 0
    cached: int = 0
    """Of what was sent: the longest prefix that the previous request had too."""
    ideal: int = 0
    """The same of a list that only ever grows, and of which a compaction leaves the system rows."""
    answered: int = 0
    """What the agent wrote."""
    invalid: int = 0
    """Requests that a strict provider refuses for what a compaction did."""
    over: int = 0
    """Requests above the budget of the list."""
    compactions: int = 0
    idle: int = 0
    """Passes that were asked for and changed nothing."""
    stood: int = 0
    """What summary text there was before compactions."""
    stands: int = 0
    """Of that: what stood after them, unchanged and as a prefix."""
    summary: int = 0
    """Rows that the side wrote, summed over compactions."""
    tail: int = 0
    """Rows behind them."""
    calls: int = 0
    read: int = 0
    written: int = 0
    """Calls of the summariser, tokens of its prompts and of its answers."""
    faults: Counter[str] = field(default_factory=Counter)
    """What was invalid, by kind."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{key: getattr(self, key) + getattr(other, key) for key in _NAMES})

    @property
    def reuse(self) -> float:
        """Share of the requests that a provider's prompt cache had."""
        return self.cached / max(self.sent, 1)

    @property
    def best(self) -> float:
        """The same of the ideal list."""
        return self.ideal / max(self.sent, 1)

    @property
    def kept(self) -> float | None:
        """Share of the summary text that outlives a compaction; None where none was put to it."""
        return self.stands / self.stood if self.stood else None

    @property
    def cost(self) -> float:
        """All of it, in fresh input tokens; a summariser's prompt is fresh."""
        talk = self.sent - self.cached + CACHED * self.cached + WRITTEN * self.answered
        return talk + self.read + WRITTEN * self.written

    def as_json(self) -> dict[str, Any]:
        """The sums and what follows from them."""
        told = {key: getattr(self, key) for key in _NAMES}
        return told | {key: getattr(self, key) for key in ("reuse", "best", "kept", "cost")}

    @classmethod
    def of_json(cls, told: dict[str, Any]) -> Tally:
        """What :meth:`as_json` told."""
        return cls(**{key: told[key] for key in _NAMES} | {"faults": Counter(told["faults"])})


_NAMES = tuple(each.name for each in fields(Tally))
