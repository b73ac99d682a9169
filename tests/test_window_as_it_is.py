"""What fits is not always what is said: a provider refuses, a host lowers the threshold, rows change their size."""

from __future__ import annotations

import pytest
from lcm import LCMEngine
from lcm.dag.budget import budget_for
from lcm.dag.settings import Settings
from lcm.host.hooks import Family
from steps import BESIDE, step, text

WINDOW = 200_000


@pytest.fixture
def make(tmp_path):
    """Engines on a database each."""
    made = []

    def one(window=WINDOW):
        path = tmp_path / f"{len(made)}.db"
        engine = LCMEngine(window, db_path=path, summarizer=lambda _: "What was said of it. " * 6)
        engine.on_session_start("s")
        made.append(engine)
        return engine

    yield one
    for engine in made:
        engine.close()


def person(said):
    return {"role": "user", "content": said}


def talk(turns, tokens=1500):
    answers = ({"role": "assistant", "content": text(-n - 1, tokens)} for n in range(turns))
    return [row for n, answer in enumerate(answers) for row in (person(f"question {n}"), answer)]


# a provider that refuses


@pytest.mark.parametrize("told", ["by the newer host", "by the older host"])
def test_what_a_provider_refused_is_compacted_below_the_threshold(make, told):
    """To less than it was, as if it had filled the window; the next call is a usual one again."""
    engine, rows = make(), talk(20)
    size = engine.count_tokens(rows)
    assert size < engine.threshold_tokens // 2
    family, more = Family(), {}
    if told == "by the newer host":
        more = {"bypass_cooldown": True}
    else:
        family.join(engine)
        family.api_request_error(session_id="s", reason="context_overflow", status_code=400)
    out = engine.compress(rows, size, **more)
    assert engine.count_tokens(out) < 0.7 * size
    assert out is engine.compress(out, engine.count_tokens(out))
    assert 1 == engine.compression_count


@pytest.mark.parametrize(
    "told",
    [
        {"session_id": "s", "reason": "rate_limit"},
        {"session_id": "another", "reason": "context_overflow"},
        {"reason": "context_overflow"},
        {},
    ],
)
def test_another_failure_is_no_reason_to_compact(make, told):
    """A provider that is busy, a request of another session: the list stays as it is."""
    engine, rows, family = make(), talk(20), Family()
    family.join(engine)
    family.api_request_error(**told)
    assert rows is engine.compress(rows, engine.count_tokens(rows))


def test_a_refusal_that_an_answer_followed_is_over(make):
    """The host took pictures out, or another model: what was refused was sent after all."""
    engine, rows, family = make(), talk(20), Family()
    family.join(engine)
    family.api_request_error(session_id="s", reason="payload_too_large")
    engine.update_from_response({"prompt_tokens": 30_000})
    assert rows is engine.compress(rows, engine.count_tokens(rows))


@pytest.mark.parametrize(
    "leave", [lambda each: each.on_session_start("t"), lambda each: each.update_model("m", 400_000)]
)
def test_a_refusal_is_one_of_its_session_and_its_window(make, leave):
    """Another session, or a model that takes more: nothing was refused there."""
    engine, rows, family = make(), talk(20), Family()
    family.join(engine)
    family.api_request_error(session_id="s", reason="context_overflow")
    leave(engine)
    assert rows is engine.compress(rows, engine.count_tokens(rows))


def test_a_hook_finds_the_newest_engine_of_a_session(make):
    """An agent was made anew, and the engine of the one before is not gone yet: both are told of the refusal."""
    old, new, family, rows = make(), make(), Family(), talk(20)
    family.join(old)
    family.join(new)
    assert family.of("s") is new
    family.api_request_error(session_id="s", reason="context_overflow")
    assert rows is not new.compress(rows, new.count_tokens(rows))


# a host that lowers the threshold


def test_the_target_is_as_far_below_a_lowered_threshold():
    """200,000 tokens of window, of which 64,000 are to be used: the target is that of a window with this threshold."""
    lowered = budget_for(Settings(), window=WINDOW, threshold_tokens=64_000, overhead=0)
    own = budget_for(Settings(), window=85_334, threshold_tokens=64_000, overhead=0)
    assert (lowered.limit, lowered.target) == (own.limit, own.target)
    raised = budget_for(Settings(), window=WINDOW, threshold_tokens=190_000, overhead=0)
    assert raised.target == int(Settings().target * WINDOW)


def worked(engine, steps):
    """An agent's work in one turn: (how often the list was compacted, how often results were shown in part)."""
    rows, passes, prunes = [person("find the fault in the relay")], 0, 0
    for number in range(steps):
        rows += step(number, 2000)
        used = engine.count_tokens(rows) + BESIDE
        if engine.should_compress(used):
            out = engine.compress(list(rows), used)
            passes += out is not rows
        else:
            out, count = engine.prune_tool_results_only(list(rows), used)
            prunes += bool(count)
        rows = list(out)
        engine.update_from_response({"prompt_tokens": engine.count_tokens(rows) + BESIDE})
    return passes, prunes


def test_a_lowered_threshold_is_reached_as_seldom_as_one_of_a_smaller_window(make):
    """Where the summariser's window lowered it, each step was followed by a compaction, and nothing was pruned."""
    engine = make()
    engine.threshold_tokens, engine.threshold_percent = 64_000, 64_000 / WINDOW
    lowered = worked(engine, 80)
    own = worked(make(85_334), 80)
    assert lowered[0] <= own[0] + 1
    assert lowered[1] >= 1


# rows that change their size


def test_after_pruning_the_list_is_as_small_as_it_is(make):
    """Its rows are as many as before, and the last is the same: it was taken for as large as before."""
    engine = make(65_536)
    rows = [person("read on")]
    number = 0
    while True:
        rows += step(number, 1800)
        number += 1
        used = engine.count_tokens(rows) + BESIDE
        assert used < engine.threshold_tokens
        assert not engine.should_compress_preflight(rows)
        out, count = engine.prune_tool_results_only(list(rows), used)
        if count:
            break
    long = text(-1, engine.threshold_tokens - engine.count_tokens(rows) + 1500)
    out.append(
        {"role": "assistant", "content": long}
    )  # over the threshold, had nothing been pruned
    assert engine.count_tokens(out) < engine.threshold_tokens
    assert engine.count_tokens([*rows, out[-1]]) >= engine.threshold_tokens
    assert not engine.should_compress_preflight(out)


def test_after_a_pass_that_shows_results_in_part_the_request_is_as_small_as_it_is(make):
    """No second pass is asked for by what the list was before the first."""
    engine, system = make(), {"role": "system", "content": "be good"}
    rows = [person("please look through the logs")]
    for number in range(30):
        rows += step(number, 4200)
    rows += step(98, 20)  # too little to be shown in part: the last row that was counted stays
    assert engine.select_context([system, *rows], conversation_messages=list(rows)) is None
    real = engine.count_tokens(rows) + BESIDE
    engine.update_from_response({"prompt_tokens": real})
    rows += step(99, 54_000)
    now = engine.count_tokens(rows) + BESIDE
    assert engine.should_compress(now)
    out = engine.compress(rows, now)
    assert len(out) == len(rows)
    assert engine.select_context([system, *out], conversation_messages=list(out)) is None
    assert not engine.should_compress(engine.count_tokens(out) + BESIDE)
