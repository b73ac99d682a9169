"""Moving a store while others move it too, and being killed at it: nothing half done, nothing twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.ingest import Ledger
from lcm.storage import open_store

ROOT = Path(__file__).resolve().parent.parent
SESSIONS, MESSAGES = 6, 400


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A store of several conversations, closed, and its export; do not write to it."""
    folder = tmp_path_factory.mktemp("source")
    store = open_store(folder / "lcm.db")
    for name in range(SESSIONS):
        rows = [
            {"role": ("user", "assistant")[n % 2], "content": f"{name} says {n} " * 20}
            for n in range(MESSAGES)
        ]
        Ledger(store, store.open_session(f"s{name}")).ingest(rows)
    store.close()
    assert 0 == main(["export", "--db", str(folder / "lcm.db"), "--out", str(folder / "all.jsonl")])
    return folder


def start(*words):
    """The command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / "run.py"), "console.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def counts(path):
    """(messages by session, whether verify accepts the store)."""
    store = open_store(path, create=False)
    found = {each.name: len(store.entries(each.line)) for each in store.sessions()}
    good = verify(store).good
    store.close()
    return found, good


WHOLE = {f"s{name}": MESSAGES for name in range(SESSIONS)}


def test_two_imports_of_one_file_at_once(source, tmp_path):
    """Both end well, and the store holds everything once."""
    running = [start("import", source / "all.jsonl", "--db", tmp_path / "new.db") for _ in range(2)]
    for each in running:
        _, said = each.communicate(timeout=120)
        assert 0 == each.returncode, said
    assert (WHOLE, True) == counts(tmp_path / "new.db")


def test_an_agent_keeps_writing_during_an_import(source, tmp_path):
    """Its messages are stored, each once, and none of the import's is lost."""
    path, done = tmp_path / "new.db", threading.Event()
    failures, rows = [], []
    store = open_store(path)
    ledger = Ledger(store, store.open_session("live"))

    def write():
        while not done.is_set():
            rows.append({"role": "user", "content": f"live {len(rows)}"})
            try:
                ledger.ingest(rows)
            except Exception as error:  # noqa: BLE001 - told to the main thread
                failures.append(error)
                return
            time.sleep(0.01)

    agent = threading.Thread(target=write)
    agent.start()
    try:
        assert 0 == main(["import", str(source / "all.jsonl"), "--db", str(path), "--no-backup"])
    finally:
        done.set()
        agent.join()
        store.close()
    assert not failures
    assert ({**WHOLE, "live": len(rows)}, True) == counts(path)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("seed", range(4))
def test_an_import_that_is_killed_is_finished_by_the_next(source, tmp_path, seed):
    """Killed at any moment: each session is whole or not there; a second import brings the rest, once."""
    path = tmp_path / "new.db"
    begun = start("import", source / "all.jsonl", "--db", path)
    lock = path.with_name("new.db-lock")
    while not lock.exists() and begun.poll() is None:
        time.sleep(0.01)
    time.sleep(random.Random(seed).uniform(0.05, 1.5))
    begun.kill()
    begun.communicate()
    if path.exists() and path.stat().st_size:
        found, good = counts(path)
        assert good
        assert {MESSAGES} >= set(found.values())
    assert 0 == main(["import", str(source / "all.jsonl"), "--db", str(path)])
    assert (WHOLE, True) == counts(path)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_backup_or_an_export_that_is_killed_leaves_no_half_file(source, tmp_path):
    """Under the name that was asked for stands the whole, or nothing."""
    for seed, words in enumerate(
        (["backup", tmp_path / "out"], ["export", "--out", tmp_path / "out"]) * 2
    ):
        running = start(*words, "--db", source / "lcm.db")
        time.sleep(random.Random(seed).uniform(0.3, 1.2))
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        if (tmp_path / "out").exists():
            if words[0] == "backup":
                assert (WHOLE, True) == counts(tmp_path / "out")
            else:
                assert (tmp_path / "out").read_bytes() == (source / "all.jsonl").read_bytes()
        for each in tmp_path.iterdir():
            each.unlink()
    assert (WHOLE, True) == counts(source / "lcm.db")
