"""``backup``: whole, of one moment, while others write; and nothing but a whole one is left behind."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from lcm.console.backup import how_to_restore, make_backup
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.ingest import Ledger
from lcm.storage import backup, open_store
from lcm.storage.errors import StoreDamaged, StoreForeign, StoreMissing, StoreUnwritable

ROOT = Path(__file__).resolve().parent.parent


def rows_of(count, *, size=200):
    """A conversation of *count* messages."""
    return [
        {
            "role": ("user", "assistant")[n % 2],
            "content": f"message {n} " + f"word{n} " * (size // 8),
        }
        for n in range(count)
    ]


@pytest.fixture
def database(tmp_path):
    """A store of 300 messages, as large ones of which a payload is kept apart, closed."""
    path = tmp_path / "home" / "lcm" / "lcm.db"
    store = open_store(path)
    Ledger(store, store.open_session("first")).ingest(
        [
            *rows_of(298),
            {"role": "user", "content": "x" * 90_000},
            {"role": "assistant", "content": ""},
        ]
    )
    store.close()
    return path


def bodies(path):
    """Every version of every message, as stored."""
    store = open_store(path, create=False)
    try:
        return [(message.uid, message.version, message.body) for message in store.stream()]
    finally:
        store.close()


def test_a_backup_holds_everything_and_verifies(database, tmp_path):
    """The copy has the same messages byte for byte, and verify accepts it."""
    done = make_backup(str(database), str(tmp_path / "copy.db"))
    assert (300, 1) == (done.messages, done.sessions)
    assert bodies(database) == bodies(done.path)
    copy = open_store(done.path, create=False)
    assert verify(copy).good
    copy.close()


def test_a_backup_is_private_and_one_file(database):
    """Mode 0600 in a folder 0700, no journal beside it, readable where nothing can be written."""
    os.umask(os.umask(0o022))
    done = make_backup(str(database))
    folder = database.parent / "backups"
    assert [done.path] == [str(path) for path in folder.iterdir()]
    assert 0o600 == stat.S_IMODE(os.stat(done.path).st_mode)
    assert 0o700 == stat.S_IMODE(folder.stat().st_mode)
    with sqlite3.connect(f"file:{done.path}?mode=ro", uri=True) as sql:
        assert "delete" == sql.execute("PRAGMA journal_mode").fetchone()[0]
    sql.close()


def test_backups_of_one_second_have_names_of_their_own(database):
    """The date is in the name, and a second backup never takes the name of the first."""
    names = {make_backup(str(database)).path for _ in range(3)}
    assert 3 == len(names)
    assert all(time.strftime("lcm-%Y%m") in name for name in names)


def test_a_folder_may_be_named(database, tmp_path):
    """A folder as FILE gets a dated name in it."""
    done = make_backup(str(database), str(tmp_path))
    assert tmp_path / os.path.basename(done.path) in list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_nothing_is_overwritten(database, tmp_path, kind):
    """A file that is there already stays as it is, and a link leads nowhere new."""
    target = tmp_path / "precious"
    if kind == "file":
        target.write_text("mine")
    else:
        target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnwritable, match="there already"):
        make_backup(str(database), str(target))
    assert kind != "file" or target.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_name_taken_during_the_copy_is_respected(database, tmp_path):
    """Who makes the file while the copy runs keeps it."""
    target = tmp_path / "copy.db"

    def meanwhile(_what, _done, _total):
        target.write_text("mine")

    with pytest.raises(StoreUnwritable, match="there already"):
        make_backup(str(database), str(target), meanwhile)
    assert "mine" == target.read_text()
    assert {"copy.db", "home"} == {path.name for path in tmp_path.iterdir()}


class Writer(threading.Thread):
    """An agent that stores two messages at a time until it is told to stop."""

    def __init__(self, path):
        super().__init__()
        self.path, self.done = path, threading.Event()
        self.waits, self.failures = [], []

    def run(self):
        store = open_store(self.path)
        ledger = Ledger(store, store.open_session("second"))
        rows = []
        while not self.done.is_set() and not self.failures:
            rows = [*rows, *rows_of(2)]
            begun = time.monotonic()
            try:
                ledger.ingest(rows)
            except Exception as error:  # noqa: BLE001 - told to the main thread
                self.failures.append(error)
            self.waits.append(time.monotonic() - begun)
        store.close()

    def __enter__(self):
        self.start()
        while len(self.waits) < 5 and self.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *_error):
        self.done.set()
        self.join()
        assert not self.failures


def test_agents_write_meanwhile(database, tmp_path, monkeypatch):
    """MIG-11: Under steady writing a backup in small steps ends, is of one moment, and holds up no writer."""
    monkeypatch.setattr(backup, "STEP_PAGES", 1)
    steps = []

    def show(what, done, _total):
        steps.append((what, done))
        time.sleep(0.005)  # so that many commits fall between two steps

    with Writer(database) as writer:
        before = len(writer.waits)
        done = make_backup(str(database), str(tmp_path / "copy.db"), show)
        during = len(writer.waits) - before
    assert during > 20, "the writer went on"
    assert max(writer.waits) < 2
    pages = [done for what, done in steps if what == "pages"]
    assert pages == sorted(set(pages)), "it never began again"
    whole = bodies(database)
    assert bodies(done.path) == whole[: done.messages]
    assert done.messages < len(whole)
    copy = open_store(done.path, create=False)
    assert verify(copy).good
    copy.close()


def test_a_backup_may_be_made_of_a_store_that_is_open(database, tmp_path):
    """In the process that writes too: its own connection goes on."""
    store = open_store(database)
    with store.writing():
        store.remember("first", "note", 1)
        make_backup(str(database), str(tmp_path / "copy.db"))  # of what is committed
    assert 1 == store.recall("first", "note")
    store.close()
    copy = open_store(tmp_path / "copy.db", create=False)
    assert copy.recall("first", "note") is None
    copy.close()


def test_a_backup_that_is_stopped_leaves_nothing(database, tmp_path):
    """Ctrl-C in the middle: no file, no part of one; the database is as it was."""
    before = bodies(database)

    def stop(_what, _done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_backup(str(database), str(tmp_path / "copy.db"), stop)
    assert ["home"] == [path.name for path in tmp_path.iterdir()]
    assert before == bodies(database)


@pytest.mark.parametrize("content", [None, b""])
def test_no_database_is_said_and_not_made(tmp_path, content):
    """Neither the database nor a backup nor a folder appears."""
    path = tmp_path / "lcm" / "lcm.db"
    if content is not None:
        path.parent.mkdir()
        path.write_bytes(content)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreMissing):
        make_backup(str(path))
    assert before == sorted(tmp_path.rglob("*"))


@pytest.mark.parametrize("content", ["text", "database"])
def test_what_is_not_ours_is_not_backed_up(tmp_path, content):
    """Another program's database, or no database, is refused and left alone."""
    path = tmp_path / "lcm.db"
    if content == "text":
        path.write_text("no database" * 100)
    else:
        with sqlite3.connect(path) as sql:
            sql.execute("CREATE TABLE messages (a)")
        sql.close()
    was = path.read_bytes()
    with pytest.raises(StoreForeign):
        make_backup(str(path))
    assert was == path.read_bytes()
    assert not list(tmp_path.rglob("*.part"))


