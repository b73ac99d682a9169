"""What is remembered of the work ahead for a session: how much, when, and whether it fails."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

from ..storage.protocol import Store

__all__ = ["AHEAD", "AheadRecord"]

AHEAD: Final = "ahead"
"""Under this name it is kept."""
_ALWAYS: Final = 3
"""Jobs in a row that say that it is no accident."""


@dataclass(frozen=True, slots=True)
class AheadRecord:
    """Kept for a session, for the status and the doctor of any process."""

    nodes: int = 0
    """Nodes made ahead since the session began."""
    repaired: int = 0
    """Nodes that were made again."""
    states: int = 0
    """States of the conversation by turn."""
    time: float = 0.0
    """When the last job made or repaired one, in Unix seconds."""
    failures: int = 0
    """Jobs in a row in which no summariser gave a text."""
    why: str = ""
    """Why, the last time."""
    failed: float = 0.0
    """When that was."""

    @classmethod
    def of(cls, store: Store, session: str) -> AheadRecord:
        """That of *session*; an empty one if nothing is remembered."""
        return cls.read(store.recall(session, AHEAD))

    @classmethod
    def read(cls, kept: Any) -> AheadRecord:
        """What was kept; an empty one if it makes no sense."""
        if not isinstance(kept, dict):
            return cls()
        kinds = {each.name: type(each.default) for each in fields(cls)}
        return cls(**{name: kept[name] for name in kinds if type(kept.get(name)) is kinds[name]})

    @classmethod
    def newest(cls, records: Iterable[AheadRecord]) -> AheadRecord:
        """The one that says what came of the last job."""
        return max(records, key=lambda each: max(each.time, each.failed), default=cls())

    @property
    def fails(self) -> bool:
        """Whether it fails always, as far as the last few jobs tell."""
        return self.failures >= _ALWAYS

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
            record = replace(record, failures=record.failures + 1, why=failure, failed=time)
        return record

    def keep(self, store: Store, session: str) -> None:
        """Remember it."""
        store.remember(session, AHEAD, asdict(self))
