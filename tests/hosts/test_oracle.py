"""The oracle of the scenes finds what it is there to find; no host is needed to know that."""

from __future__ import annotations

import copy

import pytest
from hostkit.oracle import Account

ROWS = [
    {"role": "user", "content": "u0001: Is the gauge read?"},
    {"role": "assistant", "content": "a0001: It is, since this morning."},
    {"role": "user", "content": "u0002: And the lamp?"},
]
KEPT = {
    "messages": [
        {"uid": f"{n:032x}", "turn": 1, "withdrawn": False, "versions": [row]}
        for n, row in enumerate(ROWS)
    ],
    "nodes": {"f" * 32: [f"{0:032x}", f"{1:032x}"]},
    "own": ["f" * 32],
    "problems": [],
}
SUMMARY = {"role": "user", "content": f"Earlier conversation, compacted. Gist.\n\n[lcm {'f' * 8}]"}


def account(kept=KEPT, rows=ROWS):
    """The books of one session whose only list is *rows*."""
    shown = [{"door": "compress", "session": "s", "list": list(range(len(rows)))}]
    return Account({"rows": rows, "lists": shown, "passes": []}, kept, ["s"])


def lose(kept):
    del kept["messages"][1]


def double(kept):
    kept["messages"].append({**kept["messages"][1], "uid": "d" * 32})


def cut(kept):
    kept["messages"][1]["versions"] = [{"role": "assistant", "content": "a0001: It is"}]


def swap(kept):
    kept["messages"].reverse()


def withdraw(kept):
    kept["messages"][2]["withdrawn"] = True


def tear(kept):
    kept["nodes"]["f" * 32].append("e" * 32)


def test_all_is_well_where_all_is_well():
    """A list, and one whose beginning is a summary row."""
    assert account().faults() == []
    assert account(rows=[SUMMARY, ROWS[2]]).faults() == []


@pytest.mark.parametrize("fault", [lose, double, cut, swap, withdraw, tear])
def test_each_fault_is_found(fault):
    """A message that is missing, there twice, not whole, misplaced, taken out; a node that does not open."""
    kept = copy.deepcopy(KEPT)
    fault(kept)
    assert account(kept).faults()


def test_a_copy_that_breaks_off_is_in_no_other_order():
    """The newer host puts a tail behind a list that has it; shown without its end it is that tail all the same."""
    tail = [*ROWS[1:], {"role": "assistant", "content": "a0002: It burns."}]
    more = {"uid": f"{3:032x}", "turn": 2, "withdrawn": False, "versions": [tail[2]]}
    kept = {**KEPT, "messages": [*KEPT["messages"], more]}
    for shown in (tail * 2, tail + tail[:2], tail * 3 + tail[:2]):
        assert account(kept, [ROWS[0], *shown]).faults() == []
    swapped = {**kept, "messages": [*kept["messages"][:2], *kept["messages"][:1:-1]]}
    assert account(swapped, [ROWS[0], *tail, *tail[:2]]).faults()
    assert account(kept, [ROWS[0], *tail, *tail[1::-1]]).faults()


def test_an_old_copy_behind_an_old_summary_row_is_in_no_other_order():
    """The newer host puts it behind a branch that it compacts in place; in another order it is a fault."""
    more = {"role": "assistant", "content": "a0002: It burns."}
    stored = {"uid": f"{3:032x}", "turn": 2, "withdrawn": False, "versions": [more]}
    kept = {**KEPT, "messages": [*KEPT["messages"], stored]}
    assert account(kept, [SUMMARY, *ROWS[1:], SUMMARY, *ROWS[:2], more]).faults() == []
    assert account(kept, [SUMMARY, *ROWS[1:], SUMMARY, *ROWS[1::-1], more]).faults()
    assert account(kept, [SUMMARY, *ROWS[1:], *ROWS[:2], more]).faults()


def test_what_is_active_and_in_no_list_is_found():
    """An undo that the store has missed."""
    assert account(rows=ROWS[:2]).faults() == ["u0002: active, but not in the last list"]
    assert account(rows=[SUMMARY]).miscounted([SUMMARY]) == {"u0002: And the lamp?": 1}
