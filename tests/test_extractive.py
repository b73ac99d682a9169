"""Extracts: the sentences that matter, whole, in order, in bounds, and always the same."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcm.dag.extractive import extract, key_terms
from lcm.dag.tokens import count_text

ROOT = Path(__file__).resolve().parent.parent

TALK = """\
user: Good morning! How are you?
assistant: Fine, thanks. What shall we look at today?
user: The nightly import is slow again. I would like to see why.
assistant: Sure, let me look. It may take a while.
tool: Reading the logs of the nightly import now.
ConnectionError: connect to 10.0.4.17:5433 timed out
assistant: The import waits for the replica. That is why the nightly import is slow.
user: We decided to use the primary at db-primary-02 until Friday.
assistant: All right. I changed the host in config/import/nightly.toml for that.
user: Nice, thank you so much for that.
assistant: You are welcome. Anything else?
user: Not now. TODO: ask Priya about ticket OPS-4411.
assistant: I will remember it. Have a nice day then.
user: You too, see you soon.
"""

ANY = st.text(alphabet=st.characters(exclude_categories=()), max_size=300)


def sentences_of(number: int, form: str = "user: Sentence {n} reads {m} bytes of file {n}.") -> str:
    return "\n".join(form.format(n=n, m=n * 7919 % 1000) for n in range(number))


def best_ms(work: Any) -> float:
    """Milliseconds of the fastest of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def test_what_cannot_be_guessed_is_kept():
    """Of a talk with much politeness, the error, the decision, the path and the task remain."""
    kept = extract(TALK, 80)
    for fact in ("10.0.4.17:5433", "db-primary-02", "config/import/nightly.toml", "OPS-4411"):
        assert fact in kept
    assert "Good morning" not in kept


@pytest.mark.parametrize("budget", [12, 30, 60, 120, 200])
def test_sentences_stay_whole_in_order_and_in_bounds(budget):
    """An extract is made of sentences of its source, as they stood, one after the other."""
    kept = extract(TALK, budget)
    assert 0 < count_text(kept) <= budget
    at = 0
    for line in kept.splitlines():
        for sentence in line.removeprefix("user: ").split(". "):
            at = TALK.index(sentence.split(": ", 1)[-1], at)
    assert kept[-1] in ".?!" or kept.endswith("timed out")


def test_speakers_stay_with_their_words():
    """SUM-13: what the user decided is not put in another's mouth, nor a later line of a tool."""
    kept = extract(TALK, 60).splitlines()
    assert "user: We decided to use the primary at db-primary-02 until Friday." in kept
    assert "tool: ConnectionError: connect to 10.0.4.17:5433 timed out" in kept


def test_a_call_has_a_speaker_and_a_node_has_none():
    """What stands behind the name of a node is not the last speaker's."""
    text = (
        "user: Good morning to you all.\nassistant calls read_file: the path is /etc/app/one.conf\n"
        "(turns 4-9, moving)\nThe tables went to db-07 on Friday.\nuser: Fine, thank you, bye."
    )
    assert extract(text, 36).splitlines()[:3] == [
        "assistant calls read_file: the path is /etc/app/one.conf",
        "(turns 4-9, moving)",
        "The tables went to db-07 on Friday.",
    ]


def test_a_central_sentence_comes_before_a_stray_one():
    """TextRank: what shares its words with the rest says what the rest is about."""
    text = (
        "The glacier shrinks every summer. Summer melts the glacier into the lake. "
        "My uncle whistles badly. The lake grows while the glacier shrinks. "
        "Glacier and lake attract summer visitors."
    )
    kept = extract(text, 22)
    assert "lake" in kept and "whistles" not in kept


def test_focus_brings_its_sentences_in():
    """What is asked for is kept even where other sentences hold more facts."""
    assert "thanks" not in extract(TALK, 40)
    assert "see you soon" in extract(TALK, 40, focus="see you soon {x} %s")


def test_a_text_that_fits_comes_back_whole():
    """Nothing is dropped for the sake of it."""
    assert extract(f"\n{TALK}\n", 1000) == TALK.strip()


