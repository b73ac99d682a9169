"""Verbatim messages, page by page: joined, they are what was said, byte for byte.

A page ends anywhere. A message that a page cuts goes on as the first entry of
the next page under the same uid: its content if that is a string, else its
canonical JSON under ``json``. Concatenate the pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..storage.canon import encode, unpack_text
from ..storage.records import Message
from .answers import PAGE_CHARS, ToolError, to_json

__all__ = ["page"]

Load = Callable[[list[tuple[int, int]]], list[tuple[Message, dict[str, Any]]]]

_BATCH = 50
#: Fields of a message that an entry shows beside its content.
_SHOWN = ("tool_calls", "tool_call_id", "tool_name", "name", "reasoning", "reasoning_content")


def page(
    pairs: Sequence[tuple[int, int]], turns: dict[int, int], cursor: Any, load: Load
) -> tuple[list[dict[str, Any]], str | None]:
    """Entries for the (number, version) *pairs* from *cursor* on, and the next cursor (None: that was all).

    Raises:
        ToolError: the cursor is none of ours.
    """
    index, offset = _position(cursor, len(pairs))
    entries: list[dict[str, Any]] = []
    room = PAGE_CHARS
    while index < len(pairs):
        for message, row in load(list(pairs[index : index + _BATCH])):
            entry, taken, more = _entry(
                message, row, turns.get(message.id), offset, room if entries else PAGE_CHARS
            )
            if entry is None:
                return entries, f"{index}:{offset}"
            entries.append(entry)
            room -= taken
            if more:
                return entries, f"{index}:{more}"
            index, offset = index + 1, 0
            if room <= 0 and index < len(pairs):
                return entries, f"{index}:0"
    return entries, None


def _position(cursor: Any, count: int) -> tuple[int, int]:
    if cursor in (None, ""):
        return 0, 0
    index, _, offset = str(cursor).partition(":")
    if not (index.isdecimal() and offset.isdecimal() and int(index) < max(count, 1)):
        raise ToolError(
            f"'{str(cursor)[:40]}' is no cursor of this answer.",
            "Leave it out to start at the beginning.",
        )
    return int(index), int(offset)


def _entry(
    message: Message, row: dict[str, Any], turn: int | None, offset: int, room: int
) -> tuple[dict[str, Any] | None, int, int]:
    """(entry, characters it takes, offset in the message where the next page goes on; 0: it is complete)."""
    head: dict[str, Any] = {"uid": message.uid, "role": message.role, "turn": turn}
    if message.versions > 1:
        head |= {"version": message.version, "versions": message.versions}
    extra = {name: row[name] for name in _SHOWN if row.get(name) not in (None, "", [])}
    content = row.get("content")
    whole = head | {"content": content} | extra
    size = len(to_json(whole))
    if not offset and size <= room:
        return whole, size, 0
    if not offset and room < PAGE_CHARS and size <= PAGE_CHARS:
        return None, 0, 0  # it fits on a page of its own
    as_json = not isinstance(content, str) or len(to_json(extra)) > PAGE_CHARS // 2
    text = unpack_text(encode(row)) if as_json else str(content)
    least = head | (extra if not offset and not as_json else {})
    piece = _piece(text, offset, max(room - len(to_json(least)) - 40, 1000))
    end = offset + len(piece)
    entry = least | {
        "json" if as_json else "content": piece,
        "part": f"characters {offset + 1} to {end} of {len(text)}",
    }
    return entry, len(to_json(entry)), end if end < len(text) else 0


def _piece(text: str, offset: int, room: int) -> str:
    """As much of *text* as takes at most *room* characters of JSON."""
    piece = text[offset : offset + room]
    while len(piece) > 1 and len(to_json(piece)) > room:
        piece = piece[: max(len(piece) * room // (len(to_json(piece)) + 1), 1)]
    return piece
