"""Reads an export through once, before anything is written: is it whole, and what is in it?

Every record is read as it will be read again, every digest derived. What is kept of a message is its
name, its place and its digests; nothing is kept of its words.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..dag.messages import host_uid
from ..dag.nodes import asked_for, marks_of, uid_of
from ..storage.canon import decode, digest, parsed
from ..storage.records import Session
from . import transfer
from .fitting import Fitting
from .verb import Progress

__all__ = ["BAD", "Bad", "Group", "Scan", "each_record", "scan"]

BAD: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a record that is none may raise."""
_SHORT: Final = 200
#: What may stand behind a record.
_ENDS: Final = b" \t\r\n"
#: Lines between two words on how far it is.
_STRIDE: Final = 100


class _Lacking(ValueError):
    """What a record rests on is not there."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A line of the file that cannot be read."""

    line: int
    """Its number in the file, from 1."""
    why: str
    depends: bool = False
    """Whether it is as it should be, and only rests on what cannot be read."""


@dataclass(slots=True)
class Group:
    """One line of the store that was exported, with all that stands on it."""

    line: int
    base: int | None
    sessions: list[Session]
    """Empty where not even that can be read."""
    origins: dict[str, Any] = field(default_factory=dict)
    """By name of the session, where it was imported from."""
    begins: int = 0
    """Number of its first line in the file."""
    places: dict[int, str] = field(default_factory=dict)
    """uid of the message by order key."""
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Other names of each message that is written here."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Number of each message that is written here, by its uid."""
    versions: int = 0
    nodes: list[str] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    """Those of the nodes that are no summary row and no state by turn."""
    records: int = 0
    whole: bool = False
    """Whether it ends as it says."""
    needs: set[int] = field(default_factory=set)
    """Lines of other groups in which messages and summaries of this one are written."""
    bad: list[Bad] = field(default_factory=list)


@dataclass(slots=True)
class Scan:
    """What is in the file."""

    shareable: bool = False
    """Whether secrets were taken out of it."""
    groups: list[Group] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)
    """Lines that belong to no group."""
    lines: int = 0


