"""Plugin hooks: the door through which older hosts show every finished turn.

They never call ``on_turn_complete``, but run ``post_llm_call`` with the whole
list. Hooks belong to the plugin, engines to the agents; a family is all
engines that come from one registration, so that a hook finds the engine of
the session it is called for. Where none is found, another engine serves that
agent, and nothing is stored.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..storage.living import Living
from .surface import called

if TYPE_CHECKING:
    from .engine import LCMEngine

__all__ = ["REVIEW", "Family"]


#: The thread in which a host lets a fork of the agent review the conversation, under the session's
#: own id; its prompts and answers are no part of the conversation.
REVIEW = "bg-review"
#: What older hosts say of a request that was too long for its provider, before they have the list compacted.
_TOO_LONG = frozenset({"context_overflow", "payload_too_large", "long_context_tier"})


class Family:
    """The engines that come from one registration, as long as they live."""

    def __init__(self) -> None:
        self._members: Living[LCMEngine] = Living()

    def join(self, engine: LCMEngine) -> None:
        """Add an engine; its clones will join by themselves."""
        engine._family = self
        self._members.add(engine)

    def of(self, session_id: str) -> LCMEngine | None:
        """An engine that is on that session."""
        return next((each for each in self._members if each._session_id == session_id), None)

    def post_llm_call(
        self, session_id: str = "", conversation_history: Sequence[Any] | None = None, **kwargs: Any
    ) -> None:
        """A turn ended: store it before the host goes on."""
        if threading.current_thread().name == REVIEW:
            return
        engine = self.of(called(session_id)) if session_id else None
        if engine is not None:
            engine.on_turn_complete(conversation_history or [])

    def api_request_error(self, session_id: str = "", reason: str = "", **kwargs: Any) -> None:
        """A request failed (older hosts): where it was too long, the next pass is to know that it is."""
        if reason not in _TOO_LONG or threading.current_thread().name == REVIEW:
            return
        engine = self.of(called(session_id)) if session_id else None
        if engine is not None:
            engine._refused = True
