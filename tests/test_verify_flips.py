"""``verify`` finds a changed bit in any column of any table, one at a time."""

# ruff: noqa: S608 - statements on a copy that is thrown away, made of our own constants

from __future__ import annotations

import random
import re
import sqlite3
import struct
import tracemalloc
from contextlib import closing, contextmanager

import pytest
from lcm.console.verify import verify
from lcm.dag.unkept import stone_of
from lcm.storage import open_store
from lcm.storage.errors import StoreDamaged
from lcm.storage.forget import Stone
from lcm.storage.migrations import TABLES
from talking import engine_on, rows_of, talk

#: Columns that mean nothing by themselves, and why.
MEANINGLESS = {
    (
        "lines",
        "revision",
    ): "a counter that grows with every change: only that it changes says something"
}
#: Bits of a float that change its value and leave it a number.
_MANTISSA = 52


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A sound database with rows in every table, and no NULL in any column in all of its rows."""
    file = tmp_path_factory.mktemp("flips") / "lcm.db"
    engine = engine_on(file, "first")
    rows = talk(engine, "first", range(16), compact_every=4)
    rows[-2] = rows[-2] | {"content": "pruned by the host: " + "so it is shorter than before " * 90}
    rows[-1] = rows[-1] | {"message_uid": "0f" * 16}  # the host gives it a uid of its own
    engine.on_turn_complete(rows)
    engine.close()
    with closing(open_store(file)) as store:
        store.open_session("branch", parent="first", relation="branch")
        store.remember("first", "note", {"kept": 1})
        other = store.open_session("other").line
        store.eraser().bury(Stone("secret", "s1", 1.0, b"d" * 16, other, {"messages": 2}))
        store.eraser().bury(stone_of("20261130_030500_ab12cd", "cron_*", 1.0))
    branch = engine_on(file, "branch")
    branch.on_turn_complete([*rows, *rows_of("branch", 0)])
    branch.close()
    return file


@pytest.fixture
def flip(path):
    """Change a cell, verify, put it back; gives the report, or None if SQLite refuses the change."""
    with closing(sqlite3.connect(path, isolation_level=None)) as sql:
        yield lambda *cell: _flipped(sql, path, *cell)


def _flipped(sql, path, table, column, place, changed):
    keys = [row[1] for row in sql.execute(f"PRAGMA table_info({table})") if row[5]]
    row = sql.execute(
        f"SELECT {', '.join(keys)}, {column}, typeof({column}) FROM {table}"
        f" WHERE {column} IS NOT NULL ORDER BY {', '.join(keys)} LIMIT 1 OFFSET ?",
        [place],
    ).fetchone()
    *named, value, kind = row
    where = " AND ".join(f"{key} IS ?" for key in keys)
    if kind == "text":
        new, how = changed(value.encode("utf-8", "surrogatepass")), "CAST(? AS TEXT)"
    else:
        new, how = changed(value), "?"
    try:
        sql.execute(f"UPDATE {table} SET {column} = {how} WHERE {where}", [new, *named])
    except sqlite3.IntegrityError:
        return None
    if column in keys:  # its own name changed with it
        named[keys.index(column)] = new
        where = where.replace(f"{column} IS ?", f"CAST({column} AS BLOB) IS CAST(? AS BLOB)")
    try:
        with closing(open_store(path, create=False)) as store:
            return verify(store)
    finally:
        back = value.encode("utf-8", "surrogatepass") if kind == "text" else value
        done = sql.execute(f"UPDATE {table} SET {column} = {how} WHERE {where}", [back, *named])
        assert done.rowcount == 1


def one_bit(dice):
    """Something that changes one bit of a value, whatever its type."""

    def change(value):
        if isinstance(value, int):
            return value ^ 1 << dice.randrange(24)
        if isinstance(value, float):
            (bits,) = struct.unpack("<q", struct.pack("<d", value))
            return struct.unpack("<d", struct.pack("<q", bits ^ 1 << dice.randrange(_MANTISSA)))[0]
        flipped = bytearray(value or b"\0")
        flipped[dice.randrange(len(flipped))] ^= 1 << dice.randrange(8)
        return bytes(flipped)

    return change


def columns_of(path):
    """(table, column, rows in which it is not NULL) of every table of ours."""
    with closing(sqlite3.connect(path)) as sql:
        for table in sorted(TABLES):
            for row in sql.execute(f"PRAGMA table_info({table})").fetchall():
                column = row[1]
                (count,) = sql.execute(f"SELECT count({column}) FROM {table}").fetchone()
                yield table, column, count


def test_the_database_is_sound_and_has_something_everywhere(path):
    """What is flipped below is there, and nothing was wrong with it before."""
    with closing(open_store(path, create=False)) as store:
        report = verify(store)
    assert (report.failures, report.notes) == ((), ())
    assert [each for each in columns_of(path) if not each[2]] == []


def test_a_changed_bit_of_every_column_is_found(path, flip):
    """Each column of each table in turn, in its first, its last and a row between."""
    dice = random.Random(3)
    missed, unflipped = [], []
    for table, column, count in list(columns_of(path)):
        seen = 0
        for place in sorted({0, count // 2, count - 1}):
            report = flip(table, column, place, one_bit(dice))
            seen += report is not None
            if report is not None and report.good and (table, column) not in MEANINGLESS:
                missed.append((table, column, place))
        if not seen:
            unflipped.append((table, column))
    assert missed == []
    assert unflipped == []


@pytest.mark.parametrize("flips", [100, pytest.param(6000, marks=pytest.mark.long)])
def test_a_changed_bit_of_any_cell_is_found(path, flip, flips):
    """Any bit of any byte of any cell, drawn by lot from all tables alike."""
    dice = random.Random(11)
    every = [each for each in columns_of(path) if each[:2] not in MEANINGLESS]
    missed = []
    for _ in range(flips):
        table, column, count = dice.choice(every)
        place = dice.randrange(count)
        report = flip(table, column, place, one_bit(dice))
        if report is not None and report.good:
            missed.append((table, column, place))
    assert missed == []


@contextmanager
def megabytes(most):
    """Fail if more than that is held at any time inside the block."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most * 2**20, f"{peak >> 20} MB"


