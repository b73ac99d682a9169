"""Expressions for the full-text indexes, and conditions on messages, that no input can break."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .records import Filter
from .text import indexable

__all__ = ["condition", "expression"]

_TOKEN = re.compile(r"\w")


def expression(terms: Sequence[str]) -> str:
    """What finds any of *terms*, each of them a quoted string; empty if none has a word."""
    spelt = (indexable(term).strip() for term in terms)
    return " OR ".join(
        f'"{term.replace(chr(34), chr(34) * 2)}"' for term in spelt if _TOKEN.search(term)
    )


def condition(where: Filter) -> tuple[str, list[object]]:
    """SQL for *where*, over ``messages m``: each part behind an AND."""
    parts: list[str] = []
    values: list[object] = []
    if where.lines is not None:
        marks = ",".join("?" * len(where.lines))
        parts.append(
            f"EXISTS (SELECT 1 FROM entries e WHERE e.message = m.id AND e.line IN ({marks}))"
        )
        values += where.lines
    if where.roles:
        parts.append(f"m.role IN ({','.join('?' * len(where.roles))})")
        values += where.roles
    if where.tool:
        parts.append("' ' || m.tool || ' ' LIKE '% ' || ? || ' %'")
        values.append(where.tool)
    if where.without_tools:
        parts.append(f"m.tool NOT IN ({','.join('?' * len(where.without_tools))})")
        values += where.without_tools
    if where.since is not None:
        parts.append("m.time >= ?")
        values.append(where.since)
    if where.until is not None:
        parts.append("m.time <= ?")
        values.append(where.until)
    return "".join(f" AND {part}" for part in parts), values
