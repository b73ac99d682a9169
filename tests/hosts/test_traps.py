"""The hosts' known traps, one test each, walked into for real.

What both hosts do in one process is done once a host by the driver ``traps``; the rest
needs a process of its own. Two more are tested elsewhere: stray keys on the wire in
test_long_conversation.py, ``hermes plugins install`` in test_ways_in.py.
"""

from __future__ import annotations

import pytest
from hostkit import HermesHome
from hostkit.truth import NOTHING, difference, said, stored
from lcm.demo.model import Call, Reply, Script, ScriptedModel, Turn

pytestmark = pytest.mark.slow

#: The turns of the driver's longer conversations.
LONG = 8


class Echo(Script):
    """A model that has an answer to everything."""

    def __init__(self) -> None:
        super().__init__([])

    def answer(self, messages):
        return Reply(f"Heard ({len(messages)}).")


@pytest.fixture(scope="module")
def trapped(host, tmp_path_factory):
    """The driver's report, and the home that it leaves."""
    with ScriptedModel(Echo()) as model:
        home = HermesHome(tmp_path_factory.mktemp("traps"), host, model.url)
        home.config["compression"]["idle_compact_after_seconds"] = 1
        home.install()
        yield home, home.drive("traps", {})


def result_of(trapped, name):
    """One trap's result; an exception there is a failure here."""
    result = trapped[1][name]
    assert "error" not in result, result["error"]
    return result


def users_in(trapped, session, beginning):
    """How often each user's text that begins so is stored in *session*."""
    read = trapped[0].drive("store", {"sessions": [session]})["sessions"][session]
    keys = stored(read["messages"])
    return {text[:12]: n for (role, text, _), n in keys.items() if text.startswith(beginning)}


def test_no_agent_falls_back_to_the_built_in_compressor(trapped):
    """CLONE-01: trap 1, 2: engines made from a used one, deep copies included, are ours and their own."""
    result = result_of(trapped, "fallback")
    assert result["names"] == ["lcm"] * 4
    assert result["distinct"] == 4
    assert result["compacted"] < 2 * LONG


def test_a_session_end_ends_nothing(trapped):
    """LIFE-06: trap 3: the engine works on after on_session_end, on the same database and window."""
    result = result_of(trapped, "session_end")
    assert result["same_path"]
    assert result["same_window"]
    assert users_in(trapped, result["session"], "after the en") == {"after the en": 1}


def test_compress_leaves_the_live_list_alone(trapped):
    """ING-10: trap 5: not a row of the list that compress() was given is changed."""
    result = result_of(trapped, "live_list")
    assert result["untouched"]
    assert result["rows"][1] < result["rows"][0]


def test_a_throw_away_agent_duplicates_nothing(trapped):
    """DED-06: trap 6: a second agent with the same session and a filtered list adds no message."""
    result = result_of(trapped, "throw_away")
    found = users_in(trapped, result["session"], "hygiene")
    assert found == {**{f"hygiene {n}: Th"[:12]: 1 for n in range(LONG)}, "hygiene is o": 1}


def test_the_engine_clears_the_flag_that_nobody_else_clears(trapped):
    """trap 7: awaiting_real_usage_after_compression goes with the next usage, an empty one too."""
    assert result_of(trapped, "awaiting") == {
        "raised": True,
        "after_turn": False,
        "after_nothing": False,
    }


def test_attributes_read_without_a_guard_are_there(trapped):
    """trap 8: a turn after a pause, with idle compaction on, goes through."""
    result = result_of(trapped, "idle")
    assert 0 < result["ratio"] < 1
    assert result["real"] >= 0


def test_a_short_session_is_asked_too(trapped):
    """trap 9: protect_first_n and protect_last_n do not hide the engine from the preflight."""
    result = result_of(trapped, "gate")
    assert result["protect"] == [0, 0]
    assert result["asked"] >= 2


def test_the_count_of_compactions_is_true(trapped):
    """trap 10: it is how often compress() has run, whatever the host warns about."""
    assert result_of(trapped, "count") == {"counts": [1, 2]}


def test_registering_is_cheap_and_gives_a_new_engine_each_time(trapped):
    """trap 11: the newer host has two copies of the module; each register() takes under 60 ms."""
    result = result_of(trapped, "modules")
    assert result["copies"] == (2 if trapped[0].host.is_new else 1)
    assert result["engines"] == 20
    assert result["milliseconds"] < 60


def test_a_session_that_cannot_shrink_is_left_alone(trapped):
    """trap 15: nothing grows, and a later compaction is not reported as refused."""
    result = result_of(trapped, "tiny")
    assert result["contents"][0] == "tiny"
    assert not result["refused"]
    assert result["smaller"] < 2 * LONG


def test_a_rolled_back_engine_works_on(trapped):
    """trap 16: after the host put its attributes back, it compacts and keeps what comes."""
    result = result_of(trapped, "rollback")
    assert users_in(trapped, result["session"], "and on") == {"and on": 1}


def test_two_agents_work_at_the_same_time(trapped):
    """CLONE-02: Three threads, two sessions: nobody waits for ever, nothing is lost or doubled."""
    result = result_of(trapped, "at_once")
    assert not result["failures"]
    first, second = result["sessions"]
    shared = users_in(trapped, first, "at once")
    assert shared == {f"at once {name} {n}:": 1 for name in "AC" for n in range(LONG)}
    alone = users_in(trapped, second, "at once")
    assert alone == {f"at once B {n}:": 1 for n in range(LONG)}


