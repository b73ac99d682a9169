"""Writes an export into a store: what is missing, where it stood, and nothing twice.

A message is known by its uid, or another of its names. Where the number that it had is free, it gets
it again. A summary keeps its uid in any case, for a host's list names it; where what it stands for has
other numbers or bytes here, a stone says what it gives.
Where this store went another way since, the conversation is put beside the one that is here, under a
name of its own, and shares with it the messages that both have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from time import time
from typing import Any, Final

from ..dag.erase import Cleaner, cleaner
from ..dag.messages import draft_of, is_minted, key_of
from ..dag.nodes import asked_for, marks_of, uid_of
from ..storage.archive import Placed
from ..storage.canon import digest, encode
from ..storage.errors import StoreDamaged
from ..storage.forget import Stone
from ..storage.protocol import Store
from ..storage.records import Draft, Node, Source
from . import transfer
from .scan import Bad, Group, Scan, each_record
from .target import Target, target_of
from .verb import Progress

__all__ = ["Restored", "restore"]

Record = Mapping[str, Any]
_BATCH: Final = 500


@dataclass(slots=True)
class Restored:
    """What became of an export; changed in place."""

    sessions: int = 0
    messages: int = 0
    known: int = 0
    """Messages that were here already."""
    versions: int = 0
    """Versions that were added to messages, beside the first of each."""
    nodes: int = 0
    """Summaries and summary rows."""
    renamed: int = 0
    """Those of them that have another uid here, for something else has theirs."""
    left_out: int = 0
    """Records that rest on something that is not here."""


def restore(
    store: Store, path: Path, found: Scan, wanted: Sequence[Group], progress: Progress
) -> Restored:
    """Write the *wanted* groups of *found*, each whole or not at all.

    Raises:
        StoreError: the group that it stopped at, and those behind it, are not in the store.
    """
    run = _Run(store, found.shareable, progress)
    groups = {group.begins: group for group in wanted}
    bad = {each.line for group in found.groups for each in group.bad}
    for begins, records in groupby(each_record(path), _beginnings()):
        if begins in groups:
            good = (each for number, each in records if number not in bad)
            with store.writing():
                run.clean = cleaner(store, None)  # here, where nobody else can forget anything
                run.group(groups[begins], (each for each in good if not isinstance(each, Bad)))
    return run.done


class _beginnings:  # noqa: N801 - used as a function
    """For each record the number of the line at which its group begins."""

    def __init__(self) -> None:
        self.at = 0

    def __call__(self, item: tuple[int, Record | Bad]) -> int:
        number, record = item
        if not isinstance(record, Bad) and record["kind"] == "line":
            self.at = number
        return self.at


@dataclass(slots=True)
class _Run:
    """What the file's numbers, lines and nodes are here."""

    store: Store
    shareable: bool
    progress: Progress
    clean: Cleaner = field(default_factory=Cleaner)
    """Takes out what this store was told to forget."""
    done: Restored = field(default_factory=Restored)
    lines: dict[int, int] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    versions: dict[tuple[int, int], int] = field(default_factory=dict)
    """Version here of each (number, version) of the file."""
    digests: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """Digest of each (number, version) here."""
    nodes: dict[str, str] = field(default_factory=dict)

    def group(self, group: Group, records: Iterator[Record]) -> None:
        """Write one conversation, inside a transaction."""
        target = target_of(self.store, group, self.lines.get(group.base or 0))
        self.lines[group.line] = target.line
        names = self._sessions(group, target)
        new = group.names.keys() - target.known.keys()
        shift = self.store.archive().shift([group.numbers[uid] for uid in new])
        place = _Place(target, shift, {entry.id for entry in target.stored.values()})
        for kind, batch in _batches(map(self._called, records)):
            if kind == "message":
                self._messages(batch, place)
            elif kind == "node":
                self._nodes(batch)
            elif kind == "pass":
                self._passes(batch, names)
            self.progress("messages", self.done.messages + self.done.known, 0)

    def _called(self, record: Record) -> Record:
        """A record whose uids hold nothing that was forgotten."""
        if self.clean.erase is None or record["kind"] not in ("message", "place"):
            return record
        names = [self.clean.name(name) for name in record.get("names", ())]
        return {**record, "uid": self.clean.name(record["uid"]), "names": names}

    def _sessions(self, group: Group, target: Target) -> dict[str, str]:
        """Put those that are missing on record; returns what each is called here."""
        pairs = list(zip(group.sessions, target.sessions, strict=True))
        names = {was.name: now.name for was, now in pairs}
        for was, now in pairs:
            if self.store.session(now.name) is None:
                parent = names.get(now.parent, now.parent)
                base = self.lines.get(group.base or 0)
                self.store.archive().restore_session(replace(now, parent=parent), base)
                self.done.sessions += 1
            if was.name in group.origins:
                self.store.remember(now.name, transfer.ORIGIN, group.origins[was.name])
        return names

    # messages

    def _messages(self, batch: Sequence[Sequence[Record]], place: _Place) -> None:
        """Each item of *batch* is a message in all its versions, or a place of one that is written."""
        known = self._known(batch, place)
        rows: list[tuple[Placed, Draft | None]] = []
        for first, *_ in batch:
            placed = transfer.placed_from(first)
            number = self._number(first, placed, known)
            if number is None:
                row = placed._replace(number=placed.number + place.shift)
                rows.append((row, self._draft(first)))
                self.numbers[placed.number] = row.number
                place.taken.add(row.number)
            elif number and number not in place.taken:
                rows.append((placed._replace(number=number), None))
                place.taken.add(number)
        self.store.archive().restore(place.target.line, rows)
        fresh = {row.number for row, draft in rows if draft}
        self.done.messages += len(fresh)
        for records in batch:
            number = self.numbers.get(records[0]["number"])
            if records[0]["kind"] == "message" and number is not None:
                self._versions(number, records, place, new=number in fresh)
                if number in fresh or not self.shareable:
                    self._rename(number, records[0], known, place, new=number in fresh)

    def _known(self, batch: Sequence[Sequence[Record]], place: _Place) -> Mapping[str, int]:
        """Our numbers of the messages of the batch that are here already, by each of their names."""
        if self.clean.erase is None:
            return place.target.known
        return self.store.known({name for first, *_ in batch for name in _names(first)})

    def _number(self, first: Record, placed: Placed, known: Mapping[str, int]) -> int | None:
        """Our number of a message; None for a new one, 0 for a place of one that was left out."""
        if first["kind"] == "place":
            number = self.numbers.get(placed.number, 0)
            self.done.left_out += not number
            return number
        found = next((known[name] for name in _names(first) if name in known), None)
        if found is not None:
            self.numbers[placed.number] = found
            self.done.known += 1
        return found

    def _versions(
        self, number: int, records: Sequence[Record], place: _Place, *, new: bool
    ) -> None:
        """Add the versions that are missing here; of a *new* message the first is stored already."""
        stored = {} if new else self._stored(number, place)
        have = {mark: version for version, mark in stored.items()}
        for record in records:
            mark = bytes.fromhex(record["digest"])
            if mark not in have and (not new or self.clean.erase is not None):
                mark = self._draft(record).digest
                have = {**self._bodies(stored, number), **have}
            if mark not in have:
                if self.shareable and not new:
                    continue
                if stored:
                    self.store.revise(place.target.line, number, self._draft(record))
                    self.done.versions += 1
                have[mark] = max(stored, default=0) + 1
                stored[have[mark]] = mark
            self.versions[record["number"], record["version"]] = have[mark]
            self.digests[number, have[mark]] = stored[have[mark]]

    def _stored(self, number: int, place: _Place) -> dict[int, bytes]:
        """The digest of each version of a message that is here."""
        entry = place.entries.get(number)
        if entry is not None and entry.version == 1:
            return {1: entry.digest}
        wanted = [(number, version) for version, _ in self.store.editions(number)]
        return {message.version: message.digest for message in self.store.read(wanted)}

    def _bodies(self, stored: Mapping[int, bytes], number: int) -> dict[bytes, int]:
        """The versions by the bytes that stand there now: other ones, where something was forgotten."""
        wanted = [(number, version) for version in stored if self.clean.erase is not None]
        return {digest(message.body): message.version for message in self.store.read(wanted)}

    def _rename(
        self, number: int, first: Record, known: Mapping[str, int], place: _Place, *, new: bool
    ) -> None:
        """Let all names of the message find it here."""
        uid, line = first["uid"], place.target.line
        if not new and uid not in known and not is_minted(uid):
            (message,) = self.store.read([(number, 0)])
            if is_minted(message.uid):
                self.store.rename(line, number, uid)
        missing = [
            name for name in _names(first) if name not in known and not (new and name == uid)
        ]
        for name in missing:
            if name not in self.store.known([name]):
                self.store.alias(number, name)

    def _draft(self, record: Record) -> Draft:
        """A message as it was, byte for byte, but for what this store was told to forget."""
        body = transfer.body_of(record)
        row = transfer.message_of(record, body)
        if (clean := self.clean.row(row)) is not row:
            row, body = clean, encode(clean)
        draft = draft_of(row, key=key_of(row), uid=record["uid"], body=body)
        return draft._replace(time=float(record["time"]))

    # what stands over them

    def _nodes(self, batch: Sequence[Sequence[Record]]) -> None:
        for (record,) in batch:
            was = transfer.node_from(record)
            try:
                node, gives = self._translated(self.clean.node(was))
            except KeyError:
                self.done.left_out += 1
                continue
            here = self._readable(node.uid)
            if not here:
                lost = transfer.is_forgotten(record) or node.texts != was.texts
                self._put(
                    node, gives, lost=lost or (node.topic, node.hints) != (was.topic, was.hints)
                )
            elif not _same(here[0], node):
                node = replace(node, uid=gives)
                if not self._readable(gives):
                    self._put(node, gives)
                    self.done.renamed += 1
            self.nodes[was.uid] = node.uid

    def _readable(self, uid: str) -> list[Node]:
        """The node of that uid; one that is damaged is as good as none, and is put in again."""
        try:
            return self.store.nodes([uid])
        except StoreDamaged:
            return []

    def _put(self, node: Node, gives: str, *, lost: bool = False) -> None:
        """Store a node that *gives* this; *lost*: something in it was forgotten, there or here."""
        self.store.put_node(node)
        self.done.nodes += node.kind not in ("frame", "state")  # as export and verify count them
        if lost or gives != node.uid:
            kind = "node" if lost else "moved"
            self.store.eraser().bury(Stone(kind, node.uid, time(), bytes.fromhex(gives)))

    def _translated(self, node: Node) -> tuple[Node, str]:
        """The node over the messages and nodes as they are called here, and what it gives here.

        Raises:
            KeyError: one of them is not here.
        """
        sources = tuple(
            Source(
                message=self.numbers[source.message],
                version=self.versions[source.message, source.version],
            )
            if source.message is not None
            else Source(node=self.nodes[source.node or ""], level=source.level)
            for source in node.sources
        )
        lifted = tuple(self.numbers[number] for number in node.lifted)
        moved = replace(node, line=self.lines[node.line], sources=sources, lifted=lifted)
        marks = marks_of(moved, self.digests)
        return replace(moved, source_key=asked_for(moved, marks)), uid_of(moved, marks)

    def _passes(self, batch: Sequence[Sequence[Record]], names: Mapping[str, str]) -> None:
        # Read once for the batch: a busy session has thousands, and all this is one transaction.
        stored = self.store.passes(sorted(set(names.values())))
        known = {(each.session, each.time, each.frame) for each in stored}
        for (record,) in batch:
            done = transfer.pass_from(record)
            name = names.get(done.session)
            if name is None or (done.frame and done.frame not in self.nodes):
                self.done.left_out += 1
                continue
            here = replace(done, session=name, frame=self.nodes.get(done.frame, ""))
            mark = (here.session, here.time, here.frame)
            if mark not in known:
                known.add(mark)
                self.store.record_pass(here)


