"""What every store can do.

``storage.memory.MemoryStore`` is the executable specification;
``tests/test_store_contract.py`` holds all backends to it. A store is safe to
use from several threads; what belongs together goes into one ``with
store.writing():`` block, which other processes see whole or not at all.

Every method may raise :class:`storage.errors.StoreError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from .archive import Archive
from .audit import Audit
from .forget import Eraser
from .records import Brief, Draft, Entry, Filter, Hit, Message, Node, Pass, Session, Totals

__all__ = ["Store"]


class Store(Protocol):
    """Keeps messages for ever, in the order of their lines, and the nodes over them."""

    path: str
    """The file, or an empty string for a store in memory."""

    def writing(self) -> AbstractContextManager[None]:
        """All or nothing, and nobody else writes meanwhile. May be nested."""

    def close(self) -> None:
        """Let go of the file. A second call does nothing."""

    def stale(self) -> bool:
        """Whether it should be closed and opened anew.

        Its file was replaced, moved or deleted; it could not be written, and that may be over; or
        it was damaged, and has been changed since.
        """

    def archive(self) -> Archive:
        """What moving the store to another file needs."""

    # sessions and lines

    def session(self, name: str) -> Session | None:
        """The session of that name, if it was ever opened."""

    def open_session(self, name: str, *, parent: str = "", relation: str = "new") -> Session:
        """Return the session, made at need.

        A ``rotation`` stands on its parent's line, a ``branch`` on a copy of
        it. A session that exists already is returned as it is.
        """

    def sessions(self, lines: Sequence[int] | None = None) -> list[Session]:
        """All sessions, or those of these lines, oldest first."""

    def lineage(self, line: int) -> tuple[int, ...]:
        """The line and those it was branched from, nearest first."""

    def revision(self, line: int) -> int:
        """A number that changes with every change of the line."""

    # messages

    def append(
        self, line: int, drafts: Sequence[tuple[Draft, int]], *, after: int | None = None
    ) -> list[Entry]:
        """Store new messages, each with its turn number.

        They go behind the entry with order key *after* (0: to the front), or
        to the end of the line. A uid of theirs is no other message's name any more.
        """

    def link(self, line: int, messages: Sequence[tuple[int, int]]) -> list[Entry]:
        """Put messages that are stored already at the end of the line, each with its turn number."""

    def revise(self, line: int, message: int, draft: Draft) -> None:
        """Make *draft* the current version; the one before is kept."""

    def editions(self, message: int) -> list[tuple[int, bytes]]:
        """(version, key) of each version of a message, the current one last."""

    def rename(self, line: int, message: int, uid: str) -> None:
        """Give a message its host's uid, unless another has it; the old one stays valid."""

    def alias(self, message: int, uid: str) -> None:
        """Let *uid* name the message as well, unless it names one already."""

    def withdraw(self, line: int, seqs: Iterable[int], *, withdrawn: bool) -> None:
        """Mark entries as withdrawn, or revoke that: then those that were are marked as returned."""

    def withdrawn(self, line: int, *, last: int) -> list[Entry]:
        """The withdrawn entries with ``seq <= last``."""

    def renumber(self, line: int, turns: Sequence[tuple[int, int]]) -> None:
        """Set turn numbers: pairs of (seq, turn)."""

    def entries(
        self, line: int, *, first: int = 0, last: int | None = None, brief: Brief = ""
    ) -> list[Entry]:
        """Entries with ``first <= seq <= last``, in order.

        *brief*: for ``places`` they may lack their ``uid`` and ``key``, which take a third of the memory of a long
        line; for ``names`` their ``key`` and ``digest``, which who shows a long line does not need.
        """

    def tail(self, line: int, limit: int, *, before: int | None = None) -> list[Entry]:
        """The last *limit* entries (with ``seq < before``), in order."""

    def turns(self, line: int, first: int, last: int) -> list[Entry]:
        """Entries of turns *first* to *last*, in order."""

    def known(self, uids: Iterable[str]) -> dict[str, int]:
        """Our numbers of the messages that these uids name, aliases included."""

    def placed(self, line: int, messages: Iterable[int]) -> list[Entry]:
        """The entries of these messages on the line, in order."""

    def lines_of(self, messages: Iterable[int]) -> dict[int, int]:
        """For each message the oldest line that it stands on, by number."""

    def read(self, wanted: Sequence[tuple[int, int]]) -> list[Message]:
        """Messages as (number, version) pairs, in that order; version 0 is the current one."""

    def parsed(
        self, wanted: Sequence[tuple[int, int]], *, damaged: bool = False
    ) -> list[tuple[Message, Any]]:
        """The same, each with what the host had; their bodies may lack large strings then.

        *damaged*: one that cannot be read says so in the place of its words; else it is an error.
        """

    def stream(self, line: int | None = None) -> Iterator[Message]:
        """Every version of every message, one at a time, in order of number and version."""

    # nodes

    def put_node(self, node: Node) -> None:
        """Store a node; one that is there already stays as it is.

        Raises:
            StoreForgotten: the sessions of its line were forgotten.
        """

    def nodes(
        self, uids: Sequence[str], *, brief: bool = False, damaged: bool = False
    ) -> list[Node]:
        """The nodes with these uids, in that order; a missing one is left out.

        *brief*: of their sources those that are nodes, for the messages may be thousands. *damaged*: of a node
        whose texts and span cannot be read, what its sources and the log tell of it, without a text.

        Raises:
            StoreDamaged: one cannot be read, and *damaged* is false or nothing is left of it.
        """

    def nodes_for(self, source_keys: Sequence[str]) -> dict[str, Node]:
        """For each source key the node made from it, brief: a repaired one before a degraded one, none damaged."""

    def nodes_on(
        self, lines: Sequence[int], *, kinds: Sequence[str] = ("leaf", "condensed")
    ) -> list[Node]:
        """All nodes made on these lines, oldest first."""

    def degraded(self, lines: Sequence[int], limit: int) -> list[Node]:
        """Up to *limit* nodes made on these lines that no model wrote, and none has written again; newest first."""

    def over(self, messages: Sequence[int]) -> dict[int, str]:
        """For each message a node, no state, that has it among its sources, if there is one."""

    def stands_for(self, uid: str) -> list[tuple[int, int]]:
        """The (message, version) pairs under a node, at any depth, in order."""

    # looking things up

    def resolve(self, prefix: str) -> list[tuple[str, str]]:
        """Up to ten (kind, uid) pairs whose uid, or alias, begins with *prefix*."""

    def search(
        self, words: Sequence[str], phrases: Sequence[str], where: Filter, limit: int
    ) -> list[Hit]:
        """Messages that hold any of the words or phrases, best first."""

    def search_nodes(
        self, words: Sequence[str], phrases: Sequence[str], where: Filter, limit: int
    ) -> list[Hit]:
        """Summary nodes that hold any of the words or phrases, best first."""

    def texts(self, where: Filter) -> Iterator[tuple[int, int, str]]:
        """(message, version, searchable text) of each version, newest message first."""

    def count(self, where: Filter) -> int:
        """How many messages *where* lets pass."""

    def newest(self) -> int:
        """Our number of the message that was stored last; 0 if there is none."""

    def vocabulary(self) -> list[str]:
        """Terms of the search index: words of messages in lower case, or their stems."""

    # what is remembered beside the log

    def remember(self, session: str, name: str, value: Any) -> None:
        """Keep a small JSON value for a session."""

    def recall(self, session: str, name: str) -> Any:
        """The value kept under that name, or None."""

    def record_pass(self, done: Pass) -> None:
        """Add to the list of compactions."""

    def passes(self, sessions: Sequence[str] | None = None) -> list[Pass]:
        """Compactions of these sessions (None: all), oldest first."""

    def passed(self, session: str) -> int:
        """How many compactions it has had."""

    def totals(self, line: int | None = None) -> Totals:
        """Counts for a line, or for the whole store."""

    def check(self) -> Mapping[str, str]:
        """What is wrong with the file itself: {} if nothing is."""

    def audit(self) -> Audit:
        """What proving the store needs."""

    def eraser(self) -> Eraser:
        """What forgetting needs; nothing else deletes."""

    def reindex(self) -> int:
        """Make the search index again from the log; returns how many texts it holds."""
