"""Which parts of a text are secrets, and the text without them.

Keys, tokens, passwords, private keys, URLs with credentials, Authorization headers, lines of a
.env file, JSON web tokens. Where Hermes has a redaction of its own it is applied after ours, passed
down as a function. Ours runs first, because its time is bounded on any input, and the host's is not.

A secret is known by one of three things: a form that nothing else has (``ghp_`` and 36 characters),
its place (behind ``Authorization:``, between ``//user:`` and ``@``), or its name (``DB_PASSWORD=``).
A name proves little in code, so what stands behind one must also look like a literal and not like a
call, a variable, a type or a placeholder. Hashes, uuids and base64 without such a name are kept.

Masking is stable: what is masked already stays as it is, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from .pictures import within
from .placeholders import is_placeholder
from .secret_flags import without_flags
from .secret_forms import may_hold_token, places, tokens
from .secret_names import LEAST_PASSWORD, without_named
from .secret_parts import VALUES
from .strings import rebuilt

__all__ = ["Redact", "each_string", "redacted", "with_host"]

Redact = Callable[[str], str]
"""A text without its secrets."""

_BEGIN: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END: Final = re.compile(r"-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
#: What follows a beginning without an end: a key that was cut. Real and escaped line breaks.
_KEY_BODY: Final = re.compile(r"(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,100}+)*+")

_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{16,100}\r?")
_KEY_END: Final = re.compile(r"[A-Za-z0-9+/=]{1,100}\r?")

_HEADER: Final = re.compile(
    r"authorization\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}\\{0,3}[\"']?(?:(?:bearer|basic|token|digest|apikey|negotiate|"
    r"aws4-hmac-sha256)\s{1,3})?(?P<v>[A-Za-z0-9._~+/=:-]{8,}+)",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(
    r"\bbearer\s{1,3}(?P<v>(?=[A-Za-z._~+/=-]{0,60}\d)[A-Za-z0-9._~+/=-]{20,}+)", re.IGNORECASE
)

#: Parameters of a URL that hold a secret.
_PARAMETER: Final = re.compile(
    r"[?&](?:[a-z_-]{0,30}(?:token|secret|password|api[_-]?key|signature)|sig|auth|code_verifier)=(?P<v>[^\s&#\"'<>\\]{6,}+)",
    re.IGNORECASE,
)
#: Characters of the longest name of such a parameter, and its equals sign.
_NEAR: Final = 50
_SECRET_KEY: Final = re.compile(
    r"(?:.{0,60}[_.-])?(?:pass[_-]?words?|passwd|passphrase|pass|pw|pwd|secret|token|credentials?"
    r"|(?:api|access|secret|private|signing|encryption|account|auth|master|shared)[_.-]?key)\Z",
    re.IGNORECASE,
)


def redacted(text: str) -> str:
    """*text* with every secret that is known as one replaced by ``[redacted RULE]``.

    Pure, stable (a second time changes nothing), and linear in the length of the text. A picture is
    left as it is; a text in the form of one is masked inside.
    """
    return within(text, _masked) if text.startswith("data:") else _masked(text)


def _masked(text: str) -> str:
    text = _without_private_keys(text)
    if may_hold_token(text):
        for mask, begins, form in tokens():
            if any(begin in text for begin in begins):
                text = form.sub(mask, text)
    lower = text.lower()
    placed = _without_placed(text, lower)
    return without_named(placed, lower if placed == text else placed.lower())


def _without_placed(text: str, lower: str) -> str:
    """Without what is a secret by the place where it stands; *lower* is the same in small letters."""
    for rule, form in places(text):
        text = form.sub(_masking(rule), text)
    text = without_flags(text, _masking("password"))
    if "authorization" in lower:
        text = _HEADER.sub(_masking("authorization"), text)
    if "bearer" in lower:
        text = _BEARER.sub(_masking("authorization"), text)
    if "=" in text and _has_parameters(text):
        text = _PARAMETER.sub(_masking("url parameter"), text)
    return text


def _has_parameters(text: str) -> bool:
    """Whether a question mark or an ampersand has an equals sign near behind it."""
    return any("=" in piece[:_NEAR] for mark in "?&" for piece in text.split(mark)[1:])


def _masking(rule: str) -> Callable[[re.Match[str]], str]:
    """Replaces the group ``v`` of a match."""

    def mask(found: re.Match[str]) -> str:
        value = found["v"]
        if is_placeholder(value):
            return found[0]
        start, end = found.start("v") - found.start(), found.end("v") - found.start()
        return f"{found[0][:start]}[redacted {rule}]{found[0][end:]}"

    return mask


def _without_private_keys(text: str) -> str:
    """Also where only the beginning or only the end of one is there, because it was cut."""
    if "PRIVATE KEY" not in text:
        return text
    ends = [(found.start(), found.end()) for found in _END.finditer(text)]
    parts, at, n = [], 0, 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < at:
            continue
        while n < len(ends) and ends[n][1] <= begin.end():
            n += 1
        body = _KEY_BODY.match(text, begin.end())
        stop = body.end() if body else begin.end()
        if n < len(ends) and ends[n][1] - begin.end() < _LONGEST_KEY:
            stop = max(stop, ends[n][1])
        parts += [text[at : begin.start()], "[redacted private key]"]
        at = stop
    return _without_ends("".join([*parts, text[at:]]))


def _without_ends(text: str) -> str:
    """Ends of private keys whose beginning is not there, with the lines before them."""
    parts, at = [], 0
    for end in _END.finditer(text):
        lines = text[at : end.start()].split("\n")
        while len(lines) > 1 and not lines[-1].strip():
            lines.pop()
        if _KEY_END.fullmatch(lines[-1]):
            lines.pop()
        while lines and _KEY_LINE.fullmatch(lines[-1]):
            lines.pop()
        parts.append("\n".join([*lines, "[redacted private key]"]))
        at = end.end()
    return "".join([*parts, text[at:]]) if parts else text


_LONGEST_KEY: Final = 40_000


def each_string(value: Any, change: Redact, *, named: bool = False) -> Any:
    """A message, or a part of one, with every string in it changed, keys included; equal parts are kept.

    *named*: a string under a key that names a secret is one, whatever it looks like; so is one in a list there, and
    the value in an object.
    """

    def under(above: object, key: object, item: object) -> str | None:
        return "[redacted password]" if named and _holds_secret(above, key, item) else None

    return rebuilt(value, change, under)


def _holds_secret(above: object, key: object, item: object) -> bool:
    if not isinstance(item, str) or len(item) < LEAST_PASSWORD:
        return False
    name = (
        above if isinstance(key, int) or (isinstance(key, str) and key.lower() in VALUES) else key
    )
    names = [each for each in (name, key) if isinstance(each, str)]
    return any(map(_SECRET_KEY.match, names)) and not is_placeholder(item)


#: Characters that are given to the host's redaction at a time: parts of it are quadratic.
_AT_ONCE: Final = 2000


def with_host(host: Redact | None) -> Redact:
    """Ours, and after it *host* on what is left, in pieces that bound its time.

    A failure of the host's function leaves that piece as ours made it.
    """
    if host is None:
        return redacted

    def inside(text: str) -> str:
        return "".join(map(host, _pieces(_masked(text))))

    def both(text: str) -> str:
        return within(text, inside) if text.startswith("data:") else inside(text)

    return both


def _pieces(text: str) -> list[str]:
    """*text* in pieces that end at a line, or at a blank where a line is too long."""
    if len(text) <= _AT_ONCE:
        return [text]
    pieces, at = [], 0
    while len(text) - at > _AT_ONCE:
        end = at + _AT_ONCE
        cut = max(text.rfind("\n", at, end), 0) or max(text.rfind(" ", at, end), 0) or end - 1
        pieces.append(text[at : cut + 1])
        at = cut + 1
    return [*pieces, text[at:]]
