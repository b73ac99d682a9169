"""Rows as hosts have them, a ledger on either store, and what it has stored of them."""

from __future__ import annotations

import pytest
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from lcm.storage.canon import decode

__all__ = ["again", "ledger", "result", "said", "store", "stored", "talk", "user"]


def user(text, **kw):
    return {"role": "user", "content": text, **kw}


def said(text, **kw):
    return {"role": "assistant", "content": text, **kw}


def result(call, text, **kw):
    return {"role": "tool", "tool_call_id": call, "content": text, **kw}


def talk(turns, first=1):
    """Turns of a question and an answer."""
    return [
        row
        for n in range(first, first + turns)
        for row in (
            user(f"question number {n}: " + "why " * 60),
            said(f"answer number {n}: " + "because " * 60),
        )
    ]


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    """A store of either kind."""
    kept = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield kept
    kept.close()


@pytest.fixture
def ledger(store):
    """The ledger of a session without a message."""
    return Ledger(store, store.open_session("s"))


def again(ledger):
    """The same session in another process: nothing remembered but the store."""
    return Ledger(ledger.store, ledger.session)


def stored(ledger, *, version=0, withdrawn=False):
    """What is in the conversation, or on its whole line; current versions, or others."""
    entries = [e for e in ledger.store.entries(ledger.session.line) if withdrawn or not e.withdrawn]
    return [decode(m.body) for m in ledger.store.read([(e.id, version) for e in entries])]
