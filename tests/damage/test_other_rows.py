"""Notes, records and bodies that are damaged: what can go on without them does, and all others say so in words."""

# ruff: noqa: S608 - statements on a copy that is thrown away, made of our own constants

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
import time

import pytest
from damagekit import ask, doctor, talk
from lcm.console.cli import main
from lcm.dag.forget import forget_session, forget_text
from lcm.storage import open_store
from lcm.storage.errors import StoreDamaged

NONSENSE = ("", "null", "[]", b"\xff\xfe", "[" * 9000, '{"a": "b"}')
BARE = re.compile(r"[A-Z]\w+Error|Traceback|fault of lcm")
LONG = "tide table " + "column " * 500


@pytest.fixture
def told(make, database):
    """Sixty messages, one of them long, a compaction, a string and a session that were forgotten; closed."""
    engine = make()
    rows = talk(30)
    rows[-1]["content"] += LONG
    engine.ingest(rows)
    engine.compress(rows, current_tokens=7000)
    engine.close()
    other = make("other")
    other.ingest(talk(2, 90))
    other.close()
    store = open_store(database)
    with contextlib.closing(store):
        forget_session(store, store.session("other"), time.time())
        forget_text(store, "answer 3 ", time.time())
        assert store.eraser().scrub()
    return database


def put(path, table, column, where, value):
    if column == "body" and isinstance(value, str):
        value = value.encode()
    with contextlib.closing(sqlite3.connect(path)) as sql, sql:
        done = sql.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", [value])
        assert done.rowcount > 0


def each_of(told, table, column, where):
    """The database with each nonsense there, one after the other."""
    for value in NONSENSE:
        copy = told.with_name("copy.db")
        for beside in told.parent.glob("copy.db*"):
            beside.unlink()
        shutil.copy(told, copy)
        put(copy, table, column, where, value)
        yield copy


PLACES = [
    ("memory", "value", "1"),
    ("forgotten", "detail", "kind = 'session'"),
    ("forgotten", "detail", "kind = 'text'"),
    ("passes", "data", "1"),
    ("messages", "body", "id = 5"),
    ("messages", "refs", "refs IS NOT NULL"),
]
VERBS = ("status", "tree --messages", "show --turn 3", "search harbour3 --mode exact", "verify")


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0]}.{place[1]}-{place[2][:8]}")
def test_no_verb_ends_in_an_error_of_pythons_own(told, capsys, place):
    """Whatever stands there, each verb says what it can, or what is damaged; and verify finds it."""
    for copy in each_of(told, *place):
        for words in VERBS:
            code = main([*words.split(), "--db", str(copy)])
            out = capsys.readouterr()
            assert not BARE.search(out.out + out.err), (words, out)
            assert words != "verify" or code == 1
        _, wrong = doctor(capsys, copy)
        assert not BARE.search(json.dumps(wrong)), wrong


@pytest.mark.parametrize(
    "place", [PLACES[0], PLACES[1], PLACES[3], PLACES[4]], ids=lambda place: place[0]
)
def test_a_conversation_goes_on_over_it(told, make, place):
    """A note, and what only informs, keep nothing from being stored; tools answer in words or without that message."""
    rows = [*talk(34)]
    rows[59]["content"] += LONG
    for copy in each_of(told, *place):
        engine = make(db_path=copy)
        assert engine.ingest(rows).new >= 8
        assert len(engine.compress(rows, current_tokens=7000)) < len(rows)
        for name, args in (
            ("lcm_grep", {"query": "harbour7"}),
            ("lcm_grep", {"query": "harbour7", "mode": "exact"}),
            ("retrieve_conversation_history", {"start_turn": 1, "end_turn": 6}),
            ("lcm_describe", {}),
        ):
            answer = ask(engine, name, **args)
            assert "error" not in answer, (name, answer)
            assert name != "lcm_grep" or answer["results"]
        assert not BARE.search(json.dumps(ask(engine, "lcm_status")))
        engine.close()


def test_a_message_that_is_damaged_says_so_among_the_others(told, make):
    """In its turn it stands in its place; a search passes it over, and the log names it."""
    put(told, "messages", "body", "id = 5", b'{"content": "question')
    engine = make()
    found = ask(engine, "retrieve_conversation_history", start_turn=2, end_turn=4)["messages"]
    assert len(found) == 6
    assert ["damaged" in row["content"] for row in found] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    assert ask(engine, "lcm_grep", query="harbour3 about", mode="exact")["results"] == []
    engine.close()


def test_a_forgotten_string_that_cannot_be_known_again_stops_what_is_stored(told, make):
    """Rather nothing is stored than what was to be forgotten; the record is named."""
    put(told, "forgotten", "detail", "kind = 'text'", "{")
    engine = make()
    with pytest.raises(StoreDamaged, match="must not be kept"):
        engine.ingest(talk(40))
    rows = talk(40)
    assert engine.compress(rows, current_tokens=10**6) is rows
    assert "must not be kept" in " ".join(engine.get_status()["problems"])


@pytest.mark.parametrize(
    "place", [PLACES[4], PLACES[5], ("nodes", "data", "kind = 'leaf'")], ids=lambda place: place[1]
)
def test_forgetting_goes_on_over_what_is_damaged(told, capsys, place):
    """A session can be forgotten with what is damaged in it, and a string is taken out of all others."""
    for copy in each_of(told, *place):
        code = main(["forget", "--text", "question 7 ", "--yes", "--db", str(copy)])
        out = capsys.readouterr()
        assert not BARE.search(out.out + out.err), out
        assert code == 0, out
        store = open_store(copy, create=False)
        assert not store.eraser().holding([b"question 7 "])
        store.close()
        assert main(["doctor", "--fix", "--db", str(copy)]) in (0, 1)
        assert main(["forget", "--session", "s", "--yes", "--db", str(copy)]) == 0
        assert main(["verify", "--db", str(copy)]) == 0
        capsys.readouterr()


@pytest.mark.parametrize(
    "body", [b"", b'{"content": "quest', b"{broken}"], ids=["empty", "cut", "odd"]
)
def test_what_a_host_makes_of_a_damaged_message_is_stored(told, make, body):
    """A host that prunes the damaged one goes on being stored: that is a new version, and the index is marked."""
    put(told, "messages", "body", "id = 6", body)
    engine = make()
    rows = talk(33)
    rows[59]["content"] += LONG
    rows[5]["content"] = "pruned by the host"
    report = engine.ingest(rows)
    assert (report.new, report.revised) == (6, 1)
    assert ask(engine, "lcm_grep", query="harbour32")["results"]
    shown = ask(engine, "retrieve_conversation_history", start_turn=3, end_turn=3)["messages"]
    assert shown[1]["content"] == "pruned by the host"
    assert len(engine.compress(rows, current_tokens=7000)) < len(rows)
    engine.close()
    assert main(["doctor", "--fix", "--db", str(told)]) == 0
    engine = make()
    assert ask(engine, "lcm_grep", query="pruned host")["results"]
    engine.close()
