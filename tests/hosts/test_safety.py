"""The real hosts: no request that does not fit, no cool-down that blocks, and what a person sees."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hostkit import faults_of, stray_keys
from hostkit.failing import NarrowModel
from lcm.demo.model import Reply, Script, ScriptedModel, Turn

pytestmark = pytest.mark.slow

WINDOW = 65_536
NAME = re.compile(r"\[lcm [0-9a-f]{8}\]")
#: A turn of about 4,000 tokens.
LONG = [Turn(f"page {n}: {'words and more ' * 1100}", (Reply(f"read {n}"),)) for n in range(24)]
SHORT = [Turn(f"question {n}", (Reply(f"answer {n}"),)) for n in range(4)]


def spilled():
    """A history that ends in a result of about 100,000 tokens, as another program left it."""
    call = {
        "id": "call_x",
        "type": "function",
        "function": {"name": "read_file", "arguments": "{}"},
    }
    return [
        {"role": "user", "content": "Look at the log."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_x", "content": "a line of the log 12345\n" * 17_000},
        {"role": "assistant", "content": "It is long."},
    ]


def held(make_home, turns, *, model=None, settings=None, compression=True, **job):
    """(the driver's result, the requests of the agent, the home)."""
    with model or ScriptedModel(Script(turns)) as played:
        home = make_home(played.url)
        home.install()
        home.config["compression"]["enabled"] = compression
        if settings:
            home.config["lcm"] = settings
        result = home.drive("safety", {"turns": [turn.user for turn in turns], **job})
    assert "lcm" == result["engine"]
    return result, played.spoken, home


def check_wire(requests):
    """Each request fits the window, with room for an answer, and no provider would refuse it."""
    assert requests
    assert [] == [faults for request in requests if (faults := faults_of(request.messages))]
    assert not set().union(*(stray_keys(request.messages) for request in requests))
    assert max(request.prompt_tokens for request in requests) < WINDOW * 0.9


def test_a_huge_result_between_two_compactions(make_home):
    """The host compacts before it sends; the next turns go on."""
    result, requests, _ = held(make_home, SHORT, history=spilled())
    check_wire(requests)
    assert [turn.steps[0].text for turn in SHORT] == [turn["final"] for turn in result["turns"]]
    assert not any(turn["failed"] for turn in result["turns"])
    assert result["turns"][-1]["compressions"] >= 1
    assert NAME.search(str(requests[0].messages))


def test_a_window_that_is_smaller_than_it_is_said_to_be(make_home):
    """The provider refuses what the configured window would hold, and says no number: each turn is answered.

    The host asks for a pass that nobody took to be due; the list it gets fits, and lasts for some turns.
    """
    turns = LONG[:14]
    model = NarrowModel(Script(turns), limit=34_000)
    result, requests, _ = held(make_home, turns, model=model)
    check_wire(requests)
    assert [turn.steps[0].text for turn in turns] == [turn["final"] for turn in result["turns"]]
    assert 1 <= len(model.refused) <= 4
    assert result["turns"][-1]["compressions"] == len(model.refused)


def test_a_huge_result_where_compaction_is_switched_off(make_home, host):
    """Only the newer host asks about a request: it sends one that fits, begins each alike, and keeps its list."""
    if not host.is_new:
        pytest.skip("the older host asks nobody about a request")
    result, requests, _ = held(make_home, SHORT, history=spilled(), compression=False)
    check_wire(requests)
    assert [turn.steps[0].text for turn in SHORT] == [turn["final"] for turn in result["turns"]]
    assert result["turns"][-1]["status"]["shortened_requests"] >= len(SHORT)
    assert 4 + 2 * len(SHORT) == result["rows"]
    for before, after in pairwise(requests):
        assert before.messages == after.messages[: len(before.messages)]
    assert not result["turns"][-1]["status"]["events"]


def test_a_long_talk_where_compaction_is_switched_off(make_home, host):
    """Beyond the window by many turns: what is left out is named, and the agent goes on."""
    if not host.is_new:
        pytest.skip("the older host asks nobody about a request")
    result, requests, home = held(make_home, LONG, compression=False)
    check_wire(requests)
    assert [turn.steps[0].text for turn in LONG] == [turn["final"] for turn in result["turns"]]
    assert result["turns"][-1]["status"]["shortened_requests"] >= 1
    assert "left out of this request alone" in str(requests[-1].messages[1])
    verified = home.hermes("lcm", "verify")
    assert 0 == verified.returncode, verified.stdout


class Down(ScriptedModel):
    """A model whose summaries are refused."""

    def answer(self, body):
        if not body.get("tools"):
            raise ConnectionError
        return super().answer(body)

    def handle_error(self, *_):
        """What the host gets is a connection that closes."""


def test_a_cooldown_blocks_no_compaction(make_home, host):
    """The summariser is down and left alone, which everybody sees; the host compacts on, by itself and on request."""
    settings = {"leaf_tokens": 2000}  # leaves enough to make it fail often
    result, requests, home = held(
        make_home, LONG, model=Down(Script(LONG)), settings=settings, command_line=True
    )
    check_wire(requests)
    last = result["turns"][-1]
    resting = [turn for turn in result["turns"] if turn["cooldown"]]
    assert resting
    assert not any(turn["cooldown_blocks"] for turn in result["turns"])
    assert last["compressions"] > resting[0]["compressions"]
    assert result["has_content"]
    assert result["forced"]
    assert last["status"]["model_calls"]["failed"] > 0
    shown = [text for _, text in result["lines"]]
    if host.is_new:
        assert [text for text in shown if "Sentences are extracted" in text]
    assert 1 == home.hermes("lcm", "status").returncode or last["status"]["problems"]


def test_a_cooldown_that_is_true_would_block(make_home):
    """Why ours is not: both hosts then leave a list over the threshold as it is, all but after tools."""
    result, requests, _ = held(make_home, LONG[:16], true_cooldown=True)
    assert all(turn["cooldown_blocks"] for turn in result["turns"])
    assert 0 == result["turns"][-1]["compressions"]
    assert max(request.prompt_tokens for request in requests) > result["threshold"]
    assert result["forced"]


def test_what_a_person_sees(make_home):
    """A line for each compaction, in the host's own channel, by default; all of the states where they are wanted."""
    for verbosity, kinds in (
        ("normal", {"context_compacted"}),
        ("all", {"state_updated", "context_compacted"}),
        ("off", set()),
    ):
        result, requests, home = held(
            make_home, LONG, settings={"ui_verbosity": verbosity}, command_line=True
        )
        check_wire(requests)
        assert kinds == {event["event"] for event in result["events"]} - {"drift_detected"}
        lines = [text for _, text in result["lines"] if text.startswith("lcm: ")]
        assert len(result["events"]) == len(lines)
        compacted = [event for event in result["events"] if event["event"] == "context_compacted"]
        assert all(event["tokens_after"] < event["tokens_before"] for event in compacted)
        calls = result["turns"][-1]["status"]["model_calls"]
        assert calls["calls"] > 0
        assert calls["failed"] == 0
        assert {"scripted-summary"} == set(calls["by_model"])
        said = home.hermes("lcm", "status").stdout
        assert "model calls" in said
        assert "scripted-summary: " in said
