"""A tree looks as rich would draw it, whatever is in it and however wide the terminal is."""

from __future__ import annotations

import io
import re
import time as clock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcm.console.branches import Branch, Branches
from lcm.console.screen import pieces
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

WORDS = st.sampled_from(
    ["a", "port", "harbour,", "港口城市", "é̂", "😀", "x" * 30, "of the", "  ", "1,234"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
TREES = st.recursive(
    st.tuples(TEXTS, st.just([])),
    lambda below: st.tuples(TEXTS, st.lists(below, max_size=3)),
    max_leaves=8,
)


def ours(tree):
    text, below = tree
    return Branch([(text[:4], "dim"), (text[4:], "dim green")], map(ours, below))


def of_rich(tree, parent=None):
    text, below = tree
    label = Text(text[:4], style="dim").append(text[4:], style="green")
    grown = parent.add(label) if parent else Tree(label, guide_style="dim")
    for each in below:
        of_rich(each, grown)
    return grown


def cells(line):
    """Each character with the codes that it is shown in, without blanks at the end."""
    codes, found = frozenset(), []
    for code, letter in re.findall("\x1b\\[([0-9;]*)m|(.)", line):
        if letter:
            found.append((letter, codes))
        else:
            codes = frozenset() if code in ("", "0") else codes | set(code.split(";"))
    while found and found[-1][0] == " ":
        found.pop()
    return found


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@settings(max_examples=60, deadline=None)
@given(tree=TREES, width=st.sampled_from([30, 47, 80, 120]))
def test_it_looks_as_rich_draws_it(tree, width, colour, encoding):
    """Guides, breaks and styles."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TERM", "xterm-256color")
        patched.delenv("NO_COLOR", raising=False)
        look = {"width": width, "encoding": encoding, "colour": colour}
        drawn = "".join(pieces(Branches(ours(tree)), **look)).split("\n")
        wanted = "".join(pieces(of_rich(tree), **look)).split("\n")
    assert [*map(cells, drawn)] == [*map(cells, wanted)]


def test_very_many_rows_are_drawn_in_a_moment():
    """Rich takes 300 microseconds for a row, more the deeper it stands."""
    rows = (Branch([(f"1234abcd user: {'word ' * 20}", "dim")]) for _ in range(20_000))
    console = Console(file=io.StringIO(), width=80, color_system=None)
    begun = clock.process_time()
    tree = Branches(Branch([("top", "")], [Branch([("below", "")], rows)]))
    said = "".join(tree.pieces(console))
    assert clock.process_time() - begun < 2
    assert said.count("\n") == 2 + 2 * 20_000
