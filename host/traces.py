"""The sessions that leave no trace on disk: where they live, why, and how much of them there was.

Their store is in memory and lives as long as the engine, or a clone of it. What is counted here is
gone with it too, so the counts are of this process. What comes from them under another id is noted
here, and *owed* to the database, which must know it again after a restart (``dag.unkept``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..storage.protocol import Store

__all__ = ["FORGOTTEN", "IGNORED", "MEMORY_ONLY", "Traceless"]

IGNORED, MEMORY_ONLY, FORGOTTEN = "ignored", "memory_only", "forgotten"
"""Why a session leaves no trace: ``lcm.ignore_sessions``, ``lcm.memory_only_sessions``, on request."""


class Traceless:
    """Shared by an engine and its clones."""

    def __init__(self) -> None:
        self._store: Store | None = None
        self._inherited: dict[str, str] = {}
        self.owed: dict[tuple[str, str], str] = {}
        """The pattern by (database, session): what no stone says yet."""
        self._seen: dict[str, tuple[str, int]] = {}
        """(why, number of messages in its newest list) by session."""

    def store(self) -> Store:
        """The store, made at the first need."""
        if self._store is None:
            from ..storage import open_store

            self._store = open_store("memory:")
        return self._store

    def inherit(self, session: str, pattern: str) -> None:
        """A session that came from one that leaves no trace leaves none either."""
        self._inherited[session] = pattern

    def inherited(self, session: str) -> str:
        """The pattern that such a session would fit if it had its first id; empty if it is none."""
        return self._inherited.get(session, "")

    def saw(self, session: str, why: str, rows: Sequence[Any]) -> None:
        """Count what was left out."""
        from ..dag.messages import is_system

        count = sum(not is_system(row) for row in rows)
        self._seen[session] = (why, max(count, self._seen.get(session, ("", 0))[1]))

    def left_out(self) -> dict[str, dict[str, int]]:
        """Sessions and messages that were not put on disk, by reason."""
        counts: dict[str, dict[str, int]] = {}
        for why, messages in list(self._seen.values()):
            each = counts.setdefault(why, {"sessions": 0, "messages": 0})
            each["sessions"] += 1
            each["messages"] += messages
        return counts
