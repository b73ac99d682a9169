"""What is sent when the host's list does not fit its model: judged before every request.

A request is as large as the provider counted the last one, and what was added since. While that
fits, nothing is done and nothing is copied. The list for one request is never the host's list: it
is not ingested, and nothing that is known of the conversation comes from it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from . import hermes

if TYPE_CHECKING:
    from ..dag.ingest import Bound
    from .engine import LCMEngine

__all__ = ["Count", "Requests", "limit_of", "select"]

_log = logging.getLogger(__name__)

#: What a host adds to a request beside its list (tool schemas), before a provider has counted one.
_SCHEMAS: Final = 12_000
_SCHEMAS_SHARE: Final = 5
#: What goes beside a list is rounded up to this part of the window, or each answer would move every stub.
_ROUND: Final = 16
#: The part of the window that is kept free for the answer, at the least and at the most.
_ANSWER_LEAST, _ANSWER_MOST = 10, 4


class Count:
    """Our own count of a list that grows: only what was added since the last look is counted."""

    def __init__(self) -> None:
        self._rows, self._last = 0, None
        self.tokens = 0

    def of(self, rows: Sequence[Any]) -> int:
        """Tokens of *rows*."""
        start = self._rows
        if not 0 < start <= len(rows) or _content(rows[start - 1]) != self._last:
            start = self.tokens = 0
        if start < len(rows):
            self.tokens += sum(_counted(rows[n]) for n in range(start, len(rows)))
            self._rows, self._last = len(rows), _content(rows[-1])
        return self.tokens


class Requests:
    """How large the requests of one conversation are. One thread at a time: that of its agent."""

    def __init__(self) -> None:
        self.shortened = 0
        """Requests for which a list of ours was sent."""
        self.pressure = 0
        """Tokens of the request that the host wanted to send, where it did not fit; 0 if it did."""
        self._lists, self._count = Count(), Count()
        """Of the host's list, which has no system rows; of the requests."""
        self._real, self._own = 0, 0
        """What the provider counted last, and our count of the same; 0: it has counted nothing."""
        self._excess = 0
        self._sent: tuple[list[Any], list[Any], int] | None = None
        """What a list was made of, the list, and its room."""

    def size(self, rows: Sequence[Any], window: int) -> int:
        """Tokens of a request with *rows*: what the provider counted last, and what was added since."""
        own = self._count.of(rows)
        if self._own and own >= self._own:
            return self._real + own - self._own
        if self._own:  # a smaller list than it was
            return self._scaled(own) + self.beside(window)
        return max(own + self.beside(window), self._real)

    def size_of_list(self, rows: Sequence[Any]) -> int:
        """Tokens of the host's list by itself; fewer than we count where the provider counted a request as fewer."""
        return self._scaled(self._lists.of(rows))

    def _scaled(self, own: int) -> int:
        """Our count of rows, as the provider would count them: what goes beside them is no part of it."""
        return int(own * min(self._real / self._own, 1.0)) if self._own else own

    def beside(self, window: int) -> int:
        """Tokens that go with a request beside its rows."""
        if self._own:
            return max(self._real - self._own, 0)
        return min(_SCHEMAS, window // _SCHEMAS_SHARE)

    def excess(self, size: int, window: int) -> int:
        """Tokens of a request of *size* that are not of its rows, as we count them: at the most so far, rounded up."""
        step = max(window // _ROUND, 1)
        now = max(self.beside(window), size - self._count.tokens)
        self._excess = max(self._excess, -(-now // step) * step)
        return self._excess

    def answered(self, tokens: int) -> None:
        """The provider has counted *tokens* for the last request."""
        if tokens <= 0:
            return
        own = self._count.tokens
        if self._sent is not None:  # it was not the host's list: only what went beside it is known
            tokens = max(tokens - sum(map(_size, self._sent[1])), 0) + own
        self._real, self._own = tokens, own

    def compacted(self) -> None:
        """The list is another one now."""
        self.pressure, self._sent = 0, None
        self.recount()
        if not self._own:
            self._real = 0

    def recount(self) -> None:
        """Rows of the list are shown in part now: their places are the same, and nothing else tells."""
        self._lists, self._count = Count(), Count()

    def fits(self) -> None:
        """The last request was sent as it was."""
        self.pressure, self._sent = 0, None

    def again(self, rows: Sequence[Any], room: int) -> list[Any] | None:
        """The list that was made of these very rows, if it was the last."""
        if self._sent is None or self._sent[2] != room or self._sent[0] != rows:
            return None
        return [_copy(row) for row in self._sent[1]]

    def keep(self, rows: Sequence[Any], made: Sequence[Any], room: int) -> list[Any]:
        """Remember what was made of *rows*; the host changes the copy that it gets."""
        self._sent = ([_copy(row) for row in rows], [_copy(row) for row in made], room)
        self.shortened += 1
        return [_copy(row) for row in made]


def _copy(row: Any) -> Any:
    return dict(row) if isinstance(row, Mapping) else row


def _content(row: Any) -> Any:
    return row.get("content") if isinstance(row, Mapping) else None


def _counted(row: Any) -> int:
    """Tokens of a row; what an image costs is asked only where there may be one."""
    from ..dag.tokens import IMAGE_TOKENS, count_message

    if isinstance(_content(row), str):
        return count_message(row)
    return count_message(row, hermes.image_tokens(IMAGE_TOKENS))


def _size(row: Any) -> int:
    from ..dag.scene import size_of

    return size_of(row)


def limit_of(engine: LCMEngine, window: int) -> int:
    """Tokens that a request may have: the window without room for the answer, never below the threshold."""
    wanted = engine.max_tokens if isinstance(engine.max_tokens, int) else 0
    answer = min(max(wanted, window // _ANSWER_LEAST), window // _ANSWER_MOST)
    return max(window - answer, min(engine.threshold_tokens, window))


def select(
    engine: LCMEngine, rows: Sequence[Any], conversation: Sequence[Any] | None, window: int
) -> list[Any] | None:
    """None while a request with *rows* fits *window*; else the list that is sent in its place.

    Raises:
        StoreError: what would be named could not be stored.
    """
    requests = engine._requests
    size = requests.size(rows, window)
    if size <= limit_of(engine, window):
        requests.fits()
        return None
    requests.pressure = size
    room = _room(engine, window, size)
    if (before := requests.again(rows, room)) is not None:
        return before
    made = _made(engine, rows, conversation, room)
    if made is None:
        requests.fits()
        requests.pressure = size
        return None
    _log.warning(
        "a request of about %d tokens does not fit %d: a list of %d rows is sent in the place of %d",
        size, window, len(made), len(rows),
    )  # fmt: skip
    return requests.keep(rows, made, room)


def _room(engine: LCMEngine, window: int, size: int) -> int:
    """Tokens that a list of ours may have: no more than after a compaction, so that the next turns fit, too."""
    least = min(engine.threshold_tokens, engine.preview_threshold_tokens(window), window)
    return max(least - engine._requests.excess(size, window), window // 4, 1)


def _made(
    engine: LCMEngine, rows: Sequence[Any], conversation: Sequence[Any] | None, room: int
) -> list[Any] | None:
    from ..dag.messages import is_system
    from ..dag.selection import Request, selection

    said = list(rows if conversation is None else conversation)
    ledger, binding = engine._attachment.bind(said, engine._session_id)
    before = len(rows) - len(said)
    bound: list[Bound | None]
    if _is_end(rows, said):
        bound = [*[None] * before, *binding.bound]
    else:  # the host left rows out, or put some in between
        lead = [row for row in rows if is_system(row)]
        rows, bound = [*lead, *map(_plain, said)], [*[None] * len(lead), *binding.bound]
    return selection(ledger.store, ledger.session.line, Request(rows, bound, room))


def _is_end(rows: Sequence[Any], said: Sequence[Any]) -> bool:
    """Whether *rows* are the conversation, behind what a host puts in front of it."""
    before = len(rows) - len(said)
    return before >= 0 and all(_who(rows[before + n]) == _who(row) for n, row in enumerate(said))


def _who(row: Any) -> Any:
    return (row.get("role"), row.get("tool_call_id")) if isinstance(row, Mapping) else None


def _plain(row: Any) -> Any:
    """A row of the conversation as it may be sent: without what hosts note on it."""
    if not isinstance(row, Mapping):
        return row
    return {name: row[name] for name in _SENT if name in row}


_SENT: Final = ("role", "content", "tool_calls", "tool_call_id", "name")
