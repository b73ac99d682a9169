"""Forgetting on request: what goes, what stays provable, and that it does not come back."""

from __future__ import annotations

import io
import json
import sqlite3
import sys

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.erase import eraser, forms_of, stones_of
from lcm.storage import open_store
from lcm.storage.canon import decode

NEEDLE = "swordfish-77"
SETTINGS = {"redact": "off", "threshold": 0.5, "target": 0.2}


def conversation(turns, needle=NEEDLE):
    """Turns of about 120 tokens; the second and the last hold the needle, one in a tool's arguments."""
    rows = [{"role": "system", "content": "be kind"}]
    for n in range(turns):
        secret = f" and {needle} besides" if n in (1, turns - 1) else ""
        rows.append(
            {"role": "user", "content": f"question {n} about the harbour{secret} " + "word " * 50}
        )
        if n == 1:
            call = {
                "id": "c1",
                "type": "function",
                "function": {"name": "run", "arguments": f'{{"p": "{needle}"}}'},
            }
            rows.append({"role": "assistant", "content": None, "tool_calls": [call]})
            rows.append(
                {"role": "tool", "tool_call_id": "c1", "content": f"{needle}\n" + "x" * 5000}
            )
        rows.append({"role": "assistant", "content": f"answer {n} " + "text " * 50})
    return rows


def engine_at(folder, **settings):
    return LCMEngine(
        6000,
        db_path=folder / "lcm.db",
        settings=SETTINGS | settings,
        summarizer=lambda request: f"Summary that says {NEEDLE}: {request.text[:200]}",
    )


@pytest.fixture
def kept(tmp_path):
    """A folder with a database of two sessions that hold the needle, one of them compacted, its engine still on."""
    engine = engine_at(tmp_path)
    engine.on_session_start("first")
    rows = conversation(20)
    shown = engine.compress(rows, force=True)
    assert len(shown) < len(rows)
    engine.on_session_start("second")
    engine.ingest(
        [{"role": "user", "content": f"also {NEEDLE}"}, {"role": "assistant", "content": "ok"}]
    )
    engine.on_session_start("first")
    yield tmp_path, engine, rows, shown
    engine.close()


def cli(folder, *words, stdin=""):
    """The exit code of the command line."""
    before = sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        code = main(["--db", str(folder / "lcm.db"), *words])
    finally:
        sys.stdin = before
    return code


def said(capsys):
    return json.loads(capsys.readouterr().out)


def holders(folder):
    """Files that hold the needle, in plain bytes; large texts are kept compressed, so the store is asked too."""
    plain = [path.name for path in folder.glob("lcm.db*") if NEEDLE.encode() in path.read_bytes()]
    store = open_store(folder / "lcm.db", create=False)
    texts = [message.body for message in store.stream()]
    nodes = store.nodes([uid for _, uid in store.audit().nodes(0, 999)])
    store.close()
    return [
        *plain,
        *(t for t in texts if NEEDLE.encode() in t),
        *(n.uid for n in nodes if NEEDLE in repr(n)),
    ]


def test_a_preview_changes_nothing(kept, capsys):
    """Without a yes: what would go is shown, by counts and uids and never the string, and all stays."""
    folder, engine, rows, _ = kept
    assert cli(folder, "forget", "--text", "--json", stdin=f"{NEEDLE}\n") == 1
    out = capsys.readouterr().out
    data = json.loads(out)
    assert not data["done"] and NEEDLE not in out
    assert len(data["messages"]) == 5 and len(data["nodes"]) >= 1
    assert cli(folder, "forget", "--session", "first", "--json") == 1
    data = said(capsys)
    assert data["sessions"] == ["first"] and len(data["messages"]) == len(rows) - 1
    assert holders(folder)
    assert engine.ingest(rows).known == len(rows) - 1


