"""What the requests of a session were: how large, and how much of them the provider's prompt cache had.

Whoever asks for the status is mostly another process than the agent's. So it is kept in the store, once a turn.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from .surface import whole

if TYPE_CHECKING:
    from ..dag.ingest import Also
    from ..storage.protocol import Store
    from .engine import LCMEngine

__all__ = ["Vitals"]

_KEPT: Final = "requests"
"""Under this name a store keeps them, for each session."""
_COUNTED: Final = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens")


class Vitals:
    """Counts what providers say of requests. One thread at a time: that of the agent."""

    def __init__(self) -> None:
        self._owed: dict[str, dict[str, int]] = {}
        """What no store was told yet, by session."""

    def note(self, session: str, usage: Mapping[str, Any] | None) -> None:
        """A response came; *usage* as the host gives it, nothing where the provider counted nothing."""
        counted = {name: whole((usage or {}).get(name)) for name in _COUNTED}
        if not session or counted["prompt_tokens"] <= 0:
            return
        self._owed[session] = added(self._owed.get(session), {"requests": 1, **counted})

    @contextlib.contextmanager
    def settled(self, engine: LCMEngine) -> Iterator[Also | None]:
        """What adds to a store what is owed for the session of *engine*, with the budget as it is; None: nothing is.

        It is owed until the block in which that is written ends well.
        """
        session = engine._session_id
        owed = self._owed.get(session)
        if owed is None:
            yield None
            return
        written: list[str] = []

        def also(store: Store, name: str) -> None:
            sums = added(store.recall(name, _KEPT), owed)
            store.remember(name, _KEPT, {**sums, **_budget(engine)})
            written.append(name)

        yield also
        if written:
            del self._owed[session]


def added(before: Any, more: Mapping[str, int]) -> dict[str, int]:
    """The sums of both; *before* may be anything that somebody has kept."""
    kept = before if isinstance(before, Mapping) else {}
    return {name: max(whole(kept.get(name)), 0) + max(count, 0) for name, count in more.items()}


def _budget(engine: LCMEngine) -> dict[str, int]:
    return {
        "window": engine.context_length,
        "threshold_tokens": engine.threshold_tokens,
        "last_prompt_tokens": max(engine.last_prompt_tokens, 0),
    }
