"""A plan is a value: made, validated with the reason, and only then rendered."""

from __future__ import annotations

import copy
import dataclasses

import pytest
from histories import broken, called, histories, refused, result, said, talk, user
from hypothesis import given
from hypothesis import strategies as st
from lcm import CompactionPlan, CompactionSplit, split_at_user_turn
from lcm.dag.plan import SUMMARY_HEAD, transcript, turns_of
from lcm.dag.renderer import FILLER

SYSTEM = {"role": "system", "content": "be kind"}
HISTORY = talk(3)


def reason(plan, messages):
    """Why *messages* cannot be compacted so; validating and rendering say the same."""
    with pytest.raises(ValueError) as said_first:  # noqa: PT011 - the text is what is looked at
        plan.validate(messages)
    with pytest.raises(ValueError) as said_then:  # noqa: PT011 - as above
        plan.render(messages)
    assert str(said_first.value) == str(said_then.value)
    return str(said_first.value)


def test_rendering_puts_one_row_in_the_place_of_what_is_dropped():
    """The summary row begins with the fixed words; the rows that stay are the very same."""
    rendered = CompactionPlan(4, "they talked").render(HISTORY)
    assert rendered[0] == {"role": "user", "content": "[Compacted earlier context]\nthey talked"}
    assert all(new is old for new, old in zip(rendered[1:], HISTORY[4:], strict=True))


@pytest.mark.parametrize("summary", [None, "", " \n", SUMMARY_HEAD])
def test_without_a_summary_it_drops_without_a_message(summary):
    """A summary that says nothing is none."""
    assert CompactionPlan(4, summary).render(HISTORY) == HISTORY[4:]


def test_the_head_is_written_once():
    """A summariser that has learned the words from an earlier summary does not double them."""
    (row, *_) = CompactionPlan(4, f"{SUMMARY_HEAD}\nthey talked").render(HISTORY)
    assert row["content"] == f"{SUMMARY_HEAD}\nthey talked"


def test_a_sentence_parts_two_user_rows_where_that_is_asked_for():
    """alternate=True, for models that refuse the same role twice in a row."""
    rendered = CompactionPlan(4, "they talked", alternate=True).render(HISTORY)
    assert [row["role"] for row in rendered[:3]] == ["user", "assistant", "user"]
    assert rendered[1]["content"] == FILLER


def test_system_rows_in_front_stay_where_they_are():
    """They are not dropped, and keep_from counts them."""
    developer = {"role": "developer", "content": "be brief"}
    rendered = CompactionPlan(6, "they talked").render([SYSTEM, developer, *HISTORY])
    assert rendered[:2] == [SYSTEM, developer]
    assert rendered[2]["content"].startswith(SUMMARY_HEAD)
    assert rendered[3:] == HISTORY[4:]


@pytest.mark.parametrize("keep_from", [-1, -3, len(HISTORY), 99])
def test_keep_from_outside_the_history(keep_from):
    """Negative indexes do not count from the end."""
    assert "outside the history of 7 messages" in reason(CompactionPlan(keep_from, "s"), HISTORY)


@pytest.mark.parametrize("keep_from", [True, False, None, "2", 2.0])
def test_keep_from_that_is_no_index(keep_from):
    """True is no 1."""
    assert "no index" in reason(CompactionPlan(keep_from, "s"), HISTORY)


def test_keep_from_not_at_a_user_message():
    """An assistant's row, a tool's, a system row."""
    rows = [SYSTEM, user(), called("a"), result("a"), said(), user()]
    for index in (0, 2, 3, 4):
        assert "not at a user message" in reason(CompactionPlan(index), rows)


def test_a_plan_that_drops_nothing():
    """A summary of nothing would only make the history larger."""
    assert "nothing would be dropped" in reason(CompactionPlan(0, "s"), HISTORY)
    assert "nothing would be dropped" in reason(CompactionPlan(1, "s"), [SYSTEM, *HISTORY])


@pytest.mark.parametrize(
    ("kept", "said_of_it"),
    [
        ([user(), result("a"), user()], "message 3 is a tool result without its call"),
        ([user(), called("a"), result("b")], "without its call ('b')"),
        ([user(), called("a"), result("a"), result("a")], "message 5 is a tool result without"),
        ([user(), called("a", "b"), result("a"), user()], "call without all results"),
        ([user(), called("a")], "message 3 has a call without all results"),
        ([user(), called("a"), user(), result("a")], "call without all results"),
        ([user(), called("a", "a"), result("a")], "call without all results"),
        ([user(), {"role": "tool", "content": "r"}], "without its call"),
    ],
)
def test_calls_and_results_that_are_parted(kept, said_of_it):
    """The reason names the message by its place in the whole history."""
    assert said_of_it in reason(CompactionPlan(2, "s"), [user(), said(), *kept])


