"""Secrets that are known by the name of what they are given to, such as ``password``.

A name proves little in code, so what stands behind one must also look like a literal and not like a
call, a variable, a type or a placeholder. A text with quotes in it may be JSON in JSON, where a quote
that belongs to the value has more backslashes in front of it than the one that ends it.
"""

from __future__ import annotations

import re
from typing import Final

from .secret_forms import PLACEHOLDER

__all__ = ["LEAST_PASSWORD", "without_named"]

#: How names begin that may be those of a secret. Looked for first, which costs next to nothing.
_STEMS: Final = ("pass", "pw", "secret", "token", "credential", "key")
#: Names of passwords: whatever literal they are given. And of keys and tokens: what looks random.
_PASS: Final = r"pass[_-]?words?|passwd|passphrase|(?<=_)pass|(?P<weak>(?<![a-z0-9])pass)|_pw|pwd"  # noqa: S105 - names
_NAMED: Final = re.compile(
    rf"(?:(?P<password>{_PASS})|(?P<key>secret|token|credentials?|key))(?P<close>\\{{0,3}}[\"'`]?\]?)"
    r"(?P<gap>[ \t]{0,8}(?:=>|:=|[:=\uff1a\uff1d])[ \t]{0,8}|[ \t]{1,3}is(?:[ \t]?:)?[ \t]{1,3}|[ \t])"
    r"(?P<open>\\{0,3}[\"'`]|)",
    re.IGNORECASE,
)
#: A key is a secret only as one of these.
_WHICH_KEY: Final = re.compile(
    r"(?:api|access|secret|private|signing|encryption|account|auth|subscription|master|shared)[_. -]?\Z",
    re.IGNORECASE,
)
#: What stands in front of a password in a file .netrc; line breaks may be escaped.
_GAP: Final = r"(?:\s|\\{1,3}[nt]){1,8}"
_NETRC: Final = re.compile(
    rf"(?:machine{_GAP}[^\s\\]{{1,60}}|default)(?P<one>{_GAP})login{_GAP}[^\s\\]{{1,60}}(?P<two>{_GAP})\Z"
)
_NO_WORD: Final = re.compile(r"[0-9]|[a-z][A-Z]|[A-Z][a-z]")
_LINE_NAME: Final = re.compile(r"\s{0,8}(?:export\s{1,4})?[A-Z][A-Z0-9_]{0,60}")
#: Characters in front of a name that are looked at.
_BEFORE: Final = 80
_ANY_STEM: Final = re.compile("|".join(("_pw", *_STEMS)), re.IGNORECASE)
_BARE: Final = re.compile(r"[^\s,;\"'`()\[\]{}<>&|\\]{1,500}")
#: What belongs to a password behind a comma or a semicolon in it: no name, and no argument.
_MORE: Final = re.compile(
    r"(?:[,;](?=[A-Za-z]{0,60}\d)(?=\d{0,60}[A-Za-z])[^\s,;\"'`()\[\]{}<>&|\\=:]{6,200}(?![=:(\w])){1,5}"
)
_QUOTED: Final = {
    mark: re.compile(rf"[^{mark}\n\\]{{0,500}}(?:\\[^\n][^{mark}\n\\]{{0,500}}){{0,20}}")
    for mark in "\"'`"
}
#: By the backslashes in front of its quotes: what is escaped inside has one more, and then what it is escaped with.
_ESCAPED: Final = {
    count: re.compile(
        rf"[^\"'`\n\\]{{0,500}}(?:\\{{{count + 1}}}(?:\\{{{count + 1}}}|\\{{{count}}}[\"'`]|(?![\\\"'`\n]))"
        r"[^\"'`\n\\]{0,500}){0,20}"
    )
    for count in (1, 2, 3)
}
#: In YAML a value may stand on the lines behind its name, further in; the line breaks may be escaped.
_BLOCK: Final = re.compile(r"[|>][+-]?[1-9]?[ \t]{0,8}(?P<more>(?P<n>\r?\n|\\{1,3}n)[ \t]{1,40})")
_LINE: Final = re.compile(r"[^\r\n]{1,500}")
_LINE_ESCAPED: Final = re.compile(r"[^\"\\\n]{1,500}")
_MOST_LINES: Final = 20
_CODE: Final = re.compile(r"[A-Za-z_][A-Za-z_]*(?:\.[A-Za-z_]\w*)*[?!:]?\Z|[./~]|\d{1,7}\Z")
_DIGIT: Final = re.compile(r"\d")
_LETTER: Final = re.compile(r"[A-Za-z]")
LEAST_PASSWORD: Final = 4
_LEAST_KEY: Final = 8
#: What follows a mere "pass" is a password only as one of these: tests pass, too.
_LIKELY: Final = re.compile(r"[A-Za-z][^\s/_.:=-]{5,}")
#: Words of a password in a sentence, in quotes.
_MOST_WORDS: Final = 4


def without_named(text: str) -> str:
    """Values that are given to a name such as ``password``."""
    parts, at = [], 0
    for start in _stems(text):
        found = _NAMED.match(text, start) if start >= at else None
        span = _value(text, found) if found else None
        if found and span is not None:
            parts += [
                text[at : span[0]],
                f"[redacted {'password' if found['password'] else 'key'}]",
            ]
            at = span[1]
    return "".join([*parts, text[at:]]) if parts else text


