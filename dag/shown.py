"""What the host's last list shows of ours: its summary row, and which messages stand in it in part only.

Nothing in the log tells this: a host may drop a compaction again, go back behind one, or restore an old list. So a
ledger writes it down for people, with the list that shows it, in the same transaction, and only where it is not
what was written before: about once a compaction. What is planned never reads it; it looks at the list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..storage.protocol import Store
from ..storage.records import Session
from .bound import Bound
from .identity import STUB

__all__ = ["Listing", "Shown", "shown_on", "stubs_in"]

_KEPT: Final = "shown"


class Shown(NamedTuple):
    """Of a list, what cannot be told from the log."""

    frame: str = ""
    """Uid of the node of its summary row; empty if it has none."""
    parts: tuple[int, ...] = ()
    """Our numbers of the messages that it shows by head and tail."""
    awaited: bool = False
    """A compaction was made of it, and no list since told whether the host has taken that over."""

    @classmethod
    def read(cls, kept: Any) -> Shown | None:
        """From what a store keeps; None if it is nothing of ours."""
        if not isinstance(kept, Mapping):
            return None
        frame, parts = kept.get("frame"), kept.get("parts")
        if not isinstance(frame, str) or not isinstance(parts, list):
            return None
        return cls(frame, tuple(n for n in parts if type(n) is int), kept.get("awaited") is True)


class Listing:
    """What a ledger's last list shows, row by row, and what was last written down of it."""

    def __init__(self) -> None:
        self.written: Shown | None = None
        """None: it is not known here."""
        self._parts: dict[int, tuple[int, str]] = {}
        """The message that a row shows in part, and its name there, by the row's index."""

    @property
    def stubs(self) -> set[str]:
        """The names in the stubs of the last list."""
        return {name for _, name in self._parts.values()}

    def cut(self, start: int) -> None:
        """Only the first *start* rows are still known."""
        if self._parts:
            self._parts = {row: part for row, part in self._parts.items() if row < start}

    def look(self, store: Store, rows: Sequence[Any], bound: Sequence[Bound], start: int) -> None:
        """Take up the rows from *start* on."""
        for index in range(start, len(rows)):
            content = rows[index].get("content") if bound[index].messages else None
            if not isinstance(content, str) or "[lcm " not in content:
                continue
            cut = STUB.search(content)
            named = [uid for kind, uid in store.resolve(cut[1]) if kind == "message"] if cut else []
            numbers = set(store.known(named).values()).intersection(bound[index].messages)
            if cut and numbers:
                self._parts[index] = numbers.pop(), cut[1]

    def write(self, store: Store, session: Session, frame: str, *, awaited: bool = False) -> Shown:
        """Keep what the list shows, if that is new; to be called within the list's transaction."""
        now = Shown(frame, tuple(number for number, _ in self._parts.values()), awaited)
        before = self.written or Shown.read(store.recall(session.name, _KEPT))
        if now != before and (before or now != Shown() or session.relation != "new"):
            store.remember(session.name, _KEPT, now._asdict())
        return now


def stubs_in(rows: Sequence[Any]) -> set[str]:
    """The names in the stubs of a list."""
    texts = [row.get("content") for row in rows if isinstance(row, Mapping)]
    cuts = [STUB.search(text) for text in texts if isinstance(text, str) and "[lcm " in text]
    return {cut[1] for cut in cuts if cut}


def shown_on(store: Store, line: int) -> Shown | None:
    """What was last written down of a list of this line; None: nothing was."""
    kept = (Shown.read(store.recall(each.name, _KEPT)) for each in reversed(store.sessions([line])))
    return next((each for each in kept if each is not None), None)
