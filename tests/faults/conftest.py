"""Engines for the tests of the fault catalogue, each on a home that is thrown away."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lcm import LCMEngine

# faultkit.py is shared by the tests of this folder and by nothing else.
sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture
def home(tmp_path):
    """A Hermes home that does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def make(home):
    """Make engines on *home*, on session ``s`` if nothing else is said; closed at the end.

    A window of 8,000 tokens: compacted from 6,000 on. No model is asked.
    """
    made = []

    def build(session="s", **options):
        window = options.pop("context_length", 8000)
        where = options.pop("home", home)
        engine = LCMEngine(window, settings=options.pop("settings", {}), **options)
        made.append(engine)
        if session:
            engine.on_session_start(session, hermes_home=str(where), platform="cli")
        return engine

    yield build
    for engine in made:
        engine.close()
