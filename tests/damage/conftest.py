"""Engines on a home that is thrown away, and a database that is filled and closed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lcm import LCMEngine

# damagekit.py is shared by the tests of this folder and by nothing else.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from damagekit import talk


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def database(home):
    return home / "lcm" / "lcm.db"


@pytest.fixture
def make(home):
    """Engines on that home's database, closed at the end; compacted from 6,000 tokens on."""
    made = []

    def build(session="s", **kw):
        engine = LCMEngine(8000, settings={}, **kw)
        made.append(engine)
        engine.on_session_start(session, hermes_home=str(home), platform="cli")
        return engine

    yield build
    for engine in made:
        engine.close()


@pytest.fixture
def filled(make, database):
    """A database of 60 messages and some summaries, closed and in one file."""
    engine = make()
    rows = talk(30)
    engine.ingest(rows)
    engine.compress(rows, current_tokens=7000)
    engine.close()
    assert not database.with_name("lcm.db-wal").exists()
    return database
