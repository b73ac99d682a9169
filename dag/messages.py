"""What a host's message is to us: its role, its words, its identity.

Reads the dicts that hosts pass and never changes one. What a host writes onto
a message for its own books (is it in my database yet, which row) comes and
goes between two looks at the same message; it is neither stored nor compared.
"""

from __future__ import annotations

import json
import os
import re
import time as clock
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from ..storage import canon
from ..storage.records import Draft
from ..storage.text import content_text, searchable, tool_names
from .tokens import count_text

__all__ = [
    "FORM",
    "KEY_BYTES",
    "absorbed_uids",
    "calls_identity",
    "calls_of",
    "draft_of",
    "host_uid",
    "is_flagged",
    "is_minted",
    "is_system",
    "key_of",
    "media_of",
    "mint_uid",
    "normal",
    "role_of",
    "same_words",
    "starts_turn",
    "text_of",
    "turn_count",
]

Row = Mapping[str, Any]

#: What hosts note on a message for their own database. Neither generation sends these to a model.
BOOKKEEPING = frozenset(
    {
        "_db_persisted",
        "_db_row_snapshot",
        "_canonical_row",
        "_row_id",
        "_submit_row_session_id",
        "message_uid",
    }
)

#: Fields of nearly all rows, which providers know too; none of them is a host's own note.
_USUAL = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})

#: Names of fields, of roles and of kinds: without them a message is none.
FORM = frozenset(
    {
        *("role", "content", "name", "tool_name", "tool_calls", "tool_call_id"),
        *("function", "arguments", "id", "type", "text", "image_url", "url"),
        *("message_uid", "_absorbed_message_uids", "_compressed_summary"),
        *("reasoning", "reasoning_content", "timestamp"),
        *("user", "assistant", "tool", "system", "developer"),
    }
)

#: Roles that are not part of the conversation.
_SYSTEM_ROLES = frozenset({"system", "developer"})

#: The first twelve bytes of a key say "the same words", the last four "to the letter".
KEY_BYTES = 12
_EXACT_BYTES = 4
#: What a row costs beside its words; leaves are measured by this, lists by ``count_message``.
_ROW_TOKENS = 8
_PLAIN = bytes(_EXACT_BYTES)
_ROLES = frozenset({"user", "assistant", "tool"})
_ROLE_BYTES = {role: role.encode() + b"\0" for role in _ROLES}

_SYNTHETIC = re.compile(r"_\w*_synthetic\Z")
_VERSION_8 = re.compile(r"[0-9a-f]{12}8[0-9a-f]{3}[89ab][0-9a-f]{15}\Z")
#: Timestamps beyond this are not in seconds.
_LATEST_TIME = 1e11


#: What hosts have is a dict, which is told in a tenth of the time that the abstract class takes.
_MAPPINGS: Final = (dict, Mapping)


def role_of(row: Row) -> str:
    """The role, safe to store."""
    role = row.get("role")
    if isinstance(role, str) and role in _ROLES:
        return role
    return _clean(canon.plain_text(row.get("role") or "unknown"))


def is_system(row: Any) -> bool:
    """Whether the row passes through us: a system prompt, or no message at all."""
    if not isinstance(row, _MAPPINGS):
        return True
    role = row.get("role")
    return isinstance(role, str) and role in _SYSTEM_ROLES


def starts_turn(row: Row) -> bool:
    """Whether a person spoke: a user row that the host did not make itself."""
    return row.get("role") == "user" and not _synthetic(row)


def _synthetic(row: Row) -> bool:
    """Rows that hosts write in the user's name are flagged ``_..._synthetic``.

    A flag stays on the row when a real message is merged behind it; such a
    row says so in ``_absorbed_message_uids`` or ``_merged_turn_prefix``.
    """
    return is_flagged(row) and not (
        row.get("_absorbed_message_uids") or row.get("_merged_turn_prefix")
    )


def is_flagged(row: Row) -> bool:
    """Whether the host wrote the row, or a part of it, in the user's name."""
    if row.keys() <= _USUAL:
        return False
    return any(value and _SYNTHETIC.match(str(key)) for key, value in row.items())


def turn_count(row: Row) -> int:
    """How many turns the row starts: a fold counts its parts, but not what the host wrote itself."""
    if row.get("role") != "user" or _synthetic(row):
        return 0
    absorbed = len(absorbed_uids(row))
    return absorbed + int(not (absorbed and is_flagged(row)))


def host_uid(row: Row) -> str | None:
    """The uid that the host gave the message, if it did."""
    uid = row.get("message_uid")
    return uid if isinstance(uid, str) and uid and uid == _clean(uid) else None


def absorbed_uids(row: Row) -> list[str]:
    """uids of the messages that the host folded into this row."""
    uids = row.get("_absorbed_message_uids")
    if not uids or not isinstance(uids, list):
        return []
    return [uid for uid in uids if isinstance(uid, str) and uid and uid == _clean(uid)]


def mint_uid() -> str:
    """A uid of our own: a UUID of version 8, which no host mints."""
    digits = os.urandom(16).hex()
    return f"{digits[:12]}8{digits[13:16]}a{digits[17:]}"


def is_minted(uid: str) -> bool:
    """Whether a uid is one of :func:`mint_uid`."""
    return bool(_VERSION_8.match(uid))


