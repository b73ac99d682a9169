"""Whole conversations through the engine: valid, within budget, and every message comes back byte for byte.

Real ones from ../shared/data where they are there, and some of our own everywhere.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from lcm import LCMEngine
from lcm.dag.messages import is_system
from lcm.dag.validity import new_faults
from lcm.storage.canon import encode

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "conv"
REAL = sorted(DATA.glob("*/*.jsonl"))
WINDOWS = (8_000, 32_000, 128_000)

#: A summariser's answer that brings every level, so that the time goes into what is tested.
ANSWER = json.dumps(
    {
        "topic": "a part of the conversation",
        "hints": ["what was said", "what was done"],
        "levels": {str(level): "It was said. " * (level // 5) for level in (15, 50, 250, 1000)},
        "sufficient_tokens": 250,
    }
)


def dialogue():
    """Two people who talk, with repeats, empty answers and the same role twice."""
    dice = random.Random(1)
    words = [
        "harbour",
        "lamp",
        "relay",
        "night",
        "report",
        "museum",
        "brass",
        "plate",
        "tide",
        "crew",
    ]
    rows = [{"role": "assistant", "content": "Hello. What shall we do today?"}]
    for n in range(400):
        said = " ".join(dice.choice(words) for _ in range(dice.choice([1, 20, 90])))
        rows.append({"role": dice.choice(["user", "user", "assistant"]), "content": f"{n} {said}"})
        if n % 50 == 0:
            rows.append({"role": "assistant", "content": ""})
    return rows


def coding():
    """An agent at work: parallel calls, reused ids, results that never came, large outputs, ANSI codes."""
    dice = random.Random(2)
    rows = [{"role": "system", "content": "You are an agent."}]
    for n in range(120):
        rows.append({"role": "user", "content": f"Step {n}: look into module_{n} and mend it."})
        for step in range(dice.choice([1, 2, 6])):
            ids = [f"call_{dice.randrange(4)}_{k}" for k in range(dice.choice([1, 1, 4]))]
            calls = [
                {
                    "id": each,
                    "type": "function",
                    "function": {"name": "run", "arguments": f'{{"step": {step}}}'},
                }
                for each in ids
            ]
            rows.append(
                {"role": "assistant", "content": None, "tool_calls": calls, "reasoning": f"why {n}"}
            )
            for each in ids[: len(ids) if n % 17 else 0]:
                output = "\x1b[31mline of output\x1b[0m\b\n" * dice.choice([0, 3, 60, 900])
                rows.append({"role": "tool", "tool_call_id": each, "content": output})
        rows.append({"role": "assistant", "content": f"module_{n} is mended: E{n:04d} is gone."})
    return rows


def long_turn():
    """One request that takes three hundred steps."""
    rows = [{"role": "user", "content": "Do all of it, please."}]
    for n in range(150):
        call = {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "read_file", "arguments": "{}"},
        }
        rows.append({"role": "assistant", "content": "", "tool_calls": [call]})
        rows.append(
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"part {n} " + "text " * 300}
        )
    return rows


OWN = {"dialogue": dialogue, "coding": coding, "long turn": long_turn}


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check(rows, window, folder):
    """The whole list in one pass, then the rest of its life: two more passes with new turns."""
    engine = LCMEngine(window, db_path=folder / "lcm.db", settings={}, summarizer=lambda _: ANSWER)
    engine.on_session_start("s")
    sent = [row for row in rows if not is_system(row)]
    for more in (
        [],
        *([{"role": "user", "content": f"And {n}? " + "word " * (window // 3)}] for n in (1, 2)),
    ):
        rows, sent = [*rows, *more], [*sent, *more]
        before = engine.count_tokens(rows)
        result = engine.compress(rows)
        assert not engine._last_compress_aborted
        assert [] == new_faults(rows, result)
        if before >= engine.threshold_tokens:
            assert engine.count_tokens(result) <= engine.threshold_tokens
            assert engine.count_tokens(result) < before
        else:
            assert result is rows
        rows = result
    store, session = engine._attachment.stored()
    entries = store.entries(session.line)
    bodies = {m.id: m.body for m in store.read([(e.id, 1) for e in entries])}
    assert [encode(row) for row in sent] == [bodies[e.id] for e in entries]
    order = {e.id: place for place, e in enumerate(entries)}
    for node in store.nodes_on([session.line], kinds=("leaf", "condensed", "frame")):
        under = store.stands_for(node.uid)
        places = [order[number] for number, _ in under]
        assert places == sorted(set(places))
        assert [bodies[number] for number, _ in under] == [m.body for m in store.read(under)]
    engine.close()


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", OWN)
def test_a_conversation_of_our_own_fits_and_comes_back_whole(name, window, tmp_path):
    """Valid, within budget, smaller or the very list; every message under every node byte for byte."""
    check(OWN[name](), window, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="the real conversations of ../shared/data are not here")
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("folder", sorted({path.parent.name for path in REAL}))
def test_every_real_conversation_fits_and_comes_back_whole(folder, window, tmp_path):
    """The same of all real conversations of a kind."""
    for path in sorted((DATA / folder).glob("*.jsonl")):
        check(read(path), window, tmp_path / path.stem)
