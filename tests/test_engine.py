"""The engine as a host sees it, without a host: every call, in every state."""

from __future__ import annotations

import copy
import gc
import json
import os
import threading
import time

import pytest
from lcm import LCMEngine
from lcm.dag.ingest import Ledger
from lcm.host.asking import serving
from lcm.host.hooks import Family
from lcm.host.surface import START
from lcm.storage import open_store
from lcm.storage.errors import StoreError


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def talk(turns, first=1):
    return [
        row
        for n in range(first, first + turns)
        for row in (user(f"question {n} " + "why " * 60), said(f"answer {n} " + "because " * 60))
    ]


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def make(home):
    """Engines on that home's database, closed at the end."""
    made = []

    def build(session="s", **kw):
        engine = LCMEngine(kw.pop("context_length", 8000), settings=kw.pop("settings", {}), **kw)
        made.append(engine)
        if session:
            engine.on_session_start(session, hermes_home=str(home), platform="cli")
        return engine

    yield build
    for engine in made:
        engine.close()


def ask(engine, name, **args):
    return json.loads(engine.handle_tool_call(name, args))


def messages(home):
    store = open_store(home / "lcm" / "lcm.db", create=False)
    try:
        return store.totals().messages
    finally:
        store.close()


# a shell


def test_a_shell_answers_sensibly_and_writes_nothing(home, tmp_path):
    """No session has started: lists come back, tools say so, nothing is created."""
    engine = LCMEngine(context_length=200_000, db_path=home / "x.db")
    hello = [user("hello")]
    assert hello is engine.compress(hello)
    assert [] == engine.compress([])
    assert "No session is open." == ask(engine, "lcm_grep", query="x")["error"]
    assert (150_000, False) == (engine.threshold_tokens, engine.should_compress(10**6))
    assert 0 == engine.ingest(hello).new
    engine.on_session_end("", hello)
    engine.on_turn_complete(hello)
    engine.on_session_reset()
    engine.update_from_response({})
    engine.get_status()
    engine.close()
    assert [] == list(tmp_path.iterdir())
    assert home / "x.db" == engine.db_path


def test_nothing_is_written_before_there_is_a_message(make, home):
    """LIFE-10: sessions that stay empty leave no trace."""
    engine = make()
    for n in range(20):
        engine.on_session_start(f"empty{n}", hermes_home=str(home))
        engine.on_session_end(f"empty{n}", [])
    assert "stored yet" in ask(engine, "lcm_status")["error"]
    assert not home.exists()


def test_the_database_is_private(make, home):
    """SEC-06: 0600 in a 0700 folder, whatever the umask."""
    before = os.umask(0o022)
    try:
        make().ingest([user("secret")])
    finally:
        os.umask(before)
    assert 0o700 == (home / "lcm").stat().st_mode & 0o777
    assert {0o600} == {path.stat().st_mode & 0o777 for path in (home / "lcm").iterdir()}


@pytest.mark.parametrize("how", [LCMEngine.clone_for_agent, copy.copy, copy.deepcopy])
def test_copies_are_fresh_shells(make, how):
    """CLONE-01, CLONE-06, CLONE-09: same settings and host-set values, own connection, no session."""
    engine = make(settings={"threshold": 0.5})
    engine.ingest(talk(3))
    engine.update_model("m", 32_000, provider="p")
    engine.threshold_percent, engine.summary_target_ratio = 0.4, 0.3
    clone = how(engine)
    assert (32_000, 0.4, "m", "p", 0.3) == (
        clone.context_length, clone.threshold_percent, clone.model, clone.provider, clone.summary_target_ratio,
    )  # fmt: skip
    assert ("", 0, engine.db_path) == (clone._session_id, clone.compression_count, clone.db_path)
    assert engine.settings == clone.settings
    clone.on_session_start("other")
    assert 2 == clone.ingest(talk(1)).new
    engine.close()
    assert 2 == clone.ingest(talk(2)).new
    clone.close()


