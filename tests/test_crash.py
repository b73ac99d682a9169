"""A process that is killed at any moment: what a door had returned for is there, and the file is sound."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lcm.storage import open_store
from lcm.storage.errors import StoreMissing
from talking import faults_of

CHILD = Path(__file__).resolve().parent / "support" / "crash_child.py"
#: A process is killed so many seconds, at the most, after it began, or after one of its first doors returned.
SECONDS = 0.03
DOORS = 30
#: Kills of one conversation, before the next one begins on a new file.
KILLS_EACH = 5


@dataclass
class Told:
    """What a process acknowledged before it was killed."""

    turns: list[int] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    backups: list[tuple[str, int]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    status: int = 0

    def take(self, line):
        """Note one acknowledgement."""
        if "backup" in line:
            self.backups.append((line["backup"], line["turns"]))
        elif "turn" in line:
            self.turns.append(line["turn"])
        elif line.get("compaction"):
            self.frames.append(line["compaction"])
        elif "failed" in line:
            self.failed.append(line["failed"])


class Nursery:
    """A process that forks conversations to be killed."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, doors, seconds, **job):
        """Begin a conversation, and kill it so many seconds after so many doors have returned.

        Returns what it told until then.
        """
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        pid = json.loads(self.process.stdout.readline())["pid"]
        killer = threading.Timer(seconds, os.kill, [pid, signal.SIGKILL])
        told, returned = Told(), 0
        if not doors:
            killer.start()
        while "ended" not in (line := json.loads(self.process.stdout.readline())):
            returned += 1
            if returned == doors:
                killer.start()
            told.take(line)
        killer.join()
        told.status = line["ended"]
        return told

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


@pytest.fixture
def nursery():
    made = Nursery()
    yield made
    made.close()


def wrong_after(path, session, turns, told, kept):
    """What of the acknowledged is not there, or is there in another way; *kept*: backups so far."""
    try:
        faults = faults_of(path, {session: (turns, turns + 1)})
    except StoreMissing:
        return [] if not turns else [f"{turns} turns were acknowledged, and there is no database"]
    with closing(open_store(path, create=False)) as store:
        for frame in told.frames:
            if ("node", frame) not in [(kind, uid[:8]) for kind, uid in store.resolve(frame)]:
                faults.append(f"the summary row {frame} was given back and is not stored")
    for target, held in told.backups:
        faults += [f"backup: {each}" for each in faults_of(target, {session: (held, held)})]
        kept.add(target)
    for target in Path(path).parent.glob("backups/*.db"):  # whole, or not under that name
        if str(target) not in kept:
            faults += [
                f"{target.name}: {each}" for each in faults_of(target, {session: (1, turns + 1)})
            ]
    return faults


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.long)])
def test_what_a_door_returned_for_survives_a_kill(nursery, tmp_path, kills):
    """ING-03: killed at random moments of turns, compactions, backups and the making of the file."""
    seed = int(os.environ.get("LCM_CRASH_SEED") or random.SystemRandom().randrange(1 << 30))
    dice = random.Random(seed)
    counts = {"turns": 0, "frames": 0, "backups": 0}
    for number in range(kills):
        if number % KILLS_EACH == 0:
            session, turns, kept = f"talk{number}", 0, set()
            path = tmp_path / session / "lcm.db"
            (path.parent / "backups").mkdir(parents=True)
        doors = dice.randrange(DOORS) if number % KILLS_EACH else 0  # 0: while the file is made
        seconds = dice.uniform(0, SECONDS)
        job = {"session": session, "start": turns, "backups": str(path.parent / "backups")}
        told = nursery.run(doors, seconds, path=str(path), **job)
        assert (told.failed, told.status) == ([], signal.SIGKILL), f"seed {seed}, kill {number}"
        turns = max(turns, *(turn + 1 for turn in told.turns)) if told.turns else turns
        wrong = wrong_after(path, session, turns, told, kept)
        assert wrong == [], f"seed {seed}, kill {number}: {wrong[:5]}"
        counts["turns"] += len(told.turns)
        counts["frames"] += len(told.frames)
        counts["backups"] += len(told.backups)
    assert all(counts.values()), f"seed {seed}: these moments were not met: {counts}"
