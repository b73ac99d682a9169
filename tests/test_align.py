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


def best(stored, rows, gone):
    """Of the longest alignments how many rows the best one has, and how many of those are not gone: all are tried."""
    if not stored or not rows:
        return 0, 0
    least = max(best(stored[1:], rows, gone_behind(gone)), best(stored, rows[1:], gone))
    if stored[0] != rows[0]:
        return least
    pairs, there = best(stored[1:], rows[1:], gone_behind(gone))
    return max(least, (pairs + 1, there + (0 not in gone)))


def gone_behind(gone):
    return {place - 1 for place in gone if place}


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


@given(st.text("abc", max_size=7), st.text("abc", max_size=6), st.sets(st.integers(0, 6)))
def test_of_the_longest_one_with_the_fewest_that_were_taken_back_counts(stored, rows, gone):
    """However many were: what stands in the conversation goes before them."""
    places = [place for place in align(stored, rows, gone) if place is not None]
    assert best(stored, rows, gone) == (len(places), sum(place not in gone for place in places))


def test_what_was_taken_back_and_comes_back_is_found_in_any_number():
    """Words that are said again and again are no anchors; as long as nothing else says them they need none."""
    assert list(range(3000)) == align("ab" * 1500, "ab" * 1500, set(range(1000, 3000)))


def test_equal_words_are_those_nearest_to_the_end():
    """A list that shows the end of what is stored has the end."""
    assert [3] == align("xoyoz", "o")
    assert [None, 3] == align("xoyoz", "!o")


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