def test_a_string_goes_from_everywhere(kept, capsys):
    """SEC-01: messages, calls, payloads, summaries, hints, index, free pages and the log of writes: nowhere left;
    what is around it stays, under the same uids, and verify proves it and says how many."""
    folder, _, rows, _ = kept
    before = open_store(folder / "lcm.db")
    uids = [message.uid for message in before.stream()]
    nodes = [uid for _, uid in before.audit().nodes(0, 999)]
    before.close()
    assert cli(folder, "forget", "--text", "--yes", "--json", stdin=NEEDLE) == 0
    data = said(capsys)
    assert data["done"] and data["scrubbed"]
    assert holders(folder) == []
    store = open_store(folder / "lcm.db")
    assert [message.uid for message in store.stream()] == uids
    assert [uid for _, uid in store.audit().nodes(0, 999)] == nodes
    texts = [decode(message.body)["content"] or "" for message in store.stream()]
    assert f"question 1 about the harbour and [forgotten] besides {'word ' * 50}" in texts
    report = verify(store)
    assert report.failures == () and report.counts.messages == len(rows) - 1 + 2
    assert report.counts.forgotten == data["versions"] + len(data["nodes"])
    assert "forgotten on request" in report.verdict
    store.close()
    assert cli(folder, "search", NEEDLE, "--mode", "exact", "--scope", "all", "--json") == 0
    assert said(capsys)["total"] == 0


def test_a_forgotten_string_does_not_come_back(kept, capsys):
    """An agent that still has the string in its list brings it back in no way: known rows stay known, a row that
    was decorated, folded or edited, a new one, and a new summary are stored without it; nothing is doubled."""
    folder, engine, rows, shown = kept
    cli(folder, "forget", "--text", "--yes", "--json", stdin=NEEDLE)
    again = engine.ingest(rows)
    assert (again.new, again.revised, again.known) == (0, 0, len(rows) - 1)
    assert engine.ingest(shown).new == 0, "the summary row that it shows is still known as ours"
    decorated = [dict(row) for row in rows]
    decorated[2]["content"] = f"[note: {NEEDLE}]\n{decorated[2]['content']}"
    assert engine.ingest(decorated).new == 0
    grown = [*decorated, {"role": "user", "content": f"once more {NEEDLE}, do not forget"}]
    assert engine.ingest(grown).new == 1
    fresh = engine_at(folder)
    fresh.on_session_start("first")
    assert fresh.ingest(grown).new == 0, "after a restart too"
    fresh.compress([*grown, *conversation(12)[1:]], force=True)
    fresh.close()
    assert holders(folder) == []
    store = open_store(folder / "lcm.db")
    assert verify(store).failures == ()
    store.close()


def test_each_form_of_a_string_is_found():
    """As it is, with its white space collapsed, and escaped as JSON in a tool's arguments has it."""
    text = 'pa"ss\nwörd 9'
    erase = eraser(stones_of(text, 1.0))
    for form in forms_of(text):
        assert erase(f"before {form} behind") == "before [forgotten] behind"
    assert erase("nothing of it") == "nothing of it"
    assert erase(text[:-1]) == text[:-1]


def test_a_stone_does_not_hold_the_string():
    """What is kept to know it again is its length and salted digests: two stones of one string have nothing alike."""
    one, other = stones_of(NEEDLE, 1.0)[0], stones_of(NEEDLE, 1.0)[0]
    assert NEEDLE not in repr(one)
    assert (
        one.digest != other.digest
        and one.name != other.name
        and one.detail["length"] == other.detail["length"]
    )


def test_a_session_goes_whole(kept, capsys):
    """Its messages, versions, summaries, passes and names are gone; other sessions stay; verify says how many."""
    folder, _, rows, _ = kept
    assert cli(folder, "forget", "--session", "first", "--yes", "--json") == 0
    data = said(capsys)
    assert data["done"] and data["scrubbed"] and len(data["messages"]) == len(rows) - 1
    store = open_store(folder / "lcm.db")
    assert [session.name for session in store.sessions()] == ["second"]
    assert store.totals().messages == 2 and store.passes() == [] and store.audit().nodes(0, 9) == []
    report = verify(store)
    assert report.failures == () and report.counts.forgotten == len(rows) - 1
    assert [note.uid for note in report.notes] == ["first"]
    store.close()
    words = [b"question 3", b"answer 7", b"harbour"]
    assert [
        path.name for path in folder.glob("lcm.db*") if any(w in path.read_bytes() for w in words)
    ] == []


