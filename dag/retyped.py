"""Numbers that changed their kind in a row that is still equal: ``1``, ``1.0`` and ``True`` are three texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Retyped"]

#: Rows at the end of what is equal that are looked at: far from there the three are one.
_LOOKED_AT = 64


class Retyped:
    """Looks for them; what was seen of a row without numbers, as nearly all are, is not looked at again."""

    def __init__(self) -> None:
        self._first = self._end = 0
        """The rows of which it is known."""
        self._numbered: list[int] = []
        """Those among them with numbers in the fields that make a version."""

    def cut(self, start: int) -> None:
        """Only the first *start* rows are what they were."""
        if start < self._end:
            self._first, self._end = min(self._first, start), start
            self._numbered = [n for n in self._numbered if n < start]

    def first(self, seen: Sequence[Any], rows: Sequence[Any], count: int) -> int:
        """The first of the last of the *count* equal rows that is not the same to the letter; *count* if none is."""
        begin = max(0, count - _LOOKED_AT)
        if not self._first <= begin <= self._end:
            self._first = self._end = begin
            self._numbered = []
        self._numbered += [n for n in range(self._end, count) if _is_numbered(seen[n])]
        self._end = max(self._end, count)
        for n in self._numbered:
            if begin <= n < count and _is_retyped(seen[n], rows[n]):
                return n
        return count


def _is_numbered(row: Any) -> bool:
    return isinstance(row, dict) and any(
        _has_number(value)
        for value in (row.get("content"), row.get("tool_calls"))
        if value is not None and not isinstance(value, str)  # text and nothing, mostly
    )


def _has_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_number, value))
    return isinstance(value, int | float)


def _is_retyped(one: Any, other: Any) -> bool:
    """Whether two equal rows are not the same to the letter, in the fields that make a version."""
    return not all(
        _same_numbers(one[name], other[name]) for name in ("content", "tool_calls") if name in one
    )


def _same_numbers(one: Any, other: Any) -> bool:
    """Whether two values that are equal are so to the letter."""
    if isinstance(one, dict):
        return all(_same_numbers(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        return all(map(_same_numbers, one, other))
    return type(one) is type(other) or not isinstance(one, int | float)
