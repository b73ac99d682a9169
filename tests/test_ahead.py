"""Work ahead: what a pass needs is there when it comes, and nobody waits."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import warnings
import weakref
from itertools import pairwise
from pathlib import Path

import pytest
from background import THRESHOLD, WINDOW, Slow, Talk, above_soft, turn
from lcm import LCMEngine
from lcm.console.verify import verify
from lcm.dag.ahead_record import AheadRecord
from lcm.dag.forget import forget_text
from lcm.dag.meter import spent_by
from lcm.dag.scene import beginning
from lcm.dag.underway import Halted, Leash, Underway
from lcm.storage import open_store
from moving import lcm


@pytest.fixture
def make(tmp_path):
    """Engines on one database, closed at the end."""
    made = []

    def build(summarizer, session="s", **settings):
        engine = LCMEngine(
            WINDOW, db_path=tmp_path / "lcm.db", settings=settings, summarizer=summarizer
        )
        made.append(engine)
        if session:
            engine.on_session_start(session)
        return engine

    yield build
    for engine in made:
        engine.close()


def opened(tmp_path):
    return contextlib.closing(open_store(tmp_path / "lcm.db", create=False))


def nodes(tmp_path, *kinds):
    with opened(tmp_path) as store:
        return store.nodes_on([store.session("s").line], kinds=kinds or ("leaf", "condensed"))


# what is made


def test_a_pass_asks_nobody_when_the_background_had_time(make, tmp_path):
    """Every leaf and every condensed node of many passes was made between two turns, and none in vain."""
    slow = Slow()
    talk = Talk(make(slow, condense_fanin=2))
    for _ in range(18):
        talk.until_pass()
    assert [] == slow.in_passes
    assert len(set(slow.sources)) == len(slow.sources)
    made = {node.uid: node for node in nodes(tmp_path)}
    assert max(node.depth for node in made.values()) >= 2
    used = {source.node for node in nodes(tmp_path, "frame") for source in node.sources}
    while more := {s.node for uid in used for s in made[uid].sources if s.node} - used:
        used |= more
    later = [uid for uid in made if uid not in used]
    assert len(later) <= 3  # those of the pass that has not come yet


def test_off_makes_nothing_between_turns(make, tmp_path):
    """state_updates: off. The pass makes all of it."""
    slow = Slow()
    talk = Talk(make(slow, state_updates="off"))
    talk.until_pass()
    assert slow.sources == slow.in_passes != []


def test_nothing_is_made_below_the_soft_threshold_nor_in_a_short_conversation(make, tmp_path):
    """Neither before the list is that long, nor before there were that many turns."""
    slow = Slow()
    talk = above_soft(make(slow))
    assert [] == slow.sources
    for _ in range(3):
        talk.say()
    assert slow.sources
    few = Slow()
    talk = above_soft(make(few, session="t", min_turns_before_compaction=500))
    for _ in range(3):
        talk.say()
    assert [] == few.sources


def test_a_turn_has_a_limit_of_calls(make, monkeypatch):
    """What is left goes on after the next turn."""
    monkeypatch.setattr("lcm.host.ahead._CALLS", 1)
    slow = Slow()
    talk = Talk(make(slow, soft_threshold=0.1, leaf_tokens=300))
    counts = []
    for _ in range(14):
        before = len(slow.sources)
        talk.say()
        counts.append(len(slow.sources) - before)
    assert [] == slow.in_passes
    assert 1 == max(counts)
    assert sum(counts) > 1


def test_a_long_list_is_planned_in_parts(make, monkeypatch, tmp_path):
    """A job looks at a little more than it can make, and what it makes is what the whole plan would be."""
    monkeypatch.setattr("lcm.dag.background._AT_ONCE", 2_000)
    looked = []
    monkeypatch.setattr(
        "lcm.dag.background.beginning", lambda *seen: looked.append(seen[3]) or beginning(*seen)
    )
    slow = Slow()
    talk = Talk(make(slow, soft_threshold=0.1, leaf_tokens=600))
    talk.until_pass()
    assert len(set(looked)) >= 2
    assert [] == slow.in_passes
    assert len(set(slow.sources)) == len(slow.sources)
    turns = [(node.first_turn, node.last_turn) for node in nodes(tmp_path, "leaf")]
    assert all(after[0] == before[1] + 1 for before, after in pairwise(turns))


def test_the_background_pays_for_what_it_uses(make, tmp_path):
    """Its calls are counted with those of the passes."""
    talk = Talk(make(Slow()))
    talk.until_pass()
    with opened(tmp_path) as store:
        assert sum(calls.calls for calls in spent_by(store, ["s"]).values()) == len(
            talk.summarizer.sources
        )


def test_secrets_are_taken_out_in_the_background_too(make):
    """What a summariser reads there is as clean as in a pass."""
    slow = Slow()
    engine = make(slow)
    talk = Talk(engine)
    key = "sk-proj-" + "Ab3dEf6hIj" * 4
    talk.rows.append({"role": "user", "content": f"my key is {key}"})
    talk.rows.append({"role": "assistant", "content": "noted"})
    talk.until_pass()
    assert slow.sources
    assert not any(key in source for source in slow.sources)


# who waits for whom


def test_a_pass_takes_no_time_though_the_summariser_does(make):
    """With work ahead the wait is ours alone; without it, the summariser's."""
    slow = Slow(seconds=0.3)
    talk = Talk(make(slow))
    for _ in range(5):
        talk.until_pass()
    assert [] == slow.in_passes
    assert statistics.median(talk.waits) < 0.05
    talk = Talk(make(Slow(seconds=0.3), session="t", state_updates="off"), wait=False)
    for _ in range(2):
        talk.until_pass()
    assert statistics.median(talk.waits) > 0.3


