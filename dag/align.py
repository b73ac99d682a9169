"""Which of the stored messages are these rows? A longest common subsequence.

Both sides are sequences of keys, compared for equality only. What is matched
keeps its order; what is not matched is new (a row) or missing (a stored
message). Among alignments of the same length the one counts that has the
fewest messages that were taken back: what stands in the conversation goes
before what stood in it once and says the same. Of those still equal, rows that
begin as the stored messages do are these, so that a list that only grew has its
new rows at the end; and others are nearest to the end of what is stored.

A count of rows seen so far, a longest common suffix and difflib all lose
messages when the host edits or drops some; an alignment over digests does
not, in the worst case it takes a known message for a new one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

__all__ = ["align"]

Keys = Sequence[Hashable]

#: Largest table (stored times rows) that is worked out exactly: 25 ms.
_EXACT = 250_000


def align(stored: Keys, rows: Keys, gone: AbstractSet[int] = frozenset()) -> list[int | None]:
    """For each of *rows* the index of its equal in *stored*, ascending, or None; *gone*: what was taken back."""
    last = {key: i for i, key in enumerate(stored) if i not in gone} if gone else {}
    alignment = _Alignment(stored, rows, gone, last, [None] * len(rows))
    alignment.fill(0, len(stored), 0, len(rows))
    return alignment.found


class _Alignment(NamedTuple):
    """Two sequences, and what is found; all windows are of ``stored[a:b]`` and ``rows[c:d]``."""

    stored: Keys
    rows: Keys
    gone: AbstractSet[int]
    """Places of stored messages that were taken back."""
    last: dict[Hashable, int]
    """Where anything is taken back: the last place at which a key stands in the conversation."""
    found: list[int | None]

    def fill(self, a: int, b: int, c: int, d: int) -> None:
        """Find the rows of one window."""
        stored, rows, gone, found = self.stored, self.rows, self.gone, self.found
        while a < b and c < d and stored[a] == rows[c] and not (a in gone and self._stands(a, a)):
            found[c] = a
            a, c = a + 1, c + 1
        while a < b and c < d and stored[b - 1] == rows[d - 1]:
            if b - 1 in gone and self._stands(b - 1, a):
                break
            b, d = b - 1, d - 1
            found[d] = b
        if a == b or c == d:
            return
        if (b - a) * (d - c) <= _EXACT:
            self._table(a, b, c, d)
            return
        for window in self._between_anchors(a, b, c, d):
            self.fill(*window)

    def _stands(self, place: int, start: int) -> bool:
        """Whether the same may stand in the conversation from *start* on: then what was taken back has to wait."""
        return self.last.get(self.stored[place], -1) >= start

    def _table(self, a: int, b: int, c: int, d: int) -> None:
        """The textbook dynamic programme, filled from the end and walked from the start.

        A pair counts so much that no number of those in the conversation is worth as much as one more.
        """
        stored, rows, width = self.stored, self.rows, d - c
        worth = [width + 1 + (i not in self.gone) for i in range(a, b)]
        table = [[0] * (width + 1)]
        for i in range(b - 1, a - 1, -1):
            below, key, pair = table[-1], stored[i], worth[i - a]
            line = [0] * (width + 1)
            for j in range(width - 1, -1, -1):
                most = max(below[j], line[j + 1])
                if key == rows[c + j]:
                    most = max(most, below[j + 1] + pair)
                line[j] = most
            table.append(line)
        table.reverse()
        i, j = 0, 0
        while i < b - a and j < width:
            if table[i + 1][j] == table[i][j]:
                i += 1
            elif stored[a + i] == rows[c + j] and table[i + 1][j + 1] + worth[i] == table[i][j]:
                self.found[c + j] = a + i
                i, j = i + 1, j + 1
            else:
                j += 1

    def _between_anchors(self, a: int, b: int, c: int, d: int) -> list[tuple[int, int, int, int]]:
        """Match what occurs once on both sides and in the same order; return what lies between.

        Without any such key the rest stays unmatched: duplicates are better than a loss.
        """
        stored, rows = self.stored, self.rows
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
            self.found[j] = i
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
