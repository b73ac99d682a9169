"""Brings the conversations of a neighbour's database into a store: raw messages, each with its origin.

Such databases hold whole runs of rows twice, for a restart wrote them again. A run is left out only
where that is beyond doubt: four different messages to the letter in the same order, or the same times,
or call ids that nothing else has. In doubt a message is kept twice rather than lost.

Where a session of that name is here already, its messages are not stored again: the neighbour's
conversation becomes one of its own beside it, and shares with it the messages that both have.
"""

from __future__ import annotations

import time as clock
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..dag.align import align
from ..dag.messages import (
    KEY_BYTES,
    calls_of,
    draft_of,
    is_system,
    key_of,
    turn_count,
)
from ..storage.canon import digest, encode, pack_text
from ..storage.protocol import Store
from ..storage.records import Draft, Session
from .transfer import ORIGIN
from .verb import Progress

if TYPE_CHECKING:
    from ..storage.peers import Conversation, Peer, PeerRow

__all__ = ["Brought", "Outlook", "bring", "look"]

_BATCH: Final = 500
#: Different messages in the same order that are no chance.
_RUN: Final = 4
#: Characters of a call id that nothing else has.
_LONG_ID: Final = 16
#: Earlier places of a message that are tried as the beginning of a run.
_TRIED: Final = 8
#: Rows after which a run that proves nothing is given up: a heartbeat may go on for ever.
_UNPROVEN: Final = 32

SYSTEM: Final = "system prompts, which are no part of a conversation"
REPEATS: Final = "rows that repeat a run of rows before them (a restart wrote them again)"


class _Seen(NamedTuple):
    """What is kept of a neighbour's row while the next ones are looked at."""

    uid: str
    key: bytes
    time: float | None
    ids: bool
    """Whether a call id in it is one that nothing else has."""
    reason: str = ""
    """Why it is left out; empty if it is not."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would come of one conversation, and what would not."""

    conversation: Conversation
    name: str
    """What the session is called here."""
    seen: Sequence[_Seen]
    numbers: Mapping[str, int]
    """Our number of each message that is here already, by the uid that it gets."""
    beside: bool = False
    """Whether a session of its name is here that came another way."""

    @property
    def new(self) -> int:
        """How many messages would be stored."""
        return sum(not each.reason and each.uid not in self.numbers for each in self.seen)

    @property
    def skipped(self) -> dict[str, int]:
        """How many rows would not, by reason."""
        return dict(Counter(each.reason for each in self.seen if each.reason))

    @property
    def times(self) -> tuple[float, float] | None:
        """The first and the last time in it."""
        known = [each.time for each in self.seen if each.time]
        return (min(known), max(known)) if known else None


@dataclass(slots=True)
class Brought:
    """What came; changed in place."""

    sessions: int = 0
    messages: int = 0
    known: int = 0
    """Messages that were here already."""
    payloads: int = 0
    """Messages of which the whole content stood in a file of its own."""
    skipped: Counter[str] = field(default_factory=Counter)


def look(store: Store, peer: Peer, conversation: Conversation) -> Outlook:
    """See what of *conversation* is missing in *store*; writes nothing."""
    seen = _without_runs([_see(peer, conversation, row) for row in peer.rows(conversation)])
    name, beside = _name(store, peer, conversation)
    here = store.session(name)
    numbers = dict(store.known(each.uid for each in seen if not each.reason))
    for line in filter(None, (here.line if here else None, beside)):
        numbers |= _alike(
            store, line, [s for s in seen if not s.reason and s.uid not in numbers], numbers
        )
    return Outlook(conversation, name, seen, numbers, beside is not None)


def _see(peer: Peer, conversation: Conversation, row: PeerRow) -> _Seen:
    if is_system(row.message):
        return _Seen("", b"", row.time, ids=False, reason=SYSTEM)
    message = row.message
    ids = [message.get("tool_call_id"), *(call.get("id") for call in calls_of(message))]
    telling = any(isinstance(each, str) and len(each) >= _LONG_ID for each in ids)
    return _Seen(_uid(peer, conversation, row), key_of(message), row.time, telling)


def _uid(peer: Peer, conversation: Conversation, row: PeerRow) -> str:
    """A uid of the form that we mint, always the same for the same row: a host's may take its place."""
    parts = (peer.kind, conversation.name, row.name)
    digits = digest(*map(pack_text, parts), encode(row.message)).hex()
    return f"{digits[:12]}8{digits[13:16]}a{digits[17:]}"


def _name(store: Store, peer: Peer, conversation: Conversation) -> tuple[str, int | None]:
    """(what it is called here, the line of a session of that name that came another way)."""
    here = store.session(conversation.name)
    if here is None or _is_from(store.recall(here.name, ORIGIN), peer, conversation):
        return conversation.name, None
    return f"{conversation.name} (from {peer.kind})", here.line


def _is_from(origin: Any, peer: Peer, conversation: Conversation) -> bool:
    if not isinstance(origin, dict):
        return False
    return (origin.get("program"), origin.get("session")) == (peer.kind, conversation.name)


def _alike(
    store: Store, line: int, unknown: Sequence[_Seen], numbers: Mapping[str, int]
) -> dict[str, int]:
    """Which of the *unknown* rows are messages of the line, by their words and order."""
    taken = set(numbers.values())
    free = [entry for entry in store.entries(line) if entry.id not in taken]
    found = align([e.key[:KEY_BYTES] for e in free], [s.key[:KEY_BYTES] for s in unknown])
    return {
        seen.uid: free[place].id
        for seen, place in zip(unknown, found, strict=True)
        if place is not None
    }


# runs of rows that are there twice