def test_a_pass_waits_for_the_call_under_way_and_makes_it_only_once(make, tmp_path):
    """What the background is at is not asked for twice; the rest the pass makes itself."""
    slow = Slow()
    talk = above_soft(make(slow), wait=False)
    slow.gate = threading.Event()
    while not slow.begun.is_set():
        talk.say(words=4)
        slow.begun.wait(0.2)
    threading.Timer(0.4, slow.gate.set).start()
    start = time.perf_counter()
    talk.rows = list(talk.engine.compress(talk.rows, THRESHOLD + 100))
    assert time.perf_counter() - start > 0.2
    assert talk.engine._last_compression_made_progress
    assert len(set(slow.sources)) == len(slow.sources)
    assert talk.engine._ahead.wait(5)


def test_a_pass_does_not_wait_for_ever(make, monkeypatch, tmp_path):
    """With a call in the background that does not come back, it goes on alone; what comes back late harms nothing."""
    monkeypatch.setattr("lcm.dag.maker._WAIT_SECONDS", 0.1)
    slow = Slow()
    talk = above_soft(make(slow), wait=False)
    slow.gate = threading.Event()
    while not slow.begun.is_set():
        talk.say(words=4)
        slow.begun.wait(0.2)
    held, slow.gate = slow.gate, None
    talk.rows = list(talk.engine.compress(talk.rows, THRESHOLD + 100))
    assert talk.engine._last_compression_made_progress
    assert 2 == len(slow.sources)
    held.set()
    assert talk.engine._ahead.wait(5)
    for _ in range(3):
        talk.until_pass()
    with opened(tmp_path) as store:
        assert () == verify(store).failures


def test_a_pass_that_was_thrown_away_costs_nothing_the_second_time(make):
    """The host did not take the list: the same pass finds all its nodes."""
    slow = Slow()
    talk = Talk(make(slow, state_updates="off"), wait=False)
    talk.until_pass()
    engine, rows = talk.engine, [row for n in range(90, 130) for row in turn(n)]
    first = engine.compress(rows)
    count = len(slow.sources)
    again = engine.compress(rows)
    assert [row["content"] for row in first] == [row["content"] for row in again]
    assert count == len(slow.sources)


# the end of it


def begun(make, **kw):
    """An engine whose background is in the middle of a call."""
    slow = Slow()
    talk = above_soft(make(slow, **kw), wait=False)
    slow.gate = threading.Event()
    while not slow.begun.is_set():
        talk.say(words=4)
        slow.begun.wait(0.2)
    return talk, slow


leaves = pytest.mark.parametrize(
    "leave",
    [
        lambda engine: engine.close(),
        lambda engine: engine.on_session_reset(),
        lambda engine: engine.bind_session_state(session_db=None, session_id="another"),
        lambda engine: engine.on_session_start("another"),
    ],
    ids=["close", "reset", "bind", "start"],
)


@leaves
def test_nothing_is_written_once_the_engine_has_left(make, tmp_path, leave):
    """What comes back from the summariser afterwards is dropped."""
    talk, slow = begun(make)
    leave(talk.engine)
    before = nodes(tmp_path)
    slow.gate.set()
    assert talk.engine._ahead.wait(5)
    assert before == nodes(tmp_path)
    assert not talk.engine._failures.recent()


class Held(Underway):
    """Lets a job begin when it is told to."""

    def __init__(self):
        super().__init__()
        self.asked, self.gate = threading.Event(), threading.Event()

    def claim(self, what):
        self.asked.set()
        assert self.gate.wait(30)
        return super().claim(what)


