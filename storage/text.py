"""What of a message can be searched: every word a person or a tool put there.

Content parts, tool names, tool arguments, reasoning. Not the base64 of images:
it would fill the index with noise. The index gets the text with a space
around each character of a script that is written without spaces, so that
one character of Chinese is a token, and a word of it a phrase.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from .canon import plain_text, spelt

__all__ = [
    "FIGURES",
    "MARKS",
    "UNSPACED",
    "beginning",
    "content_text",
    "indexable",
    "parts_of",
    "searchable",
    "tool_names",
]

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: scripts without spaces between words, as ranges for a pattern."""
_UNSPACED = re.compile(f"([{UNSPACED}])")
MARKS = "".join(
    chr(code) for code in range(0x300, 0x1E00) if unicodedata.category(chr(code)) in ("Mn", "Mc")
)
"""Accents and vowel signs, which belong to the word that they stand in although ``\\w`` has none of them."""
#: A name in camel case, and the words of one.
_CAMEL = re.compile(r"[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*")
_INSIDE = re.compile(r"[A-Z](?<=[a-z][A-Z])")
_ENDS, _BEGINS = re.compile(r"[A-Za-z0-9]+\Z"), re.compile(r"[A-Za-z0-9]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: Small letters as one of them, capitals too, all else as blanks: twenty times as fast as looking for a hump.
_CASES = bytes(97 if 97 <= code <= 122 else 65 if 65 <= code <= 90 else 32 for code in range(256))  # noqa: PLR2004
#: Characters of the longest one, names of a text that are taken, and places that are looked at: base64 is none.
_LONGEST_NAME, _MOST_NAMES, _MOST_HUMPS = 64, 500, 2_000
_WORD = re.compile(rf"(?:[^\W_]|[{MARKS}])+")
#: Words of a phrase that the index is asked for, and times that the same may be among them: it reads every place of
#: each word in a message, so what a phrase costs is their number times those places, in time and in memory.
_MOST_WORDS, _MOST_SAME = 32, 4
FIGURES: Mapping[str, Any] = {
    "camel": (_LONGEST_NAME, _MOST_NAMES, _MOST_HUMPS), "beginning": (_MOST_WORDS, _MOST_SAME), "unspaced": UNSPACED,
}  # fmt: skip
"""The same by name, for a page that ranks without us."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_TEXT_KEYS = ("text", "input_text", "output_text", "refusal", "filename", "file_name", "name")
_PLAIN = frozenset({"role", "content"})
#: Nearly always a dict; asking the abstract class takes three times as long.
_MAPPINGS = (dict, Mapping)
_NAMING = frozenset({"tool_name", "name", "tool_calls"})
_REASONING_KEYS = ("reasoning", "reasoning_content", "reasoning_text", "thinking")


def content_text(content: Any) -> str:
    """The words of a message's ``content``, whatever its shape."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n".join(filter(None, (_part_text(part) for part in content)))
    if isinstance(content, dict):
        return _part_text(content)
    return plain_text(content)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return "" if part is None else plain_text(part)
    texts = [part[key] for key in _TEXT_KEYS if isinstance(part.get(key), str)]
    inner = part.get("content")
    if isinstance(inner, str | list):
        texts.append(content_text(inner))
    return "\n".join(texts)


def searchable(message: Mapping[str, Any]) -> str:
    """All that can be searched of *message*, one line break between its parts."""
    content = message.get("content")
    if (
        isinstance(content, str) and len(message) == len(_PLAIN) and "role" in message
    ):  # nine of ten
        return content
    parts = [content_text(content)]
    for key in _REASONING_KEYS:
        value = message.get(key)
        if isinstance(value, str) and value and value not in parts:
            parts.append(value)
    name = message.get("tool_name") or message.get("name")
    if isinstance(name, str):
        parts.append(name)
    for name, arguments in _calls(message):
        parts.append(f"{name} {arguments}")
    return "\n".join(filter(None, parts))


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, _MAPPINGS) else None
        if isinstance(function, _MAPPINGS):
            arguments = function.get("arguments")
            yield plain_text(function.get("name") or ""), _arguments_text(arguments)


def _arguments_text(arguments: Any) -> str:
    if isinstance(arguments, str):
        if "\\" not in arguments:
            return arguments
        try:
            value = json.loads(arguments)
        except ValueError:
            return arguments
        return (
            json.dumps(value, ensure_ascii=False) if not isinstance(value, dict) else _flat(value)
        )
    if not arguments:
        return ""
    try:
        return json.dumps(
            arguments, ensure_ascii=False, default=spelt, sort_keys=True
        )  # as it is stored
    except (TypeError, ValueError, RecursionError):
        return plain_text(arguments)


def _flat(value: Mapping[str, Any]) -> str:
    """Arguments with their escapes undone, so that a path or a line of code is found as it reads."""
    return " ".join(
        f"{key}: {item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)}"
        for key, item in value.items()
    )


def tool_names(message: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the tools that *message* calls, or of the one that it is a result of."""
    if _NAMING.isdisjoint(message):
        return ()
    name = message.get("tool_name") or (
        message.get("name") if message.get("role") == "tool" else None
    )
    called = (called for called, _ in _calls(message) if called)
    return tuple(dict.fromkeys([*([name] if isinstance(name, str) else []), *called]))


def indexable(text: str) -> str:
    """*text* as the index takes it: no NUL, no lone surrogate, unspaced scripts spaced, parts of names behind it."""
    if "\0" in text:
        text = text.replace("\0", " ")
    if not text.isascii():
        text = _UNSPACED.sub(r" \1 ", _SURROGATE.sub(" ", text))
    names = _camels(text)
    if not names:  # most have none
        return text
    parts = {part: None for name in names for part in parts_of(name)}
    return f"{text}\n{' '.join(parts)}" if parts else text


def beginning(phrase: str) -> str:
    """As much of a *phrase*, spelt for the index, as the index is asked for: all of it, unless it is very long."""
    met: Counter[str] = Counter()
    end = 0
    for at, word in enumerate(_WORD.finditer(phrase)):
        met[same := word[0].lower()] += 1
        if at == _MOST_WORDS or met[same] > _MOST_SAME:
            return phrase[:end]
        end = word.end()
    return phrase


def _camels(text: str) -> dict[str, None]:
    """The names in camel case that *text* holds, each once."""
    names: dict[str, None] = {}
    if b"aA" not in text.encode("utf-8", "surrogatepass").translate(_CASES):
        return names
    end = 0
    for hump in islice(_INSIDE.finditer(text), _MOST_HUMPS):
        at = hump.start()
        if at >= end:
            start = max(at - _LONGEST_NAME, end)
            before = _ENDS.search(text, start, at)
            after = _BEGINS.match(text, at, at + _LONGEST_NAME)
            if before and after:
                end = after.end()
                names[text[before.start() : end]] = None
                if len(names) == _MOST_NAMES:
                    break
    return names


def parts_of(name: str) -> list[str]:
    """The words of a name in camel case; none for anything else."""
    if not _CAMEL.fullmatch(name) or len(name) > _LONGEST_NAME:
        return []
    return [part for part in _HUMP.findall(name) if len(part) > 1]
