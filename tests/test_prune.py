"""Between two passes an engine shows old tool results in part, where that is worth it, and loses nothing."""

from __future__ import annotations

import copy
import json
from itertools import pairwise

import pytest
from lcm import LCMEngine
from lcm.dag.tokens import count_messages
from lcm.dag.validity import new_faults

WINDOW = 32_000


@pytest.fixture
def engine(tmp_path):
    engine = LCMEngine(WINDOW, db_path=tmp_path / "lcm.db", summarizer=lambda _: "A summary.")
    engine.on_session_start("s")
    yield engine
    engine.close()


def steps(count, size, path=lambda n: f"f{n}"):
    """A user, and so many calls with results of *size* characters."""
    rows = [{"role": "user", "content": "look through all of it"}]
    for n in range(count):
        function = {"name": "read", "arguments": json.dumps({"path": path(n)})}
        calls = [{"id": f"c{n}", "type": "function", "function": function}]
        rows.append({"role": "assistant", "content": "", "tool_calls": calls})
        text = f"line {n} " + "what stands there " * (size // 18)
        rows.append(
            {"role": "tool", "tool_call_id": f"c{n}", "content": text, "_db_persisted": True}
        )
    return rows


def expanded(engine, uid):
    """What ``lcm_expand`` gives back under *uid*, page by page."""
    text, cursor = "", None
    while True:
        asked = {"uid": uid, "detail": "raw"} | ({"cursor": cursor} if cursor else {})
        page = json.loads(engine.handle_tool_call("lcm_expand", asked))
        text += "".join(each["content"] for each in page["messages"])
        if not (cursor := page["cursor"]):
            return text


def test_old_results_are_shown_in_part_and_come_back_whole(engine):
    """Above soft_threshold, with the uid of each; the last ones stay, and so do the host's notes on the rows."""
    rows = steps(20, 4400)
    given = copy.deepcopy(rows)
    used = count_messages(rows)
    assert 0.6 * WINDOW < used < engine.threshold_tokens
    pruned, count = engine.prune_tool_results_only(rows, used)
    assert rows == given
    assert count >= 5
    assert pruned[-1] == rows[-1]
    assert not new_faults(rows, pruned)
    assert count_messages(pruned) < used - 5 * 900
    changed = [n for n, row in enumerate(rows) if pruned[n] != row]
    assert len(changed) == count
    for n in changed:
        assert pruned[n] == rows[n] | {"content": pruned[n]["content"]}
        uid = pruned[n]["content"].partition("[lcm ")[2][:8]
        assert expanded(engine, uid) == rows[n]["content"]


def test_the_list_with_stubs_is_the_same_conversation(engine):
    """It comes back as what it was: nothing new, nothing revised, nothing withdrawn; verbatim in a later node too."""
    rows = steps(20, 4400)
    pruned, count = engine.prune_tool_results_only(rows, count_messages(rows))
    assert count
    pruned.append({"role": "assistant", "content": "That is all."})
    report = engine.ingest(pruned)
    assert (report.new, report.revised, report.withdrawn) == (1, 0, 0)
    pruned += [{"role": "user", "content": "thanks, go on " * 900}]
    pruned += [{"role": "assistant", "content": "yes " * 9000}, {"role": "user", "content": "and?"}]
    out = engine.compress(pruned, count_messages(pruned), force=True)
    name = out[0]["content"].partition("[lcm ")[2][:8]
    assert "line 0 what stands there" in expanded(engine, name)
    assert rows[2]["content"] in expanded(engine, name)


@pytest.mark.parametrize(
    ("count", "size", "share"), [(10, 4400, 1.0), (20, 200, 1.0), (20, 4400, 0.5)]
)
def test_nothing_changes_where_it_is_not_worth_it(engine, count, size, share):
    """Below soft_threshold, or without a large old result: the very list comes back."""
    rows = steps(count, size)
    assert engine.prune_tool_results_only(rows, int(count_messages(rows) * share)) == (rows, 0)


def test_what_was_read_again_goes_first(engine):
    """Of two reads of the same file the earlier one is shown in part, also where it is not old."""
    rows = steps(18, 4400, path=lambda n: "the same" if n > 14 else f"f{n}")
    pruned, _ = engine.prune_tool_results_only(rows, count_messages(rows))
    stubs = [n for n, row in enumerate(rows) if pruned[n] != row]
    assert {2 * 15 + 2, 2 * 16 + 2} <= set(stubs)
    assert 2 * 17 + 2 not in stubs


def test_it_is_not_looked_at_again_before_it_has_grown(engine, monkeypatch):
    """A host asks after every round of tools."""
    rows = steps(20, 4400)
    pruned, _ = engine.prune_tool_results_only(rows, count_messages(rows))
    again, count = engine.prune_tool_results_only(pruned, engine.threshold_tokens - 500)
    assert (again is pruned, count) == (True, 0)
    monkeypatch.setattr(engine._attachment, "bind", None)
    assert engine.prune_tool_results_only(pruned, engine.threshold_tokens - 400) == (pruned, 0)
    assert not engine.get_status()["problems"]


def test_what_was_shown_in_part_brings_no_change_the_sooner(tmp_path):
    """How much a request adds is told by the newest rows: stubs beside them make the list no slower to grow."""
    engine = LCMEngine(85_000, db_path=tmp_path / "lcm.db", summarizer=lambda _: "A summary.")
    engine.on_session_start("s")
    rows, size, at = [], 0, []
    for n, row in enumerate(steps(150, 5400)):
        rows.append(row)
        size += count_messages([row])
        if row["role"] != "tool":
            continue
        if engine.should_compress(size + 12_000):
            break
        rows, count = engine.prune_tool_results_only(rows, size + 12_000)
        if count:
            size = count_messages(rows)
            at.append(n // 2)
    gaps = [later - earlier for earlier, later in pairwise(at)]
    assert len(gaps) >= 8
    assert min(gaps) >= 5
    engine.close()


def test_a_failure_leaves_the_list(engine, monkeypatch):
    """It is logged, and shown by the status."""
    rows = steps(20, 4400)

    def fails(*_):
        raise OSError("no space left")

    monkeypatch.setattr(engine._attachment, "bind", fails)
    assert engine.prune_tool_results_only(rows, count_messages(rows)) == (rows, 0)
    assert engine.get_status()["problems"]


def test_a_pass_needs_no_summary_where_stubs_suffice(engine, tmp_path):
    """Free savings first: as few as bring the list down to what a pass aims at, from the end; the rest stays."""
    rows = steps(24, 4400)
    used = count_messages(rows)
    assert used > engine.threshold_tokens
    out = engine.compress(rows, used)
    assert engine._last_compression_made_progress
    assert not new_faults(rows, out)
    assert 0.35 * WINDOW < count_messages(out) <= 0.4 * WINDOW
    assert [row["role"] for row in out] == [row["role"] for row in rows]
    changed = [n for n, row in enumerate(rows) if out[n]["content"] != row["content"]]
    assert rows[1:3] == [
        {**row, "_db_persisted": True} if "tool_call_id" in row else row for row in out[1:3]
    ]
    for n in changed:
        assert expanded(engine, out[n]["content"].partition("[lcm ")[2][:8]) == rows[n]["content"]
    again = engine.ingest(out)
    assert (again.new, again.revised, again.withdrawn) == (0, 0, 0)


def test_where_stubs_do_not_suffice_all_is_summarised(engine):
    """Then what is compacted is compacted whole, and no stub stands in a summary's source."""
    asked = []
    engine._summarizer = lambda request: asked.append(request.text) or "A summary of it."
    rows = [
        *steps(8, 4400),
        {"role": "assistant", "content": "so " * 30_000},
        {"role": "user", "content": "go on"},
    ]
    out = engine.compress(rows, count_messages(rows))
    assert count_messages(out) < 0.4 * WINDOW
    assert not any("lcm_expand gives them back" in text for text in asked)
    assert any("line 0 what stands there" in text for text in asked)
