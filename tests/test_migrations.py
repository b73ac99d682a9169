"""From every schema that was released to the newest one: nothing is lost, nothing is half done.

tests/data/mNNN.sql is what the version with that schema wrote (scripts/freeze_schema.py); a new
migration is tested against each of them from the day it is written, without a line here.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lcm import LCMEngine
from lcm.console.verify import verify
from lcm.scripts import freeze_schema
from lcm.storage import open_store
from lcm.storage.connection import Connection
from lcm.storage.errors import StoreError, StoreTooNew
from lcm.storage.examine import examine
from lcm.storage.migrations import MIGRATIONS, TABLES
from sqlite_utils import Migrations

ROOT = Path(__file__).resolve().parent.parent
FROZEN = sorted((ROOT / "tests" / "data").glob("m[0-9][0-9][0-9].sql"))


def thaw(frozen, path, *, rows=True):
    """Make the database that was frozen, in the journal mode that it had."""
    text = frozen.read_text("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as sql:
        sql.execute("PRAGMA journal_mode = WAL")
        sql.executescript(text if rows else text.partition(freeze_schema.ROWS)[0])
    return path


def rows_of(path):
    """Every row of every table but those of the search index and the migrations' own record, in order."""
    with contextlib.closing(sqlite3.connect(path)) as sql:
        names = sql.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return {
            name: sql.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608
            for (name,) in names.fetchall()
            if "_index" not in name and not name.startswith(("sqlite_", "_sqlite_"))
        }


def column_map(path):
    """Tables, and the columns of each: (name, type, not null, default, key)."""
    with contextlib.closing(sqlite3.connect(path)) as sql:
        names = sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: [tuple(row[1:]) for row in sql.execute(f"PRAGMA table_info({name})")]
            for (name,) in names
        }


def made_by(sql):
    """Statements that made tables, indexes and triggers."""
    rows = sql.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: " ".join(text.split()) for name, text in rows}


@pytest.mark.parametrize("rows", [True, False], ids=["rows", "empty"])
@pytest.mark.parametrize("frozen", FROZEN, ids=lambda path: path.stem)
def test_every_released_schema_becomes_the_newest(tmp_path, frozen, rows):
    """Its columns are those of a new database, every message verifies, searching finds, and more can be said."""
    path = thaw(frozen, tmp_path / "old.db", rows=rows)
    open_store(tmp_path / "new.db").close()
    store = open_store(path, create=False)
    report = verify(store)
    # After a change of the rows, and before their release: scripts/run.py scripts.freeze_schema
    assert report.good, report.failures
    assert report.counts.messages == (49 if rows else 0)
    assert len(store.search(["garden"], [], freeze_filter(), 5)) == rows
    assert store.check() == {}
    store.close()
    assert column_map(path) == column_map(tmp_path / "new.db")
    seen = examine(path)
    assert seen.sound and not seen.pending and not seen.index
    engine = LCMEngine(8000, settings={}, db_path=path)
    engine.on_session_start("second")
    said = [*freeze_schema.conversation(12), {"role": "user", "content": "And in the garden?"}]
    assert engine.ingest([*said, {"role": "assistant", "content": "Roses."}]).new == (
        1 if rows else 50
    )
    engine.close()


def freeze_filter():
    from lcm.storage.records import Filter

    return Filter()


def test_the_newest_schema_is_frozen(tmp_path):
    """Every migration has its file, and the newest is what this version makes.

    Until its release a migration may still change: run scripts/freeze_schema.py then. Afterwards it never does.
    """
    assert [path.stem for path in FROZEN] == [
        each.name.partition("_")[0] for each in MIGRATIONS._migrations
    ]
    open_store(tmp_path / "new.db").close()
    thaw(FROZEN[-1], tmp_path / "frozen.db", rows=False)
    with (
        contextlib.closing(sqlite3.connect(tmp_path / "new.db")) as new,
        contextlib.closing(sqlite3.connect(tmp_path / "frozen.db")) as old,
    ):
        assert made_by(new) == made_by(old), "run scripts/run.py scripts.freeze_schema"
    made = {name for name in column_map(tmp_path / "new.db") if "_index" not in name}
    assert {name for name in made if not name.startswith(("sqlite_", "_sqlite_"))} == TABLES


