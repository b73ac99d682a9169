"""Where one engine stands: which settings, which home, which database, which session.

Light to import: a host lists plugins often and starts sessions rarely, so
everything that works on a conversation is imported when there is one.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..storage.errors import StoreClosed, StoreError
from ..storage.mutex import mutex
from . import hermes
from .failures import Failures
from .spills import Spills
from .traces import FORGOTTEN, IGNORED, Traceless

if TYPE_CHECKING:
    from ..dag.ingest import Also, Binding, IngestReport, Ledger
    from ..dag.settings import LoadedSettings, Settings
    from ..storage.protocol import Store
    from ..storage.records import Session
    from .sessions import Sessions

__all__ = ["Attachment", "SettingsSource"]

_log = logging.getLogger(__name__)

#: Times that a list is ingested again because somebody closed the database under it.
_REOPENED = 16

#: Counts what engines do in this process, so that one can tell which did something last.
_MOVES = itertools.count(1)


class SettingsSource:
    """Where settings come from: what the caller gave, or config.yaml, read at the first look."""

    def __init__(self, given: Settings | Mapping[str, Any] | None) -> None:
        self.given = given
        self.loaded: LoadedSettings | None = None

    def load(self) -> LoadedSettings:
        """The settings in force; what is wrong with them is logged once."""
        if self.loaded is None:
            from ..dag.settings import load_settings

            raw = hermes.settings_section() if self.given is None else self.given
            self.loaded = load_settings(raw)
            for problem in (*self.loaded.problems, *self.loaded.inert):
                _log.warning("config.yaml: %s", problem.said)
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

    def __init__(
        self,
        path: str | Path | None,
        source: SettingsSource,
        failures: Failures | None = None,
    ) -> None:
        self.moved = 0
        """When it last came to a session or was shown a list: higher is later."""
        self.session_id = ""
        self.session_db: Any = None
        self.home: Path | None = None
        self.chat = ""
        """What a gateway calls the chat that the agent answers; empty outside gateways."""
        self._given_path = path
        self._source = source
        self._failures = failures or Failures()
        self._rotations: list[tuple[str, str]] = []
        """(old id, new id) of rotations that the store has not heard of yet."""
        self._sessions: Sessions | None = None
        self.traceless = Traceless()
        self._spills = Spills()
        self._mutex = mutex()

    @property
    def session_id(self) -> str:
        """The session it stands on; empty for none."""
        return self._session_id

    @session_id.setter
    def session_id(self, session_id: str) -> None:
        self._session_id = session_id
        self.moved = next(_MOVES)

    @property
    def path(self) -> str | Path:
        """The database: what was given, else the setting, else where the home puts it."""
        if self._given_path is not None:
            return self._given_path
        if database := self._source.load().settings.database:
            return Path(database).expanduser()
        return self._where() / "lcm" / "lcm.db"

    def _where(self) -> Path:
        """The Hermes home."""
        return self.home or hermes.home()

    def move(self, home: Any) -> bool:
        """Go to a Hermes home; True if the engine was on another one before."""
        with self._mutex:
            before = self.path if self._sessions is not None else None
            self.home = Path(home)
            moved = before is not None and self.path != before
            if moved:
                self.close()
                self.session_id = ""
                self._rotations.clear()
            return moved

    def resemble(self, other: Attachment) -> None:
        """Stand in the home of *other*, with what of this process is nowhere on disk; on no session."""
        self.home, self.traceless = other.home, other.traceless

    def open(self) -> Sessions:
        """The sessions of this database, opened anew where its file is another one now."""
        with self._mutex:
            if self._sessions is not None and self._sessions.stale():
                _log.info("the database %s is opened anew", self.path)
                self._sessions = None  # whoever is reading it closes it by letting go of it
            if self._sessions is None:
                from .sessions import Sessions

                self._sessions = Sessions(self.path, self._source.load().settings, self.traceless)
            return self._sessions

    def skips(self, session_id: str) -> bool:
        """Whether nothing is to be kept of it: no session, or an ignored one."""
        return not session_id or self.open().trace(session_id) == IGNORED

    def rotate(self, new: str, said: str) -> None:
        """Go on under another id on the same line.

        *said* is the id that the host says it leaves. Only where we stand
        nowhere is it believed: it must never move another session's messages.
        """
        old = self.session_id or said
        with self._mutex:
            self.session_id = new
            if old and new and old != new:
                self._rotations.append((old, new))
            self._catch_up()
            self._settle()

    def _catch_up(self) -> Sessions:
        """The sessions of this database, which know of all rotations."""
        sessions = self.open()
        while self._rotations:
            sessions.rotate(*self._rotations[0])
            del self._rotations[0]
        return sessions

    def _settle(self) -> None:
        """Have written down which sessions leave no trace; the list is looked at all the same."""
        try:
            with self._mutex:
                if self.open().settle():
                    self._failures.over()
        except StoreError as error:
            self._failures.note("to remember that a session leaves no trace", error)

    def arrive(self) -> int:
        """Begin the session if it is a branch; returns how many compactions it has had."""
        with self._mutex:
            if self.session_id:
                self._catch_up().branch(self.session_id, self.session_db)
            found = self.stored()
            if found is None:
                return 0
            from ..dag.taken import compactions

            return compactions(*found)

    def ledger(self, session_id: str, rows: Sequence[Any]) -> Ledger:
        """The ledger of a session whose list is *rows*.

        Raises:
            StoreError: the store cannot be opened.
        """
        self.moved = next(_MOVES)
        with self._mutex:
            return self._catch_up().ledger(session_id, rows, self.session_db)

    def ingest(
        self, rows: Sequence[Any] | None, session_id: str, also: Also | None = None
    ) -> IngestReport:
        """Store what is new in *rows*, and *also* with it.

        Raises:
            StoreError: nothing of it was stored.
        """
        if not rows or self.skips(session_id):
            from ..dag.ingest import IngestReport

            if rows and session_id:
                self.traceless.saw(session_id, IGNORED, rows)
                self._settle()
            return IngestReport()
        ledger, report = self._ingested(rows, session_id, also)
        if report.new:
            self._spills.fetch(ledger, rows, self._where)
        if ledger.store is self.traceless.store():
            self.traceless.saw(session_id, self.open().trace(session_id) or FORGOTTEN, rows)
            self._settle()
        else:
            self._failures.over()
        return report

    def bind(self, rows: Sequence[Any], session_id: str) -> tuple[Ledger, Binding]:
        """Store what is new in *rows* of any session, also of an ignored one; say what each row stands for.

        Raises:
            StoreError: nothing of it was stored.
        """
        ledger = self.ledger(session_id, rows)
        report, binding = ledger.bind(rows)
        if report.new and self._spills.fetch(ledger, rows, self._where):
            _, binding = ledger.bind(rows)
        return ledger, binding

    def _ingested(
        self, rows: Sequence[Any], session_id: str, also: Also | None
    ) -> tuple[Ledger, IngestReport]:
        """Ingest; once more where another thread closed the database meanwhile."""
        for _ in range(_REOPENED):
            with contextlib.suppress(StoreClosed):
                ledger = self.ledger(session_id, rows)
                return ledger, ledger.ingest(rows, also)
        ledger = self.ledger(session_id, rows)
        return ledger, ledger.ingest(rows, also)

    def on_disk(self, session_id: str) -> Ledger | None:
        """The ledger of a session that was ingested; None for one that leaves no trace."""
        if self.skips(session_id):
            return None
        with self._mutex:
            ledger = self._catch_up().standing(session_id)
        return ledger if ledger is not None and ledger.store.path else None

    def standing(self) -> Ledger | None:
        """The ledger of the session, if it was shown a list before."""
        with self._mutex:
            return self._catch_up().standing(self.session_id)

    def stored(self) -> tuple[Store, Session] | None:
        """The session's store, if something of the session is in it."""
        with self._mutex:
            return self._catch_up().found(self.session_id) if self.session_id else None

    def is_kept(self) -> bool:
        """Whether the session is kept; True where there is none to ask about."""
        sessions, name = self.open(), self.session_id
        try:
            return not name or not (sessions.trace(name) == IGNORED or sessions.forgotten(name))
        except StoreError:
            return True  # it cannot be opened: a failure that is shown already

    def absence(self) -> tuple[str, str]:
        """Why nothing of the session is there, and what to do."""
        if self.open().trace(self.session_id) == IGNORED:
            return (
                "This session is not kept: its id, or that of the one it comes from, matches lcm.ignore_sessions.",
                "Whoever wants it kept takes the pattern out of config.yaml.",
            )
        if self.open().forgotten(self.session_id):
            return (
                "This session was forgotten on request, and nothing of it is kept any more.",
                "A new session (/new) is kept again.",
            )
        return "Nothing of this session is stored yet.", "Call again after the first turn."

    def close(self) -> None:
        """Close the database; it opens again at need."""
        with self._mutex:
            if self._sessions is not None:
                self._sessions.close()
                self._sessions = None
