"""Where sessions and compactions are many, each is looked at a few times: never once for each other one."""

from __future__ import annotations

import pytest
from lcm.console.verify import verify
from lcm.dag.ingest import Ledger
from lcm.storage import open_store, peers
from lcm.storage.records import Pass
from lcm.storage.sqlite import SqliteStore
from moving import exported, imported
from neighbours import CLAW, make

MANY = 40
#: How often each may be looked at.
FEW = 8


class Looked(list):
    """A list that notes how many of its items were looked at."""

    at = 0

    def __iter__(self):
        Looked.at += len(self)
        return super().__iter__()


@pytest.fixture
def looked(monkeypatch):
    """Count what a store gives out of its sessions and compactions, and how often that is gone through."""

    def count(name):
        real = getattr(SqliteStore, name)
        monkeypatch.setattr(SqliteStore, name, lambda *given: Looked(real(*given)))
        monkeypatch.setattr(Looked, "at", 0)

    return count


@pytest.fixture
def sessions(tmp_path):
    """A database of many short sessions."""
    path = tmp_path / "many" / "lcm.db"
    store = open_store(path)
    for n in range(MANY):
        ledger = Ledger(store, store.open_session(f"job-{n}"))
        ledger.ingest([{"role": "user", "content": f"How high is the tide of day {n}?"}])
    store.close()
    return path


@pytest.mark.parametrize("form", ["jsonl", "state", "markdown"])
def test_an_export_looks_at_each_session_a_few_times(sessions, tmp_path, looked, form):
    """In every form: many thousands of sessions take seconds, not an hour."""
    looked("sessions")
    exported(sessions, tmp_path / "out", "--format", form)
    assert 0 < Looked.at < FEW * MANY


def test_verify_looks_at_each_session_a_few_times(sessions, looked):
    """The sessions of each line are found once for all lines."""
    looked("sessions")
    store = open_store(sessions, create=False)
    assert verify(store).good
    store.close()
    assert 0 < Looked.at < FEW * MANY


def test_an_import_reads_the_compactions_that_are_there_once(tmp_path, looked):
    """A file of many compactions of one session; each comes once, even if the file comes twice, or says it twice."""
    path, new = tmp_path / "lcm.db", tmp_path / "new.db"
    store = open_store(path)
    Ledger(store, store.open_session("talk")).ingest([{"role": "user", "content": "Hello"}])
    for n in (*range(MANY), MANY - 1):
        store.record_pass(Pass(1e9 + n, "talk", 1000, 500, 10, 5, "", {"end": 1}))
    store.close()
    file = exported(path, tmp_path / "out.jsonl")
    looked("passes")
    assert [0, 0] == [imported(file, new)[0] for _ in range(2)]
    assert 0 < Looked.at < FEW * MANY
    store = open_store(new, create=False)
    assert [1e9 + n for n in range(MANY)] == [each.time for each in store.passes()]
    store.close()


def test_conversations_of_lossless_claw_are_named_in_one_go(tmp_path, monkeypatch):
    """Whether a name is another one's too is not asked of all of them for each."""
    compared = []

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return str.__eq__(self, other)

    monkeypatch.setattr(peers, "_name", Name)
    rows = [{"conversation_id": n, "session_id": f"s{n % (MANY - 1)}"} for n in range(MANY)]
    with peers.open_peer(make(tmp_path / "claw.db", CLAW, ("conversations", rows))) as peer:
        names = [each.name for each in peer.conversations()]
    assert ["s0#0", f"s0#{MANY - 1}"] == [name for name in names if "#" in name]
    assert len(compared) < FEW * MANY
