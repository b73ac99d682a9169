"""Binds one list of a host to one line of the store, and stores what is new in it.

The list is the truth of what is in the context now. So a missing *end* of the
stored line is withdrawn (undo), until a list brings it back; a missing middle
is only filtered, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from ..storage.errors import StoreDamaged
from ..storage.protocol import Store
from ..storage.records import Draft, Entry, Node
from .anew import Beginning
from .bound import Bound, IngestReport, Memo
from .editions import Editions
from .identity import STUB, is_less, refilled
from .leftover import Probe, Uids
from .matching import Match, match
from .messages import (
    KEY_BYTES,
    Row,
    absorbed_uids,
    draft_of,
    host_uid,
    is_system,
    key_of,
    turn_count,
)
from .renderer import Frames, begins_with_filler, is_quoted, recognise, rest_of, without_filler
from .window import matched

__all__ = ["Clean", "Run"]

Clean = Callable[[Row], Row]
"""A message without what must not be stored."""

_BATCH = 1000
"""New messages written at a time: what is held for them in memory is bounded by it."""
_RESENT = 3
"""Rows that must stand behind a summary row again where the whole list stands twice."""


_SYSTEM, _FILLER = Bound("system"), Bound("filler")


@dataclass(slots=True)
class _Stretch:
    """The rows from one summary row of ours to the next, or to where the host's list begins anew."""

    frame: Node | None
    probes: list[Probe]
    floor: int | None
    """Order key behind which its messages stand; None if nothing says."""
    lifted: tuple[int, ...] = ()
    """Messages that stand among them although they are older."""


def _words(row: Any) -> bytes:
    return b"" if is_system(row) else key_of(row)[:KEY_BYTES]


def _in_front(entries: Sequence[Entry], lifted: Entry, probes: Sequence[Probe]) -> int:
    """How many of *entries* a list shows in front of what was lifted: what a host put behind our summary row."""
    said = [probe.key[:KEY_BYTES] for probe in probes]
    stored = [entry.key[:KEY_BYTES] for entry in entries[: len(said)]]
    if lifted.key[:KEY_BYTES] not in said:  # it was changed
        return sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(stored, said, strict=False))
        )
    ahead = said.index(lifted.key[:KEY_BYTES])
    later = set(said[ahead:])
    return sum(1 for _ in takewhile(lambda words: words not in later, stored[:ahead]))


