"""Does this list go on from what that line holds? Told by the messages with which it begins.

A host may have changed them when it copied them: stripped, folded, decorated. So they are bound as
an ingest would bind them, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..storage.protocol import Store
from .editions import Editions
from .leftover import Probe, Uids
from .matching import match
from .messages import absorbed_uids, host_uid, is_system, key_of
from .renderer import HEAD

__all__ = ["descends"]

#: Rows of a list, and stored messages of a line, that are compared for evidence.
_HEAD = 6
_EVIDENCE = 400


def descends(store: Store, line: int, rows: Sequence[Any]) -> bool:
    """Whether the list begins with what *line* holds: a summary of ours, or most of its first messages."""
    talk = [row for row in rows if not is_system(row)][:_HEAD]
    if not talk:
        return False
    if str(talk[0].get("content", "")).startswith(HEAD[:40]):
        return True
    names = [tuple(name for name in (host_uid(row), *absorbed_uids(row)) if name) for row in talk]
    known = store.known([name for each in names for name in each])
    if names[0] and (number := known.get(names[0][0])):
        return bool(store.placed(line, [number]))
    probes = [
        Probe(n, row, key_of(row), name)
        for n, (row, name) in enumerate(zip(talk, names, strict=True))
    ]
    stored = store.entries(line)[:_EVIDENCE]
    found = match(stored, probes, Uids(known, any(names)), Editions(store, line).read).found
    return 2 * sum(map(bool, found)) >= len(talk)
