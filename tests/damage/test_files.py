"""Whatever is in the place of the database: the conversation goes on, nothing is overwritten, all is said.

And when the cause is gone, the same engine stores what it missed.
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import sqlite3

import pytest
from damagekit import ask, content_of, doctor, every_door, expected, talk, texts
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.storage import open_store
from lcm.storage.errors import StoreError
from lcm.storage.migrations import TABLES

PAGE = 4096

# what may be in a file's place


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def cut_to_a_stump(path):
    os.truncate(path, 50)


def overwrite_the_first_page(path):
    with path.open("r+b") as file:
        file.write(random.Random(7).randbytes(PAGE))


def write_over_the_schema(path):
    """The header stays, so that it is our database still; the schema behind it does not."""
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (PAGE - 100))


def put_text_there(path):
    path.write_text("Somebody's notes, and no database. " * 200)


def put_a_folder_there(path):
    path.unlink()
    path.mkdir()


def put_another_program_there(path):
    path.unlink()
    sql = sqlite3.connect(path)
    sql.execute("CREATE TABLE theirs (x)")
    sql.execute("INSERT INTO theirs VALUES ('precious')")
    sql.commit()
    sql.close()


def make_it_newer(path):
    sql = sqlite3.connect(path)
    sql.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('lcm', 'm999_later', '')"
    )
    sql.commit()
    sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sql.close()


def take_it_away_and_leave_its_wal(path):
    with path.with_name("lcm.db-wal").open("wb") as file:
        file.write(random.Random(8).randbytes(9000))
    path.unlink()


DAMAGES = {
    truncate: "damaged",
    cut_to_a_stump: "damaged",
    overwrite_the_first_page: "no SQLite database",
    write_over_the_schema: "damaged",
    put_text_there: "no SQLite database",
    put_a_folder_there: "is a folder",
    put_another_program_there: "another program",
    make_it_newer: "newer version",
    take_it_away_and_leave_its_wal: "missing or empty",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_file_stops_no_conversation(filled, make, capsys, caplog, damage):
    """MIG-10, MIG-04, HOST-04, ING-07: the list comes back, every tool says what to do, no byte is changed.

    The doctor knows, too.
    And after the file is put back the same engine stores what it missed, once.
    """
    copy = filled.with_name("kept-copy")
    shutil.copy(filled, copy)
    damage(filled)
    before = content_of(filled)
    engine = make()
    rows = talk(34)
    with caplog.at_level(logging.WARNING):
        assert engine.compress(rows, current_tokens=10**6) is rows
        assert engine._last_compress_aborted
        assert DAMAGES[damage] in engine._last_summary_error
        every_door(engine, rows)
    assert sum("failed:" in record.message for record in caplog.records) <= 2  # not once a door
    said = engine.get_status()["problems"]
    assert len(said) <= 2
    assert DAMAGES[damage] in " ".join(said)
    code, wrong = doctor(capsys, filled)
    assert code == 1
    assert all(check["remedy"] for check in wrong.values())
    assert {"database", "integrity"} & wrong.keys()
    assert before == content_of(filled)

    for each in filled.parent.glob("lcm.db*"):
        each.rmdir() if each.is_dir() else each.unlink()
    shutil.move(copy, filled)
    engine.on_turn_complete(rows)
    assert engine.get_status()["problems"] == []
    assert "error" not in ask(engine, "lcm_grep", query="harbour33")
    engine.close()
    assert texts(filled) == expected(34)
    assert doctor(capsys, filled) == (0, {})


@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_table_that_is_missing(filled, make, capsys, table):
    """MIG-05: what was dropped is not made again in silence: the list comes back, and the doctor names the table."""
    sql = sqlite3.connect(filled)
    sql.execute(f"DROP TABLE {table}")
    sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sql.close()
    before = content_of(filled)
    engine = make()
    rows = talk(34)
    rows[-1]["content"] += " long" * 1000  # a payload of its own
    assert engine.compress(rows, current_tokens=10**6) is rows
    engine.on_turn_complete(rows)
    said = " ".join(engine.get_status()["problems"])
    assert f"lacks the table {table}" in said or "does not have the tables" in said
    for name in ("lcm_status", "lcm_grep"):
        assert ask(engine, name, query="harbour3")
    engine.close()
    code, wrong = doctor(capsys, filled)
    assert code == 1
    assert table in wrong["integrity"]["said"]
    assert before == content_of(filled)


def ingested(engine, rows):
    """Whether the rows could be stored."""
    try:
        engine.ingest(rows)
    except StoreError as error:
        said = str(error)
    else:
        return True
    assert "doctor" in said
    return False


@pytest.mark.parametrize("seed", range(12))
def test_random_pages_that_are_overwritten(filled, make, capsys, seed):
    """MIG-10: any three pages: nothing is raised, what is said to be stored is, damaged pages stay as they are."""
    dice = random.Random(seed)
    pages = filled.stat().st_size // PAGE
    hit = dice.sample(range(1, pages), 3)
    junk = {page: dice.choice([b"\0" * PAGE, dice.randbytes(PAGE)]) for page in hit}
    with filled.open("r+b") as file:
        for page, noise in junk.items():
            file.seek(page * PAGE)
            file.write(noise)
    engine = make()
    rows = talk(34)
    assert len(engine.compress(rows, current_tokens=10**6)) <= len(rows)
    for name, args in (("lcm_grep", {"query": "harbour3"}), ("lcm_describe", {})):
        ask(engine, name, **args)
    stored = ingested(engine, rows)
    if not stored:
        assert engine.compress(rows, current_tokens=10**6) is rows
    engine.close()
    if stored:
        again = make()
        assert again.ingest(rows).new == 0
        again.close()
    else:
        after = filled.read_bytes()
        assert all(after[p * PAGE : (p + 1) * PAGE] == noise for p, noise in junk.items())
    code, wrong = doctor(capsys, filled)
    verified = main(["verify", "--db", str(filled)])
    assert (code, verified) != (0, 0) or stored
    assert all(check["remedy"] for check in wrong.values())


def test_what_was_found_damaged_is_written_to_no_more(filled, make):
    """MIG-10: from the first page that cannot be read on, no byte of the file or its WAL changes."""
    with filled.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        for page in range(1, file.tell() // PAGE):  # all but the schema
            file.seek(page * PAGE)
            file.write(b"\0" * PAGE)
    before = content_of(filled)
    engine = make()
    rows = talk(31)
    for _ in range(3):
        assert engine.compress(rows, current_tokens=10**6) is rows
        engine.on_turn_complete(rows)
    assert "damaged" in " ".join(engine.get_status()["problems"])
    engine.close()
    assert before == content_of(filled)


def test_a_wal_that_is_lost(make, database, tmp_path):
    """MIG-11: without the WAL the file is as at its last checkpoint; the next list brings back the rest, once."""
    engine = make()
    engine.ingest(talk(20))
    engine.close()  # a checkpoint
    engine.on_session_start("s", hermes_home=str(database.parent.parent), platform="cli")
    engine.ingest(talk(25))
    assert database.with_name("lcm.db-wal").stat().st_size
    left = tmp_path / "left" / "lcm" / "lcm.db"
    left.parent.mkdir(parents=True)
    shutil.copy(database, left)  # the main file alone, as a careless backup has it
    assert texts(left) == expected(20)
    other = LCMEngine(8000, settings={}, db_path=left)
    other.on_session_start("s")
    assert other.ingest(talk(26)).new == 12
    other.close()
    assert texts(left) == expected(26)
    assert main(["verify", "--db", str(left)]) == 0
    assert texts(database) == expected(25)


# what happens to a file that is open


def test_a_database_that_is_deleted_while_it_is_open(make, database):
    """The engine does not write into nowhere: the next door makes a new file and stores the whole list."""
    engine = make()
    engine.ingest(talk(10))
    shutil.rmtree(database.parent)
    engine.on_turn_complete(talk(11))
    engine.close()
    assert texts(database) == expected(11)


def test_a_backup_that_is_put_in_place_while_an_engine_is_open(make, database, tmp_path):
    """The next door works on the restored file, and stores in it what it did not have."""
    engine = make()
    engine.ingest(talk(10))
    engine.close()
    shutil.copy(database, tmp_path / "old.db")
    engine.on_session_start("s", hermes_home=str(database.parent.parent))
    engine.ingest(talk(20))
    database.rename(tmp_path / "aside.db")
    shutil.copy(tmp_path / "old.db", database)
    engine.on_turn_complete(talk(21))
    engine.close()
    assert texts(database) == expected(21)
    assert main(["verify", "--db", str(database)]) == 0


def test_a_rotation_during_a_full_disk_is_not_forgotten(make, database):
    """The store could not take it; when it can, the new id goes on where the old one stood, once."""
    engine = make()
    engine.ingest(talk(10))
    engine.close()
    kept = database.read_bytes()
    database.write_text("no database " * 500)
    engine.on_session_start("s2", boundary_reason="compression", old_session_id="s")
    engine.on_turn_complete(talk(11))
    assert engine.get_status()["problems"]
    database.write_bytes(kept)
    engine.on_turn_complete(talk(12))
    assert engine.get_status()["problems"] == []
    store = open_store(database, create=False)
    assert len({session.line for session in store.sessions()}) == 1
    store.close()
    engine.close()
    assert texts(database) == expected(12)


def test_text_that_is_no_utf_8_hides_no_other(filled, make, capsys):
    """MIG-08: status, search and loading go on; the bad row is shown with a replacement."""
    sql = sqlite3.connect(filled)
    sql.execute("UPDATE messages SET tool = CAST(x'e29c' AS TEXT) WHERE id = 5")
    sql.commit()
    sql.close()
    engine = make()
    assert engine.ingest(talk(32)).new == 4
    assert ask(engine, "lcm_status")["messages"] == 64
    assert ask(engine, "lcm_grep", query="harbour3")["results"]
    turns = ask(engine, "retrieve_conversation_history", start_turn=1, end_turn=4)
    assert len(turns["messages"]) == 8
    engine.close()
    assert main(["status", "--db", str(filled)]) == 0
    assert main(["verify", "--db", str(filled)]) == 1
