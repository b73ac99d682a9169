"""The lock file beside the database: whoever writes has one, and nobody waits for it for ever."""

from __future__ import annotations

import contextlib
import fcntl
import sqlite3
import time

import pytest
from damagekit import doctor, expected, talk, texts
from lcm.console.backup import make_backup
from lcm.console.cli import main
from lcm.storage import connection, open_store
from lcm.storage.errors import StoreMissing


def journal(path):
    """The journal mode, as another program sees it."""
    sql = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return sql.execute("PRAGMA journal_mode").fetchone()[0]
    finally:
        sql.close()


def lose_the_lock(path, _aside):
    path.with_name("lcm.db-lock").unlink()


def restore(path, aside):
    """What operations.md says of it."""
    make_backup(str(path), str(aside / "copy.db"))
    for each in path.parent.glob("lcm.db*"):
        each.unlink()
    path.write_bytes((aside / "copy.db").read_bytes())
    assert journal(path) == "delete"


@pytest.mark.parametrize("before", [lose_the_lock, restore], ids=lambda each: each.__name__)
def test_an_agent_on_a_database_that_lacks_its_lock(filled, make, tmp_path, before):
    """The agent that looks up its session makes the lock, and writes under WAL."""
    before(filled, tmp_path)
    engine = make()
    engine.ingest(talk(33))
    assert filled.with_name("lcm.db-lock").exists()
    assert engine._attachment.open()._store._connection._handle.lock_file is not None
    assert journal(filled) == "wal"
    engine.close()
    assert texts(filled) == expected(33)


def test_who_only_looks_makes_no_lock(filled):
    """A backup that is looked at stays one file; where something is to be written, the lock is made."""
    lose_the_lock(filled, None)
    assert main(["verify", "--db", str(filled)]) == 0
    assert main(["status", "--db", str(filled)]) == 0
    assert sorted(each.name for each in filled.parent.iterdir()) == ["lcm.db"]
    open_store(filled, create=False, writes=True).close()
    assert filled.with_name("lcm.db-lock").exists()


def test_who_would_write_makes_no_database(database):
    """Where there is none, a look makes none, and nothing beside it either."""
    database.parent.mkdir(parents=True)
    with pytest.raises(StoreMissing):
        open_store(database, create=False, writes=True)
    assert list(database.parent.iterdir()) == []


@contextlib.contextmanager
def held(path):
    """Somebody holds the lock file and does not let go of it."""
    with path.with_name("lcm.db-lock").open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def brief(monkeypatch):
    """So that a test need not wait for five seconds."""
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.5)


def test_nobody_waits_for_a_lock_that_is_held_for_good(filled, make, capsys, brief):
    """Whoever opens the database gives up after a while and says so; doors behind an agent's first wait no more.

    What was said meanwhile is stored when the lock is free.
    """
    with held(filled):
        began = time.monotonic()
        assert main(["status", "--db", str(filled)]) == 1
        assert "holds" in capsys.readouterr().err
        engine = make()
        first = time.monotonic()
        for turns in (31, 32, 33):
            engine.on_turn_complete(talk(turns))
        end = time.monotonic()
        assert end - first < 1
        assert end - began < 3
        assert "lcm.db-lock" in " ".join(engine.get_status()["problems"])
        code, wrong = doctor(capsys, filled)
        assert (code, list(wrong)) == (1, ["lock"])
    engine.on_session_end("s", talk(33))  # at once: the lock is free
    assert engine.get_status()["problems"] == []
    engine.close()
    assert texts(filled) == expected(33)


def test_a_file_that_cannot_be_wiped_while_the_lock_is_held(filled, brief):
    """What was to be forgotten is; that its old bytes are left is told, and no error."""
    store = open_store(filled, create=False)
    with held(filled):
        assert store.eraser().scrub() is False
    assert store.eraser().scrub()
    store.close()
