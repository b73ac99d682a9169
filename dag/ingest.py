"""Says which stored message every row of the host's list stands for, and stores the rest.

``Ledger.ingest`` may be called at any moment, by any door, as often as one
likes, with any list: the newest, an old one, a part of one. What it has seen
is not stored again; what it has not seen is stored before it returns.

The list is the truth of what is in the context now. So a missing *end* of the
stored line is withdrawn (undo), until a list brings it back; a missing middle
is only filtered, and stays.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..storage.canon import decode
from ..storage.protocol import Store
from ..storage.records import Draft, Entry, Node, Session
from .identity import STUB, is_less
from .matching import Match, Probe, match
from .messages import (
    Row,
    absorbed_uids,
    draft_of,
    host_uid,
    is_minted,
    is_system,
    key_of,
    same_words,
    turn_count,
)
from .renderer import FILLER, Recognised, is_filler, recognise

__all__ = ["Binding", "Bound", "IngestReport", "Ledger"]

_FIRST_WINDOW = 64
"""Stored messages looked at beyond twice the length of a list that has no summary row."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one call of ``ingest`` found: rows without system rows and our own."""

    new: int = 0
    known: int = 0
    revised: int = 0
    """Known messages of which the list shows a new version."""
    withdrawn: int = 0
    """Stored messages that the list no longer has at its end."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What one row of the list stands for."""

    kind: str
    """``message``, ``frame`` (a summary row), ``filler`` or ``system``."""
    messages: tuple[int, ...] = ()
    """Our numbers of its messages: several for a fold."""
    frame: str = ""
    """uid of the frame, also where a message was merged behind the summary."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A host's list and what its rows stand for."""

    rows: Sequence[Any]
    bound: Sequence[Bound]
    ends: Sequence[int]
    """For each row the highest order key that the list has reached with it."""


_SYSTEM, _FILLER = Bound("system"), Bound("filler")


class Ledger:
    """Ingests the lists of one session; safe to use from several threads."""

    def __init__(self, store: Store, session: Session) -> None:
        self.store = store
        self.session = session
        self._mutex = threading.RLock()
        self._seen: list[Any] = []
        """Copies of the rows of the last list, and in step with it what they stand for."""
        self._bound: list[Bound] = []
        self._ends: list[int] = []
        self._known = 0
        """How many of the last list's rows are messages."""
        self._revision = -1
        """Revision of the line that the last list was bound to."""

    def ingest(self, rows: Sequence[Any]) -> IngestReport:
        """Store what is new in *rows*.

        Raises:
            StoreError: nothing of this list was stored.
        """
        with self._mutex:
            start = _same_until(self._seen, rows)
            if start == len(rows) == len(self._seen):
                return IngestReport(known=self._known)
            try:
                return self._bind(rows, start)
            except BaseException:
                self._forget(0)
                raise

    def bind(self, rows: Sequence[Any]) -> tuple[IngestReport, Binding]:
        """The same, and what each row stands for.

        Raises:
            StoreError: nothing of this list was stored.
        """
        with self._mutex:
            report = self.ingest(rows)
            return report, Binding(rows, list(self._bound), list(self._ends))

    def _bind(self, rows: Sequence[Any], start: int) -> IngestReport:
        line = self.session.line
        with self.store.writing():
            if self.store.revision(line) != self._revision:
                start = 0
            self._forget(start)
            known = self._known
            self._seen += map(_copy, rows[start:])
            report = _Run(self.store, line, rows, self._bound, self._ends).bind()
            revision = self.store.revision(line)
        self._known += _messages(self._bound[start:])
        self._revision = revision
        return replace(report, known=report.known + known)

    def _forget(self, start: int) -> None:
        """Keep what is known of the first *start* rows only."""
        self._known -= _messages(self._bound[start:])
        del self._seen[start:], self._bound[start:], self._ends[start:]


def _messages(bound: Sequence[Bound]) -> int:
    """How many rows are messages."""
    return sum(each.kind == "message" for each in bound)


def _copy(value: Any) -> Any:
    """A copy that a later change in place of the original does not reach."""
    if isinstance(value, dict):
        return {
            key: _copy(item) if isinstance(item, dict | list) else item
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_copy(item) if isinstance(item, dict | list) else item for item in value]
    return value


