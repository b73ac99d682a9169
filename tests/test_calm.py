"""The collector stands aside for long lists, and is back whatever happens meanwhile."""

from __future__ import annotations

import gc
import os
import threading

import pytest
from lcm.dag.calm import calm


def test_it_is_off_for_a_long_list_and_back_behind_it():
    """Nested, too; a short list is left alone."""
    with calm(499):
        assert gc.isenabled()
    with calm(500):
        assert not gc.isenabled()
        with calm(9000):
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_it_is_back_after_an_error(error):
    with pytest.raises(error), calm(1000):
        raise error
    assert gc.isenabled()


def test_a_host_that_has_it_off_keeps_it_off():
    gc.disable()
    try:
        with calm(1000):
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_that_is_forked_meanwhile_has_it():
    """The thread that would switch it on again is no part of it."""
    inside, ahead = threading.Event(), threading.Event()

    def work():
        with calm(1000):
            inside.set()
            ahead.wait(30)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(30)
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    _, status = os.waitpid(child, 0)
    ahead.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert gc.isenabled()
