"""What was forgotten is gone, its old bytes are still in the file: who asks again is not told that all is well."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import sys

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.dag.forget import forget_session, forget_text, plan_text
from lcm.storage import connection, open_store

NEEDLE = "hunter-Zebra77-quagga"
WAYS = {"text": ["--text"], "session": ["--session", "s"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A database in which the needle stands in a few messages, and an idle agent that has it open."""
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    engine = LCMEngine(200_000, db_path=tmp_path / "lcm.db", settings={"redact": "off"})
    engine.on_session_start("s")
    engine.ingest(
        [
            {"role": role, "content": f"{n} {NEEDLE if n % 20 == 0 else ''} " + f"word{n} " * 40}
            for n, role in zip(range(200), ["user", "assistant"] * 100, strict=True)
        ]
    )
    engine.on_session_start("other")
    engine.ingest([{"role": "user", "content": "hi"}])
    yield tmp_path
    engine.close()


@pytest.fixture
def call(folder, capsys, monkeypatch):
    """Run a command; gives (exit code, what it says as JSON)."""

    def call(*words):
        monkeypatch.setattr(sys, "stdin", io.StringIO(NEEDLE))
        capsys.readouterr()
        code = main(["--db", str(folder / "lcm.db"), *words, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


def held(folder):
    """How often its bytes stand in the files."""
    return sum(each.read_bytes().count(NEEDLE.encode()) for each in folder.iterdir())


def is_scrubbed(folder):
    with contextlib.closing(open_store(folder / "lcm.db")) as store:
        return store.eraser().is_scrubbed()


@contextlib.contextmanager
def reader(folder):
    """Another process reads all the while."""
    with contextlib.closing(sqlite3.connect(folder / "lcm.db", isolation_level=None)) as sql:
        sql.execute("BEGIN")
        sql.execute("SELECT count(*) FROM messages").fetchone()
        yield


def wrong(data):
    return {check["name"]: check for check in data["checks"] if check["state"] == "wrong"}


@pytest.mark.parametrize("way", WAYS)
def test_asked_again_it_is_wiped_or_said_to_be_left(folder, call, way):
    """A reader kept the file from being written anew: until that is done no call ends with 0, and status and doctor
    name it; the same call does it, as soon as nobody reads."""
    with reader(folder):
        code, data = call("forget", *WAYS[way], "--yes")
        assert (code, data["done"], data["scrubbed"]) == (1, True, False)
        assert "`forget --finish --db" in data["not_scrubbed"] and held(folder)
        code, data = call("forget", *WAYS[way], "--yes")
        assert (code, data["done"], data["scrubbed"]) == (1, False, False)
        assert "Nothing was changed" not in data["note"] and "`forget --finish --db" in data["note"]
    code, data = call("forget", *WAYS[way])
    assert (code, data["scrubbed"]) == (1, False) and held(folder)
    assert (
        "Nothing was changed. Old bytes of what was forgotten before may still be" in data["note"]
    )
    code, data = call("status")
    assert code == 1 and "old bytes of what was forgotten" in " ".join(data["warnings"])
    code, data = call("doctor")
    assert (code, list(wrong(data))) == (1, ["forgotten"])
    assert "`hermes lcm forget --db" in wrong(data)["forgotten"]["remedy"]
    code, data = call("forget", *WAYS[way], "--yes")
    assert (code, data["done"], data["scrubbed"], held(folder)) == (0, False, True, 0)
    assert data["note"].endswith("were still in the file; they are wiped now.")
    code, data = call("forget", *WAYS[way], "--yes")
    assert (code, data["scrubbed"]) == (0, True) and data["note"].endswith("Nothing was changed.")
    assert call("status")[1]["warnings"] == [] and wrong(call("doctor")[1]) == {}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("words", [["--finish"], None], ids=["finish", "again"])
def test_who_was_killed_before_it_was_wiped_leaves_word(folder, call, way, words):
    """Between the commit and the file that is written anew: `--finish`, or the same call again, does the rest."""
    store = open_store(folder / "lcm.db")
    if way == "text":
        forget_text(store, NEEDLE, 1.0)
    else:
        forget_session(store, store.session("s"), 1.0)
    store.close()
    assert not is_scrubbed(folder) and held(folder)
    code, _ = call("forget", *(words or [*WAYS[way], "--yes"]))
    assert (code, held(folder)) == (0, 0)
    assert is_scrubbed(folder)


def test_what_another_process_forgets_meanwhile_is_not_called_wiped(folder, monkeypatch):
    """It did so after the file was written anew and before that is noted: its mark stays, and its own call wipes."""
    one, other = open_store(folder / "lcm.db"), open_store(folder / "lcm.db")
    scrub = connection.Connection.scrub

    def and_then(self):
        done = scrub(self)
        monkeypatch.setattr(connection.Connection, "scrub", scrub)
        forget_text(other, "word77", 1.0)
        return done

    forget_text(one, NEEDLE, 1.0)
    monkeypatch.setattr(connection.Connection, "scrub", and_then)
    assert not one.eraser().scrub() and not other.eraser().is_scrubbed()
    assert other.eraser().scrub() and one.eraser().is_scrubbed()
    one.close()
    other.close()


@pytest.mark.parametrize("value", ["1", "''", "x'ff'", "CAST(x'ff41' AS TEXT)", "1.5"])
def test_a_mark_that_is_damaged_goes_as_any(folder, call, value):
    """It says that something may be left, until the file is written anew, and no longer."""
    store = open_store(folder / "lcm.db")
    forget_text(store, NEEDLE, 1.0)
    store.close()
    with contextlib.closing(sqlite3.connect(folder / "lcm.db")) as sql, sql:
        sql.execute(f"UPDATE memory SET value = {value} WHERE name = 'old_bytes'")  # noqa: S608 - of ours
    assert not is_scrubbed(folder)
    assert call("forget", "--finish")[0] == 0 and is_scrubbed(folder)


def test_where_nothing_went_nothing_is_left(folder, call):
    """A string that stands nowhere, and one that is only looked for, leave no mark."""
    store = open_store(folder / "lcm.db")
    plan_text(store, NEEDLE)
    forget_text(store, "stands nowhere", 1.0)
    assert store.eraser().is_scrubbed()
    store.close()
    assert call("forget", "--text")[1]["messages"]
    assert call("forget", "--finish") == (
        0,
        {"scrubbed": True, "note": "Nothing that was deleted is left in the file."},
    )


@pytest.mark.parametrize("text", ["[forgotten", "forgotten", " forgotten  ", "[forgotten]", "gott"])
@pytest.mark.parametrize("words", [[], ["--yes"]], ids=["shown", "done"])
def test_what_stands_in_its_place_cannot_be_forgotten(folder, capsys, text, words):
    """A part of ``[forgotten]``, also once its blanks are taken as one: a wrong call, with a yes and without."""
    store = open_store(folder / "lcm.db")
    line = store.session("s").line
    forget_text(store, NEEDLE, 1.0)
    assert main(["--db", str(folder / "lcm.db"), "forget", "--text", text, *words]) == 2
    said = capsys.readouterr().err
    assert "[forgotten] stands in the place of what was forgotten" in said
    with pytest.raises(ValueError, match="stands in the place"):
        plan_text(store, text)
    assert store.totals(line).messages == 200 and store.eraser().holding([b"[forgotten]"])
    store.close()


@pytest.mark.parametrize("text", ["abc", "a     b", "   ", "\n\t a \n", "a \u3000 b"])
def test_a_string_that_is_too_short_is_refused(folder, capsys, text):
    """Also where it is long for its blanks alone: it would be found with one of them, in the middle of everything."""
    for words in ([], ["--yes"]):
        assert main(["--db", str(folder / "lcm.db"), "forget", "--text", text, *words]) == 2
        assert "4 characters at least" in capsys.readouterr().err
