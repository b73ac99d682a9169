"""Clones and several agents: each engine is its own, on its own session, over one store."""

from __future__ import annotations

import copy
import gc
import json
import os
import threading

import pytest
from faultkit import ask, kept, said, talk, totals, user
from lcm import LCMEngine
from lcm.host.hooks import Family
from lcm.host.plugin import Console, register


@pytest.mark.parametrize("how", [LCMEngine.clone_for_agent, copy.copy, copy.deepcopy])
def test_a_used_engine_can_be_copied(make, home, how):
    """CLONE-01: with a connection open: both work on the same file, each on its session, and neither loses a row."""
    engine = make("a")
    engine.ingest(talk(2))
    clone = how(engine)
    clone.on_session_start("b", hermes_home=str(home))
    clone.ingest(talk(3, first=100))
    engine.ingest(talk(4))
    assert engine.db_path == clone.db_path
    assert (talk(4), talk(3, first=100)) == (kept(home, "a"), kept(home, "b"))
    clone.close()
    assert 14 == totals(home).messages


def test_two_conversations_stay_apart(make, home):
    """CLONE-02: turns of two clones in turn, in two threads; the end of one is not felt by the other."""
    prototype = make(session="")
    clones = {}
    for name, first in (("a", 100), ("b", 500)):
        clones[name] = prototype.clone_for_agent()
        clones[name].on_session_start(name, hermes_home=str(home))
        clones[name].first = first
    failures = []

    def converse(clone):
        for turns in range(1, 9):
            clone.on_turn_complete(talk(turns, first=clone.first))
        failures.extend(clone.get_status()["problems"])

    threads = [threading.Thread(target=converse, args=[clone]) for clone in clones.values()]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    clones["a"].on_session_end("a", talk(8, first=100))
    clones["a"].close()
    assert 2 == clones["b"].ingest(talk(9, first=500)).new
    assert [] == failures
    assert (talk(8, first=100), talk(9, first=500)) == (kept(home, "a"), kept(home, "b"))
    clones["b"].close()


class Context:
    """A host's registration, as far as it is used."""

    def __init__(self):
        self.commands = {}

    def register_context_engine(self, engine):
        self.engine = engine

    def register_command(self, name, handler, **more):
        self.commands[name] = handler


def registered(slash):
    """The prototype, and ``/lcm`` of its family."""
    gc.collect()  # engines of other tests are asked too, as long as they are there
    context = Context()
    register(context, Console(setup_parser=None, run=None, slash=slash))
    return context.engine, context.commands["lcm"]


def shown(raw, **more):
    """What ``/lcm`` is answered from."""
    return json.dumps({"session": more["session"], "path": more["path"]} if "path" in more else
                      {"session": more["session"], "path": more["db_path"]})  # fmt: skip


def test_a_scheduled_job_does_not_take_over(make, home):
    """CLONE-03: an ignored job starts in another thread: tools and /lcm are still on the person's session."""
    prototype, command = registered(shown)
    prototype._source.given = {"ignore_sessions": ["cron_*"]}
    front = prototype.clone_for_agent()
    front.on_session_start("s1", hermes_home=str(home))
    front.ingest([user("the quokka"), said("yes")])
    jobs = []

    def job():
        for n in range(5):
            jobs.append(prototype.clone_for_agent())
            jobs[-1].on_session_start(f"cron_{n}", hermes_home=str(home), platform="cron")
            jobs[-1].ingest([user("cron quokka"), said("done")])

    thread = threading.Thread(target=job)
    thread.start()
    thread.join(60)
    assert 5 == len(jobs)
    assert "s1" == ask(front, "lcm_status")["session"]
    assert 1 == ask(front, "lcm_grep", query="quokka", mode="exact", scope="all")["total"]
    assert "s1" == json.loads(command("status"))["session"]
    assert [user("the quokka"), said("yes")] == kept(home, "s1")
    front.close()


def test_slash_commands_act_on_the_live_clone(make, home):
    """CLONE-08: registered, cloned, a turn: /lcm names the clone's session; with two, the one that moved last."""
    prototype, command = registered(shown)
    prototype._source.given = {}
    assert "" == json.loads(command("status"))["session"]
    clones = []
    for name in ("a", "b"):
        clones.append(prototype.clone_for_agent())
        clones[-1].on_session_start(name, hermes_home=str(home))
        clones[-1].on_turn_complete(talk(1))
        assert name == json.loads(command("status"))["session"]
    clones[0].on_turn_complete(talk(2))
    assert "a" == json.loads(command("status"))["session"]
    [clone.close() for clone in clones]


def test_a_fork_with_the_parents_id_leaves_the_parent_alone(make, home):
    """CLONE-04: a second engine, a shorter list with a review's prompt: the parent's next turn is whole."""
    parent, family = make(), Family()
    family.join(parent)
    rows = talk(10)
    parent.on_turn_complete(rows)
    review = [*copy.deepcopy(rows[:16]), user("Review the conversation above."), said("Reviewed.")]
    forked = threading.Thread(
        target=lambda: family.post_llm_call(session_id="s", conversation_history=review),
        name="bg-review",
    )
    forked.start()
    forked.join(30)
    assert rows == kept(home)
    other = make()
    other.ingest(copy.deepcopy(review))  # one that no thread's name gives away
    assert 2 == parent.ingest([*rows, user("next"), said("yes")]).new
    assert [*rows, user("next"), said("yes")] == kept(home)
    marked = kept(home, withdrawn=True)
    assert 24 == len(marked)
    assert 0 == parent.ingest([*rows, user("next"), said("yes")]).new