def _without_runs(rows: Sequence[_Seen]) -> list[_Seen]:
    """*rows*, those of a repeated run marked."""
    result: list[_Seen] = []
    kept: list[_Seen] = []
    where: dict[bytes, list[int]] = defaultdict(list)
    queue = iter(range(len(rows)))
    for at in queue:
        row = rows[at]
        length = 0 if row.reason else _repeated(rows, at, kept, where[row.key])
        if length:
            result += [
                each._replace(reason=each.reason or REPEATS) for each in rows[at : at + length]
            ]
            for _ in range(length - 1):
                next(queue)
            continue
        result.append(row)
        if not row.reason:
            where[row.key].append(len(kept))
            kept.append(row)
    return result


def _repeated(rows: Sequence[_Seen], at: int, kept: Sequence[_Seen], begins: Sequence[int]) -> int:
    """How many rows from *at* on repeat, beyond doubt, what was kept before."""
    tried = (*begins[:1], *begins[1:][-_TRIED:])
    return max((_length(rows, at, kept, begin) for begin in tried), default=0)


def _length(rows: Sequence[_Seen], at: int, kept: Sequence[_Seen], begin: int) -> int:
    """How long the rows from *at* on are those that were kept from *begin* on; 0 if that may be chance."""
    words: set[bytes] = set()
    timely, proven, length = True, False, 0
    for place in range(min(len(rows) - at, len(kept) - begin)):
        row, old = rows[at + place], kept[begin + place]
        if row.reason or row.key != old.key:
            break
        length += 1
        timely = timely and row.time is not None and row.time == old.time
        if not proven:
            words.add(row.key)
            proven = row.ids or len(words) >= _RUN
            if length > _UNPROVEN and not (proven or timely):
                return 0
    return length if proven or timely else 0


# writing


def bring(
    store: Store, peer: Peer, path: Path, conversation: Conversation, progress: Progress
) -> Brought:
    """Store what of *conversation* is missing, all or nothing.

    Raises:
        StoreError: nothing of it was stored.
    """
    done = Brought()
    with store.writing():
        outlook = look(store, peer, conversation)
        done.skipped.update(outlook.skipped)
        if not outlook.new:
            done.known = sum(not each.reason for each in outlook.seen)
            return done
        line = _session(store, peer, path, outlook, done)
        writer = _Writer(store, peer, outlook, line, done)
        for known, batch in _batches(outlook, peer.rows(conversation)):
            (writer.link if known else writer.store_new)(batch)
            progress(conversation.name, done.messages + done.known, len(outlook.seen))
    return done


def _session(store: Store, peer: Peer, path: Path, outlook: Outlook, done: Brought) -> int:
    """The line of the session, made at need."""
    if (here := store.session(outlook.name)) is not None:
        return here.line
    began = outlook.times[0] if outlook.times else clock.time()
    archive = store.archive()
    archive.restore_session(Session(outlook.name, archive.next_line(), "", "new", began))
    origin = {
        "program": peer.kind,
        "file": str(path.absolute()),
        "session": outlook.conversation.name,
        "title": outlook.conversation.title,
        "imported": clock.time(),
    }
    store.remember(outlook.name, ORIGIN, origin)
    done.sessions += 1
    session = store.session(outlook.name)
    if session is None:
        raise LookupError(f"The session {outlook.name!r} could not be made.")
    return session.line


Item = tuple[_Seen, "PeerRow"]


def _batches(outlook: Outlook, rows: Iterator[PeerRow]) -> Iterator[tuple[bool, list[Item]]]:
    """(are these here already, rows), in order, none that is left out."""
    wanted = (item for item in zip(outlook.seen, rows, strict=True) if not item[0].reason)
    for known, items in groupby(wanted, lambda item: item[0].uid in outlook.numbers):
        batch: list[Item] = []
        for item in items:
            batch.append(item)
            if len(batch) == _BATCH:
                yield known, batch
                batch = []
        if batch:
            yield known, batch


class _Writer:
    """Writes one conversation to its line."""

    def __init__(
        self, store: Store, peer: Peer, outlook: Outlook, line: int, done: Brought
    ) -> None:
        self.store, self.peer, self.outlook, self.line, self.done = store, peer, outlook, line, done
        entries = store.entries(line)
        self.on_line = {entry.id for entry in entries}
        self.turn = entries[-1].turn if entries else 0
        self.time = outlook.times[0] if outlook.times else clock.time()

    def link(self, batch: Sequence[Item]) -> None:
        """Messages that are here already stand on this line too."""
        places = []
        for seen, row in batch:
            number = self.outlook.numbers[seen.uid]
            self.done.known += 1
            if number not in self.on_line:
                self.turn += turn_count(row.message)
                places.append((number, self.turn))
                self.on_line.add(number)
        self.store.link(self.line, places)

    def store_new(self, batch: Sequence[Item]) -> None:
        """Store messages, and let the name of its row lead to each."""
        drafts = []
        for seen, row in batch:
            self.time = row.time or self.time
            self.turn += turn_count(row.message)
            drafts.append((self._draft(seen, row.message), self.turn))
        entries = self.store.append(self.line, drafts)
        for entry, (seen, row) in zip(entries, batch, strict=True):
            if row.whole is not None:
                self.store.revise(self.line, entry.id, self._draft(seen, row.whole))
                self.done.payloads += 1
            name = f"{self.peer.kind}:{self.outlook.conversation.name}:{row.name}"
            if name not in self.store.known([name]):
                self.store.alias(entry.id, name)
            self.done.messages += 1

    def _draft(self, seen: _Seen, message: Mapping[str, Any]) -> Draft:
        return draft_of(message, key=key_of(message), uid=seen.uid, time=self.time)
