"""The conversation that is measured: synthetic, the same on every machine; or real ones, see :mod:`material`.

Blocks of four rows: a user, an assistant that calls a tool, the tool's
result, an assistant. 440 characters a row on average, of which 125 come from
one result of 50,000 characters in every 400 rows. Words have the frequencies
of natural language, and every text holds a word of its own, so that the
search index has as much to do as with real text.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

from .material import chosen, part

__all__ = ["ROWS_PER_BLOCK", "Row", "conversation", "turn", "words"]

Row = dict[str, Any]

ROWS_PER_BLOCK = 4
_LARGE_EVERY = 100
"""Blocks between two large results."""
_LARGE = 50_000
_USER, _RESULT, _ANSWER, _PATH_WORDS = 240, 520, 380, 6
"""Characters of each kind of row; the call's arguments have about 120."""

_ONSETS = (*"bcdfghklmnprstvw", "br", "ch", "dr", "fl", "gr", "pl", "st", "tr")
_NUCLEI = (*"aeiou", "ai", "ea", "oo")
_CODAS = ("", *"nrstlm", "ck", "nd")
_WORDS = 6_000
_SENTENCES = 1_500


def _language() -> tuple[list[str], list[str]]:
    """Words, the frequent ones first, and sentences made of them."""
    dice = random.Random(7)  # noqa: S311 - the same text everywhere is the point
    words: dict[str, None] = {}
    while len(words) < _WORDS:
        size = 1 + (len(words) > 200) + (len(words) > 2_000)  # noqa: PLR2004 - frequent words are short
        syllables = [
            dice.choice(_ONSETS) + dice.choice(_NUCLEI) + dice.choice(_CODAS) for _ in range(size)
        ]
        words["".join(syllables)] = None
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(_WORDS)))
    names = list(words)
    sentences = [
        " ".join(dice.choices(names, cum_weights=weights, k=dice.randint(6, 18))).capitalize()
        + ". "
        for _ in range(_SENTENCES)
    ]
    return names, sentences


_LANGUAGE: list[tuple[list[str], list[str]]] = []


def words() -> list[str]:
    """The words of the conversation, the frequent ones first."""
    if not _LANGUAGE:
        _LANGUAGE.append(_language())
    return _LANGUAGE[0][0]


def _text(dice: random.Random, mark: str, size: int) -> str:
    """*size* characters that begin with a word no other text has."""
    if not _LANGUAGE:
        _LANGUAGE.append(_language())
    sentences = _LANGUAGE[0][1]
    parts = [f"Re {mark}: "]
    length = len(parts[0])
    while length < size:
        parts.append(dice.choice(sentences))
        length += len(parts[-1])
    return "".join(parts)[:size]


def _block(dice: random.Random, name: str, number: int) -> list[Row]:
    mark = f"{name}{number:06d}"
    path = "/".join(dice.choices(words(), k=_PATH_WORDS))
    arguments = json.dumps({"path": f"/srv/{path}/{mark}.py", "offset": number, "limit": 200})
    function = {"name": "read_file", "arguments": arguments}
    size = _LARGE if number % _LARGE_EVERY == _LARGE_EVERY - 1 else _RESULT
    return [
        {"role": "user", "content": _text(dice, f"{mark}q", _USER)},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": f"call_{mark}", "type": "function", "function": function}],
        },
        {
            "role": "tool",
            "tool_call_id": f"call_{mark}",
            "content": _text(dice, f"{mark}r", size),
        },
        {"role": "assistant", "content": _text(dice, f"{mark}a", _ANSWER)},
    ]


def conversation(rows: int, name: str = "m", start: int = 0) -> list[Row]:
    """*rows* rows (a multiple of four) of the conversation *name*, from block *start* on."""
    if folder := chosen():
        return part(folder, name, start * ROWS_PER_BLOCK, rows)
    dice = random.Random(f"{name} {start}")  # noqa: S311
    blocks = range(start, start + rows // ROWS_PER_BLOCK)
    return [row for number in blocks for row in _block(dice, name, number)]


def turn(number: int, name: str = "t") -> list[Row]:
    """What one turn without a tool call adds: a user's row and an answer."""
    dice = random.Random(f"turn {name} {number}")  # noqa: S311
    return [
        {"role": "user", "content": _text(dice, f"{name}{number:06d}u", 440)},
        {"role": "assistant", "content": _text(dice, f"{name}{number:06d}v", 440)},
    ]
