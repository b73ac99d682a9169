"""Secrets that are known by the name of what they are given to, such as ``password``.

A name proves little in code, so what stands behind one must also look like a literal and not like a
call, a variable, a type or a placeholder. A text with quotes in it may be JSON in JSON, where a quote
that belongs to the value has more backslashes in front of it than the one that ends it.
"""

from __future__ import annotations

import re
from typing import Final

from .placeholders import is_placeholder
from .secret_parts import parts_at

__all__ = ["LEAST_PASSWORD", "without_named"]

#: How names begin that may be those of a secret. Looked for first, which costs next to nothing.
_STEMS: Final = ("pass", "pw", "secret", "token", "credential", "key")
#: Names of passwords: whatever literal they are given. And of keys and tokens: what looks random.
_PASS: Final = r"pass[_-]?words?|passwd|passphrase|(?<=_)pass|(?P<weak>(?<![a-z0-9])pass)|_pw|pwd"  # noqa: S105 - names
#: A blank that ends no line; a page that was copied has those of a fixed width.
_BLANK: Final = r"[ \t\xa0\u2000-\u200a\u202f\u3000]"
_NAME: Final = (
    rf"(?:(?P<password>{_PASS})|(?P<key>secret|token|credentials?|key))(?P<close>\\{{0,3}}[\"'`]?\]?)"
    rf"(?P<gap>{_BLANK}{{0,8}}(?:=>|:=|[:=\uff1a\uff1d]){_BLANK}{{0,8}}"
    rf"|{_BLANK}{{1,3}}is(?:{_BLANK}?:)?{_BLANK}{{1,3}}"
)
_BEGIN: Final = r"(?P<open>\\{0,3}[\"'`]|)"
#: The name with what gives it a value; and with a mere blank, which is enough only for a flag or a login.
_ASSIGNED: Final = re.compile(rf"{_NAME}){_BEGIN}", re.IGNORECASE)
_NAMED: Final = re.compile(rf"{_NAME}|{_BLANK}){_BEGIN}", re.IGNORECASE)
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
#: Letters as wide as a Chinese character.
_WIDE: Final = re.compile(r"[\uff21-\uff3a\uff41-\uff5a]")
_NARROW: Final = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
#: Characters by which it is told whether a value is a secret. The rest of one goes, too, however long it is.
_HEAD: Final = 200
_BARE: Final = re.compile(rf"[^\s,;\"'`()\[\]{{}}<>&|\\]{{1,{_HEAD}}}")
_BARE_ON: Final = re.compile(r"[^\s,;\"'`()\[\]{}<>&|\\]*+")
#: What belongs to a password behind a comma or a semicolon in it: no name, and no argument.
_MORE: Final = re.compile(
    r"(?:[,;](?=[A-Za-z]{0,60}\d)(?=\d{0,60}[A-Za-z])[^\s,;\"'`()\[\]{}<>&|\\=:]{6,200}(?![=:(\w])){1,5}"
)
_QUOTED: Final = {
    mark: re.compile(rf"[^{mark}\n\\]{{0,{_HEAD}}}(?:\\[^\n][^{mark}\n\\]{{0,{_HEAD}}}){{0,20}}")
    for mark in "\"'`"
}
_QUOTED_ON: Final = {
    mark: re.compile(rf"(?:[^{mark}\n\\]|\\[^\n])*+(?={mark})|(?:[^{mark}\s\\]|\\[^\n])*+")
    for mark in "\"'`"
}
#: By the backslashes in front of its quotes: what is escaped inside has one more, and then what it is escaped with.
_ESCAPE: Final = {
    count: rf"\\{{{count + 1}}}(?:\\{{{count + 1}}}|\\{{{count}}}[\"'`]|(?![\\\"'`\n]))"
    for count in (1, 2, 3)
}
_ESCAPED: Final = {
    count: re.compile(rf"[^\"'`\n\\]{{0,{_HEAD}}}(?:{escape}[^\"'`\n\\]{{0,{_HEAD}}}){{0,20}}")
    for count, escape in _ESCAPE.items()
}
_ESCAPED_ON: Final = {
    count: re.compile(
        rf"(?:[^\"'`\n\\]|{escape})*+(?=\\{{{count}}}[\"'`])|(?:[^\"'`\s\\]|{escape})*+"
    )
    for count, escape in _ESCAPE.items()
}
#: In YAML a value may stand on the lines behind its name, further in; the line breaks may be escaped.
_BLOCK: Final = re.compile(r"[|>][+-]?[1-9]?[ \t]{0,8}(?P<more>(?P<n>\r?\n|\\{1,3}n)[ \t]{1,40})")
_LINE: Final = re.compile(rf"[^\r\n]{{1,{_HEAD}}}")
_LINE_ESCAPED: Final = re.compile(rf"[^\"\\\n]{{1,{_HEAD}}}")
_LINE_ON: Final = re.compile(r"[^\s\"\\]*+")
_CODE: Final = re.compile(r"[A-Za-z_][A-Za-z_]*(?:\.[A-Za-z_]\w*)*[?!:]?\Z|[./~]|\d{1,7}\Z")
_DIGIT: Final = re.compile(r"\d")
_LETTER: Final = re.compile(r"[A-Za-z]")
LEAST_PASSWORD: Final = 4
_LEAST_KEY: Final = 8
#: What follows a mere "pass" is a password only as one of these: tests pass, too.
_LIKELY: Final = re.compile(r"[A-Za-z][^\s/_.:=-]{5,}")
#: ``min:8``: what a form asks of a password.
_RULE: Final = re.compile(r"[a-z_]+[:=]")
#: Words of a password in a sentence, in quotes.
_MOST_WORDS: Final = 4


