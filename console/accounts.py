"""Whether summary and rest of a session hold each of its messages exactly once.

The newest summary row of a line and the line are walked side by side, from the end: a page of one
and a leaf of the other are held. Only where they differ is the whole line looked at, to say of each
message what is wrong with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from ..storage.protocol import Store
from ..storage.records import Entry, Pass, Session
from . import proofs
from .report import BROKEN, Findings
from .screen import many
from .spans import Spans

__all__ = ["Accounts"]

_PAGE = 500


class Accounts:
    """Goes through sessions by their lines."""

    def __init__(
        self, store: Store, spans: Spans, findings: Findings, passes: Sequence[Pass]
    ) -> None:
        self._store, self._spans, self._findings = store, spans, findings
        self._newest: dict[str, tuple[float, str]] = {}
        """Time and frame of each session's newest compaction."""
        for done in passes:
            if done.frame and done.frame not in spans.known:
                what = f"its summary row, node {done.frame}, is missing"
                findings.wrong("session", done.session, what)
            elif done.frame:
                self._newest[done.session] = (done.time, done.frame)

    def check(self, line: int, sessions: Sequence[Session]) -> None:
        """The newest summary row of the *sessions* that stand on *line*, and what follows it."""
        found = [(*self._newest[s.name], s) for s in sessions if s.name in self._newest]
        if not found:
            return
        _, uid, session = max(found, key=lambda each: each[0])
        frame = self._spans.known[uid]
        before, summarised = self._before(line, frame.seqs[0])
        if summarised or not self._is_partition(line, uid, frame):
            self._explain(line, uid, session)
        if left_out := before - len(summarised):
            what = f"{many(left_out, 'message')} at its beginning were taken out by its host"
            self._findings.note(
                "session", session.name, f"{what} before anything was compacted; they are kept"
            )

    def _pages(self, line: int, before: int | None) -> Iterator[list[Entry]]:
        """Entries with smaller order keys, the newest page first."""
        while page := self._store.tail(line, _PAGE, before=before):
            yield page
            before = page[0].seq

    def _before(self, line: int, seq: int) -> tuple[int, set[int]]:
        """How many active messages stand before *seq*, and those of them that are under a node."""
        count, summarised = 0, set[int]()
        for page in self._pages(line, seq):
            active = [entry.id for entry in page if not entry.withdrawn]
            count += len(active)
            summarised |= self._store.over(active).keys()
        return count, summarised

    def _is_partition(self, line: int, uid: str, frame: proofs.Known) -> bool:
        """Whether what is under the frame is all that is active from its first message to its last."""
        under = self._spans.under(uid)
        for page in self._pages(line, frame.seqs[1] + 1):
            for entry in reversed(page):
                if entry.seq < frame.seqs[0]:
                    return next(under, None) is None
                if entry.withdrawn or entry.id in frame.lifted:
                    continue
                if next(under, None) != entry.id:
                    return False
        return next(under, None) is None

    def _explain(self, line: int, uid: str, session: Session) -> None:
        whole = proofs.Line()
        for page in reversed(list(self._pages(line, None))):
            for entry in page:
                whole.add(entry.id, entry.seq, withdrawn=entry.withdrawn)
        under = list(self._spans.under(uid))[::-1]
        frame = self._spans.known[uid]
        account = proofs.account(frame, under, whole, lambda some: self._store.over(some).keys())
        for message, what in account.faults:
            self._findings.wrong("message", self._name(message), what)
        if not account.shown:
            what = "its host went back behind the newest compaction: all is in its list verbatim"
            self._findings.note("session", session.name, what)

    def _name(self, message: int) -> str:
        """The uid of a message, or our number if even that cannot be read."""
        with contextlib.suppress(*BROKEN):
            return self._store.read([(message, 0)])[0].uid
        return f"message {message}"
