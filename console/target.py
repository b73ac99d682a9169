"""Where a conversation of an export goes in a store, and whether anything is in its way there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..storage.protocol import Store
from ..storage.records import Entry, Session
from .scan import Group

__all__ = ["Target", "target_of"]

_MOST = 1000


@dataclass(frozen=True, slots=True)
class Target:
    """Where a group goes."""

    sessions: tuple[Session, ...]
    """As they will be called, on their line."""
    stored: Mapping[int, Entry]
    """What stands on the line already, by order key."""
    known: Mapping[str, int]
    """Our numbers of the messages of the group that are in the store already, by each of their names."""
    beside: bool
    """Whether it is put beside a session of that name which went another way."""

    @property
    def line(self) -> int:
        """The line in the store."""
        return self.sessions[0].line


def target_of(store: Store, group: Group, base: int | None) -> Target:
    """The sessions of the same names and their line, or others where something is in the way.

    *base* is the line here of the one that the group was branched from.

    Raises:
        LookupError: a thousand sessions of that name are in the way.
    """
    known = store.known(
        {name for uid in group.places.values() for name in (uid, *group.names.get(uid, ()))}
    )
    numbers = _numbers(group, known)
    for attempt in range(_MOST):
        names = [_name(each.name, attempt) for each in group.sessions]
        here = next((found for name in names if (found := store.session(name))), None)
        line = here.line if here else _free_line(store, group.line, base)
        stored = {entry.seq: entry for entry in store.entries(line)} if here else {}
        if not _in_the_way(group, stored, numbers):
            pairs = zip(group.sessions, names, strict=True)
            sessions = tuple(replace(each, name=name, line=line) for each, name in pairs)
            return Target(sessions, stored, known, attempt > 0)
    raise LookupError(f"Too many sessions are called like {group.sessions[0].name!r}.")


def _numbers(group: Group, known: Mapping[str, int]) -> dict[str, int]:
    """Our number of each message of the group that is known by any of its names."""
    if not known:
        return {}
    found = {}
    for uid in group.places.values():
        for name in (uid, *group.names.get(uid, ())):
            if name in known:
                found[uid] = known[name]
                break
    return found


def _name(name: str, attempt: int) -> str:
    if not attempt:
        return name
    return f"{name} (imported)" if attempt == 1 else f"{name} (imported {attempt})"


def _free_line(store: Store, wanted: int, base: int | None) -> int:
    """The number that it had, if no line here can have it; a line comes after the one it was branched from."""
    following = store.archive().next_line()
    return wanted if wanted >= following and wanted > (base or 0) else following


def _in_the_way(group: Group, stored: Mapping[int, Entry], numbers: Mapping[str, int]) -> bool:
    """Whether a message of the group finds another in its place, or itself in another."""
    places = {entry.id: seq for seq, entry in stored.items()}
    for seq, uid in group.places.items():
        number = numbers.get(uid)
        if seq in stored and stored[seq].id != number:
            return True
        if number is not None and places.get(number, seq) != seq:
            return True
    return False
