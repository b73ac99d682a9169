"""``sessions``: every conversation once, with its length, its times and where it comes from."""

from __future__ import annotations

import json
import time

import pytest
from lcm.console.cli import main
from lcm.dag.ingest import Ledger
from lcm.storage import open_store


def rows_of(name, count):
    """A conversation of *count* messages."""
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"{name} says {n}", "timestamp": 1e9 + n}
        for n in range(count)
    ]


@pytest.fixture
def database(tmp_path):
    """A session, its rotation, a branch of that, and one in which nothing was said."""
    path = tmp_path / "lcm.db"
    store = open_store(path)
    Ledger(store, store.open_session("first")).ingest(rows_of("first", 6))
    rotated = store.open_session("second", parent="first", relation="rotation")
    Ledger(store, rotated).ingest([*rows_of("first", 6), *rows_of("second", 2)])
    branch = store.open_session("twig", parent="second", relation="branch")
    Ledger(store, branch).ingest(rows_of("first", 4))
    store.open_session("silent")
    store.close()
    return path


@pytest.fixture
def call(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # no cell is broken

    def call(*words):
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


def test_each_session_is_told_with_its_counts(call, database):
    """Messages, turns and withdrawn ones of the conversation, times as ISO text, parent and relation."""
    code, out, _ = call("sessions", "--db", database, "--json")
    found = {each["session"]: each for each in json.loads(out)["sessions"]}
    assert 0 == code
    assert {"first", "second", "twig", "silent"} == set(found)
    assert (8, 4, 0) == tuple(found["second"][key] for key in ("messages", "turns", "withdrawn"))
    assert ("2001-09-09T01:46:40Z", "2001-09-09T01:46:45Z") == (
        found["second"]["first"],
        found["second"]["last"],
    )
    assert ("rotation", "first", None) == tuple(
        found["second"][k] for k in ("relation", "parent", "continued_as")
    )
    assert "second" == found["first"]["continued_as"]
    assert ("branch", "second") == (found["twig"]["relation"], found["twig"]["parent"])
    assert 4 == found["twig"]["withdrawn"], "its list ends before what the parent went on with"
    assert (0, None) == (found["silent"]["messages"], found["silent"]["first"])


def test_the_table_shows_a_conversation_once(call, database):
    """A session that went on under another name says so, and has no counts of its own."""
    _, out, _ = call("sessions", "--db", database)
    lines = out.splitlines()
    (first,) = [n for n, line in enumerate(lines) if line.startswith("first")]
    assert "first" == lines[first].strip()
    assert "goes on as second" in lines[first + 1]
    assert any(line.split()[:4] == ["second", "8", "4", "0"] for line in lines)
    assert "branch of second" in out
    assert "4 sessions" == lines[-1] or "4 sessions" == lines[-2]


def test_the_session_used_last_comes_first(call, tmp_path):
    """Order is by newest message, not by when a session began."""
    store = open_store(tmp_path / "lcm.db")
    for name, when in (("early", 2e9), ("late", 1e9)):
        rows = [{"role": "user", "content": name, "timestamp": when}]
        Ledger(store, store.open_session(name)).ingest(rows)
    store.close()
    _, out, _ = call("sessions", "--db", tmp_path / "lcm.db", "--json")
    assert ["early", "late"] == [each["session"] for each in json.loads(out)["sessions"]]


def test_many_sessions_are_cut_and_said_to_be(call, tmp_path):
    """Fifty are shown, the rest counted; --all and --json have every one."""
    store = open_store(tmp_path / "lcm.db")
    with store.writing():
        for n in range(60):
            store.open_session(f"s{n:02}")
    store.close()
    _, out, _ = call("sessions", "--db", tmp_path / "lcm.db")
    assert "60 sessions; 10 older ones with --all" in out
    assert 50 == sum(line.startswith("s") and line[1:3].isdecimal() for line in out.splitlines())
    _, out, _ = call("sessions", "--db", tmp_path / "lcm.db", "--all")
    assert 60 == sum(line.startswith("s") and line[1:3].isdecimal() for line in out.splitlines())
    _, out, _ = call("sessions", "--db", tmp_path / "lcm.db", "--json")
    assert 60 == len(json.loads(out)["sessions"])


def test_no_session_and_no_store(call, tmp_path):
    """An empty store has something to say; a missing one is an error that makes nothing."""
    open_store(tmp_path / "lcm.db").close()
    code, out, _ = call("sessions", "--db", tmp_path / "lcm.db")
    assert (0, True) == (code, "no session yet" in out)
    code, _, err = call("sessions", "--db", tmp_path / "none" / "lcm.db")
    assert (1, True) == (code, "no" in err)
    assert not (tmp_path / "none").exists()


def test_a_store_of_many_messages_is_listed_at_once(call, tmp_path):
    """20,000 messages on 200 lines in well under a second: one look, not one a session."""
    store = open_store(tmp_path / "lcm.db")
    for n in range(200):
        Ledger(store, store.open_session(f"s{n}")).ingest(rows_of(f"s{n}", 100))
    store.close()
    begun = time.monotonic()
    code, out, _ = call("sessions", "--db", tmp_path / "lcm.db", "--json")
    assert time.monotonic() - begun < 1
    assert (0, 20_000) == (code, sum(each["messages"] for each in json.loads(out)["sessions"]))
