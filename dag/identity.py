"""Is this row that message? What a host may have done to it since we saw it.

Hosts strip and collapse white space when they restore a session, flatten
lists of parts, prune tool output, mask secrets, put notes before or behind a
row, and fold neighbouring rows into one. And an engine of ours may have put a
stub in the place of a large payload.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from functools import cached_property, lru_cache
from posixpath import commonprefix
from typing import Any

from ..storage.canon import encode
from .messages import Row, calls_identity, calls_of, media_of, normal, role_of, text_of

__all__ = [
    "GONE",
    "MARK",
    "STUB",
    "is_certain",
    "is_fold",
    "is_less",
    "likeness",
    "mark_of",
    "parted",
    "refilled",
]

#: How everything of ours is named in a text: the first 8 characters of its uid.
MARK = re.compile(r"\[lcm ([0-9a-f]{8})\]")

#: What stands between the head and the tail of a payload that was cut for the context.
STUB = re.compile(
    r"\n?\[lcm ([0-9a-f]{8})\] \d+ tokens are left out here; lcm_expand gives them back\.\n?"
)


def mark_of(uid: str) -> str:
    """The name of a node or a message in a text."""
    return f"[lcm {uid[:8]}]"


def is_less(old: Row, new: Row) -> bool:
    """Whether *new* says nothing that *old* does not: stripped, flattened, masked, or our own stub of it."""
    if not _are_same(calls_identity(old), calls_identity(new)):
        return False
    if (media := media_of(new)) and not _are_same(media_of(old), media):
        return False
    was, now = text_of(old), text_of(new)
    cut = STUB.search(now) if "[lcm " in now else None
    if cut and _is_cut(was, now[: cut.start()], now[cut.end() :]):
        return True
    return _masks(was, now) or (len(now) <= len(was) and normal(was) == normal(now))


#: What stands in the place of a string that was forgotten on request.
GONE = "[forgotten]"


def _is_cut(was: str, first: str, last: str) -> bool:
    """Whether *first* and *last* are the ends of *was*.

    Where the cut went through a string that was forgotten since, a part of it is left, which is not
    known as one: up to there they must be the same.
    """
    if was.startswith(first) and was.endswith(last):
        return True
    return GONE in was and _agree(was, first, GONE) and _agree(was[::-1], last[::-1], GONE[::-1])


def refilled(old: Row, new: Row) -> Row:
    """*new* with what our stub of *old* left out of it, where the host put notes or other messages around the stub."""
    was, now = old.get("content"), new.get("content")
    if not isinstance(was, str) or not isinstance(now, str) or (cut := STUB.search(now)) is None:
        return new
    first, last = now[: cut.start()], now[cut.end() :]
    starts = [0, *(line.end() for line in re.finditer("\n", first))]
    ends = [*(line.start() for line in re.finditer("\n", last)), len(last)]
    start = next((at for at in starts if first[at:] and _is_cut(was, first[at:], "")), None)
    end = next((at for at in reversed(ends) if at and _is_cut(was, "", last[:at])), None)
    if start is None or end is None:
        return new
    return {**new, "content": first[:start] + was + last[end:]}


def _agree(was: str, shown: str, gone: str) -> bool:
    """Whether *was* begins with *shown*, or both are the same until *gone* stands in *was*."""
    same = len(commonprefix((was, shown)))
    return same == len(shown) or 0 <= was.find(gone, max(same - len(gone) + 1, 0)) <= same


def _are_same(one: list[Any], other: list[Any]) -> bool:
    """Whether both are kept as the same: ``1`` and ``True`` are equal, but not that."""
    return one == other and encode(one) == encode(other)


#: What hosts put in the place of a secret.
_MASK = re.compile(
    r"\*{3,}|\[redacted[^\]\n]{0,80}\]|<redacted[^>\n]{0,80}>|\u2588+", re.IGNORECASE
)
_MASKED = 400
"""Characters that one mask hides at the most."""
_NOTED = 4_000_000
"""Characters compared at the most to find a masked text among the lines of notes around it."""


def _masks(was: str, now: str) -> bool:
    """Whether *now* is *was* with parts of it masked.

    Both are walked once: as no mask hides the end of a line, the first place where a part fits is the right one.
    """
    was, now = was.strip(), now.strip()
    mask = _first_mask(now)
    if mask is None or was == now or not was.startswith(now[: mask.start()]):
        return False
    first, *parts = _MASK.split(now)
    at = len(first)
    for part in parts[:-1]:
        found = was.find(part, at, at + _MASKED + len(part))
        if found < 0 or was.find("\n", at, found) >= 0:
            return False
        at = found + len(part)
    last = len(was) - len(parts[-1])
    hidden = was[at:last]
    return at <= last <= at + _MASKED and "\n" not in hidden and was.endswith(parts[-1])


def _first_mask(text: str) -> re.Match[str] | None:
    """The first mask; a long text without any is gone through at the speed of C."""
    likely = "***" in text or "\u2588" in text or "redacted" in text.lower()
    return _MASK.search(text) if likely else None


def _masks_inside(was: str, now: str) -> bool:
    """Whether lines of *now* are all of *was* with parts of it masked: the rest is notes around it."""
    if _first_mask(now) is None:
        return False
    lines, count = now.split("\n"), was.count("\n") + 1
    starts = range(len(lines) - count + 1)
    if len(starts) * len(now) > _NOTED:
        return _masks(was, now)
    return any(_masks(was, "\n".join(lines[at : at + count])) for at in starts)


def is_certain(old: Row, new: Row) -> bool:
    """Whether *new* is *old* by so many words of their own that it is no chance, however far they are apart.

    Calls and results never are: hosts use their ids again.
    """
    if any(row.get("tool_call_id") or calls_of(row) for row in (old, new)):
        return False
    if min(len(text_of(old)), len(text_of(new))) < _TELLING:
        return False
    return is_less(old, new) or likeness(old, new) >= 1.0


def is_fold(parts: Sequence[Row], row: Row) -> bool:
    """Whether the host folded *parts*, in this order, into *row*."""
    texts = [normal(text_of(part)) for part in parts]
    if " ".join(filter(None, texts)) != normal(text_of(row)):
        return False
    ids = [call.get("id") for part in parts for call in calls_of(part)]
    return ids == [call.get("id") for call in calls_of(row)]


def parted(parts: Sequence[Sequence[Row]], row: Row, *, own_lines: bool) -> list[str] | None:
    """The text of each of *parts*, in their order, in the row that a host made of them; None if it is none.

    Each part is given in its versions, the likeliest first. What stands between two of them that is
    of neither (a host's note, or a message that was never seen apart) goes with the one before it.
    *own_lines*: only where each part stands on lines of its own.
    """
    words = _words(text_of(row))
    starts, at = [0], 0
    for number, versions in enumerate(parts):
        found = next(
            (
                span
                for version in versions
                if (span := words.find(normal(text_of(version)), at)) is not None
                and (not own_lines or words.on_own_lines(span))
            ),
            None,
        )
        if found is None:
            return None
        if number:
            starts.append(words.place(found[0]))
        at = found[1]
    ends = [*starts[1:], len(words.text)]
    return [words.text[start:end].strip() for start, end in zip(starts, ends, strict=True)]


class _Words:
    """A text in which other texts are looked for, whatever the white space between their words.

    An offset is that of the blank in front of a word in ``flat``: the words with one blank around each.
    """

    def __init__(self, text: str) -> None:
        self.text, self.flat = text, f" {normal(text)} "

    @cached_property
    def starts(self) -> Sequence[int]:
        """Where each word begins in the text."""
        return array("q", (word.start() for word in re.finditer(r"\S+", self.text)))

    def find(self, wanted: str, at: int) -> tuple[int, int] | None:
        """From which offset to which *wanted*, a normal text, stands at *at* or behind it."""
        start = self.flat.find(f" {wanted} ", at) if wanted else at
        if start < 0:
            return None
        return start, start + len(wanted) + bool(wanted)

    def place(self, offset: int) -> int:
        """Where the word behind *offset* begins in the text."""
        word = self.flat.count(" ", 0, offset)
        return self.starts[word] if word < len(self.starts) else len(self.text)

    def on_own_lines(self, span: tuple[int, int]) -> bool:
        """Whether no other word stands on the lines of those between two offsets."""
        if span[0] == span[1]:
            return False
        return all(self._breaks(self.flat.count(" ", 0, offset)) for offset in span)

    def _breaks(self, word: int) -> bool:
        """Whether a line begins between the word before and this one, or the text begins or ends."""
        starts = self.starts
        return word in (0, len(starts)) or self.text.find("\n", starts[word - 1], starts[word]) >= 0


@lru_cache(maxsize=2)  # one row is compared with many messages
def _words(text: str) -> _Words:
    return _Words(text)


def likeness(old: Row, new: Row) -> float:
    """How much *new* looks like a later state of *old*: 0 not at all, 1 beyond doubt.

    Beyond doubt: a result of the same call, one text inside the other (a note
    before or behind it), or the same calls where a text is empty or half of the
    words are the same: servers use the ids of calls again. In between: the share
    of words they have in common.
    """
    if role_of(old) != role_of(new):
        return 0.0
    if old.get("tool_call_id") or new.get("tool_call_id"):
        return float(old.get("tool_call_id") == new.get("tool_call_id"))
    ids, now_ids = ([call.get("id") for call in calls_of(row)] for row in (old, new))
    if ids != now_ids and not set(map(str, now_ids)) & set(map(str, ids)):
        return 0.0
    was, now = text_of(old).strip(), text_of(new).strip()
    if ids and not (was and now):
        return 1.0
    if _encloses(was, now) or _encloses(now, was) or _masks_inside(was, now):
        return 1.0
    words, now_words = (set(text.split(None, _COMPARED)[:_COMPARED]) for text in (was, now))
    share = len(words & now_words) / max(len(words | now_words), 1)
    return 1.0 if ids and share >= _SAME_ANSWER else share


def _encloses(inner: str, outer: str) -> bool:
    """Whether *outer* is *inner* with notes before or behind it, on lines of their own."""
    if not inner or inner not in outer:
        return False
    if len(inner) >= _TELLING:
        return True
    return re.search(rf"^[^\S\n]*{re.escape(inner)}[^\S\n]*$", outer, re.MULTILINE) is not None


#: A text of this length inside another is no chance.
_TELLING = 40
#: Share of words from which two texts beside the same calls are one.
_SAME_ANSWER = 0.5
#: Words of either text that are counted.
_COMPARED = 50_000
