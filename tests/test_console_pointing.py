"""Advice is for the database that was named, and in the words of who reads it."""

from __future__ import annotations

import sqlite3

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.pointing import in_a_terminal, pointed
from lcm.demo.environment import Trouble
from lcm.demo.install import find_home


@pytest.fixture
def call(tmp_path, capsys, monkeypatch):
    """Run the command line in a folder of its own: (exit code, all that was said, in one line)."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        code = main([*map(str, words)])
        said = capsys.readouterr()
        return code, " ".join(f"{said.out} {said.err}".split())

    return call


def test_advice_names_the_database_again(tmp_path, call):
    """A command in it is about the file, or the home, that the call was about."""
    (tmp_path / "cut off.db").write_bytes(b"SQLite format 3\0" + bytes(40))
    code, said = call("--db", "cut off.db", "status")
    assert code == 1 and "`hermes lcm doctor --db 'cut off.db'` says what to do" in said
    assert (
        pointed("Run `hermes lcm verify`.", {"home": "/h"}) == "Run `hermes lcm verify --home /h`."
    )
    assert pointed("Run `hermes lcm verify`.", {}) == "Run `hermes lcm verify`."


def test_an_empty_file_and_a_folder_are_not_said_to_be_missing(tmp_path, call):
    """Each verb says what is at the place that was named; the doctor too, and that this is wrong."""
    (tmp_path / "empty.db").touch()
    (tmp_path / "folder").mkdir()
    for verb in ("status", "why", "backup", "doctor"):
        code, said = call("--db", "empty.db", verb)
        assert code == 1 and "empty.db is empty" in said and "no such file" not in said
    for verb in ("why", "backup", "doctor"):
        code, said = call("--db", "folder", verb)
        assert code == 1 and "folder is a folder, not a database" in said


def test_what_is_no_database_of_ours_has_a_next_step(call):
    """Where the path comes from --db, no setting is to be changed."""
    made = sqlite3.connect("other.db")
    made.execute("CREATE TABLE t (a)")
    made.close()
    for verb in ("status", "backup", "doctor"):
        code, said = call("--db", "other.db", verb)
        assert code == 1 and "Name another one with --db FILE or --home HERMES_HOME." in said
        assert "lcm.database" not in said and "config.yaml" not in said


def test_an_export_is_not_imported_as_a_database_of_another_program(tmp_path, call):
    """What is wrong is the option, not the file."""
    (tmp_path / "all.jsonl").write_text("{}\n")
    code, said = call("--db", "new.db", "import", "all.jsonl", "--from", "lcm-x")
    assert code == 1 and "leave out --from" in said and "damaged" not in said


def test_status_of_another_home_says_how_to_ask_its_hermes(tmp_path, call):
    """`hermes lcm status` alone would ask the Hermes of the environment."""
    engine = LCMEngine(6000)
    engine.on_session_start("talk", hermes_home=str(tmp_path))
    engine.close()
    _, said = call("--home", tmp_path, "status")
    assert f"HERMES_HOME={tmp_path}hermeslcmstatus" in "".join(
        said.split()
    )  # in lines of any width


def test_one_session_is_no_business_of_doctor_and_verify(call):
    """An option that would be ignored is refused."""
    for verb in ("doctor", "verify"):
        code, said = call(verb, "--session", "x")
        assert code == 2 and f"`{verb}`" in said


def test_nothing_is_to_be_undone_where_there_is_no_home(tmp_path):
    """Advice on a first start is for who installs."""
    for undo, told in ((True, "nothing to undo"), (False, "at its first start")):
        with pytest.raises(Trouble, match=told):
            find_home(str(tmp_path / "none"), None, tmp_path, undo=undo)


def test_a_hint_has_the_options_of_the_command_line(tmp_path, call):
    """Not the arguments of the agent's tool."""
    engine = LCMEngine(6000)
    engine.on_session_start("talk", hermes_home=str(tmp_path))
    engine.ingest([{"role": "user", "content": "the lamp was lit"}])
    engine.close()
    _, said = call("--home", tmp_path, "search", "zzzzqq")
    assert "`--mode exact`" in said and "`--scope all`" in said and "'" not in said
    assert in_a_terminal("use mode 'exact'.") == "use `--mode exact`."
