"""What a verb of the command line is: words, a handler, and what it needs.

A verb is listed in ``console.verbs`` and does its work in a module of its own. That
reads the store and gives an :class:`Answer`; the command line and the chat
show that each in its way.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ..storage.protocol import Store
from ..storage.records import Session

if TYPE_CHECKING:
    from .screen import Shown

__all__ = [
    "Answer",
    "Call",
    "Progress",
    "Verb",
    "WrongCall",
    "find_session",
    "last_used",
    "number_to",
    "the_one",
]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, and of how many (0: that is not known)."""
_LISTED: Final = 5


class WrongCall(LookupError):
    """The options of a verb do not go together, or one is missing: the exit code is 2."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is found: as data, and to look at."""

    data: Mapping[str, Any]
    good: bool = True
    """Whether all is as it should be: the exit code."""
    shown: Sequence[Shown] = field(default_factory=tuple)
    text: str = ""
    """Shown as it is, unwrapped, in place of all else."""
    prose: bool = False
    """The lines of the text are sentences: those that are too wide are broken. What is indented is to be copied."""
    to_stderr: bool = False
    """Standard output has what was asked for already: this goes to standard error."""
    warning: str = ""
    """Said on standard error beside all else."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked for, and of what."""

    verb: str
    path: str
    """The database file, whether it is there or not."""
    store: Store | None = None
    """Open; None where there is no database, or where the verb opens it itself."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the verb's own parser read, by name (without the prefix ``lcm_``)."""
    session: str = ""
    """A session's name or the beginning of one; empty: the session last used."""
    exactly: bool = False
    """Only the session of exactly that name will do, even where it is empty (in a chat)."""
    facts: Mapping[str, Any] | None = None
    """What the host knows of its engine; None outside it."""
    progress: Progress | None = None
    salvaged: bool = False
    """The store has only what can be read of a damaged file: what is not in it may have been there."""

    def open(self) -> Store:
        """The store of a verb that cannot do without."""
        if self.store is None:
            raise LookupError(f"There is no database at `{self.path}`.")
        return self.store

    def found(self) -> Session | None:
        """The session that is meant; None if none began yet.

        Raises:
            LookupError: nothing, or more than one, is called so.
        """
        return find_session(self.store, self.session, exactly=self.exactly) if self.store else None


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: ``hermes lcm NAME``. Its module is imported when it is called, for each takes a tenth of a second.

    The module has ``run(call)``, and where there is something for them to do ``add(parser)``, which adds options
    whose destinations begin with ``lcm_``, and ``check(options)``, which raises :class:`WrongCall` where they do
    not go together, before a database is looked for.
    """

    name: str
    help: str
    """One line, without a full stop, for the list of verbs."""
    examples: Sequence[str] = ("",)
    """What follows the verb in the examples of its help."""
    module: str = ""
    """Of this package; empty: it is called as the verb is."""
    opens: str = "store"
    """``store``: it needs a database; ``to write``: the same, and writes to it; ``maybe``: it has something
    to say without one; ``itself``: it is given none, and opens what it needs."""
    salvages: bool = False
    """Of a damaged database it is given what can be read."""
    undone: str = ""
    """What is said where another process kept the file, so that nothing could be written."""
    in_chat: bool = True
    """Offered as ``/lcm NAME`` too: nothing that writes, and nothing that names a file."""

    def run(self, call: Call) -> Answer:
        """Carry it out."""
        return self._imported().run(call)  # type: ignore[no-any-return]

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Add its own options."""
        getattr(self._imported(), "add", _nothing)(parser)

    def check(self, options: Mapping[str, Any]) -> None:
        """Whether its options go together.

        Raises:
            WrongCall: they do not.
        """
        getattr(self._imported(), "check", _nothing)(options)

    def _imported(self) -> Any:
        return import_module(f".{self.module or self.name}", __package__)


def _nothing(_given: object) -> None:
    """What a module does that has nothing to add or to check."""


def find_session(store: Store, name: str, *, exactly: bool = False) -> Session | None:
    """The session of that name, or whose name begins so; the last used one for an empty name.

    Raises:
        LookupError: nothing, or more than one, is called so; the text says which there are.
    """
    if exactly:
        return store.session(name) if name else None
    if not name:
        return last_used(store)
    if found := store.session(name):
        return found
    names = [session.name for session in store.sessions()]
    if one := the_one(names, name):
        return store.session(one)
    newest = ", ".join(names[: -_LISTED - 1 : -1]) or "none yet"
    raise LookupError(f"There is no session {name!r}. The newest are: {newest}.")


def the_one(names: Collection[str], name: str) -> str | None:
    """That of *names* which is *name*, or else the only one that begins so; None: no one does.

    Raises:
        LookupError: several do; the text says which.
    """
    if name in names:
        return name
    alike = [each for each in names if each.startswith(name)]
    if len(alike) > 1:
        raise LookupError(f"{name!r} begins {len(alike)} sessions: {', '.join(alike[:_LISTED])}.")
    return alike[0] if alike else None


def last_used(store: Store) -> Session | None:
    """The session whose line holds the newest message; of several, the youngest."""
    newest: dict[int, int] = {}
    sessions = store.sessions()
    for line in {session.line for session in sessions}:
        end = store.tail(line, 1)
        newest[line] = end[0].id if end else 0
    return (
        max(enumerate(sessions), key=lambda each: (newest[each[1].line], each[0]))[1]
        if sessions
        else None
    )


def number_to(most: int) -> Callable[[str], int]:
    """A type for argparse: a number from 1 to *most*."""

    def read(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {most}")
        return int(text)

    return read
