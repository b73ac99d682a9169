"""What a text says once the escapes of JSON in it are undone, and where in it that stands.

A tool's arguments are a text that holds JSON, and whoever wrote it may have escaped any character: Go writes ``&``
as ``\\u0026``, PHP ``/`` as ``\\/``, others ``é`` as ``\\u00E9``. All these say the same, and whoever reads the
arguments, as the search does, sees none of it. So who looks for a string looks at the text with its escapes undone
too: once, and again, for there may be JSON in JSON. What is no JSON is looked at in the same way; what then seems an
escape and is none does no harm beside the text itself.

Linear in the length of a text: of a megabyte of nothing but escapes all are undone in
0.01 s, in 0.1 s where some are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from json import decoder
from typing import Final

from .canon import pack_text, unpack_text

__all__ = ["DEEPEST", "ODD", "is_odd", "said", "sources", "undone"]

#: How often escapes are undone: JSON in JSON in JSON, and once more for the JSON that a message is kept as.
DEEPEST: Final = 4
ODD: Final = (b"\\u", b"\\/")
"""How an escape begins that not every writer of JSON writes, at whatever depth. Of a text without one each
spelling is known beforehand."""

_scan: Final[Callable[[str, int, bool], tuple[str, int]]] = vars(decoder)["scanstring"]
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[\"\\/bfnrt])"
)
_SHORT: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_LONG: Final = 2
"""Bytes of an escape that has no number."""


def is_odd(data: bytes) -> bool:
    """Whether anything in *data* may be spelt as not every writer does."""
    return b"\\" in data and any(each in data for each in ODD)


def undone(data: bytes) -> list[bytes]:
    """*data* with its escapes undone once, twice, and so on; nothing of what is not odd."""
    found: list[bytes] = []
    while len(found) < DEEPEST and (found or is_odd(data)) and b"\\" in data:
        made = _once(data)
        if made == data:
            break
        found.append(made)
        data = made
    return found


def _once(data: bytes) -> bytes:
    """*data* with its escapes undone: by what reads JSON's strings in C, where that can; in a tenth of the time."""
    parts: list[str] = []
    try:
        text = f'{unpack_text(data)}"'
        end = 0
        while end < len(text):
            part, end = _scan(text, end, False)  # noqa: FBT003 - it takes no name
            parts.append(part)
        return pack_text('"'.join(parts))
    except ValueError:  # no UTF-8, or a backslash that is no escape
        return _ESCAPE.sub(_meant, data)


def said(text: str) -> list[str]:
    """*text*, and what it says with its escapes undone."""
    return [text, *map(unpack_text, undone(pack_text(text)))] if "\\" in text else [text]


def sources(data: bytes, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """What of *data* became these *places* (beginning and end, in order) of it with its escapes undone once.

    Of an escape all, also where a place begins or ends inside what it stands for.
    """
    found, escapes = [], _Walk(data)
    for begin, end in places:
        first, _ = escapes.at(begin)
        _, last = escapes.at(end - 1)
        found.append((first, last))
    return found


class _Walk:
    """Goes through the escapes of a text once, for places in order."""

    def __init__(self, data: bytes) -> None:
        self._rest = _ESCAPE.finditer(data)
        self._shift = 0
        """By how much a place behind the last escape stands further on in the text."""
        self._next()

    def _next(self) -> None:
        self._escape = next(self._rest, None)
        self._length = len(_meant(self._escape)) if self._escape else 0

    def at(self, place: int) -> tuple[int, int]:
        """Where what became the byte at *place* begins and ends."""
        while self._escape:
            begin = self._escape.start() - self._shift
            if place < begin:
                break
            if place < begin + self._length:
                return self._escape.span()
            self._shift += len(self._escape[0]) - self._length
            self._next()
        return place + self._shift, place + self._shift + 1


def _meant(escape: re.Match[bytes]) -> bytes:
    return _character(escape[0])


@lru_cache(512)
def _character(escape: bytes) -> bytes:
    """What stands for one character, or for one of which UTF-16 makes two."""
    if len(escape) == _LONG:
        return _SHORT.get(escape[1:], escape[1:])
    units = [int(each, 16) for each in escape.split(b"\\u")[1:]]
    data = b"".join(unit.to_bytes(2, "little") for unit in units)
    return pack_text(data.decode("utf-16-le", "surrogatepass"))
