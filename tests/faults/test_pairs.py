"""Tool pairs: a call and its result are on the same side of every cut, and a provider takes what comes out."""

from __future__ import annotations

import copy
import itertools
import json

import pytest
from faultkit import called, kept, result, said, talk, user
from lcm.dag.validity import faults, new_faults

SYSTEM = {"role": "system", "content": "be good"}


def passed(engine, rows, **options):
    """*rows* after a pass: smaller, without a fault that the input did not have, and *rows* as it was."""
    before = copy.deepcopy(rows)
    out = engine.compress(rows, force=True, **options)
    assert before == rows
    assert engine.count_tokens(out) < engine.count_tokens(rows)
    assert [] == new_faults(rows, out)
    return out


def answered_once(rows):
    """Every call of *rows* has one result, and every result its call directly before it."""
    calls = [call["id"] for row in rows for call in row.get("tool_calls") or ()]
    results = [row["tool_call_id"] for row in rows if row["role"] == "tool"]
    return (
        sorted(calls) == sorted(results) and not faults(rows)["result not directly behind its call"]
    )


@pytest.mark.parametrize("tail", [0, 50, 150, 300, 600, 1200])
def test_a_cut_never_parts_a_pair(make, home, tail):
    """PAIR-01, PAIR-07: whatever the tail may hold, a result and its call stay or go together; all is stored."""
    engine = make(settings={"fresh_tail_tokens": tail})
    rows = talk(30)
    for n in range(12):
        rows += [user(f"look {n}"), called(f"c{n}"), result(f"c{n}", "out " * (40 * n))]
        rows += [said(f"seen {n}")]
    rows += [user("and?")]
    out = passed(engine, rows)
    assert answered_once(out)
    assert user("and?") == out[-1]
    assert rows == kept(home)
    assert 0 == engine.ingest(out).new


@pytest.mark.parametrize("tail", [0, 100, 300, 1000])
def test_parallel_results_stay_together(make, home, tail):
    """PAIR-02: three calls of one row and their results are all kept or all compacted."""
    engine = make(settings={"fresh_tail_tokens": tail})
    step = [called("a", "b", "c"), *(result(name, name * 300) for name in "abc")]
    rows = [*talk(50), user("look at three"), *step, user("well?")]
    out = passed(engine, rows)
    assert sum(row in out for row in step) in (0, 4)
    assert answered_once(out)
    assert rows == kept(home)
    assert 0 == engine.ingest(out).new


def test_a_call_that_was_never_answered_spoils_nothing(make, home):
    """PAIR-03: no result ever came: the list is valid after a pass and a restart, and the row is in the store."""
    lost = called("x")
    rows = [*talk(50), user("run it"), lost, user("continue"), said("Going on."), *talk(30, 100)]
    out = passed(make(), rows)
    assert lost not in out
    assert not faults(out)["call without its result"]
    after = make()
    more = [*copy.deepcopy(out), *talk(40, 200)]
    again = passed(after, more)
    assert not faults(again)["call without its result"]
    assert [*rows, *talk(40, 200)] == kept(home)


def test_an_unanswered_call_near_the_end_goes_first(make, home):
    """PAIR-03: where it stands in the tail that would stay, the faulty span is compacted."""
    engine = make()
    rows = [*talk(60), user("run it"), called("x"), user("continue")]
    out = passed(engine, rows)
    assert user("continue") == out[-1]
    assert not faults(out)["call without its result"]
    assert rows == kept(home)
    assert 0 == engine.ingest(out).new


def test_what_is_being_carried_out_stays(make, home):
    """PAIR-04: the list ends in a call whose result is on its way; it is the last row, and is stored once."""
    engine = make()
    rows = [*talk(60), user("send the letter"), called("p")]
    out = passed(engine, rows)
    assert rows[-2:] == out[-2:]
    done = [*out, result("p", "sent"), said("It is sent.")]
    assert 2 == engine.ingest(done).new
    assert [*rows, *done[-2:]] == kept(home)


def test_two_passes_answer_each_call_once(make, home):
    """PAIR-05: pairs near the border of two passes; no result twice, none missing."""
    engine = make()
    live, sent = [], []
    for n in range(3):
        more = talk(30, first=100 * n)
        for k in range(4):
            name = f"c{n}{k}"
            more += [user(f"look {name}"), called(name), result(name, "out " * 60), said("seen")]
        live, sent = [*live, *more], [*sent, *more]
        live = passed(engine, live)
        assert answered_once(live)
    assert sent == kept(home)


