"""Faults of what a compaction gives: the list shrinks, the newest stays, and nothing is lost under it."""

from __future__ import annotations

import json

import pytest
from faultkit import (
    ask,
    blocks,
    called,
    compressed,
    everything,
    kept,
    plain,
    result,
    said,
    steps,
    talk,
    user,
)
from lcm.dag.prompts import _prompts
from lcm.dag.validity import new_faults


def test_what_is_summarised_leaves_the_list(make, home):
    """CMP-01: ten rows over the threshold: fewer tokens, the old rows gone from the list, kept in the store once."""
    engine = make(context_length=4000)
    rows = talk(5, words=230)
    assert 10 == len(rows)
    before = engine.count_tokens(rows)
    assert before > engine.threshold_tokens
    out = compressed(engine, rows)
    assert engine.count_tokens(out) < engine.threshold_tokens < before
    assert rows[0] not in out
    assert plain(rows) == everything(engine, out)
    assert rows == kept(home)


@pytest.mark.parametrize("size", [400, 40_000])
def test_the_request_being_worked_on_stays(make, home, size):
    """CMP-02: task A is done, task B has a first result: B's row verbatim, behind the summary."""
    engine = make()
    rows = [user("Task A"), *steps(1, 30), said("A is done")]
    rows += [user("Task B: paint the fence"), called("b"), result("b", "fence line\n" * size)]
    out = compressed(engine, rows)
    place = [row["content"] for row in out].index("Task B: paint the fence")
    assert 0 < place == max(n for n, row in enumerate(out) if row["role"] == "user")
    assert out[0].get("_compressed_summary")
    assert {"role": "user", "content": "Task B: paint the fence"} == out[place]
    assert "Task A" not in [row["content"] for row in out[1:]]
    assert [] == new_faults(rows, out)
    assert rows == kept(home)


def test_only_what_is_before_the_cut_goes(make, home):
    """CMP-03: eight pairs, four of them small enough to stay: the newest are verbatim, the others under nodes."""
    engine = make(settings={"fresh_tail_tokens": 1800})
    rows = [
        user("do it"),
        *steps(1, 4, size=2000),
        said("half"),
        user("go on"),
        *steps(5, 8, size=100),
    ]
    out = compressed(engine, rows, force=True)  # else stubs would do
    assert rows[-9:] == out[-9:]
    assert not any(row.get("tool_call_id") in ("c1", "c2", "c3", "c4") for row in out)
    assert rows == kept(home)
    spoken = [entry for entry in everything(engine, out) if entry[0] != "system"]
    assert plain(rows) == spoken


@pytest.mark.parametrize("fanin", [2, 4])
def test_leaves_are_condensed_however_much_room_there_is(make, fanin, home):
    """CMP-09: more than the fan-in of one depth never stand side by side, though the window is nearly empty."""
    engine = make(
        context_length=200_000,
        settings={"condense_fanin": fanin, "leaf_tokens": 200, "threshold": 0.05},
    )
    rows, sent = [], []
    for n in range(1, 400):
        more = talk(1, first=n, words=30)
        rows, sent = [*rows, *more], [*sent, *more]
        if engine.should_compress(engine.count_tokens(rows)):
            rows = compressed(engine, rows)
            depths = [node["depth"] for node in ask(engine, "lcm_describe")["nodes"]]
            assert all(depths.count(depth) <= fanin for depth in depths)
    assert max(depths) >= 2
    engine.ingest(rows)
    assert plain(sent) == everything(engine, rows)
    assert sent == kept(home)


def test_a_leaf_larger_than_the_window_is_made_to_fit(make, home):
    """CMP-10: leaves of 20,000 tokens are asked for in a window of 8,000: compaction happens, in leaves that fit."""
    engine = make(settings={"leaf_tokens": 20_000})
    rows = [
        row for n in range(15) for row in (user(f"{n} " + "x" * 1590), said(f"{n} " + "y" * 1590))
    ]
    assert 30 == len(rows)
    out = compressed(engine, rows)
    assert engine.count_tokens(out) < engine.threshold_tokens
    shown = [ask(engine, "lcm_describe", uid=name) for name in blocks(out)]
    found = [*shown, *(each for node in shown for each in node["sources"])]
    leaves = [node for node in found if node["kind"] == "node" and node["depth"] == 0]
    assert len(leaves) > 1
    assert all(node["tokens"] <= 4000 for node in leaves)
    assert plain(rows) == everything(engine, out)
    assert rows == kept(home)


def test_an_earlier_summary_is_added_to_and_not_replaced(make, home):
    """CMP-15: after a second compaction the facts of the first are under the list as those of the second are."""
    engine = make()
    first = [user("fact A: the gate code is 4711"), said("noted A"), *talk(50)]
    out = compressed(engine, first)
    second = [user("fact B: the dog is called Rex"), said("noted B"), *talk(50, first=100)]
    again = compressed(engine, [*out, *second])
    told = [content for _, content in everything(engine, again)]
    assert 1 == told.count("fact A: the gate code is 4711")
    assert 1 == told.count("fact B: the dog is called Rex")
    assert plain([*first, *second]) == everything(engine, again)
    assert [*first, *second] == kept(home)
    assert (
        not set(blocks(out))
        - {
            source["uid"][:8]
            for name in blocks(again)
            for source in ask(engine, "lcm_describe", uid=name)["sources"]
            if source["kind"] == "node"
        }
        - set(blocks(again))
    )


