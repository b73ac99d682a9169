"""How uids are kept: 16 bytes where they are 32 hex characters, else as they are."""

from __future__ import annotations

import re

__all__ = ["pack_uid", "prefix_range", "unpack_uid"]

_DIGITS = 32
_HEX = re.compile(r"[0-9a-f]{1,32}\Z")


def pack_uid(uid: str) -> bytes | str:
    """The value that stands for *uid* in a table."""
    if len(uid) != _DIGITS:
        return uid
    try:
        packed = bytes.fromhex(uid)
    except ValueError:
        return uid
    return (
        packed if packed.hex() == uid else uid
    )  # capitals, blanks: it would come back as another one


def unpack_uid(value: bytes | str) -> str:
    """The inverse of :func:`pack_uid`."""
    return value.hex() if isinstance(value, bytes) else value


def prefix_range(prefix: str) -> list[tuple[bytes | str, bytes | str]]:
    """Half-open ranges of stored values that may begin with *prefix*, for each form a uid is kept in."""
    ranges: list[tuple[bytes | str, bytes | str]] = [(prefix, prefix + "\U0010ffff")]
    if _HEX.match(prefix):
        low = bytes.fromhex(prefix.ljust(32, "0"))
        high = bytes.fromhex(prefix.ljust(32, "f"))
        ranges.append((low, high + b"\0"))
    return ranges
