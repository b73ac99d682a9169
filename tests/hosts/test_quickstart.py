"""The demonstration of scripts/quickstart, with the released host that it installs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from lcm.demo import story
from lcm.demo.quickstart import hermes, perform
from lcm.demo.terminal import Terminal

README = Path(__file__).resolve().parents[2] / "README.md"
#: What is another where the home has another name, or at every run: names, and numbers.
_OTHER = r"\d{8}_\d{6}_\w{6}|[0-9a-f]{32}|[0-9a-f]{8}(?= turn)|\d[\d,.]*"


def squeezed(text):
    """Without breaks, and without what is another at every run."""
    return re.sub(r"\s+", "", re.sub(_OTHER, "*", text))


def recorded():
    """The lines of the run in README.md: of the graph how much each stands for, of answers none."""
    (block,) = re.findall(
        r"^\$ scripts/quickstart\n(.*?)^```", README.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = [line.strip("│├└─ ") for line in re.sub(r"\n {8}", " ", block).splitlines()]
    said = [re.sub(r"(messages, [\d,]+ tokens)[,:] \w.*", r"\1", line) for line in lines]
    other = ("more below", "answer")  # how deep the graph is depends on how far the background got
    return [
        squeezed(each) for each in said if each != "…" and not any(w in each[:20] for w in other)
    ]


def first_of_the_search(python, home):
    """The first result of the search that README.md begins with."""
    (words,) = re.findall(r"`scripts/lcm search ([\w ]+)` finds", README.read_text("utf-8"))
    found = hermes(python, home, "lcm", "search", *words.split(), "--json")
    return json.loads(found)["results"][0]["snippet"]


@pytest.mark.slow
def test_the_demonstration_shows_what_it_promises(host, tmp_path, capsys):
    """Three compactions, the graph, the search, the sentence verbatim, a store that is whole."""
    if host.is_new:
        pytest.skip("a user gets the released host; the newer one is for tests only")
    assert perform(host.python, tmp_path / "home", Terminal()) == 0
    assert story.ODD_FACT in first_of_the_search(host.python, tmp_path / "home" / "hermes")
    shown = capsys.readouterr().out
    counts = re.findall(r"^compaction \d+: ([\d,]+) -> ([\d,]+) tokens", shown, re.MULTILINE)
    assert len(counts) >= 3
    assert all(int(a.replace(",", "")) > int(b.replace(",", "")) for a, b in counts)
    assert "no longer in the context" in shown
    assert "lcm_grep" in shown
    assert f"You told me on the first day: {story.ODD_FACT}" in shown
    assert "every message accounted for" in shown
    assert len(recorded()) > 15
    assert [line for line in recorded() if line not in squeezed(shown)] == []
