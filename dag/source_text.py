"""What a summariser reads: the sources of a node as one text, each line with its speaker."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..storage.canon import plain_text
from ..storage.records import Node
from .messages import Row, arguments_of, calls_of, text_of
from .redact import Redact
from .tokens import count_text, head, tail

__all__ = ["LEAST_READ", "message_text", "most_read", "most_shown", "node_text", "source_text"]

#: Most tokens of one message in a summariser's source: the ends of a file or a log say what it is.
MESSAGE_TOKENS = 4000
#: The same of a tool's result, of which a summary is to say what it was.
RESULT_TOKENS = 500
#: Characters beyond what is shown that are looked at for secrets: no secret is longer.
_MARGIN = 20_000
LEAST_READ = min(MESSAGE_TOKENS, RESULT_TOKENS)
"""Tokens of which all is read, whatever message it is."""
_LONGEST_TOKEN = 8
#: Fields of a message that is a role and a content.
_PLAIN = 2
#: Tokens of one character at the most.
_MOST_TOKENS = 2


def most_read(row: Row) -> int:
    """Most tokens of the text of *row* in a summariser's source."""
    return RESULT_TOKENS if row.get("role") == "tool" else MESSAGE_TOKENS


def most_shown(_: Row) -> int:
    """The same where nothing but the text is left of a message, or somebody asked for it."""
    return MESSAGE_TOKENS


def source_text(
    parts: Sequence[Row | Node | None],
    clean: Redact = str,
    most: Callable[[Row], int] = most_read,
) -> str:
    """The text of *parts*, in order, without what *clean* takes out; of each message at *most* so much.

    All of it is looked through once it stands: a secret may be in a name, a role or a call as well.
    """
    texts = (
        node_text(part) if isinstance(part, Node) else message_text(part, clean, most(part))
        for part in parts
        if part
    )
    return clean("\n".join(text for text in texts if text))


def node_text(node: Node) -> str:
    """A node by its largest text."""
    return node.texts[max(node.texts)]


def message_text(row: Row, clean: Redact = str, most: int = MESSAGE_TOKENS) -> str:
    """A message with its speaker, in about *most* tokens of each text; empty if it says nothing.

    *clean* takes out of a text that is cut here what the cut would go through.
    """
    content = row.get("content")
    if len(row) == _PLAIN and type(content) is str and (text := content.strip()) and "role" in row:
        return f"{plain_text(row['role'])}: {_short(text, clean, most)}"  # half of them
    role = plain_text(row.get("role"))
    if name := row.get("tool_name") or row.get("name"):
        role = f"{role} ({plain_text(name)})"
    lines = []
    if text := text_of(row).strip():
        lines.append(f"{role}: {_short(text, clean, most)}")
    elif row.get("content") and not isinstance(row["content"], str):
        lines.append(f"{role}: (an attachment without text)")
    for call in calls_of(row):
        function = call.get("function")
        called = plain_text(function.get("name")) if isinstance(function, dict) else None
        lines.append(f"{role} calls {called}: {_short(arguments_of(call), clean, most)}")
    return "\n".join(lines)


def _short(text: str, clean: Redact, most: int) -> str:
    if len(text) * _MOST_TOKENS <= most:  # most are, and are not worth counting
        return text
    tokens = count_text(text)
    if tokens <= most:
        return text
    first, last = most * 2 // 3, most // 3
    # A secret that the cut goes through must be seen whole to be known as one.
    begin = head(clean(text[: first * _LONGEST_TOKEN + _MARGIN]), first)
    end = tail(clean(text[-(last * _LONGEST_TOKEN + _MARGIN) :]), last)
    return f"{begin}\n({tokens - most} tokens are left out here)\n{end}"