def test_a_broken_database_stops_no_turn(make_home):
    """ING-07: trap 4: where nothing can be written, the conversation goes on, and the log says why."""
    turns = [Turn(f"page {n}: {'words ' * 6000}", (Reply(f"read {n}"),)) for n in range(5)]
    with ScriptedModel(Script(turns)) as model:
        home = make_home(model.url)
        home.install()
        (home.path / "occupied").mkdir()
        home.config["lcm"] = {"database": str(home.path / "occupied")}
        result = home.drive("converse", {"turns": [turn.user for turn in turns]})
    assert result["engine"] == "lcm"
    assert [turn["final"] for turn in result["turns"]] == [f"read {n}" for n in range(5)]
    assert "occupied" in home.log()


def test_a_killed_process_loses_no_finished_turn(make_home):
    """ING-03: A turn is on disk when it ends: kill -9 right after it takes nothing away."""
    texts = [f"before the fall {n}" for n in range(3)]
    turns = [Turn(text, (Reply(f"noted {text}"),)) for text in texts]
    with ScriptedModel(Script(turns)) as model:
        home = make_home(model.url)
        home.install()
        assert home.start("converse", {"turns": texts, "killed_after": 3}).returncode == -9
        ((_, kept),) = home.drive("store", {})["sessions"].items()
    assert difference(said(model.spoken, texts), stored(kept["messages"])) == NOTHING


def test_looking_around_makes_nothing(make_home):
    """trap 11: pickers and `hermes plugins` make engines; none of them makes a file."""
    with ScriptedModel(Echo()) as model:
        home = make_home(model.url)
        home.install()
        listed = home.hermes("plugins", "list", "--plain", "--no-bundled")
        assert "lcm" in listed.stdout
        home.drive("menu", {})
    assert not home.database.parent.exists()


def test_a_delegated_agent_is_kept_too(make_home):
    """CLONE-10: trap 12: the sub-agent has an engine of its own, and what it did is stored under its session."""
    turns = [
        Turn(
            "Have somebody count the boats.",
            (
                Reply(calls=(Call("delegate_task", {"goal": "Count the boats in the harbour."}),)),
                Reply("Somebody is counting."),
            ),
        ),
        Turn(
            "Count the boats in the harbour.",
            (
                Reply(calls=(Call("terminal", {"command": "echo 3 boats"}),)),
                Reply("There are three boats."),
            ),
        ),
    ]
    with ScriptedModel(Script(turns)) as model:
        home = make_home(model.url)
        home.install()
        result = home.drive("converse", {"turns": [turns[0].user]})
        children = [id_ for id_, parent in result["sessions"] if parent]
        assert len(children) == 1
        read = home.drive("store", {"sessions": children})["sessions"][children[0]]
        offered = [request.tools for request in model.spoken if "harbour" in str(request.messages)]
    texts = [key[1] for key in stored(read["messages"])]
    assert "Count the boats in the harbour." in " ".join(texts)
    assert "There are three boats." in texts
    assert any("3 boats" in text for text in texts)
    assert ("lcm_grep" in offered[-1]) is home.host.is_new


def test_a_background_review_leaves_the_session_alone(make_home):
    """CLONE-04: The review shares the session's id on the older host; what it says is not of the session."""
    look = Reply(calls=(Call("read_file", {"path": "page.txt"}),))
    turns = [Turn(f"Look at the page, {n}.", (look, Reply(f"Looked, {n}."))) for n in range(6)]
    with ScriptedModel(Script(turns)) as model:
        home = make_home(model.url)
        home.install()
        home.config["skills"]["creation_nudge_interval"] = 2
        (home.work / "page.txt").write_text("an empty page")
        users = [turn.user for turn in turns]
        result = home.drive("converse", {"turns": users})
        session = result["turns"][-1]["session"]
        kept = home.drive("store", {"sessions": [session]})["sessions"][session]
        reviews = [r for r in model.spoken if "Review the conversation" in str(r.messages[-1])]
        turns_only = [r for r in model.spoken if r not in reviews]
    assert reviews or home.host.is_new  # the newer host waits until nobody is busy
    assert difference(said(turns_only, users), stored(kept["messages"])) == NOTHING


@pytest.mark.parametrize("where", ["preflight", "post-tool"])
def test_compaction_comes_before_and_after_the_hooks(make_home, where):
    """ING-01, DED-12: trap 13: by a long user text or by a long tool result, in the middle of a turn: all is kept."""
    page = " ".join(f"word{n}" for n in range(3500))
    text = f"\n{page}" if where == "preflight" else ""

    def steps(number):
        # A file of its own: the host shows an unchanged file once.
        read = Reply(calls=(Call("read_file", {"path": f"page-{number}.txt"}),))
        return (Reply("Read."),) if where == "preflight" else (read, Reply("Read."))

    turns = [Turn(f"Look at page {n}.{text}", steps(n)) for n in range(18)]
    with ScriptedModel(Script(turns)) as model:
        home = make_home(model.url)
        home.config["lcm"] = {
            "compaction_token_threshold": 100_000
        }  # nothing is shown in part before
        home.install()
        for n in range(len(turns)):
            (home.work / f"page-{n}.txt").write_text(page.replace("7 ", "7\n"))
        users = [turn.user for turn in turns]
        result = home.drive("converse", {"turns": users})
        session = result["turns"][-1]["session"]
        kept = home.drive("store", {"sessions": [session]})["sessions"][session]
        assert result["turns"][-1]["compressions"] >= 2
        assert difference(said(model.spoken, users), stored(kept["messages"])) == NOTHING
