"""The messages of some places, as they stand on their lines."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from .fts_terms import condition, inside, listed
from .log_tables import GAP
from .ranking import Row, relevant
from .records import Filter

__all__ = ["FIGURES", "passing", "runs_of"]

#: Spans that one statement reads, always the same number: SQLite keeps what it has prepared.
_AT_ONCE = 24
_SPANS = f"WITH span(low, high) AS (VALUES {','.join(['(?, ?)'] * _AT_ONCE)})"
_NONE = (1, 0)
#: Text costs more than a number to hand over, so the roles that nearly all have come as numbers.
_ROLES = dict(enumerate(("user", "assistant", "tool")))
_CASES = " ".join(f"WHEN '{role}' THEN {at}" for at, role in _ROLES.items())
_ROLE = f"CASE m.role {_CASES} ELSE m.role END"
_CHUNK = 500
#: Rows in front of a result among which its call is looked for.
_BACK = 64
FIGURES: Mapping[str, Any] = {"back": _BACK}
"""The same by name, for a page that ranks without us."""
_CALLER = (
    "SELECT p.tool FROM entries b CROSS JOIN messages p ON p.id = b.message"
    f" WHERE b.line = e.line AND b.seq BETWEEN e.seq - {_BACK * GAP} AND e.seq - 1"
    " AND (p.role != 'tool' OR p.tool != '') ORDER BY b.seq DESC LIMIT 1"
)
"""The tool whose result ``entries e`` is, by the call before it, where the host does not say it."""


def runs_of(
    sql: sqlite3.Connection, spans: Sequence[tuple[int, int]], where: Filter
) -> list[list[Row]]:
    """The messages of *spans*, in the order of their lines; those aside that count for nothing."""
    kept, values = condition(replace(inside(where), without_tools=(), without=(), last=None))
    there, more = condition(Filter(without=where.without, last=where.last))
    if where.lines is not None:
        there += f" AND +e.line IN ({','.join('?' * len(where.lines))})"
        more += where.lines
    query = (
        f"{_SPANS} SELECT s.low, e.line, e.seq, e.message, {_ROLE}, m.tokens, 1{kept}, nullif(m.tool, '')"
        " FROM span s CROSS JOIN entries e INDEXED BY entries_by_message CROSS JOIN messages m"
        f" WHERE e.message BETWEEN s.low AND s.high AND m.id = e.message{there}"
    )
    runs: dict[tuple[int, int], list[tuple[Row, str]]] = {}
    seen: set[int] = set()
    for start in range(0, len(spans), _AT_ONCE):
        some = spans[start : start + _AT_ONCE]
        bounds = chain.from_iterable([*some, *[_NONE] * (_AT_ONCE - len(some))])
        rows = sql.execute(query, [*bounds, *values, *more]).fetchall()
        for low, line, seq, number, role, length, passes, tool in sorted(rows):
            if number in seen:  # a branch has its parent's
                continue
            seen.add(number)
            row = Row(number, _ROLES.get(role, role), length, passes == 1)
            if (low, line) in runs:
                runs[low, line].append((row, tool or ""))
            elif row.role == "tool" and not tool and where.without_tools:
                runs[low, line] = [(row, _called(sql, line, seq))]  # the host does not say it
            else:
                runs[low, line] = [(row, tool or "")]
    return [relevant(run, where.without_tools) for run in runs.values()]


def _called(sql: sqlite3.Connection, line: int, seq: int) -> str:
    """The tool whose result stands there."""
    query = f"SELECT ({_CALLER}) FROM entries e WHERE e.line = ? AND e.seq = ?"
    (tool,) = sql.execute(query, [line, seq]).fetchone()
    return tool or ""


def passing(sql: sqlite3.Connection, every: Sequence[int], where: Filter) -> set[int]:
    """Those of these messages that *where* lets pass, and that stand on a line."""
    clause, values = condition(where)
    if where.without_tools:
        marks = ",".join("?" * len(where.without_tools))
        clause += (
            f" AND (m.role != 'tool' OR m.tool != '' OR ifnull(({_CALLER}), '') NOT IN ({marks}))"
        )
        values += where.without_tools
    found: set[int] = set()
    for start in range(0, len(every), _CHUNK):
        some = every[start : start + _CHUNK]
        query = (
            "SELECT m.id AS number FROM entries e INDEXED BY entries_by_message"
            " CROSS JOIN messages m ON m.id = e.message"
            f" WHERE e.message IN ({','.join('?' * len(some))}){clause}"
        )
        found.update(listed(sql, query, [*some, *values]))
    return found
