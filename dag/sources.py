"""What new nodes are made of: which stored messages a cut puts under which leaves.

The same for a pass, and for what prepares one: so the nodes that were made
ahead are those that the pass asks for.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..storage.protocol import Store
from ..storage.records import Entry, Node
from .drift import turns_of
from .nodes import Item, source_key
from .passes import PassRequest
from .planner import Cut
from .redact import Redact
from .scene import Scene
from .segment import leaves
from .source_text import source_text
from .subjects import Subjects

__all__ = ["Plan", "Sources"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be under nodes."""

    top: tuple[Node, ...]
    """The nodes that the list shows now."""
    groups: list[list[Item]]
    """The sources of new leaves, oldest first; a node among them goes under its leaf."""
    lifted: tuple[int, ...]
    """Our numbers of the user message that stands behind the summary row although its turn is under it in part."""
    hole: int | None
    """The last order key of that message."""


class Sources:
    """The messages of one scene on one line, as the list shows them."""

    def __init__(
        self, store: Store, line: int, scene: Scene, request: PassRequest, clean: Redact
    ) -> None:
        self._store, self._line, self._scene, self._clean = store, line, scene, clean
        self._request = request
        self.subjects: Subjects | None = None
        """What was found of them, once there was a plan."""
        exact = [each for each in scene.live if each.bound.version]
        self._rows = {each.bound.messages[0]: each.row for each in exact}
        self._places: dict[int, int] | None = None
        self._later = {
            each.bound.messages[0]: each.bound.version for each in exact if each.bound.version > 1
        }

    def text(self, items: Sequence[Item]) -> str:
        """What a summariser reads of *items*."""
        rows = self._read(items)
        parts = [rows[item.entry.id] if item.entry else item.node for item in items]
        return source_text(parts, self._clean)

    def _read(self, items: Iterable[Item]) -> MutableMapping[int, Any]:
        """The messages among *items* by number: from the list where it has them to the letter."""
        others = self._others(item.entry for item in items if item.entry)
        return ChainMap(others, self._rows) if others else self._rows

    def _others(self, entries: Iterable[Entry]) -> dict[int, Any]:
        """The messages that the list does not have to the letter."""
        wanted = [(entry.id, entry.version) for entry in entries if entry.id not in self._rows]
        return {message.id: row for message, row in self._store.parsed(wanted, damaged=True)}

    def plan(self, cut: Cut, leaf: int) -> Plan:
        """What *cut* puts under nodes: leaves that are there already, and behind them others of about *leaf* tokens."""
        scene = self._scene
        placed = self._placed(cut)
        raised = self._scene.live[cut.lifted].bound.messages if cut.lifted is not None else ()
        entries = [each for each in self._span(placed, cut) if each.id not in raised]
        new = tuple.__new__  # half the time of Item(), once a message
        items = [new(Item, (entry, None)) for entry in entries]
        before = scene.frame.lifted if scene.frame else ()
        if before and self._is_kept(before[0], cut):
            raised = raised or before
        elif before:
            lifted = [Item(entry=placed[each]) for each in before if each in placed]
            hole = max((item.last_seq for item in lifted), default=0)
            partial = [Item(node=node) for node in scene.top if node.first_seq > hole]
            items = [*lifted, *partial, *(item for item in items if item.first_seq > hole)]
        hole_seq = max((placed[each].seq for each in raised if each in placed), default=None)
        groups = self._groups(items, hole_seq, leaf)
        parts_turn = hole_seq is not None and (
            any(item.last_seq > hole_seq for item in items)
            or any(node.first_seq > hole_seq for node in scene.top)
        )
        return Plan(scene.top, groups, raised if parts_turn else (), hole_seq)

    def behind(self, items: Sequence[Item]) -> int:
        """Index of the first row of the list behind the last one that holds a message of *items*."""
        if self._places is None:
            self._places = {
                message: place
                for place, live in enumerate(self._scene.live)
                for message in live.bound.messages
            }
        places = self._places
        return 1 + max((places.get(item.entry.id, -1) for item in items if item.entry), default=-1)

    def _groups(self, items: Sequence[Item], hole: int | None, leaf: int) -> list[list[Item]]:
        """Sources of leaves; none reaches over the lifted message.

        A leaf that was made stays a leaf, wherever the conversation would be cut now.
        """
        sides = [items] if hole is None else [
            [item for item in items if item.last_seq < hole],
            [item for item in items if item.first_seq > hole],
        ]  # fmt: skip
        rows = self._read(items)
        if items and self.subjects is None:
            self.subjects = self._subjects(items, rows, hole)
        seams = self.subjects.seams if self.subjects else ()
        groups = []
        for side in sides:
            made = self._made(side)
            rest = side[sum(map(len, made)) :]
            read = [rows[item.entry.id] if item.entry else {} for item in rest]
            groups += made + leaves(rest, read, leaf, seams)
        return groups

    def _made(self, items: Sequence[Item]) -> list[list[Item]]:
        """The sources of leaves that are there, one behind the other from the first of *items* on."""
        groups: list[list[Item]] = []
        levels = self._request.settings.target_token_levels
        at = 0
        while at < len(items) and (entry := items[at].entry):
            over = list(self._store.over([entry.id]).values())
            found = self._store.nodes(
                over, damaged=True
            )  # its sources tell which leaf is to be made again
            group = list(items[at : at + len(found[0].sources)]) if found else []
            if not group or source_key(group, levels) != found[0].source_key:
                break
            groups.append(group)
            at += len(group)
        return groups

    def _subjects(
        self, items: Sequence[Item], rows: MutableMapping[int, Any], hole: int | None
    ) -> Subjects:
        """The same for every try, and for a later pass: what stays is looked at too."""
        own = [item.entry for item in items if item.entry]
        start = min(items[-1].last_seq + 1, hole or self._scene.end)
        behind = self._entries(start, self._scene.end)
        known = {each.id for each in own if each.seq >= start}
        rest = [self._shown(each) for each in behind if not each.withdrawn and each.id not in known]
        if others := self._others(rest):
            rows = ChainMap(others, rows)
        turns = turns_of(sorted([*own, *rest], key=lambda entry: entry.seq), rows)
        window = self._request.settings.drift_window_size
        return Subjects(turns, window, self._request.judge, self._clean)

    def _ids(self, index: int) -> tuple[int, ...]:
        """Our numbers of the first message (or fold) at or behind that place of the list."""
        behind = (each.bound.messages for each in self._scene.live[index:])
        return next((messages for messages in behind if messages), ())

    def _placed(self, cut: Cut) -> dict[int, Entry]:
        wanted = {*self._ids(0), *self._ids(cut.keep_from)}
        if cut.lifted is not None:
            wanted.update(self._ids(cut.lifted))
        if self._scene.frame:
            wanted.update(self._scene.frame.lifted)
        return {entry.id: self._shown(entry) for entry in self._store.placed(self._line, wanted)}

    def _span(self, placed: dict[int, Entry], cut: Cut) -> list[Entry]:
        """Stored messages between what is compacted and what stays, those that the list leaves out included."""
        if self._scene.frame is not None:
            start = self._scene.frame.last_seq + 1
        else:
            start = min((placed[each].seq for each in self._ids(0) if each in placed), default=1)
        first = [placed[each].seq for each in self._ids(cut.keep_from) if each in placed]
        last = min(first) - 1 if first else self._scene.end  # not what came during the pass
        return [self._shown(entry) for entry in self._entries(start, last) if not entry.withdrawn]

    def _entries(self, first: int, last: int) -> list[Entry]:
        return self._store.entries(self._line, first=first, last=last, brief="places")

    def _shown(self, entry: Entry) -> Entry:
        """The entry in the version that this list shows: another session may have made a later one."""
        if entry.id not in self._rows:
            return entry
        version = self._later.get(entry.id, 1)
        if version == entry.version:
            return entry
        ((message, _),) = self._store.parsed([(entry.id, version)], damaged=True)
        return entry._replace(version=version, digest=message.digest)

    def _is_kept(self, message: int, cut: Cut) -> bool:
        indexes = [
            *([cut.lifted] if cut.lifted is not None else []),
            *range(cut.keep_from, len(self._scene.live)),
        ]
        return any(message in self._scene.live[index].bound.messages for index in indexes)
