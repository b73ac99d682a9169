"""What the index of summaries holds beside those of one conversation."""

from __future__ import annotations

from contextlib import closing

import pytest
from lcm.storage import open_store
from lcm.storage.archive import Beside
from lcm.storage.records import Node, Source


def node(number, line, text):
    return Node(
        uid=f"e{number:031x}", kind="leaf", line=line, source_key=f"k{number}", depth=0, texts={50: text},
        topic="", hints=(), sufficient=50, degraded="", first_seq=number, last_seq=number, first_turn=1,
        last_turn=1, messages=1, lifted=(), source_tokens=5, time=1e9, sources=(Source(message=number, version=1),),
    )  # fmt: skip


@pytest.fixture(name="store")
def _store(tmp_path):
    """One conversation of two summaries, and others of three times 400."""
    with closing(open_store(tmp_path / "lcm.db")) as store:
        here, there = (store.open_session(name).line for name in ("here", "there"))
        store.put_node(node(1, here, "The running red fox jumps over a fence"))
        store.put_node(node(2, here, "Nothing else"))
        texts = ("A red fox sleeps", "The red jumps over a fence, red", "Of no account")
        for number in range(3, 1203):
            store.put_node(node(number, there, texts[number % 3]))
        yield store


def test_words_and_runs_of_others_are_counted(store):
    """In how many others each word of ours stands, and each run of ours; what is theirs alone is not told."""
    found = store.archive().beside([f"e{number:031x}" for number in (1, 2)])
    assert found.rows == 1200
    assert found.tokens == pytest.approx(400 * (4 + 7 + 3), rel=0.01)
    told = {run: round(count, -1) for run, count in found.holding.items()}
    runs = (
        "the",
        "fox",
        "red fox",
        "jump",
        "over",
        "fenc",
        "jump over",
        "jump over a fenc",
        "over a",
    )
    assert {told[run] for run in runs} == {400}
    assert (told["red"], told["a"]) == (800, 800)
    assert not {"red jump", "the red", "sleep", "account"} & told.keys()


def test_where_there_are_no_others_there_is_nothing_beside(tmp_path):
    """A database with one conversation says so without reading."""
    with closing(open_store(tmp_path / "lcm.db")) as store:
        store.put_node(node(1, store.open_session("here").line, "A red fox"))
        assert store.archive().beside([f"e{1:031x}"]) == Beside()
