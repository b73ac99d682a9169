"""What the explorer shows of one thing: a summary at each of its sizes, messages word for word.

What a message says is made into a text here: a number with many digits would not come through a
browser's JSON as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..storage.canon import decode
from ..storage.protocol import Store
from ..storage.records import Entry, Message, Node, Session
from ..tools.answers import ToolError
from ..tools.describe import stamp
from .show import words
from .writing import numbers_of, read_whole

__all__ = ["MOST", "batches", "node", "nodes", "versions"]

#: Messages of one answer.
MOST: Final = 100
_DAMAGED: Final = "(damaged: it cannot be read; `hermes lcm verify` says more)"


def node(store: Store, session: Session, uid: str) -> dict[str, Any]:
    """A summary.

    Raises:
        ToolError: there is none of that uid.
    """
    found = store.nodes([uid])
    if not found:
        raise ToolError(f"No summary is called '{uid[:80]}'.", "The page may be out of date.")
    return nodes(store, session, found)[0]


def nodes(store: Store, session: Session, found: Sequence[Node]) -> list[dict[str, Any]]:
    """Summaries, with what each is made of: other summaries, and places in the row of messages."""
    places = _places(store, session)
    return [
        {
            "uid": each.uid,
            "levels": {str(level): text for level, text in sorted(each.texts.items())},
            "sufficient": each.sufficient,
            "hints": list(each.hints),
            "degraded": each.degraded,
            "sources": [
                [source.node, source.level]
                if source.node
                else [places.get(source.message or 0, -1), source.version]
                for source in each.sources
            ],
        }
        for each in found
    ]


def _places(store: Store, session: Session) -> dict[int, int]:
    return {entry.id: place for place, entry in enumerate(store.entries(session.line))}


def versions(store: Store, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Messages in every version, the current one last; one that is damaged says so in its place."""
    pairs = [(entry.id, version) for entry in entries for version in numbers_of(store, entry)]
    found: dict[int, list[Message | None]] = defaultdict(list)
    for (number, _), message in zip(pairs, read_whole(store, pairs), strict=True):
        found[number].append(message)
    names = store.archive().aliases([entry.id for entry in entries])
    return [_message(entry, found[entry.id], names.get(entry.id, ())) for entry in entries]


def _message(entry: Entry, found: Sequence[Message | None], names: Sequence[str]) -> dict[str, Any]:
    whole = [message for message in found if message is not None]
    return {
        "uid": entry.uid,
        "names": list(names),
        "time": stamp(whole[0].time) if whole else None,
        "tool": whole[-1].tool if whole else "",
        "versions": [words(decode(each.body)) if each else _DAMAGED for each in found],
    }


def batches(entries: list[Entry], size: int = MOST) -> Iterator[list[Entry]]:
    """*entries* in parts."""
    for start in range(0, len(entries), size):
        yield entries[start : start + size]
