"""The executable specification of ``storage.forget``, over a store in memory.

A part of :class:`storage.memory.MemoryStore` in a file of its own, so it uses what is private there.
"""

# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from .errors import StoreForgotten
from .escapes import undone
from .forget import Stone
from .records import Draft, Entry, Node

if TYPE_CHECKING:
    from .memory import MemoryStore

__all__ = ["MemoryEraser"]


class MemoryEraser:
    """A :class:`storage.forget.Eraser` of one store in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._stones: dict[tuple[str, str], Stone] = {}

    def stones(self, *kinds: str) -> list[Stone]:
        return [
            stone for key, stone in sorted(self._stones.items()) if not kinds or key[0] in kinds
        ]

    def is_forgotten(self, session: str) -> bool:
        return ("session", session) in self._stones

    def refuse(self, line: int) -> None:
        """Let nothing be written on a line whose sessions were forgotten."""
        if any(stone.line == line for stone in self.stones("session")):
            raise StoreForgotten("The session was forgotten meanwhile; nothing of it is stored.")

    def bury(self, stone: Stone) -> None:
        self._stones[stone.kind, stone.name] = stone

    def unbury(self, kind: str, name: str) -> None:
        self._stones.pop((kind, name), None)

    def alone(self, line: int) -> list[Entry]:
        others = {session.line for session in self._store.sessions()} - {line}
        shared = {entry.id for other in others for entry in self._store.entries(other)}
        return [entry for entry in self._store.entries(line) if entry.id not in shared]

    def above(self, messages: Sequence[int]) -> list[str]:
        gone, under = set(messages), dict[str, None]()
        for node in self._store._nodes.values():  # in the order in which they were put
            if any(source.message in gone or source.node in under for source in node.sources):
                under[node.uid] = None
        return list(under)

    def remove(self, line: int, messages: Sequence[int], nodes: Sequence[str]) -> None:
        store, gone = self._store, set(messages)
        names = {each.name for each in store._sessions.values() if each.line == line}
        for uid in nodes:
            del store._nodes[uid]
        places = store._lines[line].places
        store._lines[line].places = {
            s: place for s, place in places.items() if place[0] not in gone
        }
        for number in gone:
            del store._messages[number]
        store._uids = {uid: number for uid, number in store._uids.items() if number not in gone}
        for name in names:
            del store._sessions[name]
        for kind, name in list(self._stones):
            if (kind in ("node", "moved") and name in nodes) or (
                kind == "message" and int(name.partition("@")[0]) in gone
            ):
                del self._stones[kind, name]
        store._passes = [done for done in store._passes if done.session not in names]
        store._memory = {key: value for key, value in store._memory.items() if key[0] not in names}

    def overwrite(self, message: int, version: int, draft: Draft) -> None:
        drafts = self._store._messages[message].drafts
        drafts[version - 1] = draft._replace(digest=drafts[version - 1].digest)

    def overwrite_node(self, node: Node) -> None:
        self._store._nodes[node.uid] = node

    def rename(self, message: int, uid: str, other: str) -> None:
        store = self._store
        del store._uids[uid]
        store._uids[other] = message
        if store._messages[message].uid == uid:
            store._messages[message].uid = other

    def suspects(self, strings: Sequence[str]) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        for number, message in sorted(self._store._messages.items()):
            yield number, [(number, at) for at, _ in enumerate(message.drafts, 1)]

    def called(self, strings: Sequence[str]) -> list[tuple[int, str]]:
        return [
            (number, uid)
            for uid, number in sorted(self._store._uids.items())
            if "\\" in uid or any(each in uid for each in strings)
        ]

    def words(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for uid, node in self._store._nodes.items():
            yield uid, (*node.texts.values(), node.topic, *node.hints)

    def holding(self, needles: Sequence[bytes], plain: Sequence[bytes] = ()) -> dict[str, int]:
        store = self._store
        kept: dict[str, Sequence[object]] = {
            "messages": [
                f"{draft.role} {draft.body.decode('utf-8', 'surrogatepass')}"
                for message in store._messages.values()
                for draft in message.drafts
            ],
            "aliases": list(store._uids),
            "nodes": list(store._nodes.values()),
            "sessions": store.sessions(),
            "memory": list(store._memory.items()),
            "passes": list(store._passes),
        }
        found = dict[str, int]()
        for what, rows in kept.items():
            texts = [str(row).encode("utf-8", "surrogatepass") for row in rows]
            count = sum(
                any(needle in text for needle in needles)
                or any(each in view for view in undone(text) for each in plain)
                for text in texts
            )
            found |= {what: count} if count else {}
        return found

    def sweep(self, told: Callable[[int], None] | None = None) -> None:
        for line in self._store._lines.values():
            line.revision += 1

    def scrub(self) -> bool:
        return True

    def is_scrubbed(self) -> bool:
        return True
