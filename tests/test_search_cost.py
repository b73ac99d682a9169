"""A search costs seconds and megabytes at the most, whatever is stored and whatever is asked for."""

from __future__ import annotations

import json
import time

import pytest
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import fts, open_store
from lcm.storage.text import beginning, indexable
from lcm.tools.desk import Desk
from lcm.tools.toolset import call


def desk_of(path, *texts):
    """A desk on a session whose answers are *texts*."""
    store = open_store(path)
    session = store.open_session("s")
    rows = [
        row
        for text in texts
        for row in (
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": text},
        )
    ]
    Ledger(store, session).bind([*rows, *HELLO])
    return Desk(store, session, Settings())


HELLO = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."}]


def grep(desk, query, mode="auto"):
    return json.loads(call(desk, "lcm_grep", {"query": query, "mode": mode}))


@pytest.mark.parametrize("mode", ["auto", "fuzzy"])
@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("00 " * 60_000, f'"{"00 " * 2_000}"'),
        ("/a" * 30_000, "/a" * 2_000),
        ("\u6570\u636e\u5e93\u8fde\u63a5" * 12_000, "\u6570\u636e\u5e93\u8fde\u63a5" * 500),
        ("worker ok queue empty\n" * 15_000, f'"{"worker ok queue empty " * 300}"'),
    ],
    ids=["dump", "path", "chinese", "log"],
)
def test_a_long_phrase_costs_little(tmp_path, stored, asked, mode):
    """Each of its words stands in thousands of places, and the index reads them for each."""
    desk = desk_of(tmp_path / "lcm.db", stored)
    began = time.process_time()
    answer = grep(desk, asked, mode)
    assert time.process_time() - began < 1.0
    assert answer["total"] >= 1
    assert "only the beginning was looked for" in answer["note"]
    desk.store.close()


@pytest.mark.parametrize("url", ["memory:", "lcm.db"])
def test_a_long_phrase_is_found_by_its_beginning(tmp_path, url):
    """What begins alike is found and said to be so; mode 'exact' tells them apart, and short phrases are whole."""
    words = [f"word{n}" for n in range(50)]
    desk = desk_of(
        url if url == "memory:" else tmp_path / url,
        " ".join(words),
        " ".join([*words[:40], "another"]),
        " ".join(words[20:]),
    )
    answer = grep(desk, f'"{" ".join(words)}"')
    assert answer["total"] == 2
    assert "only the beginning was looked for; mode 'exact'" in answer["note"]
    assert grep(desk, " ".join(words), "exact")["total"] == 1
    answer = grep(desk, f'"{" ".join(words[20:30])}"')
    assert answer["total"] == 3
    assert "only the beginning" not in answer["note"]
    desk.store.close()


@pytest.mark.parametrize(
    ("phrase", "asked"),
    [
        ("to be or not to be", "to be or not to be"),
        ("a b a b a b a b a b", "a b a b a b a b"),
        ("00 00 00 00 00 11", "00 00 00 00"),
        ("Ab-aB-AB-ab-ab", "Ab-aB-AB-ab"),
        (" ".join(map(str, range(40))), " ".join(map(str, range(32)))),
    ],
)
def test_what_of_a_phrase_is_asked_for(phrase, asked):
    """32 words, and the same one four times."""
    assert beginning(phrase) == asked


def test_each_character_of_chinese_is_a_word():
    assert indexable(beginning(indexable("\u6570\u636e" * 9))).split() == ["\u6570", "\u636e"] * 4


def test_an_index_that_takes_too_long_is_stopped(tmp_path, monkeypatch):
    """The log is read in its place, the answer says so, and the index does not count as broken."""
    desk = desk_of(tmp_path / "lcm.db", *(f"the harbour pilot {n}" for n in range(9)))
    with monkeypatch.context() as patched:
        patched.setattr(fts, "ASKED_SECONDS", -1.0)
        patched.setattr(fts, "_STEPS", 1)
        answer = grep(desk, "harbour pilot")
    assert answer["total"] == 9
    assert "took too long" in answer["note"]
    after = grep(desk, "harbour pilot")
    assert after["total"] == 9
    assert "took too long" not in after["note"]
    desk.store.close()