class Run:
    """One binding of one list, inside a write transaction."""

    def __init__(
        self, store: Store, line: int, rows: Sequence[Any], memo: Memo, clean: Clean | None = None
    ) -> None:
        """*clean* takes out of a message what must not be stored; rows of ours are known as they are."""
        self.store, self.line, self.rows = store, line, rows
        self.memo = memo
        self._clean: Clean = clean or (lambda row: row)
        self._frames = Frames(store, memo.lineage)
        self.bound, self.ends, self.end = memo.bound, memo.ends, memo.end
        self.editions = Editions(store, line)
        self.opened: dict[int, int] = {}
        """Places of the summary rows that open a stretch, and the order keys at which their frames end."""
        self.awaited: tuple[int, ...] = ()
        self.turn = 0
        self.written: dict[str, int] = {}
        """Our numbers of the messages that got their uid with this list."""
        self.counts = {"new": 0, "known": 0, "revised": 0, "withdrawn": 0}

    def bind(self) -> IngestReport:
        start = len(self.bound)
        self.awaited = self.memo.awaited()
        self.bound += [_SYSTEM] * (len(self.rows) - start)
        self.ends += [0] * (len(self.rows) - start)
        stretches = self._stretches(start)
        probes = [probe for stretch in stretches for probe in stretch.probes]
        uids = dict.fromkeys(name for probe in probes for name in probe.names)
        known = self.editions.apart(probes, self.store.known(uids)) if uids else {}
        said = Uids(known, self.memo.named, self.memo.renamed, self.memo.before)
        for stretch in stretches:
            self._bind_stretch(stretch, said, last=stretch is stretches[-1])
        self._carry_ends(start)
        return IngestReport(**self.counts)

    # what is ours

    def _stretches(self, start: int) -> list[_Stretch]:
        floor = self.ends[start - 1] if start and self.ends[start - 1] else None
        stretches = [_Stretch(None, [], floor, self.awaited)]
        beginning = Beginning(self.rows)
        for index in range(start, len(self.rows)):
            row = self.rows[index]
            if is_system(row):
                continue
            known = recognise(row, self._frames)
            opens = known is not None and self._opens(index, known.frame)
            if known is not None and (opens or not is_quoted(row, known)):
                frame = known.frame
                if opens:
                    stretches.append(_Stretch(frame, [], frame.last_seq, frame.lifted))
                    self.memo.lifted = (index, frame.lifted)
                    self.opened[index] = frame.last_seq
                self.bound[index] = Bound("frame", frame=frame.uid)
                row = rest_of(row, known)
            elif index and self.bound[index - 1].kind == "frame" and begins_with_filler(row):
                row = without_filler(row)
                self.bound[index] = _FILLER
            elif beginning.stands_at(index):
                stretches.append(_Stretch(None, [], None))
            if row is not None:
                row, names = self._named(self._clean(row))
                stretches[-1].probes.append(Probe(index, row, key_of(row), names))
        return stretches if stretches[0].probes or len(stretches) == 1 else stretches[1:]

    def _opens(self, index: int, frame: Node) -> bool:
        """Whether the conversation goes on behind this summary row from where its frame ends.

        A person may send the text of a summary row again: then it goes on from where it was. But a
        host may also restore the whole list twice; then what follows is what followed before.
        """
        earlier = [n for n in range(index) if self.bound[n].frame]
        if not earlier:
            return True
        first = earlier[0]
        if self.bound[first].frame == frame.uid:
            count = min(_RESENT, index - first - 1)
            rows = self.rows[first + 1 : first + 1 + count]
            again = self.rows[index + 1 : index + 1 + count]
            return bool(count) and list(map(_words, rows)) == list(map(_words, again))
        shown = self.store.nodes([self.bound[n].frame for n in earlier], damaged=True)
        return frame.last_seq > max(node.last_seq for node in shown)

    def _named(self, row: Row) -> tuple[Row, tuple[str, ...]]:
        """The row, and uids of the messages that it stands for, as far as it tells."""
        uid = host_uid(row) if "message_uid" in row else None
        if uid:
            self.memo.named = True
            return row, (uid, *absorbed_uids(row))
        content = row.get("content")
        cut = STUB.search(content) if isinstance(content, str) and "[lcm " in content else None
        for kind, name in self.store.resolve(cut[1]) if cut else ():
            if kind == "message":
                try:
                    ((_, old),) = self.store.parsed([(self.store.known([name])[name], 0)])
                except StoreDamaged:  # what is shown of it is all there is
                    return row, (name,)
                if is_less(old, row):
                    return row, (name,)
                row = refilled(old, row)
        return row, ()

    # one stretch

    def _bind_stretch(self, stretch: _Stretch, uids: Uids, *, last: bool) -> None:
        probes = stretch.probes
        if not probes and stretch.floor is None:
            return  # a list without a message says nothing
        if stretch.floor is None:
            stored, found = matched(self.store, self.line, probes, uids, self.editions.read)
        else:
            stored = self._behind(stretch.floor, stretch.lifted, probes)
            found = match(stored, probes, uids, self.editions.read, behind=True)
        self._elsewhere(stored, probes, uids.numbers, found)
        self._note_same(probes[: found.same], stored)
        for n in range(found.same, len(probes)):
            if places := found.found[n]:
                self._note(probes[n], [stored[place] for place in places])
        self._store_new(stretch, stored, found)
        reached = [stored[place].seq for places in found.found for place in places]
        if last and (probes or stretch.floor is not None):
            self._withdraw(stored, found, max(reached, default=stretch.floor or 0))
        self._revoke(stretch, stored, found)

    def _behind(self, floor: int, lifted: Sequence[int], probes: Sequence[Probe]) -> list[Entry]:
        """What stands behind a frame, as its list shows it: what was lifted in front, but for what came before that."""
        if self.end is not None and floor == self.end[0]:
            return []
        entries = self.store.entries(self.line, first=floor + 1)
        older = self.store.placed(self.line, lifted) if lifted else []
        if not older:
            return entries
        front = _in_front(entries, older[0], probes)
        return [*entries[:front], *older, *entries[front:]]

    def _elsewhere(
        self, stored: list[Entry], probes: Sequence[Probe], by_uid: Mapping[str, int], found: Match
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

    # what a known row says

    def _note_same(self, probes: Sequence[Probe], entries: Sequence[Entry]) -> None:
        """Bind rows that are *entries* to the letter, one by one; none of them has a uid."""
        bound, ends, new = self.bound, self.ends, tuple.__new__
        for (at, row, *_), entry in zip(probes, entries, strict=False):
            bound[at] = new(Bound, ("message", (entry.id,), entry.version, bound[at].frame))
            ends[at] = entry.seq
            for name in absorbed_uids(row):
                self.store.alias(entry.id, name)
        if probes:
            self.turn = max(self.turn, *(entry.turn for entry in entries[: len(probes)]))
        self.counts["known"] += len(probes)

    def _note(self, probe: Probe, entries: Sequence[Entry]) -> None:
        """Bind a row to the messages it is, and keep what is new about them."""
        self.editions.name(probe, entries, renamed=self.memo.renamed)
        if uid := host_uid(probe.row):
            self.written.setdefault(uid, entries[0].id)
        last = max(entry.seq for entry in entries)
        self.turn = max(self.turn, entries[-1].turn)
        version, revised = self.editions.note(probe, entries)
        self._bind(probe, [entry.id for entry in entries], last, version)
        self.counts["revised" if revised else "known"] += 1

    def _bind(self, probe: Probe, messages: Sequence[int], seq: int, version: int) -> None:
        before = self.bound[probe.at]
        self.bound[probe.at] = Bound("message", tuple(messages), version, before.frame)
        self.ends[probe.at] = seq

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
        if floor is not None and following.seq <= floor:  # an older one: what is new is not
            behind = self.store.entries(self.line, first=floor + 1)[:1]
            if not behind:
                self._write(run, self._turn_at(floor), None)
                return
            following = behind[0]
        before = self.store.tail(self.line, 1, before=following.seq)
        after, turn = (before[0].seq, before[0].turn) if before else (floor or 0, 0)
        if following.seq - after <= len(
            run
        ):  # no room between the two: rather at the end than nowhere
            self._write(run, self._last_turn(), None)
            return
        started = self._write(run, turn, after)
        if started:
            self.editions.shift(following.seq, started)

    def _append(self, run: Sequence[Probe], reached: Entry | None, stretch: _Stretch) -> None:
        if reached is not None:
            turn = self._turn_at(reached.seq) if self.editions.renumbered else reached.turn
        elif stretch.frame is not None:
            turn = max(stretch.frame.last_turn, self.turn)
        elif self.end is not None and stretch.floor == self.end[0]:
            turn = self.end[1]
        else:
            turn = self._turn_at(stretch.floor)
        self._write(run, turn, None)

    def _turn_at(self, floor: int | None) -> int:
        before = self.store.tail(self.line, 1, before=None if floor is None else floor + 1)
        return before[-1].turn if before else 0

    def _write(self, run: Sequence[Probe], turn: int, after: int | None) -> int:
        """Store *run* behind *after*; returns how many turns it starts."""
        first = turn
        again: list[tuple[Probe, str]] = []
        uids = self.written  # of other runs too: a list may hold all of its new rows twice
        # What is put between two is written at once: the room there is shared out among all of it.
        batch = _BATCH if after is None else len(run)
        for start in range(0, len(run), batch):
            drafts: list[tuple[Draft, int]] = []
            fresh: list[Probe] = []
            for probe in run[start : start + batch]:
                draft = draft_of(probe.row, key=probe.key)
                if draft.uid in uids:
                    again.append((probe, draft.uid))
                    continue
                turn += turn_count(probe.row)
                drafts.append((draft, turn))
                fresh.append(probe)
                uids[draft.uid] = 0
            entries = self.store.append(self.line, drafts, after=after)
            bound, ends = self.bound, self.ends
            for (at, row, *_), entry in zip(fresh, entries, strict=True):
                number = uids[entry.uid] = entry.id
                bound[at] = Bound("message", (number,), 1, bound[at].frame)
                ends[at] = entry.seq
                for name in absorbed_uids(row):
                    self.store.alias(number, name)
            self.counts["new"] += len(entries)
            self.turn = max(self.turn, turn)
            if after is None:
                self.end = (entries[-1].seq, turn) if entries else self.end
            else:
                after = entries[-1].seq if entries else after
        for probe, uid in again:  # a uid in two rows is one message, and the later row counts
            self._note(probe, self.store.placed(self.line, [uids[uid]]))
        return turn - first

    # what the list no longer has

    def _withdraw(self, stored: Sequence[Entry], found: Match, reached: int) -> None:
        gone = [
            entry
            for place, entry in enumerate(stored)
            if entry.seq > reached and place not in found.taken and not entry.withdrawn
        ]
        if gone:  # what an earlier stretch of the list holds is there
            shown = {message for bound in self.bound for message in bound.messages}
            gone = [entry for entry in gone if entry.id not in shown]
        if gone:
            self.store.withdraw(self.line, [entry.seq for entry in gone], withdrawn=True)
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
            reached = self.opened.get(index, reached)
            reached = self.ends[index] = max(reached, self.ends[index])
