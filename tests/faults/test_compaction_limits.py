"""Faults of when to compact: not without need, not for ever, and truthfully told."""

from __future__ import annotations

import time

from faultkit import (
    blocks,
    called,
    compressed,
    everything,
    kept,
    model_pass,
    plain,
    result,
    said,
    steps,
    talk,
    totals,
    user,
)  # fmt: skip
from lcm.dag.settings import Settings
from lcm.storage.canon import decode


def test_a_result_is_never_larger_than_its_source(make, home):
    """CMP-04: three short rows and a summariser that says too much: the list comes back as it is, and it rests."""
    engine = make(context_length=1000, summarizer=lambda request: "very long words " * 4000)
    rows = [user("short"), said("rows"), user("only")]
    for tokens in (760, 900, 5000):
        out = engine.compress(rows, tokens)
        assert engine.count_tokens(out) <= engine.count_tokens(rows)
        assert not engine.should_compress(tokens)
    assert rows == kept(home)


def test_a_refused_result_is_not_offered_again_at_once(make):
    """CMP-04: the host refuses a list: no pass before the conversation has grown, and then one again."""
    engine = make()
    rows = talk(60)
    size = engine.count_tokens(rows)
    compressed(engine, rows)
    engine.record_rejected_compaction()
    assert not engine.should_compress(size)
    assert "grown" in engine.should_compress_info(size)[1]
    assert engine.should_compress(size + 2000)


def test_what_cannot_be_made_smaller_is_left_alone(make):
    """CMP-05: prompt and tools alone are over the threshold: one pass, a reason, and a new try after real growth."""
    engine = make(context_length=1334)
    assert 1000 == engine.threshold_tokens
    rows = [user("a"), said("b"), user("c"), said("d"), user("e")]
    passes = 0
    for _ in range(10):
        tokens = 1200 + engine.count_tokens(rows)
        if engine.should_compress(tokens):
            passes += 1
            rows = engine.compress(rows, tokens)
    assert passes == 1
    wanted, reason = engine.should_compress_info(1200 + engine.count_tokens(rows))
    assert not wanted
    assert reason
    assert engine.block_reason == reason
    assert engine.should_compress(1200 + engine.count_tokens(rows) + 1500)


def test_the_same_list_is_compacted_once(make, home):
    """CMP-06: a summariser whose text changes with every call: without new rows a second pass finds nothing to do."""
    count = []
    engine = make(summarizer=lambda request: count.append(1) or f"summary number {len(count)}")
    rows = compressed(engine, sent := talk(60))
    first, calls = rows, len(count)
    for _ in range(6):
        rows = engine.compress(rows, 7900)
        rows = engine.compress(rows, 7900, force=True)
    assert engine.compression_count <= 3
    assert calls <= len(count) <= calls + 3
    assert engine.compress(rows, 7900, force=True) is rows
    assert blocks(first)
    assert plain(sent) == everything(engine, rows)
    assert sent == kept(home)


def test_far_below_the_threshold_nothing_is_touched(make):
    """CMP-07: a fifth of the threshold, with a row that is masked already: no pass is wanted, none is made."""
    engine = make()
    rows = [
        user("my key is [REDACTED]"),
        *talk(4),
        called("c"),
        result("c", "[REDACTED]"),
        said("ok"),
    ]
    size = engine.count_tokens(rows)
    assert size < engine.threshold_tokens // 3
    assert not engine.should_compress_preflight(rows)
    assert not engine.should_compress(size)
    assert rows is engine.compress(rows, size)
    assert 0 == engine.compression_count


def test_progress_is_told_pass_by_pass(make):
    """CMP-08: five passes in one turn: the flag is up exactly after a changed list, and down with the next usage."""
    engine = make()
    rows, passes, number = [user("work")], 0, 0
    while passes < 5:
        number += 1
        rows = [*rows, *steps(number, number, size=900)]
        size = engine.count_tokens(rows)
        if not engine.should_compress(size):
            assert rows is engine.compress(rows, size)
            assert not engine._last_compression_made_progress
            continue
        out = engine.compress(rows, size)
        assert out is not rows
        assert engine._last_compression_made_progress
        assert not engine._last_compress_refused_would_grow
        engine.update_from_response({"prompt_tokens": engine.count_tokens(out)})
        assert not engine._last_compression_made_progress
        rows, passes = out, passes + 1
    assert 5 == engine.compression_count
    assert user("work") in rows


