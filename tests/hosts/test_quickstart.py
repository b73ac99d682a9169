"""The demonstration of scripts/quickstart, with the released host that it installs."""

from __future__ import annotations

import re

import pytest
from lcm.demo import story
from lcm.demo.quickstart import perform
from lcm.demo.terminal import Terminal


@pytest.mark.slow
def test_the_demonstration_shows_what_it_promises(host, tmp_path, capsys):
    """Three compactions, the graph, the search, the sentence verbatim, a store that is whole."""
    if host.is_new:
        pytest.skip("a user gets the released host; the newer one is for tests only")
    assert perform(host.python, tmp_path / "home", Terminal()) == 0
    shown = capsys.readouterr().out
    counts = re.findall(r"^compaction \d+: ([\d,]+) -> ([\d,]+) tokens", shown, re.MULTILINE)
    assert len(counts) >= 3
    assert all(int(a.replace(",", "")) > int(b.replace(",", "")) for a, b in counts)
    assert "no longer in the context" in shown
    assert "lcm_grep" in shown
    assert f"You told me on the first day: {story.ODD_FACT}" in shown
    assert "every message accounted for" in shown
