"""Answers: JSON that fits, and errors that say what to do next."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["PAGE_CHARS", "ToolError", "to_json"]

#: Characters of one answer. Hosts replace a result beyond 15 % of the window by a preview;
#: of the smallest window (64K tokens) that is 39,000 characters.
PAGE_CHARS = 20_000


class ToolError(Exception):
    """A call that cannot be answered."""

    def __init__(self, error: str, hint: str) -> None:
        super().__init__(error)
        self.error = error
        """What is wrong."""
        self.hint = hint
        """What to do next."""


def to_json(value: Any) -> str:
    """*value* as JSON that every host can send on: a lone surrogate is escaped."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, default=repr)
    return text
