"""Which store and which line belong to the session that the host speaks of.

Nothing is opened before something is to be stored or looked up. A session
that the host branched or rotated without telling us is recognised by the
evidence: its parent in the host's database, and the parent's messages in its
list. A sub-agent has a parent too, but not its messages.
"""

from __future__ import annotations

import logging
import time as clock
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..dag.descent import descends
from ..dag.erase import Cleaner
from ..dag.ingest import Ledger
from ..dag.settings import Settings
from ..dag.unkept import fitting, pattern_of, stone_of
from ..storage import open_store
from ..storage.errors import StoreBusy, StoreError, StoreMissing
from ..storage.forget import Stone
from ..storage.protocol import Store
from ..storage.records import Session
from . import hermes
from .traces import IGNORED, MEMORY_ONLY, Traceless

__all__ = ["Sessions"]

_log = logging.getLogger(__name__)

#: Sessions of one conversation that are asked for in the host's database.
_MOST_ANCESTORS = 64
#: Sessions whose lists are held at the most. A process that serves many meets hundreds a day, and each
#: costs as much memory as its list; one that comes back is recognised as after a restart.
_MOST_HELD = 32
#: So long after a door waited in vain for the database, others do not wait.
_IMPATIENT_FOR_SECONDS = 5.0


class Sessions:
    """The stores of one engine, opened late, and a ledger for each session it meets."""

    def __init__(self, path: str | Path, settings: Settings, traceless: Traceless) -> None:
        self.path = path
        self._patterns = (*settings.ignore_sessions, *settings.memory_only_sessions)
        self._ignored = frozenset(settings.ignore_sessions)
        self._store: Store | None = None
        self._busy_until = 0.0
        """Until then nobody waits for the file: a door has waited in vain."""
        self._traceless = traceless
        self._ledgers: dict[str, Ledger] = {}
        self._redact = hermes.redaction() if settings.redact == "store" else None

    def kept_as(self, name: str) -> str:
        """The name that the session has in the store: another where its own holds a secret that is kept out."""
        return Cleaner(self._redact).name(name) if self._redact else name

    def trace(self, name: str) -> str:
        """Why the session leaves no trace, by the settings; empty if it is kept, as far as they say."""
        pattern = self._pattern(name)
        return (IGNORED if pattern in self._ignored else MEMORY_ONLY) if pattern else ""

    def _pattern(self, name: str) -> str:
        """By which pattern of the settings the session leaves no trace; empty if it is kept."""
        return fitting(name, self._patterns) or self._traceless.inherited(name)

    def forgotten(self, name: str) -> bool:
        """Whether the session was forgotten on request, so that nothing of it is kept any more."""
        if self.trace(name):
            return False
        try:
            store = self.store_for(name, create=False)
        except StoreMissing:
            return False
        return store is self._traceless.store() and not self.trace(name)

    def store_for(self, name: str, *, create: bool) -> Store:
        """The store that keeps the session.

        Raises:
            StoreError: it cannot be opened, or is not there and not to be made.
        """
        if self.trace(name):
            return self._traceless.store()
        store = self._database(create=create)
        left_out = store.eraser().is_forgotten(self.kept_as(name)) or self._is_unkept(store, name)
        return self._traceless.store() if left_out else store

    def _database(self, *, create: bool) -> Store:
        if self._store is None:
            patient = clock.monotonic() >= self._busy_until
            try:  # who looks first opens it for whoever writes later
                self._store = open_store(self.path, create=create, writes=True, patient=patient)
            except StoreBusy:
                if patient:
                    self._busy_until = clock.monotonic() + _IMPATIENT_FOR_SECONDS
                raise
        return self._store

    def _is_unkept(self, store: Store, name: str) -> bool:
        """Whether a stone says that the session leaves no trace; one that is kept already goes on being kept."""
        if not self._patterns or store.session(self.kept_as(name)) is not None:
            return False
        if pattern := pattern_of(store, name, self._patterns):
            self._traceless.inherit(name, pattern)
        return bool(pattern)

    def found(self, name: str) -> tuple[Store, Session] | None:
        """The session with its store, if something of it is stored already."""
        if ledger := self.standing(name):
            return ledger.store, ledger.session
        try:
            store = self.store_for(name, create=False)
        except StoreMissing:
            return None
        session = store.session(self.kept_as(name))
        return None if session is None else (store, session)

    def ledger(self, name: str, rows: Sequence[Any], session_db: Any) -> Ledger:
        """The ledger of a session whose list is *rows*.

        Raises:
            StoreError: the store cannot be opened.
        """
        if ledger := self.standing(name):
            return ledger
        self._inherit(name, session_db)
        store = self.store_for(name, create=True)
        session = store.session(self.kept_as(name)) or self._adopt(store, name, rows, session_db)
        return self._hold(name, Ledger(store, session, self._redact))

    def _hold(self, name: str, ledger: Ledger) -> Ledger:
        """Keep the ledger; of too many, the one that was not used for the longest time is let go."""
        self._ledgers[name] = ledger
        if len(self._ledgers) > _MOST_HELD:
            del self._ledgers[next(iter(self._ledgers))]
        return ledger

    def standing(self, name: str) -> Ledger | None:
        """The ledger of a session that was met before, and was not forgotten since."""
        ledger = self._ledgers.get(name)
        if ledger is None:
            return None
        gone = ledger.store.session(ledger.session.name) is None
        del self._ledgers[name]
        return None if gone else self._hold(name, ledger)  # as the last one that was used

    def _inherit(self, name: str, session_db: Any) -> None:
        """The same as :meth:`_descend`, of one whose descent the host's database knows."""
        if not self.trace(name) and (ancestors := _ancestors(session_db, name)):
            parent = hermes.parent_of(session_db, name)
            self._descend(name, ancestors, lasting=bool(parent and parent.goes_on))

    def _descend(self, name: str, ancestors: Sequence[str], *, lasting: bool) -> None:
        """What comes from a session that leaves no trace, or was forgotten, leaves none either.

        One that is kept already goes on being kept: it was there before. *lasting*: somebody may go on
        with it after a restart, so the database must know.
        """
        pattern = next(filter(None, map(self._pattern, ancestors)), "")
        store = self._looked_up(name, needed=not pattern)
        if self.trace(name) or store.session(self.kept_as(name)) is not None:
            return
        stones = (pattern_of(store, each, self._patterns) for each in ancestors)
        if pattern := pattern or next(filter(None, stones), ""):
            self._traceless.inherit(name, pattern)
            if lasting:
                self._traceless.owed[str(self.path), name] = pattern
        elif forgotten := next(
            filter(store.eraser().is_forgotten, map(self.kept_as, ancestors)), ""
        ):
            name = self.kept_as(name)
            _log.info("session %s comes from %s, which was forgotten", name, forgotten)
            stone = Stone("session", name, clock.time(), b"", detail={"from": forgotten})
            store.eraser().bury(stone)

    def _looked_up(self, name: str, *, needed: bool) -> Store:
        """The store that would keep the session; where there is none, or it is not *needed*, the one in memory."""
        try:
            return self.store_for(name, create=False)
        except StoreMissing:
            return self._traceless.store()
        except StoreError:
            if needed:
                raise
            return self._traceless.store()

    def settle(self) -> bool:
        """Let the database know what it must after a restart: which sessions leave no trace. True if it was told any.

        Raises:
            StoreError: it could not be told; the next call tries again.
        """
        owed = self._traceless.owed
        mine = [(key, pattern) for key, pattern in list(owed.items()) if key[0] == str(self.path)]
        for key, pattern in mine:
            stone = stone_of(key[1], pattern, clock.time())
            self._database(create=True).eraser().bury(stone)
            owed.pop(key, None)
        return bool(mine)

    def rotate(self, old: str, new: str) -> None:
        """Let *new* go on where *old* stands."""
        if not self.trace(new):
            self._descend(new, [old], lasting=True)
        found = self.found(old)
        if found is None or self.found(new) is not None:
            return
        store, _ = found
        session = store.open_session(self.kept_as(new), parent=found[1].name, relation="rotation")
        self._ledgers.pop(old, None)
        self._hold(new, Ledger(store, session, self._redact))

    def branch(self, name: str, session_db: Any) -> None:
        """Begin a branch as soon as it is there: what its parent says from now on is none of its messages."""
        parent = hermes.parent_of(session_db, name)
        if parent is None or not parent.branched:
            return
        self._inherit(name, session_db)
        found = self.found(parent.name)
        if found and not self.found(name) and self.store_for(name, create=False) is found[0]:
            found[0].open_session(self.kept_as(name), parent=found[1].name, relation="branch")

    def _adopt(self, store: Store, name: str, rows: Sequence[Any], session_db: Any) -> Session:
        parent = hermes.parent_of(session_db, name)
        source = store.session(self.kept_as(parent.name)) if parent else None
        name = self.kept_as(name)
        if parent is None or source is None or not descends(store, source.line, rows):
            return store.open_session(name)
        relation = "rotation" if parent.rotated else "branch"
        _log.info("session %s goes on from %s (%s)", name, source.name, relation)
        return store.open_session(name, parent=source.name, relation=relation)

    def stale(self) -> bool:
        """Whether the database has to be opened anew."""
        return self._store is not None and self._store.stale()

    def close(self) -> None:
        """Close what is open; it opens again at need."""
        self._ledgers.clear()
        if self._store is not None:
            self._store.close()
            self._store = None


def _ancestors(session_db: Any, name: str) -> list[str]:
    """The sessions that one came from by the host's database, nearest first."""
    found: list[str] = []
    while (parent := hermes.parent_of(session_db, name)) and len(found) < _MOST_ANCESTORS:
        name = parent.name
        found.append(name)
    return found
