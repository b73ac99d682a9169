"""Compactions that the host has not taken over are none: neither counted nor among the tokens saved."""

from __future__ import annotations

import json

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.present import present
from lcm.storage import open_store

WINDOW = 20_000


@pytest.fixture(name="make")
def _make(tmp_path):
    made = []

    def make(session="s", **settings):
        engine = LCMEngine(
            WINDOW,
            db_path=tmp_path / "lcm.db",
            settings=settings,
            summarizer=lambda _: "A summary.",
        )
        made.append(engine)
        engine.on_session_start(session)
        return engine

    yield make
    for engine in made:
        engine.close()


def talk(first=0, turns=30):
    """Turns with words of their own, and a question that waits for its answer."""
    rows = []
    for n in range(first, first + turns):
        words = " ".join(f"harbour{n}word{k}" for k in range(60))
        rows.append({"role": "user", "content": f"{n}: {words}"})
        rows.append({"role": "assistant", "content": f"Noted {n}: {words}"})
    return [*rows, {"role": "user", "content": f"go on from {first + turns}"}]


def answered(rows):
    return [*rows, {"role": "assistant", "content": "fine"}, {"role": "user", "content": "next"}]


def reads(turns=20):
    """One turn in which large files are read: stubs alone make it small enough."""
    rows = [{"role": "user", "content": "look through all of it"}]
    for n in range(turns):
        function = {"name": "read", "arguments": json.dumps({"path": f"f{n}"})}
        calls = [{"id": f"c{n}", "type": "function", "function": function}]
        rows.append({"role": "assistant", "content": "", "tool_calls": calls})
        text = f"line {n} " + "what stands there " * 170
        rows.append({"role": "tool", "tool_call_id": f"c{n}", "content": text})
    return rows


def compact(engine, rows):
    out = engine.compress(list(rows), current_tokens=16_000)
    assert engine._last_compression_made_progress
    return out


def counts(engine, tmp_path, session="s"):
    """What the engine counts, what a tool says, what a restart finds, and whether a person is told of any."""
    said = json.loads(engine.handle_tool_call("lcm_status", {}))["compactions"]
    after = LCMEngine(WINDOW, db_path=tmp_path / "lcm.db", settings={})
    after.on_session_start(session)
    found = after.compression_count
    after.close()
    store = open_store(tmp_path / "lcm.db")
    passes = present(store, store.session(session)).passes
    store.close()
    return engine.compression_count, said, found, bool(passes)


def test_one_that_is_taken_over_counts(make, tmp_path):
    """At once, and when its list comes."""
    engine, rows = make(), talk()
    out = compact(engine, rows)
    assert (1, 1, 1, True) == counts(engine, tmp_path)
    engine.ingest(answered(out))
    assert (1, 1, 1, True) == counts(engine, tmp_path)


@pytest.mark.parametrize("rows", [talk(), reads()], ids=["summaries", "stubs"])
def test_one_that_is_refused_does_not(make, tmp_path, rows):
    """Newer hosts refuse what they find larger than what they had; the conversation goes on as it was."""
    engine = make()
    compact(engine, rows)
    engine.record_rejected_compaction()
    assert (0, 0, 0, False) == counts(engine, tmp_path)
    engine.ingest(answered(rows))
    assert (0, 0, 0, False) == counts(engine, tmp_path)


@pytest.mark.parametrize("rows", [talk(), reads()], ids=["summaries", "stubs"])
def test_one_that_came_too_late_does_not(make, tmp_path, rows):
    """The host has gone on without a word; a restart tells, and the host has put back the engine's own count."""
    engine = make()
    out = compact(engine, rows)
    engine.ingest(rows)  # as hosts show it at the end of a compaction: nothing is said by that
    assert (1, 1, 1, True) == counts(engine, tmp_path)
    engine.ingest(answered(rows))
    assert (0, 0, False) == counts(engine, tmp_path)[1:]
    engine.ingest(answered(out))  # it comes after all
    assert (1, 1, True) == counts(engine, tmp_path)[1:]


