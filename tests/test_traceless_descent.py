"""What comes from a session that leaves no trace leaves none either, also for who knows its new id only."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.dag.unkept import pattern_of, stone_of
from lcm.storage import open_store
from unkept import CRON, ROTATED, SessionDb, conversation, files

ROOT = Path(__file__).resolve().parent.parent
AGAIN = "20261201_041500_cd34ef"
BOTH = ("ignore_sessions", "memory_only_sessions")
WHY = {"ignore_sessions": "ignored", "memory_only_sessions": "memory_only"}


def engine_at(folder, setting="", patterns=("cron_*",), **more):
    settings = {"threshold": 0.5, "target": 0.2} | ({setting: list(patterns)} if setting else {})
    return LCMEngine(8000, db_path=folder / "lcm" / "lcm.db", settings=settings, **more)


def rotated(engine, old=CRON, new=ROTATED):
    """A session that was compacted into another; its list then."""
    engine.on_session_start(old, platform="cron")
    shown = engine.compress(conversation(), force=True)
    engine.on_session_end(old, shown)
    engine.on_session_start(new, boundary_reason="compression", old_session_id=old)
    return shown


def goes_on(engine, rows, name=ROTATED):
    """Every door, with more words; no database of the host says where the session came from."""
    engine.bind_session_state(session_db=None, session_id=name)
    engine.on_session_start(name)
    more = [*rows, *conversation()]
    engine.on_turn_complete(more)
    shown = engine.compress(more, force=True)
    assert len(shown) < len(more), "it is made to fit all the same"
    engine.handle_tool_call("lcm_grep", {"query": "harbour"}, messages=shown)
    engine.on_session_end(name, shown)
    return shown


def kept(folder):
    """(the sessions of the database, its messages, its stones of this kind)."""
    with closing(open_store(folder / "lcm" / "lcm.db", create=False)) as store:
        names = [session.name for session in store.sessions()]
        return names, store.totals().messages, store.eraser().stones("unkept")


def is_silent(folder):
    """Whether nothing of the conversation, and neither id nor pattern, is in any file."""
    seen = files(folder)
    return not any(
        word.encode() in seen for word in ("harbour", CRON, ROTATED, AGAIN, "cron_", "word")
    )


@pytest.mark.parametrize("restart", [False, True], ids=["same process", "restart"])
@pytest.mark.parametrize("setting", BOTH)
def test_a_rotated_session_leaves_no_trace(tmp_path, setting, restart):
    """ING-21: Twice rotated, each time opened by an engine that knows nothing but the new id."""
    asked = []
    engine = engine_at(tmp_path, setting, summarizer=lambda request: asked.append(1) or "It was.")
    rows, before = rotated(engine), CRON
    for name, after in ((ROTATED, AGAIN), (AGAIN, "")):
        if restart:
            engine.close()
            engine = engine_at(
                tmp_path, setting, summarizer=lambda request: asked.append(1) or "It was."
            )
        rows = goes_on(engine, rows, name)
        assert WHY[setting] in engine.get_status()["left_out"], before
        assert engine.get_status()["problems"] == []
        if after:
            engine.on_session_start(after, boundary_reason="compression", old_session_id=name)
            before = name
    engine.close()
    assert bool(asked) == (setting == "memory_only_sessions"), "an ignored one is shown to no model"
    names, messages, stones = kept(tmp_path)
    assert ([], 0, 2) == (names, messages, len(stones))
    assert is_silent(tmp_path)
    assert main(["verify", "--db", str(tmp_path / "lcm" / "lcm.db")]) == 0


@pytest.mark.parametrize("setting", BOTH)
def test_a_file_made_for_it_is_closed_to_others(tmp_path, setting):
    """Where nothing was stored yet, the database is made to hold the stone: 0600 in 0700."""
    engine = engine_at(tmp_path, setting)
    engine.on_session_start(CRON)
    engine.on_turn_complete(conversation())
    assert list(tmp_path.iterdir()) == []
    rotated(engine)
    database = tmp_path / "lcm" / "lcm.db"
    assert (0o600, 0o700) == tuple(
        stat.S_IMODE(each.stat().st_mode) for each in (database, database.parent)
    )
    engine.close()
    assert is_silent(tmp_path)


def test_other_sessions_are_kept(tmp_path):
    """Beside it, in the same engine and after a restart."""
    engine = engine_at(tmp_path, "ignore_sessions")
    rotated(engine)
    engine.bind_session_state(None, "ordinary")
    engine.ingest(conversation(2))
    engine.close()
    again = engine_at(tmp_path, "ignore_sessions")
    for name in ("ordinary", "another", AGAIN):
        again.bind_session_state(None, name)
        again.ingest(conversation(3))
    again.close()
    assert sorted(kept(tmp_path)[0]) == sorted(["ordinary", "another", AGAIN])


def test_who_takes_the_pattern_out_has_it_kept_again(tmp_path):
    """The stone counts as long as the settings have the pattern that it came from, in either list."""
    engine = engine_at(tmp_path, "ignore_sessions")
    rows = rotated(engine)
    engine.close()
    other = engine_at(tmp_path, "memory_only_sessions", ["tmp_*", "cron_*"])
    goes_on(other, rows)
    assert list(other.get_status()["left_out"]) == ["memory_only"]
    other.close()
    assert kept(tmp_path)[:2] == ([], 0)
    free = engine_at(tmp_path, "ignore_sessions", ["tmp_*"])
    goes_on(free, rows)
    free.close()
    assert kept(tmp_path)[0] == [ROTATED]
    again = engine_at(tmp_path, "ignore_sessions")
    again.bind_session_state(None, ROTATED)
    again.ingest([{"role": "user", "content": "one that is kept already goes on being kept"}])
    again.close()
    assert b"goes on being kept" in files(tmp_path)


def test_a_branch_is_remembered_and_a_sub_agent_is_not(tmp_path):
    """Nobody goes on with a sub-agent after a restart; so nothing is written of one."""
    database = SessionDb(branch=CRON, child=CRON)
    database.rows["branch"]["model_config"] = json.dumps({"_branched_from": CRON})
    database.rows[CRON] = {"end_reason": "completed"}
    engine = engine_at(tmp_path, "ignore_sessions")
    engine.bind_session_state(database, "child")
    engine.ingest(conversation(2))
    assert list(tmp_path.iterdir()) == []
    engine.bind_session_state(database, "branch")
    engine.ingest(conversation(2))
    engine.close()
    names, messages, stones = kept(tmp_path)
    assert ([], 0, 1) == (names, messages, len(stones))
    again = engine_at(tmp_path, "ignore_sessions")
    goes_on(again, conversation(2), "branch")
    again.close()
    assert kept(tmp_path)[:2] == ([], 0)


@pytest.mark.parametrize("setting", BOTH)
def test_a_database_that_cannot_be_made(tmp_path, setting, caplog):
    """The conversation goes on in memory; it is logged, the status shows it, and it is made up for."""
    (tmp_path / "lcm").write_text("no folder")
    engine = engine_at(tmp_path, setting)
    rows = rotated(engine)
    rows = goes_on(engine, rows)
    (problem,) = engine.get_status()["problems"]
    assert "to remember that a session leaves no trace" in problem
    assert caplog.text.count("to remember that a session leaves no trace failed") == 1
    (tmp_path / "lcm").unlink()
    engine.on_turn_complete(rows)
    assert engine.get_status()["problems"] == []
    engine.close()
    again = engine_at(tmp_path, setting)
    goes_on(again, rows)
    again.close()
    assert kept(tmp_path)[:2] == ([], 0)
    assert is_silent(tmp_path)


_CHILD = """
import importlib.util, json, os, pkgutil, sys
root, database, setting, cron, new = sys.argv[1:]
spec = importlib.util.spec_from_file_location("lcm", f"{root}/__init__.py", submodule_search_locations=[root])
lcm = importlib.util.module_from_spec(spec); sys.modules["lcm"] = lcm; spec.loader.exec_module(lcm)
import rapidfuzz, networkx, yaml
for room in ("storage", "dag", "tools", "console", "host"):
    for module in pkgutil.iter_modules([f"{root}/{room}"], f"lcm.{room}."):
        importlib.import_module(module.name)
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
rows = json.load(sys.stdin)
engine = lcm.LCMEngine(8000, db_path=database, settings={setting: ["cron_*"], "threshold": 0.5, "target": 0.2})
engine.on_session_start(cron)
shown = engine.compress(rows, force=True)
engine.on_session_start(new, boundary_reason="compression", old_session_id=cron)
more = [*shown, *rows]
engine.on_turn_complete(more)
print(json.dumps([len(rows), len(shown), len(engine.compress(more, force=True)), engine.get_status()["problems"]]))
engine.close()
"""


@pytest.mark.parametrize(
    "mode",
    [
        (0o400, 0o700),
        *(pytest.param(each, marks=pytest.mark.slow) for each in ((0o600, 0o500), (0, 0o700))),
    ],
)
@pytest.mark.parametrize("setting", BOTH)
def test_a_database_that_may_not_be_written(tmp_path_factory, setting, mode):
    """The same as an ordinary user, for whom modes count: of the file, and of its folder."""
    folder = Path(tmp_path_factory.mktemp("open"))
    for each in (folder, folder.parent, folder.parent.parent):
        each.chmod(each.stat().st_mode | 0o011)
    engine = engine_at(folder)
    engine.on_session_start("ordinary")
    engine.ingest(conversation(1))
    engine.close()
    database = folder / "lcm" / "lcm.db"
    before = database.read_bytes()
    for each, bits in zip((database, database.parent), mode, strict=True):
        if os.geteuid() == 0:
            os.chown(each, 65534, 65534)
        each.chmod(bits)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(ROOT), str(database), setting, CRON, ROTATED],
        input=json.dumps(conversation()), capture_output=True, text=True, cwd="/", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows, shown, again, problems = json.loads(done.stdout)
    assert shown < rows and again < shown + rows, "it is made to fit in memory all the same"
    assert any("to remember that a session leaves no trace" in each for each in problems), problems
    database.parent.chmod(0o700)
    assert database.read_bytes() == before


def test_nothing_of_it_is_imported(tmp_path, capsys):
    """An export of somebody who did keep it brings nothing in."""
    free = engine_at(tmp_path / "free")
    free.on_session_start(ROTATED)
    free.ingest(conversation(2))
    free.close()
    export = tmp_path / "export.jsonl"
    assert (
        main(["export", "--db", str(tmp_path / "free" / "lcm" / "lcm.db"), "--out", str(export)])
        == 0
    )
    home = tmp_path / "home"
    (home / "lcm").mkdir(parents=True)
    (home / "config.yaml").write_text("lcm: {ignore_sessions: ['cron_*']}\n")
    database = home / "lcm" / "lcm.db"
    with closing(open_store(database)) as store:
        store.eraser().bury(stone_of(ROTATED, "cron_*", 1.0))
    capsys.readouterr()
    main(["import", str(export), "--db", str(database)])
    assert "lcm.ignore_sessions of this Hermes keeps it out" in capsys.readouterr().out
    assert kept(home)[:2] == ([], 0)


@pytest.mark.parametrize("where", ["memory:", "file"])
def test_a_stone_says_nothing_to_who_has_no_id(tmp_path, where):
    """Two of the same session are different in every byte; each answers for its own session and pattern."""
    with closing(open_store(where if where == "memory:" else tmp_path / "lcm.db")) as store:
        one, other = stone_of("s", "p*", 1.0), stone_of("s", "p*", 1.0)
        assert not {one.name, one.digest, one.detail["pattern"]} & {
            other.name, other.digest, other.detail["pattern"]
        }  # fmt: skip
        store.eraser().bury(one)
        assert pattern_of(store, "s", ["a", "p*"]) == "p*"
        assert "" == pattern_of(store, "s", ["a"]) == pattern_of(store, "t", ["p*"])
        assert store.eraser().stones("unkept") == [one]
        assert store.sessions() == [] and not store.eraser().is_forgotten("s")


def test_a_changed_stone_is_found_by_verify(tmp_path, capsys):
    """It is under the seal of its row, as all stones are."""
    engine = engine_at(tmp_path, "ignore_sessions")
    rotated(engine)
    engine.close()
    database = tmp_path / "lcm" / "lcm.db"
    with closing(sqlite3.connect(database)) as sql:
        sql.execute("UPDATE forgotten SET digest = zeroblob(16) WHERE kind = 'unkept'")
        sql.commit()
    assert main(["verify", "--db", str(database)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "its seal is broken: the record of what was" in said
