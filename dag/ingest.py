"""Says which stored message every row of the host's list stands for, and stores the rest.

``Ledger.ingest`` may be called at any moment, by any door, as often as one
likes, with any list: the newest, an old one, a part of one. What it has seen
is not stored again; what it has not seen is stored before it returns.

The list is the truth of what is in the context now. So a missing *end* of the
stored line is withdrawn (undo), until a list brings it back; a missing middle
is only filtered, and stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from ..storage.canon import FLAT, decode, encode
from ..storage.errors import StoreError, StoreForgotten, StoreIndexBroken
from ..storage.forget import Stone
from ..storage.mutex import mutex
from ..storage.protocol import Store
from ..storage.records import Pass, Session
from . import taken
from .binding import Clean, Run
from .bound import Binding, Bound, IngestReport, Memo
from .calm import calm
from .erase import Cleaner, eraser
from .identity import STUB
from .messages import Row, is_system
from .redact import Redact
from .retyped import Retyped
from .shown import Listing, Shown, stubs_in

__all__ = ["Also", "Binding", "Bound", "IngestReport", "Ledger"]

_log = logging.getLogger(__name__)

_NAMED = "named"
"""Kept for a session: whether the host gave uids in its last list. An upgrade gives them anew."""


Also = Callable[[Store, str], None]
"""Writes something more of a session, by its name in the store, in the same transaction."""


class _Ready(NamedTuple):
    """Rows that were looked through before the transaction."""

    cleaner: Cleaner
    """By which."""
    stones: list[Stone] | None
    """The strings that were forgotten until then; None if they were not looked for."""
    made: dict[int, tuple[Any, Row]]
    """By the identity of each row: the row, which keeps it, and what is stored of it."""


class Ledger:
    """Ingests the lists of one session; safe to use from several threads."""

    def __init__(self, store: Store, session: Session, redact: Redact | None = None) -> None:
        self.store = store
        self.session = session
        self._redact = redact
        """Takes secrets out of what is stored; None to store all as it is."""
        self._cleaner = Cleaner(redact)
        self._mutex = mutex()
        self._seen: list[Any] = []
        """Copies of the rows of the last list, in step with what the memo says of them."""
        self._memo = Memo(store.lineage(session.line))
        self._known = 0
        """How many of the last list's rows are messages."""
        self.bound_from = 0
        """Index of the first row of the last list that was not as in the list before."""
        self._revision = -1
        """Revision of the line that the last list was bound to."""
        self._listing = Listing()
        self._retyped = Retyped()

    def ingest(self, rows: Sequence[Any], also: Also | None = None) -> IngestReport:
        """Store what is new in *rows*; *also* is written with it, if there is anything.

        Raises:
            StoreError: nothing of this list was stored.
        """
        with self._mutex:
            if not rows:
                self._forget(0)
                return IngestReport()
            start = _same_until(self._seen, rows, self._retyped)
            if start == len(rows) == len(self._seen) and self._is_current():
                return IngestReport(known=self._known)
            try:
                with calm(len(rows) - start):
                    return self._bound(rows, start, also)
            except BaseException:
                self._forget(0)
                raise

    def _bound(self, rows: Sequence[Any], start: int, also: Also | None) -> IngestReport:
        try:
            return self._bind(rows, start, also)
        except StoreIndexBroken:  # all of it is undone; the second time the index is left alone
            self._forget(0)
            return self._bind(rows, 0, also)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - a value nobody has thought of may cost itself, not the list
            _log.warning("a list is stored as JSON would have it", exc_info=True)
            self._forget(0)
            return self._bind([_plain(row) for row in rows], 0, also)

    def _is_current(self) -> bool:
        """Whether nobody changed the line since: another agent's list may have withdrawn what this one has."""
        return self.store.revision(self.session.line) == self._revision

    def bind(self, rows: Sequence[Any]) -> tuple[IngestReport, Binding]:
        """The same, and what each row stands for.

        Raises:
            StoreError: nothing of this list was stored.
        """
        with self._mutex:
            report = self.ingest(rows)
            return report, Binding(rows, list(self._memo.bound), list(self._memo.ends))

    def record(self, done: Pass, rows: Sequence[Any]) -> None:
        """Keep a compaction that made *rows* of the last list: whether the host takes it over, its next one tells.

        Raises:
            StoreError: nothing of it was kept.
        """
        with self._mutex, self.store.writing():
            new = stubs_in(rows) - self._listing.stubs
            detail = {**done.detail, "parts": sorted(new)} if new else done.detail
            self.store.record_pass(replace(done, detail=detail))
            before = self._frame()
            if done.frame in ("", before):  # nothing of it but the stubs is new
                done = replace(done, frame="")
            taken.note(self.store, done, new)
            shown = self._listing.write(self.store, self.session, before, awaited=True)
            self._listing.written = shown

    def refuse(self) -> None:
        """The host refused the result of the last compaction.

        Raises:
            StoreError: that could not be kept.
        """
        with self._mutex, self.store.writing():
            taken.refuse(self.store, self.session.name)

    def _frame(self) -> str:
        """Uid of the node of the last list's summary row; empty if it has none."""
        place, _ = self._memo.lifted
        return self._memo.bound[place].frame if place >= 0 else ""

    def last(self) -> tuple[Binding, tuple[int, int]]:
        """The last list, in rows that nobody changes; and what is the same for the same list on the same line."""
        with self._mutex:
            binding = Binding(list(self._seen), list(self._memo.bound), list(self._memo.ends))
            return binding, (len(self._seen), self._revision)

    def _bind(self, rows: Sequence[Any], start: int, also: Also | None) -> IngestReport:
        line = self.session.line
        if start < len(self._seen):
            start = _calls_before(rows, start)
        ready = self._ready(rows, start)
        with self.store.writing():
            changed = self.store.revision(line) != self._revision
            self._memo.before = self._look_again(ready, start) if changed else {}
            if changed:
                start, self._listing.written = 0, None
            self.bound_from = start
            self._forget(start)
            known = self._known
            own = self.store.recall(self.session.name, _NAMED)
            named = own is True or (own is None and self._inherited())
            self._memo.renamed = not named
            self._seen += map(_copy, rows[start:])
            clean = None if self._cleaner == Cleaner() else self._clean_from(ready)
            run = Run(self.store, line, rows, self._memo, clean)
            report = run.bind()
            messages = known + _messages(self._memo.bound[start:])
            if messages and (named != self._memo.named or (named and own is None)):
                self.store.remember(self.session.name, _NAMED, self._memo.named)
            self._listing.look(self.store, rows, self._memo.bound, start)
            shown = self._note(goes_on=bool(report.new))
            if also is not None:
                also(self.store, self.session.name)
            revision = self.store.revision(line)
        self._listing.written = shown
        self._memo.end = run.end
        self._known, self._revision = messages, revision
        return IngestReport(report.new, report.known + known, report.revised, report.withdrawn)

    def _note(self, *, goes_on: bool) -> Shown:
        """Keep what the list shows of ours, and which compactions it shows to have been taken over."""
        frame = self._frame()
        taken.see(self.store, self.session, frame, self._listing.stubs, goes_on=goes_on)
        return self._listing.write(self.store, self.session, frame)

    def _inherited(self) -> bool:
        """Whether the session that this one was rotated from had uids at last: its host is the same."""
        before = islice(taken.descent(self.store, self.session), 1, None)
        said = (self.store.recall(each.name, _NAMED) for each in before)
        return next((each is True for each in said if each is not None), False)

    def _look_again(self, ready: _Ready, start: int) -> dict[int, tuple[int, ...]]:
        """See what others did to the store: the session, or a string, may have been forgotten.

        Returns what the first *start* rows, which are as they were, stood for.
        """
        if self.store.session(self.session.name) is None:
            raise StoreForgotten(
                f"Session {self.session.name} was forgotten: nothing of it is kept."
            )
        stones = self.store.eraser().stones("text")
        same = stones == ready.stones
        self._cleaner = ready.cleaner if same else Cleaner(self._redact, eraser(stones))
        return _stood_for(self._memo.bound[:start])

    def _ready(self, rows: Sequence[Any], start: int) -> _Ready:
        """Rows without secrets, made before anybody else has to wait: a long text takes its time."""
        if self._redact is None:
            return _Ready(self._cleaner, None, {})
        current, stones = self._cleaner, None
        if self.store.revision(self.session.line) != self._revision:
            start, stones = 0, self.store.eraser().stones("text")
            current = Cleaner(self._redact, eraser(stones))
        new = [rows[index] for index in range(start, len(rows))]
        return _Ready(
            current, stones, {id(row): (row, current.row(row)) for row in new if _is_plain(row)}
        )

    def _clean_from(self, ready: _Ready) -> Clean:
        """Takes what is ready, unless a string was forgotten meanwhile."""
        if ready.cleaner is not self._cleaner:
            return self._clean

        def clean(row: Row) -> Row:
            made = ready.made.get(id(row))
            return made[1] if made else self._clean(row)

        return clean

    def _clean(self, row: Row) -> Row:
        """A message without what must not be stored; our sentence in the stub of one is none of its words."""
        clean: Clean = self._cleaner.row
        content = row.get("content")
        cut = STUB.search(content) if isinstance(content, str) and "[lcm " in content else None
        if cut is None or not any(kind == "message" for kind, _ in self.store.resolve(cut[1])):
            return clean(row)
        first = clean({**row, "content": cut.string[: cut.start()]})
        last = clean({**row, "content": cut.string[cut.end() :]})
        return {**first, "content": f"{first['content']}{cut[0]}{last['content']}"}

    def _forget(self, start: int) -> None:
        """Keep what is known of the first *start* rows only."""
        memo = self._memo
        if start < len(self._seen):
            self._known -= _messages(memo.bound[start:])
            memo.end = None
        if memo.lifted[0] >= start:
            memo.lifted = (-1, ())
        memo.named = memo.named and start > 0
        self._listing.cut(start)
        self._retyped.cut(start)
        del self._seen[start:], memo.bound[start:], memo.ends[start:]