def test_every_attribute_of_the_contract_is_plain_and_settable(make):
    """No property stands where a host writes."""
    engine = make()
    for name in [*START, "threshold_tokens", "threshold_percent", "context_length", "_session_id"]:
        value = getattr(engine, name)
        setattr(engine, name, value)
        assert name in vars(engine)
    snapshot = dict(vars(engine))
    vars(engine).clear()
    vars(engine).update(snapshot)
    assert 2 == engine.ingest(talk(1)).new
    assert (0, 0) == (LCMEngine.protect_first_n, LCMEngine.protect_last_n)


def test_the_newer_hosts_terminal_may_set_its_knobs(make):
    """What it calls without asking is there."""
    engine = make()
    assert (4000, None) == tuple(map(engine._coerce_threshold_tokens_cap, ("4000", 0)))
    engine.threshold_tokens_cap = engine._coerce_threshold_tokens_cap(4000)
    engine.threshold_percent = engine._effective_threshold_percent(8000, 0.6)
    engine.update_model("m", 8000)
    assert 4000 == engine.threshold_tokens


def open_files(folder):
    """Files in *folder* that this process has open (Linux)."""
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return [
        path
        for link in links
        if os.path.islink(link) and (path := os.readlink(link)).startswith(str(folder))
    ]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_an_engine_dropped_without_close_leaves_no_open_file(home):
    """CLONE-05: twelve clones come and go, at once and without a garbage collection."""
    for n in range(12):
        engine = LCMEngine(8000, settings={}, db_path=home / "lcm.db")
        engine.on_session_start(f"c{n}")
        engine.ingest(talk(1))
        assert open_files(home)
        del engine
    assert [] == open_files(home)


# doors


def test_every_door_stores_and_none_doubles(make, home):
    """ING-05, DED-02, DED-07: a turn is on disk when a door returns."""
    engine = make()
    engine.on_turn_complete(talk(1), usage={})
    assert 2 == messages(home)
    ask(engine, "lcm_status")
    engine.handle_tool_call("lcm_status", {}, messages=talk(2))
    assert 4 == messages(home)
    engine.on_session_end("s", talk(3))
    assert 6 == messages(home)
    engine.compress(talk(4))
    assert 8 == messages(home)
    for door in (
        engine.on_turn_complete,
        engine.compress,
        lambda rows: engine.on_session_end("s", rows),
    ):
        door(copy.deepcopy(talk(4)))
    assert 8 == messages(home)


def test_the_hook_of_older_hosts_finds_the_engine_of_its_session(make, home):
    """CLONE-08: the prototype's family, not the prototype; another engine's session is left alone."""
    family = Family()
    prototype = make(session="")
    family.join(prototype)
    clone = copy.deepcopy(prototype)
    clone.on_session_start("s1", hermes_home=str(home))
    family.post_llm_call(session_id="s1", conversation_history=talk(2), model="m")
    assert 4 == messages(home)
    family.post_llm_call(session_id="unknown", conversation_history=talk(5))
    family.post_llm_call()
    assert 4 == messages(home)
    assert serving(prototype) == (clone, "s1")
    clone.close()


def test_rotation_goes_on_where_the_session_was(make):
    """LIFE-01: everything is reachable under the new id, and sent again it is the same."""
    engine = make()
    rows = talk(60)
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert len(out) < len(rows)
    engine.on_session_end("s", rows)
    engine.on_session_start("s2", boundary_reason="compression", old_session_id="s", platform="cli")
    assert 1 == engine.compression_count
    assert (0, 2) == (engine.ingest(out).new, engine.ingest([*out, user("a"), said("b")]).new)
    status = ask(engine, "lcm_status")
    assert (["s"], 122) == (status["rotated_from"], status["messages"])
    assert ask(engine, "lcm_grep", query="question 1", mode="exact")["total"] > 0


def test_an_unrelated_old_id_moves_nothing(make):
    """LIFE-03: the session that the host says it leaves is not ours."""
    victim = make("victim")
    victim.ingest(talk(2))
    engine = make("mine")
    engine.ingest(talk(1, first=50))
    engine.on_session_start("new", boundary_reason="compression", old_session_id="victim")
    engine.ingest([*talk(1, first=50), user("more")])
    assert 4 == ask(victim, "lcm_status")["messages"]
    assert 3 == ask(engine, "lcm_status")["messages"]