def each_record(path: Path) -> Iterator[tuple[int, dict[str, Any] | Bad]]:
    """(number of the line, what stands there) of a file; empty lines are left out."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = parsed(_text(line.rstrip(_ENDS)))
                if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
                    raise TypeError("it is no record")
            except BAD as error:
                yield number, Bad(number, _why(error))
            else:
                yield number, record


def _text(line: bytes) -> str:
    """A line as text; an editor may have put a mark at its beginning."""
    return line.decode("utf-8-sig" if line.startswith(codecs.BOM_UTF8) else "utf-8")


def scan(path: Path, progress: Progress) -> Scan:
    """Look through the file.

    Raises:
        LookupError: it is no export, or of a newer form than this version reads.
    """
    return _Scanner(progress).run(path)


class _Scanner:
    """One reading: what was found, and what later records may rest on."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.found = Scan()
        self.group: Group | None = None
        self.broken = False
        """Whether a line before this one could not be read."""
        self.digests: dict[tuple[int, int], bytes] = {}
        self.fitting = Fitting()
        self.homes: dict[int | str, int] = {}
        """The line in whose group a message (by number) or a node (by uid) is written."""
        self.called: dict[str, int] = {}
        """Number of the message of each uid and each other name."""

    def run(self, path: Path) -> Scan:
        for number, record in each_record(path):
            self.found.lines += 1
            if isinstance(record, Bad):
                self._bad(record)
            elif self.found.lines == 1:
                self._header(record, path)
            else:
                self._record(number, record)
            if not number % _STRIDE:
                self.progress("lines read", number, 0)
        if not self.found.lines or (self.found.bad and self.found.bad[0].line == 1):
            raise LookupError(f"{path} is no export of this engine.")
        self._ends()
        return self.found

    def _ends(self) -> None:
        for group in self.found.groups:
            if not group.whole and not group.bad:
                why = "what begins here does not end as it should: lines are missing"
                group.bad.append(Bad(group.begins, why))

    def _header(self, record: Mapping[str, Any], path: Path) -> None:
        if record["kind"] != transfer.FORMAT:
            raise LookupError(f"{path} is no export of this engine.")
        if record.get("version") != transfer.VERSION:
            raise LookupError(f"{path} was made by a newer version. Upgrade this plugin.")
        self.found.shareable = record.get("shareable") is True

    def _bad(self, bad: Bad) -> None:
        self.broken = True
        (self.group or self.found).bad.append(bad)

    def _record(self, number: int, record: Mapping[str, Any]) -> None:
        kind = record["kind"]
        try:
            if kind == "line":
                self.group = _group(number, record)
                self.found.groups.append(self.group)
            elif self.group is None:
                self._bad(Bad(number, f"a {kind!r} in front of the line that it stands on"))
                return
            elif kind == "end":
                self.group.whole = record["records"] == self.group.records + 1
                self.group = None
            else:
                self.group.records += 1
                _READERS[kind](self, self.group, record)
        except BAD as error:
            if kind == "line":
                self.group = Group(-number, None, [], begins=number)
                self.found.groups.append(self.group)
            self._bad(Bad(number, _why(error), depends=self.broken and isinstance(error, _Lacking)))

    def _message(self, group: Group, record: Mapping[str, Any]) -> None:
        placed = transfer.placed_from(record)
        body = transfer.body_of(record)
        if (mark := digest(body)).hex() != record["digest"]:
            raise ValueError("its bytes do not give its digest")
        if not (transfer.is_written_out(record) or isinstance(decode(body), dict)):
            raise TypeError("it holds no message")
        version, uid = transfer.natural(record["version"]), _uid(record["uid"])
        if not 1 <= version <= transfer.natural(record["versions"]):
            raise ValueError(f"it says that it is version {version} of {record['versions']}")
        _stands(group, record)
        if version != 1 and (placed.number, version - 1) not in self.digests:
            raise _Lacking(f"version {version} of a message of which the one before is missing")
        transfer.time_from(record["time"])
        if version == 1:
            if placed.number in self.homes or placed.seq in group.places:
                raise ValueError("its number or its place is taken")
            names = tuple(map(_uid, transfer.items(record["names"])))
            if taken := next((name for name in (uid, *names) if name in self.called), ""):
                raise ValueError(f"{taken!r} names another message already")
            self.called.update(dict.fromkeys((uid, *names), placed.number))
            group.names[uid] = names
            group.places[placed.seq] = uid
            group.numbers[uid] = placed.number
            self.fitting.seqs[group.line, placed.number] = placed.seq
            self.homes[placed.number] = group.line
        else:
            self._is_called(uid, placed.number)
            group.versions += 1
        self.digests[placed.number, version] = mark

    def _place(self, group: Group, record: Mapping[str, Any]) -> None:
        placed = transfer.placed_from(record)
        if placed.seq in group.places:
            raise ValueError("its place is taken")
        uid = _uid(record["uid"])
        _stands(group, record)
        group.needs.add(self._home(placed.number))
        self._is_called(uid, placed.number)
        group.places[placed.seq] = uid
        self.fitting.seqs[group.line, placed.number] = placed.seq

    def _is_called(self, uid: str, number: int) -> None:
        if self.called.get(uid) != number:
            raise ValueError(f"{uid!r} is no name of its message")

    def _home(self, name: int | str) -> int:
        if name not in self.homes:
            raise _Lacking("a message or a summary that it rests on is not in the file")
        return self.homes[name]

    def _node(self, group: Group, record: Mapping[str, Any]) -> None:
        node = transfer.node_from(record)
        for source in node.sources:
            name = source.message if source.node is None else source.node
            group.needs.add(self._home(name if name is not None else 0))
        group.needs.discard(group.line)
        marks = marks_of(node, self.digests)
        gives = transfer.gives_from(record)
        if uid_of(node, marks) != gives or asked_for(node, marks) != node.source_key:
            raise ValueError("its texts and sources do not give its uid")
        if node.uid in self.homes:
            raise ValueError("its uid is that of another summary")
        transfer.is_forgotten(record)
        self.fitting.check(node)
        group.nodes.append(node.uid)
        if node.kind not in ("frame", "state"):
            group.summaries.append(node.uid)
        self.homes[node.uid] = group.line

    def _pass(self, _group: Group, record: Mapping[str, Any]) -> None:
        done = transfer.pass_from(record)
        if done.frame:
            self._home(done.frame)


_READERS: Final = {
    "message": _Scanner._message,  # noqa: SLF001 - its own
    "place": _Scanner._place,  # noqa: SLF001
    "node": _Scanner._node,  # noqa: SLF001
    "pass": _Scanner._pass,  # noqa: SLF001
}


def _group(number: int, record: Mapping[str, Any]) -> Group:
    line = transfer.natural(record["line"])
    base = None if record["base"] is None else transfer.natural(record["base"])
    sessions = [transfer.session_from(each, line) for each in transfer.items(record["sessions"])]
    if not sessions or not all(_uid(each.name) for each in sessions):
        raise ValueError("a line without a session")
    origins = {e["session"]: _origin(e["origin"]) for e in record["sessions"] if e.get("origin")}
    return Group(line, base, sessions, origins, begins=number)


def _stands(group: Group, record: Mapping[str, Any]) -> None:
    """Whether a message says that it is of a session of its group.

    Raises:
        ValueError: it does not.
    """
    for each in group.sessions:
        if each.name == record["session"]:
            return
    raise ValueError(f"its session, {record['session']!r:.40}, is not that of what it stands in")


def _origin(value: Any) -> Any:
    """Where a session was imported from, as an import writes it.

    Raises:
        TypeError: it is not said.
    """
    if not isinstance(value, dict) or not all(
        isinstance(value.get(name), str) for name in ("program", "file")
    ):
        raise TypeError("it does not say where its session was imported from")
    return value


def _uid(value: Any) -> str:
    """A name that a store takes.

    Raises:
        ValueError: it is none.
    """
    uid = host_uid({"message_uid": value})
    if uid is None:
        raise ValueError(f"{value!r} names no message")
    return uid


def _why(error: Exception) -> str:
    said = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return said[:_SHORT] or type(error).__name__
