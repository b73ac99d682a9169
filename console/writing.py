"""Writes the verbatim export: every version of every message, and all that stands over them.

What is written is of one moment. Of a session that was branched, the lines below it come along as
far as they hold its messages, and the summaries that stand for nothing else: its own rest on them.
A message that is damaged is left out and named; the rest of a damaged store can be exported.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from ..dag.erase import Cleaner
from ..dag.nodes import asked_for, marks_of, uid_of
from ..dag.redact import Redact
from ..dag.taken import taken
from ..storage.canon import decode, digest, encode
from ..storage.forget import given
from ..storage.proof import numbers_of, read_whole
from ..storage.protocol import Store
from ..storage.records import Entry, Message, Node, Session
from . import transfer
from .verb import Progress

__all__ = [
    "Counted",
    "Manner",
    "batches",
    "by_line",
    "records",
]

_ALL_KINDS: Final = ("leaf", "condensed", "frame", "state")
#: Bodies read at a time, in tokens of their messages, and in number.
_BATCH_TOKENS: Final = 100_000
_BATCH: Final = 500


@dataclass(slots=True)
class Counted:
    """How much was written; changed in place."""

    sessions: int = 0
    messages: int = 0
    versions: int = 0
    """Superseded versions, beside the current ones."""
    nodes: int = 0
    left_out: int = 0
    """Summaries and summary rows on the lines that are exported whole that are damaged, or rest on what is."""
    damaged: list[str] = field(default_factory=list)
    """uids of messages that could not be read, and are not in the file."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How an export is made."""

    redact: Redact | None
    """Takes the secrets out of a text; None: nothing is changed."""
    progress: Progress
    counted: Counted

    @property
    def cleaner(self) -> Cleaner:
        """Takes the secrets out of messages, uids and names."""
        return Cleaner(self.redact)


@dataclass(slots=True)
class _Work:
    store: Store
    manner: Manner
    total: int
    names: dict[int, tuple[str, ...]]
    """Other names of messages."""
    sessions: dict[int, list[Session]]
    """Of each line that is exported; asked for once, for there are as many lines as sessions."""
    written: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """Digest of each (message, version) that is in the file already."""
    before: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """Digest of what stood there, of those in which something was forgotten."""
    nodes: set[str] = field(default_factory=set)
    """uids of the nodes that are."""


def records(store: Store, session: Session | None, manner: Manner) -> Iterator[dict[str, Any]]:
    """The records of an export of *session* (None: of everything).

    Where secrets are taken out, no summary leaves: its digest would not stand for it any more.
    """
    if session is None:
        sessions, kept = store.sessions(), None
    else:
        sessions = store.sessions(store.lineage(session.line))
        kept = {entry.id for entry in store.entries(session.line)}
    lines = by_line(sessions)
    total = store.totals().messages if kept is None else len(kept)
    names = store.archive().aliases(None if kept is None else list(kept))
    work = _Work(store, manner, total, names, lines)
    yield {
        "kind": transfer.FORMAT,
        "version": transfer.VERSION,
        "shareable": manner.redact is not None,
        "session": None if session is None else manner.cleaner.name(session.name),
        "lines": len(lines),
    }
    for line in lines:
        own = session is None or line == session.line
        count = 0
        for record in _line(work, line, None if own else kept):
            count += 1
            yield record
        yield {"kind": "end", "line": line, "records": count}


def by_line(sessions: Sequence[Session]) -> dict[int, list[Session]]:
    """*sessions* by the line that they stand on, lowest first, in the order in which they are given."""
    line = attrgetter("line")
    return {number: list(those) for number, those in groupby(sorted(sessions, key=line), key=line)}


def _line(work: _Work, line: int, kept: set[int] | None) -> Iterator[dict[str, Any]]:
    """One line of the store; of one below the session that is exported only the *kept* messages."""
    store, counted = work.store, work.manner.counted
    entries = [e for e in store.entries(line) if kept is None or e.id in kept]
    sessions = work.sessions[line]
    lineage = store.lineage(line)
    yield {
        "kind": "line",
        "line": line,
        "base": lineage[1] if len(lineage) > 1 else None,
        "sessions": [_session(work, each) for each in sessions],
    }
    yield from _messages(work, entries, sessions[0].name)
    counted.sessions += len(sessions)
    if work.manner.redact is not None:
        return
    yield from _nodes(work, line, whole=kept is None)
    for done in taken(store, [each.name for each in sessions]):
        if not done.frame or done.frame in work.nodes:
            yield transfer.pass_record(done)


