"""Is this row that message? What a host may have done to it since we saw it.

Hosts strip and collapse white space when they restore a session, flatten
lists of parts, prune tool output, mask secrets, put notes before or behind a
row, and fold neighbouring rows into one. And an engine of ours may have put a
stub in the place of a large payload.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .messages import Row, calls_identity, calls_of, media_of, normal, role_of, text_of

__all__ = ["MARK", "STUB", "is_fold", "is_less", "likeness", "mark_of", "parted"]

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
    if calls_identity(old) != calls_identity(new):
        return False
    if media_of(new) not in ([], media_of(old)):
        return False
    was, now = text_of(old), text_of(new)
    cut = STUB.search(now)
    if cut and was.startswith(now[: cut.start()]) and was.endswith(now[cut.end() :]):
        return True
    return _masks(was, now) or (len(now) <= len(was) and normal(was) == normal(now))


#: What hosts put in the place of a secret.
_MASK = re.compile(r"\*{3,}|\[redacted[^\]\n]*\]|<redacted[^>\n]*>|\u2588+", re.IGNORECASE)


_MASKED = 400
"""Characters that one mask hides at the most."""
_PLACES = 20_000
"""Places of its parts in the text that a masked row may have: with more of them it is not recognised."""


def _masks(was: str, now: str) -> bool:
    """Whether *now* is *was* with parts of it masked."""
    if not _MASK.search(now) or was == now:
        return False
    was = was.strip()
    first, *parts = _MASK.split(now.strip())
    ends = [len(first)] if was.startswith(first) else []
    places = 0
    for part in parts:
        ends = _ends(was, part, ends)
        places += len(ends)
        if places > _PLACES:
            return False
    return len(was) in ends


def _ends(text: str, part: str, starts: Sequence[int]) -> list[int]:
    """Where *part* may end if a mask stands between it and one of *starts*, in rising order.

    Every place is looked at once: a pattern with a gap for each mask would try them in all combinations.
    """
    found: list[int] = []
    nearest = 0
    at = text.find(part, starts[0]) if starts else -1
    while 0 <= at <= starts[-1] + _MASKED:
        while nearest + 1 < len(starts) and starts[nearest + 1] <= at:
            nearest += 1
        start = starts[nearest]
        if at - start <= _MASKED and text.find("\n", start, at) < 0:
            found.append(at + len(part))
        at = text.find(part, at + 1)
    return found


def _masks_inside(was: str, now: str) -> bool:
    """Whether lines of *now* are all of *was* with parts of it masked: the rest is notes around it."""
    if not _MASK.search(now):
        return False
    lines, count = now.split("\n"), was.count("\n") + 1
    starts = range(len(lines) - count + 1)
    return any(_masks(was, "\n".join(lines[at : at + count])) for at in starts)


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
    text = text_of(row)
    words = [(word.group(), word.start(), word.end()) for word in re.finditer(r"\S+", text)]
    starts, at = [0], 0
    for number, versions in enumerate(parts):
        found = next(
            (
                span
                for version in versions
                if (span := _find(text_of(version).split(), words, at)) is not None
                and (not own_lines or _on_own_lines(text, words, span))
            ),
            None,
        )
        if found is None or (own_lines and found[0] == found[1]):
            return None
        if number:
            starts.append(words[found[0]][1] if found[0] < len(words) else len(text))
        at = found[1]
    ends = [*starts[1:], len(text)]
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]


Words = Sequence[tuple[str, int, int]]
"""The words of a text with their places."""


def _find(wanted: Sequence[str], words: Words, at: int) -> tuple[int, int] | None:
    """Where *wanted* stand in a row among *words*, from number *at* on."""
    size = len(wanted)
    for start in range(at, len(words) - size + 1):
        if all(words[start + n][0] == word for n, word in enumerate(wanted)):
            return start, start + size
    return None


def _on_own_lines(text: str, words: Words, span: tuple[int, int]) -> bool:
    start, end = span
    if start == end:
        return False
    before = text[words[start - 1][2] if start else 0 : words[start][1]]
    behind = text[words[end - 1][2] : words[end][1] if end < len(words) else len(text)]
    return (not start or "\n" in before) and (end == len(words) or "\n" in behind)


def likeness(old: Row, new: Row) -> float:
    """How much *new* looks like a later state of *old*: 0 not at all, 1 beyond doubt.

    Beyond doubt: the same calls, a result of the same call, or one text
    inside the other (a note before or behind it). In between: the share of
    words they have in common.
    """
    if role_of(old) != role_of(new):
        return 0.0
    if old.get("tool_call_id") or new.get("tool_call_id"):
        return float(old.get("tool_call_id") == new.get("tool_call_id"))
    ids, now_ids = ([call.get("id") for call in calls_of(row)] for row in (old, new))
    if ids or now_ids:
        return 1.0 if ids == now_ids or (set(map(str, now_ids)) & set(map(str, ids))) else 0.0
    was, now = text_of(old).strip(), text_of(new).strip()
    if _encloses(was, now) or _encloses(now, was) or _masks_inside(was, now):
        return 1.0
    words, now_words = set(was.split()), set(now.split())
    return len(words & now_words) / max(len(words | now_words), 1)


def _encloses(inner: str, outer: str) -> bool:
    """Whether *outer* is *inner* with notes before or behind it, on lines of their own."""
    at = outer.find(inner) if inner else -1
    if at < 0:
        return False
    before, behind = outer[:at], outer[at + len(inner) :]
    own_lines = (not before or before.endswith("\n")) and (not behind or behind.startswith("\n"))
    return own_lines or len(inner) >= _TELLING


#: A text of this length inside another is no chance.
_TELLING = 40
