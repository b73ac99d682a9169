"""What is asked of the full-text indexes: expressions and conditions that no input can break."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .records import Filter
from .text import beginning, indexable

__all__ = ["NUMBERS", "Found", "Numbers", "Scope", "condition", "expression", "inside", "listed"]

NUMBERS = "SELECT rowid AS number FROM message_index WHERE message_index MATCH ? AND rowid BETWEEN ? AND ?"
"""The messages that hold a term, from one number to another."""
_TOKEN = re.compile(r"\w")


class Scope(NamedTuple):
    """Where a search looks."""

    low: int
    high: int
    """The first and the last number of its messages, others' perhaps among them."""
    messages: int
    members: frozenset[int] | None
    """Its messages, where they are few and others' are among their numbers."""
    share: float = 1.0
    """Of the numbers of the database, what it spans."""
    loose: bool = False
    """Whether others' messages may be among its numbers, and are not told apart."""


class Found(NamedTuple):
    """A term, and what is known of it before any message is looked at."""

    text: str
    """As an expression."""
    stem: str
    """As the index spells it; empty if it is several words."""
    spreads: bool
    holders: int
    """Messages of the scope that hold it."""
    among: int
    """Messages that hold it among all whose numbers the scope spans, which are read to know which."""


Numbers = Mapping[Found, Sequence[int]]
"""Which messages hold each term, ascending; one number for each time that it stands there, as far as that is known."""


def listed(sql: sqlite3.Connection, query: str, values: Sequence[object]) -> list[int]:
    """What *query* finds, which calls it ``number``: handed over as one text, in half the time that rows take."""
    together = f"SELECT group_concat(number) FROM ({query})"
    (text,) = sql.execute(together, values).fetchone()
    numbers: list[int] = json.loads(f"[{text or ''}]")
    return numbers


def expression(terms: Sequence[str]) -> str:
    """What finds any of *terms*, each of them a quoted string, by their beginnings; empty if none has a word."""
    spelt = (beginning(indexable(term).strip()) for term in terms)
    return " OR ".join(
        f'"{term.replace(chr(34), chr(34) * 2)}"' for term in spelt if _TOKEN.search(term)
    )


def condition(where: Filter) -> tuple[str, list[object]]:
    """SQL for *where*, over ``messages m``: each part behind an AND."""
    parts: list[str] = []
    values: list[object] = []
    if where.lines is not None or where.turns is not None:
        part, values = _placed(where)
        parts.append(part)
    if where.roles:
        parts.append(f"m.role IN ({','.join('?' * len(where.roles))})")
        values += where.roles
    if where.tool:
        parts.append("' ' || m.tool || ' ' LIKE '% ' || ? || ' %'")
        values.append(where.tool)
    if where.without_tools:
        parts.append(f"m.tool NOT IN ({','.join('?' * len(where.without_tools))})")
        values += where.without_tools
    if where.without:
        parts.append(f"m.id NOT IN ({','.join('?' * len(where.without))})")
        values += where.without
    limits = (("m.id <= ?", where.last), ("m.time >= ?", where.since), ("m.time <= ?", where.until))
    for part, limit in limits:
        if limit is not None:
            parts.append(part)
            values.append(limit)
    return "".join(f" AND {part}" for part in parts), values


def inside(where: Filter) -> Filter:
    """*where*, for messages of which it is known that they are on its lines."""
    return where if where.turns is not None else replace(where, lines=None)


def _placed(where: Filter) -> tuple[str, list[object]]:
    """On one of its lines, and in one of its turns there."""
    placed = "SELECT 1 FROM entries e WHERE e.message = m.id"
    values: list[object] = []
    if where.lines is not None:
        placed += f" AND e.line IN ({','.join('?' * len(where.lines))})"
        values += where.lines
    if where.turns is not None:
        placed += " AND e.turn BETWEEN ? AND ?"
        values += where.turns
    return f"EXISTS ({placed})", values
