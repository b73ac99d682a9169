"""Plays with ``os.fork``: ``fork_child.py PLAY DATABASE`` tells what it saw, in lines of JSON."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loaded  # noqa: F401 - makes ``lcm`` importable
from lcm import LCMEngine
from lcm.storage import open_store
from lcm.storage.errors import StoreError
from lcm.storage.handles import alone
from talking import engine_on, rows_until


def tell(**told: Any) -> None:
    """One line, whole or not at all."""
    os.write(1, json.dumps(told).encode() + b"\n")


def turns(engine: LCMEngine, session: str, first: int, last: int) -> None:
    """Say these turns; the list holds all that came before."""
    for turn in range(first, last):
        engine.ingest(rows_until(session, turn + 1))


def looked_at(path: Path) -> None:
    """Somebody else opens the database and closes it, as ``lcm status`` does."""
    subprocess.run([sys.executable, __file__, "look", str(path)], check=True)


def forked(work: Callable[[], None], fork: Callable[[], int] = os.fork) -> int:
    """The process id of a child that does *work* and ends without a word to anybody."""
    pid = fork()
    if not pid:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def look(path: Path) -> None:
    """See ``looked_at``."""
    open_store(path, create=False).close()


def parent_closes(path: Path, fork: Callable[[], int] = os.fork) -> None:
    """The parent closes and goes on with an engine of its own; others look meanwhile; the child goes on."""
    engine = engine_on(path, "child")
    turns(engine, "child", 0, 1)
    go, ready = os.pipe(), os.pipe()

    def child() -> None:
        os.read(go[0], 1)
        turns(engine, "child", 1, 6)
        os.write(ready[1], b"1")
        os.read(go[0], 1)
        turns(engine, "child", 6, 9)

    pid = forked(child, fork)
    engine.close()
    os.write(go[1], b"1")
    os.read(ready[0], 1)
    looked_at(path)
    parent = engine_on(path, "parent")
    turns(parent, "parent", 0, 3)
    os.write(go[1], b"1")
    turns(parent, "parent", 3, 9)
    os.waitpid(pid, 0)
    turns(parent, "parent", 9, 10)
    parent.close()
    tell(stored={"child": 9, "parent": 10})


def unseen(path: Path) -> None:
    """The same where Python hears nothing of the fork."""
    parent_closes(path, ctypes.PyDLL(None).fork)


def left_behind(path: Path) -> None:
    """Somebody wrote and was killed, and left a WAL, before the child lets go of what it inherited."""
    engine = engine_on(path, "child")
    turns(engine, "child", 0, 1)
    go = os.pipe()

    def child() -> None:
        os.read(go[0], 1)
        turns(engine, "child", 1, 3)

    pid = forked(child, ctypes.PyDLL(None).fork)
    engine.close()
    subprocess.run([sys.executable, __file__, "killed", str(path)], check=True)
    os.write(go[1], b"1")
    os.waitpid(pid, 0)
    tell(stored={"child": 3, "killed": 2})


def killed(path: Path) -> None:
    """See ``left_behind``."""
    engine = engine_on(path, "killed")
    turns(engine, "killed", 0, 2)
    os._exit(0)


def daemon(path: Path) -> None:
    """The process that opened it leaves; its child stays, and others look."""
    engine = engine_on(path, "s")
    turns(engine, "s", 0, 2)
    if os.fork():
        os._exit(0)
    turns(engine, "s", 2, 4)
    looked_at(path)
    turns(engine, "s", 4, 6)
    looked_at(path)
    turns(engine, "s", 6, 8)
    tell(stored={"s": 8}, problems=engine.get_status()["problems"])
    os._exit(0)


def busy(path: Path) -> None:
    """Children are forked while another thread writes all the time."""
    engine = engine_on(path, "s")
    turns(engine, "s", 0, 1)
    done, over = 0, threading.Event()

    def write() -> None:
        nonlocal done
        other = engine_on(path, "thread")
        while not over.is_set():
            turns(other, "thread", done, done + 1)
            done += 1

    thread = threading.Thread(target=write)
    thread.start()
    stored = {"s": 1}
    pids = []
    for number in range(6):
        name = f"child{number}"

        def child(name: str = name) -> None:
            engine.on_session_start(name)
            turns(engine, name, 0, 3)

        pids.append(forked(child))
        stored[name] = 3
        time.sleep(0.05)
    over.set()
    thread.join()
    for pid in pids:
        os.waitpid(pid, 0)
    tell(stored=stored | {"thread": done})


def idle(path: Path) -> None:
    """Children that never use it end as a Python ends, and leave everything to their parent."""
    engine = engine_on(path, "s")
    for turn in range(4):
        turns(engine, "s", turn, turn + 1)
        pid = os.fork()
        if not pid:
            if turn == 1:
                engine.close()
            if turn == 2:
                del engine
            sys.exit()
        os.waitpid(pid, 0)
        looked_at(path)
    turns(engine, "s", 4, 5)
    tell(stored={"s": 5})


def inside(path: Path) -> None:
    """A fork in the middle of a write: nothing can be cured then, so the child says so and keeps off."""
    engine = engine_on(path, "s")
    turns(engine, "s", 0, 2)
    store = engine._attachment.open()._database(create=False)
    pid = -1
    try:
        with store.writing():
            store.remember("s", "answer", 42)
            pid = os.fork()
    except StoreError as error:
        tell(commit=str(error))
    if not pid:
        rows = rows_until("s", 3)
        engine.on_turn_complete(rows)
        said = json.loads(engine.handle_tool_call("lcm_grep", {"query": "x"}, messages=rows))
        tell(problems=engine.get_status()["problems"], error=said["error"])
        sys.exit()
    os.waitpid(pid, 0)
    looked_at(path)
    turns(engine, "s", 2, 4)
    tell(stored={"s": 4}, answer=store.recall("s", "answer"))


def dropped(path: Path) -> None:
    """Something in this process opens and closes the file; then another process does."""
    engine = engine_on(path, "s")
    turns(engine, "s", 0, 1)
    path.read_bytes()
    looked_at(path)
    tell(log=Path(f"{path}-wal").exists())
    engine.on_turn_complete(rows_until("s", 2))
    tell(problems=engine.get_status()["problems"])
    engine.close()


def after(path: Path) -> None:
    """A new process has the whole conversation."""
    engine = engine_on(path, "s")
    turns(engine, "s", 2, 3)
    engine.close()


def lock(path: Path) -> None:
    """The child's lock file is its own: it waits for the parent's."""
    engine = engine_on(path, "s")
    turns(engine, "s", 0, 1)
    held = engine._attachment.open()._database(create=False)._connection._handle.lock_file
    with alone(held):
        pid = forked(lambda: turns(engine, "s", 1, 2))
        time.sleep(0.5)
        tell(waits=os.waitpid(pid, os.WNOHANG)[0] == 0)
    os.waitpid(pid, 0)
    tell(stored={"s": 2})


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