def text_of(row: Row) -> str:
    """The words of the content."""
    content = row.get("content")
    return content if isinstance(content, str) else content_text(content)


def normal(text: str) -> str:
    """*text* with every run of white space as one blank, and none at the ends."""
    return " ".join(text.split()) if len(text) < _LONG else _normal(text)


_LONG = 50_000


@lru_cache(maxsize=8)  # one long row is compared with many
def _normal(text: str) -> str:
    return " ".join(text.split())


def calls_of(row: Row) -> list[Row]:
    """The tool calls of an assistant row."""
    calls = row.get("tool_calls")
    if not calls or not isinstance(calls, list):
        return []
    return [call for call in calls if isinstance(call, _MAPPINGS)]


_NOTHING = blake2b(digest_size=KEY_BYTES)


def key_of(row: Row) -> bytes:
    """Identity without a uid: 12 bytes for the words and calls, 4 for their exact form.

    Equal in the first part: the same message, up to white space. Equal in
    both: the same to the letter. Reasoning, timestamps and the like do not
    count, for hosts drop them when they restore a message.
    """
    content, role = row.get("content"), row.get("role")
    known = _ROLE_BYTES.get(role) if isinstance(role, str) else None
    text = content if isinstance(content, str) else content_text(content)
    data = canon.pack_text(text)
    words = _words(text, data)
    parts = [known or canon.pack_text(canon.plain_text(role)) + b"\0", words]
    exact = b"" if data == words else data
    if content is not text and content is not None:
        media = media_of(row)
        parts += [b"\1", canon.encode(media) if media else b""]
        exact += canon.encode(content)
    if calls := row.get("tool_calls"):
        parts += [b"\2", canon.encode(calls_identity(row))]
        exact += canon.encode(calls)
    elif answered := row.get("tool_call_id"):
        parts += [b"\3", canon.pack_text(canon.plain_text(answered))]
    hashed = _NOTHING.copy()
    hashed.update(b"".join(parts))
    return hashed.digest() + (
        blake2b(exact, digest_size=_EXACT_BYTES).digest() if exact else _PLAIN
    )


#: White space of ASCII as blanks: a table lookup, thirty times as fast as taking the words apart.
_BLANKS = bytes(32 if byte in b"\t\n\r\x0b\x0c" else byte for byte in range(256))


def _words(text: str, data: bytes) -> bytes:
    """*data*, the bytes of *text*, with one blank between two words and none at the ends."""
    if text[:1].isspace() or text[-1:].isspace():
        data = canon.pack_text(text.strip())
    # Five looks for a character cost less than one translation, and half of all texts need none.
    if "\n" in text or "\t" in text or "\r" in text or "\x0b" in text or "\x0c" in text:
        data = data.translate(_BLANKS)
    return b" ".join(data.split()) if b"  " in data else data


def media_of(row: Row) -> list[Any]:
    """What of the content is no text: images, files."""
    content = row.get("content")
    if isinstance(content, list):
        return [part for part in content if _is_media(part)]
    return [] if content is None or isinstance(content, str) else [content]


def calls_identity(row: Row) -> list[Any]:
    """The calls that a row makes, and the one it answers, whatever the white space in them."""
    return [*(_call_identity(call) for call in calls_of(row)), row.get("tool_call_id")]


def _is_media(part: Any) -> bool:
    return not (
        isinstance(part, str) or (isinstance(part, Mapping) and isinstance(part.get("text"), str))
    )


def _call_identity(call: Row) -> list[Any]:
    function = call.get("function")
    if not isinstance(function, _MAPPINGS):
        return [call.get("id"), None]
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        arguments = "".join(arguments.split())
    return [call.get("id"), function.get("name"), arguments]


def same_words(one: bytes, other: bytes) -> bool:
    """Whether two keys are of the same words."""
    return one[:KEY_BYTES] == other[:KEY_BYTES]


def draft_of(
    row: Row,
    *,
    key: bytes,
    uid: str | None = None,
    time: float | None = None,
    body: bytes | None = None,
) -> Draft:
    """*row* as the store takes it, under the host's uid or a new one of ours; *body*: its bytes if they are known."""
    uid = uid or host_uid(row) or mint_uid()
    if not BOOKKEEPING.isdisjoint(row):
        row = {name: value for name, value in row.items() if name not in BOOKKEEPING}
    if body is None:
        body = canon.encode(row)
    text = searchable(row)
    when = _time_of(row.get("timestamp")) or (clock.time() if time is None else time)
    tools = tool_names(row)
    tool = _clean(" ".join(tools)) if tools else ""
    # By position: one draft is made for each message of a bulk.
    return Draft(
        uid,
        role_of(row),
        body,
        text,
        key,
        canon.digest(body),
        when,
        count_text(text) + _ROW_TOKENS,
        tool,
    )


def _time_of(value: object) -> float | None:
    """The host's timestamp: Unix seconds, or ISO text."""
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _LATEST_TIME:
        return float(value)
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError):
            return None
        return time if 0 < time < _LATEST_TIME else None
    return None


def _clean(text: str) -> str:
    """*text* without lone surrogates and NUL, for columns that are no payload."""
    if text.isascii():
        return text.replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def arguments_of(call: Row) -> str:
    """The arguments of a call, as text."""
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, _MAPPINGS) else None
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, default=canon.spelt)
    except (TypeError, ValueError, RecursionError):
        return canon.plain_text(arguments)
