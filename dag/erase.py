"""Strings that were forgotten on request: known again by a salted digest, and masked where they come back.

The store keeps no such string, only a stone with its length and its digest. An agent that still
holds the string in its list would bring it back with the next turn; so whatever is stored or
summarised is looked through for it, and it never returns.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final
from zlib import crc32

from ..storage.canon import pack_text, unpack_text
from ..storage.forget import Stone
from ..storage.protocol import Store
from .redact import Redact

__all__ = ["GONE", "cleaner", "eraser", "forms_of", "stones_of"]

#: What stands in the place of a forgotten string.
GONE: Final = "[forgotten]"
_SALT_BYTES: Final = 16
_DIGEST_BYTES: Final = 16


def forms_of(text: str) -> tuple[str, ...]:
    """*text* as it may stand somewhere: as it is, with its white space collapsed, escaped as in JSON."""
    plain = [text, " ".join(text.split())]
    escaped = [
        json.dumps(each, ensure_ascii=plainly)[1:-1] for each in plain for plainly in (False, True)
    ]
    return tuple(sorted(dict.fromkeys([*plain, *escaped]), key=len, reverse=True))


def stones_of(text: str, time: float) -> list[Stone]:
    """What is kept to know *text* again, in each of its forms; *time* in Unix seconds."""
    stones = []
    for form in forms_of(text):
        salt, data = os.urandom(_SALT_BYTES), pack_text(form)
        detail = {"length": len(data), "crc": crc32(data, _start(salt))}
        stones.append(Stone("text", salt.hex(), time, _digest(salt, data), detail=detail))
    return stones


def _digest(salt: bytes, data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES, key=salt).digest()


def _start(salt: bytes) -> int:
    return int.from_bytes(salt[:4], "big")


def eraser(stones: Sequence[Stone]) -> Redact | None:
    """Masks the strings of these stones; None if there is none.

    A look at each place of a text costs 150 ns for each length: only who forgot a string pays it.
    """
    if not stones:
        return None
    by_length: dict[int, list[tuple[int, int, bytes, bytes]]] = defaultdict(list)
    for stone in stones:
        salt = bytes.fromhex(stone.name)
        sign = (_start(salt), int(stone.detail["crc"]), salt, stone.digest)
        by_length[int(stone.detail["length"])].append(sign)
    longest_first = sorted(by_length.items(), reverse=True)

    def erase(text: str) -> str:
        data = pack_text(text)
        for length, signs in longest_first:
            for sign in signs:
                data = _without(data, length, *sign)
        return unpack_text(data)

    return erase


def _without(data: bytes, length: int, start: int, crc: int, salt: bytes, digest: bytes) -> bytes:
    """*data* with each run of *length* bytes that has these checksums replaced."""
    places = range(len(data) - length + 1)
    alike = [place for place in places if crc32(data[place : place + length], start) == crc]
    parts, at = [], 0
    for place in alike:
        if place >= at and _digest(salt, data[place : place + length]) == digest:
            parts += [data[at:place], GONE.encode()]
            at = place + length
    return b"".join([*parts, data[at:]]) if parts else data


def cleaner(store: Store, redact: Redact | None) -> Redact | None:
    """*redact*, and after it the strings that this store was told to forget; None for neither."""
    erase = eraser(store.eraser().stones("text"))
    if redact is None or erase is None:
        return redact or erase
    first, then = redact, erase
    return lambda text: then(first(text))