def test_a_cut_between_a_call_and_its_result():
    """A user who spoke in between does not make it a place to cut at."""
    rows = [user(), called("a"), user("hurry"), result("a")]
    assert "message 3 is a tool result without its call" in reason(CompactionPlan(2), rows)


def test_what_is_dropped_may_be_broken():
    """Dropping it is the cure."""
    rows = [user(), called("a"), result("b"), user()]
    assert CompactionPlan(3, "s").render(rows)[1:] == rows[3:]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_ids_used_again_and_results_in_any_order(order):
    """Parallel calls may share an id; a later step may use it again."""
    step = [called("a", "b"), *map(result, order), called("a", "a"), result("a"), result("a")]
    rows = [user(), *step, said(), user(), *step]
    assert CompactionPlan(8).render(rows) == rows[8:]


def test_calls_and_results_as_content_parts():
    """A user row of tool results is no turn and no place to cut at."""
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "run"}]}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}
    rows = [user(), said(), user(), use, answer, said(), user()]
    assert turns_of(rows) == [0, 2, 6]
    assert split_at_user_turn(rows, 2).keep_from == 2
    assert "without its call ('t')" in reason(CompactionPlan(4), rows)
    assert "call without all results" in reason(CompactionPlan(2), [*rows[:4], user()])


def test_an_end_that_asks_no_model_is_taken_over():
    """A history that ends with an answer ends so after it too."""
    rows = HISTORY[:-1]
    assert CompactionPlan(4).render(rows) == rows[4:]


@pytest.mark.parametrize("messages", [[], (), iter(())])
def test_an_empty_history(messages):
    """There is nothing to keep."""
    with pytest.raises(ValueError, match="empty"):
        CompactionPlan(0).validate(messages)


@pytest.mark.parametrize("messages", [None, 3, "text", b"text", {"role": "user"}])
def test_what_is_no_list(messages):
    """The same reason for all of them."""
    assert "list of messages" in reason(CompactionPlan(0), messages)


@pytest.mark.parametrize("row", [None, "text", object(), 3])
def test_a_row_that_is_no_mapping(row):
    """An object of a client library is named by its type."""
    assert f"message 1 is no mapping but {type(row).__name__}" in reason(
        CompactionPlan(2), [user(), row, user()]
    )


@pytest.mark.parametrize(
    ("row", "said_of_it"),
    [
        ({}, "has no role"),
        ({"type": "function_call", "call_id": "a"}, "has no role"),
        ({"role": None, "content": "x"}, "has no role"),
        (
            {"role": "assistant", "tool_calls": [object()]},
            "tool call that is no mapping but object",
        ),
        ({"role": "assistant", "tool_calls": (3,)}, "tool call that is no mapping but int"),
        ({"role": "assistant", "tool_calls": {"id": "a"}}, "that are no list but dict"),
    ],
)
def test_a_mapping_that_is_no_message(row, said_of_it):
    """Forms of history that are not known are refused, not misread."""
    assert "message 1 has" in reason(CompactionPlan(2), [user(), row, user()])
    assert said_of_it in reason(CompactionPlan(2), [user(), row, user()])


def test_a_summary_that_no_wire_takes():
    """A lone surrogate is replaced."""
    (row, *_) = CompactionPlan(4, "half \ud83d").render(HISTORY)
    assert row["content"] == f"{SUMMARY_HEAD}\nhalf \ufffd"


@pytest.mark.parametrize("at", [1, 3])
@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_system_row_behind_the_beginning(at, role):
    """Whether it would be dropped or stay."""
    rows = [user(), said(), user(), said(), user()]
    rows.insert(at, {"role": role, "content": "x"})
    plan = CompactionPlan(next(i for i in (2, 3) if rows[i]["role"] == "user"))
    assert f"message {at} is a system row" in reason(plan, rows)


def test_a_summary_that_is_no_text():
    """It is said before anything is rendered."""
    assert "summary is no text but int" in reason(CompactionPlan(4, 3), HISTORY)


@pytest.mark.parametrize("content", [None, [], [{"type": "text", "text": "q"}], ["q"]])
def test_any_content(content):
    """None, and lists of parts."""
    rows = [user(content), said(content), user(content), said(None), user(content)]
    assert CompactionPlan(2, "s").render(rows)[1:] == rows[2:]
    assert split_at_user_turn(rows, 1).recent == rows[4:]


def test_any_iterable_is_a_history():
    """Tuples, and generators, which are read once."""
    expected = CompactionPlan(4, "s").render(HISTORY)
    assert CompactionPlan(4, "s").render(tuple(HISTORY)) == expected
    assert CompactionPlan(4, "s").render(row for row in HISTORY) == expected
    assert split_at_user_turn((row for row in HISTORY), 2).keep_from == 4


def test_a_plan_cannot_be_changed():
    """It is a value: equal plans are the same plan."""
    plan = CompactionPlan(4, "s", {"input_tokens": 3})
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.keep_from = 2
    assert plan == CompactionPlan(4, "s", {"input_tokens": 3})


