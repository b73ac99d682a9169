"""The replay benchmark plays the older host's own compressor, the real one, beside our engine."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hostkit.host import ROOT


def test_both_sides_are_replayed(host, tmp_path):
    """On the demo's story both compact, and what both send is counted."""
    if host.is_new:
        pytest.skip("the benchmark compares with the older host's compressor")
    told = tmp_path / "replay.json"
    small = ("--sets", "story", "--windows", "16000", "--folder", str(tmp_path))
    where = ("--host", str(host.python), "--json", str(told))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "replay", *small, *where],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (pair,) = json.loads(told.read_text(encoding="utf-8"))["replays"]
    ours, theirs = pair["ours"], pair["theirs"]
    assert ours["requests"] == theirs["requests"] > 50
    assert ours["answered"] == theirs["answered"] > 0
    assert (0, 0) == (ours["invalid"], ours["over"])
    for side in (ours, theirs):
        assert side["compactions"] > 2
        assert side["calls"] >= side["compactions"]
        assert 0 < side["cached"] < side["sent"]
    assert theirs["stands"] < 0.1 * theirs["stood"]
    assert "| 16,000 | " in done.stdout
