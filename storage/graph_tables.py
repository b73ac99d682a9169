"""Statements on the graph: nodes, and edges to what they stand for."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from . import log_tables
from .errors import StoreDamaged, StoreForgotten
from .node_data import data_of, rest_of
from .records import Node, Source
from .seals import CALL, reseal
from .uids import pack_uid, unpack_uid

__all__ = [
    "by_source",
    "by_uid",
    "counts",
    "damaged",
    "data_of",
    "degraded",
    "on_lines",
    "over",
    "put",
    "stands_for",
    "words",
]

_NODE = "SELECT id, uid, kind, line, source_key, depth, degraded, time, data FROM nodes "


_DEAD = "SELECT 1 FROM forgotten WHERE kind = 'session' AND line = ?"


def put(sql: sqlite3.Connection, node: Node) -> bool:
    """Store *node*; False if it was there.

    Raises:
        StoreForgotten: the sessions of its line were forgotten.
    """
    if sql.execute(_DEAD, [node.line]).fetchone():
        raise StoreForgotten("The session was forgotten meanwhile; nothing of it is stored.")
    row = sql.execute(
        "INSERT INTO nodes (uid, kind, line, source_key, depth, degraded, time, data) VALUES (?,?,?,?,?,?,?,?)"
        " ON CONFLICT (uid) DO NOTHING RETURNING id",
        [
            pack_uid(node.uid), node.kind, node.line, node.source_key, node.depth, node.degraded, node.time,
            data_of(node),
        ],
    ).fetchone()  # fmt: skip
    if row is None:
        _mend(sql, node)
        return False
    reseal(sql, "nodes", "id = ?", row)
    numbers = _numbers(sql, [source.node for source in node.sources if source.node])
    sql.executemany(
        "INSERT INTO edges VALUES (?, ?, nullif(?, 0), ?, nullif(?, 0), ?)",  # a None costs more than a row
        [
            (row[0], place, message or 0, version, numbers.get(below or "", 0), level)
            for place, (message, version, below, level) in enumerate(node.sources)
        ],
    )
    return True


def _mend(sql: sqlite3.Connection, node: Node) -> None:
    """Of a node that was damaged, put what has the same uid, so is what it was."""
    where, values = "uid = ?", [pack_uid(node.uid)]
    (data,) = sql.execute(f"SELECT data FROM nodes WHERE {where}", values).fetchone()
    with contextlib.suppress(StoreDamaged):
        rest_of(node.uid, node.kind, data)
        return
    stone = "SELECT 1 FROM forgotten WHERE kind = 'node' AND name = ?"
    if sql.execute(stone, [node.uid]).fetchone() is None:  # else it said less, on request
        sql.execute(f"UPDATE nodes SET data = ? WHERE {where}", [data_of(node), *values])
        reseal(sql, "nodes", where, values)


def _numbers(sql: sqlite3.Connection, uids: Sequence[str]) -> dict[str, int]:
    return {
        uid: row[0]
        for uid in uids
        if (row := sql.execute("SELECT id FROM nodes WHERE uid = ?", [pack_uid(uid)]).fetchone())
    }


_SOURCES = (
    "SELECT e.message, e.version, n.uid, e.level FROM edges e LEFT JOIN nodes n ON n.id = e.source"
    " WHERE e.node = ?{} ORDER BY e.place"
)
_EVERY, _NODES_ALONE = _SOURCES.format(""), _SOURCES.format(" AND e.source IS NOT NULL")


def _sources(sql: sqlite3.Connection, number: int, *, brief: bool) -> tuple[Source, ...]:
    edges = sql.execute(_NODES_ALONE if brief else _EVERY, [number])
    new = tuple.__new__
    return tuple(
        [
            # Nearly all are messages, and there are thousands: half the time of Source().
            new(Source, edge)
            if edge[2] is None
            else Source(edge[0], edge[1], unpack_uid(edge[2]), edge[3])
            for edge in edges
        ]
    )


def _node(
    sql: sqlite3.Connection, row: Sequence[Any], *, brief: bool = False, damaged: bool = False
) -> Node:
    """The node of *row*; *damaged*: if it is, what is left of it.

    Raises:
        StoreDamaged: it is damaged, and nothing else was asked for.
    """
    number, uid, kind, line, source_key, depth, degraded, time, data = row
    name = unpack_uid(uid)
    try:
        rest = rest_of(name, kind, data)
    except StoreDamaged:
        if not damaged or not (rest := _left(sql, name, kind, line)):
            raise
    return Node(
        uid=name, kind=kind, line=line, source_key=source_key, depth=depth, degraded=degraded, time=time,
        sources=_sources(sql, number, brief=brief), **rest,
    )  # fmt: skip


def _left(sql: sqlite3.Connection, uid: str, kind: str, line: int) -> dict[str, Any]:
    """What the log says of a node whose own data is damaged; nothing if no message under it is on its line.

    Of a frame also which message was lifted out of it: the user's of its last turn, where that is not under it.
    """
    under = {message for message, _ in stands_for(sql, uid)}
    entries = log_tables.placed(sql, line, list(under))
    if not entries:
        return {}
    first, last = entries[0], entries[-1]
    lifted: list[int] = []
    if kind == "frame":
        turn = log_tables.entries(
            sql, "e.line = ? AND e.turn = ? AND e.seq < ?", [line, last.turn, last.seq]
        )
        lifted = [e.id for e in turn if e.role == "user" and not e.withdrawn and e.id not in under]
    return {
        "texts": {}, "topic": "", "hints": (), "sufficient": 0, "levels": (), "lifted": tuple(lifted),
        "first_seq": first.seq, "last_seq": last.seq, "first_turn": first.turn, "last_turn": last.turn,
        "messages": len(under), "source_tokens": sum(entry.tokens for entry in entries),
    }  # fmt: skip


def _whole(
    sql: sqlite3.Connection, rows: Sequence[Sequence[Any]], *, brief: bool = False
) -> Iterator[Node]:
    """The nodes of *rows*; those that are damaged are passed over."""
    for row in rows:
        with contextlib.suppress(StoreDamaged):
            yield _node(sql, row, brief=brief)


def words(
    sql: sqlite3.Connection, after: int, limit: int
) -> list[tuple[int, str, tuple[str, ...]]]:
    """(number, uid, all that it says: nothing, if it is damaged) of the nodes that follow *after* in number."""
    rows = sql.execute(
        "SELECT id, uid, kind, data FROM nodes WHERE id > ? ORDER BY id LIMIT ?", [after, limit]
    )
    found = []
    for number, uid, kind, data in rows:
        said: tuple[str, ...] = ()
        with contextlib.suppress(StoreDamaged):
            rest = rest_of(unpack_uid(uid), kind, data)
            said = (*rest["texts"].values(), rest["topic"], *rest["hints"])
        found.append((number, unpack_uid(uid), said))
    return found


def by_uid(
    sql: sqlite3.Connection, uids: Sequence[str], *, brief: bool = False, damaged: bool = False
) -> list[Node]:
    """The nodes with these uids, in that order; *damaged*: of those that are, what is left."""
    rows = [
        row
        for uid in uids
        if (row := sql.execute(f"{_NODE} WHERE uid = ?", [pack_uid(uid)]).fetchone())
    ]
    return [_node(sql, row, brief=brief, damaged=damaged) for row in rows]


def by_source(sql: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Node]:
    """The best node for each source key, brief: not degraded, then the first committed; none that is damaged."""
    found: dict[str, Node] = {}
    for key in keys:
        rows = sql.execute(f"{_NODE} WHERE source_key = ? ORDER BY degraded != '', id", [key])
        if node := next(_whole(sql, rows.fetchall(), brief=True), None):
            found[key] = node
    return found


def on_lines(sql: sqlite3.Connection, lines: Sequence[int], kinds: Sequence[str]) -> list[Node]:
    """All nodes of these kinds made on these lines, oldest first."""
    marks = ",".join("?" * len(lines)), ",".join("?" * len(kinds))
    rows = sql.execute(
        f"{_NODE} WHERE line IN ({marks[0]}) AND kind IN ({marks[1]}) ORDER BY id", [*lines, *kinds]
    ).fetchall()
    return [_node(sql, row) for row in rows]


_DEGRADED = (
    "degraded != '' AND kind != 'state' AND NOT EXISTS"
    " (SELECT 1 FROM nodes again WHERE again.source_key = nodes.source_key AND again.degraded = '')"
)


def degraded(sql: sqlite3.Connection, lines: Sequence[int], limit: int) -> list[Node]:
    """The newest nodes of these lines that no model wrote, and none has written again."""
    marks = ",".join("?" * len(lines))
    query = f"{_NODE} WHERE line IN ({marks}) AND {_DEGRADED} ORDER BY id DESC LIMIT ?"
    return list(_whole(sql, sql.execute(query, [*lines, limit]).fetchall()))


def over(sql: sqlite3.Connection, messages: Sequence[int]) -> dict[int, str]:
    """The newest node with each message among its sources."""
    found: dict[int, str] = {}
    for start in range(0, len(messages), 500):
        part = messages[start : start + 500]
        rows = sql.execute(
            "SELECT e.message, n.uid FROM edges e JOIN nodes n ON n.id = e.node"
            f" WHERE e.message IN ({','.join('?' * len(part))}) AND n.kind != 'state' ORDER BY n.id",
            part,
        )
        found.update((message, unpack_uid(uid)) for message, uid in rows)
    return found


def stands_for(sql: sqlite3.Connection, uid: str) -> list[tuple[int, int]]:
    """(message, version) pairs under a node, in order: a walk from left to right.

    A node's sources are stored before it. An edge that leads elsewhere is damaged and may close a
    circle; it is left out here, and named by ``verify``.
    """
    row = sql.execute("SELECT id FROM nodes WHERE uid = ?", [pack_uid(uid)]).fetchone()
    result: list[tuple[int, int]] = []
    stack = [row[0]] if row else []
    pending: list[tuple[int | None, int, int | None]] = [(None, 0, number) for number in stack]
    while pending:
        message, version, node = pending.pop()
        if node is None:
            if message is not None:
                result.append((message, version))
            continue
        edges = sql.execute(
            "SELECT message, version, source FROM edges"
            " WHERE node = ? AND (source IS NULL OR source < node) ORDER BY place DESC",
            [node],
        )
        pending.extend(edges.fetchall())
    return result


def counts(sql: sqlite3.Connection, line: int | None) -> tuple[dict[int, int], int]:
    """(number of summary nodes by depth, number of degraded ones)."""
    where, values = ("", []) if line is None else (" AND line = ?", [line])
    rows = sql.execute(
        f"SELECT depth, count(*) FROM nodes WHERE kind NOT IN ('frame', 'state'){where} GROUP BY depth ORDER BY depth",
        values,
    ).fetchall()
    degraded = sql.execute(
        f"SELECT count(*) FROM nodes WHERE {_DEGRADED}{where}", values
    ).fetchone()[0]
    return dict(rows), degraded


def damaged(sql: sqlite3.Connection) -> int:
    """How many nodes are not what was written."""
    (count,) = sql.execute(
        f"SELECT count(*) FROM nodes WHERE seal IS NOT {CALL['nodes']}"
    ).fetchone()
    return int(count)
