"""Strings that were forgotten on request: known again by a salted digest, and masked where they come back.

The store keeps no such string, only a stone with its length and its digest. An agent that still
holds the string in its list would bring it back with the next turn; so whatever is stored or
summarised is looked through for it, and it never returns.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final
from zlib import crc32

from ..storage.canon import pack_text, unpack_text
from ..storage.forget import Stone
from ..storage.protocol import Store
from .redact import Redact, each_string
from .renderer import HEAD

__all__ = ["GONE", "Cleaner", "cleaner", "eraser", "forms_of", "stones_of"]

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


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Takes out of texts and messages what must not be stored or sent."""

    redact: Redact | None = None
    """Takes out what is known as a secret."""
    erase: Redact | None = None
    """Takes out what this store was told to forget."""

    def text(self, text: str) -> str:
        """*text* without either."""
        for change in (self.redact, self.erase):
            text = change(text) if change else text
        return text

    def row(self, row: Any) -> Any:
        """A host's row without either; the same object where nothing is to be taken out.

        A summary row of ours is made of clean texts. It is not redacted as a whole, or it might not
        be known again; a message that the host merged behind it is.
        """
        if self.erase:
            row = each_string(row, self.erase)
        if not self.redact or not isinstance(row, Mapping):
            return row
        content = row.get("content")
        ours = isinstance(content, str) and content.lstrip().startswith(HEAD[:40])
        if content and ours and (name := _NAME.search(content)):
            return {**row, "content": content[: name.end()] + self.redact(content[name.end() :])}
        return each_string(row, self.redact, named=True)


#: The line that a summary row ends with, before what the host may have merged behind it.
_NAME: Final = re.compile(r"\n\[lcm [0-9a-f]{8}\](?=\n|\Z)")


def cleaner(store: Store, redact: Redact | None) -> Cleaner:
    """Takes out what *redact* does, and the strings that this store was told to forget."""
    return Cleaner(redact, eraser(store.eraser().stones("text")))
