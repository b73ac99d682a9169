"""Says whether every message is still there, by re-deriving every digest from the bytes.

Rows first (what no digest covers), then nodes as they were stored, then the bytes of every version
of every message, then the summary row of each line against the line, at last Hermes's own log
against the store. Nodes are read before what was said later, so that an agent may write meanwhile.
Bodies are read a few at a time; kept are a few numbers for each node. A damaged store gives a
report, never an exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..storage.audit import Audit, Weighed
from ..storage.canon import digest
from ..storage.errors import BROKEN
from ..storage.forget import given
from ..storage.protocol import Store
from ..storage.records import Node, Pass, Session
from .accounts import Accounts
from .host_check import check_host
from .report import Counts, Findings, HostCounts, Report
from .screen import many
from .spans import Spans
from .verb import Progress
from .writing import by_line

__all__ = ["HostLogAt", "verify"]

#: Messages, and nodes, that are read at a time.
_PAGE, _NODES = 200, 50


@dataclass(frozen=True, slots=True)
class HostLogAt:
    """Hermes's own log: where it is said to be."""

    path: Path
    asked_for: bool = False
    """Whether somebody named it: then it must be there."""
    alone: bool = True
    """Whether this process is not the host's."""


def verify(store: Store, progress: Progress | None = None, host: HostLogAt | None = None) -> Report:
    """Check everything that *store* holds, and that it holds all that *host* does.

    See the module for what it costs.
    """
    return _Verification(store, progress or (lambda _what, _done, _total: None)).run(host)


