"""Threads and processes on one file: no error reaches a caller, nothing is lost, nothing is doubled."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from talking import Complaints, engine_on, faults_of, rows_until, talk

CHILD = Path(__file__).resolve().parent / "support" / "crew_child.py"
PROCESSES, THREADS = 6, 8
ROUNDS = [3, pytest.param(20, marks=pytest.mark.long)]


class Crew:
    """Processes that are given their work at the same moment."""

    def __init__(self):
        self.children = [
            subprocess.Popen(
                [sys.executable, str(CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(PROCESSES)
        ]

    def work(self, jobs):
        """Give each process its jobs, all at once; returns what went wrong in any."""
        for child, job in zip(self.children, jobs, strict=True):
            child.stdin.write(json.dumps(job) + "\n")
        for child in self.children:
            child.stdin.flush()
        answers = [json.loads(child.stdout.readline()) for child in self.children]
        return [problem for answer in answers for problem in answer["problems"]]

    def close(self):
        for child in self.children:
            child.stdin.close()
            child.wait(timeout=30)
            child.stdout.close()


@pytest.fixture(scope="module")
def crew():
    made = Crew()
    yield made
    made.close()


def in_threads(work):
    """Run ``work(number)`` in eight threads that start together; returns what they raised or logged."""
    gate = threading.Barrier(THREADS)
    told = []
    complaints = Complaints()

    def run(number):
        gate.wait()
        try:
            work(number)
        except Exception as error:  # noqa: BLE001 - told to the caller
            told.append(repr(error))

    threads = [threading.Thread(target=run, args=[number]) for number in range(THREADS)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    logging.getLogger("lcm").removeHandler(complaints)
    return told + complaints.take()


@pytest.mark.parametrize("rounds", ROUNDS)
def test_processes_start_together_on_a_missing_file(crew, tmp_path, rounds):
    """CONC-10: six processes open a file that is not there: one schema, no error, nothing lost or doubled."""
    for number in range(rounds):
        path = tmp_path / f"home{number}" / "lcm" / "lcm.db"
        jobs = [
            [["alone", str(path), f"own{n}", 3, 0], ["together", str(path), "shared", 3, 0]]
            for n in range(PROCESSES)
        ]
        assert crew.work(jobs) == []
        sessions = {f"own{n}": (3, 3) for n in range(PROCESSES)}
        assert faults_of(path, sessions | {"shared": (3, 3)}) == []


@pytest.mark.parametrize("rounds", ROUNDS)
def test_processes_work_steadily_on_one_file(crew, tmp_path, rounds):
    """CONC-11: six processes talk and compact in sessions of their own and in one that all share."""
    path = tmp_path / "lcm.db"
    sessions = {}
    for number in range(rounds):
        shared = f"shared{number}"
        jobs = [
            [
                ["alone", str(path), f"own{number}x{n}", 12, 4],
                ["together", str(path), shared, 8, 1],
            ]
            for n in range(PROCESSES)
        ]
        assert crew.work(jobs) == []
        sessions |= {f"own{number}x{n}": (12, 12) for n in range(PROCESSES)}
        sessions[shared] = (8, 8)
    assert faults_of(path, sessions) == []


@pytest.mark.parametrize("rounds", ROUNDS)
def test_threads_start_together_on_a_missing_file(tmp_path, rounds):
    """CONC-10: eight threads, each with an engine of its own, open a file that is not there."""
    for number in range(rounds):
        path = tmp_path / f"home{number}" / "lcm" / "lcm.db"

        def work(who, path=path):
            engine = engine_on(path, f"own{who}")
            talk(engine, f"own{who}", range(3))
            engine.on_session_start("shared")
            engine.on_turn_complete(rows_until("shared", 3))
            engine.close()

        assert in_threads(work) == []
        sessions = {f"own{who}": (3, 3) for who in range(THREADS)}
        assert faults_of(path, sessions | {"shared": (3, 3)}) == []


@pytest.mark.parametrize("rounds", ROUNDS)
def test_threads_work_steadily_on_one_file(tmp_path, rounds):
    """CONC-02, CONC-05: eight threads write and compact, and no transaction is another thread's."""
    path = tmp_path / "lcm.db"
    engines = [engine_on(path, f"own{who}") for who in range(THREADS)]
    for number in range(rounds):

        def work(who, number=number):
            session = f"own{who}x{number}"
            engines[who].on_session_start(session)
            talk(engines[who], session, range(12), compact_every=4)

        assert in_threads(work) == []
    for engine in engines:
        engine.close()
    sessions = {f"own{w}x{n}": (12, 12) for w in range(THREADS) for n in range(rounds)}
    assert faults_of(path, sessions) == []
