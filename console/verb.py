"""What a verb of the command line is: words, a handler, and what it needs.

A verb lives in a module of its own and is listed in ``console.verbs``. It
reads the store and gives an :class:`Answer`; the command line and the chat
show that each in its way.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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

    def open(self) -> Store:
        """The store of a verb that cannot do without."""
        if self.store is None:
            raise LookupError(f"There is no database at {self.path}.")
        return self.store

    def found(self) -> Session | None:
        """The session that is meant; None if none began yet.

        Raises:
            LookupError: nothing, or more than one, is called so.
        """
        return find_session(self.store, self.session, exactly=self.exactly) if self.store else None


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: ``hermes lcm NAME``."""

    name: str
    help: str
    """One line, without a full stop, for the list of verbs."""
    run: Callable[[Call], Answer]
    add: Callable[[argparse.ArgumentParser], None] = lambda _parser: None
    """Adds the verb's own options; every destination begins with ``lcm_``."""
    examples: Sequence[str] = ("",)
    """What follows the verb in the examples of its help."""
    opens: str = "store"
    """``store``: it needs a database; ``maybe``: it has something to say without one;
    ``itself``: it is given none, and opens what it needs."""
    salvages: bool = False
    """Of a damaged database it is given what can be read."""
    in_chat: bool = True
    """Offered as ``/lcm NAME`` too: nothing that writes, and nothing that names a file."""
    check: Callable[[Mapping[str, Any]], None] = lambda _options: None
    """Raises :class:`WrongCall` where the options do not go together, before a database is looked for."""


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
    alike = [each for each in names if each.startswith(name)]
    if len(alike) == 1:
        return store.session(alike[0])
    if alike:
        raise LookupError(f"{name!r} begins {len(alike)} sessions: {', '.join(alike[:_LISTED])}.")
    newest = ", ".join(names[: -_LISTED - 1 : -1]) or "none yet"
    raise LookupError(f"There is no session {name!r}. The newest are: {newest}.")


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
