"""Values of any shape: one that JSON does not hold costs neither its list nor, where it can be told, itself."""

from __future__ import annotations

import json
import zlib

import pytest
from lcm import LCMEngine
from lcm.storage import open_store
from lcm.storage.canon import DEEPEST, decode, encode
from lcm.storage.payloads import filled, shrink, split, swell


class Mute:
    """Cannot even be printed."""

    def __repr__(self):
        raise RuntimeError("no repr")


def whole(skeleton, references, payloads):
    """The body that was split."""
    return encode(filled(skeleton, references, payloads)) if references else skeleton


def nested(levels, leaf):
    """A list in a list, so deep."""
    for _ in range(levels):
        leaf = [leaf]
    return leaf


def loop():
    """A list that stands in itself, beside a word."""
    made = ["in the loop"]
    made.append({"again": made})
    return made


def twice():
    """A list that stands in itself twice: a copy that follows both ways never ends."""
    made = ["in the loop"]
    made += [made, made]
    return made


def user(content, **more):
    return {"role": "user", "content": content, **more}


def call(function):
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": function}]}


ODD = {
    "number": user("odd", meta=10**5000),
    "number as content": user(10**5000),
    "number as part": user([10**5000]),
    "number as role": user("odd") | {"role": 10**5000},
    "number as id": {"role": "tool", "tool_call_id": 10**5000, "content": "odd"},
    "number as argument": call({"name": "f", "arguments": {"n": 10**5000}}),
    "number as name": call({"name": 10**5000, "arguments": "{}"}),
    "number as key": user("odd", meta={10**5000: 1, "1": 2}),
    "mute": user("odd", meta=Mute()),
    "mute content": user(Mute()),
    "mute part": user([Mute()]),
    "mute argument": call({"name": "f", "arguments": {"n": Mute()}}),
    "loop": user("odd", meta=loop()),
    "loop as content": user(loop()),
    "loop twice": user("odd", meta=twice()),
    "deep": user([{"type": "text", "text": "odd", "meta": nested(5000, "leaf")}]),
    "deep content": user(nested(5000, "leaf")),
    "deep argument": call({"name": "f", "arguments": nested(5000, "leaf")}),
    "deep parts": user([{"content": nested(1500, {"content": ["leaf"]})}]),
    "time": user("odd", timestamp="0001-01-01T00:00:00"),
    "time zone": user("odd", timestamp="0001-01-01T00:00:00+14:00"),
}


@pytest.mark.parametrize("redact", ["summaries", pytest.param("store", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ODD)
def test_one_odd_value_costs_no_other_row(tmp_path, name, redact):
    """ING-17: Every row is stored, the odd one too, once: by the same engine and by the next."""
    path = tmp_path / "l.db"
    rows = [user("first"), user("second"), ODD[name], user("third"), user("last")]
    for _ in range(2):
        engine = LCMEngine(8000, db_path=path, settings={"redact": redact})
        engine.on_session_start("s")
        for _ in range(2):
            engine.on_turn_complete(rows)
        engine.compress(rows, current_tokens=10**6, force=True)
        found = json.loads(engine.handle_tool_call("lcm_grep", {"query": "last"}, messages=rows))
        assert found["total"] == 1
        assert engine.get_status()["problems"] == []
        engine.close()
    store = open_store(path, create=False)
    totals = store.totals()
    assert (totals.messages, totals.versions) == (5, 0)
    assert all(0 < message.time < 1e11 for message in store.stream())
    store.close()


@pytest.mark.parametrize("name", ODD)
def test_the_form_is_the_same_each_time(name):
    """What was read is stored as it was, byte for byte, whole or in pieces, whatever it was made from."""
    body = encode(ODD[name])
    assert body == encode(ODD[name]) == encode(decode(body))
    assert whole(*split(body)) == body


@pytest.mark.parametrize("levels", [DEEPEST - 1, DEEPEST, DEEPEST + 1, 900, 20_000])
@pytest.mark.parametrize("around", [0, 600])
def test_no_leaf_is_lost_to_depth(levels, around):
    """However deep it stands, and however full the stack is: the same bytes, and the leaf in them."""
    value = {"content": nested(levels, "leaf"), "x": {"a": 1.5, "b": None}}

    def under(frames):
        return under(frames - 1) if frames else encode(value)

    body = under(around)
    assert body == encode(value)
    at = decode(body)["content"]
    for _ in range(DEEPEST - 1):
        at = at[0] if isinstance(at, list) else at
    if levels <= DEEPEST:
        assert decode(body) == value
    else:
        (rest,) = at
        text = rest["__json__"]
        assert text == "[" * (levels - DEEPEST) + '"leaf"' + "]" * (levels - DEEPEST)


def test_numbers_and_keys_keep_what_they_say():
    """A long integer in hexadecimal, keys that look alike beside each other, and a loop that is named as one."""
    value = {"n": 10**5000, "k": {1: "ONE", "1": "UNO", None: "NIL"}, "l": loop()}
    back = decode(encode(value))
    assert int(back["n"]["__repr__"], 16) == 10**5000
    assert sorted(back["k"].values()) == ["NIL", "ONE", "UNO"]
    assert back["l"] == ["in the loop", {"again": {"__repr__": "..."}}]


def test_a_large_message_whose_keys_are_numbers_is_read_again():
    """Sorted as numbers they stand in another order than as texts: its bytes come back all the same."""
    body = encode({"content": "word " * 2000, "m": {9: "x", 10: "y"}})
    assert whole(*split(body)) == body


@pytest.mark.parametrize(
    "spoil", [lambda data: data + b"x", lambda data: data[:-1], lambda data: data * 2]
)
def test_compressed_bytes_end_where_they_did(spoil):
    """What is put behind them, or missing at their end, is damage, though the text can be read."""
    data = shrink(b"a long output " * 500)
    assert swell(data) == b"a long output " * 500
    with pytest.raises(zlib.error):
        swell(spoil(data))
