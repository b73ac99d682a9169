"""One pass as the host asks for it: with what it is done, and what the host is told of it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..dag.meter import Meter, totals_of
from ..dag.taken import compactions
from . import hermes
from .events import events_of, tell
from .failures import said_by
from .routes import judge_of, routes_of
from .surface import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..dag.compact import Outcome, PassRequest
    from .engine import LCMEngine

__all__ = ["compacted", "is_due", "note_failure", "note_outcome", "note_refusal", "request_for"]

#: Why a text was extracted where nobody was to be asked.
_NO_FAILURE = frozenset({"no summariser", "the source is blank"})

_log = logging.getLogger(__name__)


def compacted(
    engine: LCMEngine,
    messages: list[Any],
    current_tokens: int | None,
    focus: str,
    memory: str,
    *,
    force: bool,
) -> list[Any]:
    """The list of a new pass over *messages*, or *messages* itself.

    Where the provider has refused the request as too long, what the host has now does not fit, whatever
    the window is said to be.

    Raises:
        StoreError: the store failed; the list stays as it is.
    """
    from ..dag.compact import compact

    rows = list(messages)  # the live list of an older host may grow meanwhile
    ledger, binding = engine._attachment.bind(rows, engine._session_id)
    # Behind it: whether a model may see the session may be known only now.
    spent = Meter(engine._meter)
    tokens = max(current_tokens or 0, engine._requests.pressure) or None
    request = request_for(engine, tokens, focus, memory, force=force, meter=spent)
    if engine._refused and not force:
        request = _narrowed(request, rows)
    engine._refused = False
    try:
        outcome = compact(ledger.store, ledger.session.line, binding, request)
    finally:
        with engine._failures.kept("counting model calls"):
            engine._meter.settle(ledger.store, ledger.session.name)
    note_outcome(engine, outcome, max(tokens or 0, outcome.before))
    if not outcome.changed:
        _log.info("nothing was compacted: %s", outcome.reason)
        return messages
    done = outcome.record(ledger.session.name)
    # Where in the conversation it was: a page that draws it later has nothing else to tell by.
    where = {"end": max(binding.ends, default=0)}
    detail = {**done.detail, **where, "model_calls": totals_of(spent.spent())}
    ledger.record(replace(done, detail=detail), outcome.rows)
    engine.compression_count = compactions(ledger.store, ledger.session)
    tell(engine, events_of(ledger.session.name, outcome))
    return list(outcome.rows)


def _narrowed(request: PassRequest, rows: Sequence[Any]) -> PassRequest:
    """The same pass for a window that is full with *rows*, where it is said to be larger."""
    from ..dag.scene import size_of

    measured = max(request.current_tokens or 0, sum(map(size_of, rows)))
    if measured >= request.threshold_tokens:
        return request
    share = request.threshold_tokens / max(request.window, 1)
    _log.info(
        "a request of about %d tokens was refused: it is compacted as if it filled the window",
        measured,
    )
    return replace(request, window=measured, threshold_tokens=int(measured * share))


def is_due(engine: LCMEngine, prompt_tokens: int | None) -> tuple[bool, str | None]:
    """Whether a list of so many tokens is to be compacted, and why one over the threshold is not."""
    given = map(whole, (prompt_tokens, engine.last_prompt_tokens, engine._list_tokens))
    tokens = max(next((each for each in given if each > 0), 0), engine._requests.pressure)
    if not engine._session_id or tokens < engine.threshold_tokens or engine.threshold_tokens <= 0:
        return False, None
    if tokens < engine._blocked_at:
        return False, engine.block_reason
    return True, None


def request_for(
    engine: LCMEngine,
    current_tokens: int | None,
    focus: str,
    memory: str,
    *,
    force: bool,
    meter: Meter | None = None,
) -> PassRequest:
    """What *engine* asks of a pass; *meter* counts its model calls, the engine's own by default."""
    from ..dag.compact import PassRequest

    return PassRequest(
        settings=engine.settings,
        window=engine.context_length,
        threshold_tokens=engine.threshold_tokens,
        current_tokens=current_tokens,
        force=force,
        stamp=hermes.keeps_uids(),
        routes=routes_of(engine, meter or engine._meter),
        focus=focus,
        memory=memory,
        redact=None if engine.settings.redact == "off" else hermes.redaction(),
        judge=judge_of(engine, meter or engine._meter),
        underway=engine._ahead.underway,
    )


def note_outcome(engine: LCMEngine, outcome: Outcome, measured: int) -> None:
    """Tell the host what a pass did; *measured*: tokens of the request that it was asked for."""
    engine._list_tokens = outcome.after
    engine._asked_at = measured
    after = outcome.after + measured - outcome.before
    engine._blocked_at = after + _growth(engine) if after >= engine.threshold_tokens else 0
    if not outcome.changed:
        return
    engine._requests.compacted()
    engine._prune_from = 0
    engine._last_compression_made_progress = True
    engine._last_compression_savings_pct = 100 * (1 - outcome.after / max(outcome.before, 1))
    degraded = [node.degraded for node in outcome.made if node.degraded]
    failed = [reason for reason in degraded if reason not in _NO_FAILURE]
    if failed:
        engine._ahead.repairs(wanted=True)
        engine._last_summary_fallback_used = True
        engine._last_summary_error = (
            f"{len(failed)} of {len(outcome.made)} summaries are extracted sentences ({failed[-1]});"
            " every message is kept"
        )
    made = len(outcome.made)
    _log.info("compacted %d tokens to %d (%d new nodes)", outcome.before, outcome.after, made)


def note_failure(engine: LCMEngine, error: Exception) -> None:
    """A pass failed; the list stays as it is."""
    engine._last_compress_aborted = True
    engine._last_summary_error = said_by(error)
    engine._failures.note("compress", error)


def note_refusal(engine: LCMEngine) -> None:
    """The host refused what the last pass gave: not again before the conversation has grown."""
    refused = max(engine._asked_at, engine.threshold_tokens)
    engine._blocked_at = max(engine._blocked_at, refused + _growth(engine))
    with engine._failures.kept("record_rejected_compaction"):
        ledger = engine._attachment.standing()
        if ledger is not None:
            ledger.refuse()
            engine.compression_count = compactions(ledger.store, ledger.session)


def _growth(engine: LCMEngine) -> int:
    """Tokens that a conversation has to grow by before another pass is worth trying."""
    return max(engine.settings.compaction_token_threshold, engine.threshold_tokens // 20)
