"""Every plain attribute that a host reads or writes on an engine, with its value at the start.

Both host generations set some of these without asking whether they exist and
read others without a default; so they are instance attributes, never
properties. Which code reads which is in the host's contract.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

__all__ = ["COUNTERS", "REVIEW", "START", "THRESHOLD", "called", "whole"]

#: Share of the window at which a list is compacted, until settings say otherwise: their default.
THRESHOLD = 0.75


#: The thread in which a host lets a fork of the agent review the conversation, under the session's
#: own id; its prompts and answers are no part of the conversation.
REVIEW = "bg-review"


def whole(value: Any) -> int:
    """A number of tokens as a host gives it; 0 for what is none."""
    try:
        return int(value or 0)
    except (TypeError, ValueError, OverflowError):
        return 0


def called(session_id: Any) -> str:
    """A session's id as a database takes it: half a character and NUL are spelt out. Empty for none."""
    name = str(session_id or "").replace("\0", "\\x00")
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _cap(value: Any) -> int | None:
    """A cap on the threshold in tokens, as the newer host's terminal hands it in; None for none."""
    return whole(value) or None


def _percent(context_length: int, percent: float) -> float:
    """The share of the window that the newer host's terminal wants: as it is, for any window."""
    del context_length
    return percent


#: Back to these at the start of another session.
COUNTERS: MappingProxyType[str, Any] = MappingProxyType(
    {
        "last_prompt_tokens": 0,
        "last_completion_tokens": 0,
        "last_total_tokens": 0,
        "last_real_prompt_tokens": 0,
        "last_compression_rough_tokens": 0,
        "compression_count": 0,
        "awaiting_real_usage_after_compression": False,
        "_last_compress_aborted": False,
        "_last_summary_error": None,
        "_last_summary_fallback_used": False,
        "_last_aux_model_failure_model": None,
        "_last_aux_model_failure_error": None,
        "_last_compression_made_progress": False,
        "_last_compress_refused_would_grow": False,
        "_last_compression_savings_pct": 0.0,
        "_last_compression_telemetry": None,
        "_verify_compaction_cleared_threshold": False,
        "_ineffective_compression_count": 0,
        "_fallback_compression_streak": 0,
        "_consecutive_timeout_failures": 0,
        "_compression_block_reason": None,
        "_flush_scan_cursor_invalidated": False,
        "_proactive_prune_rearm_tokens": 0,
    }
)

#: Knobs of the host's own compressor that newer hosts set on any engine.
_KNOBS: dict[str, Any] = {
    "summary_target_ratio": 0.2,
    "protect_first_n": 0,
    "protect_last_n": 0,
    "emit_automatic_compaction_status": True,
    "model_thresholds": {},
    "threshold_tokens_cap": None,
    "_effective_threshold_cap": None,
    "tail_mode": "lean",
    "tail_token_budget": None,
    "_tail_token_budget": None,
    "summary_model": "",
    "_aux_context_ceiling": None,
    "_config_context_length": None,
    "_resolved_context_length": None,
    "_threshold_tokens": None,
    "_base_threshold_percent": None,
    "_config_threshold_percent": None,
    "_configured_threshold_percent": None,
    "_micro_compact_enabled": False,
    "_micro_compact": None,
    "_context_probed": False,
    "_context_probe_persistable": False,
    "max_tokens": None,
    "_automatic_compression_blocked": None,
    "_coerce_threshold_tokens_cap": _cap,
    "_effective_threshold_percent": _percent,
}

#: What the agent runs on; ``update_model`` sets it.
_RUNTIME: dict[str, Any] = {
    "model": "",
    "base_url": "",
    "api_key": "",
    "provider": "",
    "api_mode": "",
}

START: MappingProxyType[str, Any] = MappingProxyType({**COUNTERS, **_KNOBS, **_RUNTIME})
