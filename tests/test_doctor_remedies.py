"""What the doctor tells a person to do can be done: the right Python, the backup that is there, the right mode."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import pytest
from copyable import uncopied
from lcm import LCMEngine
from lcm.console import hosting
from lcm.console.backup import how_to_restore, make_backup
from lcm.console.cli import main
from lcm.storage import open_store

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def database(tmp_path):
    """A database with a few turns."""
    engine = LCMEngine(8000, settings={})
    engine.on_session_start("s", hermes_home=str(tmp_path / "home"))
    engine.ingest([{"role": "user", "content": f"question {n}"} for n in range(40)])
    engine.close()
    return tmp_path / "home" / "lcm" / "lcm.db"


def program(folder, first_lines):
    """A `hermes` with these lines in front."""
    folder.mkdir(exist_ok=True)
    hermes = folder / "hermes"
    hermes.write_text(f"{first_lines}\nprint('hermes')\n")
    hermes.chmod(0o755)
    return hermes


def test_the_hermes_on_path_counts_whatever_python_asks(tmp_path, monkeypatch):
    """Here a Python with Hermes and all packages asks; the `hermes` on PATH runs in another, which lacks them."""
    other = tmp_path / "bare"
    venv.create(other, with_pip=False, symlinks=True)
    program(other / "bin", f"#!{other}/bin/python")
    (tmp_path / "site" / "hermes_cli").mkdir(parents=True)
    (tmp_path / "site" / "hermes_cli" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("PATH", str(other / "bin"))
    (check,) = [
        c for c in hosting.check_host(hosting.outside(tmp_path)) if c.name == "dependencies"
    ]
    assert check.state == "wrong"
    assert check.remedy.startswith(f"`{other}/bin/python -m pip install ")
    monkeypatch.setenv("PATH", "")
    assert hosting.outside(tmp_path).python == sys.executable


@pytest.mark.parametrize("other", [False, True])
def test_a_package_that_cannot_be_imported_is_named_with_the_reason(tmp_path, monkeypatch, other):
    """Its folder is there, and its compiled part does not load: in this Python, or in the one that runs Hermes."""
    (tmp_path / "bad" / "rich").mkdir(parents=True)
    fault = "libfoo.so: cannot open shared object file"
    (tmp_path / "bad" / "rich" / "__init__.py").write_text(
        f"print('loud')\nraise ImportError({fault!r})\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "bad"))
    python = Path(sys.executable)
    if other:
        python = tmp_path / "python3.x"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
    program(tmp_path / "bin", f"#!{python}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text("context: {engine: lcm}\n")
    words = [
        sys.executable,
        ROOT / "scripts" / "run.py",
        "console.cli",
        "--home",
        tmp_path / "home",
    ]
    done = subprocess.run([*words, "doctor"], capture_output=True, text=True, check=False)
    said = " ".join(done.stdout.split())
    assert f"cannot be imported: rich (ImportError: {fault})." in said
    assert f'{python} -m pip install --force-reinstall "rich>=13"' in said


def test_what_this_python_lacks_is_not_said_of_the_file(database, tmp_path):
    """A verb that needs a package which cannot be imported names the Python; the database is well."""
    (tmp_path / "bad" / "rich").mkdir(parents=True)
    (tmp_path / "bad" / "rich" / "__init__.py").write_text("raise ImportError('no libfoo')\n")
    words = [sys.executable, ROOT / "scripts" / "run.py", "console.cli", "--db", database, "tree"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "bad")}
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
    assert 1 == done.returncode
    assert f"This Python, {sys.executable}, cannot import what lcm needs" in done.stderr
    assert "could not be read" not in done.stderr


@pytest.mark.parametrize(
    "lines",
    [
        "#!{0}",
        "#! {0} -s",
        "#!/usr/bin/env python3.x",
        "#!/bin/sh\n'''exec' \"{0}\" \"$0\" \"$@\"\n' '''",
    ],
)
def test_each_way_to_name_a_python(tmp_path, monkeypatch, lines):
    """A program names its Python itself, through env, or behind a shell where the path is long."""
    python = tmp_path / "python3.x"
    python.symlink_to(sys.executable)
    program(tmp_path, lines.format(python))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hosting.outside(tmp_path).python == str(python)


def doctor(database, capsys, *words):
    """(exit code, what the doctor finds wrong by name)."""
    capsys.readouterr()
    code = main(["doctor", "--db", str(database), "--json", *words])
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert [] == [bad for check in checks for bad in uncopied(check)]
    return code, {each["name"]: each for each in checks if each["state"] == "wrong"}


def test_the_newest_backup_is_named_and_its_commands_work(database, capsys):
    """A damaged file: the commands, typed as they are shown, put the newest backup in its place."""
    (database.parent / "backups").mkdir()
    old = make_backup(str(database), str(database.parent / "backups" / "a-first.db")).path
    store = open_store(database)
    store.open_session("later")
    store.close()
    new = make_backup(str(database), str(database.parent / "backups" / "0-second.db")).path
    os.utime(old, (1, 1))
    os.truncate(database, database.stat().st_size // 2)
    code, wrong = doctor(database, capsys)
    assert code == 1
    check = next(each for each in wrong.values() if each["commands"])
    assert new in check["remedy"]
    assert old not in check["remedy"]
    assert [each.split()[0] for each in check["commands"]] == ["mkdir", "test"]
    main(["doctor", "--db", str(database)])
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    commands = shown[
        (first := shown.index(next(s for s in shown if s.startswith("mkdir ")))) : first + 2
    ]
    assert subprocess.run(["/bin/sh", "-ec", "\n".join(commands)], check=False).returncode == 0
    store = open_store(database, create=False)
    assert store.session("later") is not None
    store.close()


def test_without_a_backup_what_is_left_is_said(database, capsys):
    """No backup there: the same commands with a name to put in, an export, and `.recover`; the file was not touched."""
    os.truncate(database, database.stat().st_size // 2)
    before = database.read_bytes()
    _, wrong = doctor(database, capsys)
    check = next(each for each in wrong.values() if each["commands"])
    for said in ("There is no backup in", "hermes lcm export --db", ".recover", "not touched"):
        assert said in check["remedy"]
    assert check["commands"][-1] == how_to_restore("BACKUP", str(database))[-1]
    assert database.read_bytes() == before


#: Verbs in a child that is an ordinary user: root may read anything.
_CHILD = """
import importlib.util, os, sys
root, copy, database, *verbs = sys.argv[1:]
spec = importlib.util.spec_from_file_location("lcm", f"{root}/__init__.py", submodule_search_locations=[root])
lcm = importlib.util.module_from_spec(spec); sys.modules["lcm"] = lcm; spec.loader.exec_module(lcm)
import lcm.console.cli
def run(path): return [lcm.console.cli.main([verb, "--db", path]) for verb in verbs]
run(copy)  # imports everything: an ordinary user may not reach this Python
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print("=====", flush=True); print("=====", file=sys.stderr, flush=True)
run(database)
"""


@pytest.fixture
def as_somebody(database):
    """Run verbs as the owner of a copy of the database, who is not root; gives what they print."""
    base = Path(tempfile.mkdtemp(prefix="lcm-remedies-"))
    base.chmod(0o755)
    shutil.copytree(database.parent, base / "lcm")
    if os.geteuid() == 0:
        for each in (base / "lcm", *(base / "lcm").iterdir()):
            os.chown(each, 65534, 65534)

    def run(change, *verbs):
        change(base / "lcm" / "lcm.db")
        words = [sys.executable, "-c", _CHILD, ROOT, database, base / "lcm" / "lcm.db", *verbs]
        done = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True, cwd="/", check=False
        )
        said = done.stdout.rpartition("=====")[2] + done.stderr.rpartition("=====")[2]
        return " ".join(said.split())

    yield run
    (base / "lcm").chmod(0o700)
    shutil.rmtree(base)


def test_a_file_that_cannot_be_read_is_said_to_be_so(as_somebody):
    """Mode 000 of the file: it cannot be read; that it cannot be written is not what is wrong."""
    said = as_somebody(lambda path: path.chmod(0), "status")
    assert "lcm.db cannot be read." in said
    assert "cannot be written" not in said


def test_a_file_that_can_be_read_alone_is_said_to_be_so(as_somebody):
    """Mode 0400: a search finds what is in it, and the doctor does not say that it cannot be read."""
    said = as_somebody(lambda path: path.chmod(0o400), "doctor", "sessions")
    assert "lcm.db can be read and not written; nothing is stored." in said
    assert "cannot be read" not in said
    assert "s 40 40" in said  # what sessions finds: 40 messages, 40 turns


@pytest.mark.parametrize(
    ("mode", "beside", "said"),
    [
        (0, 0o600, "lcm.db cannot be read; nothing is stored."),
        (0o200, 0o600, "lcm.db cannot be read; nothing is stored."),
        (0o400, 0, "lcm.db-lock cannot be read; "),
        (0o400, 0, "lcm.db can be read and not written; nothing is stored."),
    ],
)
def test_what_may_be_done_with_each_file_is_said(as_somebody, mode, beside, said):
    """The database and what lies beside it may be shut in different ways."""

    def shut(path):
        path.with_name("lcm.db-lock").chmod(beside)
        path.chmod(mode)

    assert said in as_somebody(shut, "doctor")


def test_a_folder_whose_mode_is_the_fault(as_somebody):
    """Mode 000 of a folder of one's own: chmod, no chown; and a backup says it in our words."""
    said = as_somebody(lambda path: path.parent.chmod(0), "doctor", "backup")
    assert "chmod u+rwx" in said
    assert "chown" not in said
    assert "lcm: No permission to read" in said
    assert "PermissionError" not in said
