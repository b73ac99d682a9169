"""An agent that works for hours in one turn: what its passes need is made between its steps."""

from __future__ import annotations

import json
from threading import Thread

import pytest
from background import Slow
from lcm import LCMEngine
from lcm.dag.budget import budget_for
from lcm.dag.planner import Cut, choose_cut, cut_to_come
from lcm.dag.settings import Settings
from lcm.dag.tokens import count_message
from lcm.dag.validity import new_faults
from lcm.host.hooks import Family
from lcm.host.surface import REVIEW
from steps import BESIDE, step, text

WINDOW = 65_536


@pytest.fixture
def make(tmp_path):
    made = []

    def build(summarizer, **settings):
        engine = LCMEngine(
            WINDOW,
            db_path=tmp_path / f"{len(made)}.db",
            settings=settings,
            summarizer=summarizer,
        )
        engine.on_session_start("s")
        made.append(engine)
        return engine

    yield build
    for engine in made:
        engine.close()


def begun(turns=4):
    rows = []
    for n in range(turns):
        rows.append({"role": "user", "content": f"question {n}: {text(-n - 1, 200)}"})
        rows.append({"role": "assistant", "content": f"answer {n}: {text(-n - 50, 300)}"})
    return [*rows, {"role": "user", "content": "now work for hours"}]


class Work:
    """A long turn as a host drives it; *door*: how it shows the list between two steps."""

    def __init__(self, engine, door):
        self.engine, self.slow = engine, engine._summarizer
        self.rows, self.number, self.counts = begun(), 0, []
        self.newer, self.family = door == "newer", Family()
        self.family.join(engine)

    def until_pass(self, most=200):
        """Steps, and the pass that is due behind them; each job is waited for."""
        for _ in range(most):
            self.rows += step(self.number)
            self.number += 1
            used = self.engine.count_tokens(self.rows) + BESIDE
            self.engine.update_from_response({"prompt_tokens": used})
            if self.engine.should_compress(used):
                return self._pass(used)
            if self.newer:
                self.rows, _ = self.engine.prune_tool_results_only(list(self.rows), used)
            else:
                self.family.pre_api_request(session_id="s", conversation_history=self.rows)
            assert self.engine._ahead.wait(30)
        raise AssertionError("no pass came")

    def _pass(self, used):
        before = len(self.slow.in_passes)
        self.slow.passing = True
        out = self.engine.compress(list(self.rows), used)
        self.slow.passing = False
        assert out is not self.rows
        assert not new_faults(self.rows, out)
        assert self.engine.count_tokens(out) < self.engine.threshold_tokens - BESIDE
        assert {"role": "user", "content": "now work for hours"} in [
            {key: row[key] for key in ("role", "content")} for row in out
        ]
        self.rows = list(out)
        return len(self.slow.in_passes) - before


@pytest.mark.parametrize("door", [pytest.param("newer", marks=pytest.mark.slow), "older"])
def test_a_pass_inside_a_turn_asks_nobody(make, door):
    """The person's message stays where it is, and every leaf behind it was made between two steps."""
    work = Work(make(Slow(), target=0.3), door)
    work.until_pass()  # its first one may be made of stubs, and come before there was time
    assert [0, 0] == [work.until_pass() for _ in range(2)]
    assert work.slow.sources
    assert len(set(work.slow.sources)) == len(work.slow.sources)


@pytest.mark.parametrize("door", [pytest.param("newer", marks=pytest.mark.slow), "older"])
def test_off_makes_nothing_between_steps(make, door):
    """state_updates: off."""
    work = Work(make(Slow(), target=0.3, state_updates="off"), door)
    for _ in range(4):
        work.until_pass()
    assert work.slow.sources == work.slow.in_passes != []


def test_every_message_under_the_nodes_comes_back(make):
    """Nothing is lost or doubled by cuts at what is there: the log has each row once, in order."""
    work = Work(make(Slow(), target=0.3), "older")
    shown = begun()
    for _ in range(4):
        work.until_pass()
    for number in range(work.number):
        shown += step(number)
    ledger = work.engine._attachment.on_disk("s")
    work.engine.ingest(work.rows)
    entries = ledger.store.entries(ledger.session.line)
    assert len(shown) == len(entries)
    bodies = ledger.store.read([(entry.id, 1) for entry in entries])
    assert [row["content"] for row in shown] == [
        json.loads(each.body)["content"] for each in bodies
    ]


# the older host's look


def looked(engine, rows, used, **more):
    """Whether a job was ordered by a request of *used* tokens."""
    family = Family()
    family.join(engine)
    engine.last_prompt_tokens = used
    before = engine._ahead._last
    family.pre_api_request(**{"session_id": "s", "conversation_history": rows} | more)
    engine._ahead.wait(30)
    return engine._ahead._last != before


def test_the_older_host_is_looked_at_where_the_list_has_grown(make):
    """Above the soft threshold, behind results of tools, and again after so many tokens more."""
    engine = make(Slow())
    rows = begun()
    for number in range(10):
        rows += step(number)
    soft, least = int(0.6 * WINDOW), engine.settings.compaction_token_threshold
    assert not looked(engine, rows, soft - 1)
    assert not looked(engine, rows, engine.threshold_tokens)
    assert not looked(engine, rows[:-2], soft + 10, session_id="another")
    assert not looked(engine, [*rows, {"role": "user", "content": "and then?"}], soft + 10)
    assert not looked(engine, [], soft + 10)
    assert looked(engine, rows, soft + 10)
    rows += step(10)
    assert not looked(engine, rows, soft + least)
    assert looked(engine, rows, soft + 10 + least)


def test_a_review_is_no_work(make):
    """The host's own fork of the agent reviews under the session's id; its list is another one."""
    engine, seen = make(Slow()), []
    rows = [*begun(), *step(1)]
    thread = Thread(target=lambda: seen.append(looked(engine, rows, 45_000)), name=REVIEW)
    thread.start()
    thread.join()
    assert [False] == seen
    assert engine._attachment.stored() is None


def test_after_a_pass_the_list_is_looked_at_again(make):
    """The pass made it smaller than it was at the last look: pruning waited until it was as large again."""
    engine = make(Slow(), target=0.3, state_updates="off")
    work = Work(engine, "newer")
    work.until_pass()
    while engine.count_tokens(work.rows) + BESIDE < 0.62 * WINDOW:
        work.rows += step(work.number)
        work.number += 1
    used = engine.count_tokens(work.rows) + BESIDE
    assert used < engine.threshold_tokens
    _, count = engine.prune_tool_results_only(list(work.rows), used)
    assert count


# where it will be cut


@pytest.mark.parametrize("steps", [3, 7, 11])
def test_the_cut_to_come_is_the_one_that_comes(steps):
    """As many tokens more, in steps, and choose_cut() cuts where it was said."""
    settings = Settings()
    budget = budget_for(settings, window=WINDOW, threshold_tokens=int(0.75 * WINDOW), overhead=0)
    rows = begun()
    for number in range(steps):
        rows += step(number)
    later = list(rows)
    for number in range(steps, steps + 2):
        later += step(number)

    def speaks(rows):
        return lambda at: rows[at]["role"] == "user"

    sizes = [count_message(row) for row in later]
    to_come = sum(sizes[len(rows) :])
    said = cut_to_come(rows, sizes[: len(rows)], budget, to_come, speaks(rows))
    comes = choose_cut(later, sizes, budget, speaks(later))
    if said.keep_from == len(rows):
        assert comes.keep_from >= len(rows)
    else:
        assert (said.keep_from, said.lifted) == (comes.keep_from, comes.lifted)
    assert Cut(0) != said
