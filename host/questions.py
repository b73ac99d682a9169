"""What a host asks before it compacts, and what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .routes import names_of

if TYPE_CHECKING:
    from .engine import LCMEngine

__all__ = ["Cooldown", "cooldown_of", "has_content", "is_over", "status_line", "why_blocked"]

_BLOCKED = "lcm has made the context as small as it can; it tries again when it has grown"


class Cooldown(dict[str, Any]):
    """How long a summariser is left alone: ``remaining_seconds``, and the ``reason``.

    Both hosts skip automatic compaction while this answer is *true*, also far above the threshold.
    Ours goes on meanwhile, without that summariser; so the answer informs, and is false.
    """

    def __bool__(self) -> bool:
        return False


def cooldown_of(engine: LCMEngine) -> Cooldown | None:
    """What there is to say of the summariser that is left alone the longest; None if none is."""
    breakers = [engine._breakers.of(name) for name in names_of(engine)]
    seconds, reason = max(((each.rests(), each.reason) for each in breakers), default=(0.0, ""))
    return Cooldown(remaining_seconds=seconds, reason=reason) if seconds else None


def why_blocked(engine: LCMEngine) -> str | None:
    """Why a list over the threshold is left as it is at the moment; None where it is not."""
    if not engine._blocked_at:
        return None
    cooldown = cooldown_of(engine)
    return f"{_BLOCKED}; {cooldown['reason']}" if cooldown is not None else _BLOCKED


def is_over(engine: LCMEngine, messages: Sequence[Any]) -> bool:
    """Whether a list is over the threshold by itself, and a pass would help.

    A host judges by what the provider counted, and that may have been a list of ours.
    """
    if not engine._session_id or not messages:
        return False
    tokens = engine._requests.size_of_list(messages)
    return tokens >= engine.threshold_tokens > 0 and tokens >= engine._blocked_at


def has_content(engine: LCMEngine, messages: Sequence[Any]) -> bool:
    """Whether a pass that a person asks for would make *messages* smaller."""
    from ..dag.forecast import would_help
    from .passes import request_for

    if not engine._session_id or not messages:
        return False
    ledger, binding = engine._attachment.bind(list(messages), engine._session_id)
    request = request_for(engine, None, "", "", force=True)
    return would_help(ledger.store, binding, request)


def status_line(engine: LCMEngine, line: str) -> str | None:
    """*line*, with what else is to be known; None where the settings want no such line."""
    if engine.settings.ui_verbosity in ("minimal", "off"):
        return None
    cooldown = cooldown_of(engine)
    if cooldown is not None:
        seconds = cooldown["remaining_seconds"]
        line = f"{line} Sentences are extracted: {cooldown['reason']} ({seconds:.0f} s)."
    return "\n".join([line, *engine._told.waiting()])
