"""The form of an export: one JSON object a line, in plain ASCII.

The first line says what the file is. Then, for each line of the store (sessions that a host rotated
share one), a record ``line`` with what follows it: ``message`` (each version of each message),
``place`` (a message that was written before and stands on this line too), ``node``, ``pass``.

A message is written as it is. Where its JSON would not give the same bytes again (a number that JSON
does not know, halves of a character that a reader would join), the bytes stand beside it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from ..storage.archive import Placed
from ..storage.canon import decode, dumper, encode, is_flat, parsed
from ..storage.records import Node, Pass, Session, Source

__all__ = [
    "FORMAT",
    "ORIGIN",
    "VERSION",
    "as_line",
    "body_of",
    "gives_from",
    "is_forgotten",
    "is_written_out",
    "items",
    "message_of",
    "natural",
    "node_from",
    "node_record",
    "pass_from",
    "pass_record",
    "placed_from",
    "session_from",
    "session_record",
    "time_from",
    "with_body",
]

FORMAT: Final = "lcm-export"
VERSION: Final = 1
"""Of the form; a reader takes this one and those before it."""

ORIGIN: Final = "origin"
"""Under this name a session remembers which program it was imported from."""

_YEAR_10000: Final = 253_402_300_800
#: Numbers of a database end at twice this; two may be added.
_MOST: Final = 1 << 62
_MOST_TURNS: Final = 1 << 31
_BYTES: Final = "body_base64"
_as_json: Final = dumper(json.JSONEncoder(allow_nan=False))
_PAIR: Final = 2
_DIGEST: Final = re.compile(r"[0-9a-f]{32}\Z")
_COUNTED: Final = (
    "depth", "sufficient", "first_seq", "last_seq", "first_turn", "last_turn", "messages", "source_tokens",
)  # fmt: skip


def as_line(record: Mapping[str, Any]) -> str:
    """One line of the file, with its end."""
    return _as_json(record) + "\n"


def with_body(record: dict[str, Any], body: bytes) -> dict[str, Any]:
    """*record* with the message of these bytes in it."""
    try:
        message = decode(body)
        faithful = encode(parsed(_as_json(message))) == body
    except (ValueError, RecursionError):
        message, faithful = None, False
    record["message"] = message
    if not faithful:
        record[_BYTES] = base64.b64encode(body).decode()
    return record


def body_of(record: Mapping[str, Any]) -> bytes:
    """The bytes of the message in *record*, as they were.

    Raises:
        ValueError: they cannot be read.
    """
    data = record.get(_BYTES)
    if data is None:
        return encode(record["message"])
    try:
        return base64.b64decode(str(data).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeError) as error:
        raise ValueError("its bytes are no base64") from error


def message_of(record: Mapping[str, Any], body: bytes) -> Any:
    """The message of *record*, of which these are the bytes, as a store gives it."""
    message = record["message"]
    return message if is_written_out(record) and is_flat(message) else decode(body)


def is_written_out(record: Mapping[str, Any]) -> bool:
    """Whether the message of *record* is an object of JSON, and its bytes are the canon's."""
    return _BYTES not in record and type(record["message"]) is dict


def placed_from(record: Mapping[str, Any]) -> Placed:
    """Where the message of a record stands.

    Raises:
        ValueError, KeyError: that is not said.
    """
    return Placed(
        natural(record["number"]),
        natural(record["seq"]),
        _turn(record["turn"]),
        _truth(record["withdrawn"]),
        _truth(record.get("returned", False)),
    )


def session_record(session: Session, origin: Any = None) -> dict[str, Any]:
    """A session, and where it was imported from if it was."""
    record: dict[str, Any] = {
        "session": session.name,
        "parent": session.parent,
        "relation": session.relation,
        "created": session.created,
    }
    return {**record, "origin": origin} if origin else record


def session_from(record: Any, line: int) -> Session:
    """The session of a record.

    Raises:
        ValueError, KeyError, TypeError: the record is not one.
    """
    record = _object(record)
    return Session(
        _text(record["session"]),
        line,
        _text(record["parent"]),
        _text(record["relation"]),
        time_from(record["created"]),
    )


