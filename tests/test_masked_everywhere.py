"""No part of a message, however odd, carries a secret to a place where it must not be."""

from __future__ import annotations

import json

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.renderer import HEAD
from lcm.storage import open_store

SECRET = "ghp_" + "Ab1" * 12


def nested(value, levels):
    for _ in range(levels):
        value = [value]
    return value


def user(content, **more):
    return {"role": "user", "content": content, **more}


def called(name, arguments, number="c"):
    function = {"name": name, "arguments": arguments}
    calls = [{"id": number, "type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": calls}


#: One row for each place where a secret can hide.
PLACES = {
    "text": user(f"my token is {SECRET}"),
    "data url": user(f"data:text/plain;base64,hello my token is {SECRET}"),
    "a picture that is none": user(f"data:image/png;base64,{SECRET}"),
    "deep": {"role": "assistant", "content": [{"type": "text", "text": "hi", "m": nested(SECRET, 300)}]},
    "deep and large": {"role": "assistant", "content": nested(f"{SECRET} " + "x" * 5000, 300)},
    "a summary row that is none": user(f"{HEAD}\nmy token {SECRET}\n[lcm 12345678]"),
    "beside one": {**called("t", json.dumps({"token": SECRET})), "content": f"{HEAD}\n[lcm 12345678]"},
    "sender": user("x", name=SECRET),
    "uid": user("x", message_uid=SECRET),
    "absorbed uid": user("x", message_uid="a" * 32, _absorbed_message_uids=[SECRET]),
    "called name": called(SECRET, "{}", SECRET),
    "answered call": {"role": "tool", "tool_call_id": SECRET, "tool_name": SECRET, "content": "r"},
    "key": {"role": "assistant", "content": "x", "meta": {SECRET: 1}},
    "role": {"role": SECRET, "content": "x"},
    "bytes": user(SECRET.encode()),
    "set": {"role": "assistant", "content": "x", "meta": {SECRET}},
    "key of bytes": user({SECRET.encode(): 1}),
}  # fmt: skip


def around(row):
    """A conversation that is worth compacting, with *row* near its beginning."""
    rows = [user("first " * 50), row, {"role": "assistant", "content": "reply " * 200}]
    for n in range(6):
        rows += [
            user(f"question {n} " * 200),
            {"role": "assistant", "content": f"answer {n} " * 200},
        ]
    return rows


def on_disk(folder):
    """Whether the secret is in any file, or in what is kept compressed in one."""
    plain = b"".join(path.read_bytes() for path in folder.rglob("lcm.db*") if path.is_file())
    store = open_store(folder / "lcm.db", create=False)
    held = store.eraser().holding([SECRET.encode()])
    store.close()
    return SECRET.encode() in plain or bool(held)


@pytest.mark.parametrize("setting", ["summaries", "store"])
@pytest.mark.parametrize("place", PLACES)
def test_a_secret_stays_out(tmp_path, place, setting):
    """SEC-01: Wherever it stands in a row, no summariser reads it, and with ``redact: store`` no file has it; the
    rows are known again, nothing is doubled, and verify proves the whole."""
    read = []

    def summarizer(request):
        read.append(request.text)
        return "They spoke of this and that."

    settings = {"redact": setting}
    engine = LCMEngine(8000, db_path=tmp_path / "lcm.db", settings=settings, summarizer=summarizer)
    engine.on_session_start("s")
    rows = around(PLACES[place])
    assert engine.ingest(rows).new == len(rows)
    shown = engine.compress(rows, current_tokens=10**6, force=True)
    assert engine.ingest(shown).new == 0 and engine.ingest(rows).new == 0
    engine.close()
    assert read and not [text for text in read if SECRET in text]
    if setting == "store":
        assert not on_disk(tmp_path)
    store = open_store(tmp_path / "lcm.db")
    assert store.totals().messages == len(rows) and verify(store).failures == ()
    store.close()


def test_two_uids_that_hold_secrets_stay_two(tmp_path):
    """What stands in the place of a uid is another's in no case: two messages do not become one."""
    other = "ghp_" + "Cd2" * 12
    rows = [user("one", message_uid=SECRET), user("two", message_uid=other)]
    engine = LCMEngine(8000, db_path=tmp_path / "lcm.db", settings={"redact": "store"})
    engine.on_session_start("s")
    assert engine.ingest(rows).new == 2
    changed = [rows[0], {**rows[1], "content": "two and more"}]
    assert engine.ingest(changed).revised == 1
    engine.close()
    assert not on_disk(tmp_path)


def test_a_session_whose_id_holds_a_secret(tmp_path):
    """It is kept under another name, always the same: it goes on after a restart and a rotation."""
    for name, old in (
        (f"agent:{SECRET}", None),
        (f"agent:{SECRET}", None),
        (f"next:{SECRET}", f"agent:{SECRET}"),
    ):
        engine = LCMEngine(8000, db_path=tmp_path / "lcm.db", settings={"redact": "store"})
        if old:
            engine.on_session_start(old)
            engine.on_session_start(name, boundary_reason="compression", old_session_id=old)
        else:
            engine.on_session_start(name)
        engine.ingest([user("only this")])
        engine.close()
    assert not on_disk(tmp_path)
    store = open_store(tmp_path / "lcm.db")
    first, second = store.sessions()
    assert first.line == second.line and second.parent == first.name
    assert store.totals().messages == 1
    store.close()


@pytest.mark.parametrize("place", [*PLACES, "session"])
def test_what_is_shared_has_no_secret(tmp_path, capsys, place):
    """``export --shareable`` in each form: not in uids, names, roles, summaries or the names of sessions either; and
    the file can be imported."""
    session = f"agent:{SECRET}" if place == "session" else "agent:7"
    settings = {"redact": "off"}
    engine = LCMEngine(
        8000,
        db_path=tmp_path / "lcm.db",
        settings=settings,
        summarizer=lambda request: f"It is about {SECRET}.",
    )
    engine.on_session_start(session)
    rows = around(PLACES.get(place, user("x")))
    engine.compress(rows, current_tokens=10**6, force=True)
    engine.close()
    database = ["--db", str(tmp_path / "lcm.db")]
    for form in ("markdown", "state", "jsonl"):
        assert (
            main([*database, "export", "--shareable", "--format", form, "--session", "agent"]) == 0
        )
        out = capsys.readouterr().out
        assert len(out) > 1000 and SECRET not in out
    (tmp_path / "x.jsonl").write_text(out, "utf-8")
    assert main(["--db", str(tmp_path / "new.db"), "import", str(tmp_path / "x.jsonl")]) == 0
    assert f"imported: {len(rows)} messages" in capsys.readouterr().out


def test_an_import_brings_no_session_that_leaves_no_trace(tmp_path, capsys):
    """Sessions that this home ignores, or keeps in memory only, do not come, and the answer says why; others do."""
    engine = LCMEngine(8000, db_path=tmp_path / "lcm.db")
    for name in ("plain", "cron_5", "mem_5"):
        engine.on_session_start(name)
        engine.ingest([user(f"said in {name}")])
    engine.close()
    file = str(tmp_path / "all.jsonl")
    assert main(["--db", str(tmp_path / "lcm.db"), "export", "--out", file]) == 0
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text(
        "lcm: {ignore_sessions: ['cron_*'], memory_only_sessions: ['mem_*']}\n"
    )
    capsys.readouterr()
    assert main(["import", file, "--home", str(home), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert {each["session"]: each["why"].split()[0] for each in data["refused"]} == {
        "cron_5": "lcm.ignore_sessions",
        "mem_5": "lcm.memory_only_sessions",
    }
    store = open_store(home / "lcm" / "lcm.db")
    assert [session.name for session in store.sessions()] == ["plain"]
    store.close()


@pytest.mark.parametrize("place", ["text", "data url", "deep", "uid", "absorbed uid", "role"])
def test_an_import_brings_nothing_back(tmp_path, capsys, place):
    """A string that was forgotten here does not return from an export made before; nothing is doubled by it."""
    engine = LCMEngine(8000, db_path=tmp_path / "lcm.db", settings={"redact": "off"})
    engine.on_session_start("s")
    engine.ingest([user("first"), PLACES[place], {"role": "assistant", "content": "last"}])
    engine.close()
    database, file = ["--db", str(tmp_path / "lcm.db")], str(tmp_path / "all.jsonl")
    assert main([*database, "export", "--out", file]) == 0
    assert main([*database, "forget", "--text", SECRET, "--yes"]) == 0
    assert main([*database, "import", file]) == 0
    assert not on_disk(tmp_path)
    store = open_store(tmp_path / "lcm.db")
    assert store.totals().messages == 3 and store.totals().versions == 0
    assert verify(store).failures == ()
    store.close()