def test_a_damaged_database_gives_no_backup(database, tmp_path):
    """What does not pass the check is not kept under the name of a backup."""
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096 * 4)
    with pytest.raises(StoreDamaged, match="verify"):
        make_backup(str(database), str(tmp_path / "copy.db"))
    assert ["home"] == [path.name for path in tmp_path.iterdir()]


def test_a_backup_of_an_empty_store_is_one(tmp_path):
    """A store in which nothing was said yet can be backed up and restored too."""
    open_store(tmp_path / "lcm.db").close()
    done = make_backup(str(tmp_path / "lcm.db"))
    assert 0 == done.messages
    assert [] == bodies(done.path)


#: Run in a child that is an ordinary user: root may write anything.
_CHILD = """
import importlib.util, os, sys
root, database, target = sys.argv[1:4]
spec = importlib.util.spec_from_file_location("lcm", f"{root}/__init__.py", submodule_search_locations=[root])
lcm = importlib.util.module_from_spec(spec); sys.modules["lcm"] = lcm; spec.loader.exec_module(lcm)
import lcm.storage.backup, lcm.console.backup
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
lcm.console.backup.make_backup(database, target)
"""


@pytest.mark.skipif(os.name != "posix", reason="other systems have other permissions")
def test_what_may_only_be_read_is_backed_up_elsewhere(database):
    """A database that its reader cannot write, in a folder that he cannot write: copied to where he can."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ("theirs", "mine"):
            (folder / each).mkdir()
        shutil.copy(database, folder / "theirs")
        modes = {"": 0o755, "mine": 0o777, "theirs/lcm.db": 0o444, "theirs": 0o555}
        for each, mode in modes.items():
            (folder / each).chmod(mode)
        paths = (folder / "theirs" / "lcm.db", folder / "mine" / "copy.db")
        words = [sys.executable, "-c", _CHILD, str(ROOT), *map(str, paths)]
        subprocess.run(words, check=True, cwd="/")
        assert ["lcm.db"] == os.listdir(folder / "theirs")
        (folder / "theirs").chmod(0o755)
        assert bodies(database) == bodies(paths[1])


# the command


def test_the_command_says_how_to_restore_and_that_works(database, capsys, tmp_path):
    """The printed commands, run by a shell as they are, bring the old state back, and lose none."""
    before = bodies(database)
    assert 0 == main(["backup", "--db", str(database), "--json"])
    said = json.loads(capsys.readouterr().out)
    store = open_store(database)
    Ledger(store, store.open_session("later")).ingest(rows_of(4))
    store.close()
    after = bodies(database)
    for command in said["restore"]:
        subprocess.run(command, shell=True, check=True)  # noqa: S602 - what a person would do
    assert before == bodies(database)
    (aside,) = [
        path for path in database.parent.iterdir() if path.is_dir() and path.name != "backups"
    ]
    assert after == bodies(aside / "lcm.db")


@pytest.mark.parametrize("shell", ["sh -e", "bash -e", "zsh -e"])
@pytest.mark.parametrize("beside", [(), ("-wal", "-shm"), ("-wal", "-shm", "-lock")])
def test_restoring_works_in_each_shell_whatever_lies_beside(tmp_path, shell, beside):
    """All of the database goes, also by a name that means something in a pattern; nothing else does."""
    program, flag = shell.split()
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    folder = tmp_path / "it's mine"
    folder.mkdir()
    names = ["l[c]m*.db", *(f"l[c]m*.db{end}" for end in beside)]
    for name in (*names, "lcm.db", "l[c]m*.dbx"):
        (folder / name).write_text(name)
    copied = tmp_path / "copy.db"
    copied.write_text("restored")
    commands = "\n".join(how_to_restore(str(copied), str(folder / "l[c]m*.db")))
    subprocess.run([program, flag, "-c", commands], check=True)
    (aside,) = [each for each in folder.iterdir() if each.is_dir()]
    assert sorted(names) == sorted(each.name for each in aside.iterdir())
    assert (aside / "l[c]m*.db").read_text() == "l[c]m*.db"
    assert (folder / "l[c]m*.db").read_text() == "restored"
    assert (folder / "lcm.db").exists() and (folder / "l[c]m*.dbx").exists()


def files_of(folder):
    """What each file in it holds."""
    return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("shell", ["sh -ec", "sh -c", "bash -ec", "bash -c", "zsh -ec", "zsh -c"])
@pytest.mark.parametrize("by_line", [False, True])
@pytest.mark.parametrize("left", ["lcm.db", "lcm.db-wal"])
def test_a_second_run_overwrites_nothing(tmp_path, shell, by_line, left):
    """What was moved away stays as it was, and what was said since stays in its place."""
    program, flag = shell.split()
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    folder, copied = tmp_path / "lcm", tmp_path / "copy.db"
    folder.mkdir()
    for each in (folder / "lcm.db", copied):
        each.write_text(f"first {each.name}")
    lines = how_to_restore(str(copied), str(folder / "lcm.db"))
    runs = lines if by_line else ["\n".join(lines)]
    for each in runs:
        subprocess.run([program, flag, each], check=True)
    (aside,) = [each for each in folder.iterdir() if each.is_dir()]
    assert (aside / "lcm.db").read_text() == "first lcm.db"
    (folder / "lcm.db").unlink()
    (folder / left).write_text("said since")
    before = files_of(tmp_path)
    ended = [subprocess.run([program, flag, each], check=False).returncode for each in runs]
    assert 0 not in ended
    assert before == files_of(tmp_path)


def test_a_database_that_cannot_be_moved_away_is_not_overwritten(tmp_path):
    """The last command is carried out whatever became of those before it: line by line they are pasted."""
    database, copied = tmp_path / "lcm.db", tmp_path / "copy.db"
    database.write_text("damaged")
    copied.write_text("restored")
    subprocess.run(["/bin/sh", "-c", how_to_restore(str(copied), str(database))[-1]], check=False)
    assert database.read_text() == "damaged"


def test_the_command_shows_what_it_made(database, capsys, tmp_path):
    """Text names the file, what it holds, that it was checked, and the commands unwrapped."""
    target = tmp_path / "a name with blanks.db"
    assert 0 == main(["backup", str(target), "--db", str(database)])
    out = capsys.readouterr().out
    assert f"backup: {target}\n" in out
    assert "300 messages, 0 summaries, 1 session" in out and "was checked" in out
    assert f" && cp '{target}' {database}\n" in out


def test_the_command_fails_in_one_line(database, capsys, tmp_path):
    """A second backup of that name: exit code 1, a sentence, no traceback."""
    target = str(tmp_path / "copy.db")
    assert 0 == main(["backup", target, "--db", str(database)])
    capsys.readouterr()
    assert 1 == main(["backup", target, "--db", str(database)])
    assert (
        f"lcm: {target} is there already. Name another file.\n"
        == capsys.readouterr().err.replace(" \n", "\n")
    )


def test_progress_is_told(database, tmp_path, monkeypatch):
    """Pages rise to their total; then the check is named."""
    monkeypatch.setattr(backup, "STEP_PAGES", 10)
    seen = []
    make_backup(str(database), str(tmp_path / "c.db"), lambda *told: seen.append(told))
    assert seen[-1][0] == "checking the copy"
    assert len(seen) > 3
    assert seen[-2][1] == seen[-2][2] > 0
