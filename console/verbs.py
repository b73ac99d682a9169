"""The verbs of the command line: what each reads from the store, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..storage.errors import StoreError, StoreMissing
from ..storage.protocol import Store
from ..storage.records import Session
from ..tools.answers import ToolError
from . import search, show, status, tree
from .report import Report
from .screen import grid, many
from .verify import Progress, verify

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Answer", "Wish", "answer", "explain", "find_session", "last_used"]

_LISTED: Final = 5
_NEXT: Final = (
    "Start a conversation in a Hermes that has context.engine: lcm, "
    "or name another database with --db FILE or --home HERMES_HOME."
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for."""

    verb: str
    session: str = ""
    """A session's name or the beginning of one; empty: the session last used."""
    exactly: bool = False
    """Only the session of exactly that name will do, even where it is empty (in a chat)."""
    query: str = ""
    mode: str = "auto"
    scope: str = "session"
    limit: int = 10
    depth: int = tree.DEPTH
    messages: bool = False
    uid: str = ""
    facts: Mapping[str, Any] | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What is found: as data, and to look at."""

    data: Mapping[str, Any]
    good: bool = True
    shown: Sequence[RenderableType] = field(default_factory=tuple)
    text: str = ""
    """Shown as it is, unwrapped, in place of all else."""


def answer(store: Store | None, wish: Wish) -> Answer:
    """Carry out *wish*; without a store only the status has something to say.

    Raises:
        StoreError, ToolError: it cannot be done; the text says why.
        LookupError: there is no such session; the text says which there are.
    """
    if wish.verb == "verify" and store is not None:
        if wish.session:
            find_session(store, wish)
        report = verify(store, wish.progress)
        return Answer(report.data(), report.good, _report(report))
    session = find_session(store, wish) if store else None
    if wish.verb == "status":
        data = status.gather(store, session, wish.facts)
        return Answer(data, status.is_well(data), [status.view(data)])
    if store is None or session is None:
        return Answer({"session": None, "note": status.NO_SESSION}, shown=[status.NO_SESSION])
    if wish.verb == "tree":
        data = tree.gather(store, session, depth=wish.depth, messages=wish.messages)
        return Answer(data, shown=[tree.view(data)])
    if wish.verb == "show":
        data = show.gather(store, session, wish.uid)
        return Answer(data, text=show.view(data))
    data = search.gather(
        store, session, wish.query, mode=wish.mode, scope=wish.scope, limit=wish.limit
    )
    return Answer(data, shown=[search.view(data)])


def explain(error: Exception, path: str) -> tuple[str, str]:
    """What is wrong, and what to do next."""
    if isinstance(error, StoreMissing):
        return str(error), _NEXT
    if isinstance(error, ToolError):
        return error.error, error.hint.replace("lcm_grep, from lcm_describe", "search, from tree")
    if isinstance(error, StoreError):
        return str(error), ""
    if isinstance(error, LookupError) and type(error) is LookupError:
        return str(error), ""
    return (
        f"{path} could not be read ({type(error).__name__}: {error}).",
        "`hermes lcm verify` says what is damaged.",
    )


def find_session(store: Store, wish: Wish) -> Session | None:
    """The session that is meant; None if none began yet.

    Raises:
        LookupError: nothing, or more than one, is called so.
    """
    if wish.exactly:
        return store.session(wish.session) if wish.session else None
    if not wish.session:
        return last_used(store)
    if found := store.session(wish.session):
        return found
    names = [session.name for session in store.sessions()]
    alike = [name for name in names if name.startswith(wish.session)]
    if len(alike) == 1:
        return store.session(alike[0])
    if alike:
        raise LookupError(
            f"{wish.session!r} begins {len(alike)} sessions: {', '.join(alike[:_LISTED])}."
        )
    newest = ", ".join(names[: -_LISTED - 1 : -1]) or "none yet"
    raise LookupError(f"There is no session {wish.session!r}. The newest are: {newest}.")


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


def _report(report: Report) -> list[RenderableType]:
    from rich.text import Text

    counts = report.counts
    earlier = many(counts.versions, "earlier version")
    frames = many(counts.frames, "summary row")
    rows = [
        ("database", report.database or "in memory"),
        ("messages", f"{counts.messages:,}, and {earlier}: each digest from its bytes"),
        ("nodes", f"{counts.nodes:,}, and {frames}: each uid from texts and sources"),
        ("edges", f"{counts.edges:,}: whether each leads somewhere, and none in a circle"),
        ("sessions", f"{counts.sessions:,}: whether summary and rest hold each message once"),
        ("withdrawn", f"{counts.withdrawn:,}: kept, and no longer in a conversation"),
    ]
    shown: list[RenderableType] = [grid([(f"checked {name}", said) for name, said in rows])]
    if report.notes:
        shown.append(
            grid([("note", f"{each.kind} {each.uid}: {each.what}") for each in report.notes])
        )
    if report.failures:
        shown.append(
            grid([("WRONG", f"{each.kind} {each.uid}: {each.what}") for each in report.failures])
        )
    shown.append(Text(report.verdict, style="bold green" if report.good else "bold red"))
    return shown
