"""What a person is shown of a message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ..storage.canon import dumper

__all__ = ["result_words", "words"]

_BESIDE: Final = ("tool_calls", "tool_call_id")
_quoted: Final = json.encoder.encode_basestring
_as_json: Final = dumper(json.JSONEncoder(ensure_ascii=False))


def words(row: Mapping[str, Any]) -> str:
    """The content as it is where it is a text, and what else the message holds as JSON."""
    content = row.get("content")
    if type(content) is str and not row.get("tool_calls"):  # nine of ten, in a third of the time
        call = row.get("tool_call_id")
        if not call:
            return content
        if content and type(call) is str:
            return result_words(content, call)
    rest = {key: row[key] for key in _BESIDE if row.get(key)}
    if not isinstance(content, str):
        rest = {"content": content, **rest}
        content = ""
    if not rest:
        return content
    return f"{content}\n{_as_json(rest)}" if content else _as_json(rest)


def result_words(content: str, call: str) -> str:
    """Of a result that has a text: that, and which call it answers, as JSON."""
    return f'{content}\n{{"tool_call_id": {_quoted(call)}}}'
