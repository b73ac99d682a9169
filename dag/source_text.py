"""What a summariser reads: the sources of a node as one text, each line with its speaker."""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.records import Node
from .messages import Row, arguments_of, calls_of, text_of
from .tokens import count_text, head, tail

__all__ = ["message_text", "node_text", "source_text"]

#: Most tokens of one message in a summariser's source: the ends of a file or a log say what it is.
MESSAGE_TOKENS = 4000


def source_text(parts: Sequence[Row | Node | None]) -> str:
    """The text of *parts*, in order."""
    texts = (
        node_text(part) if isinstance(part, Node) else message_text(part) for part in parts if part
    )
    return "\n".join(text for text in texts if text)


def node_text(node: Node) -> str:
    """A node by its largest text."""
    return node.texts[max(node.texts)]


def message_text(row: Row) -> str:
    """A message with its speaker; empty if it says nothing."""
    role = str(row.get("role"))
    if name := row.get("tool_name") or row.get("name"):
        role = f"{role} ({name})"
    lines = []
    if text := text_of(row).strip():
        lines.append(f"{role}: {_short(text)}")
    elif row.get("content") and not isinstance(row["content"], str):
        lines.append(f"{role}: (an attachment without text)")
    for call in calls_of(row):
        function = call.get("function")
        called = function.get("name") if isinstance(function, dict) else None
        lines.append(f"{role} calls {called}: {_short(arguments_of(call))}")
    return "\n".join(lines)


def _short(text: str) -> str:
    tokens = count_text(text)
    if tokens <= MESSAGE_TOKENS:
        return text
    first, last = head(text, MESSAGE_TOKENS * 2 // 3), tail(text, MESSAGE_TOKENS // 3)
    return f"{first}\n({tokens - MESSAGE_TOKENS} tokens are left out here)\n{last}"
