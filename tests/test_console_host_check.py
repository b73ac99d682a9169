"""``verify`` against Hermes's own log: every habit of a host is known, and every row that is lost is named."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.verify import HostLogAt, verify
from lcm.storage import open_store

#: The columns of the two generations that matter; both have many more.
COLUMNS = {
    "old": "id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT,"
    " tool_calls TEXT, tool_name TEXT, timestamp REAL, observed INTEGER DEFAULT 0,"
    " active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0",
}
COLUMNS["new"] = (
    COLUMNS["old"]
    + ", _compressed_summary INTEGER DEFAULT 0, display_kind TEXT, message_uid TEXT, absorbed_message_uids TEXT"
)
WORDS = "the lamp was trimmed at dusk and the tide was read"


def user(text, **more):
    return {"role": "user", "content": text, **more}


def said(text, **more):
    return {"role": "assistant", "content": text, **more}


def turn(n, **more):
    return [user(f"question {n}: {WORDS}?", **more), said(f"answer {n}: {WORDS}.")]


class Home:
    """A Hermes home with an engine's database and a log of the host's own."""

    def __init__(self, path, generation):
        self.path, self.new = path, generation == "new"
        path.mkdir()
        with closing(sqlite3.connect(path / "state.db")) as sql:
            sql.execute(f"CREATE TABLE messages ({COLUMNS[generation]})")
        self.engine = LCMEngine(
            8000, settings={"fresh_tail_tokens": 200}, summarizer=lambda asked: asked.text[:80]
        )
        self.engine.on_session_start("s", hermes_home=str(path))

    def hear(self, rows):
        """The engine sees a list."""
        self.engine.on_turn_complete(rows)

    def keep(self, *rows, session="s"):
        """The host writes rows to its log."""
        with closing(sqlite3.connect(self.path / "state.db", isolation_level=None)) as sql:
            for row in rows:
                kept = {"session_id": session, "timestamp": 1.0, **row}
                content = kept["content"]
                if isinstance(content, list):
                    kept["content"] = "\x00json:" + json.dumps(content)
                if "tool_calls" in kept:
                    kept["tool_calls"] = json.dumps(kept["tool_calls"])
                if not self.new:
                    kept = {k: v for k, v in kept.items() if f"{k} " in COLUMNS["old"]}
                names, marks = ", ".join(kept), ", ".join("?" * len(kept))
                sql.execute(f"INSERT INTO messages ({names}) VALUES ({marks})", [*kept.values()])  # noqa: S608

    def verify(self):
        self.engine.close()
        with closing(open_store(self.path / "lcm" / "lcm.db", create=False)) as store:
            return verify(store, host=HostLogAt(self.path / "state.db"))


@pytest.fixture(params=["old", "new"])
def home(request, tmp_path):
    made = Home(tmp_path / "home", request.param)
    yield made
    made.engine.close()


def whats(findings):
    return [finding.what for finding in findings]


def test_what_is_stored_is_found(home):
    """Texts, parts with pictures, calls and their results, a message without words."""
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:,x"}},
    ]
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}
    ]
    rows = [
        user(parts), said("", tool_calls=calls), {"role": "tool", "tool_call_id": "c1", "content": "x" * 5000},
        said("seen"), *turn(1), said(""),
    ]  # fmt: skip
    home.hear(rows)
    home.keep({"role": "system", "content": "be good"}, *rows)
    report = home.verify()
    assert (report.failures, report.notes) == ((), ())
    assert (report.host.rows, report.host.found, report.host.system) == (8, 7, 1)


def test_what_is_not_stored_is_named(home):
    """A row between rows that are there, and a row that no door ever brought, are failures by uid."""
    home.hear([*turn(1), *turn(3)])
    home.keep(*turn(1), user("of the harbour master nobody knows", message_uid="ab" * 16), *turn(3))
    report = home.verify()
    assert whats(report.failures) == ["is in Hermes's log (session s) and not here"]
    assert report.failures[0].uid == ("ab" * 16 if home.new else "s, row 3")
    assert not report.good


def test_turns_that_no_door_brought_are_lost(home):
    """One turn at the end may be going on; two are a loss."""
    home.hear(turn(1))
    home.keep(*turn(1), user("the newest question, of other things"))
    report = home.verify()
    assert report.good
    assert "a turn that has not ended" in report.notes[0].what
    home.keep(said("an answer nobody stored"), user("one more, which makes two"))
    assert len(home.verify().failures) == 3


def test_what_hosts_do_to_a_row_is_known(home):
    """Stripped, decorated, masked, flattened, folded: none of it is a loss."""
    long = "a long list of names that the tool gave back " * 20
    rows = [
        user("  a question with blanks around it \n"), said("one"), user("first part of it"), user("second part of it"),
        said(f"key sk-123456789 was {WORDS}"),
        user("an instruction of some length, which is told only once"), said(long),
    ]  # fmt: skip
    home.hear(rows)
    home.keep(
        user("a question with blanks around it"),
        said("one"),
        user("first part of it\n\nsecond part of it"),
        said(f"key *** was {WORDS}"),
        user(
            "[note of the host]\nan instruction of some length, which is told only once\n[another]"
        ),
        said(long.replace(" ", "  ")),
    )
    report = home.verify()
    assert (report.failures, report.notes) == ((), ())
    assert report.host.found == 6


def test_what_a_pass_shows_in_part_is_known_by_its_name(home):
    """However often: an older host keeps the whole list anew at every compaction in place, stubs included."""
    rows = [user("read all of it")]
    for n in range(12):
        calls = [
            {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        ]
        rows.append(said("", tool_calls=calls))
        rows.append(
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"part {n}: " + f"{WORDS} " * 56}
        )
    home.hear(rows)
    out = home.engine.compress(rows, home.engine.count_tokens(rows))
    stubs = [row for row in out if "lcm_expand gives them back" in str(row["content"])]
    home.keep(*rows)
    for _ in range(6):
        home.keep(*stubs)
    report = home.verify()
    assert report.failures == ()
    assert report.host.found >= len(rows) + 6 * len(stubs) > 80


def test_rows_of_ours_are_no_messages(home):
    """Summary rows, fillers, what was merged behind either, archived and new copies of the tail."""
    rows = [row for n in range(40) for row in turn(n)]
    home.hear(rows)
    live = home.engine.compress(rows, force=True)
    assert len(live) < len(rows)
    after = [*live, user("and now something that is quite different")]
    home.hear(after)
    archived = [{**row, "active": 0, "compacted": 1} for row in rows]
    home.keep(*archived, *after)
    report = home.verify()
    assert (report.failures, report.notes) == ((), ())
    assert report.host.own == 2  # the summary row and its filler
    assert report.host.found == report.host.rows - 2


def test_what_is_merged_behind_a_row_of_ours_is_a_message(home):
    """`S` with a user's text behind it: that text is looked for."""
    rows = [row for n in range(40) for row in turn(n)]
    home.hear(rows)
    live = home.engine.compress(rows, force=True)
    home.hear([*live, user("and now something that is quite different")])
    behind = "\n\nand now something that is quite different"
    home.keep(*rows[:4], user(live[0]["content"] + behind))
    report = home.verify()
    assert (report.failures, report.host.found) == ((), 5)
    home.keep(user(live[0]["content"] + "\n\nnobody heard this"), *rows[4:6])
    assert len(home.verify().failures) == 1


