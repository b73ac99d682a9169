"""One pass as the host asks for it: with what it is done, and what the host is told of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from . import hermes
from .routes import routes_of

if TYPE_CHECKING:
    from ..dag.compact import Outcome, PassRequest
    from .engine import LCMEngine

__all__ = ["note_outcome", "note_refusal", "request_for"]

#: Why a text was extracted where nobody was to be asked.
_NO_FAILURE = frozenset({"no summariser", "the source is blank"})

_log = logging.getLogger(__name__)


def request_for(
    engine: LCMEngine, current_tokens: int | None, focus: str, memory: str, *, force: bool
) -> PassRequest:
    """What *engine* asks of a pass."""
    from ..dag.compact import PassRequest

    return PassRequest(
        settings=engine.settings,
        window=engine.context_length,
        threshold_tokens=engine.threshold_tokens,
        current_tokens=current_tokens,
        force=force,
        stamp=hermes.keeps_uids(),
        routes=routes_of(engine),
        focus=focus,
        memory=memory,
        redact=None if engine.settings.redact == "off" else hermes.redaction(),
    )


def note_outcome(engine: LCMEngine, outcome: Outcome, measured: int) -> None:
    """Tell the host what a pass did; *measured*: tokens of the request that it was asked for."""
    engine._list_tokens = outcome.after
    engine._asked_at = measured
    after = outcome.after + measured - outcome.before
    engine._blocked_at = after + _growth(engine) if after >= engine.threshold_tokens else 0
    if not outcome.changed:
        return
    engine.compression_count += 1
    engine._last_compression_made_progress = True
    engine._last_compression_savings_pct = 100 * (1 - outcome.after / max(outcome.before, 1))
    degraded = [node.degraded for node in outcome.made if node.degraded]
    failed = [reason for reason in degraded if reason not in _NO_FAILURE]
    if failed:
        engine._last_summary_fallback_used = True
        engine._last_summary_error = (
            f"{len(failed)} of {len(outcome.made)} summaries are extracted sentences ({failed[-1]});"
            " every message is kept"
        )
    made = len(outcome.made)
    _log.info("compacted %d tokens to %d (%d new nodes)", outcome.before, outcome.after, made)


def note_refusal(engine: LCMEngine) -> None:
    """The host refused what the last pass gave: not again before the conversation has grown."""
    refused = max(engine._asked_at, engine.threshold_tokens)
    engine._blocked_at = max(engine._blocked_at, refused + _growth(engine))


def _growth(engine: LCMEngine) -> int:
    """Tokens that a conversation has to grow by before another pass is worth trying."""
    return max(engine.settings.compaction_token_threshold, engine.threshold_tokens // 20)
