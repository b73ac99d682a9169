"""``export``: what each form holds, to a file or to a pipe, from good stores and damaged ones."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.dag.compact import PassRequest, compact
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.storage.records import Pass

ROOT = Path(__file__).resolve().parent.parent
FORMATS = ("jsonl", "markdown", "state")


@pytest.fixture
def call(capsys):
    """Run the command line; gives (exit code, standard output, standard error)."""

    def call(*words):
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def database(tmp_path):
    """Two sessions; the first has an edit, an undo and a compaction."""
    path = tmp_path / "home" / "lcm.db"
    store = open_store(path)
    ledger = Ledger(store, store.open_session("first"))
    rows = []
    for n in range(1, 13):
        rows += [
            {"role": "user", "content": f"Ask {n}: the harbour. " + f"word{n} " * 60},
            {"role": "assistant", "content": f"Answer {n}"},
        ]
    ledger.ingest(rows)
    rows[1] = {**rows[1], "content": "Answer 1\n## Turn 99\n```\nand a fence"}
    ledger.ingest(rows)
    ledger.ingest(rows := rows[:-2])
    _, binding = ledger.bind(rows)
    done = compact(
        store,
        ledger.session.line,
        binding,
        PassRequest(Settings(), 3000, 1500, None, force=True, stamp=False),
    )
    store.record_pass(
        Pass(5.0, "first", done.before, done.after, len(rows), len(done.rows), done.frame.uid)
    )
    second = Ledger(store, store.open_session("second"))
    calls = [{"id": "c", "function": {"name": "run", "arguments": '{"x": "````"}'}}]
    second.ingest(
        [
            {
                "role": "user",
                "content": [{"type": "text", "text": "look \x1b[2J \u202e"}, {"type": "image_url"}],
            },
            {"role": "assistant", "content": None, "tool_calls": calls},
            {
                "role": "tool",
                "tool_call_id": "c",
                "tool_name": "run",
                "content": "```\nfenced\n```",
            },
        ]
    )
    store.close()
    return path


def test_a_line_holds_a_message_as_it_is(call, database):
    """uid, session, turn, place, version, time, whether withdrawn, and the message; in plain ASCII."""
    code, out, _ = call("export", "--db", database)
    assert (0, True) == (code, out.isascii())
    records = [json.loads(line) for line in out.splitlines()]
    messages = [
        record for record in records if record["kind"] == "message" and record["session"] == "first"
    ]
    assert 25 == len(messages)
    first, answer, edited = messages[:3]
    assert ("first", 1, 1, 1, False) == tuple(
        first[k] for k in ("session", "turn", "version", "versions", "withdrawn")
    )
    assert {"role": "user", "content": "Ask 1: the harbour. " + "word1 " * 60} == first["message"]
    assert ("Answer 1", 1, 2) == (
        answer["message"]["content"],
        answer["version"],
        answer["versions"],
    )
    assert (answer["uid"], 2) == (edited["uid"], edited["version"])
    assert [True, True] == [message["withdrawn"] for message in messages[-2:]]
    assert sorted(m["seq"] for m in messages) == [m["seq"] for m in messages]


def test_markdown_is_whole_and_cannot_be_broken_by_what_was_said(call, database):
    """Headings and fences inside a message stay inside; control characters do not reach a terminal."""
    code, out, _ = call("export", "--db", database, "--format", "markdown")
    lines = out.splitlines()
    assert 0 == code
    assert ["# Session first", "# Session second"] == [
        line for line in lines if line.startswith("# ")
    ]
    assert [f"## Turn {n}" for n in (*range(1, 13), 1)] == [
        line for line in lines if line.startswith("## ")
    ]
    assert "> ## Turn 99" in lines
    assert "version 2" in out
    assert 2 == out.count("withdrawn)\n")
    assert "\x1b" not in out and "\u202e" not in out
    assert "````\n```\nfenced\n```\n````" in out
    assert all(f"Answer {n}\n" in out for n in range(1, 13))


def test_the_state_turn_by_turn(call, database):
    """Levels, sufficient tokens and hints by turn; each summary in every size; each compaction and what it showed."""
    code, out, _ = call("export", "--db", database, "--format", "state", "--session", "first")
    (state,) = json.loads(out)["sessions"]
    assert (0, 24, list(range(1, 13))) == (
        code,
        state["messages"],
        [turn["turn"] for turn in state["turns"]],
    )
    nodes = {node["uid"]: node for node in state["nodes"]}
    first, last = state["turns"][0], state["turns"][-1]
    leaf = nodes[first["nodes"][0]]
    assert sorted(map(int, leaf["levels"])) == first["levels"]
    assert (leaf["sufficient_tokens"], leaf["topic"], leaf["hints"]) == (
        first["sufficient_tokens"],
        first["topic"],
        first["hints"],
    )
    assert first["hints"] and first["sufficient_tokens"] in first["levels"]
    assert (2, [], None) == (last["withdrawn"], last["nodes"], last["sufficient_tokens"])
    (pass_,) = state["compactions"]
    assert pass_["tokens"][0] > pass_["tokens"][1] and pass_["rows"][0] > pass_["rows"][1]
    assert [1, max(node["turns"][1] for node in state["nodes"])] == pass_["turns"]
    assert {uid for uid, _ in pass_["shows"]} <= nodes.keys()


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_is_private_and_takes_no_others_place(call, database, tmp_path, form):
    """0600, the same as on standard output; a second one of that name is refused and the first kept."""
    os.umask(os.umask(0o022))
    target = tmp_path / "out"
    code, out, _ = call("export", "--db", database, "--format", form, "--out", target)
    assert (0, True) == (code, f"export: {target}" in out)
    assert 0o600 == stat.S_IMODE(target.stat().st_mode)
    text = target.read_text(encoding="utf-8")
    assert text == call("export", "--db", database, "--format", form)[1]
    code, _, err = call("export", "--db", database, "--format", form, "--out", target)
    assert (1, True) == (code, "there already" in err)
    assert text == target.read_text(encoding="utf-8")
    assert {"home", "out"} == {path.name for path in tmp_path.iterdir()}


def test_a_full_disk_is_said_of_the_file_that_is_written(call, database, tmp_path):
    """Not the database is named but the export, and nothing is left of it."""
    target = tmp_path / "there" / "x.jsonl"
    target.parent.mkdir()
    store = open_store(database)
    rows = [{"role": "user", "content": "a long word " * 50_000}]
    Ledger(store, store.open_session("long")).ingest(rows)
    store.close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        code, _, said = call("export", "--db", database, "--out", target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 1
    assert f"Cannot use {target}: " in said
    assert str(database) not in said.partition("`hermes lcm doctor")[0]
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("words", [("export", "--out"), ("view", "--out"), ("backup",)])
def test_no_folder_is_made_for_a_name(database, call, tmp_path, words):
    """A file in a folder that is not there is refused in one line, for each command that writes one."""
    verb, *rest = words
    target = tmp_path / "nowhere" / "deep" / "x"
    code, _, said = call(verb, "--db", database, *rest, target)
    assert code == 1
    assert f"There is no folder `{target.parent}`. Make it, or name another file." in said
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_store_and_a_missing_one(call, tmp_path, form):
    """Nothing to export is a file of nothing; no database is one sentence, and no file."""
    open_store(tmp_path / "lcm.db").close()
    code, out, _ = call("export", "--db", tmp_path / "lcm.db", "--format", form)
    assert 0 == code
    assert form == "markdown" or json.loads(out.splitlines()[0] if form == "jsonl" else out)
    code, _, err = call(
        "export", "--db", tmp_path / "none.db", "--format", form, "--out", tmp_path / "out"
    )
    assert (1, True, False) == (code, "no such file" in err, (tmp_path / "out").exists())


def test_one_session_or_all(call, database):
    """The beginning of a name is enough; an unknown one is an error, not everything."""
    _, out, _ = call("export", "--db", database, "--session", "sec")
    sessions = {r["session"] for r in map(json.loads, out.splitlines()) if r["kind"] == "message"}
    assert {"second"} == sessions
    code, out, err = call("export", "--db", database, "--session", "third")
    assert (1, "", True) == (code, out, "third" in err)


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("jsonl", "body = x'7b7d'"),
        ("markdown", "body = x'7b7d'"),
        ("jsonl", "version = 1 << 40"),  # more than anyone could count
    ],
)
def test_a_damaged_message_is_named_and_the_rest_comes(call, database, tmp_path, form, change):
    """Exit code 1, the uid, and every other message in the file; what comes in from it is proved."""
    with closing(sqlite3.connect(database)) as sql:
        sql.execute(f"UPDATE messages SET {change} WHERE id = 25")  # noqa: S608 - one of those above
        sql.commit()
    target = tmp_path / "out"
    code, out, _ = call("export", "--db", database, "--format", form, "--out", target, "--json")
    answer = json.loads(out)
    assert (1, 26, 1) == (code, answer["messages"], len(answer["damaged"]))
    code, out, _ = call("export", "--db", database, "--format", form, "--out", tmp_path / "again")
    assert f"WRONG: 1 message could not be read and is not in it: {answer['damaged'][0]}" in out
    if form == "jsonl":
        assert 0 == call("import", target, "--db", tmp_path / "new.db")[0]
        assert 0 == call("verify", "--db", tmp_path / "new.db")[0]


def test_nothing_but_the_export_is_on_standard_output(database):
    """In a pipe: what is said about it goes to standard error; a reader that leaves is no trouble."""
    words = [
        sys.executable,
        str(ROOT / "scripts" / "run.py"),
        "console.cli",
        "export",
        "--db",
        str(database),
    ]
    done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    assert all(json.loads(line) for line in done.stdout.splitlines())
    assert b"27 messages" in done.stderr
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as left:
        left.stdout.read(10)
        left.stdout.close()
        said = left.stderr.read()
        assert b"Traceback" not in said and b"Cannot use" not in said


@pytest.mark.parametrize("form", ["markdown", "jsonl", "state"])
def test_standard_output_is_utf_8_whatever_the_locale(tmp_path, form):
    """The same bytes as in a file: an export with question marks in it would be no export."""
    path = tmp_path / "lcm.db"
    engine = LCMEngine(8000, db_path=path, settings={})
    engine.on_session_start("s")
    engine.ingest(
        [{"role": "user", "content": "été 👩 执行"}, {"role": "assistant", "content": "да"}]
    )
    engine.close()
    words = ["--db", str(path), "--format", form]
    assert main(["export", *words, "--out", str(tmp_path / "out")]) == 0
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "run.py"), "console.cli", "export", *words],
        capture_output=True, check=True, timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.stdout == (tmp_path / "out").read_bytes()
    assert form != "markdown" or "执行" in done.stdout.decode("utf-8")
