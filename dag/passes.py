"""What a pass is asked for, and what it did."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..storage.forget import Stone
from ..storage.records import Node, Pass
from .budget import Budget, budget_for
from .drift import Drift
from .drift_model import Judge
from .maker import PASS_SECONDS, Voice
from .redact import Redact
from .settings import Settings
from .summarizer import Route
from .underway import Leash, Underway

__all__ = ["Outcome", "PassRequest", "budget_of"]


@dataclass(frozen=True, slots=True)
class PassRequest:
    """What the host asks for, and with what it can be done."""

    settings: Settings
    window: int
    """Tokens of the model's context window."""
    threshold_tokens: int
    current_tokens: int | None
    """What the host measured for the whole request; None if it did not say."""
    force: bool
    stamp: bool
    """Whether our rows carry ``message_uid``: only where the host keeps it off the wire."""
    routes: Sequence[Route] = ()
    """Whom to ask for a summary, in this order; without any, sentences are extracted."""
    focus: str = ""
    memory: str = ""
    seconds: float = PASS_SECONDS
    """What the pass may spend on the summariser."""
    redact: Redact | None = None
    """Takes the secrets out of what a summariser reads and writes."""
    judge: Judge | None = None
    """Tells where the subject changes; None: the words do."""
    underway: Underway = field(default_factory=Underway)
    """What other makers of this process are at."""

    def voice(self, clean: Redact, stones: Sequence[Stone], leash: Leash | None = None) -> Voice:
        """Who summarises for it; *clean* is :attr:`redact`, and takes out what was forgotten as well."""
        return Voice(
            self.routes,
            clean(self.focus),
            clean(self.memory),
            self.seconds,
            clean,
            stones,
            self.underway,
            leash,
        )


def budget_of(request: PassRequest, before: int) -> Budget:
    """The budget of a list of *before* tokens."""
    measured = max(request.current_tokens or 0, before)
    return budget_for(
        request.settings,
        window=request.window,
        threshold_tokens=request.threshold_tokens,
        overhead=measured - before,
        squeeze=before if request.force and measured < request.threshold_tokens else None,
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass did."""

    rows: Sequence[Any]
    """The new list, or the very list that came in."""
    changed: bool
    before: int
    """Tokens of the list that came in."""
    after: int
    rows_before: int = 0
    reason: str = ""
    """Why nothing changed."""
    frame: Node | None = None
    made: Sequence[Node] = field(default_factory=tuple)
    """Nodes that this pass made (not those it found)."""
    drifts: Sequence[Drift] = field(default_factory=tuple)
    """The newest changes of subject in what this pass compacted, oldest first."""

    def record(self, session: str) -> Pass:
        """What is remembered of the pass."""
        degraded = sum(bool(node.degraded) for node in self.made)
        return Pass(
            time=clock.time(),
            session=session,
            tokens_before=self.before,
            tokens_after=self.after,
            rows_before=self.rows_before,
            rows_after=len(self.rows),
            frame=self.frame.uid if self.frame else "",
            detail={"made": len(self.made), "degraded": degraded},
        )
