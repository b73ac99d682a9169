"""Verbatim messages, page by page: joined, they are what was said, byte for byte.

A page ends anywhere. A message that a page cuts goes on as the first entry of
the next page under the same uid: its content if that is a string, else its
canonical JSON under ``json``. Concatenate the pieces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from ..dag.tokens import is_boundary
from ..storage.canon import encode, unpack_text
from ..storage.proof import ALTERED
from ..storage.records import Message
from .answers import ToolError, to_json, weight

__all__ = ["page", "piece_of", "position", "text_page"]


class Reader(Protocol):
    """Whoever reads messages, as (number, version)."""

    def rows(self, pairs: list[tuple[int, int]]) -> list[tuple[Message, dict[str, Any]]]:
        """Messages, with what the host had."""

    def altered(self, pairs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
        """Those of them that are not what was stored."""


_BATCH = 50
#: What the first part of a message may have of its other fields; a message with more comes as JSON.
_MOST_EXTRA = 4000
_LEAST_PIECE = 1000
#: Characters that a visible one is looked for in: no cut goes through it, if it is not longer.
_CLUSTER = 32
#: Two numbers of no more digits than an answer may have given.
_CURSOR = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")
#: Fields of a message that an entry shows beside its content.
_SHOWN = ("tool_calls", "tool_call_id", "tool_name", "name", "reasoning", "reasoning_content")


def page(
    pairs: Sequence[tuple[int, int]], turns: dict[int, int], cursor: Any, reader: Reader, most: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Entries for the (number, version) *pairs* from *cursor* on, and the next cursor (None: that was all).

    *most*: what they may take together, by their :func:`.answers.weight`.

    Raises:
        ToolError: the cursor is none of ours.
    """
    index, offset = position(cursor, len(pairs))
    entries: list[dict[str, Any]] = []
    room = most
    while index < len(pairs):
        for message, row in reader.rows(list(pairs[index : index + _BATCH])):
            entry, more = _whole(message, row, turns.get(message.id)), 0
            if reader.altered([(message.id, message.version)]):
                entry["damaged"] = ALTERED
            size = weight(to_json(entry))
            if offset or size > room:
                if entries and (size <= most or room < 2 * _LEAST_PIECE):  # a page of its own
                    return entries, f"{index}:0"
                entry, more = _part(entry, row, offset, room)
                size = weight(to_json(entry))
            entries.append(entry)
            room -= size
            if more:
                return entries, f"{index}:{more}"
            index, offset = index + 1, 0
            if room <= 0 and index < len(pairs):
                return entries, f"{index}:0"
    return entries, None


def text_page(text: str, cursor: Any, most: int) -> tuple[str, str | None]:
    """As much of a node's *text* from *cursor* on as a page holds, and the next cursor.

    Raises:
        ToolError: the cursor is none of ours.
    """
    _, offset = position(cursor, 1)
    piece = _piece(text, offset, most)
    end = offset + len(piece)
    return piece, f"0:{end}" if end < len(text) else None


def piece_of(head: dict[str, Any], text: str, offset: int, room: int) -> tuple[dict[str, Any], int]:
    """*head* with as much of *text* from *offset* on as there is room for, and where it goes on; 0: that was all."""
    rest = head | {"content": text[offset:]}
    if weight(to_json(rest)) <= room:
        return rest, 0
    piece = _piece(text, offset, max(room - weight(to_json(head)) - 60, _LEAST_PIECE))
    end = offset + len(piece)
    part = f"characters {offset + 1} to {end} of {len(text)}"
    return head | {"content": piece, "part": part}, end if end < len(text) else 0


def position(cursor: Any, count: int) -> tuple[int, int]:
    """Which of *count* things a page begins with, and with which of its characters.

    Raises:
        ToolError: the cursor is none of ours.
    """
    if cursor in (None, ""):
        return 0, 0
    found = _CURSOR.fullmatch(str(cursor))
    index, offset = map(int, found.groups()) if found else (count, 0)
    if found is None or index >= max(count, 1):
        raise ToolError(
            f"'{str(cursor)[:40]}' is no cursor of this answer.",
            "Leave it out to start at the beginning.",
        )
    return index, offset


def _whole(message: Message, row: dict[str, Any], turn: int | None) -> dict[str, Any]:
    """A message as an entry."""
    head: dict[str, Any] = {"uid": message.uid, "role": message.role, "turn": turn}
    if message.versions > 1:
        head |= {"version": message.version, "versions": message.versions}
    extra = {name: row[name] for name in _SHOWN if row.get(name) not in (None, "", [])}
    return head | {"content": row.get("content")} | extra


def _part(
    whole: dict[str, Any], row: dict[str, Any], offset: int, room: int
) -> tuple[dict[str, Any], int]:
    """The part of an entry from *offset* on, and where the next page goes on; 0: that was the last."""
    content = whole["content"]
    head = {name: whole[name] for name in whole if name not in (*_SHOWN, "content")}
    extra = {name: whole[name] for name in _SHOWN if name in whole}
    as_json = not isinstance(content, str) or weight(to_json(extra)) > _MOST_EXTRA
    text = unpack_text(encode(row)) if as_json else str(content)
    least = head | (extra if not offset and not as_json else {})
    piece = _piece(text, offset, max(room - weight(to_json(least)) - 60, _LEAST_PIECE))
    end = offset + len(piece)
    entry = least | {
        "json" if as_json else "content": piece,
        "part": f"characters {offset + 1} to {end} of {len(text)}",
    }
    return entry, end if end < len(text) else 0


def _piece(text: str, offset: int, room: int) -> str:
    """As much of *text* as takes at most *room* of a page as JSON, a character at the least."""
    piece = text[offset : offset + room]
    while len(piece) > 1 and (size := weight(to_json(piece))) > room + 4:
        piece = piece[: max(len(piece) * room // (size + 1), 1)]
    for shorter in range(len(piece), max(len(piece) - _CLUSTER, 0), -1):
        if is_boundary(text, offset + shorter):
            return piece[:shorter]
    return piece
