"""Takes some texts out of the full-text indexes for good, in a part of the time that making these anew takes.

An index knows no text. So each is taken out by its own words, as they were put in; then the index is merged into one
segment, which leaves out what was taken. What the log does not say is what an index holds: whether a text was put in
with the words that it gives now. Where that is in doubt, before or afterwards, the indexes are to be made anew.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from . import bodies, fts, graph_tables
from .errors import StoreError, StoreIndexBroken
from .migrations import TOKENS
from .records import Node
from .text import indexable, searchable
from .uids import pack_uid, unpack_uid

__all__ = ["Taken", "settle"]

#: As many texts are taken out in any case, and of more than that this part: beyond, making them anew is quicker.
_FEW, _PART = 100, 4
_CHUNK = 500
_Row = tuple[int, int, int]
"""A row of the index of messages, and the (message, version) that it stands for."""


class _Change(NamedTuple):
    """What becomes of a text, both as the index takes it."""

    old: str
    new: str | None
    """None: it goes."""


class Taken:
    """What was taken out of the log in a transaction, and stands in the indexes still."""

    def __init__(self, sql: sqlite3.Connection, path: str) -> None:
        (texts,) = sql.execute(
            "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM versions)"
        ).fetchone()
        self._path = path
        self._room = max(_FEW, texts // _PART)
        self.whole = False
        """Whether the indexes are to be made anew."""
        self.changes: dict[str, dict[int, _Change]] = {"message_index": {}, "node_index": {}}
        """By index and row."""

    def messages(self, sql: sqlite3.Connection, numbers: Sequence[int]) -> None:
        """All versions of these messages go; called before they do."""
        if len(numbers) > self._room:
            self._give_up()
        for start in range(0, 0 if self.whole else len(numbers), _CHUNK):
            part = numbers[start : start + _CHUNK]
            marks = ",".join("?" * len(part))
            earlier = f"SELECT -id, message, version FROM versions WHERE message IN ({marks})"
            self._out(sql, [*((number, number, 0) for number in part), *sql.execute(earlier, part)])

    def _out(self, sql: sqlite3.Connection, rows: Sequence[_Row]) -> None:
        with self._readable():
            for row, text in _texts(sql, self._path, rows):
                self._note("message_index", row, text, None)

    def nodes(self, sql: sqlite3.Connection, uids: Sequence[str]) -> None:
        """These nodes go; called before they do."""
        with self._readable():
            for node in graph_tables.by_uid(sql, [] if self.whole else uids, brief=True):
                self._of_node(sql, node, None)

    def message(self, sql: sqlite3.Connection, number: int, version: int, text: str) -> None:
        """A version says something else from now on; called before it is written."""
        earlier = "SELECT -id FROM versions WHERE message = ? AND version = ?"
        found = sql.execute(earlier, [number, version]).fetchone()
        with self._readable():
            row = found[0] if found else number
            for _, old in _texts(sql, self._path, [] if self.whole else [(row, number, version)]):
                self._note("message_index", row, old, indexable(text))

    def node(self, sql: sqlite3.Connection, node: Node) -> None:
        """A node says something else from now on; called before it is written."""
        with self._readable():
            for old in graph_tables.by_uid(sql, [] if self.whole else [node.uid], brief=True):
                self._of_node(sql, old, node)

    def _of_node(self, sql: sqlite3.Connection, old: Node, new: Node | None) -> None:
        if old.kind not in fts.UNINDEXED:
            where = [pack_uid(old.uid)]
            (row,) = sql.execute("SELECT id FROM nodes WHERE uid = ?", where).fetchone()
            text = None if new is None else indexable(fts.node_text(new))
            self._note("node_index", row, indexable(fts.node_text(old)), text)

    def _note(self, index: str, row: int, old: str, new: str | None) -> None:
        changes = self.changes[index]
        before = changes.get(row)
        changes[row] = _Change(before.old if before else old, new)
        if len(changes) > self._room:
            self._give_up()

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """What cannot be read cannot be taken out by its words."""
        try:
            yield
        except (StoreError, ValueError):
            self._give_up()

    def _give_up(self) -> None:
        self.whole = True
        for changes in self.changes.values():
            changes.clear()


def settle(sql: sqlite3.Connection, path: str, taken: Taken) -> bool:
    """Take it out of the indexes, and put in what stands in its place.

    False: that cannot be done so that no word of it is left, and the indexes must be made anew.

    Raises:
        StoreIndexBroken: an index failed, and the transaction with it (see ``storage.fts``).
    """
    if taken.whole or fts.is_marked(sql) or fts.is_older(sql):
        return False
    sql.execute("SAVEPOINT taken")
    try:
        some = [(index, changes) for index, changes in taken.changes.items() if changes]
        done = all(_settle(sql, path, index, changes) for index, changes in some)
    except (sqlite3.DatabaseError, StoreError, ValueError) as error:
        done = False
        try:
            sql.execute("ROLLBACK TO taken")
        except sqlite3.DatabaseError:
            raise StoreIndexBroken(str(error)) from error
    sql.execute("RELEASE taken")
    return done


def _settle(sql: sqlite3.Connection, path: str, index: str, changes: Mapping[int, _Change]) -> bool:
    gone = {row: change.old for row, change in changes.items() if change.old != change.new}
    come = {row: text for row in gone if (text := changes[row].new) is not None}
    with _parted(gone) as words:
        terms = [term for (term,) in words.execute("SELECT term FROM said")]
        if not _is_as_said(sql, index, words, len(gone) - len(come)):
            return False
    out = f"INSERT INTO {index} ({index}, rowid, text) VALUES ('delete', ?, ?)"
    sql.executemany(out, sorted(gone.items()))
    sql.executemany(f"INSERT INTO {index} (rowid, text) VALUES (?, ?)", sorted(come.items()))
    sql.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
    return _is_one(sql, index) and _are_said(sql, path, index, terms)


def _is_as_said(sql: sqlite3.Connection, index: str, words: sqlite3.Connection, fewer: int) -> bool:
    """Whether an index has as many rows as there are texts, and in each of those as many words as it gives now."""
    (rows,) = sql.execute(f"SELECT count(*) FROM {index}_docsize").fetchone()
    (texts,) = sql.execute(_HELD[index]).fetchone()
    size = f"SELECT sz FROM {index}_docsize WHERE id = ?"
    return bool(rows == texts + fewer) and all(
        sql.execute(size, [row]).fetchone() == (length,)
        for row, length in words.execute("SELECT id, sz FROM texts_docsize")
    )


#: How many texts an index should hold.
_HELD: Final = {
    "message_index": "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM versions)",
    "node_index": f"SELECT count(*) FROM nodes WHERE kind NOT IN {fts.UNINDEXED}",
}
#: Bits of the number of a page that say where in its segment it stands; the numbers up to this one are no pages.
_SEGMENT, _NO_PAGES = 37, 10


def _is_one(sql: sqlite3.Connection, index: str) -> bool:
    """Whether it is one segment, or none: then nothing stands there beside what it finds."""
    count = f"SELECT count(DISTINCT id >> {_SEGMENT}) FROM {index}_data WHERE id > {_NO_PAGES}"
    return int(sql.execute(count).fetchone()[0]) <= 1


def _are_said(sql: sqlite3.Connection, path: str, index: str, terms: Iterable[str]) -> bool:
    """Whether those of *terms* that an index still has stand in a text that there is."""
    places = f"{index}_places USING fts5vocab(main, {index}, instance)"
    sql.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{places}")
    first = f"SELECT doc FROM temp.{index}_places WHERE term = ? LIMIT 1"
    held: dict[int, set[str]] = {}
    for term in terms:
        found = sql.execute(first, [term]).fetchone()
        if found:
            held.setdefault(found[0], set()).add(term)
    texts = _standing(sql, path, sorted(held)) if index == "message_index" else _nodes(sql, held)
    with _parted(texts) as words:
        for row, term in words.execute("SELECT doc, term FROM places"):
            held.get(row, set()).discard(term)
    return not any(held.values())


def _standing(sql: sqlite3.Connection, path: str, rows: Sequence[int]) -> dict[int, str]:
    """What these rows of the index of messages stand for, as it is now."""
    earlier = "SELECT -id, message, version FROM versions WHERE id = ?"
    there = [
        (row, row, 0) if row > 0 else sql.execute(earlier, [-row]).fetchone() or (row, 0, 0)
        for row in rows
    ]
    return dict(_texts(sql, path, there))


def _texts(sql: sqlite3.Connection, path: str, rows: Sequence[_Row]) -> Iterator[tuple[int, str]]:
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        found = bodies.parsed(sql, [(number, version) for _, number, version in part], path)
        for (row, _, _), (_, said) in zip(part, found, strict=True):
            yield row, indexable(searchable(said))


def _nodes(sql: sqlite3.Connection, rows: Iterable[int]) -> dict[int, str]:
    uid = "SELECT uid FROM nodes WHERE id = ?"
    found = [(row, sql.execute(uid, [row]).fetchone()) for row in rows]
    return {
        row: indexable(fts.node_text(node))
        for row, known in found
        if known
        for node in graph_tables.by_uid(sql, [unpack_uid(known[0])], brief=True)
    }


@contextlib.contextmanager
def _parted(texts: Mapping[int, str]) -> Iterator[sqlite3.Connection]:
    """These texts as an index parts them into words: which are said, and where; in memory, for they may be secret."""
    with contextlib.closing(sqlite3.connect(":memory:")) as sql:
        sql.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, {TOKENS}, content='')")
        sql.execute("CREATE VIRTUAL TABLE said USING fts5vocab(texts, row)")
        sql.execute("CREATE VIRTUAL TABLE places USING fts5vocab(texts, instance)")
        sql.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", sorted(texts.items()))
        yield sql
