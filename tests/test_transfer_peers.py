"""``import`` of what hermes-lcm and lcm-x kept: every message once, in order, with its origin."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing

import pytest
from lcm.console.cli import main
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from lcm.storage.canon import decode
from neighbours import HERMES, LCM_X, bring, contents, make, plain, said, talk

CALLS = [
    {
        "id": "call_0123456789abcdef",
        "type": "function",
        "function": {"name": "look", "arguments": '{"a": 1}'},
    }
]
TOOLS = [
    ("system", "be good"),
    ("user", "what is there?"),
    ("assistant", None, {"tool_calls": json.dumps(CALLS)}),
    ("tool", "a harbour", {"tool_call_id": CALLS[0]["id"], "tool_name": "look"}),
    ("assistant", "a harbour \u2014 \U0001f6a2"),
]


@pytest.mark.parametrize(("schema", "kind"), [(HERMES, "hermes-lcm"), (LCM_X, "lcm-x")])
def test_messages_come_as_a_host_would_show_them(tmp_path, schema, kind):
    """Role, content, calls, results and times; the kind is known by its tables; the system prompt stays away."""
    path = make(tmp_path / "lcm.db", schema, ("messages", plain("s1", *TOOLS)))
    code, answer = bring(path, tmp_path / "new.db")
    assert (0, kind, 4) == (code, answer["kind"], answer["done"]["messages"])
    assert {"system prompts, which are no part of a conversation": 1} == answer["sessions"][0][
        "skipped"
    ]
    rows = [
        {"role": "user", "content": "what is there?"},
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        {
            "role": "tool",
            "content": "a harbour",
            "tool_call_id": CALLS[0]["id"],
            "tool_name": "look",
        },
        {"role": "assistant", "content": "a harbour \u2014 \U0001f6a2"},
    ]
    assert rows == said(tmp_path / "new.db", "s1")
    store = open_store(tmp_path / "new.db", create=False)
    entries = store.entries(store.session("s1").line)
    assert [1, 1, 1, 1] == [entry.turn for entry in entries]
    assert [1_000_001.0, 1_000_004.0] == [
        m.time for m in store.read([(entries[0].id, 0), (entries[3].id, 0)])
    ]
    store.close()


def test_where_each_came_from_is_kept_and_shown(tmp_path, capsys):
    """The row's name leads to the message, `show` tells it, and `sessions` tells the program and the file."""
    path = make(tmp_path / "lcm.db", HERMES, ("messages", plain("s1", *talk("one", "two"))))
    bring(path, tmp_path / "new.db")
    store = open_store(tmp_path / "new.db", create=False)
    (number,) = store.known(["hermes-lcm:s1:2"]).values()
    assert "two" == decode(store.read([(number, 0)])[0].body)["content"]
    store.close()
    capsys.readouterr()
    assert 0 == main(["sessions", "--db", str(tmp_path / "new.db"), "--json"])
    origin = json.loads(capsys.readouterr().out)["sessions"][0]["origin"]
    assert ("hermes-lcm", str(path), "s1") == (origin["program"], origin["file"], origin["session"])
    assert 0 == main(["show", "hermes-lcm:s1:2", "--db", str(tmp_path / "new.db")])
    assert "turn 1 assistant, hermes-lcm:s1:2]\ntwo\n" in capsys.readouterr().out


