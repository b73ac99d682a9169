"""Compactors for a loop that is not Hermes: asked, judged, carried out; and the page that shows it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from histories import called, result, said, talk, user
from lcm import (
    CompactionContext,
    CompactionPlan,
    Usage,
    run_compactor,
    run_compactor_async,
)
from lcm.dag.plan import SUMMARY_HEAD

ROOT = Path(__file__).resolve().parent.parent
SYSTEM = {"role": "system", "content": "be kind"}
HISTORY = talk(4, "word " * 100)
OVER = Usage(5000, 10)
COST = {"input_tokens": 30, "output_tokens": 4}


def context(messages=HISTORY, **more):
    """A context over the threshold, in the middle of a run."""
    return CompactionContext(messages, **{"iteration": 3, "last_usage": OVER, **more})


def test_none_leaves_the_history_as_it_is():
    """In a list of its own."""
    done = run_compactor(lambda _: None, context())
    assert (done.messages, done.changed, done.usage, done.plan) == (HISTORY, False, Usage(), None)
    assert done.messages is not HISTORY


def test_a_plan_is_carried_out_and_its_usage_counted():
    """A compactor of one's own, with what the context offers; usage is heard of once."""
    heard = []

    def compactor(shown):
        split = shown.split_at_user_turn(keep_turns=1)
        shown.record_usage(Usage(1, 1))
        return split.plan(shown.render(split.older)[:20], COST)

    done = run_compactor(compactor, context(record_usage=heard.append))
    assert done.changed
    assert done.plan.keep_from == 8
    assert done.messages == [
        user(f"{SUMMARY_HEAD}\n{done.plan.summary}"),
        HISTORY[-1],
    ]
    assert heard == [Usage(1, 1), COST]
    assert done.usage == Usage(31, 5)


def test_a_full_list_is_taken_over():
    """Equal to the history it is no change; system rows in front come back if it left them out."""
    rows = [SYSTEM, *HISTORY]
    done = run_compactor(lambda shown: shown.messages[-1:], context(rows))
    assert done.messages == [SYSTEM, HISTORY[-1]]
    assert run_compactor(lambda shown: tuple(shown.messages), context(rows)).changed is False


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "empty"),
        ([user(), result("a")], "message 1 is a tool result without its call"),
        ([user(), called("a"), user()], "message 1 has a call without all results"),
        ([user(), said()], "the last message is of the role 'assistant'"),
        ([user(), SYSTEM], "role 'system'"),
        ([{"role": "system", "content": "obey"}, user()], "system row"),
        ([SYSTEM, SYSTEM, {"role": "developer", "content": "obey"}, user()], "system row"),
        ([user(), None], "no mapping"),
    ],
)
@pytest.mark.parametrize("history", [HISTORY, [SYSTEM, *HISTORY]])
def test_a_full_list_that_no_model_takes(rows, reason, history):
    """The same faults as of a plan, and what a plan cannot do wrong."""
    if reason == "system row" and rows[0] == SYSTEM and history[0] == SYSTEM:
        reason = "message 2 is a system row that the history does not have"
    with pytest.raises(ValueError, match=reason):
        run_compactor(lambda _: rows, context(history))


def test_a_list_may_end_as_the_history_did():
    """With an answer, if there was one."""
    rows = HISTORY[:-1]
    assert run_compactor(lambda _: rows[-2:], context(rows)).messages == rows[-2:]


def test_a_history_keeps_its_own_system_rows():
    """Wherever they stood; the first ones cannot be left out while others stay."""
    rows = [SYSTEM, user(), said(), {"role": "system", "content": "note"}, user()]
    kept = [SYSTEM, rows[3], user()]
    assert run_compactor(lambda _: kept, context(rows)).messages == kept
    with pytest.raises(ValueError, match="does not begin with the system rows"):
        run_compactor(lambda _: kept[1:], context(rows))


@pytest.mark.parametrize("answer", ["text", 3, {"role": "user"}, object(), iter(())])
def test_an_answer_of_another_kind(answer):
    """Named by its type."""
    with pytest.raises(TypeError, match=f"not {type(answer).__name__}"):
        run_compactor(lambda _: answer, context())


def test_a_plan_of_another_library():
    """Known by its fields, and judged like ours."""
    plan = SimpleNamespace(keep_from=8, summary="theirs", usage=COST)
    done = run_compactor(lambda _: plan, context())
    assert done.messages[0]["content"] == f"{SUMMARY_HEAD}\ntheirs"
    assert done.usage == Usage(30, 4)
    with pytest.raises(ValueError, match="not at a user message"):
        run_compactor(lambda _: SimpleNamespace(keep_from=1, summary=None), context())


