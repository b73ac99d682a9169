"""What an engine adds to the store's own figures: budget, problems, and whether this Hermes uses it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import hermes
from .questions import cooldown_of
from .routes import drift_name, names_of

if TYPE_CHECKING:
    from .engine import LCMEngine

__all__ = ["engine_facts", "facts_of"]


_SHORTENED = (
    "the conversation is larger than the model can read: what is sent is shortened, request by request."
    " /compress makes it fit"
)


def engine_facts(engine: LCMEngine) -> dict[str, Any]:
    """The engine's budget as it stands, and what went wrong in it; a status must not fail of what it shows."""
    try:
        return _facts(engine)
    except Exception as error:
        engine._failures.note("status", error)
        return {"left_out": {}, "problems": engine._failures.recent()}


def _facts(engine: LCMEngine) -> dict[str, Any]:
    loaded = engine.loaded_settings
    kept = engine._attachment.is_kept()
    return {
        **({"not_kept": engine._attachment.absence()[0]} if not kept else {}),
        "left_out": engine._attachment.traceless.left_out(),
        "window": engine.context_length,
        "threshold_tokens": engine.threshold_tokens,
        "target_tokens": int(loaded.settings.target * engine.context_length),
        "last_prompt_tokens": engine.last_prompt_tokens,
        "list_tokens": engine._list_tokens,
        "blocked": engine.block_reason,
        "room_tokens": _room(engine),
        "cooldown": dict(cooldown) if (cooldown := cooldown_of(engine)) is not None else None,
        "shortened_requests": engine._requests.shortened,
        "events": list(engine._told.lines),
        "problems": [  # the most serious first: a status shows a few
            *([_SHORTENED] if engine._requests.pressure else []),
            *reversed(engine._failures.recent()),
            *_resting(engine),
            *(problem.said for problem in (*loaded.problems, *loaded.inert)),
        ],
    }


def _room(engine: LCMEngine) -> int:
    """Tokens that the window has left, as far as the provider or the last pass has measured."""
    used = max(engine.last_prompt_tokens, engine._list_tokens, 0)
    return max(engine.context_length - used, 0)


def _resting(engine: LCMEngine) -> list[str]:
    """What there is to say of models that are left alone."""
    asked = [
        (name, "Sentences are extracted meanwhile; /compress asks it at once.")
        for name in names_of(engine)
    ]
    asked.append((drift_name(engine), "Words tell the subjects meanwhile."))
    breakers = [(engine._breakers.of(name), meanwhile) for name, meanwhile in asked]
    return [
        f"{breaker.reason} ({seconds:.0f} s). {meanwhile}"
        for breaker, meanwhile in breakers
        if (seconds := breaker.rests())
    ]


def facts_of(engine: LCMEngine) -> dict[str, Any]:
    """The same, and whether the host asks this engine at all."""
    selected = hermes.engine_selected()
    active = selected == engine.name
    facts = engine_facts(engine)
    if not engine._session_id:  # the figures of no model in particular
        facts = {"problems": facts["problems"], "left_out": facts["left_out"]}
    return facts | {
        "engine_active": active,
        "engine_reason": ""
        if active
        else f"context.engine is '{selected}'; `engine: lcm` under `context:` in config.yaml selects lcm",
        "compression_enabled": hermes.compression_enabled(),
        "compression_count": engine.compression_count,
        "failures": engine._failures.recent(),
        "hermes": lambda: _hermes(engine),
    }


def _hermes(engine: LCMEngine) -> dict[str, Any]:
    """What the doctor wants to know of this Hermes; looked up when it asks, for it takes a moment."""
    return {
        "home": str(engine._attachment.home or hermes.home()),
        "config": hermes.config(),
        "served_by": hermes.engine_served(),
        "folder": str(Path(__file__).resolve().parent.parent),
    }
