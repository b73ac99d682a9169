"""Replayed request by request, no list is refused by a strict provider and none is above its budget.

Six real conversations from ../shared/data where they are there, and our own story everywhere;
``python -m benchmarks replay`` takes all of them, beside the host's own compressor.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from lcm.benchmarks.replay.data import STORY, story
from lcm.benchmarks.replay.ours import counters, replay
from lcm.benchmarks.replay.strict import blamed
from lcm.benchmarks.replay.walk import walk
from lcm.benchmarks.replay.writer import Writer

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "conv"
WINDOWS = (8_000, 16_000, 32_000, 64_000, 128_000)

#: Long talk with a row of 88,000 tokens, two agents at work, two people, calls, months of projects.
SIX = (
    "beam/100K-04",
    "claude_code/fa812bfe",
    "pi/large-session",
    "locomo/conv-30",
    "tau/airline-gpt4o-03-0",
    "tau_shift/opus46-medical",
)


def rows_of(name):
    if name == STORY:
        return story()
    path = DATA / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{name} of ../shared/data is not here; {STORY} is replayed in any case")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    "name", [STORY, *(pytest.param(name, marks=pytest.mark.slow) for name in SIX)]
)
def test_every_request_is_valid_and_within_budget(name, tmp_path):
    """With the settings as they are shipped, at every length of context."""
    rows, passes = rows_of(name), 0
    for window in WINDOWS:
        tally = replay(rows, window, tmp_path / f"{window}.db", {})
        assert Counter() == tally.faults
        assert (0, 0) == (tally.invalid, tally.over)
        assert tally.requests >= sum(row["role"] == "assistant" for row in rows[1:])
        assert tally.cached >= tally.ideal  # nothing changes but in a compaction
        passes += tally.compactions
    assert passes


U, A = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "r"}
S = {"role": "user", "content": "summary", "_compressed_summary": True}


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("an empty list", []),
        ("nothing but system rows", [{"role": "system", "content": "s"}]),
        ("a result without its call", [S, RESULT]),
        ("a result without its call", [S, CALL, RESULT, RESULT]),
        ("a call without its result", [S, CALL, U]),
        ("a call without its result", [S, CALL]),
        ("two user rows in a row", [S, U]),
        ("two assistant rows in a row", [S, A, {**CALL}, RESULT]),
        ("the first row is not a user's", [A, U]),
        ("the last row is an assistant's", [S, A]),
        ("an answer that says nothing", [S, {"role": "assistant", "content": ""}, U]),
    ],
)
def test_a_provider_refuses(kind, sent):
    """Each fault that a compaction may make is seen."""
    assert kind in blamed(sent, [U, A, U])


def test_what_the_conversation_itself_has_is_excused():
    """But only there: the same fault beside a row of ours is ours."""
    source = [U, A, A, U, CALL, U, U]
    assert [] == blamed(source, source)
    assert [] == blamed([S, A, U, CALL, U, U], source)
    assert ["two user rows in a row"] == blamed([S, U, CALL, U, U], source)
    assert ["two user rows in a row"] == blamed([S, U], source)


class Cutter:
    """Compacts by a rule: half of the rows go, one row of a constant text and a number comes."""

    limit = 400

    def __init__(self, head):
        self.writer, self.head, self.passes = Writer(counters().text), head, 0

    def due(self, tokens):
        return tokens >= self.limit

    def compress(self, rows, tokens):
        self.passes += 1
        text = f"{self.head if self.passes < 3 else ''}{self.passes}"
        return [{**S, "content": text}, *(row for row in rows if "_compressed_summary" not in row)][
            :: max(1, len(rows) // 4)
        ][:2]

    def answered(self, rows, prompt, answer):
        assert (prompt, answer) == (sum(map(counters().row, rows)), counters().row(A))

    def turn_over(self, rows):
        pass

    def summary(self, rows):
        return rows[0]["content"] if "_compressed_summary" in rows[0] else ""


def test_reuse_and_what_stands_are_counted():
    """By hand: the list grows by 20 tokens a request, and is cut at 400."""
    head = "h" * 400
    side = Cutter(head)
    count = counters().row
    tally = walk([U, A] * 60, side, counters())
    assert 60 == tally.requests
    assert 60 * count(A) == tally.answered
    assert side.passes == tally.compactions
    assert tally.cached > 0
    first = next(n for n in range(60) if (n + 1) * count(U) + n * count(A) >= 400)
    grown = [(n + 1) * count(U) + n * count(A) for n in range(first)]
    assert sum(grown[:-1]) <= tally.ideal <= tally.cached <= tally.sent
    # Between the first two passes the head stands, at the third nothing.
    assert counters().text(head) == tally.stands
    assert tally.stood > 2 * tally.stands - 10


def test_the_stub_fills_its_limit_and_nothing_stands_by_luck():
    """So that both sides write as much as they ask for, and rewrite what a model would rewrite."""
    writer, count = Writer(counters().text), counters().text
    source = "The lamp was measured twice. \u706f\u5854 " * 200
    for limit in (15, 50, 250, 2000):
        text = writer.text(source, limit)
        assert text == writer.text(source, limit)
        assert 0.8 * limit - 5 <= count(text) <= limit
    assert writer.text(source, 50)[:20] != writer.text(source + "!", 50)[:20]
    writer.charge(["a" * 40, "b" * 40], "c" * 20)
    assert (1, 20, 5) == (writer.calls, writer.read, writer.written)


def test_without_a_host_nothing_is_measured():
    """A figure of ours alone is none."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "replay", "--host", "/nowhere/python"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert 2 == done.returncode
    assert "There is no Python of a host at /nowhere/python" in done.stderr
    assert not done.stdout
