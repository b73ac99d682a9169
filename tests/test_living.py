"""What is alive in a process, looked through while other threads add to it."""

from __future__ import annotations

import gc
import sys
import threading

import pytest
from lcm import LCMEngine
from lcm.host.asking import serving
from lcm.host.hooks import Family
from lcm.storage.living import Living


@pytest.fixture
def eager():
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class _Member:
    pass


def test_members_are_there_as_long_as_somebody_holds_them():
    """Each once, however often it was added; none that is gone."""
    living, held = Living(), _Member()
    living.add(held)
    living.add(held)
    living.add(_Member())
    gc.collect()
    assert [held] == list(living)


def test_members_that_are_equal_are_two():
    """It is about who is alive, not about what they are like."""
    living, first, second = Living(), frozenset({1}), frozenset({1, 2} - {2})
    living.add(first)
    living.add(second)
    assert 2 == len(list(living))


@pytest.mark.parametrize("look", ["hook", "command"])
def test_an_engine_is_looked_for_while_others_begin(eager, look):
    """A gateway starts agents in many threads; a hook and a command in others find theirs all the same."""
    family, failed, done = Family(), [], threading.Event()
    own = LCMEngine(8000, db_path="memory:", settings={})

    def begin():
        held = []
        while not done.is_set():
            held = [*held[-200:], LCMEngine(8000, db_path="memory:", settings={})]
            family.join(held[-1])

    def ask():
        try:
            for _ in range(1500):
                family.of("nobody") if look == "hook" else serving(own)
        except RuntimeError as error:
            failed.append(error)
        done.set()

    threads = [threading.Thread(target=each) for each in (begin, begin, ask)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed
