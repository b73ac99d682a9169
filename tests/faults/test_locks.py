"""Concurrency and locks: whoever holds what, a door returns, and nothing is lost or doubled."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from faultkit import talk
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.storage import connection, open_store
from lcm.storage.canon import decode
from lcm.storage.errors import StoreClosed

HOLDER = """
import sqlite3, sys
sql = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
sql.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
sql.execute("COMMIT")
sql.close()
"""
ONLOOKER = """
import sqlite3, sys
sql = sqlite3.connect(sys.argv[1])
print(sql.execute("SELECT count(*) FROM messages").fetchone()[0])
sql.close()
"""


@contextmanager
def locked(path):
    """Another process holds the write lock until the end of the block."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "held\n"
        yield
    finally:
        child.communicate("\n", timeout=30)


def stored(engine, session="s"):
    """What the store holds of a session, in order, after a look at all of it."""
    store = open_store(engine.db_path, create=False)
    with closing(store):
        assert verify(store).failures == ()
        entries = store.entries(store.session(session).line)
        return [decode(m.body) for m in store.read([(entry.id, 0) for entry in entries])]


def at_once(*works):
    """Run each in a thread of its own, started together; raises what one of them raised."""
    gate, raised = threading.Barrier(len(works)), []

    def run(work):
        gate.wait()
        try:
            work()
        except Exception as error:  # noqa: BLE001 - told to the caller
            raised.append(error)

    threads = [threading.Thread(target=run, args=[work]) for work in works]
    [thread.start() for thread in threads]
    [thread.join(timeout=60) for thread in threads]
    assert not any(thread.is_alive() for thread in threads)
    assert raised == []


@pytest.mark.slow
def test_a_lock_that_is_held_defers_a_door(make):
    """CONC-01: a door waits once and not for long, the next ones hardly; what they brought is stored later."""
    engine, rows = make(), talk(2)
    engine.on_turn_complete(rows)
    with locked(engine.db_path):
        waited = []
        for door in (engine.on_turn_complete, engine.on_turn_complete, engine.compress):
            rows = [*rows, *talk(1, first=len(rows))]
            start = time.monotonic()
            door(list(rows))
            waited.append(time.monotonic() - start)
        engine.on_session_end("s", rows)
        assert waited[0] < connection.BUSY_SECONDS + 2
        assert max(waited[1:]) < 2
        (problem,) = engine.get_status()["problems"]
        assert "Another process is writing" in problem
        assert "4 times" in problem
    assert stored(engine) == talk(2)
    rows += talk(1, first=90)
    engine.on_turn_complete(rows)
    assert engine.get_status()["problems"] == []
    assert stored(engine) == rows


def test_two_sessions_of_one_family_write_at_once(make):
    """CONC-02: two threads, two clones of one engine, fifty batches each: all rows, no error."""
    first = make()
    second = first.clone_for_agent()
    second.on_session_start("t")

    def work(engine):
        for turns in range(1, 51):
            engine.ingest(talk(turns, words=3))

    at_once(lambda: work(first), lambda: work(second))
    second.close()
    assert stored(first) == stored(first, "t") == talk(50, words=3)
    assert first.get_status()["problems"] == []


def test_looking_at_the_file_drops_no_lock(make, capsys):
    """CONC-03: status, verify, doctor and backup in the process of a live engine leave the WAL alone."""
    engine, rows = make(), talk(3)
    engine.ingest(rows)
    path = Path(engine.db_path)
    wal = path.with_name(path.name + "-wal")
    before = os.stat(wal).st_ino
    for arguments in (["status"], ["verify"], ["doctor"], ["backup", str(path.parent / "copy.db")]):
        main(["--db", str(path), *arguments])
    capsys.readouterr()
    command = [sys.executable, "-c", ONLOOKER, str(path)]
    assert "6\n" == subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert os.stat(wal).st_ino == before
    rows += talk(2, first=9)
    engine.ingest(rows)
    assert "10\n" == subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert os.stat(wal).st_ino == before
    with closing(sqlite3.connect(path)) as sql:
        assert sql.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert stored(engine) == rows


def test_a_write_after_a_read_never_finds_its_view_stale(make):
    """CONC-04: what was read before somebody else's commit does not keep a transaction from writing."""
    first, second = make(), make("t")
    first.ingest(talk(2))
    second.ingest(talk(1))
    with closing(open_store(first.db_path)) as store:
        reader = store.stream()
        next(reader)  # a read that is not at its end
        second.ingest(talk(3))
        line = store.session("s").line
        with store.writing():
            seen = store.entries(line)
            store.withdraw(line, [seen[-1].seq], withdrawn=True)
        assert sum(1 for _ in reader) > 0
        assert [entry.withdrawn for entry in store.entries(line)] == [False] * 3 + [True]
    assert stored(second, "t") == talk(3)


