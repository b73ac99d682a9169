"""Faults of calls to a summariser: how long, how often, how much, and whose."""

from __future__ import annotations

import json
import logging
import threading
import time

import pytest
from asking import summary_of
from faultkit import compressed, failing, kept, model_pass, talk
from lcm.dag.breaker import Breaker, Breakers
from lcm.dag.summarizer import Reply, SummaryRequest
from lcm.dag.tokens import count_text
from lcm.host.routes import names_of

SOURCE = "\n".join(f"user: step {n} moved {n * 37} rows to table_{n}." for n in range(400))
GOOD = "The user asked 'why', and the assistant gave reasons."


def test_a_hanging_call_does_not_hold_the_turn(caplog):
    """SUM-06: after the time that a pass has, it goes on without; what comes late is dropped."""
    release, late = threading.Event(), []

    def hangs(request):
        release.wait(600)
        late.append(request)
        return "far too late"

    rows = talk(60)
    began = time.monotonic()
    store, outcome = model_pass(rows, hangs, trusted=True, seconds=0.4)
    assert time.monotonic() - began < 30
    assert outcome.changed
    assert outcome.made and all(node.degraded for node in outcome.made)
    assert any("TimeoutError" in node.degraded for node in outcome.made)
    assert len(rows) == store.totals().messages
    release.set()
    for _ in range(100):
        if late:
            break
        time.sleep(0.02)
    assert not any("late" in text for node in store.nodes_on([1]) for text in node.texts.values())


def test_an_interrupt_in_the_summariser_goes_through():
    """SUM-06: the other way round: who is cancelled is not taken for one who failed."""

    class CancelledError(BaseException):
        pass

    with pytest.raises(CancelledError):
        model_pass(talk(60), failing(CancelledError), trusted=True)


def test_a_summariser_that_is_down_is_left_alone(make, home):
    """SUM-07: 20 turns over the threshold: a handful of calls, each for another source; all of it kept."""
    count = []
    engine = make(summarizer=failing(count=count))
    rows, sent = [], []
    for n in range(1, 21):
        more = talk(10, first=10 * n)
        rows, sent = [*rows, *more], [*sent, *more]
        rows = compressed(engine, rows)
    assert engine.compression_count >= 8
    assert len(count) <= 5
    assert len(count) == len({request.text for request in count})
    assert any("not asked for a while" in text for text in engine.get_status()["problems"])
    assert sent == kept(home)
    before = len(count)
    rows = compressed(engine, [*rows, *talk(20, first=900)], force=True)
    assert before < len(count) <= before + 2
    engine._summarizer = lambda request: GOOD
    rows = compressed(engine, [*rows, *talk(40, first=1000)], force=True)
    assert GOOD in rows[0]["content"]
    assert not engine.get_status()["problems"]


def test_a_rest_ends_and_grows():
    """SUM-07: after a minute one call shows whether it is back; if not, the rest is longer; if so, it is over."""
    now = [0.0]
    breaker = Breaker(lambda: now[0])
    for _ in range(3):
        breaker.note("summariser failed: X")
        assert 0 == breaker.rests()
    breaker.note("summariser failed: X")
    assert 60 == breaker.rests()
    now[0] += 61
    assert 0 == breaker.rests()
    breaker.note("summariser failed: X")
    assert 120 == breaker.rests()
    now[0] += 121
    breaker.note()
    for _ in range(3):
        breaker.note("summariser failed: X")
    assert 0 == breaker.rests()


def test_a_route_that_is_down_takes_no_other_with_it(make):
    """SUM-11: four failures in one sweep count, for every session of that route; another route is asked."""
    down = make("one", summarizer=failing(count=(count := [])), context_length=20_000)
    sibling = down.clone_for_agent()
    sibling.on_session_start("two")
    compressed(down, talk(200))
    assert 4 == len(count)
    compressed(sibling, talk(200, first=500))
    assert 4 == len(count)
    sound = make("three", summarizer=lambda request: GOOD)
    out = compressed(sound, talk(60))
    assert GOOD in out[0]["content"]
    assert not sound._last_summary_fallback_used
    sibling.close()


def test_routes_are_told_apart_by_model_and_provider(make):
    """SUM-11: what the host resolves a model from is the route's name."""
    breakers = Breakers()
    assert breakers.of(("a", "x")) is breakers.of(("a", "x"))
    assert breakers.of(("a", "x")) is not breakers.of(("b", "x"))
    first, second = make("one"), make("two")
    first.update_model("m", 8000, provider="p")
    second.update_model("m", 8000, provider="q")
    assert names_of(first) != names_of(second)


class TooLongError(Exception):
    """What providers answer to a request that is too long."""

    status_code = 400

    def __init__(self):
        super().__init__(
            "This model's maximum context length is 4096 tokens, however you requested 12000"
        )


@pytest.mark.parametrize("window", [4000, 2000])
def test_a_source_that_is_too_long_is_halved_until_it_fits(window):
    """SUM-15: the summariser's own window counts, whatever the agent's is; every line is read once, in order."""
    read = []

    def small(request):
        if count_text(request.text) > window:
            raise TooLongError
        read.append(request.text)
        return Reply("Tables were moved.", "stop")

    source = SOURCE * 2
    assert count_text(source) > 2 * window
    breaker = Breaker()
    summary = summary_of(
        SummaryRequest(source, 1000, (50, 1000)), small, trusted=False, breaker=breaker
    )
    assert source == "".join(read)
    assert not summary.degraded
    assert 0 == breaker.rests()


def test_a_summariser_that_takes_nothing_is_left_alone():
    """SUM-15: one that finds everything too long is not halved for ever, and counts as down in the end."""
    count, breaker = [], Breaker()
    for n in range(8):
        request = SummaryRequest(f"{n}\n{SOURCE}", 1000, (50, 1000))
        summary = summary_of(request, failing(TooLongError, count), trusted=False, breaker=breaker)
        assert summary.degraded
        assert summary.text.strip()
    assert len(count) <= 16
    assert breaker.rests() > 0


def test_a_failure_is_logged_without_its_words(make, caplog):
    """SUM-01: the class and the place; the words of an error may hold a key, or the conversation."""
    engine = make(summarizer=failing(ConnectionError("key sk-123456 was refused")))
    with caplog.at_level(logging.DEBUG):
        compressed(engine, talk(60))
    assert "ConnectionError" in caplog.text
    assert "faultkit.py" in caplog.text
    assert "sk-123456" not in caplog.text + json.dumps(engine.get_status())
