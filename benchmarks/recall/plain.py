"""What everyone has: SQLite's own full-text search, a row a message, the words joined by OR.

With stemming (``plain``); without the words that every question has (``stop words``); and with the
message before indexed beside each message (``with neighbour``).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from .questions import Asked, Question

__all__ = ["PLAIN", "Search", "plain"]

Search = Callable[[Question, int], "list[int]"]
"""Indexes of messages that answer a question, best first, at most so many."""

PLAIN = ("plain", "stop words", "with neighbour")
_WORD = re.compile(r"\w+")
#: The usual ones, as English stop lists have them.
_STOP = frozenset(
    _WORD.findall("""a about above after again against all am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has have having he
    her here hers herself him himself his how i if in into is it its itself just me more most my myself no nor not
    now of off on once only or other our ours ourselves out over own same she should so some such than that the
    their theirs them themselves then there these they this those through to too under until up very was we were
    what when where which while who whom why will with would you your yours yourself yourselves ve ll re don didn
    doesn isn wasn s t d m""")
)


def plain(asked: Asked, kind: str) -> Search:
    """A search of *kind* over the whole conversation."""
    texts = [_text(row) for row in asked.rows]
    if kind == "with neighbour":
        texts = ["\n".join(texts[max(at - 1, 0) : at + 1]) for at in range(len(texts))]
    return _search(texts, sifted=kind != "plain")


def _text(row: dict[str, Any]) -> str:
    """What is written in *row*, the arguments of calls as they were sent."""
    content = row.get("content")
    parts = [content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)]
    calls = [call["function"] for call in row.get("tool_calls") or ()]
    return "\n".join([*parts, *(f"{call['name']} {call['arguments']}" for call in calls)])


def _search(texts: Sequence[str], *, sifted: bool) -> Search:
    sql = sqlite3.connect(":memory:")
    sql.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61')")
    sql.executemany(
        "INSERT INTO t (rowid, text) VALUES (?, ?)",
        ((at, text.encode("utf-8", "replace").decode()) for at, text in enumerate(texts)),
    )

    def search(question: Question, most: int) -> list[int]:
        words = list(dict.fromkeys(_WORD.findall(question.text.lower())))
        if sifted:
            words = [word for word in words if word not in _STOP] or words
        end = len(texts) if question.before is None else question.before
        rows = sql.execute(
            "SELECT rowid FROM t WHERE t MATCH ? AND rowid < ? ORDER BY rank LIMIT ?",
            [" OR ".join(f'"{word}"' for word in words), end, most],
        )
        return [at for (at,) in rows]

    return search
