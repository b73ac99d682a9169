"""Work ahead in the real hosts: their model is asked between two turns, and a pass finds all it needs."""

from __future__ import annotations

import statistics
import time

import pytest
from hostkit import faults_of
from lcm.demo.model import Call, Reply, Script, ScriptedModel, Turn, text_of

pytestmark = pytest.mark.slow

#: A turn of about 2,200 tokens.
TURNS = [
    Turn(f"page {n}: {f'words of page {n} and more ' * 330}", (Reply(f"read {n}"),))
    for n in range(34)
]
SECONDS = 0.7


class Timed(ScriptedModel):
    """A model whose summaries take their time; notes when each was asked for, and of what."""

    def __init__(self, script: Script, seconds: float = 0.0) -> None:
        super().__init__(script)
        self.seconds = seconds
        self.asked: list[tuple[float, str]] = []

    def answer(self, body):
        if not body.get("tools"):
            self.asked.append((time.time(), text_of(body["messages"][-1]["content"])))
            time.sleep(self.seconds)
        return super().answer(body)

    def within(self, passes) -> list[str]:
        """What was asked for while one of *passes* ran."""
        return [
            text for at, text in self.asked if any(began <= at <= end for began, end, _ in passes)
        ]


def held(make_home, model, job=None, **settings):
    """A home in which the conversation was held, and what its driver says."""
    home = make_home(model.url)
    home.install()
    home.config["lcm"] = settings
    home.config["auxiliary"]["transient_retries"] = 0
    texts = [turn.user for turn in TURNS]
    return home, home.drive("ahead", {"turns": texts, **(job or {})})


def test_passes_ask_nobody_because_the_turns_before_did(make_home):
    """Both hosts: the auxiliary model is asked from a thread of ours, and the passes take no time."""
    with Timed(Script(TURNS), SECONDS) as model:
        home, result = held(make_home, model)
        assert [turn["final"] for turn in result["turns"]] == [f"read {n}" for n in range(34)]
        assert not any(turn["failed"] for turn in result["turns"])
        assert result["turns"][-1]["compressions"] >= 2
        assert [] == result["problems"]
        assert len(model.asked) >= 2
        assert [] == model.within(result["passes"])
        sources = [text for _, text in model.asked]
        assert len(set(sources)) == len(sources)
        waits = [end - began for began, end, _ in result["passes"]]
        assert statistics.median(waits) < SECONDS / 2
    assert "made ahead" in home.hermes("lcm", "status").stdout
    assert 0 == home.hermes("lcm", "verify").returncode


def test_passes_inside_one_long_turn_ask_nobody(make_home):
    """Both hosts: an agent that says much about page after page in one turn, compacted between its steps."""
    pages = range(30)
    steps = [
        Reply(f"{TURNS[n].user} so I turn the page", (Call("read_file", {"path": f"{n}.txt"}),))
        for n in pages
    ]
    turns = [*TURNS[:3], Turn("now read all pages", (*steps, Reply("all read")))]
    with Timed(Script(turns), SECONDS) as model:
        home = make_home(model.url)
        home.install()
        home.config["lcm"] = {"target": 0.3}
        home.config["auxiliary"]["transient_retries"] = 0
        for n in pages:
            (home.work / f"{n}.txt").write_text(f"This is page {n}.")
        texts = [turn.user for turn in turns]
        result = home.drive("ahead", {"turns": texts, "time_between_steps": True})
        assert "all read" == result["turns"][-1]["final"]
        assert result["turns"][-2]["compressions"] == 0
        assert result["turns"][-1]["compressions"] >= 2
        assert [] == result["problems"]
        assert len(model.asked) >= 2
        assert [] == model.within(result["passes"])
        assert not [faults for request in model.spoken if (faults := faults_of(request.messages))]
    assert 0 == home.hermes("lcm", "verify").returncode


def test_without_work_ahead_the_turn_waits_for_the_model(make_home):
    """The same conversation with state_updates: off, for comparison."""
    with Timed(Script(TURNS), SECONDS) as model:
        _, result = held(make_home, model, state_updates="off")
        assert len(model.asked) == len(model.within(result["passes"])) >= 4
        assert min(end - began for began, end, _ in result["passes"]) > SECONDS


def test_every_turn_has_a_state_in_the_real_hosts(make_home):
    """One call a turn, from the state before; asked for by turn in the engine and on the command line."""
    with Timed(Script(TURNS)) as model:
        home, result = held(make_home, model, {"ask": 7}, state_updates="every_turn")
        assert result["turns"][-1]["compressions"] >= 1
        assert ("state", [1, 7]) == (result["turn_state"]["by"], result["turn_state"]["turns"])
        assert [] == model.within(result["passes"])
    shown = home.hermes("lcm", "show", "--turn", "7").stdout
    assert "by the state" in shown
    assert f"sufficient: {result['turn_state']['sufficient_tokens']} tokens" in shown


def test_leaving_in_the_middle_of_a_call_hangs_nowhere(make_home):
    """The process ends while the model is asked in the background, and what is stored is sound."""
    with Timed(Script(TURNS), 90.0) as model:
        home, result = held(make_home, model, {"leave_busy": True})
        took = time.time() - result["left"]
        assert len(model.asked) == 1
    assert took < 20
    assert 0 == home.hermes("lcm", "verify").returncode


def test_a_pass_that_the_host_discards_is_not_paid_for_twice(host, make_home):
    """The newer host gives up waiting; the next pass finds what was made, and asks for what was not."""
    if host.generation != "new":
        pytest.skip("the older host waits for as long as a pass takes")
    with Timed(Script(TURNS), 1.2) as model:
        home, result = held(
            make_home, model, {"give_up_after": 4.0}, state_updates="off", leaf_tokens=1500
        )
        assert "gave up waiting" in home.log()
        assert "reached its total ceiling" in home.log()
        given_up = len(result["passes"]) - 1
        assert given_up >= 1
        sources = [text for _, text in model.asked]
        # Of each such pass the host takes the call back that was under way; what had been answered stays.
        assert len(sources) - len(set(sources)) <= given_up
        assert len(set(sources)) > given_up
        assert 1 == result["turns"][-1]["compressions"]
        assert not any(turn["failed"] for turn in result["turns"])
