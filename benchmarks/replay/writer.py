"""The summariser of both sides: fills every limit it is given, with words of the source.

The words are drawn by a dice that the source sets, so the same source has the same summary on any
machine, and another source another one throughout, as with a model: nothing stands by luck.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Sequence

__all__ = ["Writer"]

_WORD = re.compile(r"\w{1,40}")
_SENTENCE = 12
"""Words of a sentence."""
_NOTHING = ("nothing",)


class Writer:
    """Writes, and counts its calls and the tokens of prompts and answers."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self.calls = self.read = self.written = 0

    def charge(self, prompts: Sequence[str], answer: str) -> None:
        """One call."""
        self.calls += 1
        self.read += sum(map(self._count, prompts))
        self.written += self._count(answer)

    def text(self, source: str, limit: int) -> str:
        """At most *limit* tokens, and hardly less."""
        words = _WORD.findall(source) or _NOTHING
        seed = hashlib.sha256(f"{limit}\n{source}".encode("utf-8", "surrogatepass")).hexdigest()
        dice = random.Random(seed)  # noqa: S311 - the same text everywhere is the point
        left = 4 * limit - 1  # in characters, and the last full stop
        parts: list[str] = []
        while left > 0:
            word = dice.choice(words)
            if not parts or parts[-1].endswith("."):
                word = word.capitalize()
            word += "." if len(parts) % _SENTENCE == _SENTENCE - 1 else ""
            cost = 1 + (len(word) if word.isascii() else 4 * self._count(word))
            if cost > left:
                break
            parts.append(word)
            left -= cost
        return (" ".join(parts) or "a").rstrip(".") + "."
