"""The way down when summaries fail: parts, halves, the next model, the extract; nothing is asked twice."""

from __future__ import annotations

import json

import pytest
from asking import route
from lcm import LCMEngine
from lcm.dag.breaker import Breaker
from lcm.dag.summarizer import Reply, SummaryRequest, summarize
from lcm.dag.tokens import count_text

LEVELS = (15, 50, 250)
GOOD = "The user moved the tables, and each copy was checked."
TURNS = [
    f"user: Please move table {n} now.\n\nIt is the {n}th.\n"
    f"assistant: Table {n} was moved, {n * 31} rows, and its copy was checked against the log {'well ' * 40}\n"
    for n in range(60)
]
SOURCE = "".join(TURNS)


class TooLongError(Exception):
    status_code = 400

    def __str__(self):
        return "This model's maximum context length is 2048 tokens."


def request(text=SOURCE):
    return SummaryRequest(text, 250, LEVELS)


def refuses(_):
    return Reply("I'm sorry, but I can't assist with that.", "stop")


def breaks(_):
    raise ConnectionError


class Reader:
    """A model that can read *most* tokens, and notes what it read."""

    def __init__(self, most):
        self.most, self.read, self.refused = most, [], 0

    def __call__(self, asked):
        if count_text(asked.text) > self.most:
            self.refused += 1
            raise TooLongError
        self.read.append(asked.text)
        return Reply(GOOD, "stop")


@pytest.mark.parametrize("first", [refuses, breaks, lambda _: Reply("", "stop"), lambda _: None])
def test_the_next_model_is_asked_where_one_gives_nothing(first):
    """And what it says counts as a summary like any other."""
    summary = summarize(request(), [route(first), route(lambda _: Reply(GOOD, "stop"))])
    assert summary.text == GOOD
    assert not summary.degraded


def test_where_none_gives_one_each_is_named():
    """Sentences are extracted, and every reason is told once."""
    summary = summarize(request(), [route(refuses), route(breaks), route(breaks)])
    assert summary.degraded
    assert summary.text.strip()
    assert summary.reason.split("; ") == [
        "an error or a refusal in place of a summary",
        "summariser failed: ConnectionError",
    ]


def test_a_route_that_rests_costs_no_call():
    """The next one is asked at once."""
    breaker, count = Breaker(), []
    for _ in range(4):
        breaker.note("down")
    routes = [route(count.append, breaker=breaker), route(lambda _: Reply(GOOD, "stop"))]
    assert summarize(request(), routes).text == GOOD
    assert not count


def test_parts_are_cut_where_a_person_speaks():
    """A source that is longer than the window is read in parts, all of it, each from a turn's beginning."""
    reader = Reader(2000)
    summary = summarize(request(), [route(reader, window=3300)])
    assert not summary.degraded
    assert "".join(reader.read) == SOURCE
    assert len(reader.read) > 1
    assert reader.refused == 0
    assert all(part.startswith("user: ") for part in reader.read)


def test_a_window_is_learned_once():
    """What was too long once is cut beforehand the next time, for as long as the process knows the route."""
    reader, breaker = Reader(2000), Breaker()
    assert not summarize(request(), [route(reader, breaker=breaker)]).degraded
    first = reader.refused
    assert first > 0
    assert "".join(reader.read) == SOURCE
    reader.read.clear()
    assert not summarize(
        request(SOURCE.replace("table", "sheet")), [route(reader, breaker=breaker)]
    ).degraded
    assert reader.refused == first
    assert len(reader.read) > 1


def test_a_person_who_asks_gets_a_new_try():
    """A forced pass forgets what a route could not do: the model behind it may be another one."""
    breaker = Breaker()
    breaker.overflowed(100)
    breaker.wake()
    assert breaker.room is None


def test_every_model_of_the_settings_is_asked_in_turn(tmp_path, monkeypatch):
    """state_generation_model first, then the host's own chain; both are asked at most once for the same source."""
    from lcm.host import hermes

    asked = []

    def model(name):
        def call(each):
            asked.append((name, each.text))
            if name:
                raise ConnectionError
            levels = {"250": f"{GOOD} This is part {len(asked)}."}
            return Reply(json.dumps({"levels": levels, "topic": "tables"}), "stop")

        return call

    monkeypatch.setattr(hermes, "model_summarizer", model)
    settings = {"state_generation_model": "small-one", "leaf_tokens": 1000}
    engine = LCMEngine(8000, db_path=tmp_path / "lcm.db", settings=settings)
    engine.on_session_start("s")
    rows = [
        {"role": role, "content": f"{role} {n} {'word ' * 150}"}
        for n in range(30)
        for role in ("user", "assistant")
    ]
    out = engine.compress(rows, engine.count_tokens(rows))
    engine.close()
    assert GOOD in out[0]["content"]
    assert not engine._last_summary_fallback_used
    names = [name for name, _ in asked]
    assert names[:2] == ["small-one", ""]
    assert len(asked) == len(set(asked))
    assert names.count("small-one") == 4  # then it is left alone
