"""``import`` of what neighbours kept: every message once, in order, with its origin; their file untouched."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing, redirect_stdout

import pytest
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from lcm.storage.canon import decode

HERMES = """
CREATE TABLE messages (store_id INTEGER PRIMARY KEY, session_id TEXT, source TEXT, role TEXT, content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, token_estimate INTEGER, pinned INTEGER);
CREATE TABLE summary_nodes (node_id INTEGER PRIMARY KEY, session_id TEXT, depth INTEGER, summary TEXT,
    token_count INTEGER, source_token_count INTEGER, source_ids TEXT, source_type TEXT, created_at REAL,
    earliest_at REAL, latest_at REAL, expand_hint TEXT);
CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT);
"""
LCM_X = HERMES.replace(
    "pinned INTEGER)",
    "pinned INTEGER, conversation_id TEXT, ingested_at REAL, observed_at REAL, observed_at_source TEXT)",
)
CLAW = """
CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY, session_id TEXT, session_key TEXT, active INTEGER,
    title TEXT, created_at TEXT);
CREATE TABLE messages (message_id INTEGER PRIMARY KEY, conversation_id INTEGER, seq INTEGER, role TEXT, content TEXT,
    token_count INTEGER, identity_hash TEXT, transcript_entry_id TEXT, created_at TEXT);
CREATE TABLE message_parts (part_id TEXT PRIMARY KEY, message_id INTEGER, session_id TEXT, part_type TEXT,
    ordinal INTEGER, text_content TEXT, tool_call_id TEXT, tool_name TEXT, tool_status TEXT, tool_input TEXT,
    tool_output TEXT, tool_error TEXT, file_mime TEXT, file_name TEXT, file_url TEXT, metadata TEXT);
CREATE TABLE summaries (summary_id TEXT PRIMARY KEY, conversation_id INTEGER, kind TEXT, depth INTEGER, content TEXT,
    token_count INTEGER, earliest_at TEXT, latest_at TEXT);
CREATE TABLE summary_messages (summary_id TEXT, message_id INTEGER, ordinal INTEGER);
CREATE TABLE summary_parents (summary_id TEXT, parent_summary_id TEXT, ordinal INTEGER);
CREATE TABLE large_files (file_id TEXT PRIMARY KEY, storage_uri TEXT);
"""


def make(path, schema, *inserts):
    """A database in WAL mode, as these programs leave one."""
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("PRAGMA journal_mode = WAL")
        sql.executescript(schema)
        for table, rows in inserts:
            for row in rows:
                marks = ", ".join(f":{name}" for name in row)
                names = ", ".join(row)
                sql.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)  # noqa: S608
        sql.commit()
    return path


def plain(session, *said, start=1_000_000.0):
    """Rows of hermes-lcm: (role, content) or (role, content, other columns)."""
    return [
        {
            "session_id": session,
            "role": role,
            "content": content,
            "timestamp": start + n,
            **(more[0] if more else {}),
        }
        for n, (role, content, *more) in enumerate(said)
    ]


def talk(*words):
    """A conversation of these words, user and assistant in turn."""
    return [(("user", "assistant")[n % 2], word) for n, word in enumerate(words)]


def bring(path, database, *words):
    """Import *path*; gives (exit code, the answer)."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = main(["import", str(path), "--db", str(database), "--json", *words])
    return code, json.loads(out.getvalue())


def said(database, session):
    """What the session holds: rows as a host would show them."""
    store = open_store(database, create=False)
    report = verify(store)
    assert report.good, report.failures
    entries = store.entries(store.session(session).line)
    rows = [decode(message.body) for message in store.read([(e.id, 0) for e in entries])]
    store.close()
    return rows


def contents(database, session):
    return [row["content"] for row in said(database, session)]


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


def claw(
    path,
    said,
    parts=(),
    conversations=({"conversation_id": 1, "session_id": "s", "title": "The harbour"},),
):
    rows = [
        {"message_id": 10 + n, "conversation_id": each.get("of", 1), "seq": n, "role": each["role"],
         "content": each.get("content", ""), "created_at": f"2026-03-01 10:00:{n:02}"}
        for n, each in enumerate(said)
    ]  # fmt: skip
    made = [{"part_id": str(n), "ordinal": n, **part} for n, part in enumerate(parts)]
    return make(
        path, CLAW, ("conversations", conversations), ("messages", rows), ("message_parts", made)
    )


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
    store = open_store(tmp_path / "new.db", create=False)
    assert [] == store.sessions()
    store.close()


def test_an_empty_database_brings_nothing(tmp_path):
    """No conversation is no error."""
    for name, schema in (("a", HERMES), ("b", LCM_X), ("c", CLAW)):
        code, answer = bring(make(tmp_path / name, schema), tmp_path / "new.db")
        assert (0, [], 0) == (code, answer["sessions"], answer["done"]["messages"])
