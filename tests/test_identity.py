"""Identity where it is hard: faults that the property test (test_stateful.py) has found, each by itself."""

from __future__ import annotations

import copy

import pytest
from lcm.dag.ingest import IngestReport, Ledger
from lcm.storage import open_store
from lcm.storage.canon import decode


def user(text, **kw):
    return {"role": "user", "content": text, **kw}


def said(text, **kw):
    return {"role": "assistant", "content": text, **kw}


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    kept = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield kept
    kept.close()


@pytest.fixture
def ledger(store):
    return Ledger(store, store.open_session("s"))


def again(ledger):
    """The same session in another process: nothing remembered but the store."""
    return Ledger(ledger.store, ledger.session)


def stored(ledger, version=0):
    """What is in the conversation, current versions or first ones."""
    entries = [e for e in ledger.store.entries(ledger.session.line) if not e.withdrawn]
    return [decode(m.body) for m in ledger.store.read([(e.id, version) for e in entries])]


# several agents on one session


def test_an_unchanged_list_takes_back_what_another_agent_withdrew(ledger):
    """A throw-away agent shows the head alone; then the live agent shows the list it had shown before."""
    rows = [user("first question"), said("first answer"), user("second question"), said("ok")]
    ledger.ingest(rows)
    assert 2 == again(ledger).ingest(rows[:2]).withdrawn
    assert rows[:2] == stored(ledger)
    assert IngestReport(known=4) == ledger.ingest(rows)
    assert rows == stored(ledger)


def test_an_empty_list_starts_over_without_a_word(ledger):
    """It says nothing, and the list that follows is known."""
    rows = [user("a question"), said("an answer")]
    ledger.ingest(rows)
    before = ledger.store.revision(ledger.session.line)
    assert IngestReport() == ledger.ingest([])
    assert before == ledger.store.revision(ledger.session.line)
    assert IngestReport(known=2) == ledger.ingest(copy.deepcopy(rows))