def test_an_engine_that_serves_many_sessions_holds_few_of_their_lists(make):
    """The memory of a process does not grow with every session it met; one that comes back is known all the same."""
    engine = make()
    lists = {f"s{number}": talk(3, first=number) for number in range(40)}
    for name, rows in lists.items():
        engine.on_session_start(name)
        assert len(rows) == engine.ingest(rows).new
    gc.collect()
    held = [each for each in gc.get_objects() if type(each) is Ledger]
    assert len([each for each in held if each.store.path == str(engine.db_path)]) <= 32
    for name, rows in lists.items():
        engine.on_session_start(name)
        assert 0 == engine.ingest(rows).new
        assert 2 == engine.ingest([*rows, user("more"), said("yes")]).new
        assert len(rows) + 2 == ask(engine, "lcm_status")["messages"]


def test_a_new_session_starts_empty(make):
    """LIFE-04, LIFE-08: /new: nothing of the old one, counters at zero."""
    engine = make()
    rows = talk(60)
    engine.compress(rows, current_tokens=engine.count_tokens(rows))
    engine.on_session_end("s", rows)
    engine.on_session_reset()
    engine.bind_session_state(None, "fresh")
    assert (0, 0) == (engine.compression_count, engine.last_prompt_tokens)
    engine.ingest([user("hello")])
    assert 1 == ask(engine, "lcm_status")["messages"]
    engine.bind_session_state(session_db=None, session_id="s")
    assert 1 == engine.compression_count
    assert 120 == ask(engine, "lcm_status")["messages"]
    engine.bind_session_state(session_db=None, session_id="")
    assert rows is engine.compress(rows)


class HostSessions:
    """What the host's session database says, as far as it is asked."""

    def __init__(self, **rows):
        self.rows = rows

    def get_session(self, name):
        return self.rows.get(name)


def test_a_branch_has_its_parents_messages(make):
    """LIFE-05: told only by the host's database, and by the messages themselves."""
    parent = make("p")
    rows = talk(5)
    parent.ingest(rows)
    branch = make("b")
    branch.bind_session_state(
        HostSessions(b={"parent_session_id": "p"}, p={"end_reason": None}), "b"
    )
    branch.on_session_start("b")
    assert 1 == branch.ingest([*copy.deepcopy(rows), user("another way")]).new
    assert 11 == ask(branch, "lcm_status")["messages"]
    assert 10 == ask(parent, "lcm_status")["messages"]
    assert 11 == ask(branch, "lcm_status")["messages_in_all_sessions"]


@pytest.mark.parametrize("marker", ["", '{"_branched_from": "p"}', '{"_branched_from": "other"}'])
def test_a_branch_of_a_session_that_was_compacted_later_is_a_branch(make, marker):
    """LIFE-05: the host ended the parent by a compaction since; only the branch's own mark tells."""
    parent = make("p")
    rows = talk(5)
    parent.ingest(rows)
    branch = make("b")
    told = HostSessions(
        b={"parent_session_id": "p", "model_config": marker}, p={"end_reason": "compression"}
    )
    branch.bind_session_state(told, "b")
    branch.ingest([*copy.deepcopy(rows), user("another way")])
    parent.ingest([*rows, user("this way")])
    assert 11 == ask(branch, "lcm_status")["messages"] - ('"p"' not in marker)


def test_what_a_parent_says_after_the_branch_is_none_of_its_messages(make):
    """LIFE-05: a branch is one from the moment it is made, also if its first words come much later."""
    parent = make("p")
    rows = talk(5)
    parent.ingest(rows)
    branch = make("b")
    told = HostSessions(
        b={"parent_session_id": "p", "model_config": '{"_branched_from": "p"}'}, p={}
    )
    branch.on_session_reset()
    branch.bind_session_state(told, "b")
    parent.ingest([*rows, user("this way"), said("fine")])
    late = make("b")
    late.ingest([*copy.deepcopy(rows), user("another way")])
    assert 11 == ask(late, "lcm_status")["messages"]
    assert 12 == ask(parent, "lcm_status")["messages"]
    assert 13 == ask(parent, "lcm_status")["messages_in_all_sessions"]


