"""A process that forks with a database open: both go on, and nothing that a door returned for is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from lcm.storage.mutex import mutex
from talking import faults_of

CHILD = Path(__file__).resolve().parent / "support" / "fork_child.py"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def play(name, path):
    """What a play told; it ends when the last of its processes does."""
    done = subprocess.run(
        [sys.executable, str(CHILD), name, str(path)],
        stdout=subprocess.PIPE, text=True, timeout=120, check=True,
    )  # fmt: skip
    told = {}
    for line in done.stdout.splitlines():
        told |= json.loads(line)
    return told


@pytest.mark.parametrize(
    "name",
    [
        "parent_closes",
        "left_behind",
        "busy",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("unseen", "daemon", "idle")),
    ],
)
def test_nothing_is_lost(tmp_path, name):
    """Whichever lives on, whoever looks meanwhile, whoever else writes, with Python's hooks or without."""
    told = play(name, tmp_path / "lcm.db")
    wanted = {session: (turns, turns) for session, turns in told["stored"].items()}
    assert faults_of(tmp_path / "lcm.db", wanted) == []
    assert told.get("problems", []) == []


def test_a_fork_in_the_middle_of_a_write_is_told(tmp_path):
    """The child cannot know what SQLite was at: it writes nothing, says why, and harms nothing of its parent's."""
    told = play("inside", tmp_path / "lcm.db")
    assert "forked" in told["commit"]
    assert ["was forked after" in each for each in told["problems"]] == [True]
    assert "was forked after" in told["error"]
    assert told["answer"] == 42
    assert faults_of(tmp_path / "lcm.db", {"s": (4, 4)}) == []


def test_locks_that_something_else_dropped_are_told(tmp_path):
    """A file tool in the process reads the database, and another process deletes the log: that is said, and mended."""
    told = play("dropped", tmp_path / "lcm.db")
    assert told["log"] is False
    assert ["drops SQLite's locks" in each for each in told["problems"]] == [True]
    play("after", tmp_path / "lcm.db")
    assert faults_of(tmp_path / "lcm.db", {"s": (3, 3)}) == []


def test_a_child_waits_for_its_parents_lock(tmp_path):
    """A lock of a file that was open at the fork is one lock for both; the child opens it anew."""
    told = play("lock", tmp_path / "lcm.db")
    assert told["waits"]
    assert faults_of(tmp_path / "lcm.db", {"s": (2, 2)}) == []


def test_what_another_thread_held_is_free_in_the_child():
    """And what the forking thread holds stays its own."""
    theirs, mine = mutex(), mutex()
    taken, over = threading.Event(), threading.Event()

    def hold():
        with theirs:
            taken.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    with mine:
        pid = os.fork()
    if not pid:
        os._exit(0 if theirs.acquire(blocking=False) and mine.acquire(blocking=False) else 1)
    over.set()
    thread.join()
    assert os.waitpid(pid, 0)[1] == 0
