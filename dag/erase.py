"""Strings that were forgotten on request: known again by a salted digest, and masked where they come back.

The store keeps no such string, only a stone with its length and its digest. An agent that still
holds the string in its list would bring it back with the next turn; so whatever is stored or
summarised is looked through for it, and it never returns.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b, shake_128
from typing import Any, Final, NamedTuple

from ..storage.canon import pack_text, unpack_text
from ..storage.escapes import sources, undone
from ..storage.forget import Stone
from ..storage.protocol import Store
from ..storage.records import Node
from .identity import GONE
from .messages import FORM, absorbed_uids, host_uid
from .redact import Redact, each_string
from .strings import opaque

__all__ = ["GONE", "Cleaner", "cleaner", "eraser", "forms_of", "plain_forms", "stones_of"]

_SALT_BYTES: Final = 16
_DIGEST_BYTES: Final = 16
#: Levels of JSON in JSON in which a string is known.
_ESCAPED: Final = 3
#: Bytes at the beginning of a string that are looked for first.
_SHADE: Final = 16


def forms_of(text: str) -> tuple[str, ...]:
    """*text* as it may stand somewhere, the longest form first.

    As it is, with its white space collapsed, and each of the two escaped as in JSON, up to three times over:
    a call's arguments may hold JSON that holds JSON.
    """
    forms = dict.fromkeys(plain_forms(text))
    level = list(forms)
    for _ in range(_ESCAPED):
        level = [
            json.dumps(each, ensure_ascii=ascii_)[1:-1]
            for each in level
            for ascii_ in (False, True)
        ]
        level = list(dict.fromkeys(level))
        forms |= dict.fromkeys(level)
    return tuple(sorted(forms, key=len, reverse=True))


def plain_forms(text: str) -> tuple[str, ...]:
    """*text* as it reads: as it is, and with its white space collapsed."""
    # Nothing but blanks has one form.
    return tuple(dict.fromkeys(filter(None, [text, " ".join(text.split())])))


def stones_of(text: str, time: float) -> list[Stone]:
    """What is kept to know *text* again, in each of its forms; *time* in Unix seconds."""
    stones = []
    for form in forms_of(text):
        salt, data = os.urandom(_SALT_BYTES), pack_text(form)
        shade = data[:_SHADE].translate(_shades(salt, len(data)))
        detail = {"length": len(data), "shade": shade.hex()}
        stones.append(Stone("text", salt.hex(), time, _digest(salt, data), detail=detail))
    return stones


def _digest(salt: bytes, data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES, key=salt).digest()


def _shades(salt: bytes, length: int) -> bytes:
    """A table that maps each byte to one of a few values, by the salt.

    So few that the beginning of a string of *length* bytes gives away no more than 16 bits.
    """
    bits = max(1, min(4, _SHADE // length))
    return bytes(byte & ((1 << bits) - 1) for byte in shake_128(salt).digest(256))


def eraser(stones: Sequence[Stone]) -> Redact | None:
    """Masks the strings of these stones; None if there is none.

    Also where a text says them in JSON's escapes, whichever its writer chose (see ``storage.escapes``).
    A megabyte costs a few ms for each form of each string: only who forgot a string pays it.
    """
    if not stones:
        return None
    longest_first = sorted(stones, key=lambda stone: -int(stone.detail["length"]))
    signs = [_sign(stone) for stone in longest_first]

    def erase(text: str) -> str:
        data = pack_text(text)
        for sign in signs:
            data = _without(data, _places(data, sign))
        return unpack_text(_without(data, _spelt(data, signs)))

    return erase


class _Sign(NamedTuple):
    """By what a forgotten string is known."""

    length: int
    table: bytes
    shade: bytes
    salt: bytes
    digest: bytes


def _sign(stone: Stone) -> _Sign:
    salt, length = bytes.fromhex(stone.name), int(stone.detail["length"])
    shade = bytes.fromhex(stone.detail["shade"])
    return _Sign(length, _shades(salt, length), shade, salt, stone.digest)


_Places = list[tuple[int, int]]
"""Where in a text something begins and ends."""


def _places(data: bytes, sign: _Sign) -> _Places:
    """Each run of bytes in *data* that is the string.

    Both steps over all of *data* are made in C: each byte to its shade, and finding the shades of the
    beginning of the string among them. Only what is found so is hashed.
    """
    if len(data) < sign.length:
        return []
    shaded, found = data.translate(sign.table), []
    at = shaded.find(sign.shade)
    while at >= 0:
        end = at + sign.length
        if is_it := _digest(sign.salt, data[at:end]) == sign.digest:
            found.append((at, end))
        at = shaded.find(sign.shade, end if is_it else at + 1)
    return found


def _spelt(data: bytes, signs: Sequence[_Sign]) -> _Places:
    """What in *data* is one of the strings once escapes are undone."""
    levels, found = [data, *undone(data)], _Places()
    while len(levels) > 1:
        view = levels.pop()
        found += [place for sign in signs for place in _places(view, sign)]
        found = sources(levels[-1], _merged(found)) if found else found
    return found


def _merged(places: _Places) -> _Places:
    """In order, those that overlap as one."""
    found = _Places()
    for begin, end in sorted(places):
        if found and begin < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _without(data: bytes, places: _Places) -> bytes:
    """*data* with each of *places* replaced."""
    parts, at = [], 0
    for begin, end in places:
        parts += [data[at:begin], GONE.encode()]
        at = end
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

    def name(self, name: str) -> str:
        """A uid or a session's id, or what stands in its place where it holds either: nothing else may be called so.

        One of 32 hex digits says nothing, whatever stands in it by chance.
        """
        return name if _HEX32.match(name) or self.text(name) == name else opaque(name)

    def node(self, node: Node) -> Node:
        """A node without either; its uid is as it was."""
        return replace(
            node,
            texts={level: self.text(text) for level, text in node.texts.items()},
            topic=self.text(node.topic),
            hints=tuple(map(self.text, node.hints)),
        )

    def row(self, row: Any) -> Any:
        """A host's row without either; the same object where nothing is to be taken out."""
        if not isinstance(row, Mapping):
            return self._strings(row)
        uids = _uids(row)
        plain = {name: value for name, value in row.items() if name not in uids} if uids else row
        made = self._strings(plain)
        names = {key: self._names(value) for key, value in uids.items()}
        return row if made is plain and names == uids else {**made, **names}

    def _strings(self, value: Any) -> Any:
        if self.erase:
            value = each_string(value, self._erased)
        return each_string(value, self.redact, named=True) if self.redact else value

    def _erased(self, text: str) -> str:
        """*text* without what was to be forgotten; what makes a message of a message is no part of one."""
        return text if text in FORM or not self.erase else self.erase(text)

    def _names(self, value: Any) -> Any:
        return [self.name(each) for each in value] if isinstance(value, list) else self.name(value)


#: Uids that we mint, and a host's: they are no words.
_HEX32: Final = re.compile(r"[0-9a-f]{32}\Z")


def _uids(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row that hold uids: what stands in the place of one must not be another's."""
    found: dict[str, Any] = {}
    if uid := host_uid(row):
        found["message_uid"] = uid
    uids = row.get("_absorbed_message_uids")
    if uids and uids == absorbed_uids(row):
        found["_absorbed_message_uids"] = uids
    return found


def cleaner(store: Store, redact: Redact | None) -> Cleaner:
    """Takes out what *redact* does, and the strings that this store was told to forget."""
    return Cleaner(redact, eraser(store.eraser().stones("text")))