def test_a_sub_agent_has_not(make):
    """CLONE-10: it has a parent in the host's database, but another list."""
    parent = make("p")
    parent.ingest(talk(5))
    child = make("c")
    child.bind_session_state(HostSessions(c={"parent_session_id": "p"}, p={}), "c")
    child.on_session_start("c")
    child.ingest([user("do this part"), said("done")])
    assert 2 == ask(child, "lcm_status")["messages"]
    assert 10 == ask(parent, "lcm_status")["messages"]


def test_another_home_is_another_database(make, home, tmp_path):
    """CONF-06: the keyword moves the instance; a boundary start without it stays."""
    engine = make()
    engine.ingest(talk(1))
    engine.on_session_start("s", hermes_home=str(tmp_path / "two"))
    engine.ingest(talk(2))
    assert tmp_path / "two" / "lcm" / "lcm.db" == engine.db_path
    engine.on_session_start("s", boundary_reason="compression", old_session_id="s")
    engine.ingest(talk(3))
    assert (2, 6) == (messages(home), messages(tmp_path / "two"))


def test_the_keyword_wins_over_the_environment(tmp_path, monkeypatch):
    """Also where the engine has opened the environment's home already."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "env"))
    engine = LCMEngine(8000, settings={})
    engine.on_session_start("s")
    engine.ingest(talk(1))
    engine.on_session_start("s", hermes_home=str(tmp_path / "said"))
    engine.ingest(talk(2))
    engine.close()
    assert (2, 4) == (messages(tmp_path / "env"), messages(tmp_path / "said"))


def test_an_explicit_path_does_not_move(tmp_path, make):
    """db_path beats the setting, which beats the home."""
    engine = make(
        session="", db_path=tmp_path / "given.db", settings={"database": str(tmp_path / "set.db")}
    )
    engine.on_session_start("s", hermes_home=str(tmp_path / "home"))
    assert tmp_path / "given.db" == engine.db_path
    other = make(session="", settings={"database": str(tmp_path / "set.db")})
    other.on_session_start("s", hermes_home=str(tmp_path / "home"))
    assert tmp_path / "set.db" == other.db_path


def test_sessions_to_ignore_and_to_keep_in_memory(make, home):
    """CMP-16: by pattern from the settings; an ignored one is made to fit, and shown to no one."""
    settings = {"ignore_sessions": ["cron_*"], "memory_only_sessions": ["tmp_*"]}
    shown = []
    engine = make("cron_1", settings=settings, summarizer=lambda r: shown.append(r) or "a summary")
    rows = talk(60)
    engine.ingest(rows)
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert engine.count_tokens(out) <= engine.threshold_tokens
    assert engine.count_tokens(engine.compress([*out, *talk(60, first=100)])) <= 6000
    assert [] == shown
    name = out[0]["content"][-9:-1]
    assert 0 < len(ask(engine, "lcm_expand", uid=name)["messages"])
    engine.on_session_start("tmp_1", hermes_home=str(home))
    assert len(engine.compress(rows, current_tokens=engine.count_tokens(rows))) < len(rows)
    assert 120 == ask(engine, "lcm_status")["messages"]
    assert not home.exists()


def test_a_session_in_memory_outlives_close_and_is_shared_with_clones(make, home):
    """As long as the process: our own rows stay ours, and what was replaced can be opened."""
    settings = {"memory_only_sessions": ["m*"]}
    engine = make("m1", settings=settings)
    rows = talk(60)
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    clone = engine.clone_for_agent()
    clone.on_session_start("m1")
    engine.close()
    for each in (engine, clone):
        assert 0 == each.ingest(copy.deepcopy(out)).new
        assert ask(each, "lcm_expand", uid=out[0]["content"][-9:-1])["messages"]
    assert not home.exists()


def test_a_branch_that_came_back_changed_is_still_a_branch(make):
    """The older host flattens a picture when it restores; the transcript is not stored again."""
    parent = make("p")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    rows = [{"role": "user", "content": [{"type": "text", "text": "look"}, picture]}, *talk(3)[1:]]
    parent.ingest(rows)
    branch = make("x")
    branch.bind_session_state(HostSessions(b={"parent_session_id": "p"}, p={}), "b")
    assert 1 == branch.ingest([user("look"), *copy.deepcopy(rows[1:]), user("own")]).new


def test_a_closed_engine_opens_again(make):
    """LIFE-07: no 'closed database'."""
    engine = make()
    engine.ingest(talk(1))
    engine.close()
    engine.close()
    assert 2 == engine.ingest(talk(2)).new
    assert 4 == ask(engine, "lcm_status")["messages"]


# budget


def test_the_threshold_follows_the_model(make):
    """CMP-13, HOST-01, TOK-05: unknown keywords are taken, old measurements dropped."""
    engine = make()
    engine.update_from_response({"prompt_tokens": 5000})
    engine.update_model("big", 200_000, api_mode="responses", future=1)
    assert (200_000, 150_000, 0) == (
        engine.context_length,
        engine.threshold_tokens,
        engine.last_prompt_tokens,
    )
    engine.update_model("small", 32_000)
    assert 24_000 == engine.threshold_tokens
    engine.update_model("odd", 0)
    assert 24_000 == engine.threshold_tokens


def test_usage_clears_the_flag(make):
    """Also where the provider sent none."""
    engine = make()
    for usage in ({}, None, {"prompt_tokens": 100, "completion_tokens": None}):
        engine.awaiting_real_usage_after_compression = True
        engine.update_from_response(usage)
        assert not engine.awaiting_real_usage_after_compression
    assert (100, 0) == (engine.last_prompt_tokens, engine.last_completion_tokens)


def test_odd_figures_reach_no_host(make):
    """What is no number counts as none."""
    engine = make()
    engine.update_from_response(
        {"prompt_tokens": "abc", "completion_tokens": [], "total_tokens": None}
    )
    assert (0, False) == (engine.last_prompt_tokens, engine.should_compress("x"))
    assert engine.should_compress("9000")
    assert 0 == engine.count_tokens(None)


def test_should_compress_falls_back_to_what_is_known(make):
    """CMP-11: no count given."""
    engine = make()
    engine.last_prompt_tokens = 7000
    assert engine.should_compress()
    assert engine.should_compress(6000)
    assert not engine.should_compress(5999)
    engine.last_prompt_tokens = -1
    assert not engine.should_compress(None)


def deep(levels):
    nested: dict = {}
    for _ in range(levels):
        nested = {"a": nested}
    return nested


@pytest.mark.parametrize(
    "odd",
    [
        {"role": "user", "content": "x", 5: "five"},
        {"role": "user", "content": "x", "meta": deep(900)},
        {"role": ["user"], "content": "x"},
        {"role": "user", "content": "x", "_absorbed_message_uids": ["\ud800", 5, None]},
        {"role": "user", "content": "x", "message_uid": "\ud800"},
        {"role": "user", "content": {1, 2}, "timestamp": float("nan")},
        {"role": "assistant", "content": "x", "tool_calls": "none"},
    ],
)
def test_an_odd_row_takes_no_other_with_it(make, odd):
    """ING-04: stored as far as JSON can hold it, its neighbours whole, and the pass goes on."""
    engine = make(context_length=4000)
    rows = [*talk(30), odd, *talk(1, first=90)]
    assert 63 == engine.ingest(rows).new
    assert 0 == engine.ingest(copy.copy(rows)).new
    assert len(engine.compress(rows, force=True)) < len(rows)
    assert [] == engine.get_status()["problems"]


def test_a_uid_of_the_hosts_that_is_not_hex_can_be_named(make):
    """A stub names such a message by an alias, and the alias opens it."""
    engine = make()
    output = "".join(f"out line {n}\n" for n in range(5000))
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    rows = [
        {**user("q"), "message_uid": "msg_0001u"},
        {"role": "assistant", "content": "", "tool_calls": [call], "message_uid": "msg_0001a"},
        {"role": "tool", "tool_call_id": "c", "content": output, "message_uid": "msg_0001t"},
    ]
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert engine.count_tokens(out) <= engine.threshold_tokens
    name = out[-1]["content"].partition("[lcm ")[2][:8]
    assert "msg_0001t" == ask(engine, "lcm_expand", uid=name)["messages"][0]["uid"]


def test_many_images_in_the_newest_message_do_not_stop_a_pass(make):
    """They cost what they cost; the message is named, and the turns before it are compacted."""
    engine = make(context_length=64_000)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    rows = [
        *talk(200),
        {"role": "user", "content": [{"type": "text", "text": "look"}, *[image] * 20]},
    ]
    out = engine.compress(rows)
    assert (None, False) == (engine._last_summary_error, engine._last_compress_aborted)
    assert engine.count_tokens(out) <= engine.threshold_tokens
    assert out[-1]["content"].startswith("look")
    assert sum(row["role"] == "user" for row in out) >= 4
    report = engine.ingest(out)
    assert (0, 0) == (report.new, report.revised)


@pytest.mark.parametrize("levels", [[1000], [500, 2000], [15, 50, 250, 1000]])
@pytest.mark.parametrize("window", [2000, 4000, 16_000])
def test_it_fits_at_any_levels_and_any_overhead(make, levels, window):
    """A pass condenses further rather than exceed the budget; a quarter of the threshold at least is the list's."""
    rows: list = []
    engine = make(
        context_length=window,
        settings={"target_token_levels": levels},
        summarizer=lambda r: " ".join(r.text.split()[: int(r.max_tokens * 0.7)]) + ".",
    )
    for n in range(60):
        rows = [*rows, user(f"q{n} " + "word " * 40), said(f"a{n} " + "text " * 40)]
        if engine.should_compress(engine.count_tokens(rows) + window):
            rows = engine.compress(rows, current_tokens=engine.count_tokens(rows) + window)
            assert engine.count_tokens(rows) <= max(engine.threshold_tokens // 4, 430)


def test_what_cannot_shrink_is_left_alone_until_it_grows(make):
    """CMP-05, CMP-06: no endless compaction; a reason, and a new try later."""
    engine = make()
    rows = [*talk(2), user("go on")]
    own = engine.count_tokens(rows)
    out = engine.compress(rows, current_tokens=own + 7000)
    tokens = engine.count_tokens(out) + 7000
    wanted, reason = engine.should_compress_info(tokens)
    assert (False, True) == (wanted, bool(reason))
    assert engine.should_compress(tokens + 1500)
    assert "blocked" in engine.get_status()


def test_compress_reports_truthfully(make):
    """CMP-08: progress exactly when the list changed; the counts are of passes."""
    engine = make()
    short = talk(2)
    assert short is engine.compress(short, current_tokens=10)
    assert (False, 0, False) == (
        engine._last_compression_made_progress, engine.compression_count, engine._last_compress_aborted,
    )  # fmt: skip
    rows = talk(60)
    engine._last_compress_refused_would_grow = True
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows), bypass_cooldown=True)
    assert (True, 1, None) == (
        engine._last_compression_made_progress, engine.compression_count, engine._last_summary_error,
    )  # fmt: skip
    assert not engine._last_compress_refused_would_grow
    assert engine.count_tokens(out) <= engine.threshold_tokens
    last = ask(engine, "lcm_status")["last_compaction"]
    assert (len(rows), len(out)) == (last["rows_before"], last["rows_after"])


