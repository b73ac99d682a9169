"""Names for messages in a text of ours, under which the tools give them back."""

from __future__ import annotations

from collections.abc import Iterable

from ..storage.canon import digest
from ..storage.protocol import Store
from .identity import MARK, mark_of
from .ingest import Bound

__all__ = ["names_of"]


def names_of(store: Store, bounds: Iterable[Bound]) -> dict[int, str]:
    """A uid for the first message of each of *bounds*, by our number of it.

    Each can be named in our form; a host's that cannot gets an alias.

    Raises:
        StoreError: the store failed.
    """
    uids = {}
    for message, _ in store.parsed([(bound.messages[0], 0) for bound in bounds], damaged=True):
        uid = message.uid
        if not MARK.match(mark_of(uid)):
            uid = digest(uid.encode()).hex()
            store.alias(message.id, uid)
        uids[message.id] = uid
    return uids
