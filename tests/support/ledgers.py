"""Rows as hosts have them, and what a ledger has stored of them."""

from __future__ import annotations

from lcm.dag.ingest import Ledger
from lcm.storage.canon import decode

__all__ = ["again", "said", "stored", "user"]


def user(text, **kw):
    return {"role": "user", "content": text, **kw}


def said(text, **kw):
    return {"role": "assistant", "content": text, **kw}


def again(ledger):
    """The same session in another process: nothing remembered but the store."""
    return Ledger(ledger.store, ledger.session)


def stored(ledger):
    """What is in the conversation."""
    entries = [e for e in ledger.store.entries(ledger.session.line) if not e.withdrawn]
    return [decode(m.body) for m in ledger.store.read([(e.id, 0) for e in entries])]
