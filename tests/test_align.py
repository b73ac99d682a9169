"""The alignment that says which stored messages a host's rows are."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from lcm.dag.align import align

letters = st.text("abcde", max_size=30)


def longest(stored, rows):
    """Length of the longest common subsequence, by the definition."""
    table = [[0] * (len(rows) + 1) for _ in range(len(stored) + 1)]
    for i, a in enumerate(stored):
        for j, b in enumerate(rows):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


def test_a_list_that_grew_has_its_new_rows_at_the_end():
    """Also where the new rows repeat old ones word for word."""
    assert [0, 1, 2, 3, None, None] == align("oaob", "oaobob")


def test_a_part_of_the_stored_messages_is_recognised():
    """A head, a tail, or what a filter left."""
    assert [0, 1] == align("abcd", "ab")
    assert [2, 3] == align("abcd", "cd")
    assert [0, 2, 3] == align("abcd", "acd")


def test_nothing_in_common_is_all_new():
    """An unrelated list binds to nothing."""
    assert [None, None] == align("ab", "xy")
    assert [] == align("ab", "")
    assert [None] == align("", "x")


@given(letters, letters)
def test_the_alignment_is_longest_and_in_order(stored, rows):
    """Every match is of equal keys, they rise, and there are as many as there can be."""
    found = align(stored, rows)
    matched = [(i, j) for j, i in enumerate(found) if i is not None]
    assert all(stored[i] == rows[j] for i, j in matched)
    assert all(a < b for (a, _), (b, _) in pairwise(matched))
    assert longest(stored, rows) == len(matched)


def test_long_lists_with_edits_are_bound_without_a_table():
    """5,000 stored, a hundred dropped and a hundred put in: all others are found, fast."""
    rnd = random.Random(7)
    stored = list(range(5000))
    rows = [key for key in stored if key % 50]
    for n in range(100):
        rows.insert(rnd.randrange(len(rows)), -n - 1)
    found = align(stored, rows)
    assert 4900 == sum(place is not None for place in found)
    assert all(
        place is None or stored[place] == row for place, row in zip(found, rows, strict=True)
    )