def test_a_forgotten_session_does_not_come_back(kept, capsys):
    """The engine that is on it keeps working, in memory; its list, what is said later, a compaction, a rotation and
    a restart bring nothing back; and it says so. A new session is kept."""
    folder, engine, rows, _ = kept
    cli(folder, "forget", "--session", "first", "--yes", "--json")
    assert engine.ingest(rows).new == len(rows) - 1
    more = [*rows, {"role": "user", "content": "and one thing more"}]
    engine.ingest(more)
    smaller = engine.compress([*more, {"role": "assistant", "content": "yes"}], force=True)
    assert len(smaller) < len(more)
    assert "forgotten on request" in engine.get_status()["not_kept"]
    assert engine.get_status()["left_out"]["forgotten"]["sessions"] == 1
    engine.on_session_start("first-2", boundary_reason="compression", old_session_id="first")
    engine.ingest(smaller)
    again = engine_at(folder)
    for name in ("first", "first-2"):
        again.on_session_start(name)
        again.ingest(more)
    again.on_session_start("third")
    assert again.ingest([{"role": "user", "content": "a new beginning"}]).new == 1
    again.close()
    store = open_store(folder / "lcm.db")
    assert [session.name for session in store.sessions()] == ["second", "third"]
    assert store.totals().messages == 3 and store.audit().nodes(0, 9) == []
    assert verify(store).failures == ()
    store.close()
    assert not any(b"harbour" in path.read_bytes() for path in folder.glob("lcm.db*"))


def test_a_summary_that_is_late_is_not_written(tmp_path):
    """A session that is forgotten while its summary is being written leaves no summary behind."""

    def forgets(request):
        main(["--db", str(tmp_path / "lcm.db"), "forget", "--session", "first", "--yes", "--json"])
        return "a summary that comes too late"

    engine = LCMEngine(6000, db_path=tmp_path / "lcm.db", settings=SETTINGS, summarizer=forgets)
    engine.on_session_start("first")
    rows = conversation(20)
    assert engine.compress(rows, force=True) == rows
    store = open_store(tmp_path / "lcm.db")
    assert store.audit().nodes(0, 9) == [] and store.totals().messages == 0
    store.close()
    engine.close()


def test_a_branch_keeps_what_it_shows(tmp_path, capsys):
    """A parent is forgotten: what its branch shows stays, with the summaries over it; the preview names the branch."""
    store = open_store(tmp_path / "lcm.db")
    parent = store.open_session("parent")
    from lcm.dag.ingest import Ledger

    rows = conversation(4, needle="x")
    Ledger(store, parent).ingest(rows[:6])
    branch = store.open_session("branch", parent="parent", relation="branch")
    Ledger(store, parent).ingest(rows)
    Ledger(store, branch).ingest([*rows[:6], {"role": "user", "content": "another way"}])
    store.close()
    assert cli(tmp_path, "forget", "--session", "parent", "--yes", "--json") == 0
    data = said(capsys)
    assert data["shared"] == 5 and data["branches"] == ["branch"]
    store = open_store(tmp_path / "lcm.db")
    line = store.session("branch").line
    assert len(store.entries(line)) == 6
    assert verify(store).failures == ()
    store.close()


