"""LlmCompactor: when it acts, what it asks, what it makes of the answer."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace

import pytest
from histories import called, histories, refused, said, talk, user
from hypothesis import given
from hypothesis import strategies as st
from lcm import (
    CompactionContext,
    CompactionPlan,
    LlmCompactor,
    Reply,
    SummaryRequest,
    Usage,
    run_compactor,
    run_compactor_async,
    summary_messages,
)
from lcm.dag.llm_compactor import NoSummary
from lcm.dag.plan import SUMMARY_HEAD
from lcm.dag.tokens import count_messages, count_text

SYSTEM = {"role": "system", "content": "be kind"}
HISTORY = talk(4, "word " * 100)
OVER = Usage(5000, 10)
COST = {"input_tokens": 30, "output_tokens": 4}


def context(messages=HISTORY, **more):
    """A context over the threshold, in the middle of a run."""
    return CompactionContext(messages, **{"iteration": 3, "last_usage": OVER, **more})


class Summarizer:
    """Gives what it was made with, and remembers what it was asked; an exception is raised."""

    def __init__(self, answer="they talked"):
        self.answer, self.asked = answer, []

    def __call__(self, request):
        self.asked.append(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def llm(answer="they talked", **more):
    """A compactor over 1,000 tokens that keeps two turns."""
    return LlmCompactor(Summarizer(answer), **{"threshold_tokens": 1000, "keep_turns": 2, **more})


def test_older_turns_become_one_summary():
    """One call, which reads what is dropped and nothing else."""
    compactor = llm(("they talked", COST))
    done = run_compactor(compactor, context([SYSTEM, *HISTORY]))
    assert done.messages == [SYSTEM, user(f"{SUMMARY_HEAD}\nthey talked"), *HISTORY[6:]]
    assert done.usage == Usage(30, 4)
    (request,) = compactor.summarizer.asked
    assert isinstance(request, SummaryRequest)
    assert "question 2" in request.text
    assert "question 3" not in request.text
    assert "be kind" not in request.text
    assert "question 0" in summary_messages(request)[1]["content"]


@pytest.mark.parametrize(
    ("more", "acts"),
    [
        ({"last_usage": Usage(999)}, False),
        ({"last_usage": Usage(1000)}, True),
        ({"last_usage": {"prompt_tokens": 1001}}, True),
        ({"last_usage": SimpleNamespace(input_tokens=1001)}, True),
        ({"last_usage": Usage(0, 9000)}, False),
        ({"last_usage": None}, False),
        ({"iteration": 0}, False),
        ({"iteration": 1}, True),
        ({"messages": talk(1)}, False),
        ({"messages": [SYSTEM, *talk(1)]}, False),
        ({"messages": [said("hello"), *talk(1)]}, False),
        ({"messages": talk(2)}, True),
    ],
)
def test_when_it_acts(more, acts):
    """By what the last call has read, not before the first call, not without an older turn."""
    compactor = llm()
    plan = compactor(context(**more))
    assert (plan is not None) is acts
    assert len(compactor.summarizer.asked) == acts


def test_a_summary_row_alone_is_no_older_turn():
    """It would be summarised again at every call."""
    compactor = llm()
    rows = run_compactor(compactor, context()).messages
    assert compactor(context(rows)) is None
    grown = [*rows, said(), user("more")]
    again = run_compactor(compactor, context(grown)).messages
    assert sum(str(row["content"]).startswith(SUMMARY_HEAD) for row in again) == 1
    assert "they talked" in compactor.summarizer.asked[-1].text


@pytest.mark.parametrize("answer", ["", " \n", None, ("", COST), (None, COST), (Reply(""), COST)])
def test_an_empty_summary_leaves_the_history_as_it_is(answer):
    """But its usage is recorded."""
    heard = []
    done = run_compactor(llm(answer), context(record_usage=heard.append))
    assert not done.changed
    assert done.messages == HISTORY
    assert heard == ([COST] if isinstance(answer, tuple) else [])


FAILURES = {
    "exception": RuntimeError("secret words"),
    "timeout": TimeoutError(),
    "no text": {"summary": "x"},
    "cut off": Reply("they tal", "length"),
    "refused": Reply("x", refusal="no"),
    "thoughts": Reply("<think>hm</think>"),
    "an error": Reply("Error 500: internal server error"),
    "not smaller": "word " * 5000,
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
def test_a_failure_is_extracted_from_or_raised_as_the_caller_chose(answer, caplog):
    """The extract is smaller than its source and says that it is one; the log tells no secret."""
    raised = type(answer) if isinstance(answer, Exception) else NoSummary
    with pytest.raises(raised):
        run_compactor(llm(answer, on_failure="raise"), context())
    with caplog.at_level(logging.WARNING):
        done = run_compactor(llm(answer), context())
    assert done.plan.degraded
    assert "question" in done.plan.summary
    assert count_messages(done.messages) < count_messages(HISTORY)
    assert not refused(done.messages)
    assert "extracted in place of a summary" in caplog.text
    assert "secret words" not in caplog.text


@pytest.mark.parametrize("on_failure", ["raise", "extract"])
def test_what_a_failure_has_used_is_counted_once(on_failure):
    """Carried by the plan, or recorded before the exception."""
    heard = []
    compactor = llm((Reply("cut", "length"), COST), on_failure=on_failure)
    if on_failure == "raise":
        with pytest.raises(NoSummary, match="cut off"):
            run_compactor(compactor, context(record_usage=heard.append))
    else:
        assert run_compactor(compactor, context(record_usage=heard.append)).usage == Usage(30, 4)
    assert heard == [COST]


def test_an_interrupt_is_no_failure():
    """What is no Exception passes through."""
    with pytest.raises(KeyboardInterrupt):
        llm(KeyboardInterrupt())(context())


def test_an_invalid_history_is_refused_before_the_summariser_is_asked():
    """With the reason."""
    compactor = llm()
    rows = [*HISTORY, called("a"), user()]
    with pytest.raises(ValueError, match="call without all results"):
        compactor(context(rows))
    with pytest.raises(ValueError, match="system row"):
        compactor(context([*HISTORY, SYSTEM, user()]))
    assert compactor.summarizer.asked == []


def test_a_reply_in_the_form_of_the_prompt_is_read():
    """The JSON that summary_messages asks for."""
    reply = Reply(json.dumps({"topic": "t", "levels": {"1000": "they talked"}}), "stop")
    assert llm(reply)(context()).summary == "they talked"


def test_a_long_summary_is_cut_at_a_sentence():
    """At summary_tokens."""
    compactor = llm("They talked a lot. " * 30, summary_tokens=20)
    plan = compactor(context())
    assert count_text(plan.summary) <= 20
    assert plan.summary.endswith("lot.")
    assert compactor.summarizer.asked[0].max_tokens == 20


def test_secrets_go_neither_to_the_summariser_nor_into_the_summary():
    """Whatever context it is."""
    key = "sk-" + "proj4" * 9
    rows = [user(f"my key is {key}"), *HISTORY]
    compactor = llm(f"They use {key}.")
    assert key not in compactor(context(rows)).summary
    assert key not in compactor.summarizer.asked[0].text


@pytest.mark.parametrize(
    "wrong",
    [
        {"keep_turns": 0},
        {"keep_turns": True},
        {"threshold_tokens": -1},
        {"threshold_tokens": None},
        {"summary_tokens": 0},
        {"on_failure": "ignore"},
    ],
)
def test_settings_that_are_none(wrong):
    """Said when it is made, not in the middle of a run."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        llm(**wrong)
    with pytest.raises(TypeError, match="a summariser is a callable, not NoneType"):
        LlmCompactor(None, 1000)


