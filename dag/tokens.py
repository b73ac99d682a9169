"""How many tokens a text or a message costs, and how to cut a text to a number of them.

The count is an estimate without a tokenizer, made to be fast and never below what Hermes itself
estimates for the same message (both host generations): ASCII costs a token per four characters,
other scripts a token per four bytes of UTF-8, but every Han, kana and Hangul character a whole
token and every character outside the basic plane (emoji, rare ideographs) two. A message is
counted as the host counts it, by its printed form, so tool calls, arguments and reasoning fields
all count; an image costs a flat price instead of the length of its base64 text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: What one image costs unless the host has learned better; both hosts start from this figure.
IMAGE_TOKENS: Final = 1500

_IMAGE_TYPES: Final = frozenset({"image", "image_url", "input_image"})
_STASH: Final = "_anthropic_content_blocks"  # an ordered copy of the content, priced by no host
_ODD_KEYS: Final = frozenset({_STASH, "output"})

#: UTF-8 lead bytes of three- and four-byte characters. E0 is left out: it starts the Indic
#: scripts, which cost three quarters of a token a character, as their bytes say.
_LEAD3: Final = bytes(range(0xE1, 0xF0))
_LEAD4: Final = bytes(range(0xF0, 0xF5))
_LEADS4: Final = tuple(bytes([lead]) for lead in _LEAD4)

#: Characters from which on the content of a message is not printed to be measured.
_LONG: Final = 100
#: What is printed as it is.
_PRINTED: Final = bytes(set(range(32, 127)) - set(b"\\'\""))

# No quantifier without a bound: a megabyte of dots must not cost a quadratic search.
_SENTENCE_END: Final = re.compile(
    r"[.!?\u2026][\"'\u201d\u2019)\]]{0,3}(?=\s)"
    r"|[\u3002\uff01\uff1f][\u201d\u2019\u300d\u300f\uff09]{0,3}|(?=\n)"
)
_WORD_END: Final = re.compile(r"\S(?=\s)")
_JOINER: Final = "\u200d"
_MODIFIERS: Final = range(0x1F3FB, 0x1F400)  # skin tones
_TAGS: Final = range(0xE0020, 0xE0080)  # the letters of subdivision flags
_REGIONAL: Final = range(0x1F1E6, 0x1F200)
_JAMO_TAIL: Final = range(0x1160, 0x1200)  # vowels and final consonants of decomposed Hangul
_HIGH: Final = range(0xD800, 0xDC00)
_LOW: Final = range(0xDC00, 0xE000)


def count_text(text: str) -> int:
    """Return the estimated number of tokens of *text*; 0 only for an empty one.

    Takes any text, lone surrogates included; never raises for a ``str``.
    """
    if text.isascii():  # a flag on the string object, not a scan
        return (len(text) + 3) // 4
    data = text.encode("utf-8", "surrogatepass")
    three = len(data) - len(data.translate(None, _LEAD3))
    rare = any(lead in data for lead in _LEADS4)  # a search is ten times faster than a count
    four = len(data) - len(data.translate(None, _LEAD4)) if rare else 0
    return three + 2 * four + (len(data) - 3 * three - 4 * four + 3) // 4


def count_message(message: Mapping[str, Any], image_tokens: int = IMAGE_TOKENS) -> int:
    """Return the estimated number of tokens of one message in the host's form.

    *image_tokens* is the price of an image. Rows that are no mapping, content that is no text and
    values that cannot be printed get a number too, never an exception.
    """
    try:
        if type(message) is dict and _ODD_KEYS.isdisjoint(message):
            content = message.get("content")
            if content is None or type(content) is str:
                if content and len(content) >= _LONG and content.isascii():
                    short = repr({**message, "content": ""})
                    if short.isascii():
                        return (len(short) - 2 + _printed(content) + 3) // 4
                    return count_text(repr(message))
                printed = repr(message)
                return (len(printed) + 3) // 4 if printed.isascii() else count_text(printed)
        return _count_odd(message, image_tokens)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError):
        return _count_leaves(message)


def _printed(text: str) -> int:
    """``len(repr(text))`` of ASCII, in a quarter of the time."""
    odd = text.encode().translate(None, _PRINTED)
    if not odd:
        return len(text) + 2
    short = sum(map(odd.count, (b"\\", b"\n", b"\t", b"\r")))
    single, double = odd.count(b"'"), odd.count(b'"')
    more = short + 3 * (len(odd) - short - single - double)
    return len(text) + 2 + more + (single if double else 0)


def count_messages(messages: Iterable[Mapping[str, Any]]) -> int:
    """Return the sum of :func:`count_message` over *messages*."""
    return sum(map(count_message, messages))


def _count_odd(message: Any, image_tokens: int) -> int:
    """Count a row that holds content parts, or is no dict at all."""
    if not isinstance(message, Mapping):
        return count_text(str(message))
    shadow = {key: value for key, value in message.items() if key != _STASH}
    content = shadow.get("content")
    images = _images(content) + _images(message.get(_STASH)) + _images(shadow.get("output"))
    if isinstance(content, list):
        shadow["content"] = [_without_image(part) for part in content]
    elif isinstance(content, dict) and content.get("_multimodal"):
        images += _images(content.get("content"))
        shadow["content"] = content.get("text_summary", "")
    printed = count_text(repr(shadow))
    if not isinstance(message, dict):  # the host prints what is no dict as it is
        printed = max(printed, count_text(str(message)))
    return printed + images * image_tokens


def _is_image(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    return isinstance(kind, str) and kind in _IMAGE_TYPES


def _images(parts: Any) -> int:
    return sum(map(_is_image, parts)) if isinstance(parts, list) else 0


def _without_image(part: Any) -> Any:
    return {"type": part["type"], "image": "[stripped]"} if _is_image(part) else part


def _count_leaves(value: Any) -> int:
    """Count what cannot be printed (nested too deep, an integer of 5,000 digits) leaf by leaf."""
    total, waiting, seen = 0, [value], set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            total += count_text(item) + 1
        elif isinstance(item, bytes | bytearray):
            total += len(item)
        elif isinstance(item, int):
            total += item.bit_length() // 8 + 1  # a token is about two and a half digits
        elif isinstance(item, Mapping | list | tuple | set | frozenset) and id(item) not in seen:
            seen.add(id(item))
            waiting += [*item.keys(), *item.values()] if isinstance(item, Mapping) else item
            total += 1
        else:
            total += 8
    return total


def head(text: str, max_tokens: int) -> str:
    """Return the longest verbatim prefix of *text* within *max_tokens* that parts no character.

    A character is what a reader sees: a letter with its combining marks, a joined emoji, a flag.
    Empty when even the first one does not fit.
    """
    low, high = 0, min(len(text), 4 * max(max_tokens, 0))  # no token is longer than four
    if count_text(text[:high]) > max_tokens:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if count_text(text[:middle]) <= max_tokens else (low, middle)
        high = low
    while high and not is_boundary(text, high):
        high -= 1
    return text[:high]


def tail(text: str, max_tokens: int) -> str:
    """Return the longest verbatim suffix of *text* within *max_tokens* that parts no character."""
    size = len(text)
    low, high = 0, min(size, 4 * max(max_tokens, 0))
    if count_text(text[size - high :]) > max_tokens:
        while high - low > 1:
            middle = (low + high) // 2
            fits = count_text(text[size - middle :]) <= max_tokens
            low, high = (middle, high) if fits else (low, middle)
        high = low
    start = size - high
    while start < size and not is_boundary(text, start):
        start += 1
    return text[start:]


def clip(text: str, max_tokens: int) -> str:
    """Return *text* cut to *max_tokens* at the end of a sentence, else of a word, else anywhere.

    A sentence or word end counts if at least a quarter of what fits is kept. Never longer than
    *max_tokens*; nothing is added; trailing white space of a cut goes.
    """
    if len(text) <= 4 * max_tokens and count_text(text) <= max_tokens:
        return text
    kept = head(text, max_tokens)
    seen = text[: len(kept) + 1]  # with the white space that may follow the last word
    least = len(kept) // 4
    for ends in (_SENTENCE_END, _WORD_END):
        cut = max((m.end() for m in ends.finditer(seen) if m.end() <= len(kept)), default=0)
        if cut and cut >= least and kept[:cut].strip():
            return kept[:cut].rstrip()
    return kept.rstrip()


def is_boundary(text: str, index: int) -> bool:
    """Whether a cut before ``text[index]`` leaves every visible character whole."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    code = ord(after)
    if _JOINER in (before, after) or unicodedata.category(after)[0] == "M":
        return False
    if code in _MODIFIERS or code in _TAGS or code in _JAMO_TAIL:
        return False
    if code in _LOW and ord(before) in _HIGH:
        return False
    return code not in _REGIONAL or _flags_before(text, index) % 2 == 0


def _flags_before(text: str, index: int) -> int:
    """How many regional indicators stand in a row before *index*; two make a flag."""
    start = index
    while start and ord(text[start - 1]) in _REGIONAL:
        start -= 1
    return index - start
