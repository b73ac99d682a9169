"""The store in a SQLite file: messages, lines and what is remembered beside them.

Nodes are in ``storage.graph_tables``, searching in ``storage.fts``; both work
on the connection that is opened here. What each method promises is written in
``storage.protocol``.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import bodies, fts, fts_search, graph_tables, log_tables, session_tables
from .archive import RETURNED
from .connection import Connection
from .errors import StoreError, StoreIndexBroken
from .records import Brief, Draft, Entry, Filter, Hit, Message, Node, Pass, Session, Totals
from .seals import reseal
from .sqlite_archive import SqliteArchive
from .sqlite_audit import SqliteAudit
from .sqlite_forget import SqliteEraser
from .uids import pack_uid

__all__ = ["SqliteStore"]

#: Messages whose texts wait for the end of their transaction at the most.
_INDEXED_AT_ONCE = 20_000
Texts = Sequence[tuple[int, str]]
_INSERT_ALIAS = "INSERT OR IGNORE INTO aliases SELECT ?1, ?2, lcm_seal(?1, ?2)"


class SqliteStore:
    """A :class:`storage.protocol.Store` in one file."""

    def __init__(
        self, path: Path, *, create: bool = True, writes: bool = False, read_only: bool = False, patient: bool = True,
    ) -> None:  # fmt: skip
        self.path = str(path)
        create = create and not read_only
        self._connection = Connection(
            path, create=create, writes=writes, read_only=read_only, patient=patient
        )
        self._eraser = SqliteEraser(self._connection)
        self._unindexed: list[tuple[int, str]] = []
        """Numbers and texts of messages of this transaction that the index does not hold yet."""
        self._unindexed_nodes: list[Node] = []

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        try:
            with self._connection.writing() as sql:
                try:
                    yield
                    self._index(sql)
                except BaseException:
                    self._unindexed.clear()
                    self._unindexed_nodes.clear()
                    raise
        except StoreIndexBroken as error:
            if (
                self._connection.depth == 0
            ):  # what was written is undone; the next time goes without the index
                with self._connection.reading() as sql:
                    fts.mark(sql, error)
            raise

    def _index(self, sql: sqlite3.Connection, texts: Texts = (), *, now: bool = False) -> None:
        """Index what was appended, once a transaction: the index writes a segment each time."""
        self._unindexed += texts
        alone = now or self._connection.depth == 1
        if self._unindexed and (alone or len(self._unindexed) >= _INDEXED_AT_ONCE):
            fts.add_messages(sql, sorted(self._unindexed))
            self._unindexed.clear()
        if self._unindexed_nodes and alone:
            fts.add_nodes(sql, self._unindexed_nodes)
            self._unindexed_nodes.clear()

    def close(self) -> None:
        self._connection.close()

    def stale(self) -> bool:
        return self._connection.stale()

    def archive(self) -> SqliteArchive:
        return SqliteArchive(self._connection, self._index)

    # sessions and lines

    def session(self, name: str) -> Session | None:
        with self._connection.reading() as sql:
            return session_tables.named(sql, name)

    def open_session(self, name: str, *, parent: str = "", relation: str = "new") -> Session:
        with self._connection.writing() as sql:
            return session_tables.named(sql, name) or session_tables.start(
                sql, name, parent, relation
            )

    def sessions(self, lines: Sequence[int] | None = None) -> list[Session]:
        with self._connection.reading() as sql:
            return session_tables.every(sql, lines)

    def lineage(self, line: int) -> tuple[int, ...]:
        with self._connection.reading() as sql:
            return session_tables.lineage(sql, line)

    def revision(self, line: int) -> int:
        with self._connection.reading() as sql:
            return session_tables.revision(sql, line)

    # messages

    def append(
        self, line: int, drafts: Sequence[tuple[Draft, int]], *, after: int | None = None
    ) -> list[Entry]:
        with self._connection.writing() as sql:
            entries, texts = log_tables.append(sql, line, drafts, after)
            self._index(sql, texts)
            return entries

    def link(self, line: int, messages: Sequence[tuple[int, int]]) -> list[Entry]:
        with self._connection.writing() as sql:
            seqs = log_tables.places(sql, line, len(messages), None)
            sql.executemany(
                log_tables.INSERT_ENTRY,
                [
                    (line, seq, message, turn)
                    for seq, (message, turn) in zip(seqs, messages, strict=True)
                ],
            )
            log_tables.touch(sql, line)
            return (
                log_tables.entries(sql, "e.line = ? AND e.seq >= ?", [line, seqs[0]])
                if seqs
                else []
            )

    def revise(self, line: int, message: int, draft: Draft) -> None:
        with self._connection.writing() as sql:
            self._index(sql, now=True)  # what is taken out of the index must be in it
            log_tables.revise(sql, message, draft)
            log_tables.touch(sql, line)

    def editions(self, message: int) -> list[tuple[int, bytes]]:
        with self._connection.reading() as sql:
            rows = sql.execute(
                "SELECT version, key FROM versions WHERE message = :message UNION ALL"
                " SELECT version, key FROM messages WHERE id = :message ORDER BY version",
                {"message": message},
            )
            return rows.fetchall()

    def rename(self, line: int, message: int, uid: str) -> None:
        with self._connection.writing() as sql:
            if sql.execute("SELECT 1 FROM messages WHERE uid = ?", [pack_uid(uid)]).fetchone():
                return
            (old,) = sql.execute("SELECT uid FROM messages WHERE id = ?", [message]).fetchone()
            sql.execute(log_tables.FREE_NAME, [pack_uid(uid)])
            sql.execute("UPDATE messages SET uid = ? WHERE id = ?", [pack_uid(uid), message])
            reseal(sql, "messages", "id = ?", [message])
            sql.execute(_INSERT_ALIAS, [old, message])
            log_tables.touch(sql, line)

    def alias(self, message: int, uid: str) -> None:
        with self._connection.writing() as sql:
            sql.execute(
                f"{_INSERT_ALIAS} WHERE NOT EXISTS (SELECT 1 FROM messages WHERE uid = ?1)",
                [pack_uid(uid), message],
            )

    def withdraw(self, line: int, seqs: Iterable[int], *, withdrawn: bool) -> None:
        with self._connection.writing() as sql:
            sql.executemany(
                "UPDATE entries SET withdrawn = ?1, seal = lcm_seal(line, seq, message, turn, ?1)"
                " WHERE line = ?2 AND seq = ?3 AND (?1 = 1 OR withdrawn)",
                [(1 if withdrawn else RETURNED, line, seq) for seq in seqs],
            )
            log_tables.touch(sql, line)

    def withdrawn(self, line: int, *, last: int) -> list[Entry]:
        with self._connection.reading() as sql:
            return log_tables.withdrawn(sql, line, last)

    def renumber(self, line: int, turns: Sequence[tuple[int, int]]) -> None:
        with self._connection.writing() as sql:
            sql.executemany(
                "UPDATE entries SET turn = ?1, seal = lcm_seal(line, seq, message, ?1, withdrawn)"
                " WHERE line = ?2 AND seq = ?3",
                [(turn, line, seq) for seq, turn in turns],
            )
            log_tables.touch(sql, line)

    def entries(
        self, line: int, *, first: int = 0, last: int | None = None, brief: Brief = ""
    ) -> list[Entry]:
        with self._connection.reading() as sql:
            end = (1 << 62) if last is None else last
            return log_tables.entries(
                sql, "e.line = ? AND e.seq BETWEEN ? AND ?", [line, first, end], brief=brief
            )

    def tail(self, line: int, limit: int, *, before: int | None = None) -> list[Entry]:
        with self._connection.reading() as sql:
            end = (1 << 62) if before is None else before
            return log_tables.entries(
                sql,
                "e.line = ? AND e.seq < ?",
                [line, end],
                order="e.seq DESC LIMIT ?",
                extra=[limit],
            )[::-1]

    def turns(self, line: int, first: int, last: int) -> list[Entry]:
        with self._connection.reading() as sql:
            return log_tables.entries(
                sql, "e.line = ? AND e.turn BETWEEN ? AND ?", [line, first, last]
            )

    def known(self, uids: Iterable[str]) -> dict[str, int]:
        with self._connection.reading() as sql:
            return log_tables.known(sql, list(uids))

    def placed(self, line: int, messages: Iterable[int]) -> list[Entry]:
        with self._connection.reading() as sql:
            return log_tables.placed(sql, line, list(messages))

    def lines_of(self, messages: Iterable[int]) -> dict[int, int]:
        with self._connection.reading() as sql:
            return log_tables.lines_of(sql, list(messages))

    def read(self, wanted: Sequence[tuple[int, int]]) -> list[Message]:
        with self._connection.reading() as sql:
            return bodies.read(sql, wanted, self.path)

    def parsed(
        self, wanted: Sequence[tuple[int, int]], *, damaged: bool = False
    ) -> list[tuple[Message, Any]]:
        with self._connection.reading() as sql:
            return bodies.parsed(sql, wanted, self.path, damaged=damaged)

    def stream(self, line: int | None = None) -> Iterator[Message]:
        last = 0
        while True:
            with self._connection.reading() as sql:
                batch = log_tables.next_messages(sql, line, last, 200)
                wanted = [
                    (message, version)
                    for message, versions in batch
                    for version in range(1, versions + 1)
                ]
                messages = bodies.read(sql, wanted, self.path)
            if not batch:
                return
            yield from messages
            last = batch[-1][0]

    # nodes

    def put_node(self, node: Node) -> None:
        with self._connection.writing() as sql:
            if graph_tables.put(sql, node):
                self._unindexed_nodes.append(node)
                self._index(sql)

    def nodes(
        self, uids: Sequence[str], *, brief: bool = False, damaged: bool = False
    ) -> list[Node]:
        with self._connection.reading() as sql:
            return graph_tables.by_uid(sql, uids, brief=brief, damaged=damaged)

    def nodes_for(self, source_keys: Sequence[str]) -> dict[str, Node]:
        with self._connection.reading() as sql:
            return graph_tables.by_source(sql, source_keys)

    def nodes_on(
        self, lines: Sequence[int], *, kinds: Sequence[str] = ("leaf", "condensed")
    ) -> list[Node]:
        with self._connection.reading() as sql:
            return graph_tables.on_lines(sql, lines, kinds)

    def degraded(self, lines: Sequence[int], limit: int) -> list[Node]:
        with self._connection.reading() as sql:
            return graph_tables.degraded(sql, lines, limit)

    def over(self, messages: Sequence[int]) -> dict[int, str]:
        with self._connection.reading() as sql:
            return graph_tables.over(sql, messages)

    def stands_for(self, uid: str) -> list[tuple[int, int]]:
        with self._connection.reading() as sql:
            return graph_tables.stands_for(sql, uid)

    # looking things up

    def resolve(self, prefix: str) -> list[tuple[str, str]]:
        with self._connection.reading() as sql:
            return log_tables.resolve(sql, prefix)

    def search(
        self, words: Sequence[str], phrases: Sequence[str], where: Filter, limit: int
    ) -> list[Hit]:
        with self._connection.reading() as sql, fts.working(sql):
            return fts_search.search(sql, words, phrases, where, limit)

    def search_nodes(
        self, words: Sequence[str], phrases: Sequence[str], where: Filter, limit: int
    ) -> list[Hit]:
        with self._connection.reading() as sql, fts.working(sql):
            return fts_search.search_nodes(sql, words, phrases, where, limit)

    def texts(self, where: Filter) -> Iterator[tuple[int, int, str]]:
        before = 1 << 62
        while before:
            with self._connection.reading() as sql:
                batch, before = fts.next_texts(sql, where, before, 200, self.path)
            yield from batch

    def count(self, where: Filter) -> int:
        with self._connection.reading() as sql:
            return fts.count(sql, where)

    def newest(self) -> int:
        with self._connection.reading() as sql:
            return log_tables.next_number(sql) - 1

    def vocabulary(self) -> list[str]:
        with self._connection.reading() as sql, fts.working(sql):
            return fts_search.vocabulary(sql)

    # what is remembered beside the log

    def remember(self, session: str, name: str, value: Any) -> None:
        with self._connection.writing() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO memory VALUES (?1, ?2, ?3, lcm_seal(?1, ?2, ?3))",
                [session, name, json.dumps(value)],
            )

    def recall(self, session: str, name: str) -> Any:
        with self._connection.reading() as sql:
            row = sql.execute(
                "SELECT value FROM memory WHERE session = ? AND name = ?", [session, name]
            ).fetchone()
        try:
            return json.loads(row[0]) if row else None
        except (ValueError, TypeError, RecursionError):  # a note, which the next one replaces
            return None

    def record_pass(self, done: Pass) -> None:
        with self._connection.writing() as sql:
            session_tables.record_pass(sql, done)

    def passes(self, sessions: Sequence[str] | None = None) -> list[Pass]:
        with self._connection.reading() as sql:
            return session_tables.passes(sql, sessions)

    def passed(self, session: str) -> int:
        with self._connection.reading() as sql:
            return session_tables.passed(sql, session)

    def totals(self, line: int | None = None) -> Totals:
        with self._connection.reading() as sql:
            counts = log_tables.counts(sql, line)
            nodes, degraded = graph_tables.counts(sql, line)
        return Totals(*counts, nodes=nodes, degraded=degraded, bytes=self._size())

    def audit(self) -> SqliteAudit:
        return SqliteAudit(self._connection)

    def eraser(self) -> SqliteEraser:
        return self._eraser

    def reindex(self) -> int:
        with self._connection.writing() as sql:
            return fts.rebuild(sql, self.path)

    def _size(self) -> int:
        size = 0
        for name in (self.path, f"{self.path}-wal"):
            with contextlib.suppress(OSError):
                size += os.stat(name).st_size  # noqa: PTH116
        return size

    def check(self) -> Mapping[str, str]:
        wrong: dict[str, str] = {}
        try:
            with self._connection.reading() as sql:
                rows = sql.execute("PRAGMA integrity_check(5)").fetchall()
                if rows != [("ok",)]:
                    wrong["file"] = "; ".join(str(row[0]) for row in rows)
                wrong.update(fts.check(sql, self.path))
        except StoreError as error:
            wrong["file"] = str(error)
        return wrong
