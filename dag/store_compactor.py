"""A compactor with the store behind it: what leaves the context is kept, word for word.

It is the pass that Hermes gets, for a loop of one's own. Its summary row names the nodes that stand
for what was replaced, and the engine's tools open them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from .compactor import CompactionContext
from .usage import Usage

__all__ = ["Engine", "StoreCompactor"]

#: What an engine notes on rows of its own for Hermes; a provider may refuse what it does not know.
_NOTES: Final = frozenset({"_compressed_summary", "message_uid"})


class Engine(Protocol):
    """What is asked of an ``LCMEngine``."""

    def bind_session_state(self, session_db: Any = None, session_id: str = "") -> None:
        """The conversation that the next lists are of."""

    def on_turn_complete(self, messages: Sequence[Any]) -> None:
        """Store what is new; a failure is logged and shown by ``lcm_status``."""

    def count_tokens(self, messages: Sequence[Any]) -> int:
        """Tokens of a list."""

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether a request of that size is over the engine's threshold, and a pass would help."""

    def compress(self, messages: list[Any], current_tokens: int | None = None) -> list[Any]:
        """The list, made to fit; the very same list where nothing changed."""


@dataclass(frozen=True)
class StoreCompactor:
    """Stores every message it is shown, and compacts over the engine's threshold.

    Its answer is a full list, or None. It does not wait for a first call: a history that is too
    large is made to fit before anything is sent. One engine serves one loop at a time;
    ``engine.clone_for_agent()`` gives another over the same database.
    """

    engine: Engine  #: an ``LCMEngine``
    session: str = ""
    """The conversation's name in the store, the same however many runs it has; empty: each run is a
    conversation of its own, named by its ``run_id``."""

    def __call__(self, context: CompactionContext) -> list[Any] | None:
        """The smaller list, or None.

        Raises:
            ValueError: neither *session* nor the context names the conversation.
        """
        rows = self._rows(context.messages, context.run_id)
        read = Usage.of(context.last_usage).input_tokens
        tokens = max(read, self.engine.count_tokens(rows))
        if not self.engine.should_compress(tokens):
            return None
        made = self.engine.compress(rows, current_tokens=tokens)
        return None if made is rows else [_plain(row) for row in made]

    def keep(self, messages: Sequence[Any], run_id: str = "") -> None:
        """Store what is new in *messages*: after a run, whose last answer no later call shows."""
        self._rows(messages, run_id)

    def _rows(self, messages: Sequence[Any], run_id: str) -> list[Any]:
        name = self.session or run_id
        if not name:
            raise ValueError("the conversation has no name: give StoreCompactor a session")
        rows = list(messages)
        self.engine.bind_session_state(session_id=name)
        self.engine.on_turn_complete(rows)
        return rows


def _plain(row: Any) -> Any:
    if isinstance(row, Mapping) and row.get("_compressed_summary"):
        return {name: value for name, value in row.items() if name not in _NOTES}
    return row
