"""One form for every message: canonical JSON, and digests over it.

Keys sorted, no white space, UTF-8 with lone surrogates passed through as the
three bytes they would be. ``decode(encode(x)) == x`` for whatever JSON can
hold; what it cannot hold (a set, a datetime, a cycle) is kept as its ``repr``
under a key that says so, because a message must never be lost to its shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

__all__ = ["DIGEST_BYTES", "decode", "digest", "encode", "pack_text", "unpack_text"]

DIGEST_BYTES = 16

#: Deeper than any message; a cycle ends here too.
_DEEPEST = 200


def _unknown(value: object) -> dict[str, str]:
    return {"__repr__": repr(value)}


_ENCODER = json.JSONEncoder(
    ensure_ascii=False,
    sort_keys=True,
    separators=(",", ":"),
    check_circular=False,
    default=_unknown,
)


def _dumper() -> Callable[[Any], str]:
    """The encoder's own C function, made once: ``JSONEncoder.encode`` makes one for every call."""
    make = getattr(json.encoder, "c_make_encoder", None)
    escape = getattr(json.encoder, "c_encode_basestring", None)
    if make is None or escape is None:
        return _ENCODER.encode
    flags = (True, False, True)  # sorted keys; no key skipped; NaN as Python writes it
    dump = make(None, _unknown, escape, None, ":", ",", *flags)
    return lambda value: "".join(dump(value, 0))


_dump = _dumper()
_DECODER = json.JSONDecoder()


def encode(value: Any) -> bytes:
    """Return *value* as canonical JSON; never raises."""
    try:
        return _dump(value).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError):
        return _ENCODER.encode(_tame(value, 0)).encode("utf-8", "surrogatepass")


def _tame(value: Any, depth: int) -> Any:
    """Make *value* something JSON can hold: string keys, bounded depth."""
    if depth > _DEEPEST:
        return {"__repr__": object.__repr__(value)}
    if isinstance(value, dict):
        return {str(key): _tame(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_tame(item, depth + 1) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return {"__repr__": repr(value)}


def decode(body: bytes) -> Any:
    """Return the value that :func:`encode` was given.

    Raises:
        ValueError: *body* is no JSON.
    """
    return _DECODER.decode(body.decode("utf-8", "surrogatepass"))


def digest(*parts: bytes) -> bytes:
    """Return 16 bytes of BLAKE2b over *parts*, each preceded by its length."""
    pieces: list[bytes] = []
    for part in parts:
        pieces += len(part).to_bytes(8, "big"), part
    return blake2b(b"".join(pieces), digest_size=DIGEST_BYTES).digest()


def pack_text(text: str) -> bytes:
    """UTF-8 that also takes lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def unpack_text(data: bytes) -> str:
    """The inverse of :func:`pack_text`."""
    return data.decode("utf-8", "surrogatepass")
