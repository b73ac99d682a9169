"""Stubs: what stands in the context for a payload that is too large for it.

A stub is the head and the tail of the text, verbatim, and between them the
name under which ``lcm_expand`` gives the whole back. Only tool results, and a
user message that alone would take more than half of the list, are stubbed.
"""

from __future__ import annotations

from typing import Any

from .identity import STUB, mark_of
from .messages import Row, text_of
from .tokens import count_message, count_text, head, tail

__all__ = ["SMALLEST_STUB", "fresh", "stub"]

#: What the sentence in the middle costs, rounded up.
_SENTENCE = 28
#: The smallest stub that still shows something of its payload, in tokens.
SMALLEST_STUB = 60

#: Notes of the host that must not go with a copy of a row, and what would replay its old text.
_NOT_COPIED = frozenset({"_db_persisted", "_db_row_snapshot"})
_STALE = frozenset({"api_content"})


def fresh(row: Any) -> Any:
    """A copy of a kept row, as the host wants it: without its note that the row is in the database."""
    if not isinstance(row, dict):
        return row
    return {key: value for key, value in row.items() if key not in _NOT_COPIED}


def stub(row: Row, uid: str, tokens: int) -> dict[str, Any]:
    """*row* with a text of at most *tokens*, head and tail kept, naming *uid*."""
    text = text_of(row)
    room = max(tokens - _SENTENCE, 8)
    first, last = head(text, room * 2 // 3), tail(text, room // 3)
    if count_text(text) <= room:
        first, last = text, ""  # what is left out are images, then
    left_out = max(count_message(row) - count_text(first) - count_text(last), 1)
    middle = f"\n{mark_of(uid)} {left_out} tokens are left out here; lcm_expand gives them back.\n"
    if not STUB.search(middle):
        raise ValueError(f"uid {uid!r} cannot be named in a stub")
    kept = {key: value for key, value in fresh(row).items() if key not in _STALE}
    return kept | {"content": f"{first}{middle}{last}"}