_BLOCK = 256


def _same_until(seen: Sequence[Any], rows: Sequence[Any]) -> int:
    """How many rows at the start are what was seen. Whole blocks are compared in C."""
    count = min(len(seen), len(rows))
    for start in range(0, count, _BLOCK):
        end = min(start + _BLOCK, count)
        if seen[start:end] != rows[start:end]:
            return next(n for n in range(start, end) if seen[n] != rows[n])
    return count


@dataclass(slots=True)
class _Stretch:
    """The rows from one summary row of ours to the next."""

    frame: Node | None
    probes: list[Probe]
    floor: int | None
    """Order key behind which its messages stand; None if nothing says."""


class _Run:
    """One binding of one list, inside a write transaction."""

    def __init__(
        self, store: Store, line: int, rows: Sequence[Any], bound: list[Bound], ends: list[int]
    ) -> None:
        self.store, self.line, self.rows = store, line, rows
        self.bound, self.ends = bound, ends
        self.lineage = store.lineage(line)
        self.counts = {"new": 0, "known": 0, "revised": 0, "withdrawn": 0}

    def bind(self) -> IngestReport:
        start = len(self.bound)
        self.bound += [_SYSTEM] * (len(self.rows) - start)
        self.ends += [0] * (len(self.rows) - start)
        stretches = self._stretches(start)
        uids = [name for s in stretches for probe in s.probes for name in probe.names]
        by_uid = self.store.known(dict.fromkeys(uids)) if uids else {}
        for stretch in stretches:
            self._bind_stretch(stretch, by_uid, last=stretch is stretches[-1])
        self._carry_ends(start)
        return IngestReport(**self.counts)

    # what is ours

    def _stretches(self, start: int) -> list[_Stretch]:
        floor = self.ends[start - 1] if start and self.ends[start - 1] else None
        stretches = [_Stretch(None, [], floor)]
        for index in range(start, len(self.rows)):
            row = self.rows[index]
            if is_system(row):
                continue
            if known := recognise(row, self._frames, self.store.nodes):
                stretches.append(_Stretch(known.frame, [], known.frame.last_seq))
                self.bound[index] = Bound("frame", frame=known.frame.uid)
                row = _rest_of(row, known)
            elif self._behind_summary(index):
                row = _without_filler(row)
                self.bound[index] = _FILLER
            if row is not None:
                stretches[-1].probes.append(Probe(index, row, key_of(row), self._names(row)))
        return stretches if stretches[0].probes or len(stretches) == 1 else stretches[1:]

    def _names(self, row: Row) -> tuple[str, ...]:
        """uids of the messages that the row stands for, as far as it tells."""
        uid = host_uid(row)
        if uid:
            return (uid, *absorbed_uids(row))
        content = row.get("content")
        cut = STUB.search(content) if isinstance(content, str) else None
        for kind, name in self.store.resolve(cut[1]) if cut else ():
            if kind == "message":
                (message,) = self.store.read([(self.store.known([name])[name], 0)])
                if is_less(decode(message.body), row):
                    return (name,)
        return ()

    def _frames(self, prefix: str) -> list[Node]:
        uids = [uid for kind, uid in self.store.resolve(prefix) if kind == "node"]
        return [
            node
            for node in self.store.nodes(uids)
            if node.kind == "frame" and node.line in self.lineage
        ]

    def _behind_summary(self, index: int) -> bool:
        """Whether the row is, or begins with, the sentence that we put behind a summary row."""
        row = self.rows[index]
        if not index or self.bound[index - 1].kind != "frame" or row.get("role") != "assistant":
            return False
        content = row.get("content")
        return is_filler(row) or (isinstance(content, str) and content.startswith(FILLER))

    # one stretch

    def _bind_stretch(self, stretch: _Stretch, by_uid: dict[str, int], *, last: bool) -> None:
        probes = stretch.probes
        stored = self._candidates(stretch)
        found = match(stored, probes, by_uid, self._read)
        while stretch.floor is None and stored and not found.found[0] and self._more(stored):
            stored = self.store.tail(self.line, 4 * len(stored))
            found = match(stored, probes, by_uid, self._read)
        self._elsewhere(stored, probes, by_uid, found)
        for probe, places in zip(probes, found.found, strict=True):
            if places:
                self._note(probe, [stored[place] for place in places])
        self._store_new(stretch, stored, found)
        reached = [stored[place].seq for places in found.found for place in places]
        if last and (reached or stretch.floor is not None):
            self._withdraw(stored, found, max(reached, default=stretch.floor or 0))
        self._revoke(stretch, stored, found)

    def _candidates(self, stretch: _Stretch) -> list[Entry]:
        if stretch.floor is None:
            return self.store.tail(self.line, 2 * len(stretch.probes) + _FIRST_WINDOW)
        entries = self.store.entries(self.line, first=stretch.floor + 1)
        if stretch.frame and stretch.frame.lifted:
            entries = [*self.store.placed(self.line, [stretch.frame.lifted]), *entries]
        return entries

    def _more(self, stored: Sequence[Entry]) -> bool:
        return bool(self.store.tail(self.line, 1, before=stored[0].seq))

    def _elsewhere(
        self, stored: list[Entry], probes: Sequence[Probe], by_uid: dict[str, int], found: Match
    ) -> None:
        """Rows whose uid is known although they are not in this stretch: below a summary, or on another line."""
        wanted = {
            n: by_uid[uid]
            for n, probe in enumerate(probes)
            if not found.found[n] and (uid := next(iter(probe.names), "")) in by_uid
        }
        if not wanted:
            return
        placed = {entry.id: entry for entry in self.store.placed(self.line, wanted.values())}
        for n, message in wanted.items():
            if message not in placed:
                turn = self._last_turn() + turn_count(probes[n].row)
                placed[message] = self.store.link(self.line, [(message, turn)])[0]
            stored.append(placed[message])
            found.bind(n, len(stored) - 1)

    def _last_turn(self) -> int:
        entries = self.store.tail(self.line, 1)
        return entries[-1].turn if entries else 0

    def _read(self, entries: Sequence[Entry]) -> list[list[Row]]:
        """Each message in its current version and, if it has others, its first."""
        wanted = [(e.id, v) for e in entries for v in ((0, 1) if e.version > 1 else (0,))]
        found: dict[int, list[Row]] = {}
        for message in self.store.read(wanted):
            found.setdefault(message.id, []).append(decode(message.body))
        return [found[entry.id] for entry in entries]

    # what a known row says

    def _note(self, probe: Probe, entries: Sequence[Entry]) -> None:
        """Bind a row to the messages it is, and keep what is new about them."""
        self._bind(probe, [entry.id for entry in entries], max(entry.seq for entry in entries))
        self._name(probe, entries)
        revised = len(entries) == 1 and self._is_revision(probe, entries[0])
        if revised:
            draft = draft_of(probe.row, key=probe.key, uid=entries[0].uid)
            self.store.revise(self.line, entries[0].id, draft)
        self.counts["revised" if revised else "known"] += 1

    def _bind(self, probe: Probe, messages: Sequence[int], seq: int) -> None:
        before = self.bound[probe.index]
        self.bound[probe.index] = Bound("message", tuple(messages), before.frame)
        self.ends[probe.index] = seq

    def _name(self, probe: Probe, entries: Sequence[Entry]) -> None:
        """Take over a uid that the host gave since."""
        uid = host_uid(probe.row)
        if uid and uid != entries[0].uid and is_minted(entries[0].uid):
            self.store.rename(self.line, entries[0].id, uid)
        for name in absorbed_uids(probe.row):
            self.store.alias(entries[-1].id, name)

    def _is_revision(self, probe: Probe, entry: Entry) -> bool:
        if probe.key == entry.key:
            return False
        ((old, *_),) = self._read([entry])
        if same_words(probe.key, entry.key) and old.get("content") == probe.row.get("content"):
            return False
        return not is_less(old, probe.row)

    # new rows

    def _store_new(self, stretch: _Stretch, stored: list[Entry], found: Match) -> None:
        """Store the unbound rows, each run of them in front of the next bound row, or at the end."""
        run: list[Probe] = []
        for probe, places in zip(stretch.probes, found.found, strict=True):
            if not places:
                run.append(probe)
            elif run:
                self._insert(run, stored, places[0], stretch.floor)
                run = []
        if run:
            reached = [stored[place] for places in found.found for place in places]
            self._append(run, max(reached, key=lambda e: e.seq, default=None), stretch)

    def _insert(
        self, run: Sequence[Probe], stored: Sequence[Entry], place: int, floor: int | None
    ) -> None:
        following = stored[place]
        before = self.store.tail(self.line, 1, before=following.seq)
        after, turn = (before[0].seq, before[0].turn) if before else (floor or 0, 0)
        started = self._write(run, turn, after)
        if started:
            later = self.store.entries(self.line, first=following.seq)
            self.store.renumber(self.line, [(entry.seq, entry.turn + started) for entry in later])

    def _append(self, run: Sequence[Probe], reached: Entry | None, stretch: _Stretch) -> None:
        if reached is not None:
            turn = reached.turn
        elif stretch.frame is not None:
            turn = stretch.frame.last_turn
        else:
            turn = self._turn_at(stretch.floor)
        self._write(run, turn, None)

    def _turn_at(self, floor: int | None) -> int:
        before = self.store.tail(self.line, 1, before=None if floor is None else floor + 1)
        return before[-1].turn if before else 0

    def _write(self, run: Sequence[Probe], turn: int, after: int | None) -> int:
        """Store *run* behind *after*; returns how many turns it starts."""
        first = turn
        drafts: list[tuple[Draft, int]] = []
        again: list[tuple[Probe, int]] = []
        uids: dict[str, int] = {}
        for probe in run:
            draft = draft_of(probe.row, key=probe.key)
            if draft.uid in uids:
                again.append((probe, uids[draft.uid]))
                continue
            uids[draft.uid] = len(drafts)
            turn += turn_count(probe.row)
            drafts.append((draft, turn))
        entries = self.store.append(self.line, drafts, after=after)
        fresh = [probe for probe in run if all(probe is not other for other, _ in again)]
        for probe, entry in zip(fresh, entries, strict=True):
            self._bind(probe, [entry.id], entry.seq)
            for name in absorbed_uids(probe.row):
                self.store.alias(entry.id, name)
        self.counts["new"] += len(entries)
        for probe, place in again:  # a uid in two rows is one message, and the later row counts
            (entry,) = self.store.placed(self.line, [entries[place].id])
            self._note(probe, [entry])
        return turn - first

    # what the list no longer has

    def _withdraw(self, stored: Sequence[Entry], found: Match, reached: int) -> None:
        gone = [
            entry.seq
            for place, entry in enumerate(stored)
            if entry.seq > reached and place not in found.taken and not entry.withdrawn
        ]
        if gone:
            self.store.withdraw(self.line, gone, withdrawn=True)
            self.counts["withdrawn"] += len(gone)

    def _revoke(self, stretch: _Stretch, stored: Sequence[Entry], found: Match) -> None:
        back = [stored[place].seq for place in found.taken if stored[place].withdrawn]
        if stretch.frame is not None:
            hidden = self.store.withdrawn(self.line, last=stretch.frame.last_seq)
            if hidden:
                under = {message for message, _ in self.store.stands_for(stretch.frame.uid)}
                back += [entry.seq for entry in hidden if entry.id in under]
        if back:
            self.store.withdraw(self.line, back, withdrawn=False)

    def _carry_ends(self, start: int) -> None:
        """Rows that are no message have reached as far as the row before."""
        reached = self.ends[start - 1] if start else 0
        for index in range(start, len(self.rows)):
            if self.bound[index].frame:
                (frame,) = self.store.nodes([self.bound[index].frame])
                reached = frame.last_seq
            reached = self.ends[index] = max(reached, self.ends[index])


def _rest_of(row: Row, known: Recognised) -> Row | None:
    """The message that a host merged behind a summary row."""
    if not known.rest:
        return None
    return {name: value for name, value in row.items() if name not in _OURS} | {
        "content": known.rest
    }


_OURS = frozenset({"_compressed_summary", "message_uid"})


def _without_filler(row: Row) -> Row | None:
    """The message that a host merged behind our sentence."""
    content = row.get("content")
    rest = content.partition(FILLER)[2].strip() if isinstance(content, str) else ""
    if not rest and not row.get("tool_calls"):
        return None
    return {name: value for name, value in row.items() if name not in _OURS} | {"content": rest}