def test_the_callers_summariser_is_used_and_its_failure_shown(make):
    """SUM-01: the pass succeeds by extraction, and says so."""
    engine = make(summarizer=lambda request: f"summary of {len(request.text)} characters")
    rows = talk(60)
    assert (
        "summary of"
        in engine.compress(rows, current_tokens=engine.count_tokens(rows))[0]["content"]
    )

    def broken(request):
        raise TimeoutError

    failing = make("t", summarizer=broken)
    failing.compress(rows, current_tokens=failing.count_tokens(rows))
    assert failing._last_summary_fallback_used
    assert "TimeoutError" in failing._last_summary_error
    assert not failing._last_compress_aborted


# failures


def test_a_store_that_fails_takes_nothing_out_of_the_context(make, tmp_path):
    """ING-07: the database is not ours: the list comes back, the failure is flagged and shown."""
    foreign = tmp_path / "foreign.db"
    foreign.write_text("this is no database, it is somebody's notes " * 100)
    before = foreign.read_bytes()
    engine = make(session="", db_path=foreign)
    engine.on_session_start("s")
    rows = talk(60)
    assert rows is engine.compress(rows, current_tokens=10**6)
    assert engine._last_compress_aborted
    assert "no SQLite database" in engine._last_summary_error
    engine.on_turn_complete(rows)
    assert "error" in ask(engine, "lcm_grep", query="x")
    assert any("no SQLite database" in problem for problem in engine.get_status()["problems"])
    with pytest.raises(StoreError):
        engine.ingest(rows)
    assert before == foreign.read_bytes()