def test_a_flipped_byte_in_what_stands_there_now_is_found(kept, capsys):
    """What was put in the place of a forgotten string is proved as well: message and node."""
    folder, engine, _, _ = kept
    cli(folder, "forget", "--text", "--yes", "--json", stdin=NEEDLE)
    engine.close()
    sql = sqlite3.connect(folder / "lcm.db")
    (number, body), *_ = sql.execute(
        "SELECT id, body FROM messages WHERE instr(body, '[forgotten]')"
    )
    sql.execute(
        "UPDATE messages SET body = ? WHERE id = ?", [body.replace(b"harbour", b"harbout"), number]
    )
    (node, data), *_ = sql.execute("SELECT id, data FROM nodes WHERE instr(data, '[forgotten]')")
    sql.execute(
        "UPDATE nodes SET data = ? WHERE id = ?", [data.replace("[forgotten]", "[forgotton]"), node]
    )
    sql.commit()
    sql.close()
    store = open_store(folder / "lcm.db")
    whats = [each.what for each in verify(store).failures]
    assert any("its bytes do not give its digest" in what for what in whats)
    assert any("do not give its uid" in what for what in whats)
    store.close()


def test_a_backup_is_made_where_one_is_wanted(kept, capsys):
    """``--backup`` copies first, and says that the copy still holds it; later calls name the copies."""
    folder, _, _, _ = kept
    assert cli(folder, "forget", "--text", "--yes", "--backup", stdin=NEEDLE) == 0
    out = capsys.readouterr().out
    assert "It still holds what was forgotten" in out
    (copy,) = (folder / "backups").glob("*.db")
    assert NEEDLE.encode() in copy.read_bytes()
    assert cli(folder, "forget", "--session", "second", "--json") == 1
    assert said(capsys)["older_backups"] == [str(copy)]
    aside = folder / "lcm.db.20261130-014500" / "lcm.db"  # as it is moved away before a restore
    aside.parent.mkdir()
    aside.write_bytes(copy.read_bytes())
    assert cli(folder, "forget", "--session", "second", "--json") == 1
    assert said(capsys)["older_backups"] == [str(copy), str(aside)]


class Terminal(io.StringIO):
    """What a person types, a line at a time."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("typed", "gone", "copies"),
    [("y\ny\n", True, 1), ("y\nn\n", True, 0), ("n\n", False, 0), ("\n", False, 0)],
)
def test_a_person_is_asked(kept, capsys, monkeypatch, typed, gone, copies):
    """At a terminal: what would go is shown, then the question, then the offer of a backup; all but a yes is a no."""
    folder, _, _, _ = kept
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    code = main(["--db", str(folder / "lcm.db"), "forget", "--session", "second"])
    out, err = capsys.readouterr()
    assert "This would go" in err and "cannot be undone" in err and ("backup first" in err) == gone
    assert code == (0 if gone else 1) and ("Forgotten" in out) == gone
    store = open_store(folder / "lcm.db")
    assert (store.session("second") is None) == gone
    store.close()
    assert len(list((folder / "backups").glob("*.db"))) == copies


def test_what_cannot_be_meant_is_refused(kept, capsys):
    """Neither or both, a session that is not there, a string too short, one that stands nowhere."""
    folder, _, _, _ = kept
    assert cli(folder, "forget") == 2
    assert "--session ID, or --text" in capsys.readouterr().err
    assert cli(folder, "forget", "--session", "first", "--text", stdin=NEEDLE) == 2
    assert cli(folder, "forget", "--session", "nobody", "--yes") == 1
    assert cli(folder, "forget", "--text", "--yes", stdin="abc") == 2
    assert "4 characters" in capsys.readouterr().err
    assert cli(folder, "forget", "--text", "--yes", "--json", stdin="stands nowhere at all") == 0
    assert not said(capsys)["done"]
    assert cli(folder, "forget", "--finish", "--json") == 0


def test_forgetting_is_not_offered_in_a_chat(kept):
    """A chat may be anybody's."""
    from lcm.console.chat import slash

    folder, _, _, _ = kept
    answer = slash("forget --session first --yes", db_path=str(folder / "lcm.db"), session="first")
    assert "in a terminal only" in answer