FAR = 1 << 40


@pytest.mark.parametrize("place", [0, 16, 31], ids=["first", "between", "last"])
def test_a_damaged_number_of_versions_is_found_without_counting_to_it(path, flip, place):
    """A message says that it has a million million versions; nobody makes a list of them."""
    with megabytes(10):
        report = flip("messages", "version", place, lambda value: value | FAR)
    said = {finding.what for finding in report.failures if finding.kind == "message"}
    assert "has other versions than it says" in said
    assert len(report.failures) < 10


def test_a_damaged_number_of_versions_is_an_error_to_who_reads_all_of_them(path, caplog):
    """It stops at the first version that is not there; a new index passes it over, and names it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as sql, megabytes(10):
        sql.execute(f"UPDATE messages SET version = version | {FAR} WHERE id = 3")
        try:
            with closing(open_store(path, create=False)) as store:
                with pytest.raises(StoreDamaged, match=r"^Version 1 of message .* is missing"):
                    list(store.stream())
                (before,) = sql.execute("SELECT count(*) FROM message_index_docsize").fetchone()
                store.reindex()
                (after,) = sql.execute("SELECT count(*) FROM message_index_docsize").fetchone()
                assert after == before - 1
                assert re.search(r"Version \d of message .* is missing", caplog.text)
        finally:
            sql.execute(f"UPDATE messages SET version = version & ~{FAR} WHERE id = 3")
    with closing(open_store(path, create=False)) as store:
        store.reindex()


def test_an_edge_that_closes_a_circle_is_found_and_walked_once(path, flip):
    """A source that leads back up: no walk down goes round in it, each edge of a node in turn."""
    with closing(sqlite3.connect(path)) as sql:
        (count,) = sql.execute("SELECT count(source) FROM edges").fetchone()
        (newest,) = sql.execute("SELECT max(id) FROM nodes").fetchone()
    assert count > 3
    for place in range(count):
        with megabytes(10):
            report = flip("edges", "source", place, lambda _: newest)
        said = {finding.what for finding in report.failures if finding.kind == "node"}
        assert "it has a source that was made after it" in said


def test_what_stands_under_a_node_in_a_circle_comes_to_an_end(path):
    """The walk that every door uses."""
    with closing(sqlite3.connect(path, isolation_level=None)) as sql:
        node, place, source = sql.execute(
            "SELECT node, place, source FROM edges WHERE source NOTNULL ORDER BY node LIMIT 1"
        ).fetchone()
        (uid,) = sql.execute("SELECT lower(hex(uid)) FROM nodes WHERE id = ?", [node]).fetchone()
        turned = "UPDATE edges SET source = ? WHERE node = ? AND place = ?"
        sql.execute(turned, [node, node, place])
        try:
            with megabytes(10), closing(open_store(path, create=False)) as store:
                left = store.stands_for(uid)
        finally:
            sql.execute(turned, [source, node, place])
    with closing(open_store(path, create=False)) as store:
        assert set(left) < set(store.stands_for(uid))
