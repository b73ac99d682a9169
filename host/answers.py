"""The tools as a host calls them: JSON, never an exception."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .facts import engine_facts
from .failures import said_by
from .routes import voice_of

if TYPE_CHECKING:
    from .engine import LCMEngine

__all__ = ["answer", "turn_state"]


def answer(engine: LCMEngine, name: str, args: Any, messages: Sequence[Any] | None) -> str:
    """What the tool *name* says; *messages* is the host's list at this moment."""
    from ..storage.errors import StoreError
    from ..tools.toolset import failure

    try:
        return _answer(engine, name, args, messages)
    except Exception as error:
        engine._failures.note(str(name), error)
        if isinstance(error, StoreError):
            hint = "The conversation goes on. `hermes lcm doctor` says more."
            return failure(str(error), hint)
        hint = "The conversation goes on. This is a fault of lcm, and the log has its traceback; "
        return failure(
            f"{name} failed: {said_by(error)}.",
            f"{hint}`hermes lcm doctor` looks at the database.",
        )


def turn_state(engine: LCMEngine, turn: int) -> dict[str, Any] | None:
    """What is known of a turn of the engine's session; None where there is none, or it cannot be looked up."""
    from ..dag.states import state_at

    with engine._failures.kept("turn_state"):
        stored = engine._attachment.stored()
        found = state_at(stored[0], stored[1].line, turn) if stored else None
        if found is not None:
            return found.plain()
    return None


def _answer(engine: LCMEngine, name: str, args: Any, messages: Sequence[Any] | None) -> str:
    from ..tools.desk import Desk
    from ..tools.toolset import call, failure

    if not engine._session_id:
        return failure("No session is open.", "lcm's tools work as soon as the agent is on one.")
    attachment = engine._attachment
    with engine._failures.kept("ingest before a tool call"):  # a question may be answered even so
        attachment.ingest(messages, engine._session_id)
    stored = attachment.stored()
    if stored is None:
        return failure(*attachment.absence())
    store, session = stored
    desk = Desk(store, session, engine.settings, engine_facts(engine), lambda: voice_of(engine))
    try:
        return call(desk, name, args)
    finally:
        with engine._failures.kept("counting a model call"):
            engine._meter.settle(store, session.name)
