"""Plugin hooks: the door through which older hosts show every finished turn.

They never call ``on_turn_complete``, but run ``post_llm_call`` with the whole
list. Hooks belong to the plugin, engines to the agents; a family is all
engines that come from one registration, so that a hook finds the engine of
the session it is called for. Where none is found, another engine serves that
agent, and nothing is stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..storage.living import Living
from . import hermes
from .ahead import at_work
from .surface import REVIEW, called

if TYPE_CHECKING:
    from .engine import LCMEngine

__all__ = ["Family"]


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
        """The engine that is on that session: the newest, for one that was left may not be gone yet."""
        return next(iter(self._all(session_id)[::-1]), None)

    def _all(self, session_id: str) -> list[LCMEngine]:
        return [each for each in self._members if each._session_id == session_id]

    def hooks(self) -> list[Callable[..., None]]:
        """What a host is to call, each named as its hook."""
        each_turn = [self.post_llm_call, self.api_request_error]
        # A host that shows the list after each round of tools is not asked to show it before each request.
        return each_turn if hermes.prunes() else [*each_turn, self.pre_api_request]

    def post_llm_call(
        self, session_id: str = "", conversation_history: Sequence[Any] | None = None, **kwargs: Any
    ) -> None:
        """A turn ended: store it before the host goes on."""
        if (engine := self._asked(session_id)) is not None:
            engine.on_turn_complete(conversation_history or [])

    def pre_api_request(
        self, session_id: str = "", conversation_history: Sequence[Any] | None = None, **kwargs: Any
    ) -> None:
        """A request is about to be sent (older hosts): the one look at a turn that is not over."""
        if (engine := self._asked(session_id)) is not None and isinstance(
            conversation_history, list
        ):
            with engine._failures.kept("pre_api_request"):
                at_work(engine, conversation_history)

    def api_request_error(self, session_id: str = "", reason: str = "", **kwargs: Any) -> None:
        """A request failed (older hosts): where it was too long, the next pass is to know that it is."""
        if reason in _TOO_LONG and self._asked(session_id) is not None:
            for engine in self._all(called(session_id)):
                engine._refused = True

    def _asked(self, session_id: str) -> LCMEngine | None:
        """The engine of that session; none for a fork of the agent that only reviews it."""
        if not session_id or threading.current_thread().name == REVIEW:
            return None
        return self.of(called(session_id))
