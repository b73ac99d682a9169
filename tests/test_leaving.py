"""A process ends while its background reads and writes: in silence, and with a sound database."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from lcm.console.verify import verify
from lcm.storage import open_store

CHILD = Path(__file__).resolve().parent / "support" / "leaving_child.py"


@pytest.mark.parametrize(
    "turns", [73, 81, *(pytest.param(n, marks=pytest.mark.slow) for n in (111, 120, 165, 168))]
)
def test_a_process_ends_in_silence(tmp_path, turns):
    """It crashed, or said on standard error that the database was closed under the background."""
    path = tmp_path / "lcm.db"
    command = [sys.executable, str(CHILD), str(path), str(turns)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    with closing(open_store(path, create=False)) as store:
        report = verify(store)
        assert report.failures == ()
        assert report.counts.messages == 2 * turns