def test_a_displaced_result_is_no_missing_one(make, home):
    """PAIR-06: words stand between a call and its result: nothing is invented, and both are kept as they were."""
    engine = make()
    odd = [user("go"), called("a"), said("still at it"), result("a", "the true result"), said("ok")]
    for rows in ([*talk(40), *odd, *talk(30, 100)], [*talk(70), *odd]):
        out = passed(engine, rows)
        assert not faults(out)["result without its call"]
        shown = [row for row in out if row["role"] == "tool"]
        assert all(row["content"] == "the true result" for row in shown)
        assert "missing" not in json.dumps(out).lower()
    assert 1 == sum(row == odd[3] for row in kept(home))


def test_a_person_speaks_first(make, home):
    """PAIR-08: two passes over a list with a system prompt; the first row behind it is a user's."""
    engine = make()
    live, sent = [SYSTEM], []
    for n in range(2):
        live, sent = [*live, *talk(60, 100 * n)], [*sent, *talk(60, 100 * n)]
        live = passed(engine, live)
        assert [SYSTEM, "user"] == [live[0], live[1]["role"]]
    assert sent == kept(home)


def test_steps_that_go_leave_no_run_of_answers(make, home):
    """PAIR-09: twenty answers with a call each, in one turn: no two plain answers in a row, parts stay parts."""
    engine = make(context_length=3000)
    parts = [{"type": "text", "text": "look at this"}, {"type": "text", "text": "and this"}]
    rows = [user("do it all")]
    for n in range(20):
        rows += [called(f"c{n}", text=f"step {n}"), result(f"c{n}", "out " * 60)]
    rows += [said("half done"), user(parts)]
    out = passed(engine, rows)
    plain = [row["role"] == "assistant" and not row.get("tool_calls") for row in out]
    assert not any(one and other for one, other in itertools.pairwise(plain))
    assert user(parts) == out[-1]
    assert rows == kept(home)


def test_no_empty_list_of_calls_is_written(make, home):
    """PAIR-10: our rows and what the store gives back have the key tool_calls only where there are calls."""
    engine = make()
    rows = [*talk(60), user("look"), called("c"), result("c", "seen"), said("ok")]
    out = passed(engine, rows)
    for each in (*out, *kept(home)):
        assert each.get("tool_calls", [None]) != []
    assert rows[-4:] == out[-4:]


def test_no_empty_text_is_written(make, home):
    """PAIR-11: an empty result and an empty user row: what is ours has words, and a pair stays or goes whole."""
    engine = make()
    odd = [user([]), said("yes?"), user("run it"), called("c"), result("c", ""), said("done")]
    for rows in ([*odd, *talk(60)], [*talk(60, 500), *odd]):
        out = passed(engine, rows)
        assert all(row["content"].strip() for row in out if row.get("_compressed_summary"))
        assert (called("c") in out) == (result("c", "") in out)
        assert all(row in rows for row in out if not row.get("_compressed_summary"))


def test_the_last_row_stays_a_prompt(make, home):
    """PAIR-12: a list that ends in a person's or a tool's row still does; one that ends in an answer may."""
    for n, end in enumerate(
        ([user("go on")], [user("look"), called("c"), result("c", "x " * 9000)], [said("bye")])
    ):
        engine = make(f"s{n}")
        rows = [*talk(60), *end]
        out = passed(engine, rows)
        assert rows[-1]["role"] == out[-1]["role"]
        assert rows == kept(home, f"s{n}")


def test_the_only_user_row_stays(make, home):
    """PAIR-13: [system, user, call, 60,000 characters]: the person's words are there, to the letter."""
    engine = make()
    text = "".join(f"line {n} of the log\n" for n in range(3000))
    rows = [SYSTEM, user("what went wrong?"), called("c"), result("c", text)]
    out = passed(engine, rows)
    assert [SYSTEM, user("what went wrong?"), called("c")] == out[:3]
    assert "tool" == out[3]["role"]
    assert rows[1:] == kept(home)
    assert 0 == engine.ingest(out).new