def test_there_are_no_triggers(tmp_path):
    """MIG-09: the index is written by the code that reads it, so no old trigger can drift from it.

    After a hundred changed messages it finds every text in each version, and no text twice.
    """
    path = tmp_path / "lcm.db"
    engine = LCMEngine(8000, settings={}, db_path=path)
    engine.on_session_start("s")
    rows = [
        {"role": "user", "content": f"first{n} text", "message_uid": f"{n:032x}"}
        for n in range(100)
    ]
    engine.ingest(rows)
    engine.ingest([{**row, "content": f"second{n} text"} for n, row in enumerate(rows)])
    engine.close()
    store = open_store(path, create=False)
    for n in range(100):
        for word in (f"first{n}", f"second{n}"):
            assert len(store.search([word], [], freeze_filter(), 9)) == 1
    assert store.check() == {}
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as sql:
        assert sql.execute(
            "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'"
        ).fetchone() == (0,)


def test_a_newer_schema_is_left_alone(tmp_path):
    """MIG-04: an older version refuses it in words, and changes no byte."""
    path = thaw(FROZEN[-1], tmp_path / "lcm.db")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as sql:
        sql.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('lcm', 'm999_later', '')"
        )
        sql.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match="newer version"):
        open_store(path)
    assert path.read_bytes() == before


# a migration that does not come to its end


def with_one_more(step):
    """All migrations there are, and one more."""
    migrations = Migrations("lcm")
    for each in MIGRATIONS._migrations:
        migrations(name=each.name)(each.fn)
    migrations(name="m999_test")(step)
    return migrations


def half_of_it(db):
    """The first steps of a migration: a new table, a new column, every row rewritten."""
    db.conn.execute("CREATE TABLE later (x)")
    db.conn.execute("ALTER TABLE messages ADD COLUMN later TEXT")
    db.conn.execute("UPDATE messages SET later = hex(randomblob(2000))")


@pytest.mark.parametrize("failure", [ValueError("a bug"), sqlite3.OperationalError("a full disk")])
def test_a_migration_that_fails_changes_nothing(tmp_path, failure):
    """MIG-05: the old schema and every row are as before, the error says so, and the next try does it."""
    path = thaw(FROZEN[-1], tmp_path / "lcm.db")
    before, columns = rows_of(path), column_map(path)

    def fails(db):
        half_of_it(db)
        raise failure

    with pytest.raises(StoreError, match=r"lcm\.db"):
        Connection(path, create=False, migrations=with_one_more(fails))
    assert rows_of(path) == before
    assert column_map(path) == columns
    store = open_store(path, create=False)
    assert verify(store).good
    store.close()

    Connection(path, create=False, migrations=with_one_more(half_of_it)).close()
    assert "later" in rows_of(path)
    with contextlib.closing(sqlite3.connect(path)) as sql:
        filled = "SELECT count(*), count(later) FROM messages"
        assert sql.execute(filled).fetchone() == (49, 49)


#: Migrates in a child of its own; slowly, so that it can be killed or met half-way.
_CHILD = """
import importlib.util, sys, time
from pathlib import Path
root, path, seconds = sys.argv[1:4]
spec = importlib.util.spec_from_file_location("lcm", f"{root}/__init__.py", submodule_search_locations=[root])
lcm = importlib.util.module_from_spec(spec); sys.modules["lcm"] = lcm; spec.loader.exec_module(lcm)
from lcm.storage.connection import Connection
from lcm.storage.migrations import MIGRATIONS
from sqlite_utils import Migrations
migrations = Migrations("lcm")
for each in MIGRATIONS._migrations:
    migrations(name=each.name)(each.fn)
@migrations()
def m999_test(db):
    print("half", flush=True)
    db.conn.execute("CREATE TABLE later (x)")
    db.conn.execute("ALTER TABLE messages ADD COLUMN later TEXT")
    for (number,) in db.conn.execute("SELECT id FROM messages").fetchall():
        db.conn.execute("UPDATE messages SET later = hex(randomblob(20000)) WHERE id = ?", [number])
        time.sleep(float(seconds) / 50)
    db.conn.execute("INSERT INTO later VALUES (1)")
connection = Connection(Path(path), create=True, migrations=migrations)
print(connection.sql.execute("SELECT count(*) FROM later").fetchone()[0], flush=True)
connection.close()
"""