def test_wrong_settings_are_reported_and_stop_nothing(make):
    """CONF-01: the nearest key is named, the default used."""
    engine = make(settings={"thresold": 0.5, "condense_fanin": "x"})
    problems = " ".join(engine.get_status()["problems"])
    assert "threshold" in problems
    assert "condense_fanin" in problems
    assert 0.75 == engine.settings.threshold


def test_odd_arguments_reach_no_host(make):
    """HOST-04: hooks swallow and log."""
    engine = make()
    engine.on_session_end("s", 5)
    engine.on_turn_complete(object())
    engine.bind_session_state(object(), "s")
    assert 5 == engine.compress(5)
    assert engine._last_compress_aborted
    assert 2 <= len(engine.get_status()["problems"])


# several at once


def test_two_agents_work_on_their_own_sessions_and_on_one(make):
    """CLONE-02, CONC-02: eight engines, eight threads, four sessions."""
    engines = [make(f"s{n % 4}") for n in range(8)]
    failures = []

    def work(engine, n):
        try:
            for k in range(1, 15):
                engine.ingest(talk(k, first=100 * (n % 4)))
                ask(engine, "lcm_grep", query="question")
        except Exception as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=each) for each in zip(engines, range(8), strict=True)
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert [] == failures
    for engine in engines:
        engine.ingest(talk(14, first=100 * (engines.index(engine) % 4)))
    assert [28] * 8 == [ask(engine, "lcm_status")["messages"] for engine in engines]
    assert 28 * 4 == ask(engines[0], "lcm_status")["messages_in_all_sessions"]


