"""A compactor that asks a summariser: for any loop, without a store.

It keeps nothing: what a plan of its own drops is gone, but for the summary and whatever the loop
keeps. :mod:`.store_compactor` loses nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from .compactor import CompactionContext
from .history import rows_of
from .plan import CompactionPlan, CompactionSplit, transcript, turns_of
from .redact import redacted
from .replies import Rejected, Reply, read, without_surrogates
from .summarizer import SummaryRequest, summarize
from .tokens import clip, count_text
from .usage import Usage

__all__ = ["LlmCompactor", "NoSummary"]

_log = logging.getLogger(__name__)

#: Tokens. A summary of no more is taken whatever the size of its source: no window feels it.
_SMALL: Final = 64
_FAILURES: Final = ("extract", "raise")
_PAIR: Final = 2

Summarized = str | Reply | tuple[Any, Any] | None


class NoSummary(ValueError):
    """What a summariser gave is no summary; the text is the reason, in our own words."""


@dataclass(frozen=True)
class LlmCompactor:
    """Puts a summary in the place of older turns as soon as the context is large.

    Called before the model is: ``compactor(context)``. With a summariser that is asynchronous what
    it gives has to be awaited; :meth:`acall` has always to be.

    Gives None before the first call of a run, while the last call read fewer than
    *threshold_tokens*, while there is no turn older than those that stay, and where the summary is
    empty (what it has used is recorded even so).

    Raises:
        TypeError, ValueError: a setting is none; in a call: the history is not valid (before the summariser is
            asked).
        NoSummary: in a call, and only if *on_failure* is ``raise``.
        Exception: what the summariser raises, likewise.
    """

    summarizer: Callable[[SummaryRequest], Summarized | Awaitable[Summarized]]
    """Takes what is to be summarised and gives the summary: a text, a :class:`.replies.Reply` of a
    model, which is judged, or a pair of one of them and the usage."""
    threshold_tokens: int  #: tokens that the last call has read, from which on it compacts
    keep_turns: int = 3  #: the newest turns, which stay word for word
    on_failure: Literal["extract", "raise"] = "extract"
    """What follows where the summariser raises, or what it gives is no summary or not smaller than
    its source: ``extract`` takes sentences of the source instead, ``raise`` lets it through."""
    summary_tokens: int = 1000  #: the largest summary; a longer one is cut at the end of a sentence
    alternate: bool = False  #: see :class:`.plan.CompactionPlan`

    def __post_init__(self) -> None:
        if not callable(self.summarizer):
            raise TypeError(f"a summariser is a callable, not {type(self.summarizer).__name__}")
        for name, least in (("threshold_tokens", 0), ("keep_turns", 1), ("summary_tokens", 1)):
            value = vars(self)[name]
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number from {least} on, not {value!r}")
        if self.on_failure not in _FAILURES:
            raise ValueError(f"on_failure must be extract or raise, not {self.on_failure!r}")

    def __call__(
        self, context: CompactionContext
    ) -> CompactionPlan | Awaitable[CompactionPlan | None] | None:
        """The plan, or None; to be awaited where the summariser is asynchronous."""
        if _is_async(self.summarizer):
            return self.acall(context)
        task = self._task(context)
        if task is None:
            return None
        try:
            answer = self.summarizer(task.request)
        except Exception as error:  # noqa: BLE001 - the code of others
            return self._failed(task, error)
        if inspect.isawaitable(answer):
            return self._awaited(task, answer)
        return self._plan(task, answer)

    async def acall(self, context: CompactionContext) -> CompactionPlan | None:
        """The same, asynchronous with any summariser: one that is not runs in a thread."""
        task = self._task(context)
        if task is None:
            return None
        if not _is_async(self.summarizer):
            return await self._awaited(task, asyncio.to_thread(self.summarizer, task.request))
        return await self._awaited(task, self.summarizer(task.request))

    async def _awaited(self, task: _Task, answer: Any) -> CompactionPlan | None:
        try:
            while inspect.isawaitable(answer):  # in a thread, a function may give a coroutine
                answer = await answer
        except Exception as error:  # noqa: BLE001 - the code of others
            return self._failed(task, error)
        return self._plan(task, answer)

    def _task(self, context: CompactionContext) -> _Task | None:
        """What there is to do; None where the history stays as it is."""
        if context.iteration < 1 or context.last_usage is None:
            return None
        if Usage.of(context.last_usage).input_tokens < self.threshold_tokens:
            return None
        if len(turns_of(rows_of(context.messages))) <= self.keep_turns:
            return None
        split = context.split_at_user_turn(self.keep_turns)
        CompactionPlan(split.keep_from).validate(context.messages)  # it may be another's
        text: Any = context.render(split.older)
        text = redacted(text if isinstance(text, str) else transcript(split.older))
        if not text.strip():
            return None
        size = self.summary_tokens
        return _Task(context, split, SummaryRequest(without_surrogates(text), size, (size,)))

    def _plan(self, task: _Task, answer: Any) -> CompactionPlan | None:
        given, usage = (
            answer if isinstance(answer, tuple) and len(answer) == _PAIR else (answer, None)
        )
        try:
            summary = _text(given, task.request)
        except NoSummary as error:
            return self._failed(task, error, usage)
        if summary:
            return self._made(task, summary, usage, degraded=False)
        task.spent(usage)
        return None

    def _failed(self, task: _Task, error: Exception, usage: Any = None) -> CompactionPlan:
        """What the caller chose."""
        if self.on_failure == "raise":
            task.spent(usage)
            raise error
        said = (
            error if isinstance(error, NoSummary) else type(error).__name__
        )  # not in its own words
        _log.warning("sentences were extracted in place of a summary: %s", said)
        extract = summarize(task.request, ()).text
        return self._made(task, extract, usage, degraded=True)

    def _made(self, task: _Task, summary: str, usage: Any, *, degraded: bool) -> CompactionPlan:
        plan: Any = task.split.plan(summary, usage)
        if not isinstance(plan, CompactionPlan):
            return plan  # type: ignore[no-any-return] # of the loop's own kind
        return replace(plan, degraded=degraded, alternate=self.alternate)


@dataclass(frozen=True, slots=True)
class _Task:
    """What one call has to do."""

    context: CompactionContext
    split: CompactionSplit
    request: SummaryRequest

    def spent(self, usage: Any) -> None:
        """No plan carries *usage*, so it is recorded."""
        if usage is not None:
            self.context.record_usage(usage)


def _is_async(call: object) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)


def _text(given: Any, request: SummaryRequest) -> str:
    """The summary, or nothing where *given* says nothing.

    Raises:
        NoSummary: it says something else.
    """
    text = given.text if isinstance(given, Reply) else given
    if text is None or (isinstance(text, str) and not text.strip()):
        return ""
    if not isinstance(text, str):
        raise NoSummary(f"a summariser gives a text, not {type(text).__name__}")
    try:
        draft = read(given, trusted=not isinstance(given, Reply), source=request.text)
    except Rejected as rejected:
        raise NoSummary(str(rejected)) from rejected
    whole = redacted(draft.texts[max(draft.texts)])
    if count_text(whole) > _SMALL and count_text(whole) >= count_text(request.text):
        raise NoSummary("not smaller than its source")
    return clip(whole, request.max_tokens)
