"""Whom an engine asks for summaries and in which order, whom where the subject changes, whom for answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dag.meter import Meter, metered
from . import hermes

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ..dag.answering import Answerer
    from ..dag.drift_model import Judge
    from ..dag.replies import Reply
    from ..dag.summarizer import Route
    from ..tools.desk import Voice
    from .engine import LCMEngine

__all__ = ["drift_name", "judge_of", "names_of", "routes_of", "voice_of"]


_CALLERS = "the caller's"


def routes_of(engine: LCMEngine, meter: Meter) -> tuple[Route, ...]:
    """The caller's own function alone; else the model of the settings, then what the host has for compression.

    The host's own chain (``auxiliary.compression``, its ``fallback_chain``, the main model) is behind
    the last one. Nobody is shown a session that is ignored. *meter* counts the calls.
    """
    from ..dag.summarizer import Route

    if engine._attachment.skips(engine._session_id):  # made to fit, shown to no model
        return ()
    breakers = [engine._breakers.of(name) for name in names_of(engine)]
    if engine._summarizer is not None:
        own = metered(engine._summarizer, meter, _CALLERS)
        return (Route(own, trusted=True, breaker=breakers[0]),)
    asked = zip(_models(engine), breakers, strict=True)
    calls = [(hermes.model_summarizer(model), model, breaker) for model, breaker in asked]
    return tuple(
        Route(
            metered(call, meter, model or "the host's model"),
            trusted=False,
            breaker=breaker,
            window=None if model else _window(engine),
        )
        for call, model, breaker in calls
        if call is not None
    )


def names_of(engine: LCMEngine) -> list[Hashable]:
    """What tells each route from all others: what the host resolves it from, as far as we can tell."""
    if engine._summarizer is not None:
        return [(_CALLERS,)]
    served = (engine.provider, engine.base_url, engine.model)
    return [(model, *served) for model in _models(engine)]


def judge_of(engine: LCMEngine, meter: Meter) -> Judge | None:
    """The model of the settings that tells where the subject changes; None: the words do."""
    named = engine.settings.drift_detection_model
    if not named or engine._attachment.skips(engine._session_id):
        return None
    from ..dag.drift_model import Judge

    model = hermes.drift_model(named)
    if model is None:
        return None
    breaker = engine._breakers.of(drift_name(engine))
    return Judge(metered(model, meter, named), breaker, engine._judged)


def voice_of(engine: LCMEngine) -> Voice:
    """Who answers questions, and what takes secrets out of what it reads."""
    from ..tools.desk import Voice

    clean = None if engine.settings.redact == "off" else hermes.redaction()
    return Voice(_answerer_of(engine), clean)


def _answerer_of(engine: LCMEngine) -> Answerer | None:
    """Who answers questions from passages: whom summaries are asked of first; None: nobody may be."""
    if engine._attachment.skips(engine._session_id):
        return None
    from ..dag.answering import Answerer, Question
    from ..dag.summarizer import SummaryRequest

    own = engine._summarizer
    if own is not None:

        def summary(asked: Question) -> str | Reply:
            size = asked.max_tokens
            text = f"{asked.text}\n\nQuestion: {asked.question}"
            return own(
                SummaryRequest(text, size, (size,), focus=asked.question, seconds=asked.seconds)
            )

        return Answerer(metered(summary, engine._meter, _CALLERS), trusted=True)
    model = _models(engine)[0]
    answer = hermes.answer_model(model)
    name = model or "the host's model"
    return None if answer is None else Answerer(metered(answer, engine._meter, name))


def drift_name(engine: LCMEngine) -> Hashable:
    """What tells its route from all others."""
    return ("drift", engine.settings.drift_detection_model, engine.provider, engine.base_url)


def _models(engine: LCMEngine) -> list[str]:
    """Names to ask the host for; empty for the one that it has for compression."""
    return list(dict.fromkeys([engine.settings.state_generation_model, ""]))


def _window(engine: LCMEngine) -> int | None:
    """What the host says that its model for compression can read."""
    found = getattr(engine, "_aux_context_ceiling", None)
    tokens = found if isinstance(found, int) else hermes.auxiliary("context_length")
    return int(tokens) if tokens and tokens > 0 else None
