"""Whether every message that Hermes has kept of our sessions is in the store too.

Found by uid where the host gives one, else by the words, as when a list is ingested. What is not
found so is compared with every message of the session by the rules for what hosts do to one: strip
it, mask it, put notes before or behind it, fold neighbours. Rows that no list ever showed are no
loss, and are told as notes: what was there before the engine was, what was taken back before a
turn ended, what is only displayed, the turn that goes on now.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from ..dag.erase import cleaner
from ..dag.identity import STUB, is_fold, is_less, likeness
from ..dag.messages import Row, host_uid, is_system, key_of, normal, role_of, text_of
from ..dag.redact import redacted
from ..dag.renderer import (
    HEAD,
    Frames,
    begins_with_filler,
    is_quoted,
    recognise,
    rest_of,
    without_filler,
)
from ..storage.canon import decode
from ..storage.errors import StoreBusy, StoreDamaged
from ..storage.host_log import HostLog, HostRow, open_host_log
from ..storage.protocol import Store
from ..storage.records import Session
from .report import Findings, HostCounts
from .screen import many
from .verb import Progress

__all__ = ["check_host"]

#: From this share of common words on, a row is another state of a message that no other row is.
_ALIKE = 0.8
#: Messages that a host may have folded into one row.
_FOLDED = 4
#: Rows of a session that are compared with all of its messages.
_COMPARED = 50
_PAGE = 200


def check_host(
    store: Store, path: Path, findings: Findings, progress: Progress, *, alone: bool
) -> HostCounts:
    """Look for every row of the host's log at *path*; *alone*: this process is not the host's.

    Raises:
        StoreError: the log cannot be read, or is not Hermes's.
    """
    if alone:
        tried = Findings()
        try:
            with open_host_log(path, alone=True) as log:
                counts = _check(store, log, tried, progress)
        except (StoreBusy, StoreDamaged):
            pass  # somebody wrote to it meanwhile
        else:
            findings.add(tried)
            return counts
    with open_host_log(path, alone=False) as log:
        return _check(store, log, findings, progress)


def _check(store: Store, log: HostLog, findings: Findings, progress: Progress) -> HostCounts:
    theirs = log.sessions()
    ours = [session for session in store.sessions() if session.name in theirs]
    counts: Counter[str] = Counter()
    for done, session in enumerate(ours, 1):
        check = _SessionCheck(store, session)
        rows = log.rows(session.name)
        while page := list(islice(rows, _PAGE)):
            check.look(page)
        check.compare()
        check.tell(findings)
        counts += check.counts
        progress("sessions of Hermes", done, len(ours))
    if strangers := theirs.keys() - {session.name for session in ours}:
        rows_there = many(sum(theirs[name] for name in strangers), "row")
        what = f"{rows_there} of {many(len(strangers), 'session')} that are not kept here"
        findings.note("host", log.path, what)
    names = ("rows", "found", "own", "system")
    return HostCounts(log.path, len(ours), **{name: counts[name] for name in names})


class _Words:
    """The words of many messages: eight bytes for each."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._marks = array("Q", map(_mark, keys))
        self._sorted = False

    def append(self, mark: int) -> None:
        """Add those of one more."""
        self._marks.append(mark)
        self._sorted = False

    def count(self, mark: int) -> int:
        """How many of the messages have these words."""
        if not self._sorted:
            self._marks = array("Q", sorted(self._marks))
            self._sorted = True
        return bisect_right(self._marks, mark) - bisect_left(self._marks, mark)


def _mark(key: bytes) -> int:
    return int.from_bytes(key[:8], "big")


