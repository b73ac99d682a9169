"""Makes a stored node again of what it stands for: one that no model wrote, or one that is damaged.

Its sources are in rows of their own, and the messages in the log: of a damaged node only its texts are lost.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ..storage.errors import StoreDamaged
from ..storage.protocol import Store
from ..storage.records import Node
from .maker import Maker
from .nodes import Item
from .redact import Redact
from .source_text import source_text

__all__ = ["Again"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Again:
    """Finds what stored nodes are made of."""

    store: Store
    maker: Maker
    """Makes what is damaged, and knows the best node for a source."""
    clean: Redact

    def whole(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """*nodes*, each that is damaged replaced by one that was just made of the same.

        Raises:
            NotMade, Halted: on a leash only.
            StoreDamaged: a message under one is not there.
        """
        return tuple([node if node.texts else self._made(node) for node in nodes])

    def _made(self, node: Node) -> Node:
        _log.warning("summary %s is damaged; it is made again of what it stands for", node.uid)
        (full,) = self.store.nodes([node.uid], damaged=True)
        items = self.items(full)
        if items is None:
            raise StoreDamaged(f"Summary {node.uid} is damaged. Run `hermes lcm verify`.")
        return self.maker.nodes([items], self.text)[0]

    def items(self, node: Node) -> list[Item] | None:
        """The sources of *node* as they were; None if one of them is not there any more."""
        pairs = {s.message: s.version for s in node.sources if s.message is not None}
        digests = self.store.audit().digests(pairs.items())
        entries = {
            entry.id: entry._replace(version=pairs[entry.id], digest=digest)
            for entry in self.store.placed(node.line, pairs)
            if (digest := digests.get((entry.id, pairs[entry.id])))
        }
        below = [s.node for s in node.sources if s.node]
        found = self.store.nodes(below, brief=True, damaged=True)
        nodes = dict(zip([each.uid for each in found], self.whole(found), strict=True))
        items = [
            Item(entry=entries.get(s.message)) if s.message is not None else Item(node=nodes.get(s.node or ""))
            for s in node.sources
        ]  # fmt: skip
        return items if all(item.entry or item.node for item in items) else None

    def text(self, items: Sequence[Item]) -> str:
        """What a summariser reads of the sources of a stored node; of those, too, the best there is."""
        wanted = [(item.entry.id, item.entry.version) for item in items if item.entry]
        read = self.store.parsed(wanted, damaged=True)
        bodies = {message.id: row for message, row in read}
        nodes = iter(self.maker.repaired([item.node for item in items if item.node]))
        parts = [bodies[item.entry.id] if item.entry else next(nodes) for item in items]
        return source_text(parts, self.clean)
