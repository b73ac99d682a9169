"""What the explorer shows of one thing: a summary at each of its sizes, messages word for word.

What a message says is made into a text here: a number with many digits would not come through a
browser's JSON as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..storage.canon import decode
from ..storage.proof import numbers_of, read_whole
from ..storage.protocol import Store
from ..storage.records import Entry, Message, Node, Session
from ..tools.answers import ToolError
from ..tools.describe import stamp
from .wording import words

__all__ = ["MOST", "batches", "messages", "node", "nodes", "versions"]

#: Messages of one answer.
MOST: Final = 100
#: Of the versions of a message as the host had them, None for a damaged one, and of what is shown of each.
More = Callable[[Sequence[Any], Sequence[str]], Mapping[str, Any]]
_DAMAGED: Final = "(damaged: it cannot be read; `hermes lcm verify` says more)"


def node(store: Store, session: Session, uid: str) -> dict[str, Any]:
    """A summary.

    Raises:
        ToolError: there is none of that uid.
    """
    found = store.nodes([uid])
    if not found:
        raise ToolError(f"No summary is called '{uid[:80]}'.", "The page may be out of date.")
    wanted = [source.message for source in found[0].sources if source.message is not None]
    uids = {entry.id: entry.uid for entry in store.placed(session.line, wanted)}
    return nodes(found, uids)[0]


def nodes(found: Sequence[Node], uids: Mapping[int, str]) -> list[dict[str, Any]]:
    """Summaries, with the other summaries and those of the messages in *uids* that each is made of."""
    return [
        {
            "uid": each.uid,
            "levels": {str(level): text for level, text in sorted(each.texts.items())},
            "sufficient": each.sufficient,
            "hints": list(each.hints),
            "degraded": each.degraded,
            "nodes": [source.node for source in each.sources if source.node],
            "messages": [
                [uids[number], version]
                for number, version, _, _ in each.sources
                if number is not None and number in uids
            ],
        }
        for each in found
    ]


def messages(store: Store, session: Session, first: str, last: str) -> list[dict[str, Any]]:
    """The messages from one to another of these uids, at most :data:`MOST` of them.

    Raises:
        ToolError: there is none of that uid in the session.
    """
    numbers = store.known([first, last])
    places = {e.id: e.seq for e in store.placed(session.line, set(numbers.values()))}
    if first not in numbers or last not in numbers or len(places) < len(set(numbers.values())):
        raise ToolError("There is no such message in this session.", "The page may be out of date.")
    between = [places[numbers[name]] for name in (first, last)]
    return versions(store, store.entries(session.line, first=between[0], last=between[1])[:MOST])


def versions(
    store: Store,
    entries: Sequence[Entry],
    names: Mapping[int, Sequence[str]] | None = None,
    more: More | None = None,
) -> list[dict[str, Any]]:
    """Messages in every version, the current one last; one that is damaged says so in its place.

    *names*: the other names of these messages and of any others, where they were read for all of them;
    *more*: what else there is to say of a message.
    """
    pairs = [
        (entry.id, version)
        for entry in entries
        for version in ((1,) if entry.version == 1 else numbers_of(store, entry))
    ]
    found: dict[int, list[Message | None]] = defaultdict(list)
    for (number, _), message in zip(pairs, read_whole(store, pairs), strict=True):
        found[number].append(message)
    if names is None:
        names = store.archive().aliases([entry.id for entry in entries])
    return [_message(entry, found[entry.id], names.get(entry.id, ()), more) for entry in entries]


def _message(
    entry: Entry, found: Sequence[Message | None], names: Sequence[str], more: More | None
) -> dict[str, Any]:
    whole = [message for message in found if message is not None]
    rows = [decode(each.body) if each else None for each in found]
    said = [_DAMAGED if row is None else words(row) for row in rows]
    return {
        "uid": entry.uid,
        "names": list(names),
        "time": stamp(whole[0].time) if whole else None,
        "tool": whole[-1].tool if whole else "",
        "versions": said,
        **(more(rows, said) if more else {}),
    }


def batches(entries: list[Entry]) -> Iterator[list[Entry]]:
    """*entries* in parts."""
    for start in range(0, len(entries), MOST):
        yield entries[start : start + MOST]
