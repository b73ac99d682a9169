"""Says whether every message is still there, by re-deriving every digest from the bytes.

Reads nodes before messages, so that an agent may write meanwhile: what a node stands for was
stored before it. Bodies are read a few at a time; what is held of a message is a few numbers, and
that for one line at a time. A damaged store gives a report, never an exception.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..dag.graph import cycle, layers
from ..storage.canon import digest
from ..storage.errors import StoreError
from ..storage.protocol import Store
from ..storage.records import Entry, Node, Pass, Session
from . import proofs
from .report import BROKEN, Counts, Findings, Report
from .screen import many
from .verb import Progress

__all__ = ["verify"]

_PAGE = 500
#: Bodies read at a time, in tokens of their messages.
_BATCH_TOKENS = 200_000
_HEX = "0123456789abcdef"
#: ``Store.resolve`` names this many at most; fewer are all there are.
_RESOLVED = 10
_LONGEST = 32
#: Prefixes tried until the search for nodes in a damaged store is given up.
_MOST_LOOKS = 300_000


def verify(store: Store, progress: Progress | None = None) -> Report:
    """Check everything that *store* holds; see the module for what it costs."""
    return _Verification(store, progress or (lambda _what, _done, _total: None)).run()


class _Verification:
    """One run: what was found, and how much was looked at."""

    def __init__(self, store: Store, progress: Progress) -> None:
        self.store, self.progress = store, progress
        self.findings = Findings()
        self.counts = Counts()
        self.sessions: list[Session] = []
        self.passes: list[Pass] = []
        self.nodes: dict[str, Node] = {}
        self.seen: set[int] = set()
        self.expected = 0

    def run(self) -> Report:
        """All steps; one that fails does not keep the others from what they can say."""
        path = self.store.path
        with self.findings.guarded("file", path):
            for what, said in self.store.check().items():
                self.findings.wrong("file", path, f"{what}: {said}")
        with self.findings.guarded("file", path):
            self.sessions = self.store.sessions()
        with self.findings.guarded("file", path):
            self.passes = self.store.passes()
        with self.findings.guarded("file", path):
            self.expected = self.store.totals().messages
        self._nodes()
        web = self._web()
        for number in sorted({session.line for session in self.sessions}):
            with self.findings.guarded("file", path):
                self._line(number, web)
        if len(self.seen) < self.expected:
            lost = self.expected - len(self.seen)
            self.findings.wrong("file", path, f"{lost} stored messages stand on no line")
        counts = replace(self.counts, sessions=len(self.sessions), messages=len(self.seen))
        found = self.findings
        return Report(path, counts, tuple(found.failures), tuple(found.notes))

    def _count(self, **more: int) -> None:
        was = {name: getattr(self.counts, name) for name in more}
        self.counts = replace(self.counts, **{name: was[name] + n for name, n in more.items()})

    # nodes

    def _nodes(self) -> None:
        for node in self._each_node():
            with self.findings.guarded("node", node.uid):
                digests = self._digests(node)
                for fault in proofs.digest_faults(node, digests):
                    self.findings.wrong("node", node.uid, fault)
            self._keep(node)

    def _keep(self, node: Node) -> None:
        self.nodes[node.uid] = replace(node, texts={}, topic="", hints=())
        self._count(edges=len(node.sources), **{"frames" if node.kind == "frame" else "nodes": 1})
        self.progress("nodes", len(self.nodes), 0)

    def _each_node(self) -> Iterator[Node]:
        """Every node there is, once; one that cannot be read is reported."""
        done: set[str] = set()
        unread = False
        for number in sorted({session.line for session in self.sessions}):
            try:
                found = self.store.nodes_on([number], kinds=("leaf", "condensed", "frame"))
            except BROKEN:
                unread = True
                continue
            for node in found:
                done.add(node.uid)
                yield node
        with self.findings.guarded("file", self.store.path):
            stored = sum(self.store.totals().nodes.values())
            frames = {done.frame for done in self.passes if done.frame}
            unread = unread or stored != self.counts.nodes or not frames <= self.nodes.keys()
        for uid in self._uids() if unread else ():
            if uid in done:
                continue
            done.add(uid)
            with self.findings.guarded("node", uid):
                yield from self.store.nodes([uid])

    def _uids(self) -> Iterator[str]:
        """The uid of every node, found without reading one."""
        pending = list(_HEX)
        for _ in range(_MOST_LOOKS):
            if not pending:
                return
            prefix = pending.pop()
            try:
                named = self.store.resolve(prefix)
                whole = len(named) < _RESOLVED
            except StoreError as error:
                self.findings.wrong("file", self.store.path, str(error))
                return
            except BROKEN:  # one of the names it found: the others are found further down
                named, whole = [], False
            if whole or len(prefix) == _LONGEST:
                yield from (uid for kind, uid in named if kind == "node")
            else:
                pending.extend(prefix + digit for digit in _HEX)
        self.findings.wrong("file", self.store.path, "too much is damaged to look for every node")

    def _digests(self, node: Node) -> dict[tuple[int, int], bytes]:
        """The digest of each (message, version) among the node's sources that can be had."""
        wanted = [(s.message, s.version) for s in node.sources if s.message is not None]
        placed = self.store.placed(node.line, [message for message, _ in wanted])
        found = {(entry.id, entry.version): entry.digest for entry in placed}
        for pair in wanted:
            if pair not in found:
                with contextlib.suppress(*BROKEN):
                    found[pair] = self.store.read([pair])[0].digest
        return found

    def _web(self) -> proofs.Web | None:
        """The nodes as a graph, each found in order; None if they go round in circles."""
        nodes = list(self.nodes.values())
        for node in nodes:
            for fault in self._record_faults(node):
                self.findings.wrong("node", node.uid, fault)
        for uid in (circle := cycle(nodes)):
            self.findings.wrong("node", uid, "it stands, over others, for itself")
        if circle:
            return None
        web = proofs.Web(self.nodes)
        for layer in reversed(layers(nodes)):
            for uid in layer:
                if uid in self.nodes:
                    web.learn(uid)
        return web

    def _record_faults(self, node: Node) -> list[str]:
        faults = []
        if all(session.line != node.line for session in self.sessions):
            faults.append(f"no session stands on its line, {node.line}")
        below = [source.node for source in node.sources if source.node]
        if missing := [uid for uid in below if uid not in self.nodes]:
            return faults + [f"its source, node {uid}, is missing" for uid in missing]
        return faults + proofs.shape_faults(node, [self.nodes[uid] for uid in below])

    # lines and messages

    def _line(self, number: int, web: proofs.Web | None) -> None:
        line = proofs.Line()
        if self.store.lineage(number)[:1] != (number,):
            self.findings.wrong("file", self.store.path, f"line {number} is not on record")
        for message, seq, withdrawn in reversed(list(self._places(number))):
            if not line.add(message, seq, withdrawn=withdrawn):
                self.findings.wrong(
                    "message", self._name(message), f"stands twice on line {number}"
                )
        self._count(withdrawn=len(line.withdrawn))
        if web is not None:
            self._standing(number, line, web)

    def _standing(self, number: int, line: proofs.Line, web: proofs.Web) -> None:
        """What stands on the line: nodes, and sessions with what they show."""
        for node in self.nodes.values():
            if node.line == number:
                proofs.span(node, line, web, self.findings)
        for session in self.sessions:
            if session.line == number:
                self._session(session, line, web)

    def _places(self, number: int) -> Iterator[tuple[int, int, bool]]:
        """(message, order key, is it withdrawn) of a line, newest first; checks the messages."""
        before = None
        while page := self.store.tail(number, _PAGE, before=before):
            self._messages(page)
            before = page[0].seq
            yield from ((entry.id, entry.seq, entry.withdrawn) for entry in reversed(page))

    def _messages(self, page: Sequence[Entry]) -> None:
        batch: list[Entry] = []
        weight = 0
        for entry in page:
            if entry.id in self.seen:
                continue  # checked on the line that this one was branched from
            self.seen.add(entry.id)
            batch.append(entry)
            weight += entry.tokens * entry.version
            if weight > _BATCH_TOKENS:
                self._bodies(batch)
                batch, weight = [], 0
        self._bodies(batch)
        self.progress("messages", len(self.seen), max(self.expected, len(self.seen)))

    def _bodies(self, batch: Sequence[Entry]) -> None:
        wanted = [(e.id, version) for e in batch for version in range(1, e.version + 1)]
        names = {entry.id: entry for entry in batch}
        self._count(versions=len(wanted) - len(batch))
        if not self._are_whole(wanted, names):
            for pair in wanted:
                self._are_whole([pair], names, alone=True)

    def _are_whole(
        self, wanted: Sequence[tuple[int, int]], names: dict[int, Entry], *, alone: bool = False
    ) -> bool:
        """Whether these could be read; what was read and is not what was stored is reported."""
        try:
            read = [
                (message, digest(message.body) == message.digest)
                for message in self.store.read(wanted)
            ]
        except BROKEN as error:
            if alone:
                entry, version = names[wanted[0][0]], wanted[0][1]
                self.findings.wrong(
                    "message",
                    _versioned(entry.uid, version, entry.version),
                    f"cannot be read: {error}",
                )
            return False
        for message, whole in read:
            if not whole:
                uid = _versioned(message.uid, message.version, message.versions)
                self.findings.wrong("message", uid, "its bytes do not give its digest")
        return True

    def _session(self, session: Session, line: proofs.Line, web: proofs.Web) -> None:
        """The session's newest summary row and what follows it hold every active message once."""
        frames = [done.frame for done in self.passes if done.session == session.name and done.frame]
        for uid in frames:
            if uid not in self.nodes:
                self.findings.wrong(
                    "session", session.name, f"its summary row, node {uid}, is missing"
                )
        if not frames or frames[-1] not in self.nodes:
            return
        account = proofs.account(self.nodes[frames[-1]], line, web)
        for message, what in account.faults:
            self.findings.wrong("message", self._name(message), what)
        if account.left_out:
            what = (
                f"{many(account.left_out, 'message')} at its beginning were taken out by its host"
            )
            self.findings.note(
                "session", session.name, f"{what} before anything was compacted; they are kept"
            )
        if not account.shown:
            what = "its host went back behind the newest compaction: all is in its list verbatim"
            self.findings.note("session", session.name, what)

    def _name(self, message: int) -> str:
        """The uid of a message, or our number if even that cannot be read."""
        with contextlib.suppress(*BROKEN):
            return self.store.read([(message, 0)])[0].uid
        return f"message {message}"


def _versioned(uid: str, version: int, versions: int) -> str:
    return uid if version == versions else f"{uid}@{version}"
