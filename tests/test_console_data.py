"""``--json`` is written faster than ``json`` writes with an indent, and to the letter as that does."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from lcm.console import screen

TEXTS = st.text() | st.sampled_from(['},\n      {"', "{", "}", "[]", "\ud800", "\u2028", '"\\'])
KEYS = TEXTS | st.integers() | st.booleans() | st.none()
PLAIN = (
    TEXTS | st.integers() | st.booleans() | st.none() | st.floats() | st.binary() | st.just(set())
)
DATA = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(KEYS, inner)
        | st.lists(st.dictionaries(KEYS, PLAIN))
        | st.tuples(inner, inner)
    ),
    max_leaves=30,
)


@given(DATA)
def test_it_is_what_json_writes(value):
    """Whatever it holds: texts that look like JSON, empty lists, keys that are no texts, what JSON does not know."""
    expected = json.dumps(value, indent=2, default=repr)
    assert expected == screen.to_data(value)
    assert expected == "".join(screen.data_pieces(value))


def test_a_reader_need_not_wait_for_the_last():
    """Much comes in pieces, and none of them is empty."""
    rows = {"of": [{"n": n, "rows": [{"text": "x" * 400}]} for n in range(2000)]}
    pieces = list(screen.data_pieces(rows))
    assert len(pieces) > 3 and all(pieces)
    assert rows == json.loads("".join(pieces))