class _Place:
    """The line that a group is written to."""

    def __init__(self, target: Target, shift: int, taken: set[int]) -> None:
        self.target = target
        self.shift = shift
        """What is added to the numbers of new messages."""
        self.taken = taken
        """Numbers of the messages that stand on the line."""
        self.entries = {entry.id: entry for entry in target.stored.values()}


def _same(one: Node, other: Node) -> bool:
    """Whether two nodes of one uid stand for the same; a frame on another line is another row."""
    under = [[each._replace(version=0) for each in node.sources] for node in (one, other)]
    return under[0] == under[1] and (one.kind != "frame" or one.line == other.line)


def _names(first: Record) -> list[str]:
    return [first["uid"], *first.get("names", ())]


def _batches(records: Iterator[Record]) -> Iterator[tuple[str, list[list[Record]]]]:
    """Records of one kind together, the versions of a message as one; ``place`` counts as ``message``."""
    batch: list[list[Record]] = []
    kind = ""
    for record in records:
        its = "message" if record["kind"] == "place" else record["kind"]
        if kind == its == "message" and record.get("version", 1) > 1:
            batch[-1].append(record)
            continue
        if batch and (its != kind or len(batch) == _BATCH):
            yield kind, batch
            batch = []
        kind = its
        batch.append([record])
    if batch:
        yield kind, batch