def test_their_file_is_only_read(tmp_path):
    """Not a byte of the database changes, and nothing is made beside it but what every reader leaves."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    path = make(folder / "lcm.db", HERMES, ("messages", plain("s1", *talk("one", "two"))))
    before = path.read_bytes()
    bring(path, tmp_path / "new.db", "--dry-run")
    bring(path, tmp_path / "new.db")
    assert before == path.read_bytes()
    beside = {each.name: each.stat().st_size for each in folder.iterdir() if each != path}
    assert beside.keys() <= {"lcm.db-shm", "lcm.db-wal"}
    assert 0 == beside.get("lcm.db-wal", 0)


def test_their_program_may_write_meanwhile(tmp_path):
    """Rows that are in its WAL come too, and its writer is not held up."""
    path = make(tmp_path / "lcm.db", HERMES, ("messages", plain("s1", *talk("one", "two"))))
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(
            "INSERT INTO messages (session_id, role, content) VALUES ('s1', 'user', 'three')"
        )
        theirs.commit()
        assert 3 == bring(path, tmp_path / "new.db")[1]["done"]["messages"]
        theirs.execute(
            "INSERT INTO messages (session_id, role, content) VALUES ('s1', 'user', 'four')"
        )
        theirs.commit()
    assert 1 == bring(path, tmp_path / "new.db")[1]["done"]["messages"]
    assert ["one", "two", "three", "four"] == contents(tmp_path / "new.db", "s1")


def test_twice_is_as_once_and_a_backup_comes_first(tmp_path):
    """The second import finds all there; a store with rows is backed up before anything is added."""
    path = make(tmp_path / "lcm.db", HERMES, ("messages", plain("s1", *talk("one", "two"))))
    assert bring(path, tmp_path / "new.db")[1]["backup"] is None
    _, answer = bring(path, tmp_path / "new.db")
    assert (0, 2, None) == (answer["done"]["messages"], answer["done"]["known"], answer["backup"])
    more = make(tmp_path / "b.db", HERMES, ("messages", plain("s2", *talk("three"))))
    _, answer = bring(more, tmp_path / "new.db")
    assert 2 == len(contents(answer["backup"], "s1"))
    assert bring(make(tmp_path / "c.db", HERMES, ("messages", plain("s3", *talk("x")))), tmp_path / "new.db",
                 "--no-backup")[1]["backup"] is None  # fmt: skip


def test_one_conversation_may_be_taken(tmp_path):
    """--session brings the one of that name, or the only one whose name begins so, and no other."""
    rows = [row for name in ("a1", "a2", "b") for row in plain(name, *talk("one"))]
    path = make(tmp_path / "lcm.db", HERMES, ("messages", rows))
    for name in ("a1", "b"):
        assert 1 == bring(path, tmp_path / "new.db", "--session", name)[1]["done"]["messages"]
    for name, why in (("a", "'a' begins 2 sessions: a1, a2."), ("c", "no session 'c'")):
        code, answer = bring(path, tmp_path / "new.db", "--session", name)
        assert (1, True) == (code, why in answer["error"])


def test_a_dry_run_tells_what_would_come_and_writes_nothing(tmp_path):
    """Sessions, messages, dates, what is left out and why."""
    rows = plain("s1", *TOOLS, start=1_700_000_000.0)
    nodes = [{"session_id": "s1", "summary": "a harbour", "depth": 0}]
    path = make(tmp_path / "lcm.db", HERMES, ("messages", rows), ("summary_nodes", nodes))
    code, answer = bring(path, tmp_path / "none" / "new.db", "--dry-run")
    (session,) = answer["sessions"]
    assert (0, 4, 0, 1, None) == (
        code,
        session["new"],
        session["known"],
        answer["summaries_left"],
        answer["done"],
    )
    assert session["first"].startswith("2023-11-14")
    assert not (tmp_path / "none").exists()


# rows that are there twice


WORDS = [
    "where are we?",
    "in the harbour",
    "and now?",
    "we wait for the tide",
    "how long?",
    "two hours",
]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([*WORDS, *WORDS], WORDS),
        ([*WORDS, *WORDS, "good", "yes"], [*WORDS, "good", "yes"]),
        ([*WORDS, "good", "yes", *WORDS, "good", "yes", "on"], [*WORDS, "good", "yes", "on"]),
        ([*WORDS, *WORDS[2:], "good"], [*WORDS, "good"]),
        ([*WORDS, *WORDS, *WORDS], WORDS),
    ],
    ids=["all", "all and more", "grown", "its end", "three times"],
)
def test_a_run_that_a_restart_wrote_again_comes_once(tmp_path, rows, kept):
    """Four different messages in the same order are no chance; what follows them is new."""
    path = make(tmp_path / "lcm.db", HERMES, ("messages", plain("s", *talk(*rows))))
    _, answer = bring(path, tmp_path / "new.db")
    assert kept == contents(tmp_path / "new.db", "s")
    assert len(rows) - len(kept) == sum(answer["sessions"][0]["skipped"].values())


def test_what_may_have_been_said_twice_is_kept_twice(tmp_path):
    """A heartbeat a hundred times, 'ok' and 'ok': no restart is proved, so nothing is left out."""
    beats = ["HEARTBEAT", "HEARTBEAT_OK"] * 100
    rows = plain("beats", *talk(*beats)) + plain("oks", *talk("ok", "done", "ok", "done"))
    path = make(tmp_path / "lcm.db", HERMES, ("messages", rows))
    bring(path, tmp_path / "new.db")
    assert beats == contents(tmp_path / "new.db", "beats")
    assert ["ok", "done", "ok", "done"] == contents(tmp_path / "new.db", "oks")


def test_a_long_heartbeat_takes_no_time(tmp_path):
    """6,000 rows of two messages are read in a moment, and all kept."""
    rows = plain("beats", *talk(*["HEARTBEAT", "HEARTBEAT_OK"] * 3_000))
    path = make(tmp_path / "lcm.db", HERMES, ("messages", rows))
    begun = time.process_time()
    _, answer = bring(path, tmp_path / "new.db", "--dry-run")
    assert time.process_time() - begun < 6
    assert 6_000 == answer["sessions"][0]["new"]


def test_the_same_times_or_a_call_of_its_own_prove_a_repetition(tmp_path):
    """Short runs: equal times to the second, or the same unique call id."""
    rows = (
        plain("times", *talk("ok", "done")) * 2
        + plain("calls", *TOOLS[2:4])
        + plain("calls", *TOOLS[2:4], start=9e8)
    )
    path = make(tmp_path / "lcm.db", HERMES, ("messages", rows))
    bring(path, tmp_path / "new.db")
    assert ["ok", "done"] == contents(tmp_path / "new.db", "times")
    assert [None, "a harbour"] == contents(tmp_path / "new.db", "calls")


# a session that is here already


def test_a_session_that_is_here_shares_its_messages(tmp_path):
    """Who changed from hermes-lcm has the tail here: it comes once, and the whole stands beside it in order."""
    store = open_store(tmp_path / "new.db")
    Ledger(store, store.open_session("s")).ingest(
        [
            {"role": r, "content": c}
            for r, c in talk("[summary of before]", "I see", *WORDS[2:], "new here")
        ]
    )
    store.close()
    path = make(tmp_path / "lcm.db", HERMES, ("messages", plain("s", *talk(*WORDS))))
    for new in (2, 0):
        code, answer = bring(path, tmp_path / "new.db")
        assert (0, new, "s (from hermes-lcm)") == (
            code,
            answer["done"]["messages"],
            answer["sessions"][0]["as"],
        )
    assert WORDS == contents(tmp_path / "new.db", "s (from hermes-lcm)")
    assert ["[summary of before]", "I see", *WORDS[2:], "new here"] == contents(
        tmp_path / "new.db", "s"
    )
    store = open_store(tmp_path / "new.db", create=False)
    assert 9 == store.totals().messages
    store.close()


def test_an_imported_session_goes_on_under_this_engine(tmp_path):
    """Resumed by a host, its list is known: nothing is stored twice, and the host's uids are taken over."""
    path = make(tmp_path / "lcm.db", HERMES, ("messages", plain("s", *talk(*WORDS))))
    bring(path, tmp_path / "new.db")
    store = open_store(tmp_path / "new.db")
    rows = [
        {"role": r, "content": c, "message_uid": f"{n:032x}"}
        for n, (r, c) in enumerate(talk(*WORDS, "on we go"))
    ]
    report = Ledger(store, store.open_session("s")).ingest(rows)
    store.close()
    assert (1, 6) == (report.new, report.known)
    assert [*WORDS, "on we go"] == contents(tmp_path / "new.db", "s")
    assert 0 == bring(path, tmp_path / "new.db")[1]["done"]["messages"]
