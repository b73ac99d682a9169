"""Histories of agent loops, valid and broken, and what a strict provider says of them."""

from __future__ import annotations

from hypothesis import strategies as st
from lcm.dag.validity import faults


def user(text="q", **more):
    return {"role": "user", "content": text, **more}


def said(text="a", **more):
    return {"role": "assistant", "content": text, **more}


def called(*ids):
    """An assistant's row with a call for each of *ids*."""
    calls = [{"id": each, "type": "function", "function": {"name": "run"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name, text="r"):
    return {"role": "tool", "tool_call_id": name, "content": text}


def talk(turns, text="word "):
    """*turns* turns of a question and an answer, and a question that is open."""
    rows = []
    for n in range(turns):
        rows += user(f"question {n} {text}"), said(f"answer {n} {text}")
    return [*rows, user("and now?")]


@st.composite
def turn(draw, text):
    """A user's message, some steps with parallel calls whose ids may repeat, and mostly an answer."""
    rows = [user(draw(text))]
    for _ in range(draw(st.integers(0, 2))):
        ids = draw(st.lists(st.sampled_from(["a", "b", None, ""]), min_size=1, max_size=3))
        rows.append(called(*ids))
        rows += [result(name, draw(text)) for name in draw(st.permutations(ids))]
    return rows + draw(st.sampled_from([[], [said(draw(text))]]))


def histories(text=None, min_turns=1):
    """Valid histories, with or without system rows in front."""
    if text is None:
        text = st.sampled_from(["", "hello", "word " * 50])
    turns = st.lists(turn(text), min_size=min_turns, max_size=5)
    heads = st.sampled_from([[], [{"role": "system", "content": "be kind"}]])
    return st.builds(
        lambda head, parts: [*head, *(r for part in parts for r in part)], heads, turns
    )


@st.composite
def broken(draw):
    """A history out of which rows were taken, or into which some were put."""
    rows = draw(histories())
    strays = [result("a"), called("b"), {"role": "system", "content": "x"}, said(), user()]
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(rows)))
        rows[at : at + draw(st.integers(0, 1))] = draw(
            st.sampled_from([[], *([stray] for stray in strays)])
        )
    return rows


def refused(rows):
    """The faults that the engine's own judge finds in *rows*, those of double roles aside."""
    kinds = ("result", "call", "first row")
    return {kind: n for kind, n in faults(rows).items() if kind.startswith(kinds)}