def without_named(text: str, lower: str) -> str:
    """Values that are given to a name such as ``password``; *lower* is *text* in small letters."""
    plain = text if text.isascii() else _narrow(text)
    lower = lower if plain is text else plain.lower()
    named = _NAMED if "--" in plain or "login" in plain else _ASSIGNED
    parts, at = [], 0
    for start in _stems(lower):
        found = named.match(plain, start) if start >= at else None
        if found is None:
            continue
        for first, end in _values(plain, found):
            parts += [text[at:first], f"[redacted {'password' if found['password'] else 'key'}]"]
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def _narrow(text: str) -> str:
    """*text*, as long as it was, with its wide letters narrow, and with small ones that are as long as large ones."""
    text = text.replace("\u0130", "I")
    return text.translate(_NARROW) if _WIDE.search(text) else text


def _stems(lower: str) -> list[int]:
    """Where a name of a secret may begin in a text in small letters."""
    starts = []
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            if stem == "pw" and lower[at - 1 : at] == "_":
                starts.append(at - 1)
            starts.append(at)
            at = lower.find(stem, at + 1)
    return sorted(starts)


def _values(text: str, found: re.Match[str]) -> list[tuple[int, int]]:
    """Where the secrets are that stand behind a name."""
    gap = found["gap"]
    if gap.isspace() and not _may_follow_blank(text, found.start()):
        return []
    before = text[max(0, found.start() - _BEFORE) : found.start()]
    if not _names_one(found, before):
        return []
    opening = "" if found["open"] else text[found.end() : found.end() + 1]
    if opening in ("[", "{") and found["close"]:
        return [
            (start, end)
            for start, end in parts_at(text, found.end())
            if _is_part(text[start : min(end, start + _HEAD)], found)
        ]
    span = _block(text, found) if opening in ("|", ">") else _value(text, found, before)
    return [span] if span else []


def _may_follow_blank(text: str, start: int) -> bool:
    """Whether a flag, or a login, is near in front: told before anything is taken apart."""
    near = max(0, start - _BEFORE)
    return text.find("--", near, start) >= 0 or text.find("login", near, start) >= 0


def _value(text: str, found: re.Match[str], before: str) -> tuple[int, int] | None:
    """Where the secret is that stands behind a name; None if it is none."""
    quote, password = found["open"], found["password"] or ""
    form, on = _form(quote)
    value = form.match(text, found.end())
    if value is None:
        return None
    more = _MORE.match(text, value.end()) if password and not quote else None
    bare = value[0] + (more[0] if more else "")
    word = bare if quote else bare.rstrip(".:!?")
    if not _is_secret(word, found) or is_placeholder(word):
        return None
    end = value.start() + len(bare)
    if not quote and not _is_of_file(found, before) and _is_code(word, text[end : end + 1]):
        return None
    if not more and (rest := on.match(text, end)) and rest[0]:
        more = _MORE.match(text, rest.end()) if password and not quote else None
        bare = text[value.start() : more.end() if more else rest.end()]
        word = bare if quote else bare.rstrip(".:!?")
    return value.start(), value.start() + len(word)


def _block(text: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Where the lines are that YAML gives to a name: words without blanks, or it would be prose."""
    opened = _BLOCK.match(text, found.end()) if ":" in found["gap"] else None
    if opened is None:
        return None
    form = _LINE if opened["n"].endswith("\n") else _LINE_ESCAPED
    first = form.match(text, opened.end())
    word = first[0].rstrip() if first else ""
    if len(word.split()) != 1 or not _is_secret(word, found) or is_placeholder(word):
        return None
    end = opened.end() + len(word)
    if _is_code(word, text[end : end + 1]):
        return None
    end = _end_of_word(text, end)
    while text.startswith(opened["more"], end):
        line = form.match(text, end + len(opened["more"]))
        if line is None or len(line[0].split()) != 1:
            break
        end = _end_of_word(text, line.start() + len(line[0].rstrip()))
    return opened.end(), end


def _end_of_word(text: str, at: int) -> int:
    rest = _LINE_ON.match(text, at)
    return rest.end() if rest else at


def _is_part(word: str, found: re.Match[str]) -> bool:
    """Whether a string in a list or an object under such a name is a secret: a rule of a form is none."""
    return (
        _is_secret(word, found)
        and bool(_DIGIT.search(word) and _LETTER.search(word))
        and not any(map(str.isspace, word))
        and not _RULE.match(word)
        and not is_placeholder(word)
    )


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
    last = before.rstrip(" \t")[-1:]  # no "second pass: ...", and none behind what was masked
    alone = not last.isalnum() and last != "]"
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
    return found["gap"].strip().strip(":").strip().lower() == "is"


def _is_code(word: str, behind: str) -> bool:
    """Whether what has no quotes is a variable, a call, a path or a small number."""
    return bool(_CODE.match(word)) or behind in tuple("([{")


def _form(quote: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What the beginning of a value between such quotes is made of, and what the rest of a long one."""
    if not quote:
        return _BARE, _BARE_ON
    if quote.startswith("\\"):
        return _ESCAPED[len(quote) - 1], _ESCAPED_ON[len(quote) - 1]
    return _QUOTED[quote], _QUOTED_ON[quote]


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
