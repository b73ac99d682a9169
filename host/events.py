"""Tells what happened: in the host's status line, in the log, and to who watches the engine.

``engine.on_event`` is called with each event that the setting ``ui_verbosity`` lets through. A host
gives an engine no way to its screen. So the agent of the command line is asked to show a line; where
there is none (a gateway, an older host without a terminal), the lines wait for the next status that
the host shows by itself, and stand in the log and in ``lcm_status`` meanwhile.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from . import hermes

if TYPE_CHECKING:
    from ..dag.events import Event
    from ..dag.passes import Outcome
    from ..storage.records import Node
    from .engine import LCMEngine

__all__ = ["Told", "events_of", "states_made", "tell"]

_log = logging.getLogger(__name__)

_REMEMBERED: Final = 12
"""Lines that are kept for the status."""
_WAITING: Final = 3
"""Lines that wait for the host's next status."""


class Told:
    """What was told of one engine. Any thread may use it."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_REMEMBERED)
        self._waiting: deque[str] = deque(maxlen=_WAITING)

    def wait(self, line: str) -> None:
        """Show *line* with the host's next status."""
        self._waiting.append(line)

    def waiting(self) -> list[str]:
        """The lines that were not shown yet; they are now."""
        lines = []
        while self._waiting:
            lines.append(self._waiting.popleft())
        return lines


def tell(engine: LCMEngine, events: Iterable[Event]) -> None:
    """Tell of *events*, as far as the settings want them told. Never raises an ``Exception``."""
    from ..dag.events import is_shown

    with engine._failures.kept("events"):
        verbosity = engine.settings.ui_verbosity
        for event in events:
            if is_shown(event, verbosity):
                _one(engine, event)


def _one(engine: LCMEngine, event: Event) -> None:
    line = event.line()
    _log.info("%s (session %s)", line, event.session)
    engine._told.lines.append(line)
    if not hermes.show(engine, line):
        engine._told.wait(line)
    if engine.on_event is not None:
        try:
            engine.on_event(event)
        except Exception:  # whoever watches must not stop who is watched
            _log.warning("lcm: the callback for %s failed", event.kind, exc_info=True)


def states_made(engine: LCMEngine, session: str, nodes: Iterable[Node]) -> None:
    """Tell of *nodes* that were made for *session*, by a pass or ahead of one."""
    from ..dag.events import state_of

    tell(engine, [state_of(session, node) for node in nodes])


def events_of(session: str, outcome: Outcome) -> list[Event]:
    """What a pass that changed the list has done."""
    from ..dag.events import ContextCompacted, DriftDetected, state_of

    drifts = [DriftDetected(session, each.turn, each.before, each.after) for each in outcome.drifts]
    shown = outcome.frame.sources if outcome.frame else ()
    compacted = ContextCompacted(
        session,
        tokens_before=outcome.before,
        tokens_after=outcome.after,
        rows_before=outcome.rows_before,
        rows_after=len(outcome.rows),
        nodes=tuple(source.node or "" for source in shown),
        levels=tuple(source.level for source in shown),
        made=len(outcome.made),
    )
    return [*(state_of(session, node) for node in outcome.made), *drifts, compacted]
