"""Answers: JSON that fits, and errors that say what to do next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..dag.tokens import count_text

__all__ = ["PAGE_CHARS", "ToolError", "WrongArgument", "page_of", "to_json", "weight"]

#: Characters of one answer. Hosts replace a result beyond 15 % of the window by a preview;
#: of the smallest window (64K tokens) that is 39,000 characters.
PAGE_CHARS = 20_000
#: The smallest page, however full the window is.
_LEAST_CHARS = 2000
_CHARS_PER_TOKEN = 4


def page_of(facts: Mapping[str, Any]) -> int:
    """Characters of a page, four to a token: at most a quarter of the tokens that the window has left.

    *facts*: ``room_tokens``, where the caller knows it.
    """
    room = facts.get("room_tokens")
    return PAGE_CHARS if room is None else max(min(int(room), PAGE_CHARS), _LEAST_CHARS)


def weight(text: str) -> int:
    """What *text* takes of a page: its characters, or more where a token has fewer than four."""
    return count_text(text) * _CHARS_PER_TOKEN


class ToolError(Exception):
    """A call that cannot be answered."""

    def __init__(self, error: str, hint: str) -> None:
        super().__init__(error)
        self.error = error
        """What is wrong."""
        self.hint = hint
        """What to do next."""


class WrongArgument(ToolError):
    """An argument that means nothing, whatever is stored."""


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
