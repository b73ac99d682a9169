"""What cannot be written: no permission, a full disk. Said, survived, and stored afterwards."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path

import pytest
from damagekit import ask, content_of, doctor, expected, talk, texts
from lcm import LCMEngine
from lcm.console.cli import main

ROOT = Path(__file__).resolve().parent.parent.parent

#: Run in a child that is an ordinary user: root may write anything.
_CHILD = """
import importlib.util, json, os, sys
root, home, what = sys.argv[1:4]
spec = importlib.util.spec_from_file_location("lcm", f"{root}/__init__.py", submodule_search_locations=[root])
lcm = importlib.util.module_from_spec(spec); sys.modules["lcm"] = lcm; spec.loader.exec_module(lcm)
import pkgutil, rapidfuzz, networkx, yaml
for room in ("storage", "dag", "tools", "console", "host"):  # who may not reach this clone needs all of it now
    for module in pkgutil.iter_modules([f"{root}/{room}"], f"lcm.{room}."):
        importlib.import_module(module.name)
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
rows = json.loads(sys.stdin.readline())
engine = lcm.LCMEngine(8000, settings={})
engine.on_session_start("s", hermes_home=home)
same = engine.compress(rows, current_tokens=10**6) is rows
engine.on_turn_complete(rows)
engine.on_session_end("s", rows)
asked = {"lcm_grep": {"query": "harbour3"}, "lcm_describe": {}, "lcm_status": {}}
answers = {name: json.loads(engine.handle_tool_call(name, args, messages=rows)) for name, args in asked.items()}
said = {"same": same, "answers": answers, "error": engine._last_summary_error}
print(json.dumps(said | {"problems": engine.get_status()["problems"]}), flush=True)
lcm.console.cli.main(["doctor", "--db", f"{home}/lcm/lcm.db", "--json"])
print("\\x00", flush=True)
sys.stdin.readline()
engine.on_turn_complete(rows)
print(json.dumps({"problems": engine.get_status()["problems"]}), flush=True)
engine.close()
"""


class Child:
    """An engine of an ordinary user, in a process that ends with the block."""

    def __init__(self, home, rows):
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(ROOT), str(home), ""],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
        )  # fmt: skip
        self.tell(rows)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.process:  # closes its pipes and waits for it
            self.process.stdin.close()

    def tell(self, value):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def doctor(self):
        """The checks that found something wrong."""
        report = json.loads("".join(iter(self.process.stdout.readline, "\0\n")))
        return [check for check in report["checks"] if check["state"] == "wrong"]


@pytest.fixture
def ordinary():
    """A home that an ordinary user reaches (pytest's own folders are closed to others)."""
    base = Path(tempfile.mkdtemp(prefix="lcm-damage-"))
    base.chmod(0o755)
    home = base / "home"
    home.mkdir()
    yield home
    for each in (home, *home.rglob("*")):
        each.chmod(0o700)
    shutil.rmtree(base)


def hand_over(home):
    if os.geteuid() == 0:
        for each in (home, *home.rglob("*")):
            os.chown(each, 65534, 65534)


def read_only_file(database):
    database.chmod(0o400)


def read_only_folder(database):
    database.parent.chmod(0o500)


def unreadable_file(database):
    database.chmod(0)


def closed_folder(database):
    database.parent.chmod(0)


def files_of_root(database):
    for each in (database.parent, *database.parent.iterdir()):
        os.chown(each, 0, 0)


def assert_answered(answers, *, readable):
    """What can be read is read; else each tool says what is lacking."""
    if not readable:
        assert all("permission" in each["error"].lower() for each in answers.values()), answers
        return
    assert len(answers["lcm_grep"]["results"]) == 1
    assert answers["lcm_describe"]["kind"] == "outline"
    assert answers["lcm_status"]["messages"] == 60


@pytest.mark.parametrize(
    "obstacle",
    [read_only_file, read_only_folder, unreadable_file, closed_folder, files_of_root],
    ids=lambda obstacle: obstacle.__name__,
)
def test_what_may_not_be_written(ordinary, obstacle):
    """ING-07: without permission the conversation goes on, it is said what to give, and then it is stored.

    Tried as an ordinary user, for whom modes count.
    """
    if obstacle is files_of_root and os.geteuid() != 0:
        pytest.skip("only root can make a file of root's")
    database = ordinary / "lcm" / "lcm.db"
    engine = LCMEngine(8000, settings={})
    engine.on_session_start("s", hermes_home=str(ordinary))
    engine.ingest(talk(30))
    engine.close()
    hand_over(ordinary)
    before = content_of(database)
    obstacle(database)
    with Child(ordinary, talk(34)) as child:
        said = child.hear()
        assert said["same"]
        assert "doctor" in said["error"]
        assert len(said["problems"]) <= 2
        assert_answered(said["answers"], readable=obstacle in (read_only_file, read_only_folder))
        wrong = child.doctor()
        assert wrong
        assert all("chmod" in each["remedy"] or "chown" in each["remedy"] for each in wrong), wrong
        database.parent.chmod(0o700)  # and nothing else: not what SQLite made for itself meanwhile
        database.chmod(0o600)
        hand_over(ordinary)
        assert before == content_of(database)

        child.tell("go on")
        assert child.hear()["problems"] == []
    assert texts(database) == expected(34)


def test_what_is_being_read_is_not_closed(filled, make):
    """ING-07: the file is replaced while a tool reads the old one: it reads on, and the next door has the new one."""
    engine = make()
    store, session = engine._attachment.stored()
    shutil.copy(filled, filled.with_name("new"))
    filled.with_name("new").rename(filled)
    newer, _ = engine._attachment.stored()
    assert newer is not store
    assert store.totals(session.line).messages == 60
    assert newer.totals(session.line).messages == 60
    handle = weakref.ref(store._connection._handle)
    del store
    assert handle() is None  # nobody reads it any more: closed


#: The same for a person who only looks.
_READER = """
import importlib.util, os, sys
root, copy, database, *verbs = sys.argv[1:]
spec = importlib.util.spec_from_file_location("lcm", f"{root}/__init__.py", submodule_search_locations=[root])
lcm = importlib.util.module_from_spec(spec); sys.modules["lcm"] = lcm; spec.loader.exec_module(lcm)
import lcm.console.cli
def codes(path): return [lcm.console.cli.main([*verb.split(), "--db", path, "--json"]) for verb in verbs]
codes(copy)  # imports everything: an ordinary user may not reach this Python
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print("codes", codes(database), sorted(os.listdir(os.path.dirname(database))))
"""


def test_a_folder_that_may_only_be_read_can_be_read(ordinary, tmp_path):
    """Every verb that only reads works there, and leaves no file behind."""
    database = ordinary / "lcm" / "lcm.db"
    engine = LCMEngine(8000, settings={})
    engine.on_session_start("s", hermes_home=str(ordinary))
    engine.ingest(talk(30))
    engine.close()
    shutil.copytree(database.parent, tmp_path / "copy")
    hand_over(ordinary)
    database.parent.chmod(0o500)
    verbs = ["status", "search harbour3", "tree", "verify", "sessions", "export"]
    done = subprocess.run(
        [sys.executable, "-c", _READER, str(ROOT), str(tmp_path / "copy" / "lcm.db"), str(database), *verbs],
        capture_output=True, text=True, cwd="/", check=False,
    )  # fmt: skip
    said = done.stdout.rpartition("codes ")[2].strip()
    assert said == f"{[0] * len(verbs)} {sorted(os.listdir(database.parent))}", (
        done.stdout + done.stderr
    )


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of 2 MB of its own."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        [shutil.which("mount") or "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("no small disk can be mounted here; max_page_count is tried instead")
    yield folder
    subprocess.run([shutil.which("umount") or "umount", "-l", folder], check=True)


def fill_up(filler):
    """Write until there is no room."""
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(os.urandom(4096)):
            pass


def test_a_full_disk(small_disk, capsys):
    """ING-07: full, the list comes back whole; freed, the same engine stores what is missing, once."""
    engine = LCMEngine(8000, settings={}, db_path=small_disk / "lcm" / "lcm.db")
    engine.on_session_start("s")
    engine.ingest(talk(10))
    filler = small_disk / "filler"
    fill_up(filler)
    rows = talk(200)
    assert engine.compress(rows, current_tokens=10**6) is rows
    engine.on_turn_complete(rows)
    said = " ".join(engine.get_status()["problems"])
    assert "No space left" in said or "may be full" in said
    code, wrong = doctor(capsys, engine.db_path)
    assert (code, list(wrong)) == (1, ["space"])
    assert ask(engine, "lcm_grep", query="harbour3")["results"]  # what is there can be read
    filler.unlink()
    engine.on_turn_complete(rows)
    assert engine.get_status()["problems"] == []
    engine.close()
    assert texts(engine.db_path) == expected(200)
    assert main(["verify", "--db", str(engine.db_path)]) == 0


def test_a_disk_too_full_to_be_wiped(small_disk, monkeypatch, capsys):
    """ING-07: there is room to take a string out, and none to write the file anew: both are said, and nothing goes on
    by itself; with room the same call wipes it."""

    def forget(*words):
        monkeypatch.setattr("sys.stdin", io.StringIO("harbour333"))
        capsys.readouterr()
        code = main(["forget", "--text", *words, "--db", str(engine.db_path), "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out or said.err)

    engine = LCMEngine(8000, settings={}, db_path=small_disk / "lcm" / "lcm.db")
    engine.on_session_start("s")
    engine.ingest(talk(400))
    engine.close()
    filler = small_disk / "filler"
    fill_up(filler)
    room = 2 * engine.db_path.stat().st_size // 3
    with filler.open("r+b") as file:
        file.truncate(filler.stat().st_size - room)
    code, done = forget("--yes")
    assert (code, done["done"], done["scrubbed"], len(done["messages"])) == (1, True, False, 1)
    assert "no room to write" in done["not_scrubbed"] and "--finish" in done["not_scrubbed"]
    assert "by itself" not in str(done)
    code, again = forget("--yes")
    assert (code, again["scrubbed"]) == (1, False) and "no room" in again["note"]
    filler.unlink()
    code, again = forget("--yes")
    assert (code, again["scrubbed"]) == (0, True), again["note"]
    assert b"harbour333" not in engine.db_path.read_bytes()


def test_a_disk_that_is_full_from_the_start(small_disk):
    """Not even a file can be made: said, and afterwards made and filled."""
    engine = LCMEngine(8000, settings={}, db_path=small_disk / "lcm" / "lcm.db")
    filler = small_disk / "filler"
    fill_up(filler)
    engine.on_session_start("s")
    rows = talk(30)
    assert engine.compress(rows, current_tokens=10**6) is rows
    assert engine.get_status()["problems"]
    filler.unlink()
    engine.on_turn_complete(rows)
    assert engine.get_status()["problems"] == []
    engine.close()
    assert texts(engine.db_path) == expected(30)


def test_a_database_that_may_not_grow(make, database):
    """ING-07: SQLite's own limit, where no small disk can be mounted: the same, both ways."""
    engine = make()
    engine.ingest(talk(10))
    sql = engine._attachment.open()._store._connection.sql
    (pages,) = sql.execute("PRAGMA page_count").fetchone()
    sql.execute(f"PRAGMA max_page_count = {pages}")
    rows = talk(200)
    assert engine.compress(rows, current_tokens=10**6) is rows
    assert "No space left" in engine._last_summary_error
    engine.on_turn_complete(rows)  # opened anew: a limit of a connection is gone with it
    assert engine.get_status()["problems"] == []
    engine.close()
    assert texts(database) == expected(200)
