"""Keeps what a row says that its message did not say before: a version, a uid, a turn.

A row that is known may still say something new. Its words are kept as a version of the message;
those of a fold as versions of its parts, each of which gets what stands behind it. A uid that the
host gave since is taken over. And a row that the host wrote itself starts a turn as soon as a
person's words were merged behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..storage.protocol import Store
from ..storage.records import Entry
from .identity import is_fold, is_less, parted
from .leftover import Probe
from .messages import (
    Row,
    absorbed_uids,
    draft_of,
    host_uid,
    is_minted,
    key_of,
    normal,
    same_words,
    text_of,
    turn_count,
)

__all__ = ["Editions"]

_VERSIONS = 8
"""Earlier versions of a message that a row is compared with."""


class Editions:
    """The versions of the messages of one line, inside a write transaction."""

    def __init__(self, store: Store, line: int) -> None:
        self.store, self.line = store, line
        self.renumbered = False
        """Whether turn numbers of stored messages have changed."""

    def read(self, entries: Sequence[Entry]) -> list[list[Row]]:
        """Each message in its versions, the current one first."""
        wanted = [(e.id, v) for e in entries for v in (0, *range(e.version - 1, 0, -1)[:_VERSIONS])]
        found: dict[int, list[Row]] = {}
        for message, row in self.store.parsed(wanted, damaged=True):
            found.setdefault(message.id, []).append(row)
        return [found[entry.id] for entry in entries]

    def apart(self, probes: Iterable[Probe], known: Mapping[str, int]) -> Mapping[str, int]:
        """*known* without the rows that were folded into a message before, and stand beside it now.

        They are messages of their own: a host gives two rows that are one message one uid.
        """
        firsts = {probe.names[0]: None for probe in probes if probe.names}
        rows: dict[int, list[str]] = {}
        for name in filter(known.__contains__, firsts):
            rows.setdefault(known[name], []).append(name)
        several = {number: names for number, names in rows.items() if len(names) > 1}
        read = self.store.parsed([(n, 0) for n in several], damaged=True)
        own = {message.id: message.uid for message, _ in read}
        others = {
            name
            for number, names in several.items()
            for name in names
            if name != (own[number] if own[number] in names else names[0])
        }
        return {name: n for name, n in known.items() if name not in others} if others else known

    def name(self, probe: Probe, entries: Sequence[Entry], *, renamed: bool) -> None:
        """Take over a uid that the host gave since; *renamed*: also one beside that of another list."""
        uid = host_uid(probe.row)
        if uid and uid != entries[0].uid:
            if is_minted(entries[0].uid):
                self.store.rename(self.line, entries[0].id, uid)
            elif renamed:
                self.store.alias(entries[0].id, uid)
        for name in absorbed_uids(probe.row):
            self.store.alias(entries[-1].id, name)

    def note(self, probe: Probe, entries: Sequence[Entry]) -> tuple[int, bool]:
        """(the version that the row shows to the letter, or 0; whether it says something new)."""
        if len(entries) == 1:
            return self._version(probe, entries[0])
        return 0, self._parts(probe, entries)

    def _version(self, probe: Probe, entry: Entry) -> tuple[int, bool]:
        if probe.key == entry.key:
            return entry.version, False
        editions = self.store.editions(entry.id) if entry.version > 1 else []
        if shown := next((version for version, key in editions if key == probe.key), 0):
            return shown, False  # another row, or another session, shows another one
        ((old, *earlier),) = self.read([entry])
        if not _is_revision(probe, entry, old) or any(is_less(row, probe.row) for row in earlier):
            return 0, False
        self._revise(entry, probe.row, probe.key)
        if started := _turns_started(old, probe.row):
            self.shift(entry.seq, started)
        return self.store.editions(entry.id)[-1][0], True

    def _parts(self, probe: Probe, entries: Sequence[Entry]) -> bool:
        """Keep what a fold says that its parts do not; True if it says something new."""
        parts = self.read(entries)
        if is_fold([versions[0] for versions in parts], probe.row):
            return False
        texts = parted(parts, probe.row, own_lines=False)
        if texts is None:  # the host has rewritten it: under the uid of its first part
            return self._version(probe, entries[0])[1]
        revised = False
        for entry, versions, text in zip(entries, parts, texts, strict=True):
            if normal(text) not in {normal(text_of(version)) for version in versions}:
                row = {**versions[0], "content": text}
                self._revise(entry, row, key_of(row))
                revised = True
        return revised

    def shift(self, first: int, turns: int) -> None:
        """Number the messages from order key *first* on *turns* higher."""
        later = self.store.entries(self.line, first=first)
        self.store.renumber(self.line, [(entry.seq, entry.turn + turns) for entry in later])
        self.renumbered = True

    def _revise(self, entry: Entry, row: Row, key: bytes) -> None:
        self.store.revise(self.line, entry.id, draft_of(row, key=key, uid=entry.uid))


def _is_revision(probe: Probe, entry: Entry, old: Row) -> bool:
    if same_words(probe.key, entry.key) and old.get("content") == probe.row.get("content"):
        return False
    return not is_less(old, probe.row)


def _turns_started(old: Row, new: Row) -> int:
    """How many turns a new version starts that the old one did not; fewer than none where a fold is undone.

    An older host leaves its flag on the row when it merges a person's words behind its own; that
    the row has grown behind what it said is then all there is to see.
    """
    if new.get("role") != "user":
        return 0
    before, more = turn_count(old), turn_count(new)
    was, now = normal(text_of(old)), normal(text_of(new))
    if was != now and f" {now} " in f" {was} ":
        return min(more - before, 0)
    return max(more - before, int(not before and now.startswith(was + " ")))
