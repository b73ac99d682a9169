"""``lcm doctor``: every way in which it does not work is found, with a remedy; a healthy home is left alone."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
import yaml
from copyable import uncopied
from lcm import LCMEngine
from lcm.console.backup import make_backup
from lcm.console.cli import main, slash
from lcm.console.hosting import Hosting, check_host, check_settings
from lcm.console.pythons import python_of_hermes
from lcm.demo.files import copy_plugin
from lcm.storage import open_store
from lcm.storage.holders import writers

ROOT = Path(__file__).resolve().parent.parent
HEALTHY = {"context": {"engine": "lcm"}, "plugins": {"enabled": ["other", "lcm"]}}


def talk(turns):
    return [
        {"role": role, "content": f"{what} {n} " + "why " * 60}
        for n in range(turns)
        for role, what in (("user", "question"), ("assistant", "answer"))
    ]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home in which all is well."""
    home = tmp_path / "home"
    folder = home / "plugins" / "lcm"
    copy_plugin(ROOT, folder)
    configure(home, HEALTHY)
    engine = LCMEngine(8000, settings={})
    engine.on_session_start("s", hermes_home=str(home))
    engine.ingest(talk(10))
    engine.close()
    log(home, "2026-11-30 01:02:03,4 INFO x: lcm is the context engine of session s (database d)")
    monkeypatch.setenv("PATH", str(hermes_in(tmp_path / "own")))
    for name in ("HERMES_HOME", "HERMES_SAFE_MODE"):
        monkeypatch.delenv(name, raising=False)
    return home


def hermes_in(folder, python=sys.executable):
    """A folder for PATH with a `hermes` that this Python runs."""
    folder.mkdir(parents=True)
    (folder / "hermes").write_text(f"#!{python}\n")
    (folder / "hermes").chmod(0o755)
    return folder


def configure(home, config):
    (home / "config.yaml").write_text(config if isinstance(config, str) else yaml.safe_dump(config))


def log(home, *lines):
    (home / "logs").mkdir(exist_ok=True)
    with (home / "logs" / "agent.log").open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


@pytest.fixture
def ask(home, capsys):
    """Ask the doctor about the home; gives (exit code, data)."""

    def ask(*words):
        capsys.readouterr()
        code = main(["doctor", "--home", str(home), "--json", *words])
        data = json.loads(capsys.readouterr().out)
        assert [] == [bad for check in data["checks"] for bad in uncopied(check)]
        return code, data

    return ask


def by_name(data, *states):
    return {check["name"]: check for check in data["checks"] if check["state"] in states}


def test_a_healthy_home_has_nothing_wrong(home, ask, capsys):
    """Exit code 0, every check says what it saw, and no byte of the database has changed."""
    path = home / "lcm" / "lcm.db"
    before = path.read_bytes()
    code, data = ask()
    assert code == 0, by_name(data, "wrong")
    assert by_name(data, "wrong", "note") == {}
    assert data["verdict"] == "doctor: nothing is wrong"
    assert set(by_name(data, "ok")) == {
        "engine", "enabled", "compression", "plugin", "load", "dependencies", "log", "settings",
        "database", "integrity", "messages", "index", "sqlite", "summaries", "permissions", "space", "lock",
    }  # fmt: skip
    assert main(["doctor", "--home", str(home)]) == 0
    assert "SQLite" in capsys.readouterr().out
    assert path.read_bytes() == before


FALLBACKS = [
    ({**HEALTHY, "context": {"engine": "compressor"}}, "engine", "engine: lcm"),
    ({"plugins": {"enabled": ["lcm"]}}, "engine", "engine: lcm"),
    ({**HEALTHY, "plugins": {"enabled": ["other"]}}, "enabled", "- lcm"),
    ({"context": {"engine": "lcm"}}, "enabled", "[lcm]"),
    ({**HEALTHY, "plugins": {"enabled": ["lcm"], "disabled": ["lcm"]}}, "enabled", "disabled"),
    ({**HEALTHY, "compression": {"enabled": False}}, "compression", "true"),
    ({**HEALTHY, "lcm": {"thresold": 0.5}}, "settings", "config.yaml"),
    ({**HEALTHY, "lcm": {"target": "much"}}, "settings", "config.yaml"),
    ({**HEALTHY, "lcm": ["threshold"]}, "settings", "config.yaml"),
    ("context: {engine: lcm\nplugins: [", "config", "editor"),
]


