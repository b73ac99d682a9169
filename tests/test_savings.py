"""Tool results that nobody misses, and when leaving them out is worth a change."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lcm.dag.savings import STUB_TOKENS, Saving, savings, worth_of, worthwhile


def user(text):
    return {"role": "user", "content": text}


def call(name, arguments, number):
    function = {"name": name, "arguments": arguments}
    calls = [{"id": f"c{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(number, text):
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def turn(number, name, arguments, text):
    return [user(f"q{number}"), call(name, arguments, number), result(number, text)]


def why(rows, tail=0, newest=None):
    sizes = [1000 if row["role"] == "tool" else 10 for row in rows]
    found = savings(rows, sizes, tail, len(rows) if newest is None else newest)
    return {each.index: each.why for each in found}


def test_a_read_that_was_made_again_is_superseded():
    """The same call with the same arguments, whatever their order and white space; the later one stays."""
    rows = [
        *turn(1, "read", '{"path": "a", "limit": 5}', "old text"),
        *turn(2, "read", '{"path": "b"}', "another"),
        *turn(3, "read", '{"limit":5,"path":"a"}', "new text"),
    ]
    assert why(rows) == {2: "superseded"}


def test_the_same_text_twice_is_shown_once():
    """By the later result, whoever gave it."""
    rows = [*turn(1, "read", "{}", "same"), *turn(2, "cat", "{}", "same"), *turn(3, "x", "{}", "y")]
    assert why(rows) == {2: "duplicate"}


def test_what_stands_before_the_tail_is_old():
    """In the tail nothing is; in the newest turn nothing is left out at all."""
    rows = [row for n in range(4) for row in turn(n, "read", f'{{"n": {n}}}', f"text {n}")]
    assert why(rows, tail=6) == {2: "old", 5: "old"}
    again = [*rows, *turn(1, "read", '{"n": 1}', "text 1")]
    assert why(again, tail=6, newest=3) == {2: "old"}


def test_a_small_result_and_odd_rows_are_left_alone():
    """A call without a result, a result without a call, arguments that are no JSON, content in parts."""
    rows = [
        call("read", "no json {", 1), result(1, "x"), call("read", "no json {", 2), result(2, "y"), result(9, "z"),
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "part"}]}, call("r", None, 3),
        {"role": "system", "content": "s"},
    ]  # fmt: skip
    assert why(rows) == {1: "superseded"}
    assert savings(rows, [STUB_TOKENS] * len(rows), len(rows), len(rows)) == []


def test_reused_ids_are_told_apart():
    """The nearest call before a result is the one that it answers."""
    rows = [*turn(1, "read", '{"p": 1}', "a"), *turn(1, "read", '{"p": 2}', "b")]
    assert why(rows) == {}


def test_a_change_far_back_must_save_more_than_it_breaks():
    """Nine tokens of ten cost nothing again as long as the prefix stands."""
    tokens = [1000, 5000, *[1000] * 40]
    found = [Saving(1, 4000, "old")]
    assert worthwhile(found, tokens, 5, 1000) == []
    assert worthwhile(found, tokens, 20, 1000) == found
    assert worthwhile(found, tokens, 20, 5000) == []


def test_only_the_later_ones_where_the_first_is_not_worth_it():
    """One small result at the beginning is not touched for the sake of a large one at the end."""
    tokens = [500, *[1000] * 60, 30_000, 100]
    found = [Saving(0, 300, "old"), Saving(61, 29_000, "superseded")]
    assert worthwhile(found, tokens, 2, 1000) == found[1:]


@given(
    st.lists(st.integers(300, 20_000), min_size=1, max_size=12),
    st.floats(0, 100),
)
def test_what_is_chosen_is_never_a_loss(sizes, worth):
    """By the very prices that are told."""
    tokens = [size for pair in zip(sizes, [500] * len(sizes), strict=True) for size in pair]
    found = [Saving(2 * n, size - STUB_TOKENS, "old") for n, size in enumerate(sizes)]
    chosen = worthwhile(found, tokens, worth, 1000)
    if chosen:
        saved = sum(each.saved for each in chosen)
        behind = sum(tokens[chosen[0].index :]) - saved
        assert saved >= 1000
        assert worth * saved > 0.9 * behind
        assert chosen == found[len(found) - len(chosen) :]


@pytest.mark.parametrize("arguments", [None, "", "{", json.dumps({"a": 1}), {"a": 1}, 5])
def test_any_arguments(arguments):
    """Hosts pass what models write."""
    rows = [row for n in (1, 2) for row in turn(n, "f", arguments, f"t{n}")]
    assert why(rows) == {2: "superseded"}


def test_a_token_is_worth_more_the_longer_it_would_stay():
    """And never nothing: a compaction that comes later is one that costs less an hour."""
    assert worth_of(0, 500, 24_000, 12_000) == pytest.approx(2)
    assert worth_of(10_000, 500, 24_000, 12_000) == pytest.approx(4)
    assert worth_of(-5, 0, 100, 100) == pytest.approx(100)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": "\u00e9"}', '{"a":"\\u00e9"}'),
        ('{"a": "b/c"}', '{"a": "b\\/c"}'),
        ('{"a": 1000.0}', '{"a":1e3}'),
        ('{"a": 0, "b": 1}', '{"b":1,"a":-0}'),
        ('{"a": "x y"}', {"a": "x y"}),
        ('{"a": "say \\"no\\""}', '{ "a" : "say \\"no\\"" }'),
    ],
)
def test_the_same_arguments_in_other_letters(one, other):
    """JSON writes one value in many ways."""
    assert why([*turn(1, "f", one, "t1"), *turn(2, "f", other, "t2")]) == {2: "superseded"}
    assert why([*turn(1, "f", other, "t1"), *turn(2, "f", one, "t2")]) == {2: "superseded"}


@pytest.mark.parametrize(
    ("one", "other"),
    [('{"a": "x y"}', '{"a": "xy "}'), ('{"a": 1}', '{"a": 2}'), ('{"a": 1}', '{"b": 1}')],
)
def test_other_arguments_of_the_same_length(one, other):
    """As long is not the same."""
    assert why([*turn(1, "f", one, "t1"), *turn(2, "f", other, "t2")]) == {}
