"""What every tool works on: one session, its store, and what the engine knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..dag.settings import Settings
from ..dag.wording import many
from ..storage.proof import altered
from ..storage.protocol import Store
from ..storage.records import Entry, Message, Node, Session
from ..storage.text import searchable
from .answers import ToolError, WrongArgument, page_of

if TYPE_CHECKING:
    from ..dag.answering import Answerer

__all__ = ["Desk", "Found", "Voice"]

#: Characters of a uid that are enough to name something.
_SHORTEST = 6

_UID = re.compile(r"(?:lcm[ :]+)?([0-9a-f]{6,32})(?:@(\d{1,6}))?", re.IGNORECASE)
_TOO_SHORT = re.compile(r"[0-9a-f]{1,5}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """What a uid names: a message in one version, or a node."""

    message: Message | None = None
    """Not its words: they may be damaged."""
    node: Node | None = None


@dataclass(frozen=True, slots=True)
class Voice:
    """Who answers questions in words of its own, and what it may not be told."""

    answerer: Answerer | None = None
    redact: Callable[[str], str] | None = None
    """Takes secrets out of what it reads."""


@dataclass(frozen=True, slots=True)
class Desk:
    """One session and its store."""

    store: Store
    session: Session
    settings: Settings
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the engine adds to the status: window, budget, problems."""
    voice: Callable[[], Voice] = Voice
    """Who answers ``lcm_expand_query``; asked for when it is."""
    snippet: int | None = None
    """Characters of a result of a search at most; None: as many as the budget of the settings has room for."""
    _said: dict[tuple[int, int], tuple[Message, str]] = field(default_factory=dict, repr=False)

    @property
    def page(self) -> int:
        """Characters that one answer may have, as :func:`.answers.weight` counts them."""
        return page_of(self.facts)

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of the session, which rotated sessions share."""
        return (self.session.line,)

    @property
    def lineage(self) -> tuple[int, ...]:
        """The line and those it was branched from."""
        return self.store.lineage(self.session.line)

    def find(self, text: Any) -> Found:
        """What *text* names: a uid, a prefix of one, or a name as the context shows it.

        Raises:
            ToolError: nothing, or more than one thing.
        """
        written = str(text or "").strip()
        for prefix, version in self._spellings(written):
            named = self.store.resolve(prefix)
            exact = [pair for pair in named if pair[1] == prefix] or named
            if len(exact) > 1:
                listed = ", ".join(f"{uid[:12]} ({kind})" for kind, uid in exact[:5])
                raise ToolError(
                    f"'{prefix}' names more than one thing: {listed}",
                    "Give more characters of the uid.",
                )
            if exact:
                return self._load(*exact[0], version)
        if _TOO_SHORT.fullmatch(written):
            raise WrongArgument(
                f"'{written}' is too short: {_SHORTEST} characters of the uid at least.",
                "Take them from lcm_grep, from lcm_describe, or from a block of the summary.",
            )
        raise ToolError(
            f"Nothing here is called '{written[:80]}'.",
            "Take a uid from lcm_grep, from lcm_describe, or from a block of the summary: [lcm 1a2b3c4d].",
        )

    @staticmethod
    def _spellings(written: str) -> list[tuple[str, int]]:
        found = [(match[1].lower(), int(match[2] or 0)) for match in _UID.finditer(written)]
        whole = written.encode("utf-8", "replace").decode("utf-8")
        return ([(whole, 0)] if whole and len(whole) >= _SHORTEST else []) + found

    def _load(self, kind: str, uid: str, version: int) -> Found:
        if kind == "node":
            return Found(node=self.store.nodes([uid])[0])
        number = self.store.known([uid])[uid]
        ((message, _),) = self.store.parsed([(number, 0)], damaged=True)
        if version and version != message.version:
            if version > message.versions:
                raise ToolError(
                    f"{uid} has {many(message.versions, 'version')}.",
                    f"Ask for {uid}@{message.versions} or less.",
                )
            ((message, _),) = self.store.parsed([(number, version)], damaged=True)
        return Found(message=message)

    def places(self, numbers: list[int]) -> dict[int, Entry]:
        """Where these messages stand on the session's line, by number."""
        return {entry.id: entry for entry in self.store.placed(self.session.line, numbers)}

    def said(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[Message, str]]:
        """Messages, as (number, version) pairs, with what can be searched of each: read once for one call."""
        lacking = [pair for pair in pairs if pair not in self._said]
        for pair, (message, row) in zip(
            lacking, self.store.parsed(lacking, damaged=True), strict=True
        ):
            self._said[pair] = message, searchable(row)
        return [self._said[pair] for pair in pairs]

    def altered(self, pairs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
        """Those of these messages that are not what was stored: whoever shows them says so."""
        return altered(self.store, pairs)

    def rows(self, pairs: list[tuple[int, int]]) -> list[tuple[Message, dict[str, Any]]]:
        """Messages, as (number, version) pairs, with what the host had."""
        return self.store.parsed(pairs, damaged=True)