@leaves
def test_the_database_is_not_even_opened_once_the_engine_has_left(make, monkeypatch, leave):
    """A job that had hardly begun makes no file in a folder that may be gone by then."""
    talk = above_soft(make(Slow()))
    held = talk.engine._ahead._underway = Held()
    talk.wait = False
    while not held.asked.is_set():
        talk.say(words=4)
        held.asked.wait(0.2)
    leave(talk.engine)
    opened = []
    monkeypatch.setattr("lcm.storage.open_store", lambda *args, **kw: opened.append(args))
    held.gate.set()
    assert talk.engine._ahead.wait(5)
    assert [] == opened
    assert not talk.engine._failures.recent()


def test_a_job_can_be_ended_from_within():
    """The garbage collector may end an engine in its own thread, while that writes."""
    leash = Leash(1, 1)

    def collected():
        with leash.writing():
            leash.stop()

    thread = threading.Thread(target=collected, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    with pytest.raises(Halted), leash.writing():
        pass


def test_the_end_that_is_none_does_not_end_it(make, tmp_path):
    """on_session_end fires at every compaction."""
    talk, slow = begun(make)
    talk.engine.on_session_end("s", talk.rows)
    slow.gate.set()
    assert talk.engine._ahead.wait(5)
    assert nodes(tmp_path)


def test_an_engine_that_is_dropped_ends_it(make, tmp_path):
    """Nobody closes it; the thread does not keep it alive."""
    slow = Slow()
    engine = LCMEngine(WINDOW, db_path=tmp_path / "lcm.db", settings={}, summarizer=slow)
    engine.on_session_start("s")
    talk = above_soft(engine, wait=False)
    slow.gate = threading.Event()
    while not slow.begun.is_set():
        talk.say(words=4)
        slow.begun.wait(0.2)
    ahead, gone = engine._ahead, weakref.ref(engine)
    del engine, talk
    gc.collect()
    assert gone() is None
    before = nodes(tmp_path)
    slow.gate.set()
    assert ahead.wait(5)
    assert before == nodes(tmp_path)


@pytest.mark.parametrize("kind", ["memory_only_sessions", "ignore_sessions"])
def test_a_session_that_leaves_no_trace_has_no_background(make, kind):
    """Neither one in memory nor one that is ignored."""
    slow = Slow()
    engine = make(slow, **{kind: ["s"]})
    talk = above_soft(engine)
    for _ in range(6):
        talk.rows += turn(talk.n)
        engine.update_from_response({"prompt_tokens": THRESHOLD - 10})
        engine.on_turn_complete(talk.rows)
    assert engine._ahead.wait(0)
    assert [] == slow.sources


def test_the_newest_list_wins(make):
    """A job that runs when the next turn ends finishes its node, and the next one starts from the new list."""
    talk, slow = begun(make)
    for _ in range(3):
        talk.say(words=2)
    slow.gate.set()
    assert talk.engine._ahead.wait(5)
    assert talk.engine._ahead._next is None
    assert len(set(slow.sources)) == len(slow.sources)


def test_two_engines_on_one_session_do_not_do_it_twice(make):
    """A clone that is shown the same list leaves it to the one that is at it."""
    talk, slow = begun(make)
    clone = talk.engine.clone_for_agent()
    clone.on_session_start("s")
    clone.on_turn_complete(talk.rows)
    assert clone._ahead.wait(5)
    assert 1 == len(slow.sources)
    slow.gate.set()
    assert talk.engine._ahead.wait(5)
    clone.close()


CHILD = Path(__file__).resolve().parent / "support" / "background_child.py"


def test_a_process_ends_although_a_call_is_under_way(tmp_path):
    """No thread keeps it, and it ends with success."""
    begin = time.monotonic()
    command = [sys.executable, str(CHILD), str(tmp_path / "lcm.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ("leaving\n", "", 0) == (done.stdout, done.stderr, done.returncode)
    assert time.monotonic() - begin < 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_inherits_no_job(make, tmp_path):
    """In the child nothing runs, and closing does not wait for a thread that is not there."""
    talk, slow = begun(make)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        pid = os.fork()
    if not pid:
        try:
            idle = talk.engine._ahead.wait(0)
            talk.engine._ahead.cancel()
            os._exit(0 if idle else 3)
        finally:
            os._exit(4)
    assert 0 == os.waitpid(pid, 0)[1]
    slow.gate.set()
    assert talk.engine._ahead.wait(5)
    assert nodes(tmp_path)


# when it fails


class Broken(Slow):
    """Fails while it is told to."""

    failing = True

    def __call__(self, request):
        said = super().__call__(request)
        if self.failing:
            raise ConnectionError("no route")
        return said


def test_a_failure_ahead_leaves_the_node_to_the_pass(make, tmp_path):
    """Nothing degraded is stored between turns; the status says that it fails, and the engine goes on."""
    broken = Broken()
    talk = above_soft(make(broken))
    while not broken.sources:
        talk.say(words=4)
    assert [] == nodes(tmp_path)
    with opened(tmp_path) as store:
        record = AheadRecord.of(store, "s")
    assert 0 == record.nodes
    assert record.failures >= 1
    assert "ConnectionError" in record.why
    broken.failing = False
    talk.engine._breakers.of(("the caller's",)).wake()
    talk.say(words=4)
    assert nodes(tmp_path)
    with opened(tmp_path) as store:
        assert 0 == AheadRecord.of(store, "s").failures


def test_what_was_extracted_is_made_again_when_the_route_works(make, tmp_path):
    """Below the soft threshold too; the same sources find the new node, which the next pass shows."""
    broken = Broken()
    talk = Talk(make(broken))
    talk.until_pass()
    degraded = [node for node in nodes(tmp_path) if node.degraded]
    assert degraded
    broken.failing = False
    talk.engine._breakers.of(("the caller's",)).wake()
    talk.say(words=2)
    with opened(tmp_path) as store:
        assert [] == store.degraded([store.session("s").line], 99)
        assert 0 == store.totals().degraded
        keys = [node.source_key for node in degraded]
        better = store.nodes_for(keys)
        assert not any(node.degraded for node in better.values())
        shown = dict(zip(keys, degraded, strict=True))
        assert all(better[key].uid != node.uid for key, node in shown.items())
        assert len(degraded) == AheadRecord.of(store, "s").repaired
    row = next(row for row in talk.rows if row.get("_compressed_summary"))
    talk.until_pass()
    talk.until_pass()
    after = next(row for row in talk.rows if row.get("_compressed_summary"))
    assert row != after
    frames = nodes(tmp_path, "frame")
    assert not {s.node for s in frames[-1].sources} & {node.uid for node in degraded}
    with opened(tmp_path) as store:
        assert () == verify(store).failures


def test_a_node_that_nobody_can_write_is_not_tried_for_ever(make, tmp_path):
    """Two attempts in one process."""
    broken = Broken()
    talk = Talk(make(broken))
    talk.until_pass()
    for _ in range(12):
        talk.engine._breakers.of(("the caller's",)).wake()
        talk.say(words=1)
    count = len(broken.sources)
    for _ in range(3):
        talk.engine._breakers.of(("the caller's",)).wake()
        talk.say(words=1)
    assert count == len(broken.sources)


def test_a_string_that_is_forgotten_meanwhile_is_not_written(make, tmp_path):
    """The job that has it in hand ends, and the next one goes on without it."""
    talk, slow = begun(make)
    with opened(tmp_path) as store:
        forget_text(store, "thing 2 and", 1.0)
    slow.gate.set()
    assert talk.engine._ahead.wait(5)
    assert [] == nodes(tmp_path)
    assert not talk.engine._failures.recent()


# who is told


def test_the_status_says_what_was_prepared(make, tmp_path):
    """In the tool, on the screen, and in another process, which has the database alone."""
    talk = Talk(make(Slow()))
    for _ in range(2):
        talk.until_pass()
    answer = json.loads(talk.engine.handle_tool_call("lcm_status", {}))
    assert answer["ahead"]["nodes"] == len(nodes(tmp_path))
    assert answer["ahead"]["last"]
    code, shown = lcm("status", "--db", tmp_path / "lcm.db")
    assert 0 == code
    assert f"made ahead {answer['ahead']['nodes']} summaries, the last at" in " ".join(
        shown.split()
    )


def test_the_doctor_finds_a_background_that_always_fails(make, tmp_path):
    """Three jobs in a row; one is an accident. When it works again, nothing is wrong any more."""
    broken = Broken()
    talk = above_soft(make(broken))
    while len(broken.sources) < 1:
        talk.say(words=2)
    name = tmp_path / "lcm.db"
    assert "work ahead" not in lcm("doctor", "--db", name)[1]
    talk.say(words=2)
    talk.say(words=2)
    code, shown = lcm("doctor", "--db", name)
    assert 1 == code
    assert "WRONG  work ahead" in shown
    assert "ConnectionError" in shown
    broken.failing = False
    talk.engine._breakers.of(("the caller's",)).wake()
    talk.say(words=2)
    code, shown = lcm("doctor", "--db", name)
    assert 0 == code
    assert "ok     work ahead" in shown


def test_who_watches_is_told_of_each_node(make, tmp_path):
    """As state_updated, like the nodes of a pass."""
    told = []
    engine = make(Slow(), ui_verbosity="all")
    engine.on_event = told.append
    talk = Talk(engine)
    talk.until_pass()
    uids = [event.uid for event in told if event.kind == "state_updated"]
    assert sorted(uids) == sorted(node.uid for node in nodes(tmp_path))