def _session(work: _Work, session: Session) -> dict[str, Any]:
    origin = None if work.manner.redact else work.store.recall(session.name, transfer.ORIGIN)
    name = work.manner.cleaner.name
    session = replace(session, name=name(session.name), parent=name(session.parent))
    return transfer.session_record(session, origin)


def _nodes(work: _Work, line: int, *, whole: bool) -> Iterator[dict[str, Any]]:
    """The nodes made on the line that are what they were stored as, all under them being in the file."""
    tools, counted = work.store.eraser(), work.manner.counted
    instead, changed = given(tools), {stone.name for stone in tools.stones("node")}
    there = ChainMap(work.before, work.written)
    for node in _made_on(work, line):
        under = {source.node for source in node.sources if source.node}
        try:
            stood, marks = marks_of(node, there), marks_of(node, work.written)
        except KeyError:
            stood = None
        wanted = (node.uid, instead.get(node.uid, b"").hex())
        if stood is None or not under <= work.nodes or uid_of(node, stood) not in wanted:
            counted.left_out += whole and node.line == line
            continue
        work.nodes.add(node.uid)
        counted.nodes += node.kind not in ("frame", "state")
        asked = replace(node, line=line, source_key=asked_for(node, marks))
        yield transfer.node_record(asked, uid_of(node, marks), forgotten=node.uid in changed)


def _made_on(work: _Work, line: int) -> list[Node]:
    """The nodes of a line, and those that stayed for it on lines below it whose sessions were forgotten."""
    bare = [each for each in work.store.lineage(line) if each not in work.sessions]
    found = work.store.nodes_on([line, *bare], kinds=_ALL_KINDS)
    # A summary row is of its own line alone.
    return [
        node
        for node in found
        if node.line == line or (node.kind != "frame" and node.uid not in work.nodes)
    ]


def _messages(work: _Work, entries: Sequence[Entry], session: str) -> Iterator[dict[str, Any]]:
    """Each message in its place, every version of it, unless it is in the file already."""
    counted, name = work.manner.counted, work.manner.cleaner.name
    for batch in batches(entries):
        fresh = [entry for entry in batch if (entry.id, 1) not in work.written]
        versions = _versions(work, fresh)
        for entry in batch:
            place = _place(entry._replace(uid=name(entry.uid)), name(session))
            if (entry.id, 1) in work.written:
                yield {"kind": "place", **place}
            elif entry.id in versions:
                for message in versions[entry.id]:
                    yield _message(work, place, message, work.names.get(entry.id, ()))
                    mark = work.written[entry.id, message.version] = digest(message.body)
                    if mark != message.digest:
                        work.before[entry.id, message.version] = message.digest
                counted.messages += 1
                counted.versions += entry.version - 1
        work.manner.progress("messages", counted.messages, work.total)


def _versions(work: _Work, entries: Sequence[Entry]) -> dict[int, list[Message]]:
    """Every version of each message; one of which a version cannot be read is left out, and named."""
    wanted = [(entry.id, n) for entry in entries for n in numbers_of(work.store, entry)]
    found: dict[int, list[Message]] = {}
    broken = set()
    for (number, _), message in zip(wanted, read_whole(work.store, wanted), strict=True):
        if message is None:
            broken.add(number)
        else:
            found.setdefault(number, []).append(message)
    work.manner.counted.damaged += [entry.uid for entry in entries if entry.id in broken]
    return {number: messages for number, messages in found.items() if number not in broken}


def _place(entry: Entry, session: str) -> dict[str, Any]:
    return {
        "uid": entry.uid,
        "session": session,
        "turn": entry.turn,
        "seq": entry.seq,
        "number": entry.id,
        "withdrawn": bool(entry.withdrawn),  # SQLite has 0 and 1, and an import takes true alone
        **({"returned": True} if entry.returned else {}),
    }


def _message(
    work: _Work, place: dict[str, Any], message: Message, names: Sequence[str]
) -> dict[str, Any]:
    body = message.body
    if work.manner.redact is not None:
        cleaner = work.manner.cleaner
        body, names = encode(cleaner.row(decode(body))), [*map(cleaner.name, names)]
    record = {
        "kind": "message",
        **place,
        "version": message.version,
        "versions": message.versions,
        "time": message.time,
        "names": list(names),
        "digest": digest(body).hex(),
    }
    return transfer.with_body(record, body)


def batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """*entries* in pieces whose bodies fit in memory at once."""
    batch: list[Entry] = []
    weight = 0
    for entry in entries:
        batch.append(entry)
        weight += entry.tokens * entry.version
        if weight > _BATCH_TOKENS or len(batch) == _BATCH:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch
