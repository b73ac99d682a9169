"""Which of the stored messages are these rows? A longest common subsequence.

Both sides are sequences of keys, compared for equality only. What is matched
keeps its order; what is not matched is new (a row) or missing (a stored
message). Among alignments of the same length the one that matches earliest is
taken, so that a list that only grew has its new rows at the end.

A count of rows seen so far, a longest common suffix and difflib all lose
messages when the host edits or drops some; an alignment over digests does
not, in the worst case it takes a known message for a new one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence

__all__ = ["align"]

Keys = Sequence[Hashable]

#: Largest table (stored times rows) that is worked out exactly: 25 ms.
_EXACT = 250_000


def align(stored: Keys, rows: Keys) -> list[int | None]:
    """For each of *rows* the index of its equal in *stored*, ascending, or None."""
    result: list[int | None] = [None] * len(rows)
    _align(stored, rows, (0, len(stored), 0, len(rows)), result)
    return result


def _align(
    stored: Keys, rows: Keys, window: tuple[int, int, int, int], result: list[int | None]
) -> None:
    """Fill *result* for ``rows[c:d]`` against ``stored[a:b]``."""
    a, b, c, d = window
    while a < b and c < d and stored[a] == rows[c]:
        result[c] = a
        a, c = a + 1, c + 1
    while a < b and c < d and stored[b - 1] == rows[d - 1]:
        b, d = b - 1, d - 1
        result[d] = b
    if a == b or c == d:
        return
    if (b - a) * (d - c) <= _EXACT:
        _table(stored, rows, (a, b, c, d), result)
        return
    for window_between in _between_anchors(stored, rows, (a, b, c, d), result):
        _align(stored, rows, window_between, result)


def _table(
    stored: Keys, rows: Keys, window: tuple[int, int, int, int], result: list[int | None]
) -> None:
    """The textbook dynamic programme, filled from the end and walked from the start."""
    a, b, c, d = window
    width = d - c
    table = [[0] * (width + 1)]
    for i in range(b - 1, a - 1, -1):
        below, key = table[-1], stored[i]
        line = [0] * (width + 1)
        for j in range(width - 1, -1, -1):
            if key == rows[c + j]:
                line[j] = below[j + 1] + 1
            else:
                line[j] = max(below[j], line[j + 1])
        table.append(line)
    table.reverse()
    i, j = 0, 0
    while i < b - a and j < width:
        if stored[a + i] == rows[c + j]:
            result[c + j] = a + i
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1


def _between_anchors(
    stored: Keys, rows: Keys, window: tuple[int, int, int, int], result: list[int | None]
) -> list[tuple[int, int, int, int]]:
    """Match what occurs once on both sides and in the same order; return what lies between.

    Without any such key the rest stays unmatched: duplicates are better than a loss.
    """
    a, b, c, d = window
    counts, row_counts = Counter(stored[a:b]), Counter(rows[c:d])
    where = {key: i for i, key in enumerate(stored[a:b], a) if counts[key] == 1}
    pairs = [
        (where[key], j)
        for j, key in enumerate(rows[c:d], c)
        if row_counts[key] == 1 and key in where
    ]
    windows = []
    at, row_at = a, c
    for i, j in _longest_rise(pairs):
        result[j] = i
        windows.append((at, i, row_at, j))
        at, row_at = i + 1, j + 1
    if windows:
        windows.append((at, b, row_at, d))
    return windows


def _longest_rise(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of *pairs* whose first members rise (Fredman 1975)."""
    ends: list[int] = []
    at_end: list[int] = []
    before: list[int] = []
    for n, (i, _) in enumerate(pairs):
        place = bisect_left(ends, i)
        if place == len(ends):
            ends.append(i)
            at_end.append(n)
        else:
            ends[place] = i
            at_end[place] = n
        before.append(at_end[place - 1] if place else -1)
    rise = []
    n = at_end[-1] if at_end else -1
    while n >= 0:
        rise.append(pairs[n])
        n = before[n]
    return rise[::-1]
