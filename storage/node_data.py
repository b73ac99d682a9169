"""What of a node has no column of its own: how it is kept, and whether what is read back is that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from .errors import StoreDamaged
from .records import Node

__all__ = ["data_of", "rest_of"]

_COUNTED: Final = (
    "sufficient", "first_seq", "last_seq", "first_turn", "last_turn", "messages", "source_tokens",
)  # fmt: skip
_LISTED: Final = ("lifted", "levels")
_PACKED: Final = ("topic", "hints", *_COUNTED, *_LISTED)
#: A sum of two such numbers still is one that SQLite takes.
_MOST: Final = 1 << 62


def data_of(node: Node) -> str:
    """The fields of *node* that are kept as JSON."""
    data = {name: getattr(node, name) for name in _PACKED}
    data["texts"] = {str(level): text for level, text in node.texts.items()}
    return json.dumps(data)


def rest_of(uid: str, kind: str, data: Any) -> dict[str, Any]:
    """The same fields by name, of what was read back.

    Raises:
        StoreDamaged: it is not what was written.
    """
    try:
        said = json.loads(data)
        rest = _fields(said)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise _damaged(uid) from error
    if not (rest["texts"] or kind == "frame"):
        raise _damaged(uid)
    return rest


def _fields(said: Mapping[str, Any]) -> dict[str, Any]:
    """Each of its type and within its range, or an error of Python's own."""
    rest: dict[str, Any] = {name: _number(said[name]) for name in _COUNTED}
    for name in _LISTED:
        rest[name] = tuple(map(_number, _list(said[name])))
    rest["topic"] = _text(said["topic"])
    rest["hints"] = tuple(map(_text, _list(said["hints"])))
    rest["texts"] = {_number(int(level)): _text(text) for level, text in said["texts"].items()}
    return rest


def _number(value: Any) -> int:
    if type(value) is not int or abs(value) >= _MOST:
        raise ValueError
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    return value


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise ValueError
    return value


def _damaged(uid: str) -> StoreDamaged:
    return StoreDamaged(f"Summary {uid} is damaged. Run `hermes lcm verify`.")