def test_what_a_refused_plan_has_used_is_counted():
    """It was spent."""
    heard = []
    with pytest.raises(ValueError, match="outside"):
        run_compactor(lambda _: CompactionPlan(99, "s", COST), context(record_usage=heard.append))
    assert heard == [COST]


def test_asynchronous_compactors():
    """Awaited by one runner, refused with the reason by the other, which leaves no coroutine behind."""

    async def compactor(shown):
        await asyncio.sleep(0)
        return shown.split_at_user_turn(1).plan("async")

    done = asyncio.run(run_compactor_async(compactor, context()))
    assert done.plan == CompactionPlan(8, "async")
    assert asyncio.run(run_compactor_async(lambda _: None, context())).changed is False
    with pytest.raises(TypeError, match="await run_compactor_async"):
        run_compactor(compactor, context())


def test_what_a_compactor_does_to_its_list_changes_nothing():
    """Nor what a loop does meanwhile."""
    rows = list(HISTORY)

    def compactor(shown):
        shown.messages.clear()
        rows.append(said("late"))
        return CompactionPlan(8, "s")

    done = run_compactor(compactor, context(rows))
    assert done.messages[1:] == [HISTORY[-1]]
    assert rows[:-1] == HISTORY


def test_a_context_renders_messages_as_text_and_a_plan_as_messages():
    """Both kinds of what one calls rendering."""
    shown = context(tuple(HISTORY))
    assert shown.messages == HISTORY
    assert shown.render(HISTORY[:1]).startswith("user: question 0")
    assert shown.render(CompactionPlan(8)) == HISTORY[8:]
    with pytest.raises(ValueError, match="outside"):
        shown.render(CompactionPlan(9))


def test_a_context_of_no_messages():
    """Nothing can be compacted, and no model asked."""
    with pytest.raises(ValueError, match="empty"):
        CompactionContext([])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, Usage()),
        (Usage(3, 4), Usage(3, 4)),
        (COST, Usage(30, 4)),
        ({"prompt_tokens": 5, "completion_tokens": 6, "cache_read_input_tokens": 3}, Usage(5, 6)),
        (SimpleNamespace(input_tokens=7, output_tokens=8), Usage(7, 8)),
        (SimpleNamespace(prompt_tokens=7, completion_tokens=None), Usage(7, 0)),
        ({"input_tokens": 5, "cache_read_input_tokens": 900, "output_tokens": 1}, Usage(905, 1)),
        ({"input_tokens": "many", "output_tokens": True}, Usage()),
    ],
)
def test_usage_in_any_form(value, expected):
    """Ours, a mapping, an object; names of either kind."""
    assert Usage.of(value) == expected
    assert Usage.of(value).total_tokens == expected.input_tokens + expected.output_tokens


_RUN = """
import importlib.util, sys
class Hermes:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("agent", "hermes_cli", "hermes_constants", "plugins"):
            raise ImportError(name)
sys.meta_path.insert(0, Hermes())
root, code = sys.argv[1:]
spec = importlib.util.spec_from_file_location(
    "hermes_lcm_engine", f"{root}/__init__.py", submodule_search_locations=[root]
)
package = importlib.util.module_from_spec(spec)
sys.modules["hermes_lcm_engine"] = package
spec.loader.exec_module(package)
exec(code, {})
"""


def test_the_program_in_the_documentation_prints_what_is_written_there(tmp_path):
    """docs/other-loops.md, run as one, without Hermes."""
    page = (ROOT / "docs" / "other-loops.md").read_text("utf-8")
    code, printed = (
        "".join(re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)) for kind in ("python", "text")
    )
    command = [sys.executable, "-W", "error", "-c", _RUN, str(ROOT), code]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert run.stdout == printed, run.stderr
    assert run.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_all_names_that_the_package_offers_are_there():
    """Lazily: nothing is imported before someone asks."""
    code = (
        f"{_RUN.replace('exec(code, {})', '')}\nassert not [m for m in sys.modules if '.dag' in m]\n"
        "assert all(getattr(package, name) for name in package.__all__)\n"
    )
    command = [sys.executable, "-c", code, str(ROOT), ""]
    subprocess.run(command, check=True, capture_output=True)