@pytest.mark.parametrize(("config", "check", "remedy"), FALLBACKS)
def test_a_config_that_does_not_use_it(home, ask, config, check, remedy):
    """HOST-02: each line of config.yaml by which a host goes on without the engine is named, with what to write."""
    configure(home, config)
    code, data = ask()
    wrong = by_name(data, "wrong")
    assert (code, list(wrong)) == (1, [check])
    assert remedy in "\n".join([wrong[check]["remedy"], *wrong[check]["lines"]])


def no_folder(home):
    shutil.rmtree(home / "plugins" / "lcm")


def no_manifest(home):
    (home / "plugins" / "lcm" / "plugin.yaml").unlink()


def another_name(home):
    (home / "plugins" / "lcm").rename(home / "plugins" / "hermes-lcm")


def no_kind(home):
    (home / "plugins" / "lcm" / "plugin.yaml").write_text("name: lcm\n")


def no_yaml(home):
    (home / "plugins" / "lcm" / "plugin.yaml").write_text("kind: standalone\nname: lcm\ntags: [1")


def named_otherwise(home):
    path = home / "plugins" / "lcm" / "plugin.yaml"
    path.write_text(path.read_text().replace("name: lcm", "name: lossless"))


def link_to_nowhere(home):
    no_folder(home)
    (home / "plugins" / "lcm").symlink_to(home / "moved-away")


@pytest.mark.parametrize(
    "change", [no_folder, no_manifest, no_kind, no_yaml, named_otherwise, link_to_nowhere]
)
def test_a_plugin_that_hosts_do_not_find(home, ask, change):
    """HOST-03: it must be in the home's plugins, with its manifest."""
    change(home)
    code, data = ask()
    wrong = by_name(data, "wrong")
    assert (code, list(wrong)) == (1, ["plugin"])
    assert "quickstart" in wrong["plugin"]["remedy"]


def test_a_plugin_that_cannot_be_loaded_is_loaded_to_say_why(home, ask):
    """A copy that was interrupted: the file and the line; nothing is written into its folder."""
    folder = home / "plugins" / "lcm"
    module = folder / "host" / "engine.py"
    module.write_text("def (\n")
    before = sorted(folder.rglob("*"))
    code, data = ask()
    wrong = by_name(data, "wrong")
    assert (code, list(wrong)) == (1, ["load"])
    assert "SyntaxError" in wrong["load"]["said"]
    assert f"{module} line 1" in wrong["load"]["said"]
    assert sorted(folder.rglob("*")) == before


def test_code_that_gives_no_answer_is_said_to_give_none(home, ask):
    """The Python that loads it ends, or takes too long: that is no proof that it can be loaded, nor that it cannot."""
    with (home / "plugins" / "lcm" / "__init__.py").open("a") as file:
        file.write("\nimport os\nos._exit(3)\n")
    code, data = ask()
    told = by_name(data, "note")["load"]
    assert (code, True) == (0, "is not known" in told["said"])
    assert sys.executable in told["said"]


def test_safe_mode_is_found_where_hermes_takes_it_from(home, ask, monkeypatch):
    """In the environment, and in the .env of the home; switched off it is no fault."""
    (home / ".env").write_text("# mine\nA=1\nexport HERMES_SAFE_MODE='1'\n")
    assert str(home / ".env") in by_name(ask()[1], "wrong")["safe mode"]["said"]
    (home / ".env").write_text("HERMES_SAFE_MODE=0\n#HERMES_SAFE_MODE=1\n")
    assert ask()[0] == 0
    monkeypatch.setenv("HERMES_SAFE_MODE", "true")
    assert "the environment" in by_name(ask()[1], "wrong")["safe mode"]["said"]


def test_a_plugin_in_a_folder_of_another_name(home, ask):
    """HOST-03: hosts find it by its manifest even so; where it is, is said with the command to move it."""
    another_name(home)
    code, data = ask()
    assert (code, by_name(data, "wrong")) == (0, {})
    assert "mv " in by_name(data, "note")["plugin"]["remedy"]


