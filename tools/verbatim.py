"""What stands in a message just as it is asked for, which an index of stems cannot tell.

To the index ``src/themes/dark.json`` is the phrase "src theme dark json", which other paths hold as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..storage.errors import StoreDamaged
from ..storage.records import Hit
from .desk import Desk
from .query import Terms

__all__ = ["FIGURES", "spellings", "verbatim"]

_ESCAPE = re.compile(r"(?<![\w\\])\\?([nrt])(?=[A-Z])")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}

#: Messages that are read at a time, and characters of all of them from which on it is enough.
_BATCH, _ENOUGH = 25, 4_000_000
FIGURES: Mapping[str, Any] = {"batch": _BATCH, "enough": _ENOUGH}
"""The same by name, for a page that ranks without us."""


def verbatim(desk: Desk, hits: Sequence[Hit], terms: Terms) -> list[Hit]:
    """*hits* in the order that they have when those with a name of *terms* in them count more.

    They gain as much of the best one's score as the names are of the question: asked for
    nothing else, they come first.
    """
    if not terms.names or not hits:
        return list(hits)
    either = "|".join(map(re.escape, terms.names))
    name = re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE)
    holding = {hit for hit, text in _texts(desk, hits) if name.search(text)}
    inside = " ".join(terms.names).lower()
    share = sum(word in inside for word in terms.words) / len(terms.words)
    gain = max(hit.score for hit in hits) * share
    told = [replace(hit, score=hit.score + gain) if hit in holding else hit for hit in hits]
    return sorted(told, key=lambda hit: -hit.score)


def spellings(literal: str) -> dict[str, str]:
    """What of a text *literal* may be, and how it is read then: as it is, or behind an escape that was undone.

    JSON writes the end of a line as two characters, and a word that is copied from there begins with the second.
    """
    undone = _ESCAPE.sub(lambda found: _ESCAPED[found[1]], literal)
    return {literal: "as a part of the text"} | (
        {undone: "where an escape is read as the end of a line or a tab"}
        if undone != literal
        else {}
    )


def _texts(desk: Desk, hits: Sequence[Hit]) -> Iterator[tuple[Hit, str]]:
    of_messages = [hit for hit in hits if hit.message is not None]
    size = 0
    for start in range(0, len(of_messages), _BATCH):
        batch = of_messages[start : start + _BATCH]
        try:
            said = desk.said([(hit.message or 0, hit.version) for hit in batch])
        except StoreDamaged:  # which is said when it is shown
            continue
        for hit, (_, text) in zip(batch, said, strict=True):
            size += len(text)
            yield hit, text
        if size > _ENOUGH:
            return
