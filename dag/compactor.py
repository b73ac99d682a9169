"""What an agent loop and a compactor have to do with each other.

Before each call of its model a loop shows a compactor its history, in a context. The compactor, a
callable of any kind, answers with a plan, with a full list, or with None where the history may stay
as it is. What it answers is judged before the loop gets it.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

from .history import ending_fault, leading, pairing_fault, rows_of
from .messages import Row, is_system
from .plan import CompactionPlan, CompactionSplit, split_at_user_turn, transcript
from .usage import Usage

__all__ = [
    "Answer",
    "Compaction",
    "CompactionContext",
    "Compactor",
    "run_compactor",
    "run_compactor_async",
]


def _unheard(usage: Any) -> None:
    """Where nobody wants to know."""


@dataclass(frozen=True)
class CompactionContext:
    """What a compactor is shown.

    A compactor of ours takes any object with these attributes. ``messages`` is a list of its own: a
    compactor that changes it, or a history that grows meanwhile, changes nothing here.

    Raises:
        ValueError: ``messages`` is no list of mappings, or empty.
    """

    messages: Sequence[Any]  #: the whole history, oldest first
    iteration: int = 0  #: calls of the model in this run so far: 0 before the first one
    run_id: str = ""  #: names the run, or the conversation
    model: str = ""  #: the model that the history is for
    last_usage: Any = None  #: what the last call used, in any form of :meth:`.usage.Usage.of`
    record_usage: Callable[[Any], None] = field(default=_unheard, repr=False)
    """Told what a summary has used: that of a plan by who carries it out, any other by the compactor."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", rows_of(self.messages))

    def split_at_user_turn(self, keep_turns: int) -> CompactionSplit:
        """The history, parted in front of its newest *keep_turns* turns; see :mod:`.plan`.

        Raises:
            ValueError: it cannot be.
        """
        return split_at_user_turn(self.messages, keep_turns)

    @overload
    def render(self, what: CompactionPlan) -> list[Any]: ...

    @overload
    def render(self, what: Iterable[Any]) -> str: ...

    def render(self, what: CompactionPlan | Iterable[Any]) -> list[Any] | str:
        """Messages as the text that a summariser reads; a plan as the history it makes of this one.

        Raises:
            ValueError: the plan cannot be carried out.
        """
        return what.render(self.messages) if isinstance(what, CompactionPlan) else transcript(what)


Answer = CompactionPlan | Sequence[Any] | None
"""What a compactor gives: a plan, the whole new history, or None."""

Compactor = Callable[[CompactionContext], Answer | Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What came of showing a history to a compactor."""

    messages: list[Any]  #: the history to go on with
    changed: bool  #: whether it is another than before
    usage: Usage  #: of all summary calls, those that came to nothing included
    plan: CompactionPlan | None = None  #: the plan that was carried out


def run_compactor(compactor: Compactor, context: CompactionContext) -> Compaction:
    """Ask *compactor*, and carry out what it answers.

    Raises:
        ValueError: the answer would make a history that no model takes; the text is the reason.
        TypeError: the answer is something else, or has to be awaited.
        Exception: whatever the compactor raises.
    """
    books = _Books(context)
    answer = compactor(books.context())
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("this compactor is asynchronous: await run_compactor_async()")
    return books.close(answer)


async def run_compactor_async(compactor: Compactor, context: CompactionContext) -> Compaction:
    """The same for a compactor of either kind; one that is not asynchronous runs in this thread.

    Raises:
        ValueError, TypeError, Exception: as :func:`run_compactor`.
    """
    books = _Books(context)
    answer = compactor(books.context())
    return books.close(await answer if inspect.isawaitable(answer) else answer)


class _Books:
    """The history as it was when the compactor was asked, and what it has used since."""

    def __init__(self, context: CompactionContext) -> None:
        self._given = context
        self._rows = rows_of(context.messages)
        self._usage = Usage()

    def context(self) -> CompactionContext:
        """What the compactor is shown."""
        return replace(self._given, record_usage=self._record)

    def _record(self, usage: Any) -> None:
        self._usage += Usage.of(usage)
        self._given.record_usage(usage)

    def close(self, answer: Any) -> Compaction:
        """Carry out the answer."""
        if answer is None:
            return Compaction(list(self._rows), changed=False, usage=self._usage)
        plan = _as_plan(answer)
        if plan is not None:
            if plan.usage is not None:  # spent, whatever comes of the plan
                self._record(plan.usage)
            rows = plan.render(self._rows)
        elif isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
            rows = _judged(answer, self._rows)
        else:
            kind = type(answer).__name__
            raise TypeError(f"a compactor gives a plan, a list of messages or None, not {kind}")
        return Compaction(rows, changed=rows != self._rows, usage=self._usage, plan=plan)


def _as_plan(answer: Any) -> CompactionPlan | None:
    """A plan, or what a compactor of another library gives as one."""
    if isinstance(answer, CompactionPlan):
        return answer
    if hasattr(answer, "keep_from") and hasattr(answer, "summary"):
        return CompactionPlan(answer.keep_from, answer.summary, getattr(answer, "usage", None))
    return None


def _judged(answer: Sequence[Any], before: Sequence[Row]) -> list[Row]:
    """A full list as the new history; the system rows that the old one begins with stay.

    Raises:
        ValueError: no model takes it, or it has a system row of its own.
    """
    rows = rows_of(answer)
    system = [] if any(map(is_system, rows)) else before[: leading(before)]
    fault = pairing_fault(rows) or ending_fault(rows, before)
    fault = fault or _system_fault([*system, *rows], before)
    if fault:
        raise ValueError(fault)
    return [*system, *rows]


def _system_fault(rows: Sequence[Row], before: Sequence[Row]) -> str:
    first = leading(before)
    if rows[:first] != before[:first]:
        return "the list does not begin with the system rows of the history"
    known = [row for row in before if is_system(row)]
    wrong = [index for index, row in enumerate(rows) if is_system(row) and row not in known]
    return f"message {wrong[0]} is a system row that the history does not have" if wrong else ""
