"""The store without a file: the executable specification of every other.

It serves sessions that must leave no trace, and says by its shortness what a
backend has to do. Searching is a plain BM25 over words.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .archive import RETURNED, Placed
from .audit import MemoryAudit
from .canon import decode
from .errors import StoreDamaged
from .memory_archive import MemoryArchive
from .memory_forget import MemoryEraser
from .memory_graph import MemoryGraph
from .memory_rows import Kept, Line
from .memory_search import admits, search
from .mutex import mutex
from .ranking import ranked, words_of
from .records import Brief, Draft, Entry, Filter, Hit, Message, Node, Pass, Session, Totals
from .text import searchable

__all__ = ["MemoryStore"]

_GAP = 1 << 20


class MemoryStore(MemoryGraph):
    """A :class:`storage.protocol.Store` that lives as long as the object."""

    path = ""

    def __init__(self) -> None:
        super().__init__()
        self._mutex = mutex()
        self._sessions: dict[str, Session] = {}
        self._lines: dict[int, Line] = {}
        self._messages: dict[int, Kept] = {}
        self._last = 0
        self._uids: dict[str, int] = {}
        self._memory: dict[tuple[str, str], Any] = {}
        self._passes: list[Pass] = []
        self._eraser = MemoryEraser(self)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        with self._mutex:
            yield

    def close(self) -> None:
        """Nothing to let go of."""

    def stale(self) -> bool:
        return False

    def archive(self) -> MemoryArchive:
        return MemoryArchive(self)

    # sessions and lines

    def session(self, name: str) -> Session | None:
        return self._sessions.get(name)

    def open_session(self, name: str, *, parent: str = "", relation: str = "new") -> Session:
        with self._mutex:
            if name in self._sessions:
                return self._sessions[name]
            source = self._sessions.get(parent)
            if source is not None and relation == "rotation":
                line = source.line
            else:
                line = max(self._lines, default=0) + 1
                base = source.line if source is not None and relation == "branch" else None
                self._lines[line] = Line(
                    base, places=dict(self._lines[base].places) if base else {}
                )
            session = Session(name, line, parent, relation if source else "new", time.time())
            self._sessions[name] = session
            return session

    def put_session(self, session: Session, base: int | None) -> Session:
        """``Archive.restore_session``."""
        with self._mutex:
            self._lines.setdefault(session.line, Line(base))
            return self._sessions.setdefault(session.name, session)

    def sessions(self, lines: Sequence[int] | None = None) -> list[Session]:
        found = [each for each in self._sessions.values() if lines is None or each.line in lines]
        return sorted(found, key=lambda session: (session.created, session.name))

    def lineage(self, line: int) -> tuple[int, ...]:
        found: list[int] = []
        at: int | None = line
        while at is not None:
            found.append(at)
            at = self._lines[at].base
        return tuple(found)

    def revision(self, line: int) -> int:
        return self._lines[line].revision if line in self._lines else 0

    # messages

    def append(
        self, line: int, drafts: Sequence[tuple[Draft, int]], *, after: int | None = None
    ) -> list[Entry]:
        with self._mutex:
            seqs = self._seqs(line, len(drafts), after)
            for draft, _ in drafts:
                if self._owns(draft.uid):
                    raise StoreDamaged(f"uid {draft.uid} is taken.")
            for seq, (draft, turn) in zip(seqs, drafts, strict=True):
                self.put_entry(line, Placed(0, seq, turn), draft)
            return [self._entry(line, seq) for seq in seqs]

    def _owns(self, uid: str) -> bool:
        """Whether a message has this uid, and not only as one of its other names."""
        number = self._uids.get(uid)
        return number is not None and self._messages[number].uid == uid

    def put_entry(self, line: int, placed: Placed, draft: Draft | None) -> None:
        """``Archive.restore`` for one message; number 0 stands for the next one."""
        number = placed.number
        if draft is not None:
            number = number or self._last + 1
            self._last = max(self._last, number)
            self._messages[number] = Kept(draft.uid, draft.time, [draft])
            self._uids[draft.uid] = number
        self._lines[line].places[placed.seq] = (number, placed.turn, placed.state)
        self._lines[line].revision += 1

    def numbers(self) -> set[int]:
        """Those of all messages."""
        return set(self._messages)

    def names(self) -> dict[int, tuple[str, ...]]:
        """Every name of each message but its uid."""
        found: dict[int, tuple[str, ...]] = {}
        for uid, number in sorted(self._uids.items()):
            if uid != self._messages[number].uid:
                found[number] = (*found.get(number, ()), uid)
        return found

    def _seqs(self, line: int, count: int, after: int | None) -> list[int]:
        places = self._lines[line].places
        if after is None:
            after = max(places, default=0)
        following = min((seq for seq in places if seq > after), default=None)
        room = _GAP if following is None else (following - after) // (count + 1)
        if room == 0:
            raise StoreDamaged(f"No room left for {count} rows between two rows of line {line}.")
        return [after + room * (n + 1) for n in range(count)]

    def link(self, line: int, messages: Sequence[tuple[int, int]]) -> list[Entry]:
        with self._mutex:
            seqs = self._seqs(line, len(messages), None)
            for seq, (message, turn) in zip(seqs, messages, strict=True):
                self._lines[line].places[seq] = (message, turn, 0)
            self._lines[line].revision += 1
            return [self._entry(line, seq) for seq in seqs]

    def revise(self, line: int, message: int, draft: Draft) -> None:
        with self._mutex:
            self._messages[message].drafts.append(draft)
            self._lines[line].revision += 1

    def editions(self, message: int) -> list[tuple[int, bytes]]:
        return [(n, draft.key) for n, draft in enumerate(self._messages[message].drafts, 1)]

    def rename(self, line: int, message: int, uid: str) -> None:
        with self._mutex:
            if self._owns(uid):
                return
            self._messages[message].uid = uid
            self._uids[uid] = message
            self._lines[line].revision += 1

    def alias(self, message: int, uid: str) -> None:
        with self._mutex:
            self._uids.setdefault(uid, message)

    def withdraw(self, line: int, seqs: Iterable[int], *, withdrawn: bool) -> None:
        with self._mutex:
            for seq in seqs:
                message, turn, state = self._lines[line].places[seq]
                state = 1 if withdrawn else RETURNED * bool(state)
                self._lines[line].places[seq] = (message, turn, state)
            self._lines[line].revision += 1

    def withdrawn(self, line: int, *, last: int) -> list[Entry]:
        return [entry for entry in self.entries(line, last=last) if entry.withdrawn]

    def renumber(self, line: int, turns: Sequence[tuple[int, int]]) -> None:
        with self._mutex:
            for seq, turn in turns:
                message, _, state = self._lines[line].places[seq]
                self._lines[line].places[seq] = (message, turn, state)
            self._lines[line].revision += 1

    def _entry(self, line: int, seq: int) -> Entry:
        number, turn, state = self._lines[line].places[seq]
        kept = self._messages[number]
        now = kept.drafts[-1]
        return Entry(
            number,
            seq,
            kept.uid,
            kept.drafts[0].role,
            turn,
            now.key,
            now.digest,
            len(kept.drafts),
            now.tokens,
            state == 1,
            state == RETURNED,
        )

    def entries(
        self, line: int, *, first: int = 0, last: int | None = None, brief: Brief = ""
    ) -> list[Entry]:
        with self._mutex:
            places = self._lines[line].places if line in self._lines else {}
            return [
                self._entry(line, seq)
                for seq in sorted(places)
                if first <= seq and (last is None or seq <= last)
            ]

    def tail(self, line: int, limit: int, *, before: int | None = None) -> list[Entry]:
        found = [entry for entry in self.entries(line) if before is None or entry.seq < before]
        return found[-limit:] if limit else []

    def turns(self, line: int, first: int, last: int) -> list[Entry]:
        return [entry for entry in self.entries(line) if first <= entry.turn <= last]

    def known(self, uids: Iterable[str]) -> dict[str, int]:
        return {uid: self._uids[uid] for uid in uids if uid in self._uids}

    def placed(self, line: int, messages: Iterable[int]) -> list[Entry]:
        wanted = set(messages)
        return [entry for entry in self.entries(line) if entry.id in wanted]

    def lines_of(self, messages: Iterable[int]) -> dict[int, int]:
        with self._mutex:
            newest_first = sorted(self._lines.items(), reverse=True)
            held = {at[0]: line for line, kept in newest_first for at in kept.places.values()}
        return {number: held[number] for number in messages if number in held}

    def read(self, wanted: Sequence[tuple[int, int]]) -> list[Message]:
        return [self._message(number, version) for number, version in wanted]

    def parsed(
        self, wanted: Sequence[tuple[int, int]], *, damaged: bool = False
    ) -> list[tuple[Message, Any]]:
        del damaged  # nothing in memory is
        return [(message, decode(message.body)) for message in self.read(wanted)]

    def _message(self, number: int, version: int) -> Message:
        kept = self._messages.get(number)
        if kept is None or version > len(kept.drafts):
            raise StoreDamaged(f"Message {number} is missing.")
        draft = kept.drafts[version - 1]
        return Message(
            number, kept.uid, kept.drafts[0].role, draft.body, draft.digest, version or len(kept.drafts),
            len(kept.drafts), kept.time, kept.drafts[-1 if not version else version - 1].tool,
        )  # fmt: skip

    def stream(self, line: int | None = None) -> Iterator[Message]:
        on_line = None if line is None else {entry.id for entry in self.entries(line)}
        for number in sorted(self._messages):
            if on_line is None or number in on_line:
                for version in range(1, len(self._messages[number].drafts) + 1):
                    yield self._message(number, version)

    # nodes

    def put_node(self, node: Node) -> None:
        with self._mutex:
            self._eraser.refuse(node.line)
            self._nodes.setdefault(node.uid, node)

    # looking things up

    def resolve(self, prefix: str) -> list[tuple[str, str]]:
        named = [number for uid, number in self._uids.items() if uid.startswith(prefix)]
        messages = {self._messages[number].uid for number in named}
        nodes = [uid for uid in self._nodes if uid.startswith(prefix)]
        found = [("message", uid) for uid in sorted(messages)] + [("node", uid) for uid in nodes]
        return found[:10]

    def search(
        self, words: Sequence[str], phrases: Sequence[str], where: Filter, limit: int
    ) -> list[Hit]:
        kept = self._messages
        around = self.texts(Filter(where.lines, without=where.without, last=where.last))
        passing = {n for n in kept if self._admits(n, kept[n], where)}
        placed = [
            [line.places[seq][0] for seq in sorted(line.places)] for line in self._lines.values()
        ]
        return search(kept, placed, around, passing, (words, phrases), where.without_tools)[:limit]

    def search_nodes(
        self, words: Sequence[str], phrases: Sequence[str], where: Filter, limit: int
    ) -> list[Hit]:
        texts = {
            node.uid: "\n".join([node.topic, *node.hints, *list(node.texts.values())[-1:]])
            for node in self._nodes.values()
            if node.kind not in ("frame", "state")
            and (where.lines is None or node.line in where.lines)
            and (where.made is None or node.time <= where.made)
        }
        return [Hit(score, node=uid) for uid, score in ranked(texts, words, phrases)][:limit]

    def texts(self, where: Filter) -> Iterator[tuple[int, int, str]]:
        for number in sorted(self._messages, reverse=True):
            kept = self._messages[number]
            if self._admits(number, kept, where):
                for version in range(len(kept.drafts), 0, -1):
                    yield number, version, searchable(decode(kept.drafts[version - 1].body))

    def count(self, where: Filter) -> int:
        return sum(self._admits(number, kept, where) for number, kept in self._messages.items())

    def _admits(self, number: int, kept: Kept, where: Filter) -> bool:
        return self._is_placed(number, where) and admits(where, number, kept)

    def _is_placed(self, number: int, where: Filter) -> bool:
        if where.lines is None and where.turns is None:
            return True
        first, last = where.turns or (0, 1 << 62)
        lines = self._lines if where.lines is None else where.lines
        places = (entry for line in list(lines) for entry in self.placed(line, [number]))
        return any(first <= entry.turn <= last for entry in places)

    def newest(self) -> int:
        return max(self._messages, default=0)

    def vocabulary(self) -> list[str]:
        return sorted(
            {word.lower() for _, _, text in self.texts(Filter()) for word in words_of(text)}
        )

    # what is remembered beside the log

    def remember(self, session: str, name: str, value: Any) -> None:
        self._memory[session, name] = value

    def recall(self, session: str, name: str) -> Any:
        return self._memory.get((session, name))

    def record_pass(self, done: Pass) -> None:
        self._passes.append(replace(done))

    def passes(self, sessions: Sequence[str] | None = None) -> list[Pass]:
        return [done for done in self._passes if sessions is None or done.session in sessions]

    def passed(self, session: str) -> int:
        return len(self.passes([session]))

    def totals(self, line: int | None = None) -> Totals:
        with self._mutex:
            lines = [line] if line is not None else list(self._lines)
            places = [place for each in lines for place in self._lines[each].places.values()]
            numbers = {place[0] for place in places} if line is not None else set(self._messages)
            nodes = [node for node in self._nodes.values() if node.line in lines]
            return Totals(
                sessions=sum(session.line in lines for session in self._sessions.values()),
                messages=len(numbers),
                withdrawn=sum(place[2] == 1 for place in places),
                versions=sum(len(self._messages[number].drafts) - 1 for number in numbers),
                nodes=dict(
                    sorted(
                        Counter(
                            node.depth for node in nodes if node.kind not in ("frame", "state")
                        ).items()
                    )
                ),
                degraded=len(self.degraded(lines, len(nodes))),
                bytes=0,
            )

    def check(self) -> Mapping[str, str]:
        return {}

    def audit(self) -> MemoryAudit:
        return MemoryAudit(self)

    def eraser(self) -> MemoryEraser:
        return self._eraser

    def reindex(self) -> int:
        return sum(len(kept.drafts) for kept in self._messages.values()) + len(self._nodes)
