"""Which store and which line belong to the session that the host speaks of.

Nothing is opened before something is to be stored or looked up. A session
that the host branched or rotated without telling us is recognised by the
evidence: its parent in the host's database, and the parent's messages in its
list. A sub-agent has a parent too, but not its messages.
"""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..dag.ingest import Ledger
from ..dag.messages import KEY_BYTES, host_uid, is_system, key_of
from ..dag.renderer import HEAD
from ..dag.settings import Settings
from ..storage import open_store
from ..storage.errors import StoreMissing
from ..storage.protocol import Store
from ..storage.records import Session
from . import hermes

__all__ = ["Sessions"]

_log = logging.getLogger(__name__)

#: Rows of a list, and stored messages of a parent, that are compared for evidence.
_EVIDENCE = 400
_HEAD = 6


class Sessions:
    """The stores of one engine, opened late, and a ledger for each session it meets."""

    def __init__(self, path: str | Path, settings: Settings, traceless: Store) -> None:
        self.path = path
        self._settings = settings
        self._store: Store | None = None
        self._traceless = traceless
        self._ledgers: dict[str, Ledger] = {}

    def ignored(self, name: str) -> bool:
        """Whether nothing of this session is to be kept."""
        return _matches(name, self._settings.ignore_sessions)

    def store_for(self, name: str, *, create: bool) -> Store:
        """The store that keeps the session.

        Raises:
            StoreError: it cannot be opened, or is not there and not to be made.
        """
        if self.ignored(name) or _matches(name, self._settings.memory_only_sessions):
            return self._traceless
        if self._store is None:
            self._store = open_store(self.path, create=create)
        return self._store

    def found(self, name: str) -> tuple[Store, Session] | None:
        """The session with its store, if something of it is stored already."""
        if name in self._ledgers:
            return self._ledgers[name].store, self._ledgers[name].session
        try:
            store = self.store_for(name, create=False)
        except StoreMissing:
            return None
        session = store.session(name)
        return None if session is None else (store, session)

    def ledger(self, name: str, rows: Sequence[Any], session_db: Any) -> Ledger:
        """The ledger of a session whose list is *rows*.

        Raises:
            StoreError: the store cannot be opened.
        """
        if name not in self._ledgers:
            store = self.store_for(name, create=True)
            session = store.session(name) or self._adopt(store, name, rows, session_db)
            self._ledgers[name] = Ledger(store, session)
        return self._ledgers[name]

    def rotate(self, old: str, new: str) -> None:
        """Let *new* go on where *old* stands."""
        found = self.found(old)
        if found is None or self.found(new) is not None:
            return
        store, _ = found
        session = store.open_session(new, parent=old, relation="rotation")
        self._ledgers.pop(old, None)
        self._ledgers[new] = Ledger(store, session)

    def _adopt(self, store: Store, name: str, rows: Sequence[Any], session_db: Any) -> Session:
        parent = hermes.parent_of(session_db, name)
        source = store.session(parent.name) if parent else None
        if parent is None or source is None or not _descends(store, source, rows):
            return store.open_session(name)
        relation = "rotation" if parent.rotated else "branch"
        _log.info("session %s goes on from %s (%s)", name, parent.name, relation)
        return store.open_session(name, parent=parent.name, relation=relation)

    def stale(self) -> bool:
        """Whether the database has to be opened anew."""
        return self._store is not None and self._store.stale()

    def close(self) -> None:
        """Close what is open; it opens again at need."""
        self._ledgers.clear()
        if self._store is not None:
            self._store.close()
            self._store = None


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _descends(store: Store, parent: Session, rows: Sequence[Any]) -> bool:
    """Whether the list begins with what the parent's line holds: a message, or a summary of ours."""
    talk = [row for row in rows if not is_system(row)]
    if not talk:
        return False
    first = talk[0]
    if str(first.get("content", "")).startswith(HEAD[:40]):
        return True
    if (uid := host_uid(first)) and (number := store.known([uid]).get(uid)):
        return bool(store.placed(parent.line, [number]))
    stored = {entry.key[:KEY_BYTES] for entry in store.entries(parent.line)[:_EVIDENCE]}
    head = talk[:_HEAD]  # a host may have changed some of them when it restored them
    return 2 * sum(key_of(row)[:KEY_BYTES] in stored for row in head) >= len(head)