def node_record(node: Node, gives: str = "", *, forgotten: bool = False) -> dict[str, Any]:
    """A node with all that it is.

    Args:
        node: its source key is over what the file holds.
        gives: what its texts and sources give, if that is not its uid.
        forgotten: whether something in it was, on request.
    """
    record = {"kind": "node", "node_kind": node.kind, **asdict(node)}
    record["kind"] = "node"
    record["texts"] = {str(level): text for level, text in node.texts.items()}
    record["sources"] = [
        [source.message, source.version]
        if source.message is not None
        else [source.node, source.level]
        for source in node.sources
    ]
    if gives not in ("", node.uid):
        record["gives"] = gives
    if forgotten:
        record["forgotten"] = True
    return record


def node_from(record: Mapping[str, Any]) -> Node:
    """The node of a record, as it was; its digests are not looked at.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the record is not one.
    """
    return Node(
        uid=_digest(record["uid"]),
        kind=_text(record["node_kind"]),
        line=natural(record["line"]),
        source_key=_text(record["source_key"]),
        texts={int(level): _text(text) for level, text in _object(record["texts"]).items()},
        topic=_text(record["topic"]),
        hints=tuple(map(_text, items(record["hints"]))),
        degraded=_text(record["degraded"]),
        lifted=tuple(map(natural, items(record["lifted"]))),
        time=time_from(record["time"]),
        sources=tuple(_source(items(each)) for each in items(record["sources"])),
        levels=tuple(map(natural, items(record["levels"]))),
        **{name: natural(record[name]) for name in _COUNTED},
    )


def gives_from(record: Mapping[str, Any]) -> str:
    """What the texts and sources of the node of a record give: mostly its uid.

    Raises:
        ValueError: it cannot be read.
    """
    return _digest(record.get("gives", record["uid"]))


def is_forgotten(record: Mapping[str, Any]) -> bool:
    """Whether something in the node of a record was forgotten on request."""
    return _truth(record.get("forgotten", False))


def _source(pair: list[Any]) -> Source:
    if len(pair) != _PAIR:
        raise ValueError(f"{pair!r:.40} is not a source and its version or level")
    what, which = pair
    if isinstance(what, str):
        return Source(node=what, level=natural(which))
    return Source(message=natural(what), version=natural(which))


def pass_record(done: Pass) -> dict[str, Any]:
    """One compaction."""
    return {"kind": "pass", **asdict(done)}


def pass_from(record: Mapping[str, Any]) -> Pass:
    """The compaction of a record.

    Raises:
        ValueError, KeyError, TypeError: the record is not one.
    """
    return Pass(
        time=time_from(record["time"]),
        session=_text(record["session"]),
        tokens_before=natural(record["tokens_before"]),
        tokens_after=natural(record["tokens_after"]),
        rows_before=natural(record["rows_before"]),
        rows_after=natural(record["rows_after"]),
        frame=_text(record["frame"]),
        detail=_object(record["detail"]),
    )


def time_from(value: Any) -> float:
    """Unix seconds.

    Raises:
        ValueError: they are in none of the years 1970 to 9999.
    """
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not 0 <= value < _YEAR_10000
    ):
        raise ValueError(f"{value!r:.40} is no time")
    return float(value)


def _turn(value: Any) -> int:
    if natural(value) >= _MOST_TURNS:
        raise ValueError(f"{value!r} is no number of a turn")
    return int(value)


def natural(value: Any) -> int:
    """A number from 0 on that a database takes.

    Raises:
        ValueError: it is none.
    """
    if type(value) is not int or not 0 <= value < _MOST:  # a truth is an instance of int
        raise ValueError(f"{value!r:.40} is not a number from 0 on")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a text")
    return value


def items(value: Any) -> list[Any]:
    """A list, which a text is not.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} is not a list")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} is not an object")
    return value


def _digest(value: Any) -> str:
    if not _DIGEST.match(_text(value)):
        raise ValueError(f"{value!r:.40} is no digest")
    return str(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.40} is neither true nor false")
    return value
