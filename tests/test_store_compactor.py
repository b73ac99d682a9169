"""StoreCompactor: the engine as a compactor, with a real database behind it."""

from __future__ import annotations

import json
import re

import pytest
from histories import refused, said, talk, user
from lcm import CompactionContext, LCMEngine, StoreCompactor, Usage, run_compactor
from lcm.dag.tokens import count_messages

SYSTEM = {"role": "system", "content": "be kind"}


@pytest.fixture
def engine(tmp_path):
    made = LCMEngine(4000, db_path=tmp_path / "lcm.db", settings={}, summarizer=lambda _: "kept")
    yield made
    made.close()


def test_with_the_store_nothing_is_lost(engine):
    """Pass after pass; each summary row names nodes that give every message back."""
    compactor = StoreCompactor(engine, "chat")
    rows, everything, passes = [SYSTEM], [], 0
    for turn in range(30):
        fresh = user(f"question {turn} " + "word " * 200)
        rows.append(fresh)
        done = run_compactor(compactor, CompactionContext(rows, iteration=0, run_id=f"run {turn}"))
        passes += done.changed
        rows = [*done.messages, said(f"answer {turn}")]
        everything += fresh, rows[-1]
        assert count_messages(rows) < 3200
        assert not refused(done.messages)
    compactor.keep(rows)
    assert passes > 2
    assert rows[0] == SYSTEM
    assert all(row.keys() <= {"role", "content"} for row in rows)
    found, names = [], re.findall(r"\[lcm ([0-9a-f]{8})\]", rows[1]["content"])[:-1]
    for name in names:
        found += opened(engine, name)
    kept = [row for row in rows if row in everything]
    assert [(row["role"], row["content"]) for row in found] == [
        (row["role"], row["content"]) for row in everything[: len(everything) - len(kept)]
    ]


def opened(engine, uid):
    """Every message under a node, word for word."""
    cursor, found = None, []
    while True:
        asked = {"uid": uid, "detail": "raw", **({"cursor": cursor} if cursor else {})}
        page = json.loads(engine.handle_tool_call("lcm_expand", asked))
        for message in page["messages"]:
            if found and found[-1]["uid"] == message["uid"]:
                message["content"] = found.pop()["content"] + message["content"]
            found.append(message)
        if not (cursor := page["cursor"]):
            return found


def test_the_store_is_asked_by_real_usage_too(engine):
    """A list that looks small may be large in fact."""
    rows = talk(6, "word " * 60)
    compactor = StoreCompactor(engine)
    assert compactor(CompactionContext(rows, run_id="r")) is None
    assert compactor(CompactionContext(rows, run_id="r", last_usage=Usage(3900))) is not None


def test_conversations_of_one_database_stay_apart(engine):
    """By name: a compactor's session, or each run."""
    one, other = StoreCompactor(engine, "one"), StoreCompactor(engine)
    one.keep([user("the brass plate")])
    other.keep([user("the lamp")], run_id="two")
    one.keep([user("the brass plate"), said("seen")])
    answer = json.loads(engine.handle_tool_call("lcm_grep", {"query": "lamp"}))
    assert answer["total"] == 0
    with pytest.raises(ValueError, match="no name"):
        other(CompactionContext([user()]))


def test_a_store_that_fails_stops_no_loop(tmp_path):
    """The history stays as it is; the status says why."""
    (tmp_path / "lcm.db").write_bytes(b"no database at all" * 100)
    engine = LCMEngine(4000, db_path=tmp_path / "lcm.db", settings={})
    rows = talk(9, "word " * 200)
    done = run_compactor(StoreCompactor(engine, "chat"), CompactionContext(rows))
    assert done.messages == rows
    assert engine.get_status()["problems"]
    engine.close()
