"""Sessions that leave no trace: told by the patterns of the settings, or by a stone.

A host gives a session another id when it compacts or branches it, and that id fits no pattern. Who
knows only the new id, as after a restart, cannot tell that nothing of it may be kept. So a stone of
the kind ``unkept`` stays in the database. It holds neither the id nor the pattern, only salted digests
of both; whoever takes the pattern out of the settings has the session kept again.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from ..storage.canon import pack_text
from ..storage.forget import Stone
from ..storage.protocol import Store

__all__ = ["KIND", "fitting", "pattern_of", "stone_of"]

#: Of such stones.
KIND: Final = "unkept"
_SALT_BYTES = _DIGEST_BYTES = 16


def fitting(session: str, patterns: Sequence[str]) -> str:
    """The first of *patterns* (``*``, ``?``, ``[a-z]``) that a session's id fits; empty if it fits none."""
    return next((each for each in patterns if fnmatch.fnmatchcase(session, each)), "")


def stone_of(session: str, pattern: str, time: float) -> Stone:
    """What says that a session leaves no trace because of *pattern*; *time* in Unix seconds."""
    salt = os.urandom(_SALT_BYTES)
    detail = {"pattern": _digest(salt, pattern).hex()}
    return Stone(KIND, salt.hex(), time, _digest(salt, session), detail=detail)


def pattern_of(store: Store, session: str, patterns: Sequence[str]) -> str:
    """The one of *patterns* because of which a session leaves no trace, by the stones of *store*; or empty.

    Costs a digest for each stone, a millisecond for a thousand of them.
    """
    for stone in store.eraser().stones(KIND) if patterns else ():
        salt = bytes.fromhex(stone.name)
        if stone.digest == _digest(salt, session):
            said = stone.detail["pattern"]
            if found := next((p for p in patterns if _digest(salt, p).hex() == said), ""):
                return found
    return ""


def _digest(salt: bytes, text: str) -> bytes:
    return blake2b(pack_text(text), digest_size=_DIGEST_BYTES, key=salt).digest()
