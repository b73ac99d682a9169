"""Which store and which line belong to the session that the host speaks of.

Nothing is opened before something is to be stored or looked up. A session
that the host branched or rotated without telling us is recognised by the
evidence: its parent in the host's database, and the parent's messages in its
list. A sub-agent has a parent too, but not its messages.
"""

from __future__ import annotations

import fnmatch
import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..dag.ingest import IngestReport, Ledger
from ..dag.messages import KEY_BYTES, host_uid, is_system, key_of
from ..dag.renderer import HEAD
from ..dag.settings import LoadedSettings, Settings, load_settings
from ..storage import open_store
from ..storage.errors import StoreMissing
from ..storage.protocol import Store
from ..storage.records import Session
from . import hermes

__all__ = ["Attachment", "Sessions", "SettingsSource"]

_log = logging.getLogger(__name__)

#: Rows of a list, and stored messages of a parent, that are compared for evidence.
_EVIDENCE = 400


class SettingsSource:
    """Where settings come from: what the caller gave, or config.yaml, read at the first look."""

    def __init__(self, given: Settings | Mapping[str, Any] | None) -> None:
        self.given = given
        self.loaded: LoadedSettings | None = None

    def load(self) -> LoadedSettings:
        """The settings in force; what is wrong with them is logged once."""
        if self.loaded is None:
            raw = hermes.settings_section() if self.given is None else self.given
            self.loaded = load_settings(raw)
            for problem in (*self.loaded.problems, *self.loaded.inert):
                _log.warning("settings of lcm, %s: %s", problem.key, problem.message)
        return self.loaded

    def forget(self) -> None:
        """Read config.yaml anew at the next look."""
        if self.given is None:
            self.loaded = None


class Attachment:
    """Where one engine stands: which home, which database, which session.

    ``session_id`` is empty while the engine is on no session; then nothing is
    opened and nothing is written.
    """

    def __init__(self, path: str | Path | None, source: SettingsSource) -> None:
        self.session_id = ""
        self.session_db: Any = None
        self.home: Path | None = None
        self._given_path = path
        self._source = source
        self._sessions: Sessions | None = None
        self._mutex = threading.RLock()

    @property
    def path(self) -> str | Path:
        """The database: what was given, else the setting, else where the home puts it."""
        if self._given_path is not None:
            return self._given_path
        if database := self._source.load().settings.database:
            return Path(database).expanduser()
        return (self.home or hermes.home()) / "lcm" / "lcm.db"

    def move(self, home: Any) -> bool:
        """Go to a Hermes home; True if the engine was on another one before."""
        with self._mutex:
            moved = self.home is not None and Path(home) != self.home
            if moved:
                self.close()
                self.session_id = ""
            self.home = Path(home)
            return moved

    def open(self) -> Sessions:
        """The sessions of this database."""
        with self._mutex:
            if self._sessions is None:
                self._sessions = Sessions(self.path, self._source.load().settings)
            return self._sessions

    def skips(self, session_id: str) -> bool:
        """Whether nothing is to be kept of it: no session, or an ignored one."""
        return not session_id or self.open().ignored(session_id)

    def rotate(self, new: str, said: str) -> None:
        """Go on under another id on the same line.

        *said* is the id that the host says it leaves. Only where we stand
        nowhere is it believed: it must never move another session's messages.
        """
        old = self.session_id or said
        with self._mutex:
            if old and new and old != new and not self.skips(old):
                self.open().rotate(old, new)
            self.session_id = new

    def passes(self) -> int:
        """How many compactions the session has had."""
        with self._mutex:
            known = None if self.skips(self.session_id) else self.open().known(self.session_id)
            if known is None:
                return 0
            return len(self.open().store_for(known.name, create=False).passes([known.name]))

    def ledger(self, session_id: str, rows: Sequence[Any]) -> Ledger:
        """The ledger of a session whose list is *rows*.

        Raises:
            StoreError: the store cannot be opened.
        """
        with self._mutex:
            return self.open().ledger(session_id, rows, self.session_db)

    def ingest(self, rows: Sequence[Any] | None, session_id: str) -> IngestReport:
        """Store what is new in *rows*.

        Raises:
            StoreError: nothing of it was stored.
        """
        if not rows or self.skips(session_id):
            return IngestReport()
        return self.ledger(session_id, rows).ingest(rows)

    def stored(self) -> tuple[Store, Session] | None:
        """The session's store, if something of the session is in it."""
        with self._mutex:
            session = None if self.skips(self.session_id) else self.open().known(self.session_id)
            return (
                None
                if session is None
                else (self.open().store_for(session.name, create=False), session)
            )

    def close(self) -> None:
        """Close the database; it opens again at need."""
        with self._mutex:
            if self._sessions is not None:
                self._sessions.close()
                self._sessions = None


class Sessions:
    """The stores of one engine, opened late, and a ledger for each session it meets."""

    def __init__(self, path: str | Path, settings: Settings) -> None:
        self.path = path
        self._settings = settings
        self._store: Store | None = None
        self._traceless: Store | None = None
        self._ledgers: dict[str, Ledger] = {}

    def ignored(self, name: str) -> bool:
        """Whether nothing of this session is to be kept."""
        return _matches(name, self._settings.ignore_sessions)

    def store_for(self, name: str, *, create: bool) -> Store:
        """The store that keeps the session.

        Raises:
            StoreError: it cannot be opened, or is not there and not to be made.
        """
        if _matches(name, self._settings.memory_only_sessions):
            self._traceless = self._traceless or open_store("memory:")
            return self._traceless
        if self._store is None:
            self._store = open_store(self.path, create=create)
        return self._store

    def known(self, name: str) -> Session | None:
        """The session, if something of it is stored already."""
        if name in self._ledgers:
            return self._ledgers[name].session
        try:
            return self.store_for(name, create=False).session(name)
        except StoreMissing:
            return None

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
        if self.known(new) is not None or self.known(old) is None:
            return
        store = self.store_for(old, create=False)
        session = store.open_session(new, parent=old, relation="rotation")
        self._ledgers.pop(old, None)
        self._ledgers[new] = Ledger(store, session)

    def _adopt(self, store: Store, name: str, rows: Sequence[Any], session_db: Any) -> Session:
        parent = hermes.parent_of(session_db, name)
        source = store.session(parent.name) if parent else None
        if parent is None or source is None or not _descends(store, source, rows):
            return store.open_session(name)
        relation = "rotation" if parent.ended_by == "compression" else "branch"
        _log.info("session %s goes on from %s (%s)", name, parent.name, relation)
        return store.open_session(name, parent=parent.name, relation=relation)

    def close(self) -> None:
        """Close what is open; it opens again at need."""
        self._ledgers.clear()
        for store in (self._store, self._traceless):
            if store is not None:
                store.close()
        self._store = self._traceless = None


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
    head = talk[: min(len(talk), 2)]
    return all(key_of(row)[:KEY_BYTES] in stored for row in head)