def _is_plain(row: Any) -> bool:
    """Whether a row is a message, and no stub of one: what that is is seen in the store."""
    if not isinstance(row, Mapping) or is_system(row):
        return False
    content = row.get("content")
    return not isinstance(content, str) or "[lcm " not in content or STUB.search(content) is None


def _calls_before(rows: Sequence[Any], start: int) -> int:
    """Where the row stands whose calls the results at *start* answer: they may have changed places."""
    while 0 < start < len(rows) and isinstance(rows[start], Mapping):
        if rows[start].get("role") != "tool":
            break
        start -= 1
    return start


def _stood_for(bound: Sequence[Bound]) -> dict[int, tuple[int, ...]]:
    """By its place what each row stood for."""
    return {at: each.messages for at, each in enumerate(bound) if each.messages}


def _messages(bound: Sequence[Bound]) -> int:
    """How many rows are messages."""
    return sum(each.kind == "message" for each in bound)


def _plain(row: Any) -> Any:
    """A row as it would be read from a store."""
    return decode(encode(dict(row))) if isinstance(row, Mapping) else row


#: Levels of nesting that are copied the fast way; hosts nest a message less deep.
_COPIED = 8


def _copy(value: Any, depth: int = 0) -> Any:
    """A copy that a later change in place of the original does not reach."""
    if depth >= _COPIED:
        return _deep_copy(value)
    if type(value) is dict:
        made: Any = value.copy()
        if FLAT.issuperset(map(type, value.values())):  # most rows
            return made
        items: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, dict):
        made, items = dict(value), value.items()
    elif isinstance(value, list):
        made, items = list(value), enumerate(value)
    else:
        return value
    for key, item in items:
        if isinstance(item, dict | list):
            made[key] = _copy(item, depth + 1)
    return made


