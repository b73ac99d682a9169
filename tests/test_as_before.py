"""A long list that goes on after a restart: what is as before is bound at once, and as all the passes would bind it."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcm.dag import matching
from lcm.dag.ingest import IngestReport, Ledger
from lcm.storage.memory import MemoryStore
from ledgers import said, user

#: Rows at the seam that both ways look at; fewer than as shipped, so that short lists tell.
SEAM = 12
WORDS = ("ok", "done", "go on", "yes", *(f"something of its own, number {n}" for n in range(400)))


def rows_of(words):
    return [(user if n % 2 == 0 else said)(WORDS[word]) for n, word in enumerate(words)]


def bound(first, second, seam, monkeypatch):
    """What a new ledger makes of *second* where *first* is stored."""
    monkeypatch.setattr(matching, "_SEAM", seam)
    store = MemoryStore()
    ledger = Ledger(store, store.open_session("s"))
    ledger.ingest(copy.deepcopy(first))
    again = Ledger(store, store.open_session("s"))
    report, binding = again.bind(copy.deepcopy(second))
    entries = [(e.id, e.turn, e.withdrawn, e.version) for e in store.entries(1)]
    return report, binding.bound, binding.ends, entries


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sampled_from(range(len(WORDS))), min_size=30, max_size=70),
    st.integers(min_value=0, max_value=12),
    st.lists(st.sampled_from(range(len(WORDS))), max_size=12),
    st.lists(st.tuples(st.integers(0, 69), st.sampled_from(["drop", "edit", "space"])), max_size=2),
)
def test_it_is_bound_as_all_the_passes_would(words, less, more, changes):
    first = rows_of(words)
    second = first[: len(first) - less]
    for at, what in changes:
        if at < len(second):
            content = second[at]["content"]
            if what == "drop":
                second = [*second[:at], *second[at + 1 :]]
            else:
                changed = f"{content} and more" if what == "edit" else content.replace(" ", "  ")
                second = [*second[:at], {**second[at], "content": changed}, *second[at + 1 :]]
    second = [*second, *rows_of(more)]
    with pytest.MonkeyPatch.context() as patch:
        assert bound(first, second, SEAM, patch) == bound(first, second, 10**9, patch)


@pytest.mark.parametrize("rows", [2000, 129, 128])
def test_a_list_goes_on_after_a_restart(rows):
    """Nothing is stored again, the new turn is, and each row stands for its message."""
    first = rows_of([n % len(WORDS) for n in range(rows)])
    store = MemoryStore()
    Ledger(store, store.open_session("s")).ingest(copy.deepcopy(first))
    again = Ledger(store, store.open_session("s"))
    report, binding = again.bind([*copy.deepcopy(first), user("and now?"), said("this")])
    assert report == IngestReport(new=2, known=rows)
    assert [each.messages for each in binding.bound] == [(n,) for n in range(1, rows + 3)]
    assert {each.version for each in binding.bound} == {1}
    assert binding.ends == [entry.seq for entry in store.entries(1)]
    assert store.entries(1)[-1].turn == rows // 2 + 1 + rows % 2


@pytest.mark.parametrize("results", [150, 400])
def test_results_in_another_order_are_known_behind_the_seam(results):
    """They belong to the row of their calls, so the seam stands in front of that."""
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": str(n)}}
        for n in range(results)
    ]
    first = [
        *rows_of([4 + n for n in range(140)]),
        user("do all of it"),
        {"role": "assistant", "content": "", "tool_calls": calls},
        *(
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"result {n}"}
            for n in range(results)
        ),
    ]
    second = [*first[:-10], *reversed(first[-10:]), said("done")]
    store = MemoryStore()
    Ledger(store, store.open_session("s")).ingest(copy.deepcopy(first))
    report = Ledger(store, store.open_session("s")).ingest(copy.deepcopy(second))
    assert report == IngestReport(new=1, known=len(first))
