"""How lossless-claw takes a message apart, and how the parts make messages of a host again.

A tool call and its result can be one part there; here they are an assistant's message and a tool's.
Parts that are no words, no thoughts and no tools are kept beside the content, as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

__all__ = ["COLUMNS", "grouped", "messages_of"]

COLUMNS: Final = (
    "part_type", "text_content", "tool_call_id", "tool_name", "tool_status", "tool_input", "tool_output",
    "tool_error", "file_mime", "file_name", "file_url", "metadata",
)  # fmt: skip
"""Of a part, as far as they matter."""
_HEAD: Final = 4

Part = Mapping[str, Any]


def grouped(
    rows: Iterable[Sequence[Any]],
) -> Iterator[tuple[tuple[Any, Any, Any, Any], list[Part]]]:
    """((number, role, content, time), parts) of each message, from rows of both joined."""
    for _, found in groupby(rows, lambda row: row[0]):
        same = list(found)
        parts: list[Part] = [
            dict(zip(COLUMNS, row[_HEAD:], strict=True)) for row in same if row[_HEAD]
        ]
        number, role, content, time = same[0][:_HEAD]
        yield (number, role, content, time), parts


def messages_of(
    role: Any, content: Any, parts: Sequence[Part], answered: set[str]
) -> list[dict[str, Any]]:
    """The message, and behind it the results that are told only in its calls.

    *answered* are the calls whose results are messages of their own.
    """
    words = [part["text_content"] for part in parts if part["part_type"] == "text"]
    message: dict[str, Any] = {"role": role, "content": content}
    if not content and any(words):
        message["content"] = "\n".join(filter(None, words))
    thoughts = [p["text_content"] for p in parts if p["part_type"] == "reasoning"]
    if any(thoughts):
        message["reasoning"] = "\n".join(filter(None, thoughts))
    tools = [part for part in parts if part["part_type"] == "tool"]
    others = [p for p in parts if p["part_type"] not in ("text", "reasoning", "tool")]
    if others:
        message["parts"] = [{k: v for k, v in part.items() if v is not None} for part in others]
    if role == "tool":
        return [_answer(message, tools)]
    if not tools:
        return [message]
    message["tool_calls"] = [_call(part) for part in tools]
    told = [part for part in tools if _result(part) is not None]
    return [message, *(_told(p) for p in told if str(p["tool_call_id"]) not in answered)]


def _answer(message: dict[str, Any], tools: Sequence[Part]) -> dict[str, Any]:
    """A tool's message, with what its part knows of the call."""
    if tools:
        message["tool_call_id"] = tools[0]["tool_call_id"]
        message["tool_name"] = tools[0]["tool_name"]
        if not message["content"]:
            message["content"] = _result(tools[0])
    return {key: value for key, value in message.items() if value is not None or key == "content"}


def _call(part: Part) -> dict[str, Any]:
    function = {"name": part["tool_name"], "arguments": part["tool_input"]}
    return {"id": part["tool_call_id"], "type": "function", "function": function}


def _told(part: Part) -> dict[str, Any]:
    return {
        "role": "tool",
        "content": _result(part),
        "tool_call_id": part["tool_call_id"],
        "tool_name": part["tool_name"],
    }


def _result(part: Part) -> Any:
    return part["tool_output"] if part["tool_output"] is not None else part["tool_error"]
