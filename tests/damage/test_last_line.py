"""Whatever goes wrong inside, no door raises into the host, and each says what to do."""

from __future__ import annotations

import json
import re
import sqlite3

import pytest
from damagekit import doctor, expected, talk, texts
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.storage import open_store
from lcm.storage.errors import StoreError


def damaged_schemas(path):
    """The file with the highest bit of one letter of its schema set, which no decoder takes, where it opens no more."""
    sound = path.read_bytes()
    for found in re.finditer(rb"CREATE (TABLE|INDEX) .", sound):
        for at in (found.start(), found.start() + 7, found.end()):
            path.write_bytes(sound[:at] + bytes([sound[at] ^ 128]) + sound[at + 1 :])
            try:
                open_store(path, create=False).close()
            except StoreError as error:
                yield path.read_bytes(), str(error)


def doors(engine, rows):
    """Every door of a host; the answers of the tool and of the status."""
    engine.on_turn_complete(rows)
    assert engine.compress(rows, current_tokens=10**6, force=True) is rows
    engine.on_session_end("s", rows)
    answer = json.loads(engine.handle_tool_call("lcm_grep", {"query": "x"}, messages=rows))
    status = engine.get_status()
    engine.on_session_reset()
    engine.bind_session_state(None, "s")
    engine.close()
    return answer, status


def test_a_schema_that_cannot_even_be_decoded(make, filled, capsys):
    """HOST-04: A flipped bit in the schema makes SQLite complain in bytes that are no text: it is damage
    like any other, with no traceback, and the doctor names it."""
    found = list(damaged_schemas(filled))
    assert len(found) > 20
    assert all("doctor" in said for _, said in found)
    before = found[0][0]
    filled.write_bytes(before)
    answer, status = doors(make(), talk(3))
    assert "doctor" in answer["error"] + answer["hint"]
    assert status["problems"] and filled.name in status["problems"][-1]
    for verb in ("verify", "status", "backup", "sessions"):
        assert main([verb, "--db", str(filled)]) == 1
        said = capsys.readouterr()
        assert "Unicode" not in said.err + said.out and "doctor" in said.err
    code, wrong = doctor(capsys, filled)
    assert code == 1 and "database" in wrong
    assert filled.read_bytes() == before


class Broken:
    """An attachment in which nothing works, in a way that nobody has thought of."""

    def __getattr__(self, name):
        raise LookupError(name)


def test_a_fault_of_our_own_stays_inside(tmp_path):
    """HOST-04: An exception of any kind in a tool call or a status is an answer, and stands among the problems."""
    engine = LCMEngine(8000, db_path=tmp_path / "l.db", settings={})
    engine.on_session_start("s")
    engine._attachment = Broken()
    answer = json.loads(engine.handle_tool_call("lcm_grep", {"query": "x"}))
    assert "lcm_grep failed: LookupError" in answer["error"] and "doctor" in answer["hint"]
    status = engine.get_status()
    assert status["engine"] == "lcm"
    assert any("lcm_grep" in each for each in status["problems"])
    engine.on_session_reset()
    engine.close()


@pytest.mark.parametrize("name", ["half \ud800 a character", "with \0 in it"])
def test_a_session_whose_id_no_database_takes(tmp_path, capsys, name):
    """UNI-04: Its messages are stored under its id with what cannot be written spelt out, and found again later."""
    path = tmp_path / "l.db"
    rows = talk(2)
    for count in (2, 4):
        engine = LCMEngine(8000, db_path=path, settings={})
        engine.on_session_start(name)
        engine.on_turn_complete(rows[:count])
        engine.on_session_end(name, rows[:count])
        found = json.loads(engine.handle_tool_call("lcm_grep", {"query": "harbour1"}))
        assert found["total"] >= 1
        assert not engine.get_status()["problems"]
        engine.close()
    assert texts(path) == expected(2)
    store = open_store(path, create=False)
    (session,) = store.sessions()
    store.close()
    assert session.name.isprintable() and session.name.startswith(name.split()[0])
    out = tmp_path / "x.jsonl"
    assert main(["export", "--db", str(path), "--out", str(out)]) == 0
    assert main(["import", "--db", str(tmp_path / "n.db"), str(out)]) == 0
    capsys.readouterr()


def test_times_that_no_calendar_has(tmp_path, capsys):
    """A time that got into the database, by whatever way, costs no list and no search: it is shown as it is."""
    path = tmp_path / "l.db"
    engine = LCMEngine(8000, db_path=path, settings={})
    engine.on_session_start("s")
    engine.ingest(talk(3))
    engine.close()
    with sqlite3.connect(path) as sql:
        sql.execute("UPDATE messages SET time = 1e30 WHERE id = 2")
        sql.execute("UPDATE sessions SET created = -1e30")
    sql.close()
    out = tmp_path / "x.md"
    for words in (
        ["sessions"],
        ["search", "because"],
        ["export", "--out", str(tmp_path / "x.jsonl")],
        ["export", "--format", "markdown", "--out", str(out)],
        ["status"],
        ["tree", "--messages"],
    ):
        code = main([*words, "--db", str(path)])
        said = capsys.readouterr()
        assert code == 0, (words, said.err)
    assert "1e+30" in out.read_text("utf-8")
    engine.on_session_start("s")
    found = json.loads(engine.handle_tool_call("lcm_grep", {"query": "answer", "scope": "all"}))
    assert found["total"] == 3
    engine.close()
