"""What of a ``data:`` URL is a picture, and what is text that only looks like one."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Final

__all__ = ["within"]

_URL: Final = re.compile(
    r"(data:[\w.+/-]{0,100}(?:;[\w.+-]{1,40}=[\w.+-]{1,60}){0,3};base64,)([A-Za-z0-9+/\s]*={0,2})\s*\Z"
)


def within(text: str, change: Callable[[str], str]) -> str:
    """A ``data:`` URL, changed where it is text: as it stands, or in base64; a picture stays to the letter."""
    found = _URL.match(text)
    said = None if found is None else _decoded(found[2])
    if found is None or said is None:
        return change(text)
    try:
        plain = said.decode()
    except UnicodeDecodeError:
        return text
    changed = change(plain)
    return text if changed == plain else found[1] + base64.b64encode(changed.encode()).decode()


def _decoded(body: str) -> bytes | None:
    """The bytes; None if it is no base64."""
    body = "".join(body.split()).rstrip("=")
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except binascii.Error:
        return None
