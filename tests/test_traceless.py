"""Sessions that leave no trace: by pattern, and what comes from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lcm import LCMEngine
from lcm.console.chat import slash
from lcm.host.facts import facts_of
from lcm.storage import open_store
from unkept import CRON, ROTATED, SessionDb, conversation, files


def engine_at(folder, **settings):
    settings = {"threshold": 0.5, "target": 0.2} | settings
    return LCMEngine(8000, db_path=folder / "lcm" / "lcm.db", settings=settings)


def shown_status(folder, engine):
    """``/lcm status`` in the chat of that engine."""
    facts = facts_of(engine)
    return slash(
        "status", db_path=str(folder / "lcm" / "lcm.db"), session=engine._session_id, facts=facts
    )


def through_every_door(engine, rows):
    """A cron job from its start to its rotation; returns its list then."""
    engine.on_session_start(CRON, platform="cron")
    engine.ingest(rows)
    engine.on_turn_complete(rows)
    shown = engine.compress(rows, force=True)
    assert len(shown) < len(rows), "it is made to fit all the same"
    engine.handle_tool_call("lcm_grep", {"query": "harbour"}, messages=shown)
    engine.on_session_end(CRON, shown)
    engine.on_session_start(ROTATED, boundary_reason="compression", old_session_id=CRON)
    more = [*shown, {"role": "user", "content": "more of the harbour"}]
    engine.ingest(more)
    return more


@pytest.mark.parametrize("setting", ["ignore_sessions", "memory_only_sessions"])
def test_such_a_session_is_never_on_disk(tmp_path, setting):
    """ING-21: A cron job of either host, by its pattern: nothing of it in any file, whatever door is used, after its
    rotation to a name without the pattern, in what it starts, and after a restart; status counts what was left out."""
    patterns = {setting: ["cron_*"]}
    engine = engine_at(tmp_path, **patterns)
    engine.on_session_start("ordinary")
    engine.ingest([{"role": "user", "content": "an ordinary word"}])
    rows = conversation()
    more = through_every_door(engine, rows)
    counted = engine.get_status()["left_out"]
    why = {"ignore_sessions": "ignored", "memory_only_sessions": "memory_only"}[setting]
    assert counted[why]["sessions"] == 2 and counted[why]["messages"] >= len(rows)
    assert f"left out  {counted[why]['messages']} messages of 2 sessions" in shown_status(
        tmp_path, engine
    )
    engine.close()
    again = engine_at(tmp_path, **patterns)
    parents = SessionDb(**{ROTATED: CRON, "child": ROTATED})
    for name in (ROTATED, "child"):
        again.bind_session_state(session_db=parents, session_id=name)
        again.ingest(more)
    again.close()
    seen = files(tmp_path)
    assert b"ordinary word" in seen
    assert b"harbour" not in seen and CRON.encode() not in seen
    store = open_store(tmp_path / "lcm" / "lcm.db")
    assert [session.name for session in store.sessions()] == ["ordinary"]
    store.close()


def test_such_sessions_alone_make_no_file(tmp_path):
    """Where nothing else is said, not even a database is made."""
    engine = engine_at(tmp_path, memory_only_sessions=["*"])
    engine.on_session_start("s")
    engine.ingest(conversation(2))
    engine.close()
    assert list(tmp_path.iterdir()) == []


def test_a_memory_only_session_is_searched_while_it_lasts(tmp_path):
    """It has all that other sessions have as long as the engine lives: search, summaries, expansion."""
    engine = engine_at(tmp_path, memory_only_sessions=["s"])
    engine.on_session_start("s")
    shown = engine.compress(conversation(), force=True)
    answer = json.loads(
        engine.handle_tool_call("lcm_grep", {"query": "question 3"}, messages=shown)
    )
    engine.close()
    assert answer["total"] >= 1


def test_the_names_that_are_written_down_are_the_hosts(tmp_path):
    """docs/operations.md names the ids of cron jobs as the hosts make them, and the pattern fits them."""
    page = (Path(__file__).resolve().parent.parent / "docs" / "operations.md").read_text("utf-8")
    assert "`cron_JOB_DATE_TIME`" in page and '["cron_*"]' in page
    engine = engine_at(tmp_path, ignore_sessions=["cron_*"])
    engine.on_session_start(CRON)
    assert "not_kept" in engine.get_status()
    engine.close()
