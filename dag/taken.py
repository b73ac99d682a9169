"""Which compactions of a conversation count: those whose result a list of the host has shown.

That ``compress()`` returned is no commit. A host may refuse the result, come too late with it, or ask
again for the same list. So a compaction is noted as open. The first list that shows its summary row, or
one of its stubs where the summary row is as it was, takes it off. The newest counts meanwhile, for
nothing speaks against it, until the conversation goes on without it; then it is put aside, until a list
shows it after all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..storage.protocol import Store
from ..storage.records import Pass, Session

__all__ = ["compactions", "descent", "note", "refuse", "see", "taken"]

_KEPT: Final = "open"


class _Given(NamedTuple):
    """A compaction that no list has shown yet."""

    time: float
    frame: str
    """Uid of its new summary row; empty if it wrote none."""
    stubs: tuple[str, ...]
    """Names in its new stubs, where it wrote no summary row."""
    awaited: bool
    """Whether the conversation has not gone on without it, and the host has not refused it."""

    def is_in(self, frame: str, stubs: Iterable[str]) -> bool:
        """Whether a list with that summary row and those stubs shows it."""
        return frame == self.frame if self.frame else not set(self.stubs).isdisjoint(stubs)


def note(store: Store, done: Pass, stubs: Iterable[str]) -> None:
    """Note a compaction as open; *stubs*: names in its new ones, which tell where it wrote no summary row.

    Within its transaction.
    """
    given = _Given(done.time, done.frame, () if done.frame else tuple(sorted(stubs)), awaited=True)
    if not given.frame and not given.stubs:
        return  # nothing would tell
    same = given.frame, given.stubs
    before = [
        each._replace(awaited=False) if same != (each.frame, each.stubs) else _void(each)
        for each in _open(store, done.session)
    ]
    _keep(store, done.session, [*before, given])


def see(store: Store, session: Session, frame: str, stubs: Iterable[str], *, goes_on: bool) -> None:
    """A list has that summary row and those stubs; *goes_on*: and something that no list had before.

    Within its transaction.
    """
    for name in (session.name, *([session.parent] if session.relation == "rotation" else [])):
        before = _open(store, name)
        shown = [each for each in before if each.is_in(frame, stubs)]
        # A later one may leave out again what the host had refused to have left out before.
        again = [each for each in shown if not each.frame][:-1]
        after = [
            _void(each) if each in again else each
            for each in before
            if each in again or each not in shown
        ]
        if goes_on:
            after = [each._replace(awaited=False) for each in after]
        if after != before:
            _keep(store, name, after)


def refuse(store: Store, name: str) -> None:
    """The host refused the newest of a session. Within a transaction."""
    if before := _open(store, name):
        _keep(store, name, [each._replace(awaited=False) for each in before])


def _keep(store: Store, name: str, given: Sequence[_Given]) -> None:
    store.remember(name, _KEPT, [each._asdict() for each in given])


def _void(given: _Given) -> _Given:
    """One that was made again from the same list: a list that shows it shows the other."""
    return given._replace(frame="", stubs=(), awaited=False)


def _open(store: Store, name: str) -> list[_Given]:
    kept = store.recall(name, _KEPT)
    return [given for each in kept if (given := _read(each))] if isinstance(kept, list) else []


def _read(kept: Any) -> _Given | None:
    """From what a store keeps; None if it is nothing of ours."""
    if not isinstance(kept, Mapping) or not isinstance(kept.get("time"), float):
        return None
    frame, stubs = kept.get("frame"), kept.get("stubs")
    if not isinstance(frame, str) or not isinstance(stubs, list):
        return None
    return _Given(kept["time"], frame, tuple(map(str, stubs)), kept.get("awaited") is True)


def taken(store: Store, names: Sequence[str]) -> list[Pass]:
    """The compactions of these sessions that the host has taken over, oldest first."""
    aside = _aside(store, names)
    return [done for done in store.passes(names) if (done.session, done.time) not in aside]


def _aside(store: Store, names: Iterable[str]) -> set[tuple[str, float]]:
    """(session, time) of those that it has not."""
    return {(name, each.time) for name in names for each in _open(store, name) if not each.awaited}


def compactions(store: Store, session: Session) -> int:
    """How often the conversation was compacted, in the sessions that it was rotated from too."""
    names = [each.name for each in descent(store, session)]
    return sum(map(store.passed, names)) - len(_aside(store, names))


def descent(store: Store, session: Session) -> Iterator[Session]:
    """The session and those that it was rotated from, the newest first."""
    at: Session | None = session
    seen: set[str] = set()  # a damaged row may say that it came from itself
    while at is not None and at.name not in seen:
        yield at
        seen.add(at.name)
        at = store.session(at.parent) if at.relation == "rotation" else None
