"""``import`` of payload files, of lossless-claw, and of what is old, odd, damaged or nobody's."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from lcm.storage import open_store
from lcm.storage.canon import decode
from neighbours import CLAW, HERMES, LCM_X, bring, claw, contents, make, plain, said, talk

# lcm-x


def test_lists_of_parts_and_payload_files_of_lcm_x(tmp_path):
    """Content parts become a list again; a payload takes the place of its placeholder, which is kept too."""
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:..."}},
    ]
    (tmp_path / "payloads").mkdir()
    (tmp_path / "payloads" / "p1.json").write_text(
        json.dumps({"kind": "tool", "content": "long " * 5000})
    )
    (tmp_path.parent / "secret.json").write_text(json.dumps({"content": "not yours"}))
    rows = plain(
        "s",
        ("user", json.dumps(parts)),
        ("user", '["a list", "that somebody wrote"]'),
        ("tool", "[externalized: payloads/p1.json, 25000 characters]", {"tool_call_id": "c1"}),
        ("tool", "[externalized: payloads/gone.json]", {"tool_call_id": "c2"}),
        ("tool", "[externalized: ../secret.json]", {"tool_call_id": "c3"}),
        ("user", "look at payloads/p1.json"),
    )
    path = make(tmp_path / "lcm.db", LCM_X, ("messages", rows))
    _, answer = bring(path, tmp_path / "new.db")
    assert 1 == answer["done"]["payloads"]
    found = contents(tmp_path / "new.db", "s")
    assert [parts, '["a list", "that somebody wrote"]', "long " * 5000] == found[:3]
    assert [rows[3]["content"], rows[4]["content"], rows[5]["content"]] == found[3:]
    store = open_store(tmp_path / "new.db", create=False)
    (number,) = store.known(["lcm-x:s:3"]).values()
    assert rows[2]["content"] == decode(store.read([(number, 1)])[0].body)["content"]
    store.close()
    assert 0 == bring(path, tmp_path / "new.db")[1]["done"]["messages"]


# lossless-claw


def test_calls_and_results_of_lossless_claw(tmp_path):
    """A call and its result in one part become two messages; a result told twice comes once."""
    said_there = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "I look"},
        {"role": "assistant", "content": ""},
        {"role": "tool", "content": "a tide table"},
        {"role": "assistant", "content": "done"},
    ]
    parts = [
        {"message_id": 11, "part_type": "reasoning", "text_content": "where?"},
        {"message_id": 11, "part_type": "tool", "tool_call_id": "c1", "tool_name": "ls", "tool_input": '{"d": "."}',
         "tool_output": "harbour.txt"},
        {"message_id": 12, "part_type": "tool", "tool_call_id": "c2", "tool_name": "cat", "tool_input": "{}",
         "tool_output": "a tide table"},
        {"message_id": 13, "part_type": "tool", "tool_call_id": "c2", "tool_name": "cat", "tool_output": "it"},
        {"message_id": 14, "part_type": "patch", "text_content": "--- a", "metadata": "{}"},
    ]  # fmt: skip
    code, answer = bring(claw(tmp_path / "lcm.db", said_there, parts), tmp_path / "new.db")
    assert (0, "lossless-claw", 6) == (code, answer["kind"], answer["done"]["messages"])
    rows = said(tmp_path / "new.db", "s")
    assert ["user", "assistant", "tool", "assistant", "tool", "assistant"] == [
        row["role"] for row in rows
    ]
    assert ("where?", "c1", '{"d": "."}') == (
        rows[1]["reasoning"], rows[1]["tool_calls"][0]["id"], rows[1]["tool_calls"][0]["function"]["arguments"],
    )  # fmt: skip
    assert ("c1", "harbour.txt") == (rows[2]["tool_call_id"], rows[2]["content"])
    assert ("c2", "cat", "a tide table") == (
        rows[4]["tool_call_id"],
        rows[4]["tool_name"],
        rows[4]["content"],
    )
    assert [{"part_type": "patch", "text_content": "--- a", "metadata": "{}"}] == rows[5]["parts"]
    assert 0 == bring(tmp_path / "lcm.db", tmp_path / "new.db")[1]["done"]["messages"]


def test_conversations_of_lossless_claw(tmp_path):
    """Several of one session id stay apart; without one the key names it; times are UTC; order is seq."""
    conversations = [
        {"conversation_id": 1, "session_id": "s", "session_key": "k1", "title": "one"},
        {"conversation_id": 2, "session_id": "s", "session_key": "k2", "title": "two"},
        {"conversation_id": 3, "session_id": None, "session_key": "agent:main", "title": None},
    ]
    said_there = [{"role": "user", "content": f"in {n}", "of": n} for n in (2, 1, 3, 1)]
    path = claw(tmp_path / "lcm.db", said_there, conversations=conversations)
    bring(path, tmp_path / "new.db")
    assert ["in 1", "in 1"] == contents(tmp_path / "new.db", "s#1")
    assert ["in 2"] == contents(tmp_path / "new.db", "s#2")
    assert ["in 3"] == contents(tmp_path / "new.db", "agent:main")
    store = open_store(tmp_path / "new.db", create=False)
    first = store.entries(store.session("s#2").line)[0]
    assert 1_772_359_200.0 == store.read([(first.id, 0)])[0].time
    store.close()


# what may be in the way


def test_an_older_schema_is_read_as_far_as_it_goes(tmp_path):
    """Columns that an earlier version did not have are as if empty."""
    schema = "CREATE TABLE messages (store_id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT)"
    rows = [{"session_id": "s", "role": "user", "content": "old"}]
    path = make(tmp_path / "lcm.db", schema, ("messages", rows))
    assert 0 == bring(path, tmp_path / "new.db")[0]
    assert ["old"] == contents(tmp_path / "new.db", "s")


def test_odd_bytes_come_through(tmp_path):
    """NUL, bytes that are no UTF-8, a session without a name, a role that nobody knows: nothing is lost or raised."""
    path = make(tmp_path / "lcm.db", HERMES)
    with closing(sqlite3.connect(path)) as sql:
        sql.execute(
            "INSERT INTO messages (session_id, role, content) VALUES (NULL, 'user', 'a' || char(0) || 'b')"
        )
        sql.execute("INSERT INTO messages (role, content) VALUES ('user', CAST(x'41ff42' AS TEXT))")
        sql.execute(
            "INSERT INTO messages (role, content, tool_calls) VALUES ('narrator', x'43', 'no json')"
        )
        sql.commit()
    assert 0 == bring(path, tmp_path / "new.db")[0]
    assert ["a\0b", "A\udcffB", "C"] == contents(tmp_path / "new.db", "unnamed")


@pytest.mark.parametrize(
    ("schema", "words", "why"),
    [
        ("CREATE TABLE notes (a)", (), "other tables"),
        ("CREATE TABLE notes (a)", ("--from", "lcm-x"), "no messages of lcm-x"),
        (HERMES, ("--from", "lossless-claw"), "no messages of lossless-claw"),
        (HERMES, ("--from", "lcm"), "no export"),
    ],
)
def test_what_is_no_neighbours_is_refused(tmp_path, schema, words, why):
    """In a sentence, with exit code 1."""
    path = make(tmp_path / "lcm.db", schema)
    code, answer = bring(path, tmp_path / "new.db", *words)
    assert (1, True) == (code, why in answer["error"])


def test_a_damaged_file_is_said(tmp_path):
    """A database cut in half gives words, and nothing half done."""
    rows = plain("s", *talk(*(f"message {n} " * 20 for n in range(400))))
    path = make(tmp_path / "lcm.db", HERMES, ("messages", rows))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    code, answer = bring(path, tmp_path / "new.db")
    assert (1, True) == (code, "damaged" in answer["error"])
    assert not (tmp_path / "new.db").exists()


def test_an_empty_database_brings_nothing(tmp_path):
    """No conversation is no error."""
    for name, schema in (("a", HERMES), ("b", LCM_X), ("c", CLAW)):
        code, answer = bring(make(tmp_path / name, schema), tmp_path / "new.db")
        assert (0, [], 0) == (code, answer["sessions"], answer["done"]["messages"])