def test_without_a_count_the_engine_counts_itself(make):
    """CMP-11: no figure from the host: compress() goes by the list, should_compress() by what it knows."""
    engine = make()
    rows = talk(60)
    out = engine.compress(rows, current_tokens=None)
    assert out is not rows
    assert engine.count_tokens(out) < engine.threshold_tokens
    assert not engine.should_compress(None)
    assert out is engine.compress(out, current_tokens=None)
    engine.update_from_response({"prompt_tokens": 7000})
    assert engine.should_compress(None)
    assert engine.should_compress(0)


def test_a_split_with_an_unrelated_id_starts_nothing(make, home):
    """CMP-12: the host names another session as the old one: no second pass, no row again, no row less."""
    engine = make()
    rows = talk(60)
    out = compressed(engine, rows)
    engine.on_session_start("new", boundary_reason="compression", old_session_id="unrelated")
    count = engine.compression_count
    size = engine.count_tokens(out)
    assert not engine.should_compress(size)
    assert out is engine.compress(out, size)
    assert count == engine.compression_count
    report = engine.ingest(out)
    assert (0, 0, 0) == (report.new, report.revised, report.withdrawn)
    assert plain(rows) == everything(engine, out)
    assert len(rows) == totals(home).messages
    assert rows == kept(home, "new")


def test_the_threshold_follows_the_model(make):
    """CMP-13: to 200,000, to 32,000 and back: three quarters each time, also what is compacted and what is not."""
    engine = make()
    rows = talk(150)
    for window in (200_000, 32_000, 200_000):
        engine.update_model("m", window)
        assert (window, window * 3 // 4) == (engine.context_length, engine.threshold_tokens)
        size = engine.count_tokens(rows)
        assert engine.should_compress(size) is (size >= window * 3 // 4)
        if engine.should_compress(size):
            rows = compressed(engine, rows)
            assert engine.count_tokens(rows) < 24_000
    assert 1 == engine.compression_count


def test_an_ignored_session_is_made_to_fit_and_shown_to_nobody(make, home):
    """CMP-16: no call of the summariser, no row and no node in the database; another session is kept as ever."""
    asked = []
    options = {
        "settings": {"ignore_sessions": ["cron_*"]},
        "summarizer": lambda r: asked.append(r) or "sum",
    }
    engine = make("cron_7", **options)
    rows = talk(60)
    out = compressed(engine, rows)
    assert engine.count_tokens(out) < engine.threshold_tokens
    assert rows[-1] == out[-1]
    assert [] == asked
    other = make("s", **options)
    compressed(other, talk(60, first=500))
    assert asked
    assert not any("question 1 " in request.text for request in asked)
    assert 120 == totals(home).messages
    assert talk(60, first=500) == kept(home)


def test_nothing_to_compact_is_no_failure(make, caplog):
    """CMP-22: /compress on three rows: the same list, no error, and the log says why."""
    engine = make()
    rows = [user("a"), said("b"), user("c")]
    with caplog.at_level("INFO"):
        assert rows is engine.compress(rows, force=True)
    assert "nothing was compacted" in caplog.text
    assert not engine._last_compress_aborted
    assert engine._last_summary_error is None
    assert not engine.get_status()["problems"]


def test_what_is_stored_is_not_counted_twice(make):
    """CMP-23: a request of 50,000 measured, and the same 50,000 stored: below a threshold of 80,000."""
    engine = make(context_length=106_667)
    rows = talk(240)
    engine.ingest(rows)
    size = engine.count_tokens(rows)
    assert 45_000 < size < 60_000
    engine.update_from_response({"prompt_tokens": size})
    for tokens in (None, 0, size):
        assert not engine.should_compress(tokens)
    assert rows is engine.compress(rows, size)
    assert engine.should_compress(80_001)


def test_a_pass_has_a_limit_of_time():
    """CMP-14: hundreds of leaves and a slow summariser: the pass ends at its limit, consistent, and goes on later."""
    count = []

    def slow(request):
        count.append(request)
        time.sleep(0.05)
        return "a slow summary"

    rows = talk(400)
    began = time.monotonic()
    store, outcome = model_pass(
        rows, slow, trusted=True, seconds=0.5, settings=Settings(leaf_tokens=100)
    )
    assert time.monotonic() - began < 60
    assert outcome.changed
    assert 5 <= len(count) <= 20
    written = [node for node in outcome.made if not node.degraded]
    assert len(count) == len(written) < len(outcome.made)
    assert all("no time left" in node.degraded for node in outcome.made if node.degraded)
    frame = outcome.frame
    shown = [row["content"] for row in outcome.rows if not row.get("_compressed_summary")]
    under = store.read(store.stands_for(frame.uid))
    assert [row["content"] for row in rows] == [decode(m.body)["content"] for m in under] + shown
    assert len(rows) == store.totals().messages
