"""What only the host knows, for the status that a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import hermes

if TYPE_CHECKING:
    from .engine import LCMEngine

__all__ = ["facts_of"]


def facts_of(engine: LCMEngine) -> dict[str, Any]:
    """Whether this Hermes uses the engine, and with which figures."""
    selected = hermes.engine_selected()
    active = selected == engine.name
    reason = (
        ""
        if active
        else f"context.engine is '{selected}'; `hermes config set context.engine lcm` selects lcm"
    )
    status = engine.get_status()
    return {
        "engine_active": active,
        "engine_reason": reason,
        "compression_enabled": hermes.compression_enabled(),
        "window": status["window"],
        "threshold_tokens": status["threshold_tokens"],
        "target_tokens": status["target_tokens"],
        "last_prompt_tokens": status["last_prompt_tokens"],
        "compression_count": engine.compression_count,
        "problems": status["problems"],
    }