class _Verification:
    """One run: what was found, and how much was looked at."""

    def __init__(self, store: Store, progress: Progress) -> None:
        self.store, self.progress = store, progress
        self.audit: Audit = store.audit()
        self.findings = Findings()
        self.counts = Counts()
        self.spans = Spans(store, self.findings)
        self.sessions: list[Session] = []
        self.passes: list[Pass] = []
        self.expected = 0
        self.forgotten: dict[str, bytes] = {}
        """Digests of what stands in the place of versions in which something was forgotten."""

    def run(self, host: HostLogAt | None) -> Report:
        """All steps; one that fails does not keep the others from what they can say."""
        path = self.store.path
        for step in (
            self._file,
            self._sessions,
            self._passes,
            self._totals,
            self._stones,
            self._rows,
        ):
            with self.findings.guarded("file", path):
                step()
        for step in (self._nodes, self._messages, self._lines):
            with self.findings.guarded("file", path):
                step()
        counted, unread = self._host(host)
        found = self.findings
        failures, notes = tuple(found.failures), tuple(found.notes)
        return Report(path, self.counts, failures, notes, counted, unread)

    def _host(self, host: HostLogAt | None) -> tuple[HostCounts | None, str]:
        """(how much of Hermes's log was looked for, or why none of it was)."""
        if host is None:
            return None, "nobody said where it is (--host-db PATH)"
        if not host.asked_for and not host.path.exists():
            return None, f"there is no {host.path}"
        try:
            counts = check_host(
                self.store, host.path, self.findings, self.progress, alone=host.alone
            )
        except BROKEN as error:
            self.findings.wrong("host", str(host.path), f"cannot be looked through: {error}")
            return None, str(error)
        return counts, ""

    def _file(self) -> None:
        self.progress("file", 0, 0)
        for what, said in self.store.check().items():
            self.findings.wrong("file", self.store.path, f"{what}: {said}")

    def _sessions(self) -> None:
        self.sessions = self.store.sessions()
        self._count(sessions=len(self.sessions))

    def _passes(self) -> None:
        self.passes = self.store.passes()

    def _totals(self) -> None:
        totals = self.store.totals()
        self.expected = totals.messages
        self._count(withdrawn=totals.withdrawn)

    def _stones(self) -> None:
        """What was forgotten on request, and what stands in its place."""
        eraser = self.store.eraser()
        self.forgotten = {stone.name: stone.digest for stone in eraser.stones("message")}
        self.spans.given = given(eraser)
        gone = 0
        for stone in eraser.stones("session"):
            messages = int(stone.detail.get("messages", 0))
            gone += messages
            what = f"was forgotten on request, with {many(messages, 'message')}"
            self.findings.note("session", stone.name, what)
        self._count(forgotten=gone + len(self.forgotten) + len(eraser.stones("node")))

    def _rows(self) -> None:
        self.progress("rows", 0, 0)
        for fault in self.audit.faults():
            self.findings.wrong(*fault)

    def _count(self, **more: int) -> None:
        was = {name: getattr(self.counts, name) for name in more}
        self.counts = replace(self.counts, **{name: was[name] + n for name, n in more.items()})

    # nodes

    def _nodes(self) -> None:
        after = 0
        while page := self.audit.nodes(after, _NODES):
            for node in self._load([uid for _, uid in page]):
                with self.findings.guarded("node", node.uid):
                    self.spans.check(node)
                kind = {"frame": "frames", "state": "states"}.get(node.kind, "nodes")
                self._count(edges=len(node.sources), **{kind: 1})
            self.progress("nodes", len(self.spans.known), 0)
            after = page[-1][0]

    def _load(self, uids: Sequence[str]) -> Iterator[Node]:
        """The nodes with these uids, in order; one that cannot be read is reported."""
        try:
            yield from self.store.nodes(uids)
        except BROKEN:
            for uid in uids:
                with self.findings.guarded("node", uid):
                    yield from self._read_one(uid)

    def _read_one(self, uid: str) -> list[Node]:
        """One that may be damaged: then what is left of it is enough for those over it."""
        try:
            return self.store.nodes([uid])
        except BROKEN:
            self.spans.take(self.store.nodes([uid], damaged=True)[0])
            raise

    # messages

    def _messages(self) -> None:
        after, done = 0, 0
        while page := self.audit.messages(after, _PAGE):
            small = [each for each in page if not each.large]
            for batch in ([small] if small else []) + [[each] for each in page if each.large]:
                self._bodies(batch)
            after, done = page[-1].number, done + len(page)
            versions = sum(each.versions for each in page) - len(page)
            self._count(messages=len(page), versions=versions)
            self.progress("messages", done, max(self.expected, done))

    def _bodies(self, batch: Sequence[Weighed]) -> None:
        # The current one as such: what number it has is only said.
        wanted = [(m, version) for m in batch for version in (*range(1, m.versions), 0)]
        try:
            self._are_whole([(message.number, version) for message, version in wanted])
        except BROKEN:
            for message, version in wanted:
                self._is_whole(message, version)

    def _are_whole(self, wanted: Sequence[tuple[int, int]]) -> None:
        """Read these and report what is not what was stored."""
        for message in self.store.read(wanted):
            now = self.forgotten.get(f"{message.id}@{message.version}")
            if digest(message.body) not in (message.digest, now):
                uid = _versioned(message.uid, message.version, message.versions)
                self.findings.wrong("message", uid, "its bytes do not give its digest")

    def _is_whole(self, message: Weighed, version: int) -> None:
        """The same for one that may be unreadable; version 0 is the current one."""
        try:
            self._are_whole([(message.number, version)])
        except BROKEN as error:
            uid = _versioned(message.uid, version or message.versions, message.versions)
            self.findings.wrong("message", uid, f"cannot be read: {error}")

    # lines

    def _lines(self) -> None:
        accounts = Accounts(self.store, self.spans, self.findings, self.passes)
        lines = by_line(self.sessions)
        for done, (line, sessions) in enumerate(lines.items()):
            with self.findings.guarded("file", self.store.path):
                accounts.check(line, sessions)
            self.progress("lines", done + 1, len(lines))


def _versioned(uid: str, version: int, versions: int) -> str:
    return uid if version == versions else f"{uid}@{version}"