def test_a_session_that_got_another_engine(home, ask):
    """HOST-02: the newest session of the log decides, whatever came before it."""
    said = "Context engine 'lcm' not found — falling back to built-in compressor"
    log(home, f"2026-11-30 02:00:00,1 WARNING run_agent: {said}")
    code, data = ask()
    assert (code, list(by_name(data, "wrong"))) == (1, ["log"])
    assert "2026-11-30 02:00:00" in by_name(data, "wrong")["log"]["said"]
    log(home, "2026-11-30 03:00:00,1 INFO x: lcm is the context engine of session t (database d)")
    assert ask()[0] == 0


def test_a_failure_in_the_log_stands_until_it_is_over(home, ask):
    """What another process met is a note with its words; when it stores again there is none."""
    log(home, "2026-11-30 02:00:00,1 ERROR x: lcm: compress failed: No space left for d.")
    assert "No space left" in by_name(ask()[1], "note")["log"]["said"]
    log(home, "2026-11-30 02:01:00,1 INFO x: lcm: stores again (it was: No space left for d.)")
    assert by_name(ask()[1], "note") == {}


def test_settings_without_effect_are_no_fault(home, ask):
    """They are noted, and the exit code is 0; the doctor reads plugins.entries.lcm.settings, too."""
    entry = {"enabled": ["lcm"], "entries": {"lcm": {"settings": {"embeddings": True}}}}
    configure(home, {**HEALTHY, "plugins": entry})
    code, data = ask()
    assert code == 0
    assert "embeddings" in by_name(data, "note")["settings"]["said"]


def test_a_database_that_the_settings_name_is_looked_at(home, ask, tmp_path):
    """lcm.database is followed, from outside too; its folder is the user's and is not closed."""
    named = tmp_path / "elsewhere" / "my.db"
    named.parent.mkdir(mode=0o755)
    shutil.copy(home / "lcm" / "lcm.db", named)
    named.chmod(0o644)
    configure(home, {**HEALTHY, "lcm": {"database": str(named)}})
    code, data = ask()
    assert data["database"] == str(named)
    assert (code, list(by_name(data, "wrong"))) == (1, ["permissions"])
    assert ask("--fix")[0] == 0
    assert named.stat().st_mode & 0o777 == 0o600
    assert named.parent.stat().st_mode & 0o777 == 0o755


def test_an_empty_toolset_hides_the_tools(home, ask):
    """HOST-07: a saved list that leaves no room for the engine's tools is named, with the line that helps."""
    configure(home, {**HEALTHY, "platform_toolsets": {"telegram": [], "cli": ["terminal"]}})
    code, data = ask()
    assert code == 0
    note = by_name(data, "note")["tools"]
    assert "telegram" in note["said"]
    assert "  telegram: [context_engine]" in note["lines"]


# the Python of Hermes


@pytest.fixture
def bare(tmp_path):
    """A Python without our packages, and a `hermes` that it runs."""
    folder = tmp_path / "bare"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    hermes = folder / "bin" / "hermes"
    hermes.write_text(f"#!{python}\nprint('hermes')\n")
    hermes.chmod(0o755)
    return python


def test_the_python_of_hermes_is_asked_what_it_lacks(home, ask, bare, monkeypatch):
    """The pip line is for the Python that runs Hermes, not for the one that runs the doctor."""
    monkeypatch.setenv("PATH", str(bare.parent))
    code, data = ask()
    wrong = by_name(data, "wrong")
    assert (code, list(wrong)) == (1, ["dependencies"])
    remedy = wrong["dependencies"]["remedy"]
    assert remedy.startswith(f"`{bare} -m pip install ")
    for package in ("networkx", "rapidfuzz", "regex", "rich", "sqlite-utils>=4", "pyyaml"):
        assert package in remedy


def test_a_python_that_is_not_known_to_run_hermes_proves_nothing(home, ask, monkeypatch, tmp_path):
    """No `hermes` on PATH, or the demonstration's alone: what this one has is a note that says how to name it."""
    demonstration = hermes_in(tmp_path / ".venvs" / "quickstart" / "bin")
    for folder in (tmp_path / "nothing", demonstration):
        monkeypatch.setenv("PATH", str(folder))
        code, data = ask()
        told = by_name(data, "note")["dependencies"]
        assert code == 0
        assert "No `hermes` of your own is on PATH" in told["said"]
        assert "PYTHON=" in told["remedy"]
    own = tmp_path / ".venvs" / "quickstart-home" / "hermes"
    own.parent.mkdir()
    home.rename(own)
    assert python_of_hermes(own) == sys.executable
    assert python_of_hermes(home) == ""