def test_a_failed_transaction_takes_nothing_of_another_thread_along(make):
    """CONC-05: a thread that wrote while another's transaction was open keeps its row when that fails."""
    engine = make()
    engine.ingest(talk(1))
    with closing(open_store(engine.db_path)) as store:
        line = store.session("s").line
        inside = threading.Event()

        def fails():
            with pytest.raises(RuntimeError), store.writing():
                store.remember("s", "mine", 1)
                inside.set()
                time.sleep(0.2)
                raise RuntimeError

        def writes():
            inside.wait()
            store.withdraw(line, [store.tail(line, 1)[0].seq], withdrawn=True)

        at_once(fails, writes)
        assert store.tail(line, 1)[0].withdrawn
        assert store.recall("s", "mine") is None


def test_no_transaction_is_open_while_a_summariser_works(make):
    """CONC-06: another process stores its turn at once while a summary is being written."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(request):
        asked.set()
        go_on.wait(timeout=20)
        return request.text[:60]

    engine, other = make(summarizer=slow), make("t")
    rows = talk(40)
    engine.ingest(rows)
    other.ingest(talk(1))
    shorter = []
    work = threading.Thread(target=lambda: shorter.extend(engine.compress(rows, force=True)))
    work.start()
    assert asked.wait(timeout=20)
    with locked(engine.db_path):
        pass  # somebody else got the write lock at once
    start = time.monotonic()
    other.ingest(talk(2))
    took = time.monotonic() - start
    go_on.set()
    work.join(timeout=30)
    assert took < 1
    assert 0 < len(shorter) < len(rows)
    assert (stored(engine), stored(engine, "t")) == (rows, talk(2))


def test_every_thread_may_call_every_door(make):
    """CONC-07: an engine made in one thread answers all others."""
    engine, rows = make(), talk(3)
    engine.ingest(rows)
    answers = []
    doors = (
        lambda: engine.on_turn_complete(rows),
        lambda: engine.on_session_end("s", rows),
        lambda: engine.compress(rows),
        lambda: engine.should_compress(10),
        lambda: answers.append(engine.handle_tool_call("lcm_grep", {"query": "question"})),
        lambda: answers.append(engine.handle_tool_call("lcm_status", {}, messages=rows)),
        lambda: engine.bind_session_state(None, "s"),
        engine.get_status,
        engine.close,
    )
    at_once(*doors)
    assert not [answer for answer in answers if "error" in json.loads(answer)]
    assert engine.get_status()["problems"] == []
    assert stored(engine) == rows


def test_two_agents_compact_one_session_at_once(make):
    """CONC-08: each message is under one leaf, whoever was first; both get a list that fits."""
    both = threading.Barrier(2)

    def summary(request):
        if not both.broken:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(timeout=1)  # so that neither is ready before the other has begun
        return request.text[:60]

    rows = talk(40)
    engines = [make(summarizer=summary) for _ in range(2)]
    lists = {}
    for engine in engines:
        engine.ingest(rows)
    at_once(
        *(lambda n=n: lists.update({n: engines[n].compress(rows, force=True)}) for n in range(2))
    )
    assert len(lists[0]) < len(rows)
    assert lists[0] == lists[1]
    with closing(open_store(engines[0].db_path, create=False)) as store:
        line = store.session("s").line
        under = [s.message for n in store.nodes_on([line], kinds=["leaf"]) for s in n.sources]
    assert len(under) == len(set(under)) > 0
    assert stored(engines[0]) == rows


def test_closing_under_a_writer(make):
    """CONC-09: close while another thread stores: that finishes, the file is sound, a second close is harmless."""
    engine = make()
    lists = [talk(turns, words=3) for turns in range(1, 41)]
    written = threading.Event()

    def writes():
        for rows in lists:
            engine.ingest(rows)
            written.set()

    def closes():
        written.wait()
        for _ in range(20):
            engine.on_session_end("s", lists[-1][:2])
            engine.close()
            engine.close()

    at_once(writes, closes)
    engine.ingest(lists[-1])
    assert stored(engine) == lists[-1]
    assert engine.get_status()["problems"] == []


def test_what_was_closed_says_so(tmp_path):
    """CONC-09: a store that is written to after it was closed was closed, and not robbed of its locks."""
    store = open_store(str(tmp_path / "a.db"))
    store.open_session("s")
    store.close()
    with pytest.raises(StoreClosed):
        store.remember("s", "name", 1)


def test_two_questions_at_once_wait_for_nobody_for_ever(make):
    """CONC-12: the same block expanded, and searched, by several calls at once: all are answered."""
    engine, rows = make(summarizer=lambda request: request.text[:60]), talk(40)
    engine.ingest(rows)
    row = engine.compress(rows, force=True)[0]["content"]
    uid = row.split("[lcm ")[1][:8]
    answers = []

    def expands():
        arguments = {"uid": uid, "detail": "raw"}
        answers.append(json.loads(engine.handle_tool_call("lcm_expand", arguments)))

    def searches():
        arguments = {"query": "question 1"}
        answers.append(json.loads(engine.handle_tool_call("lcm_grep", arguments)))

    at_once(expands, searches, expands, searches)
    assert (
        sorted(
            len(answer["results" if "results" in answer else "messages"]) > 0 for answer in answers
        )
        == [True] * 4
    )
