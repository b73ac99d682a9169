"""What a summariser reads: the sources of a node as one text, each line with its speaker."""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.canon import plain_text
from ..storage.records import Node
from .messages import Row, arguments_of, calls_of, text_of
from .redact import Redact
from .tokens import count_text, head, tail

__all__ = ["message_text", "node_text", "source_text"]

#: Most tokens of one message in a summariser's source: the ends of a file or a log say what it is.
MESSAGE_TOKENS = 4000
#: Characters beyond what is shown that are looked at for secrets: no secret is longer.
_MARGIN = 20_000
_LONGEST_TOKEN = 8
#: Tokens of one character at the most.
_MOST_TOKENS = 2


def source_text(parts: Sequence[Row | Node | None], clean: Redact = str) -> str:
    """The text of *parts*, in order, without what *clean* takes out.

    All of it is looked through once it stands: a secret may be in a name, a role or a call as well.
    """
    texts = (
        node_text(part) if isinstance(part, Node) else message_text(part, clean)
        for part in parts
        if part
    )
    return clean("\n".join(text for text in texts if text))


def node_text(node: Node) -> str:
    """A node by its largest text."""
    return node.texts[max(node.texts)]


def message_text(row: Row, clean: Redact = str) -> str:
    """A message with its speaker; empty if it says nothing.

    *clean* takes out of a text that is cut here what the cut would go through.
    """
    role = plain_text(row.get("role"))
    if name := row.get("tool_name") or row.get("name"):
        role = f"{role} ({plain_text(name)})"
    lines = []
    if text := text_of(row).strip():
        lines.append(f"{role}: {_short(text, clean)}")
    elif row.get("content") and not isinstance(row["content"], str):
        lines.append(f"{role}: (an attachment without text)")
    for call in calls_of(row):
        function = call.get("function")
        called = plain_text(function.get("name")) if isinstance(function, dict) else None
        lines.append(f"{role} calls {called}: {_short(arguments_of(call), clean)}")
    return "\n".join(lines)


def _short(text: str, clean: Redact) -> str:
    if len(text) * _MOST_TOKENS <= MESSAGE_TOKENS:  # most are, and are not worth counting
        return text
    tokens = count_text(text)
    if tokens <= MESSAGE_TOKENS:
        return text
    first, last = MESSAGE_TOKENS * 2 // 3, MESSAGE_TOKENS // 3
    # A secret that the cut goes through must be seen whole to be known as one.
    begin = head(clean(text[: first * _LONGEST_TOKEN + _MARGIN]), first)
    end = tail(clean(text[-(last * _LONGEST_TOKEN + _MARGIN) :]), last)
    return f"{begin}\n({tokens - MESSAGE_TOKENS} tokens are left out here)\n{end}"
