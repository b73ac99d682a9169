"""What is remembered of the work ahead for a session: how much, when, and whether it fails."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..storage.protocol import Store

__all__ = ["AheadRecord"]

_NAME = "ahead"


@dataclass(frozen=True, slots=True)
class AheadRecord:
    """Kept for a session, for the status and the doctor of any process."""

    nodes: int = 0
    """Nodes made ahead since the session began."""
    repaired: int = 0
    """Nodes that were made again."""
    time: float = 0.0
    """When the last job made or repaired one, in Unix seconds."""
    failures: int = 0
    """Jobs in a row in which no summariser gave a text."""
    why: str = ""
    """Why, the last time."""

    @classmethod
    def of(cls, store: Store, session: str) -> AheadRecord:
        """That of *session*; an empty one if nothing is remembered, or nothing that makes sense."""
        kept: Any = store.recall(session, _NAME)
        try:
            return cls(**kept) if isinstance(kept, dict) else cls()
        except TypeError:
            return cls()

    def after(self, made: int, repaired: int, failure: str, time: float) -> AheadRecord:
        """The record after one more job."""
        record = self
        if made or repaired:
            record = replace(
                record,
                nodes=record.nodes + made,
                repaired=record.repaired + repaired,
                time=time,
                failures=0,
                why="",
            )
        if failure:
            record = replace(record, failures=record.failures + 1, why=failure)
        return record

    def keep(self, store: Store, session: str) -> None:
        """Remember it."""
        store.remember(session, _NAME, asdict(self))
