"""Where the database is gone and backups or exports of it are left: that is said, with what brings it back."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest
from copyable import uncopied
from lcm import LCMEngine
from lcm.console.absent import backups, exports, lost
from lcm.console.backup import make_backup
from lcm.console.cli import main
from lcm.storage import open_store


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with a database of a few turns; no `hermes` is on PATH."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("context: {engine: lcm}\n")
    engine = LCMEngine(8000, settings={})
    engine.on_session_start("s", hermes_home=str(home))
    engine.ingest([{"role": "user", "content": f"question {n}"} for n in range(4)])
    engine.close()
    monkeypatch.setenv("COLUMNS", "400")
    return home


def lose(home):
    for each in (home / "lcm").glob("lcm.db*"):
        each.unlink()


def ask(capsys, *words):
    """(exit code, what it prints)."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    return code, capsys.readouterr().out


def found(capsys, *where):
    """What the doctor finds of the database."""
    code, out = ask(capsys, "doctor", *where, "--json")
    (check,) = [each for each in json.loads(out)["checks"] if each["name"] == "database"]
    assert [] == list(uncopied(check))
    assert code == 1 or check["state"] != "wrong"
    return check


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("by", ["--home", "--db"])
def test_the_doctor_gives_the_commands_that_bring_the_newest_backup_back(home, capsys, by, empty):
    """Also where an empty file stands in its place; carried out as they are, and then nothing is said of it."""
    path = home / "lcm" / "lcm.db"
    new = make_backup(str(path)).path
    old = make_backup(str(path), str(home / "lcm" / "backups" / "z-old.db")).path
    os.utime(old, (1, 1))
    lose(home)
    if empty:
        path.touch()
    where = (by, home if by == "--home" else path)
    check = found(capsys, *where)
    assert check["state"] == "wrong"
    assert f"There is no database at `{path}`, though there are 2 backups in" in check["said"]
    assert new in check["remedy"] and old not in check["remedy"]
    commands = "\n".join(check["commands"])
    subprocess.run(["/bin/sh", "-ec", commands], check=True)
    store = open_store(path, create=False)
    assert store.totals().messages == 4
    store.close()
    assert found(capsys, *where)["state"] == "ok"
    code, out = ask(capsys, "status", *where)
    assert code == 0 and "There is no database" not in out


@pytest.mark.parametrize("by", ["--home", "--db"])
def test_the_status_says_so_and_names_the_doctor(home, capsys, by):
    """Exit code 1; that it begins with the first turn is not said."""
    path = home / "lcm" / "lcm.db"
    make_backup(str(path))
    lose(home)
    where = (by, home if by == "--home" else path)
    code, out = ask(capsys, "status", *where)
    said = " ".join(out.split())
    assert code == 1
    assert "though there is 1 backup in" in said
    assert f"`hermes lcm doctor {by} {where[1]}` says what to do." in said
    assert "first turn" not in said
    data = json.loads(ask(capsys, "status", *where, "--json")[1])
    assert data["no_database"] == str(path) and data["lost"] == lost(path)


def test_an_export_brings_it_back_too(home, capsys):
    """No backup: the command that imports the newest export, carried out as it is shown."""
    out = home / "lcm" / "all of it.jsonl"
    assert ask(capsys, "export", "--home", home, "--out", out)[0] == 0
    lose(home)
    check = found(capsys, "--home", home)
    assert check["state"] == "wrong" and "though there is 1 export in" in check["said"]
    assert ask(capsys, "status", "--home", home)[0] == 1
    (typed,) = re.findall("`hermes lcm (import [^`]*)`", check["remedy"])
    words = typed.replace(f"'{out}'", "FILE").split()
    assert ask(capsys, *(out if word == "FILE" else word for word in words))[0] == 0
    assert found(capsys, "--home", home)["state"] == "ok"


def test_what_is_no_copy_of_one_alarms_nobody(home, capsys):
    """An empty folder, an empty file, a link to nothing, another file: a home before its first turn."""
    lose(home)
    folder = home / "lcm" / "backups"
    folder.mkdir()
    (folder / "empty.db").touch()
    (folder / "link.db").symlink_to(folder / "nowhere")
    (folder / ".lcm-1.part").write_text("cut off")
    (home / "lcm" / "notes.txt").write_text("mine")
    assert found(capsys, "--home", home)["state"] == "note"
    code, out = ask(capsys, "status", "--home", home)
    assert code == 0 and "it begins with the first turn" in out
    shutil.rmtree(home / "lcm")
    assert found(capsys, "--home", home)["state"] == "note"
    assert ask(capsys, "status", "--home", home)[0] == 0


def test_a_home_of_which_only_the_backups_are_left(home, capsys):
    """Neither config.yaml nor state.db: the backups tell that it is one."""
    make_backup(str(home / "lcm" / "lcm.db"))
    lose(home)
    (home / "config.yaml").unlink()
    assert found(capsys, "--home", home)["commands"]
    assert "does not look like" not in ask(capsys, "status", "--home", home)[1]


def test_the_newest_is_the_last(tmp_path):
    """By the time at which they were written, not by their names."""
    folder = tmp_path / "backups"
    folder.mkdir()
    for age, name in enumerate(("b.db", "a.db", "b.jsonl", "a.jsonl")):
        (folder / name).write_text("kept")
        os.utime(folder / name, (age + 1, age + 1))
    assert [each.name for each in backups(tmp_path / "lcm.db")] == ["b.db", "a.db"]
    assert [each.name for each in exports(tmp_path / "lcm.db")] == ["b.jsonl", "a.jsonl"]