def _deep_copy(value: Any) -> Any:
    """The same for what is odd: each part once, however often it holds itself; as it is where it cannot be copied."""
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - whatever an object of the host's does when it is copied
        return value


_BLOCK = 256


def _same_until(seen: Sequence[Any], rows: Sequence[Any], retyped: Retyped) -> int:
    """How many rows at the start are what was seen; far from the end ``1``, ``1.0`` and ``True`` are one."""
    try:
        return retyped.first(seen, rows, _equal_until(seen, rows))
    except Exception:  # noqa: BLE001 - a row that cannot be compared: look at all of them again
        return 0


def _equal_until(seen: Sequence[Any], rows: Sequence[Any]) -> int:
    """The same by ``==``. Whole blocks are compared in C."""
    count = min(len(seen), len(rows))
    if type(seen) is type(rows) is list and _grew(seen, rows):
        return count
    for start in range(0, count, _BLOCK):
        end = min(start + _BLOCK, count)
        if seen[start:end] != rows[start:end]:
            return next(n for n in range(start, end) if seen[n] != rows[n])
    return count


def _grew(seen: list[Any], rows: list[Any]) -> bool:
    """Whether *rows* begins with all that was *seen*: without a copy of a long list, which costs half as much again."""
    before = len(seen)
    seen += rows[before:]
    try:
        return seen == rows
    finally:
        del seen[before:]