def descriptors():
    """How many descriptors this process has open (Linux)."""
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_clones_take_few_descriptors_and_give_them_back(make, home):
    """CLONE-05: twelve clones at work take three each at the most; again and again no more; closed, none."""
    nothing = descriptors()
    prototype = make(session="")
    prototype.on_session_start("p", hermes_home=str(home))
    prototype.ingest(talk(1))
    before = descriptors()
    for turns in (1, 2, 3):
        clones = [prototype.clone_for_agent() for _ in range(12)]
        assert descriptors() <= before + 12  # SQLite keeps those of closed ones for the next
        for n, clone in enumerate(clones):
            clone.on_session_start(f"c{n}", hermes_home=str(home))
            clone.ingest(talk(turns, first=100 * n))
        assert descriptors() <= before + 3 * 12
        clones[0].close()
        clones[1].on_session_reset()
        del clones, clone
    gc.collect()
    assert descriptors() <= before + 12
    prototype.close()
    assert nothing == descriptors()
    assert 2 + 6 * 12 == totals(home).messages


def test_closing_one_clone_closes_no_other(make, home):
    """CLONE-06: A is shut down; B stores, searches and shows; then B is closed, and the file is whole."""
    prototype = make(session="")
    one, other = prototype.clone_for_agent(), prototype.clone_for_agent()
    one.on_session_start("a", hermes_home=str(home))
    other.on_session_start("b", hermes_home=str(home))
    one.ingest(talk(2))
    other.ingest(talk(2, first=100))
    one.close()
    one.close()
    assert 2 == other.ingest(talk(3, first=100)).new
    assert 1 == ask(other, "lcm_grep", query="question 102", mode="exact")["total"]
    other.close()
    assert (talk(2), talk(3, first=100)) == (kept(home, "a"), kept(home, "b"))


def test_no_argument_reaches_another_profile(make, home, tmp_path):
    """CLONE-07: whatever a call names, it reads this home's database; without scope all, this session only."""
    foreign = make("theirs", home=tmp_path / "other")
    foreign.ingest([user("the foreign quokka"), said("yes")])
    uid = ask(foreign, "lcm_grep", query="quokka", mode="exact")["results"][0]["uid"]
    sibling = make("sibling")
    sibling.ingest([user("the sibling numbat"), said("yes")])
    child = make("child")
    child.ingest([user("do this part"), said("done")])
    path = str(foreign.db_path)
    for more in (
        {"scope": "all"}, {"session": "theirs"}, {"session_id": "theirs"}, {"db_path": path}, {"database": path},
        {"hermes_home": str(tmp_path / "other")}, {"all": True}, {"profile": "other"}, {"scope": "theirs"},
    ):  # fmt: skip
        for mode in ("auto", "exact"):
            answer = ask(child, "lcm_grep", query="quokka", mode=mode, **more)
            assert [] == answer.get("results", [])
    for tool in ("lcm_expand", "lcm_describe"):
        assert "error" in ask(child, tool, uid=uid)
    assert 0 == ask(child, "lcm_grep", query="numbat", mode="exact")["total"]
    assert 1 == ask(child, "lcm_grep", query="numbat", mode="exact", scope="all")["total"]
    assert [user("the foreign quokka"), said("yes")] == kept(tmp_path / "other", "theirs")


def test_a_clone_knows_its_model(make, home):
    """CLONE-09: the model and window of the prototype are the clone's, in its status as well."""
    prototype = make(session="")
    prototype.update_model("m", 64_000, provider="p")
    clone = prototype.clone_for_agent()
    clone.on_session_start("s", hermes_home=str(home))
    clone.ingest(talk(1))
    assert (64_000, 48_000, "m", "p") == (
        clone.context_length, clone.threshold_tokens, clone.model, clone.provider,
    )  # fmt: skip
    status = ask(clone, "lcm_status")
    assert (64_000, 48_000) == (status["window"], status["threshold_tokens"])
    clone.close()


class HostSessions:
    """The host's session database: the child has a parent."""

    def get_session(self, name):
        return {"child": {"parent_session_id": "s"}, "s": {}}.get(name)


def test_a_childs_work_is_its_own(make, home):
    """CLONE-10: ten rows of a delegated agent are in its session; the parent has the call and one result."""
    parent = make()
    call = {"id": "d", "type": "function", "function": {"name": "delegate_task", "arguments": "{}"}}
    ordered = [
        user("have it counted"),
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    parent.ingest(ordered)
    child = make("child")
    child.bind_session_state(HostSessions(), "child")
    child.on_session_start("child", hermes_home=str(home), platform="subagent")
    child.ingest(talk(5, first=700))
    done = {"role": "tool", "tool_call_id": "d", "content": "there are three boats"}
    assert 1 == parent.ingest([*ordered, done]).new
    assert [*ordered, done] == kept(home)
    assert talk(5, first=700) == kept(home, "child")
    assert 13 == totals(home).messages
