"""What the index of summaries holds beside some of them: what a page that ranks these without us must know.

How much a word says depends on how many summaries hold it, those of other conversations included.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from .archive import Beside
from .uids import pack_uid

__all__ = ["beside"]

_CHUNK = 500
#: Words of the longest run that is looked for: a pair of a question, a name, a path.
_LONGEST = 8
#: Other summaries in which all are counted; of more, so many from all of them stand for the rest.
_MOST = 1_000
_Places = Mapping[int, Sequence[int]]
"""Where in each text a run begins."""


def beside(sql: sqlite3.Connection, nodes: Sequence[str]) -> Beside:
    """The others, and in how many of them each word of these stands, and each run of a few words."""
    own = set(_numbers(sql, nodes))
    (every,) = sql.execute("SELECT count(*) FROM node_index_docsize").fetchone()
    if every <= len(own):
        return Beside()
    sql.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.noted USING fts5vocab(main, node_index, instance)"
    )
    every_doc = "SELECT id FROM node_index_docsize ORDER BY id"
    others = [number for (number,) in sql.execute(every_doc) if number not in own]
    looked = set(others[:: -(-len(others) // _MOST)])
    texts: dict[int, dict[int, str]] = defaultdict(dict)
    for term, number, place in sql.execute("SELECT term, doc, offset FROM temp.noted"):
        if number in looked or number in own:
            texts[number][place] = term
    share = len(others) / len(looked)
    tokens = sum(len(texts[number]) for number in looked)
    held = _held(texts, own, looked)
    return Beside(
        len(others),
        round(tokens * share),
        _LONGEST,
        {said: round(count * share) for said, count in held.items()},
    )


def _held(
    texts: dict[int, dict[int, str]], own: AbstractSet[int], others: AbstractSet[int]
) -> dict[str, int]:
    """In how many of the others each run of words of our own stands; a longer one only where a shorter one does."""
    ours: _Places = {number: list(texts[number]) for number in own}
    theirs: _Places = {number: list(texts[number]) for number in others}
    held: dict[str, int] = {}
    for length in range(1, _LONGEST + 1):
        known = {run for number in own for run, _ in _runs(texts[number], ours[number], length)}
        found = {n: [*_runs(texts[n], places, length)] for n, places in theirs.items()}
        counts = Counter(run for runs in found.values() for run in {r for r, _ in runs} & known)
        held |= counts
        ours = {n: [p for r, p in _runs(texts[n], ours[n], length) if r in counts] for n in own}
        theirs = {n: [place for run, place in runs if run in counts] for n, runs in found.items()}
    return held


def _runs(text: Mapping[int, str], places: Sequence[int], length: int) -> Iterator[tuple[str, int]]:
    """The runs of so many words that begin at these places, each with its place."""
    for place in places:
        run = [text[at] for at in range(place, place + length) if at in text]
        if len(run) == length:
            yield " ".join(run), place


def _numbers(sql: sqlite3.Connection, nodes: Sequence[str]) -> Iterator[int]:
    for start in range(0, len(nodes), _CHUNK):
        part = [pack_uid(uid) for uid in nodes[start : start + _CHUNK]]
        marks = ",".join("?" * len(part))
        rows = sql.execute(f"SELECT id FROM nodes WHERE uid IN ({marks})", part)
        yield from (number for (number,) in rows)