class AsyncSummarizer(Summarizer):
    """An object whose call is asynchronous."""

    async def __call__(self, request):
        await asyncio.sleep(0)
        return super().__call__(request)


async def _async_summarizer(request):
    return "they talked"


def _gives_a_coroutine(request):
    return _async_summarizer(request)


@pytest.mark.parametrize("summarizer", [_async_summarizer, AsyncSummarizer(), _gives_a_coroutine])
def test_an_asynchronous_summariser(summarizer):
    """Makes the compactor asynchronous."""
    compactor = LlmCompactor(summarizer, 1000, 2)
    done = asyncio.run(run_compactor_async(compactor, context()))
    assert done.plan == CompactionPlan(6, "they talked")
    quiet = context(last_usage=None)
    assert asyncio.run(run_compactor_async(compactor, quiet)).changed is False


@pytest.mark.parametrize("kind", [Summarizer, AsyncSummarizer])
def test_acall_is_asynchronous_with_any_summariser(kind):
    """For loops that always await; failures are the caller's choice there too."""
    assert asyncio.run(LlmCompactor(kind(), 1000, 2).acall(context())).summary == "they talked"
    assert asyncio.run(LlmCompactor(kind(), 1000, 2).acall(context(iteration=0))) is None
    broken = kind(ValueError("no"))
    assert asyncio.run(LlmCompactor(broken, 1000, 2).acall(context())).degraded
    with pytest.raises(ValueError, match="no"):
        asyncio.run(LlmCompactor(broken, 1000, 2, on_failure="raise").acall(context()))


def test_a_cancelled_call_is_no_failure():
    """It is cancelled."""

    async def forever(request):
        await asyncio.sleep(60)

    async def cancelled():
        task = asyncio.ensure_future(LlmCompactor(forever, 1000, 2).acall(context()))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_the_context_of_another_loop():
    """Any object with the attributes of the protocol; its own split makes the plan."""
    heard = []
    split = SimpleNamespace(keep_from=6, older=HISTORY[:6], plan=lambda text, usage: (text, usage))
    foreign = SimpleNamespace(
        messages=HISTORY,
        iteration=2,
        run_id="r",
        model="m",
        last_usage=SimpleNamespace(input_tokens=2000),
        record_usage=heard.append,
        split_at_user_turn=lambda keep_turns: split,
        render=lambda rows: f"{len(rows)} of their rows",
    )
    compactor = llm(("they talked", COST))
    assert compactor(foreign) == ("they talked", COST)
    assert compactor.summarizer.asked[0].text == "6 of their rows"
    assert llm(("", COST))(foreign) is None
    assert heard == [COST]


def test_alternation_where_it_is_asked_for():
    """alternate=True reaches the plan."""
    done = run_compactor(llm(alternate=True), context())
    assert [row["role"] for row in done.messages[:3]] == ["user", "assistant", "user"]


@given(
    histories(st.sampled_from(["word " * 120, "Decide on port 8080. " * 40]), min_turns=2),
    st.sampled_from(["they talked", "word " * 9000, RuntimeError("x"), ""]),
    st.integers(1, 3),
)
def test_what_it_makes_is_valid_and_smaller_or_the_history(rows, answer, keep_turns):
    """For any history and any summariser."""
    done = run_compactor(llm(answer, keep_turns=keep_turns), context(rows))
    if not done.changed:
        assert done.messages == rows
        return
    assert not refused(done.messages)
    assert count_messages(done.messages) < count_messages(rows)
    assert done.messages[-1] is rows[-1]