class _SessionCheck:
    """The rows of one session, against the line that it stands on."""

    def __init__(self, store: Store, session: Session) -> None:
        self._store, self._session = store, session
        self._words = _Words(store.audit().keys(session.line))
        self._cleaner = cleaner(store, redacted)
        self._frames = Frames(store, None)
        self.counts: Counter[str] = Counter()
        self._missing: list[tuple[HostRow, Row]] = []
        """Rows that were not found, and what of each is a message."""
        self._first = self._last = 0
        """The first and the last row that was found."""
        self._matched = _Words(())
        """The words of the rows that were found."""
        self._listed: Counter[int] = Counter()
        """How often rows without a uid are in the host's list now, by their words."""

    def look(self, page: Sequence[HostRow]) -> None:
        """Look for these rows by uid and by words."""
        uids = [uid for row in page if (uid := host_uid(row.message))]
        known = self._store.known(uids) if uids else {}
        for row in page:
            self.counts["rows"] += 1
            if is_system(row.message):
                self.counts["system"] += 1
            elif (message := self._without_ours(row.message)) is None:
                self.counts["own"] += 1
            else:
                self._look_for(row, message, known)

    def _look_for(self, row: HostRow, message: Row, known: Mapping[str, int]) -> None:
        uid, mark = host_uid(message), self._mark(message)
        if uid not in known and not self._words.count(mark):
            if self._is_stub(message):
                self._found(row)
            else:
                self._missing.append((row, message))
            return
        self._found(row)
        self._matched.append(mark)
        if row.active and uid is None:
            self._listed[mark] += 1

    def _is_stub(self, message: Row) -> bool:
        """Whether it is a message that is here, as a pass shows it in part: by the name in it."""
        cut = STUB.search(text_of(message))
        named = self._store.resolve(cut[1]) if cut else ()
        numbers = self._store.known([uid for kind, uid in named if kind == "message"]).values()
        whole = self._store.read([(number, 0) for number in numbers])
        return any(is_less(decode(each.body), message) for each in whole)

    def _mark(self, message: Row) -> int:
        """The mark of a message as it is, or as it is stored where secrets are masked or forgotten."""
        mark = _mark(key_of(message))
        return mark if self._words.count(mark) else _mark(key_of(self._cleaner.row(message)))

    def _found(self, row: HostRow) -> None:
        self.counts["found"] += 1
        self._first = min(self._first or row.number, row.number)
        self._last = max(self._last, row.number)

    def _without_ours(self, row: Row) -> Row | None:
        """What of the row is a message: nothing of a summary row, what is merged behind one."""
        if known := recognise(row, self._frames):
            whole = is_quoted(row, known) and self._words.count(self._mark(row))
            return row if whole else rest_of(row, known)
        if begins_with_filler(row):
            return without_filler(row)
        head = normal(text_of(row)[: 2 * len(HEAD)])
        return None if row.get("role") == "user" and head.startswith(HEAD) else row

    def compare(self) -> None:
        """Compare what was not found with every message of the session; keep what is like none."""
        open_ = self._missing[:_COMPARED]
        behind: deque[Row] = deque(maxlen=_FOLDED)
        for message in self._store.stream(self._session.line) if open_ else ():
            stored = decode(message.body)
            behind.append(stored)
            alike = [pair for pair in open_ if _is_same(stored, behind, pair[1])]
            if not alike and not self._matched.count(_mark(key_of(stored))):
                alike = [pair for pair in open_ if likeness(stored, pair[1]) >= _ALIKE][:1]
            for pair in alike:
                open_.remove(pair)
                self._found(pair[0])
            if not open_:
                break
        self._missing = open_ + self._missing[_COMPARED:]

    def tell(self, findings: Findings) -> None:
        """Say of each row that was not found whether it is lost, and of what else is odd."""
        running = [row for row, _ in self._missing if row.number > self._last]
        turns = sum(row.message.get("role") == "user" for row in running)
        reasons: Counter[str] = Counter()
        for row, message in self._missing:
            if reason := self._reason(row, is_running=turns <= 1 and row.number > self._last):
                reasons[reason] += 1
                continue
            uid = host_uid(message) or f"{self._session.name}, row {row.number}"
            what = f"is in Hermes's log (session {self._session.name}) and not here"
            findings.wrong("message", uid, what)
        for reason, count in reasons.items():
            findings.note("session", self._session.name, f"{many(count, 'row')} of Hermes {reason}")
        more = sum(max(n - self._words.count(mark), 0) for mark, n in self._listed.items())
        if more:
            what = f"Hermes lists {many(more, 'message')} more often than they were said"
            findings.note("session", self._session.name, what)

    def _reason(self, row: HostRow, *, is_running: bool) -> str:
        """Why it is no loss that the row is not here; empty if it is one."""
        if row.aside:
            return "were never in its list: overheard, or only displayed"
        if row.taken_back:
            return "were taken back before a turn had ended"
        if not row.active and (not self._first or row.number < self._first):
            return "were compacted before the engine saw the session"
        return (
            "are of a turn that has not ended: they are stored when it does" if is_running else ""
        )


def _is_same(stored: Row, behind: Sequence[Row], row: Row) -> bool:
    """Whether *row* is, beyond doubt, a state of a stored message, or of the last few folded into one."""
    if role_of(stored) != role_of(row):
        return False
    if is_less(stored, row) or is_less(row, stored) or likeness(stored, row) == 1:
        return True
    parts = [part for part in behind if role_of(part) == role_of(row)]
    return any(is_fold(parts[-count:], row) for count in range(2, len(parts) + 1))
