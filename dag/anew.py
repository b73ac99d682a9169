"""Where a list begins anew: an older host restores a session twice, one copy behind the other.

It writes the rows that it has just read into its database once more, each with the time at which it
was said. No two messages were said in the same microsecond, so rows behind which the time goes back,
and which have the words *and* the times of those that the list begins with, are the same messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .messages import KEY_BYTES, is_system, key_of

__all__ = ["Beginning"]

_ROWS = 2
"""Rows that must stand again at the least, and one of them must be no user's."""


class Beginning:
    """What a list begins with."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows
        self._first = next((n for n, row in enumerate(rows) if not is_system(row)), len(rows))
        self._time = _time(rows[self._first]) if self._first < len(rows) else None

    def stands_at(self, place: int) -> bool:
        """Whether the list begins anew there.

        Rows of a user alone prove nothing: people send the same again, and chats tell their times in seconds.
        """
        rows, first = self._rows, self._first
        if self._time is None or place <= first or _time(rows[place]) != self._time:
            return False
        before = _time(rows[place - 1])
        if before is None or before <= self._time:
            return False
        count = max(_ROWS, self._answer())
        return count <= min(place - first, len(rows) - place) and all(
            _is_same(rows[first + n], rows[place + n]) for n in range(count)
        )

    def _answer(self) -> int:
        """How many rows there are up to the first that is no user's."""
        rows, first = self._rows, self._first
        answers = (n for n in range(first, len(rows)) if not _is_users(rows[n]))
        return next(answers, len(rows)) - first + 1


def _is_users(row: Any) -> bool:
    return not is_system(row) and row.get("role") == "user"


def _time(row: Any) -> float | None:
    """When the host says that a row was said; None of one that has a uid, by which it is known."""
    if is_system(row) or row.get("message_uid"):
        return None
    time = row.get("timestamp")
    return time if isinstance(time, float) else None


def _is_same(one: Any, other: Any) -> bool:
    time = _time(one)
    return (
        time is not None
        and time == _time(other)
        and key_of(one)[:KEY_BYTES] == key_of(other)[:KEY_BYTES]
    )