def test_nothing_that_is_handed_over_is_changed():
    """Neither the history nor what was rendered before."""
    rows = copy.deepcopy(HISTORY)
    first = CompactionPlan(4, "s").render(rows)
    first.clear()
    assert rows == HISTORY
    assert len(CompactionPlan(4, "s").render(rows)) == 4


def test_a_split_has_all_that_a_plan_needs():
    """keep_from, older, recent, plan."""
    split = split_at_user_turn([SYSTEM, *HISTORY], 2)
    assert split == CompactionSplit(5, HISTORY[:4], HISTORY[4:])
    assert split.plan("s", {"input_tokens": 1}) == CompactionPlan(5, "s", {"input_tokens": 1})
    assert split.plan() == CompactionPlan(5)
    assert split.plan(summary="s", usage=None, degraded=True).degraded


@pytest.mark.parametrize("keep_turns", [0, -1, True, None, 1.0, "1"])
def test_keep_turns_under_one(keep_turns):
    """Or no number at all."""
    with pytest.raises(ValueError, match="keep_turns must be a whole number from 1 on"):
        split_at_user_turn(HISTORY, keep_turns)


@pytest.mark.parametrize("keep_turns", [4, 5, 1000])
def test_a_split_that_drops_nothing(keep_turns):
    """As many turns as there are, or more."""
    for rows in (HISTORY, [SYSTEM, *HISTORY]):
        with pytest.raises(ValueError, match="nothing would be dropped"):
            split_at_user_turn(rows, keep_turns)


def test_a_split_of_messages_without_a_turn():
    """System rows alone, or an assistant that talks to itself."""
    for rows in ([SYSTEM], [said(), said()]):
        with pytest.raises(ValueError, match="nothing would be dropped"):
            split_at_user_turn(rows, 1)


@pytest.mark.parametrize("alternate", [True, False])
def test_a_summary_row_is_no_turn(alternate):
    """Nor is it worth a plan of its own; with older turns behind it, it is summarised with them."""
    rows = CompactionPlan(4, "they talked", alternate=alternate).render(HISTORY)
    with pytest.raises(ValueError, match="nothing would be dropped"):
        split_at_user_turn(rows, 2)
    split = split_at_user_turn(rows, 1)
    assert split.older == rows[:-1]
    assert split.recent == [HISTORY[-1]]


def test_a_split_at_a_place_that_is_none():
    """Validated when it is made: no model is asked in vain."""
    rows = [user(), said(), user(), called("a"), user()]
    assert split_at_user_turn(rows, 1).keep_from == 4
    with pytest.raises(ValueError, match="call without all results"):
        split_at_user_turn(rows, 2)


def test_the_transcript_says_who_said_what_but_no_secret():
    """What a summariser reads: calls by name, an earlier summary without its head."""
    key = "sk-" + "proj4" * 9
    rows = [user(f"{SUMMARY_HEAD}\nbefore"), user(f"my key is {key}"), called("a"), result("a")]
    text = transcript(rows)
    assert text.splitlines()[0] == "summary of what was before: before"
    assert "assistant calls run" in text
    assert "tool: r" in text
    assert key not in text


@given(histories(), st.data())
def test_every_turn_of_a_valid_history_is_a_place_to_cut_at(rows, data):
    """But the first; what comes of it is valid, ends as it did, and has nothing else in it."""
    turns = turns_of(rows)
    index = data.draw(st.integers(0, len(turns) - 1))
    plan = CompactionPlan(turns[index], data.draw(st.sampled_from([None, "s"])))
    if index == 0:
        assert "nothing would be dropped" in reason(plan, rows)
        return
    rendered = plan.render(rows)
    assert not refused(rendered)
    assert rendered[-len(rows) + turns[index] :] == rows[turns[index] :]
    assert len(rendered) <= len(rows)
    split = split_at_user_turn(rows, len(turns) - index)
    assert split.keep_from == turns[index]
    assert [*(row for row in rows if row == SYSTEM), *split.older, *split.recent] == rows


@given(broken(), st.integers(-2, 30), st.sampled_from([None, "s"]))
def test_a_plan_is_refused_or_what_it_makes_is_valid(rows, keep_from, summary):
    """Whatever the history."""
    before = copy.deepcopy(rows)
    try:
        rendered = CompactionPlan(keep_from, summary).render(rows)
    except ValueError:
        return
    finally:
        assert rows == before
    assert not refused(rendered)
    assert rendered[-1] is rows[-1]


@given(broken(), st.integers(1, 6))
def test_a_split_is_refused_or_can_be_rendered(rows, keep_turns):
    """And only a ValueError refuses it."""
    try:
        split = split_at_user_turn(rows, keep_turns)
    except ValueError:
        return
    assert len(turns_of(split.recent)) == keep_turns
    assert not refused(split.plan("s").render(rows))
