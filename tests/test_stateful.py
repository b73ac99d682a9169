"""Any interleaving of what hosts do: nothing is lost, nothing doubled, the order kept, the list valid.

A simulated host (``support/simhost.py``) of either generation plays with the real engine on a real
file. It knows by private ids what each of its rows really is (``support/truth.py``); what must hold
is judged after every step by rules that share no code with the engine (``support/judge.py``). The
stage is ``support/stage.py``, and what may happen on it stands by subject in ``support/plays_*.py``.

``LCM_EXAMPLES`` sets how many examples are played, ``LCM_SEED`` which ones, ``LCM_STEPS`` how long they may get.
"""

from __future__ import annotations

import os

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from plays_agents import Agents
from plays_rows import Rows
from plays_talk import Talk

EXAMPLES = int(os.environ.get("LCM_EXAMPLES", "500"))
SEED = int(os.environ.get("LCM_SEED", "1"))
STEPS = int(os.environ.get("LCM_STEPS", "16"))


class Hosts(Talk, Rows, Agents):
    """Everything that hosts do, in any order."""


def play(examples, seed, steps=STEPS):
    run_state_machine_as_test(
        hypothesis.seed(seed)(Hosts),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("examples", [100, pytest.param(EXAMPLES, marks=pytest.mark.slow)])
def test_any_interleaving_of_what_hosts_do(examples):
    """Lossless: every message once, whole, in order, under exactly its nodes, and the list valid."""
    play(examples, SEED)


@pytest.mark.long
def test_twenty_thousand_interleavings():
    """The same, 20,000 times."""
    play(20_000, SEED + 1, steps=30)