def test_a_branch_goes_on_being_kept(tmp_path):
    """A branch that was there when its parent was forgotten is kept as before; one that comes later is not."""

    class Host:
        """A host's session database: everything came from the parent."""

        def get_session(self, name):
            return {"parent_session_id": "parent"} if name != "parent" else {}

    engine = engine_at(tmp_path)
    rows = conversation(4, needle="x")
    for name in ("parent", "branch"):
        engine.bind_session_state(session_db=Host(), session_id=name)
        engine.ingest(rows)
    assert cli(tmp_path, "forget", "--session", "parent", "--yes", "--json") == 0
    for name in ("branch", "later"):
        again = engine_at(tmp_path)
        again.bind_session_state(session_db=Host(), session_id=name)
        again.ingest([*rows, {"role": "user", "content": f"more in {name}"}])
        again.close()
    engine.close()
    store = open_store(tmp_path / "lcm.db")
    assert [session.name for session in store.sessions()] == ["branch"]
    assert store.totals().messages == len(rows)
    assert store.eraser().is_forgotten("later") and not store.eraser().is_forgotten("branch")
    assert verify(store).failures == ()
    store.close()


def test_where_all_was_forgotten_it_is_said(kept, capsys):
    """Nothing speaks of a session that has yet to begin, when the only ones were forgotten."""
    folder, *_ = kept
    for session in ("first", "second"):
        cli(folder, "forget", "--session", session, "--yes")
    capsys.readouterr()
    for verb in (["status"], ["tree"], ["sessions"], ["search", "anything"], ["show", "12345678"]):
        cli(folder, *verb)
        assert "forgotten on request" in "".join(capsys.readouterr()), verb


def test_a_string_in_another_case_is_named(kept, capsys):
    """Upper and lower case count: what stands in another case stays, and each answer says in how many messages
    and how it differs, without showing it."""
    folder, engine, rows, _ = kept
    more = [
        {"role": "user", "content": f"{NEEDLE.upper()} and {NEEDLE}"},
        {"role": "assistant", "content": NEEDLE.title()},
        {"role": "user", "content": f"again {NEEDLE.title()}"},
    ]
    engine.ingest([*rows, *more])
    told = "It also stands in another case in 3 messages; upper and lower case count."
    for typed, words, code in (
        (NEEDLE, [], 1),
        (NEEDLE, ["--yes"], 0),
        (NEEDLE, ["--yes"], 0),  # it is nowhere now
    ):
        assert cli(folder, "forget", "--text", *words, stdin=typed) == code
        out = capsys.readouterr().out
        assert told in out and "in capitals in 1, each word with a capital in 2." in out
        assert NEEDLE not in out.lower()
    assert "It stands nowhere in the database" in out
    assert cli(folder, "forget", "--text", "--yes", "--json", stdin=NEEDLE.upper()) == 0
    assert said(capsys)["other_case"] == {"messages": 2, "forms": {"title": 2}}
    assert cli(folder, "forget", "--text", "--yes", stdin=NEEDLE.title()) == 0
    assert "another case" not in capsys.readouterr().out


def test_what_is_left_elsewhere_is_named_before_and_after(kept, capsys):
    """A string is replaced, no message goes; Hermes's own database is named by its path where it is."""
    folder, _, _, _ = kept
    assert cli(folder, "forget", "--text", stdin=NEEDLE) == 1
    out = capsys.readouterr().out
    assert "It would be replaced by [forgotten] in:\n  5 messages: " in out
    assert "This would go" not in out
    assert "Not touched: what Hermes keeps itself (its session database, its logs)" in out
    (folder.parent / "state.db").touch()
    for words, code, head in (([], 1, "It would be replaced"), (["--yes"], 0, "Replaced")):
        assert cli(folder, "forget", "--text", *words, stdin=NEEDLE) == code
        out = capsys.readouterr().out
        assert out.startswith(f"{head} by [forgotten] in:")
        assert "`hermes sessions delete ID`" in out
        assert f"  session database: {folder.parent / 'state.db'}\n" in out
        assert out.count("Not touched") == 1