def test_a_repeated_sentence_is_kept_once():
    """Twenty equal lines of a log say what one says."""
    text = "Error 17 in /var/log/app.log.\n" * 20 + "\n".join(
        f"Step {n} is done." for n in range(40)
    )
    assert extract(text, 60).count("Error 17") == 1


def test_one_long_sentence_is_clipped():
    """Only where not a single sentence fits is one cut, between words."""
    text = "word " * 100
    assert extract(text, 6) == "word word word word word"


@pytest.mark.parametrize("text", ["", " ", "\n\t\n", "\u3000"])
def test_a_blank_source_gives_nothing(text):
    """Nothing is invented where nothing was said."""
    assert extract(text, 100) == ""
    assert key_terms(text, 5) == ()


@settings(deadline=None)  # a busy machine, and networkx is imported in the first example
@given(ANY | st.lists(ANY, max_size=5).map("\nuser: ".join), st.integers(0, 60), ANY)
def test_every_source_gives_an_extract_in_bounds(text, budget, focus):
    """Whatever the source holds: within budget, and never empty where five tokens are allowed."""
    kept = extract(text, budget, focus)
    assert count_text(kept) <= budget
    assert kept.strip() or budget < 5 or not text.strip()


def test_a_cluster_larger_than_the_budget_still_says_something():
    """A family of eight tokens does not fit into five; its first member does."""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert extract(family * 9, 5) == "\U0001f468"


def test_the_same_source_gives_the_same_extract_in_every_process():
    """Nodes are named by their content: the order of a set must not leak into it."""
    code = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location(
    "lcm", sys.argv[1], submodule_search_locations=[sys.argv[2]]
)
sys.modules["lcm"] = importlib.util.module_from_spec(spec)
from lcm.dag.extractive import extract, key_terms
text = sys.stdin.read()
print(extract(text, 90), key_terms(text, 6))
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(ROOT / "__init__.py"), str(ROOT)],
            input=TALK,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    "text",
    [
        sentences_of(100_000),
        "x" * 1_000_000,
        "a-" * 500_000,
        '{"key": 1, ' * 100_000,
        "\u6f22\u5b57\u3002" * 333_000,
        "`" * 1_000_000,
        "\n" * 1_000_000 + "end",
        "[user " * 170_000,
    ],
    ids=["sentences", "blob", "dashes", "json", "han", "ticks", "blank", "labels"],
)
def test_a_megabyte_is_bounded(text):
    """About 20 ms a megabyte here; the bound leaves a busy machine its room."""
    extract("Warm up. Import the graph library. It costs 100 ms once.", 5)
    assert best_ms(lambda: extract(text, 1000)) < 1500
    assert best_ms(lambda: key_terms(text, 5)) < 1500
    assert count_text(extract(text, 1000)) <= 1000


def test_a_leaf_is_fast():
    """A source of 4,000 tokens takes about 10 ms."""
    text = sentences_of(
        200, "user: Sentence {n} says that {m} bytes of file {n}.txt were read twice."
    )
    extract(text, 100)
    assert 3000 < count_text(text) < 6000
    assert best_ms(lambda: extract(text, 1000)) < 100


def test_telling_places_of_a_long_source_are_found():
    """One error in the middle of two megabytes of routine is what the extract is for."""
    routine = sentences_of(20_000, "user: Step {n} went as well as the one before it.")
    text = f"{routine}\ntool: fatal: refusing to merge unrelated histories\n{routine}"
    assert "tool: fatal: refusing to merge unrelated histories" in extract(text, 250)


def test_colours_of_a_terminal_are_no_words():
    """Escape codes are dropped: they cost tokens and say nothing."""
    text = "tool: \x1b[31mError: no such file /tmp/a.txt\x1b[0m here.\n" + sentences_of(50)
    assert "\x1b" not in extract(text, 100)


def test_key_terms_name_what_can_be_asked_for():
    """Paths, ids and names come first, none within another, no more than asked for."""
    terms = key_terms(TALK, 5)
    assert len(terms) == 5
    assert "config/import/nightly.toml" in terms and "OPS-4411" in terms
    assert key_terms("ok", 5) == ()
