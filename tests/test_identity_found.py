"""More faults that the property test (test_stateful.py) has found, each by itself; see test_identity.py."""

from __future__ import annotations

import pytest
from lcm.dag.ingest import IngestReport, Ledger
from lcm.storage import open_store
from ledgers import again, said, stored, user


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    kept = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield kept
    kept.close()


@pytest.fixture
def ledger(store):
    return Ledger(store, store.open_session("s"))


# the same said again


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_an_answer_that_was_taken_back_is_said_again_in_the_place_of_another(ledger, warm):
    """An undo that was seen, then one that was not, and a retry that says what was said before the first."""
    rows = [user("one"), said("an answer"), user("another question"), said("Done.")]
    ledger.ingest(rows)
    assert 2 == ledger.ingest(rows[:2]).withdrawn
    report = (ledger if warm else again(ledger)).ingest([rows[0], said("Done.")])
    assert (1, 1) == (report.new, report.withdrawn)
    assert [rows[0], said("Done.")] == stored(ledger)


def test_an_answer_that_comes_back_with_its_question_is_the_same(ledger):
    """The undo is undone, in a list that leaves out the calls of the turn before."""
    rows = [*long_turn(2), said("an answer"), user("another question"), said("Done.")]
    ledger.ingest(rows)
    assert 2 == again(ledger).ingest(rows[:-2]).withdrawn
    assert (0, 0) == ((report := again(ledger).ingest([rows[0], *rows[5:]])).new, report.withdrawn)
    assert rows == stored(ledger)


# behind a long gap of a filtered list


def long_turn(steps):
    """A question, calls and results."""
    rows = [user("a question that takes many steps")]
    for n in range(steps):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        rows.append(said("", tool_calls=[call]))
        rows.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"result {n} " * 9})
    return rows


ANSWER = "an answer that is long enough to be known by its words"
KEY = "the key is {} and it opens the harbour gate"


@pytest.mark.parametrize("steps", [4, 40, 120])
@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        (["one answer", "and another"], "one answer\nand another"),
        ([KEY.format("sk-ABCDEF0123456789")], KEY.format("***")),
        ([ANSWER], f"[note]\n\n{ANSWER}"),
    ],
    ids=["folded", "masked", "decorated"],
)
def test_a_changed_row_is_known_behind_a_turn_that_a_list_leaves_out(ledger, steps, answers, shown):
    """A throw-away agent gets the list without calls and results: however many, what stands behind them is known."""
    rows = [*long_turn(steps), *map(said, answers)]
    ledger.ingest(rows)
    ledger.ingest([*rows[: -len(answers)], said(shown)])
    whole = stored(ledger)
    report = again(ledger).ingest([rows[0], said(shown)])
    assert (0, 0) == (report.new, report.withdrawn)
    assert whole == stored(ledger)


def test_another_answer_behind_such_a_turn_is_new(ledger):
    """That begins with the words of a call's row, and one that has a word of them: no version of either."""
    rows = [*long_turn(40), said("Done."), said("an answer")]
    rows[61] = {**rows[61], "content": "Done."}
    ledger.ingest(rows)
    report = again(ledger).ingest([rows[0], said("Done. And more of it, in words of its own.")])
    assert (1, 82) == (report.new, report.withdrawn)


def test_results_of_another_turn_under_the_same_ids_are_new(ledger):
    """The turn before was taken back unseen, and hosts count their calls anew: nothing of it is shown."""
    ledger.ingest(long_turn(20))
    rows = [user("another question, asked in its place"), *long_turn(12)[1:]]
    rows = [*rows[:1], *({**row, "content": f"other {n} " * 9} for n, row in enumerate(rows[1:]))]
    assert (25, 41) == ((report := again(ledger).ingest(rows)).new, report.withdrawn)
    assert rows == stored(ledger)


def test_a_list_that_repeats_itself_is_known(ledger):
    """Nothing in it is tried so often that it would take long."""
    rows = [*long_turn(300), said("an answer, in words enough to be known by")]
    ledger.ingest(rows)
    assert IngestReport(known=602) == again(ledger).ingest([dict(row) for row in rows])
