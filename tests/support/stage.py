"""The stage of the property test (``test_stateful.py``): an engine, its hosts, and what is judged at every door.

The rules stand by subject in ``plays_talk.py``, ``plays_rows.py``, ``plays_passes.py`` and ``plays_agents.py``.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize
from judge import check_messages
from lcm import LCMEngine
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from simhost import Host
from truth import Row, Truth, copied

__all__ = ["Stage", "answers", "chance", "doors", "styles"]

#: A folder in memory, where there is one: what a power cut leaves is not the question here.
SHARED = "/dev/shm"  # noqa: S108
WINDOW = 2000
SETTINGS = {"threshold": 0.5, "target": 0.3, "leaf_tokens": 300, "condense_fanin": 2}

styles = st.sampled_from(
    ["plain"] * 4 + ["common", "common", "template", "spaced", "secret", "lines", "picture", "long"]
)
answers = st.sampled_from(["plain"] * 3 + ["common", "spaced", "template"])
chance = st.integers(0, 3).map(lambda n: n == 0)
#: At which door a list is shown; -1: at none.
doors = st.sampled_from([0, 0, 1, 2, 3, -1, -1, -1])


class Summarizer:
    """Writes short summaries, or fails, or lets something happen meanwhile."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails = 0
        self.meanwhile: Any = None

    def __call__(self, request: Any) -> str:
        self.calls += 1
        if self.meanwhile:
            happens, self.meanwhile = self.meanwhile, None
            happens()
        if self.fails:
            self.fails -= 1
            raise ConnectionError("the model is away")
        return "It was said, and it was done."


class HostDatabase:
    """What the engine may ask the host's session database."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, str]] = {}

    def get_session(self, name: str) -> dict[str, str] | None:
        return self.rows.get(name)


class Stage(RuleBasedStateMachine):
    """A host at work, its conversations, and the engine that serves it."""

    @initialize(
        uids=st.booleans(), seed=st.integers(0, 2**32), stamps=st.booleans(), system=st.booleans()
    )
    def begin(self, uids, seed, stamps, system):
        self.dice = Random(seed)
        self.folder = Path(tempfile.mkdtemp(dir=SHARED if os.path.isdir(SHARED) else None))
        self.uids, self.stamps = uids, stamps
        self.system = [{"role": "system", "content": "Be good."}] if system else []
        self.truth, self.summarizer, self.database = Truth(), Summarizer(), HostDatabase()
        self.store = open_store(self.folder / "lcm.db")
        self.engines: list[LCMEngine] = []
        self.sessions = 0
        self.hosts: dict[str, Host] = {}
        self.snapshots: dict[str, list[list[Row]]] = {}
        self.number = 0
        self.keep_uids()
        self.engine = self.start(self.open_session())

    def keep_uids(self):
        """Be a host that keeps ``message_uid`` off the wire, as the newer ones say they do."""
        if self.uids and self.stamps:
            said = ModuleType("agent.message_metadata")
            said.PERSISTENCE_ONLY_MESSAGE_FIELDS = frozenset({"message_uid"})
            sys.modules["agent.message_metadata"] = said
            sys.modules.setdefault("agent", ModuleType("agent"))

    def teardown(self):
        for name in ("agent", "agent.message_metadata"):
            if not hasattr(sys.modules.get(name), "__path__"):
                sys.modules.pop(name, None)
        for engine in getattr(self, "engines", ()):
            engine.close()
            assert engine._ahead.wait(30)  # it may still read, and closes its connection then
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    def open_session(self, rows=()):
        self.sessions += 1
        name = f"s{self.sessions}"
        host = Host(self.dice, uids=self.uids)
        host.count = 100_000 * self.sessions
        host.rows = list(rows)
        self.hosts[name] = host
        self.snapshots[name] = []
        self.database.rows[name] = {}
        return name

    def start(self, name):
        """Another process on the same file."""
        engine = LCMEngine(
            WINDOW, db_path=self.folder / "lcm.db", settings=SETTINGS, summarizer=self.summarizer
        )
        self.engines.append(engine)
        engine.bind_session_state(session_db=self.database, session_id=name)
        engine.on_session_start(name, platform="cli")
        self.name = name
        return engine

    @property
    def host(self):
        return self.hosts[self.name]

    # doors

    def given(self, rows):
        """The list as this generation passes it."""
        datas = [row.data for row in rows]
        return [*self.system, *(copied(datas) if self.uids else datas)]

    def look(self, rows=None, engine=None, door=0):
        """Show a list at some door; then all must be well."""
        rows = self.host.rows if rows is None else rows
        engine = engine or self.engine
        given = self.given(rows)
        if door == 0:
            report = engine.ingest(given)
            said = sum(bool(row.ids) for row in rows)
            assert report.new + report.known + report.revised == said
        elif door == 1:
            engine.on_turn_complete(given)
        elif door == 2:
            engine.on_session_end(self.name, given)
        else:
            engine.handle_tool_call("lcm_status", {}, messages=given)
        self.shown(rows)

    def shown(self, rows):
        if rows:
            self.host.gone.clear()
            self.truth.show(self.name, rows)
            self.snapshots[self.name].append([row.copied() for row in rows])
        self.check(rows)

    def check(self, rows):
        if self.name not in self.truth.lines:
            return
        check_messages(self.store, self.truth, self.name)
        again = Ledger(self.store, self.store.session(self.name)).ingest(copied(self.given(rows)))
        assert (0, 0, 0) == (again.new, again.revised, again.withdrawn)

    def maybe_look(self, door):
        if door >= 0:
            self.look(door=door)

    def settle(self):
        """Have the engine know what is there, by its uid where there are uids."""
        self.host.flush()
        self.look()

    @staticmethod
    def pick(places, which):
        return places[which % len(places)] if places else None