def test_two_agents_compact_the_same_rows_at_once(make):
    """CONC-08: each message is under one leaf, and both lists stand."""
    rows = talk(60)

    def slow(request):
        time.sleep(0.02)
        return f"made by {threading.current_thread().name} " + request.text[:40]

    engines = [make(summarizer=slow) for _ in range(2)]
    out = {}
    threads = [
        threading.Thread(
            target=lambda n=n, e=e: out.update({n: e.compress(rows, current_tokens=10**5)})
        )
        for n, e in enumerate(engines)
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert out[0][0]["content"].count("[lcm ") == out[1][0]["content"].count("[lcm ")
    store = engines[0]._attachment.open().store_for("s", create=False)
    leaves = [node for node in store.nodes_on([1]) if node.kind == "leaf"]
    under = [source.message for node in leaves for source in node.sources]
    assert len(set(under)) <= len(under) <= len(set(under)) * 2
    for n, engine in enumerate(engines):
        assert 0 == engine.ingest(out[n]).new


def test_one_instance_is_safe_from_many_threads(make):
    """CONC-07: built in one thread, called from others."""
    engine = make()
    rows = talk(20)
    failures = []

    def work():
        try:
            for n in range(2, 40, 2):
                engine.on_turn_complete(rows[:n])
                engine.handle_tool_call("lcm_grep", {"query": "question"}, messages=rows[:n])
                engine.get_status()
        except Exception as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(5)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    engine.ingest(rows)
    assert [] == failures
    assert (40, 0) == (
        ask(engine, "lcm_status")["messages"],
        ask(engine, "lcm_status")["withdrawn"],
    )
    assert [] == engine.get_status()["problems"]