def _stems(text: str) -> list[int]:
    """Where a name of a secret may begin."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter whose small form is two
        return [found.start() for found in _ANY_STEM.finditer(text)]
    starts = []
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            if stem == "pw" and lower[at - 1 : at] == "_":
                starts.append(at - 1)
            starts.append(at)
            at = lower.find(stem, at + 1)
    return sorted(starts)


def _value(text: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Where the secret is that stands behind a name; None if it is none."""
    before = text[max(0, found.start() - _BEFORE) : found.start()]
    if not _names_one(found, before):
        return None
    if not found["open"] and text.startswith(("|", ">"), found.end()):
        return _block(text, found)
    quote, password = found["open"], found["password"] or ""
    value = _form(quote).match(text, found.end())
    if value is None:
        return None
    more = _MORE.match(text, value.end()) if password and not quote else None
    bare = value[0] + (more[0] if more else "")
    word = bare if quote else bare.rstrip(".:!?")
    if not _is_secret(word, found) or PLACEHOLDER.fullmatch(word):
        return None
    end = value.start() + len(bare)
    if not quote and not _is_of_file(found, before) and _is_code(word, text[end : end + 1]):
        return None
    return value.start(), value.start() + len(word)


def _block(text: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Where the lines are that YAML gives to a name: words without blanks, or it would be prose."""
    opened = _BLOCK.match(text, found.end()) if ":" in found["gap"] else None
    if opened is None:
        return None
    form = _LINE if opened["n"].endswith("\n") else _LINE_ESCAPED
    first = form.match(text, opened.end())
    word = first[0].rstrip() if first else ""
    if len(word.split()) != 1 or not _is_secret(word, found) or PLACEHOLDER.fullmatch(word):
        return None
    end = opened.end() + len(word)
    if _is_code(word, text[end : end + 1]):
        return None
    for _ in range(_MOST_LINES):
        line = (
            form.match(text, end + len(opened["more"]))
            if text.startswith(opened["more"], end)
            else None
        )
        if line is None or len(line[0].split()) != 1:
            break
        end = line.start() + len(line[0].rstrip())
    return opened.end(), end


def _is_of_file(found: re.Match[str], before: str) -> bool:
    """Whether it is a line as in a .env file, or of a .netrc: no code."""
    line = before.rpartition("\n")[2] + (found["password"] or found["key"])
    if found["gap"].isspace():
        return _is_of_netrc(found, before)
    return found["gap"] == "=" and bool(_LINE_NAME.fullmatch(line)) and line[-3:] != "PWD"


def _names_one(found: re.Match[str], before: str) -> bool:
    """Whether the name is that of a secret: not any key or pass, and with a blank behind it only a flag."""
    if (found["key"] or "").lower() == "key" and not _WHICH_KEY.search(before[-14:]):
        return False
    if found["gap"].isspace():
        is_flag = (before.split() or [""])[-1].startswith("--")
        return is_flag or _is_of_netrc(found, before)
    if not found["weak"] or "=" in found["gap"]:
        return True
    alone = not before.rstrip(" \t")[-1:].isalnum()  # no "second pass: ..."
    return alone and found["weak"] != "PASS" and not _is_told(found)  # no result of a test


def _is_of_netrc(found: re.Match[str], before: str) -> bool:
    """Whether it stands behind a machine and a login: each on a line of its own, or in front of no mere word."""
    netrc = _NETRC.search(before) if found["password"] else None
    value = _BARE.match(found.string, found.end()) if netrc else None
    if netrc is None or value is None:
        return False
    lines = all("n" in gap or "\n" in gap for gap in netrc.group("one", "two"))
    return lines or bool(_NO_WORD.search(value[0]))


def _is_told(found: re.Match[str]) -> bool:
    """Whether it stands in a sentence: "the password is ..."."""
    return found["gap"].strip(" \t:").lower() == "is"


def _is_code(word: str, behind: str) -> bool:
    """Whether what has no quotes is a variable, a call, a path or a small number."""
    return bool(_CODE.match(word)) or behind in tuple("([{")


def _form(quote: str) -> re.Pattern[str]:
    """What a value between such quotes is made of."""
    if not quote:
        return _BARE
    return _ESCAPED[len(quote) - 1] if quote.startswith("\\") else _QUOTED[quote]


def _is_secret(word: str, found: re.Match[str]) -> bool:
    """Whether what is given to such a name can be a secret."""
    if _is_told(found):  # only what is no word
        most = _MOST_WORDS if found["open"] else 1
        return (
            len(word) >= LEAST_PASSWORD and bool(_DIGIT.search(word)) and len(word.split()) <= most
        )
    if found["password"] and not found["weak"]:
        return len(word) >= LEAST_PASSWORD
    if not (_DIGIT.search(word) and _LETTER.search(word)) or " " in word:
        return False
    if found["weak"]:
        return bool(_LIKELY.fullmatch(word)) or (
            bool(found["open"]) and len(word) >= LEAST_PASSWORD
        )
    return len(word) >= _LEAST_KEY
