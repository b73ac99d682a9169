"""Whether summary and rest of a session hold each of its messages exactly once.

The newest summary row of a line and the line are walked side by side, from the end: a page of one
and a leaf of the other are held. Only where they differ is the whole line looked at, to say of each
message what is wrong with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import islice

from ..storage.audit import Place
from ..storage.errors import BROKEN
from ..storage.protocol import Store
from ..storage.records import Pass, Session
from . import proofs
from .report import Findings
from .screen import many
from .spans import Spans

__all__ = ["Accounts"]

_PAGE = 1000
#: Beyond every order key.
_FAR = 1 << 62


class Accounts:
    """Goes through sessions by their lines."""

    def __init__(
        self, store: Store, spans: Spans, findings: Findings, passes: Sequence[Pass]
    ) -> None:
        self._store, self._spans, self._findings = store, spans, findings
        self._audit = store.audit()
        self._newest: dict[str, tuple[float, str]] = {}
        """Time and frame of each session's newest compaction."""
        for done in passes:
            if done.frame and done.frame not in spans.known:
                what = f"its summary row, {done.frame}, is missing"
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
        before, summarised = self._before(line, frame)
        if summarised or not self._is_partition(line, uid, frame):
            self._explain(line, uid, session)
        if left_out := before - len(summarised):
            what = f"{many(left_out, 'message')} at its beginning were taken out by its host"
            self._findings.note(
                "session", session.name, f"{what} before anything was compacted; they are kept"
            )

    def _pages(self, line: int, first: int, last: int) -> Iterator[list[Place]]:
        """The places with order keys from *first* to *last*, the last one first."""
        while page := self._audit.places(line, first, last, _PAGE):
            yield page
            last = page[-1].seq - 1

    def _before(self, line: int, frame: proofs.Known) -> tuple[int, set[int]]:
        """How many active messages stand before *frame*, and those of them that are under a node.

        Without those that came back: another agent on the session may have compacted them. And without the
        person's message that is kept behind the frame, though only what follows it is under it: a branch of the
        session may have compacted that.
        """
        count, summarised = 0, set[int]()
        for page in self._pages(line, -_FAR, frame.seqs[0] - 1):
            there = [p.message for p in page if not (p.withdrawn or p.returned)]
            active = [message for message in there if message not in frame.lifted]
            count += len(active)
            summarised |= self._store.over(active).keys()
        return count, summarised

    def _is_partition(self, line: int, uid: str, frame: proofs.Known) -> bool:
        """Whether what is under the frame is all that is active from its first message to its last."""
        under, aside = self._spans.under(uid), self._spans.beside(uid)
        aside.update(frame.lifted)
        for page in self._pages(line, *frame.seqs):
            for place in page:
                if place.withdrawn or place.message in aside:
                    continue
                if next(under, None) != place.message:
                    return False
        return next(under, None) is None

    def _explain(self, line: int, uid: str, session: Session) -> None:
        whole = proofs.Line()
        for page in reversed(list(self._pages(line, -_FAR, _FAR))):
            for place in reversed(page):
                whole.add(place)
        most = 2 * len(whole.messages)  # a graph that was damaged may hold each many times
        under = list(islice(self._spans.under(uid), most))[::-1]
        frame = self._spans.known[uid]
        aside = self._spans.beside(uid)
        account = proofs.account(
            frame, under, whole, lambda some: self._store.over(some).keys(), aside
        )
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