@pytest.mark.parametrize("form", ["jsonl", "state"])
def test_an_export_has_those_that_were_taken_over(make, tmp_path, capsys, form):
    """Where it is imported they are counted, and nothing there would tell them apart."""
    engine, rows = make(), talk()
    out = compact(engine, rows)
    engine.ingest(answered(out))
    engine.compress([*answered(out), *talk(100)[1:]], current_tokens=16_000)
    engine.record_rejected_compaction()
    engine.ingest(answered([*answered(out), *talk(100)[1:]]))
    engine.close()
    assert 0 == main(["export", "--db", str(tmp_path / "lcm.db"), "--format", form])
    written = capsys.readouterr().out
    if form == "jsonl":
        kinds = [json.loads(line)["kind"] for line in written.splitlines()]
        assert 1 == kinds.count("pass")
    else:
        assert 1 == len(json.loads(written)["sessions"][0]["compactions"])


def test_the_same_twice_is_one(make, tmp_path):
    """The host asked again for the list that it had."""
    engine, rows = make(), talk()
    assert compact(engine, rows) == compact(engine, rows)
    assert (1, 1, 1, True) == counts(engine, tmp_path)
    out = compact(engine, rows)
    engine.ingest(answered(out))
    engine.ingest(answered(answered(out)))
    assert (1, 1, 1, True) == counts(engine, tmp_path)


def test_what_a_later_one_leaves_out_again_proves_none_that_was_refused(make, tmp_path):
    """Both by stubs alone: the list that shows the second has the stubs of the first, which the host had refused."""
    engine = make()

    def turn(number, tokens):
        function = {"name": "r", "arguments": "{}"}
        calls = [{"id": f"c{number}", "type": "function", "function": function}]
        return [
            {"role": "user", "content": f"question {number}"},
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"res{number} " * tokens},
            {"role": "assistant", "content": f"answer {number} " * 5},
        ]

    rows = [row for n, tokens in enumerate((2500, 2500, 30, 30, 30)) for row in turn(n, tokens)]
    engine.ingest(rows)
    first = engine.compress(list(rows), engine.threshold_tokens + 500)
    assert len(first) == len(rows)
    engine.record_rejected_compaction()
    rows += [row for n, tokens in enumerate((1800, 30, 30, 30)) for row in turn(n + 5, tokens)]
    engine.ingest(rows)
    second = engine.compress(list(rows), engine.threshold_tokens + 2500)
    assert second is not rows
    engine.ingest([*second, *turn(10, 30)])
    assert (1, 1, 1, True) == counts(engine, tmp_path)


def test_stubs_beside_a_summary_that_stands_are_told_by_themselves(make, tmp_path):
    """The second compaction writes no summary row: the row of the first, which the list shows, says nothing of it."""
    engine = make(target=0.55, fresh_tail_tokens=1500)
    out = compact(engine, talk())
    rows = [*out, {"role": "assistant", "content": "ok"}, *reads()]
    engine.ingest(rows)
    again = compact(engine, rows)
    assert out[0] == again[0]
    assert 2 == counts(engine, tmp_path)[1]
    engine.ingest(answered([*rows, {"role": "assistant", "content": "read"}]))
    assert 1 == counts(engine, tmp_path)[1]


def test_another_agent_of_the_session_shows_what_one_compacted(make, tmp_path):
    """A gateway has a list compacted by an agent that it drops: the one that goes on with it tells."""
    living, helper = make(), make()
    rows = talk()
    living.ingest(rows)
    out = compact(helper, rows)
    living.ingest(answered(out))
    out = compact(living, [*answered(out), *talk(100)[1:]])
    assert (2, 2, 2, True) == counts(living, tmp_path)


def test_a_rotated_session_counts_those_before_it(make, tmp_path):
    """Under a new id after each compaction (in_place: false), live and after a restart; the last one was refused."""
    engine, rows = make("p1"), talk()
    for n, (old, new) in enumerate([("p1", "p2"), ("p2", "p3")]):
        rows = compact(engine, rows)
        engine.on_session_end(old, rows)
        engine.on_session_start(new, boundary_reason="compression", old_session_id=old)
        rows = [*answered(rows), {"role": "assistant", "content": "ok"}, *talk(100 * (n + 1))]
        engine.ingest(rows)
        assert (n + 1, n + 1, n + 1, True) == counts(engine, tmp_path, new)
    compact(engine, rows)
    engine.ingest(answered(rows))
    assert (2, 2, True) == counts(engine, tmp_path, "p3")[1:]
