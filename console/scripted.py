"""A pattern of ours as a browser's JavaScript reads it, with the flag ``u`` and no other.

Python's classes are wider than JavaScript's, and it knows no case only for some of a pattern. So
both are written out. It does for the patterns that are given to the page, not for any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .letters import alike

__all__ = ["as_script"]

_LETTERS: Final = r"\p{L}\p{N}_"
#: What stands inside a class for each escape, and for a negated one outside of it.
_CLASSES: Final = {
    "w": _LETTERS,
    "d": r"\p{Nd}",
    "s": r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
}
_EDGE: Final = rf"(?:(?<=[{_LETTERS}])(?![{_LETTERS}])|(?<![{_LETTERS}])(?=[{_LETTERS}]))"
_PIECE: Final = re.compile(
    r"\\u[0-9a-f]{4}|\\.|\[\^?(?:\\.|[^\]\\])+\]|\(\?P<\w+>|\(\?-i:|\(\?<?[:=!]|\(|\)|#[^\n]*|\s|.",
    re.DOTALL,
)
_CODE: Final = re.compile(r"\\u([0-9a-f]{4})")
#: The last one: letters alone, all of a word that is neither a digit nor an underscore.
_KNOWN: Final = {
    "(?-i:": "(?:",
    r"\b": _EDGE,
    r"\Z": "$",
    r"[^\W\d_]": r"[\p{L}\p{Nl}\p{No}]",
}


def as_script(pattern: re.Pattern[str], *, at_start: bool = False) -> str:
    """*pattern* for ``new RegExp(…, 'u')``; *at_start*: where Python is asked to match, not to search."""
    told = "".join(_pieces(pattern))
    return f"^(?:{told})" if at_start else told


def _pieces(pattern: re.Pattern[str]) -> Iterator[str]:
    depth, exact = 0, 0  # how deep it is in groups, and from which depth on case counts
    verbose = bool(pattern.flags & re.VERBOSE)
    for piece in _PIECE.findall(pattern.pattern):
        if verbose and (piece.isspace() or piece.startswith("#")):
            continue
        depth += piece.startswith("(")
        if piece == "(?-i:":
            exact = depth
        yield _piece(piece, any_case=bool(pattern.flags & re.IGNORECASE) and not exact)
        if piece == ")":
            exact = 0 if depth == exact else exact
            depth -= 1


def _piece(piece: str, *, any_case: bool) -> str:
    if piece in _KNOWN or piece.startswith("(?P<"):
        return _KNOWN.get(piece, piece.replace("?P", "?"))
    piece = _CODE.sub(lambda code: chr(int(code[1], 16)), piece)
    if piece[0] == "[" and len(piece) > 1:
        return _class(piece, any_case=any_case)
    if piece[0] == "\\" and piece[1].lower() in _CLASSES:
        return f"[{'' if piece[1].islower() else '^'}{_CLASSES[piece[1].lower()]}]"
    if any_case and len(piece) == 1 and piece.isalpha():
        return _cases(piece)
    return piece


def _cases(letter: str) -> str:
    every = alike(letter)
    return f"[{every}]" if len(every) > 1 else letter


def _class(piece: str, *, any_case: bool) -> str:
    for name, inside in _CLASSES.items():
        piece = piece.replace(f"\\{name}", inside)
    if any_case:  # no class of ours that knows no case has a range of letters
        single = set("".join(map(alike, re.findall(r"(?<!\\)[a-zA-Z](?!\{)", piece))))
        if "\\p" not in piece and "\\x" not in piece:
            piece = f"{piece[:-1]}{''.join(sorted(single - set(piece)))}]"
    return piece