def test_a_folder_that_is_no_home_is_said_to_be_none(tmp_path, capsys):
    """Nothing is to be installed into it; and a file that was named and is not there is no fresh one."""
    assert main(["doctor", "--home", str(tmp_path), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert list(by_name(data, "wrong", "note", "ok")) == ["home"]
    assert "does not look like a Hermes home" in data["checks"][0]["said"]
    (tmp_path / "state.db").touch()
    assert main(["doctor", "--home", str(tmp_path), "--json"]) == 1
    assert "home" not in by_name(json.loads(capsys.readouterr().out), "wrong")
    assert main(["doctor", "--db", str(tmp_path / "typo.db"), "--json"]) == 1
    told = by_name(json.loads(capsys.readouterr().out), "wrong")["database"]["said"]
    assert told == f"There is no such file: `{tmp_path / 'typo.db'}`."


def test_a_package_that_is_too_old_is_missing(home, ask, bare, monkeypatch):
    """sqlite-utils 3 can be imported, and has no migrations: its version is looked at."""
    monkeypatch.setenv("PATH", str(bare.parent))
    site = next((bare.parent.parent / "lib").glob("python3*/site-packages"))
    for module, name, version in [
        ("networkx", "networkx", "3.4"),
        ("rapidfuzz", "rapidfuzz", "3.9.1"),
        ("regex", "regex", "2025.1.1"),
        ("rich", "rich", "13"),
        ("yaml", "pyyaml", "6.0"),
        ("sqlite_utils", "sqlite-utils", "3.38"),
    ]:
        (site / f"{module}.py").touch()
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    remedy = by_name(ask()[1], "wrong")["dependencies"]["remedy"]
    assert remedy == f'`{bare} -m pip install "sqlite-utils>=4"`'


def test_it_runs_where_everything_is_missing(home, bare):
    """scripts/lcm doctor needs a Python and nothing else, and names what that Python lacks."""
    done = subprocess.run(
        [ROOT / "scripts" / "lcm", "--home", home, "doctor"],
        env={"PATH": f"{bare.parent}:/usr/bin:/bin", "PYTHON": str(bare), "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert f"{bare} -m pip install" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr


# inside Hermes


def inside(home, **more):
    """The facts of a host's engine, as host/facts.py gives them."""
    told = {"home": str(home), "config": HEALTHY, "served_by": "lcm", "folder": str(ROOT)} | more
    return {
        "engine_active": True,
        "problems": [],
        "failures": more.pop("failures", []),
        "hermes": lambda: told,
    }


def test_inside_hermes_it_is_asked(home):
    """HOST-02: what Hermes would give an agent counts, not what is configured."""
    path = str(home / "lcm" / "lcm.db")
    good = slash("doctor", db_path=path, facts=inside(home))
    assert "nothing is wrong" in good
    bad = slash("doctor", db_path=path, facts=inside(home, served_by="compressor"))
    assert "fell back in silence" in " ".join(bad.split())
    assert "1 thing is wrong" in bad


def test_a_failure_of_the_engine_is_shown(tmp_path):
    """What the engine noted is there, from the engine that noted it, until it is over."""
    path = tmp_path / "lcm.db"
    path.write_text("no database " * 100)
    engine = LCMEngine(8000, settings={}, db_path=path)
    engine.on_session_start("s")
    engine.on_turn_complete(talk(3))
    host = Hosting(tmp_path, HEALTHY, failures=tuple(engine._failures.recent()), folder=str(ROOT))
    said = [check.said for check in check_host(host) if check.name == "failure"]
    assert len(said) == 1
    assert "no SQLite database" in said[0]
    path.unlink()
    engine.on_turn_complete(talk(3))
    engine.close()
    assert engine._failures.recent() == []


def test_without_hermes_the_host_half_of_facts_answers(tmp_path, monkeypatch):
    """facts_of an engine outside any host gives the doctor all that it asks for."""
    from lcm.host.facts import facts_of

    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    engine = LCMEngine(8000, settings={})
    told = facts_of(engine)["hermes"]()
    assert set(told) == {"home", "config", "served_by", "folder"}
    assert told["served_by"] == "compressor"


def test_a_chat_may_ask_and_may_not_repair(home):
    """/lcm doctor answers in a chat, on a damaged file too; --fix is for a terminal."""
    path = home / "lcm" / "lcm.db"
    assert "terminal only" in slash("doctor --fix", db_path=str(path), facts=inside(home))
    path.write_bytes(b"x" * 5000)
    said = slash("doctor", db_path=str(path), facts=inside(home))
    assert "no SQLite database" in " ".join(said.split())
    assert len(said) <= 4096


# the database


def test_an_index_of_an_earlier_version_is_named_and_made_again(home, ask):
    """It works, and finds less than one of today: a note, until --fix makes it again."""
    with contextlib.closing(sqlite3.connect(home / "lcm" / "lcm.db")) as sql, sql:
        sql.execute("PRAGMA writable_schema = ON")
        changed = sql.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ?, '') WHERE name = 'message_index'",
            [" categories 'L* N* Co Mc Mn'"],
        )
        assert changed.rowcount == 1
    code, data = ask()
    assert code == 0
    found = by_name(data, "note")["index"]
    assert found["fixable"] and "earlier version" in found["said"]
    code, data = ask("--fix")
    assert code == 0 and any("made again" in each for each in data["fixed"])
    assert "index" in by_name(ask()[1], "ok")


def test_others_may_not_read_it(home, ask):
    """A file that was copied with other rights is found, and --fix closes it and its folder."""
    path = home / "lcm" / "lcm.db"
    path.chmod(0o644)
    path.parent.chmod(0o755)
    code, data = ask()
    assert (code, list(by_name(data, "wrong"))) == (1, ["permissions"])
    assert by_name(data, "wrong")["permissions"]["fixable"]
    code, data = ask("--fix")
    assert code == 0
    closed = {each.removesuffix(" can be read by its owner alone now") for each in data["fixed"]}
    assert closed >= {str(path), str(path.parent)}
    assert all(each.stat().st_mode & 0o077 == 0 for each in path.parent.glob("lcm.db*"))
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_what_sqlite_keeps_beside_it_is_closed_too(home, ask, tmp_path):
    """In a folder that somebody chose, which stays open: the log of writes holds what was said last."""
    path = tmp_path / "public" / "own.db"
    path.parent.mkdir(mode=0o755)
    store = open_store(path)
    store.open_session("s")
    beside = [path.with_name(f"own.db{end}") for end in ("", "-wal", "-shm")]
    for each in beside:
        each.chmod(0o644)
    configure(home, {**HEALTHY, "lcm": {"database": str(path)}})
    assert "own.db-wal" in by_name(ask()[1], "wrong")["permissions"]["said"]
    assert len(ask("--fix")[1]["fixed"]) == len(beside)
    assert [each.stat().st_mode & 0o777 for each in beside] == [0o600] * len(beside)
    assert path.parent.stat().st_mode & 0o777 == 0o755
    store.close()


def test_fix_touches_nothing_of_another_program(home, ask):
    """Where the file is not ours, --fix changes neither its bytes nor its rights."""
    path = home / "lcm" / "lcm.db"
    path.unlink()
    with sqlite3.connect(path) as sql:
        sql.execute("CREATE TABLE theirs (x)")
    sql.close()
    path.chmod(0o644)
    before = path.read_bytes(), path.stat().st_mode
    code, data = ask("--fix")
    assert code == 1
    assert data["fixed"] == []
    assert before == (path.read_bytes(), path.stat().st_mode)


def test_a_trigger_is_named(home, ask):
    """What somebody put into the file is said, and how to be rid of it; it is not taken away for him."""
    path = home / "lcm" / "lcm.db"
    with sqlite3.connect(path) as sql:
        sql.execute("CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT 1; END")
    sql.close()
    code, data = ask("--fix")
    assert (code, list(by_name(data, "wrong")), data["fixed"]) == (1, ["integrity"], [])
    said = by_name(data, "wrong")["integrity"]
    assert "t is a trigger on entries that is none of lcm's" in said["said"]
    assert "lcm import" in said["remedy"]


def test_there_is_no_database_yet(home, ask):
    """Before the first turn nothing is wrong, and nothing is made."""
    shutil.rmtree(home / "lcm")
    code, data = ask()
    assert code == 0
    assert "first turn" in by_name(data, "note")["database"]["remedy"]
    assert not (home / "lcm").exists()


def test_there_is_no_home(tmp_path, capsys, monkeypatch):
    """A home that is not there is answered in words, and not made."""
    monkeypatch.setenv("PATH", "")
    code = main(["doctor", "--home", str(tmp_path / "nowhere")])
    assert code == 2
    assert "There is no folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_somebody_holds(home, ask):
    """A process that sits on the write lock is named by its number; one that has let go is not."""
    path = home / "lcm" / "lcm.db"
    if writers(path) is None:
        pytest.skip("only Linux tells who holds a lock")
    hold = "s.execute('BEGIN IMMEDIATE'); print(1, flush=True); sys.stdin.read()"
    code = f"import sqlite3, sys; s = sqlite3.connect(sys.argv[1]); {hold}"
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        status, data = ask()
        process.stdin.close()
    wrong = by_name(data, "wrong")
    assert (status, list(wrong)) == (1, ["lock"])
    assert str(process.pid) in wrong["lock"]["said"]
    assert ask()[0] == 0


def test_a_short_write_is_no_old_lock(home, ask):
    """An agent that writes while the doctor looks is nothing to report."""
    store = open_store(home / "lcm" / "lcm.db")
    store.remember("", "x", time.time())
    assert ask()[0] == 0
    store.close()


def test_summaries_without_a_model_and_an_old_journal_are_notes(home, ask):
    """Neither is a fault: every message is kept, and the next agent sets the journal mode."""
    path = home / "lcm" / "lcm.db"
    engine = LCMEngine(8000, settings={}, summarizer=lambda _request: 1 / 0)
    engine.on_session_start("s", hermes_home=str(home))
    engine.compress(talk(30), current_tokens=7000)
    engine.close()
    with sqlite3.connect(path) as sql:
        assert sql.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    sql.close()
    code, data = ask()
    assert code == 0
    notes = by_name(data, "note")
    assert set(notes) == {"summaries", "sqlite"}
    assert "delete" in notes["sqlite"]["said"]


def test_a_backup_that_was_just_put_in_place_is_no_reason_to_worry(home, ask):
    """A copy is one file without WAL; until an agent has opened it there is nothing to be told about its disk."""
    path = home / "lcm" / "lcm.db"
    copied = make_backup(str(path), str(home / "copy.db")).path
    for each in path.parent.glob("lcm.db*"):
        each.unlink()
    shutil.copy(copied, path)
    code, data = ask()
    assert code == 0
    assert "delete" in by_name(data, "ok")["sqlite"]["said"]
    assert "no agent has opened" in by_name(data, "ok")["sqlite"]["said"]
    open_store(path).close()  # as an agent does
    said = by_name(ask()[1], "ok")["sqlite"]["said"]
    assert "journal mode wal" in said
    assert "no agent" not in said


def test_every_wrong_thing_has_a_remedy():
    """Whatever a host may have in its config, in whatever shape: words, never an exception."""
    odd = [None, [], "lcm", 7, {"engine": ["lcm"]}, {"enabled": "lcm"}, {"enabled": {"lcm": 1}}]
    for value in odd:
        names = ("context", "plugins", "lcm", "compression", "platform_toolsets")
        host = Hosting(Path("/nowhere"), dict.fromkeys(names, value))
        for check in [*check_host(host), *check_settings(host)]:
            assert check.said
            assert check.remedy or check.state == "ok" or check.name in ("log", "settings")


def test_nothing_but_the_answer_is_on_standard_output(home):
    """HOST-10: with every warning there is, --json prints JSON and nothing else; warnings go to standard error."""
    configure(home, {**HEALTHY, "lcm": {"thresold": 1}})
    for verb in ("status", "doctor"):
        done = subprocess.run(
            [
                sys.executable,
                ROOT / "scripts" / "run.py",
                "console.cli",
                "--home",
                home,
                verb,
                "--json",
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONWARNINGS": "default"},
        )
        assert json.loads(done.stdout)
