"""Large strings are kept once, compressed, beside the message that holds them.

A message of 50 KB is mostly one string: a file that was read, the output of
a command. The same string comes back under another tool-call id, so it is
found by its digest and not by its message. What is left of the message, its
skeleton, has an empty string in that place, and a list of references says
what belongs where.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .canon import decode, digest, encode, pack_text, unpack_text

__all__ = ["LARGE", "filled", "shrink", "split", "swell"]

#: Strings longer than this many characters leave their message.
LARGE = 2048

Reference = tuple[list[str | int], str]
"""Path of a string inside the message, and the digest (hex) of the string."""


def split(body: bytes) -> tuple[bytes, list[Reference], dict[str, bytes]]:
    """Return the skeleton of *body*, its references, and the large strings by digest."""
    if len(body) <= LARGE:
        return body, [], {}
    message = decode(body)
    if encode(message) != body:  # its keys were no strings: it can be kept as it is only
        return body, [], {}
    references: list[Reference] = []
    payloads: dict[str, bytes] = {}
    for path, text in list(_large(message, [])):
        data = pack_text(text)
        name = digest(data).hex()
        payloads[name] = data
        references.append((path, name))
        _put(message, path, "")
    return (encode(message), references, payloads) if references else (body, [], {})


def filled(skeleton: bytes, references: Sequence[Reference], payloads: Mapping[str, bytes]) -> Any:
    """The message itself: of a large one, putting it together as a body takes longer than all else.

    Raises:
        KeyError: a payload is missing.
    """
    message = decode(skeleton)
    for path, name in references:
        _put(message, path, unpack_text(payloads[name]))
    return message


def _large(value: Any, path: list[str | int]) -> Iterator[tuple[list[str | int], str]]:
    if isinstance(value, str):
        if len(value) > LARGE:
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _large(item, [*path, key])
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _large(item, [*path, index])


def _put(message: Any, path: Sequence[str | int], text: str) -> None:
    for step in path[:-1]:
        message = message[step]
    message[path[-1]] = text


def shrink(data: bytes) -> bytes:
    """*data* compressed."""
    return zlib.compress(data, 1)  # half the time of 3 for a twentieth more bytes


def swell(data: bytes) -> bytes:
    """The inverse of :func:`shrink`.

    Raises:
        zlib.error: the bytes were damaged, or there are more of them than were written.
    """
    reading = zlib.decompressobj()
    whole = reading.decompress(data)
    if not reading.eof or reading.unused_data:
        raise zlib.error("it does not end where it should")
    return whole
