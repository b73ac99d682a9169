"""Finding the places of an answer in a large log: what is left out because it cannot matter, does not."""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from contextlib import closing

import pytest
from lcm.storage import fts_places, fts_search
from lcm.storage.fts_terms import Found, Scope, listed
from lcm.storage.migrations import INDEXES
from lcm.storage.ranking import weight

MANY = 200_000


@pytest.fixture(name="sql", scope="module")
def _sql():
    """An index of many messages: every second holds a word, every twentieth a phrase, few a rare word."""
    with closing(sqlite3.connect(":memory:")) as sql:
        sql.execute(INDEXES["message_index"])
        words = ("often", "red door", "seldom")
        texts = (
            " ".join(
                word
                for word, every in zip(words, (2, 20, 9_000), strict=True)
                if number % every == 0
            )
            for number in range(1, MANY + 1)
        )
        insert = "INSERT INTO message_index (rowid, text) VALUES (?, ?)"
        sql.executemany(insert, enumerate(texts, 1))
        yield sql


@pytest.mark.parametrize(
    ("asked", "spreads", "expected", "about"),
    [
        ("often", True, MANY // 2, 0.05),
        ("red door", False, MANY // 20, 0.05),
        ("seldom", True, 22, 0),
    ],
)
def test_frequent_terms_are_counted_in_samples(sql, asked, spreads, expected, about):
    """A weight needs to know within five per cent how many hold a frequent term; of a rare one all are counted."""
    scope = Scope(1, MANY, MANY, None)
    ((term),) = fts_search._terms(sql, {f'"{asked}"': spreads}, scope)
    assert term.holders == pytest.approx(expected, rel=about)


@pytest.mark.parametrize(("asked", "expected", "about"), [("seldom", 11, 0), ("often", 5_000, 0.1)])
def test_who_holds_a_term_is_counted_among_the_own(sql, asked, expected, about):
    """Others' messages in between make no word of a conversation more common; of very many a part is taken."""
    members = frozenset(range(18_000, MANY + 1, 18_000)) | frozenset(range(19, MANY + 1, 20))
    scope = Scope(1, MANY, len(members), members)
    (term,) = fts_search._terms(sql, {f'"{asked}"': True}, scope)
    numbers = fts_search._numbers(sql, [term], scope)
    assert term.holders == pytest.approx(expected, rel=about)
    assert set(numbers[term]) <= members


def test_numbers_come_as_one_text(sql):
    """All of them, and none where there are none."""
    query = "SELECT rowid AS number FROM message_index WHERE message_index MATCH ?"
    assert listed(sql, query, ["seldom"]) == list(range(9_000, MANY + 1, 9_000))
    assert listed(sql, query, ["never"]) == []


@pytest.mark.parametrize("seed", range(20))
def test_places_that_cannot_be_among_the_best_change_nothing(seed):
    """The likeliest places are those that they are when every place is weighed with every term."""
    dice = random.Random(seed)
    sizes = sorted(dice.choice((3, 40, 500, 3_000, 20_000)) for _ in range(dice.randint(1, 7)))
    numbers = {
        Found(str(at), "", True, size, size): sorted(dice.choices(range(1, MANY + 1), k=size))
        for at, size in enumerate(sizes)
    }
    scope = Scope(1, MANY, MANY, None)
    worth = defaultdict(float)
    for term, holding in numbers.items():
        for place in {number // 8 for number in holding}:
            worth[place] += weight(MANY, term.holders)
    best = sorted(((own, place) for place, own in worth.items()), reverse=True)[:60]
    around = {
        place: own + (worth.get(place - 1, 0) + worth.get(place + 1, 0)) / 2 for own, place in best
    }
    expected = sorted(around, key=lambda place: (-around[place], -place))
    assert fts_places._likely(numbers, None, list(numbers), scope) == expected
