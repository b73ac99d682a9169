"""The strings in a list, or in an object, that JSON gives to a name: ``"password": ["X"]``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["VALUES", "parts_at"]

#: Under which key a value stands in an object that has more to say of it.
VALUES: Final = frozenset(
    ("value", "values", "plain", "plaintext", "text", "raw", "data", "current", "new", "old", "secret", "password")
)  # fmt: skip

_BLANKS: Final = r"(?:\s|\\{1,3}[nrt]){0,40}+"
_STRING: Final = r"(?P<q>\\{0,3}[\"'])(?P<v>(?:(?!(?P=q))[^\n])*+)(?P=q)"
_ITEM: Final = re.compile(rf"{_BLANKS}(?:{_STRING}|[\w.+-]{{1,40}}){_BLANKS}(?P<end>[,\]])")
_FIELD: Final = re.compile(
    rf"{_BLANKS}(?P<k>\\{{0,3}}[\"'])(?P<key>[\w$-]{{1,40}})(?P=k){_BLANKS}:{_BLANKS}"
    rf"(?:{_STRING}|[\w.+-]{{1,40}}){_BLANKS}(?P<end>[,}}])"
)


def parts_at(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Where the strings are in the list or object that begins at *at*, one level deep."""
    form = _FIELD if text[at] == "{" else _ITEM
    found = form.match(text, at + 1)
    while found:
        if found["v"] and (form is _ITEM or found["key"].lower() in VALUES):
            yield found.span("v")
        found = form.match(text, found.end()) if found["end"] == "," else None