def child(path, seconds):
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(ROOT), str(path), str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    "moment", [0.0, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.3, 0.7))]
)
def test_a_migration_that_is_killed_changes_nothing(tmp_path, moment):
    """MIG-05: SIGKILL between two steps: all rows are there in the old schema, and the next start finishes it."""
    path = thaw(FROZEN[-1], tmp_path / "lcm.db")
    before, columns = rows_of(path), column_map(path)
    process = child(path, 30)
    assert process.stdout.readline() == "half\n"
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert rows_of(path) == before
    assert column_map(path) == columns
    again = child(path, 0)
    assert again.communicate(timeout=60)[0].split() == ["half", "1"]
    assert again.returncode == 0
    with contextlib.closing(sqlite3.connect(path)) as sql:
        assert sql.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        assert sql.execute("SELECT count(later) FROM messages").fetchone() == (49,)


@pytest.mark.parametrize(
    "there", [pytest.param(True, marks=pytest.mark.slow), False], ids=["old file", "no file"]
)
def test_two_processes_that_migrate_at_once(tmp_path, there):
    """MIG-05: one does it, the others wait and find it done; also where all of them make the file."""
    path = tmp_path / "lcm.db"
    if there:
        thaw(FROZEN[-1], path)
    processes = [child(path, 2) for _ in range(3)]
    said = [process.communicate(timeout=120)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(said) == [["1"], ["1"], ["half", "1"]]


def test_the_index_is_made_again_while_others_write(tmp_path):
    """MIG-06: the only change of tables on a live file is one transaction: nobody fails, nothing is lost."""
    path = tmp_path / "lcm.db"
    open_store(path).close()
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(ROOT), str(path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout.readline() == "ready\n"
    made = 0
    while writer.poll() is None:
        store = open_store(path, create=False)
        store.reindex()
        store.close()
        made += 1
    assert json.loads(writer.stdout.read()) == {"problems": []}
    writer.stdout.close()
    assert writer.returncode == 0
    assert made > 2
    store = open_store(path, create=False)
    assert store.totals().messages == 120
    assert store.check() == {}
    for n in range(0, 120, 7):
        assert len(store.search([f"word{n}"], [], freeze_filter(), 9)) == 1
    assert verify(store).good
    store.close()


_WRITER = """
import importlib.util, json, sys
root, path = sys.argv[1:3]
spec = importlib.util.spec_from_file_location("lcm", f"{root}/__init__.py", submodule_search_locations=[root])
lcm = importlib.util.module_from_spec(spec); sys.modules["lcm"] = lcm; spec.loader.exec_module(lcm)
engine = lcm.LCMEngine(8000, settings={}, db_path=path)
engine.on_session_start("s")
rows = []
print("ready", flush=True)
for n in range(120):
    rows.append({"role": "user" if n % 2 == 0 else "assistant", "content": f"word{n} and more"})
    engine.on_turn_complete(rows)
    json.loads(engine.handle_tool_call("lcm_grep", {"query": f"word{n}"}))["results"][0]
print(json.dumps({"problems": engine.get_status()["problems"]}), flush=True)
engine.close()
"""


def test_opening_costs_the_same_at_any_size(tmp_path):
    """MIG-03, HOST-11: a start reads a few pages of the file, not all: no check of the whole is in its way."""
    counted = Path("/proc/self/io")
    if not counted.exists():
        pytest.skip("only Linux counts what a process reads")
    path = thaw(FROZEN[-1], tmp_path / "lcm.db")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as sql:
        sql.execute("CREATE TABLE ballast (x)")
        for _ in range(60):
            sql.execute("INSERT INTO ballast VALUES (randomblob(1000000))")
    assert path.stat().st_size > 50_000_000
    engine = LCMEngine(8000, settings={}, db_path=path)

    def read():
        return int(counted.read_text().split("rchar: ")[1].split()[0])

    before = read()
    engine.on_session_start("first")
    engine.ingest(freeze_schema.conversation(13))
    spent = read() - before
    engine.close()
    assert spent < 2_000_000


def test_a_frozen_file_is_all_there_is_to_a_database(tmp_path):
    """The file copied away and opened elsewhere is the same: it holds no path and no name of a machine."""
    path = thaw(FROZEN[-1], tmp_path / "a" / "lcm.db")
    moved = tmp_path / "b" / "other.db"
    moved.parent.mkdir()
    shutil.copy(path, moved)
    store = open_store(moved, create=False)
    assert verify(store).good
    store.close()