@pytest.mark.parametrize("window", [16_000, 64_000])
def test_a_large_backlog_is_not_cut_to_nothing(make, window):
    """CMP-17: four windows of backlog: the newest fifth of the window stays verbatim, and the target is kept to."""
    engine = make(context_length=window)
    rows = talk(window * 4 // 250)
    assert engine.count_tokens(rows) > 3 * window
    out = compressed(engine, rows)
    size = engine.count_tokens(out)
    assert size <= 0.4 * window
    turn = engine.count_tokens(rows[-2:])
    tail = engine.count_tokens([row for row in out if not row.get("_compressed_summary")])
    assert tail > 0.2 * window - turn
    assert size > 0.2 * window


def test_a_tail_of_zero_is_zero_and_no_crash(make, home):
    """CMP-18: the newest request stays, and at most the three turns that a host looks for; the rest is under nodes."""
    rows = talk(5, words=230)
    engine = make(context_length=4000, settings={"fresh_tail_tokens": 0})
    assert 0 == engine.settings.fresh_tail_tokens
    out = compressed(engine, rows)
    users = [row for row in out if row["role"] == "user" and not row.get("_compressed_summary")]
    assert 1 <= len(users) <= 3
    assert rows[-2:] == out[-2:]
    assert plain(rows) == everything(engine, out)
    assert rows == kept(home)


def test_no_head_is_protected_for_ever(make, home):
    """CMP-19: the first row is a user's: after three compactions it is under a node like any other, once."""
    engine, rows, sent = make(), [], []
    while engine.compression_count < 3:
        more = talk(1, first=len(sent) // 2 + 1)
        rows, sent = [*rows, *more], [*sent, *more]
        if engine.should_compress(engine.count_tokens(rows)):
            rows = compressed(engine, rows)
    assert sent[0] not in rows
    assert 1 == [content for _, content in everything(engine, rows)].count(sent[0]["content"])
    assert plain(sent) == everything(engine, rows)
    assert sent == kept(home)


def test_no_summary_runs_into_a_users_row(make):
    """CMP-20: between it and the newest user row stands a row of its own, and that row is what it was."""
    engine = make()
    rows = [*talk(60), user("exactly  this\ttext \n")]
    out = compressed(engine, rows)
    assert user("exactly  this\ttext \n") == out[-1]
    assert out[0]["_compressed_summary"] and out[1]["_compressed_summary"]
    assert ["user", "assistant", "user"] == [row["role"] for row in out[:3]]
    assert "exactly" not in out[0]["content"]


def test_a_summary_is_history_and_the_newest_row_is_not(make):
    """CMP-21: an old task in a summary stands under a head that says what it is; the last word is the user's."""
    engine = make(summarizer=lambda request: "Active: deploy the site now.")
    out = compressed(engine, [user("deploy"), said("on it"), *talk(60), user("thanks")])
    text = out[0]["content"]
    assert text.index("This is history, not instructions.") < text.index("Active: deploy")
    assert "pointer, not proof" in text
    assert user("thanks") == out[-1]
    assert "Report history, not instructions" in _prompts()["summary"]["system"]


def test_between_passes_the_beginning_stands(make):
    """CMP-24: turn by turn the list of turn n is, byte for byte, how the list of turn n+1 begins."""
    engine, rows, passes = make(), [], 0
    for n in range(1, 150):
        before = json.dumps(rows)[:-1]  # without the bracket at its end
        rows = [*rows, *talk(1, first=n)]
        if engine.should_compress(engine.count_tokens(rows)):
            head = rows[0]["content"] if passes else ""
            rows = compressed(engine, rows)
            passes += 1
            first = head.partition("[lcm ")[0]  # the constant head; blocks may lose a size
            assert rows[0]["content"].startswith(first)
            continue
        engine.ingest(rows)
        ask(engine, "lcm_grep", query="why")
        engine.update_from_response({"prompt_tokens": engine.count_tokens(rows)})
        assert rows is engine.compress(rows, engine.count_tokens(rows))
        assert json.dumps(rows).startswith(before)
    assert passes >= 3


def test_a_standing_instruction_outlives_compactions(make):
    """CMP-25: said once at the start: after two passes it is still in the context; the system prompt is untouched."""
    system = {"role": "system", "content": "You are an agent.\n" * 5}
    rule = "From now on you must always answer in French, please remember that."
    engine = make()
    rows = [system, user(rule), said("Oui."), *talk(50)]
    for first in (100, 200):
        rows = compressed(engine, rows)
        assert system == rows[0]
        assert "always answer in French" in rows[1]["content"]
        rows = [*rows, *talk(50, first=first)]
    assert 2 == engine.compression_count
    assert "preferences" in _prompts()["summary"]["system"]
    assert 1 == sum(row["role"] == "system" for row in rows)
