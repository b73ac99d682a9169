"""A compaction as a value: what is dropped, and what stands in its place.

Made by a compactor, judged against a history before a model is asked for anything, and only then
rendered. A plan changes nothing by itself and holds no message; the same plan of the same history
always gives the same list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .history import leading, pairing_fault, rows_of, speaks, system_fault
from .messages import Row, text_of
from .redact import redacted
from .renderer import FILLER
from .replies import without_surrogates
from .source_text import most_shown, source_text

__all__ = [
    "SUMMARY_HEAD",
    "CompactionPlan",
    "CompactionSplit",
    "split_at_user_turn",
    "transcript",
    "turns_of",
]

#: With this a summary row begins; by it one is known when it comes back.
SUMMARY_HEAD: Final = "[Compacted earlier context]"


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The messages from ``keep_from`` on stay; a summary stands for those before.

    System rows that a history begins with are not dropped: they stay where they are.
    """

    keep_from: int  #: index, in the whole history, of the user message that stays first
    summary: str | None = None  #: what is said of what is dropped; None or blank: nothing
    usage: Any = None  #: what making the summary has used, as the summariser reported it
    degraded: bool = False  #: whether the summary is extracted sentences, for want of a better one
    alternate: bool = False
    """Whether a sentence of the assistant parts the summary from the user message behind it: for
    models that refuse two messages of a user in a row."""

    def validate(self, messages: Iterable[Any]) -> None:
        """Do nothing if this plan can be carried out on *messages*.

        Raises:
            ValueError: it cannot; the text is the reason. ``keep_from`` is outside the history, not
                at a user message, or drops nothing; what stays has a tool result without its call,
                or a call without all its results; the history is empty, or has a system row
                elsewhere than at its beginning; the summary is no text.
        """
        self._judge(rows_of(messages))

    def render(self, messages: Iterable[Any]) -> list[Any]:
        """The new history: a list of its own, in which the rows that stay are the very same.

        Raises:
            ValueError: see :meth:`validate`.
        """
        rows = rows_of(messages)
        self._judge(rows)
        return [*rows[: leading(rows)], *self._rows(), *rows[self.keep_from :]]

    def _rows(self) -> list[Row]:
        """What stands in the place of what is dropped."""
        text = without_surrogates(self.summary or "").strip().removeprefix(SUMMARY_HEAD).lstrip()
        if not text:
            return []
        summary = {"role": "user", "content": f"{SUMMARY_HEAD}\n{text}"}
        return [summary, {"role": "assistant", "content": FILLER}] if self.alternate else [summary]

    def _judge(self, rows: Sequence[Row]) -> None:
        fault = self._cut_fault(rows) or system_fault(rows) or pairing_fault(rows, self.keep_from)
        if fault:
            raise ValueError(fault)

    def _cut_fault(self, rows: Sequence[Row]) -> str:
        keep = self.keep_from
        summary: Any = self.summary
        if not _is_whole(keep):
            return f"keep_from is no index but {keep!r}"
        if not 0 <= keep < len(rows):
            return f"keep_from {keep} is outside the history of {len(rows)} messages"
        if rows[keep].get("role") != "user":
            return f"keep_from {keep} is not at a user message"
        if keep == leading(rows):
            return f"nothing would be dropped: keep_from {keep} is at the first message"
        if summary is None or isinstance(summary, str):
            return ""
        return f"the summary is no text but {type(summary).__name__}"


@dataclass(frozen=True, slots=True)
class CompactionSplit:
    """A history parted at a user's turn."""

    keep_from: int  #: index, in the whole history, of the first message of ``recent``
    older: list[Any]  #: what a plan drops; without the system rows that the history begins with
    recent: list[Any]  #: what stays

    def plan(self, summary: str | None = None, usage: Any = None, **more: bool) -> CompactionPlan:
        """The plan that puts *summary* in the place of ``older``; without one it is dropped.

        *more*: ``degraded`` and ``alternate``, see :class:`CompactionPlan`.
        """
        return CompactionPlan(self.keep_from, summary, usage, **more)


def split_at_user_turn(messages: Iterable[Any], keep_turns: int) -> CompactionSplit:
    """Part *messages* in front of the newest *keep_turns* turns; each begins with a user message.

    Results of tools in a user row begin no turn, nor does the summary row of an earlier plan.

    Raises:
        ValueError: *keep_turns* is under 1, nothing would be dropped (but such a summary row), or
            no plan could be carried out there; see :meth:`CompactionPlan.validate`.
    """
    if not _is_whole(keep_turns) or keep_turns < 1:
        raise ValueError(f"keep_turns must be a whole number from 1 on, not {keep_turns!r}")
    rows = rows_of(messages)
    turns = turns_of(rows)
    first = leading(rows)
    keep_from = turns[-keep_turns] if len(turns) >= keep_turns else first
    if keep_from <= first + _ours(rows, first):
        raise ValueError(
            f"nothing would be dropped: {keep_turns} turns stay, and the history has {len(turns)}"
        )
    CompactionPlan(keep_from).validate(rows)
    return CompactionSplit(keep_from, rows[first:keep_from], rows[keep_from:])


def turns_of(rows: Sequence[Row]) -> list[int]:
    """The indexes at which users' turns begin."""
    return [index for index, row in enumerate(rows) if speaks(row) and not _is_summary(row)]


def transcript(messages: Iterable[Any]) -> str:
    """What a summariser reads of *messages*: each with its speaker, and without secrets.

    A message of more than 4,000 tokens is shown by its ends. Empty for messages that say nothing.

    Raises:
        ValueError: they are no messages.
    """
    rows = list(messages)
    return source_text([_bare(row) for row in rows_of(rows)], redacted, most_shown) if rows else ""


def _bare(row: Row) -> Row:
    """A summary row without its head, or the row itself."""
    if not _is_summary(row):
        return row
    return {"role": "summary of what was before", "content": text_of(row)[len(SUMMARY_HEAD) :]}


def _is_summary(row: Row) -> bool:
    return row.get("role") == "user" and text_of(row).startswith(SUMMARY_HEAD)


def _ours(rows: Sequence[Row], first: int) -> int:
    """How many rows from *first* on stand for what was dropped before."""
    if first == len(rows) or not _is_summary(rows[first]):
        return 0
    behind = rows[first + 1 : first + 2]
    fillers = [row for row in behind if row.get("role") == "assistant" and text_of(row) == FILLER]
    return 1 + len(fillers)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
