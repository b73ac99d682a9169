"""Steps of an agent at work, as large as they are to be and like no others."""

from __future__ import annotations

import json
import random

__all__ = ["BESIDE", "step", "text"]

#: Tokens that a host sends beside its list.
BESIDE = 12_000
_WORDS = ("relay", "lamp", "tide", "gauge", "mirror", "harbour", "wind", "oil", "keeper", "signal")


def text(seed, tokens):
    """About so many tokens, of no other text."""
    dice = random.Random(seed)
    return " ".join(f"{dice.choice(_WORDS)}{dice.randint(1, 999)}" for _ in range(tokens * 4 // 9))


def step(number, tokens=2600):
    """A call and its result."""
    function = {"name": "read", "arguments": json.dumps({"path": f"f{number}"})}
    calls = [{"id": f"c{number}", "type": "function", "function": function}]
    return [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text(number, tokens)},
    ]
