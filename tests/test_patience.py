"""Foreign code is waited for, but not for ever."""

from __future__ import annotations

import contextvars
import gc
import threading
import time as clock

import pytest
from lcm.dag.patience import Patience


def named():
    return [each for each in threading.enumerate() if each.name == "lcm-summariser"]


def test_calls_are_made_in_one_other_thread_in_the_callers_context():
    """A summariser that reads a context variable finds what the caller set, at each call anew."""
    said = contextvars.ContextVar("said", default="nothing")
    patience, seen = Patience(60), []
    for word in ("one", "two"):
        said.set(word)
        seen.append(patience.within(5, lambda: (said.get(), threading.get_ident())))
    assert [word for word, _ in seen] == ["one", "two"]
    assert len({thread for _, thread in seen}) == 1
    assert threading.get_ident() not in {thread for _, thread in seen}


def test_a_late_answer_is_nobodys():
    """A late call is left alone, and what it returns in the end is not taken for the next one's answer."""
    patience, gate = Patience(60), threading.Event()
    with pytest.raises(TimeoutError):
        patience.within(0.05, lambda: gate.wait(10) and "late")
    assert patience.within(5, lambda: "in time") == "in time"
    gate.set()
    assert patience.within(5, lambda: "again") == "again"


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_a_call_raises_is_the_callers(error):
    """Interrupts too."""

    def fail():
        raise error

    patience = Patience(60)
    with pytest.raises(type(error)):
        patience.within(5, fail)
    assert patience.within(5, lambda: 1) == 1


def test_no_thread_outlives_its_pass():
    """A pass that is through, and a call that is late, leave no thread behind."""
    before = len(named())
    patience, gate = Patience(60), threading.Event()
    with pytest.raises(TimeoutError):
        patience.within(0.01, gate.wait)
    patience.within(5, lambda: None)
    gate.set()
    del patience
    gc.collect()
    end = clock.monotonic() + 5
    while len(named()) > before and clock.monotonic() < end:
        clock.sleep(0.01)
    assert len(named()) <= before