def test_what_was_there_before_the_engine_is_a_note(home):
    """Rows that were compacted before the engine saw the session cannot be in the store."""
    home.hear(turn(5))
    early = [{**row, "active": 0, "compacted": 1} for row in turn(1)]
    home.keep(*early, *turn(5))
    report = home.verify()
    assert report.good
    assert whats(report.notes) == [
        "2 rows of Hermes were compacted before the engine saw the session"
    ]


def test_what_was_taken_back_or_only_shown_is_a_note(home):
    """A row that was undone before its turn ended, and one that was only overheard."""
    home.hear([*turn(1), *turn(2)])
    undone = user("never mind what I asked of the gulls", active=0)
    home.keep(*turn(1), undone, user("chatter of the group nearby", observed=1), *turn(2))
    report = home.verify()
    assert report.good
    assert len(report.notes) == 2


def test_repeats_are_counted(home):
    """The host lists a sentence three times and two are stored: a word, for hosts do double rows."""
    home.hear([user("ok"), said("done"), user("ok"), said("done")])
    home.keep(*[user("ok"), said("done")] * 3)
    report = home.verify()
    assert report.good
    assert "2 messages more often than they were said" in report.notes[0].what


def test_the_log_is_only_read(home):
    """No file is made beside Hermes's log, and not a byte of it changes, in either journal mode."""
    home.hear(turn(1))
    home.keep(*turn(1))
    for mode in ("delete", "wal"):
        with closing(sqlite3.connect(home.path / "state.db")) as sql:
            sql.execute(f"PRAGMA journal_mode = {mode}")
        before = {p.name: p.read_bytes() for p in home.path.glob("state.db*")}
        assert home.verify().host.found == 2
        assert before == {p.name: p.read_bytes() for p in home.path.glob("state.db*")}


def test_a_host_that_writes_meanwhile(home):
    """Rows that are only in the WAL of a live host are read too."""
    home.hear([*turn(1), *turn(2)])
    home.keep(*turn(1))
    with closing(sqlite3.connect(home.path / "state.db", isolation_level=None)) as sql:
        sql.execute("PRAGMA journal_mode = WAL")
        home.keep(*turn(2))
        assert home.verify().host.found == 4
        sql.execute("BEGIN IMMEDIATE")
        assert home.verify().host.found == 4


def test_the_verb(home, capsys):
    """The log is found in the home, can be named, and its absence or another database is told."""
    home.hear(turn(1))
    home.keep(*turn(1), *turn(2), *turn(3))
    assert main(["--home", str(home.path), "verify", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["host"]["rows"], len(told["failures"])) == (6, 4)
    other = home.path / "lcm" / "lcm.db"
    assert main(["--home", str(home.path), "verify", "--json", "--host-db", str(other)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"error", "hint"}, "it says nothing against the store"
    assert "is no Hermes database" in told["error"]
    (home.path / "state.db").unlink()
    assert main(["--home", str(home.path), "verify"]) == 0
    assert "was not looked at" in " ".join(capsys.readouterr().out.split())
    missing = ["--host-db", str(home.path / "state.db")]
    assert main(["--home", str(home.path), "verify", *missing]) == 1
