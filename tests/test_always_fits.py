"""Whatever the list: the result is valid, smaller or the same, and within the budget."""

from __future__ import annotations

import copy
import json
import time

import pytest
from lcm import LCMEngine
from lcm.dag.tokens import count_messages
from lcm.dag.validity import new_faults

WORDS = "lorem ipsum dolor sit amet consectetur "
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 200_000}}
FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64," + "A" * 600_000}}


def big(characters):
    return (WORDS * (characters // len(WORDS) + 1))[:characters]


def user(content):
    return {"role": "user", "content": content}


def said(content="", calls=(), **more):
    row = {"role": "assistant", "content": content, **more}
    if calls:
        row["tool_calls"] = [
            {"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}}
            for each in calls
        ]
    return row


def result(call, content):
    return {"role": "tool", "tool_call_id": call, "content": content}


def writes(characters):
    arguments = json.dumps({"text": big(characters)})
    row = said("", ["w"])
    row["tool_calls"][0]["function"]["arguments"] = arguments
    return row


MANY = [f"c{n}" for n in range(300)]
LISTS = {
    "one result of 1.2 MB in four": [user("read"), said("", ["a"]), result("a", big(1_200_000)), said("ok")],
    "the same, not answered yet": [user("read"), said("", ["a"]), result("a", big(1_200_000))],
    "a tail larger than the window": [
        *(row for n in range(6) for row in (user(f"q{n}"), said(big(300_000)))), user("end"),
    ],
    "a newest user message larger than the window": [user("hi"), said("yes"), user(big(1_500_000))],
    "nothing but such a message": [user(big(1_500_000))],
    "300 parallel calls": [
        user("go"), said("", MANY), *(result(each, big(4000)) for each in MANY), said("ok"), user("more"),
    ],
    "300 parallel calls in the newest turn": [
        user("go"), said("", MANY), *(result(each, big(4000)) for each in MANY),
    ],
    "only tool messages": [result(each, big(40_000)) for each in MANY[:30]],
    "a tool row first": [
        result("z", big(400_000)), user("x"), said(big(100_000)), user("y"), said(big(100_000)), user("z"),
    ],
    "one assistant row": [said(big(1_000_000))],
    "nothing but assistant rows": [said(big(50_000)) for _ in range(20)],
    "nothing but user rows": [user(big(50_000)) for _ in range(20)],
    "300 steps in one turn": [
        user("go"), *(row for each in MANY for row in (said("", [each]), result(each, big(3000)))),
    ],
    "arguments of 1 MB": [user("go"), writes(1_000_000), result("w", "ok"), said("done"), user("next")],
    "arguments of 1 MB in the newest turn": [user("go"), writes(1_000_000), result("w", "ok")],
    "eighty images": [
        *(row for _ in range(80) for row in (user([{"type": "text", "text": "look"}, IMAGE]), said("seen " * 50))),
        user("end"),
    ],
    "a file": [user("a"), said("b"), user([{"type": "text", "text": "look"}, FILE])],
    "reasoning of 1 MB": [user("a"), said("x", reasoning_content=big(1_000_000)), user("b")],
    "an image in a long result": [
        user("a"), said("", ["q"]), result("q", [{"type": "text", "text": big(800_000)}, IMAGE]), said("x"), user("b"),
    ],
    "a long result in Japanese": [user("読め"), said("", ["a"]), result("a", "漢字" * 300_000), said("済"), user("次")],
}  # fmt: skip


@pytest.fixture
def make(tmp_path):
    engines = []

    def made(window, **more):
        engine = LCMEngine(
            window, db_path=tmp_path / "lcm.db", summarizer=lambda _: "What was done. " * 8, **more
        )
        engine.on_session_start("s")
        engines.append(engine)
        return engine

    yield made
    for engine in engines:
        engine.close()


def fits(engine, rows, overhead):
    """*rows* after a pass, which must be one."""
    before = count_messages(rows)
    given = copy.deepcopy(rows)
    out = engine.compress(given, current_tokens=before + overhead)
    assert given == rows
    assert not new_faults(rows, out)
    threshold = engine.threshold_tokens
    assert count_messages(out) <= max(threshold - overhead, threshold // 4)
    assert count_messages(out) < before
    assert engine._last_compression_made_progress
    assert not engine.should_compress(count_messages(out))
    assert not engine.get_status()["problems"]
    return out


@pytest.mark.parametrize("overhead", [0, 3000])
@pytest.mark.parametrize("window", [8000, pytest.param(32_000, marks=pytest.mark.slow), 128_000])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_above_the_threshold_fits_after_one_pass(make, name, window, overhead):
    """No no-op, nothing larger, nothing invalid, and the progress that the host is told of."""
    fits(make(window), LISTS[name], overhead)


@pytest.mark.parametrize("rows", [[], [user("hello")]])
def test_what_is_small_stays_as_it_is(make, rows):
    """Also where the host says that the request is far above the threshold: its prompt cannot be shrunk."""
    engine = make(8000)
    assert engine.compress(list(rows), current_tokens=20_000) == rows
    assert not engine._last_compression_made_progress


def test_a_window_that_shrinks_in_mid_session(make):
    """The next pass fits the new one, whatever stands in the list already."""
    engine = make(128_000)
    rows = [row for n in range(40) for row in (user(f"q{n}"), said(big(12_000)))] + [user("end")]
    rows = fits(engine, rows, 0)
    for window in (32_000, 8000, 4000):
        engine.update_model("smaller", window)
        rows = [*rows, said(big(3 * window)), user("and then?"), said(big(window)), user("go on")]
        assert engine.should_compress(count_messages(rows))
        rows = fits(engine, rows, 0)


def test_an_image_costs_what_it_costs(make):
    """Not its base64: one of 200,000 characters is no reason for a pass in a window of 32,000."""
    engine = make(32_000)
    rows = [user([{"type": "text", "text": "look"}, IMAGE]), said("I see a cat."), user("thanks")]
    tokens = engine.count_tokens(rows)
    assert tokens < 4000
    assert not engine.should_compress(tokens)
    assert rows == engine.compress(rows, tokens)


def test_a_row_that_is_no_message_stands_between_a_call_and_its_result(make):
    """It passes through where it stands, as anywhere else, and what is around it is compacted."""
    rows = []
    for n in range(40):
        rows += [user(big(300)), said("", [f"c{n}"]), result(f"c{n}", "ok"), said("done")]
    rows.insert(4 * 37 + 2, None)
    engine = make(4000)
    out = engine.compress(list(rows), current_tokens=count_messages(rows[:-20]) + 4000)
    assert len(out) < len(rows) // 2
    assert not engine._last_compress_aborted
    assert not engine.get_status()["problems"]


def test_a_turn_of_many_steps_is_cut_in_a_moment(make):
    """An agent that waits asks thousands of times in one turn: the time grows with them, not with their square."""
    rows = [user("go")]
    for n in range(4000):
        rows += [said("", [f"c{n}"]), result(f"c{n}", f"pending {n} " + "x y z " * 10)]
    engine = make(32_000)
    engine.ingest(rows)
    start = time.process_time()
    assert engine.select_context(rows, conversation_messages=rows, budget_tokens=32_000)
    assert time.process_time() - start < 4
