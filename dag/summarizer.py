"""A summary of any source: by a summariser, in parts or halves where it must be, or by extraction.

Summarising may fail; compaction may not. So whatever a summariser gives back, a :class:`Summary`
comes out: its own text where that is one, else sentences extracted from the source, marked as
degraded so that they can be summarised again later. The ladder: the whole; where that is too long,
late or no summary, its halves; where they are none either, the extract. No rung is tried twice.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .breaker import Breaker
from .extractive import extract, key_terms
from .patience import Patience
from .replies import Draft, Rejected, Reply, is_too_long, read, without_surrogates
from .tokens import clip, count_text

__all__ = ["Reply", "Summarizer", "Summary", "SummaryRequest", "summarize"]

_log = logging.getLogger(__name__)

_TOPIC_WORDS: Final = 8
_TOPIC_TOKENS: Final = 24
_FEWEST_HINTS: Final = 2
_MOST_HINTS: Final = 5
_LEAST: Final = 5  #: tokens; an extract of fewer may be empty
_PROMPT_TOKENS: Final = 1000  #: what the prompt takes of a summariser's window, rounded up
_HALVINGS: Final = 3  #: how often a source is halved that is too long for its summariser
_HALVED: Final = 400  #: tokens; a smaller source is not worth a second call

_SPEAKER: Final = re.compile(r"^(?:user|assistant|tool|system)[^:\n]{0,40}:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What is to be summarised, and into what."""

    text: str  #: the source as one string, each line with its speaker
    max_tokens: int  #: size of the largest text wanted
    levels: tuple[int, ...]  #: sizes wanted, in tokens, ascending; empty: max_tokens alone
    focus: str = ""  #: what the reader cares about most, in the user's words
    memory: str = ""  #: what a memory provider knows, to understand the source by
    seconds: float | None = None  #: what the call may take; None: as long as it wants


Summarizer = Callable[[SummaryRequest], str | Reply]


@dataclass(frozen=True, slots=True)
class Summary:
    """The texts of a node, from the smallest to the largest."""

    texts: tuple[tuple[int, str], ...]  #: (level, text), every level asked for, ascending
    topic: str  #: one line of about eight words
    hints: tuple[str, ...]  #: two to five things one could ask the source for
    sufficient: int  #: the level at which nothing important is missing
    degraded: bool = False  #: extracted from the source, to be summarised again
    reason: str = ""  #: why, in our own words, never in those of an error

    @property
    def text(self) -> str:
        """The largest text."""
        return self.texts[-1][1]


@dataclass(frozen=True, slots=True)
class _Route:
    """Who is asked, and under which terms."""

    call: Summarizer
    trusted: bool
    breaker: Breaker
    patience: Patience | None

    def ask(self, request: SummaryRequest) -> Draft:
        """What one call brings.

        Raises:
            Rejected: it failed, came too late, or is no summary.
        """
        if self.breaker.rests():
            raise Rejected(self.breaker.reason, smaller=False, spent=False)
        if self.patience is not None:
            request = replace(request, seconds=self.patience.for_a_call())
            if not request.seconds:
                raise Rejected("no time left for a summariser", smaller=False, spent=False)
        try:
            return read(self._answer(request), trusted=self.trusted)
        except Rejected:
            raise
        except Exception as error:
            self._log(error)
            late, long = "timeout" in type(error).__name__.lower(), is_too_long(error)
            reason = f"summariser failed: {type(error).__name__}"
            raise Rejected(reason, too_long=long, smaller=late or long) from error

    def _answer(self, request: SummaryRequest) -> object:
        """A model's call the host itself ends, in the thread that it watches."""
        if not self.trusted or self.patience is None or request.seconds is None:
            return self.call(request)
        return self.patience.within(request.seconds, lambda: self.call(request))

    @staticmethod
    def _log(error: Exception) -> None:
        """Where, but not in its own words: they may hold a key, or the conversation."""
        where = "".join(traceback.format_tb(error.__traceback__))
        _log.warning("summariser failed (%s)\n%s", type(error).__name__, where)


def summarize(
    request: SummaryRequest,
    summarizer: Summarizer | None,
    *,
    trusted: bool,
    window_tokens: int | None = None,
    breaker: Breaker | None = None,
    patience: Patience | None = None,
) -> Summary:
    """Summarise *request* by calls of *summarizer*, or by extraction where they give nothing.

    *trusted*: the caller's own function, whose every text that is not blank and smaller than its
    source is the summary; otherwise a model, whose answer is judged first. *window_tokens*: what
    the summariser can read; a longer source is summarised in parts, one call each. *breaker*: of
    the summariser's route. *patience*: how long to wait for it. Without a summariser the extract is
    made at once.

    Never raises an ``Exception``; what is none (a cancelled call, an interrupt) passes through. A
    blank source calls nobody and gives blank texts.
    """
    request = replace(
        request,
        text=without_surrogates(request.text),
        focus=without_surrogates(request.focus),
        memory=without_surrogates(request.memory),
    )
    if not request.text.strip():
        return _compose(request, Draft({}), "", "the source is blank")
    if summarizer is None:
        return _extracted(request, "no summariser")
    route = _Route(summarizer, trusted, breaker or Breaker(), patience)
    if window_tokens is not None:
        room = max(window_tokens - _PROMPT_TOKENS - request.max_tokens, window_tokens // 2, _LEAST)
        parts = _parts(request.text, room)
        if len(parts) > 1:
            return _joined(request, [_laddered(part, route) for part in _shares(request, parts)])
    return _laddered(request, route)


def _laddered(request: SummaryRequest, route: _Route) -> Summary:
    """Down the ladder: the whole, its halves, the extract."""
    try:
        return _written(request, route, _HALVINGS)
    except Rejected as rejected:
        return _extracted(request, str(rejected))


def _written(request: SummaryRequest, route: _Route, halvings: int) -> Summary:
    """A summary by the summariser.

    Raises:
        Rejected: it gave none, of the whole nor of both halves.
    """
    try:
        draft = route.ask(request)
        summary = _compose(request, draft, _top(request, draft), "")
    except Rejected as rejected:
        tokens = count_text(request.text)
        halves = rejected.smaller and halvings > 0 and tokens >= _HALVED
        if rejected.spent and not (halves and rejected.too_long):
            route.breaker.note(str(rejected))
        parts = _parts(request.text, tokens * 6 // 10) if halves else []
        if not parts[1:]:
            raise
        left = halvings - 1 if rejected.too_long else 0
        try:
            done = [_written(part, route, left) for part in _shares(request, parts)]
        except Rejected:
            raise rejected from None  # why the whole gave none says more
        return _joined(request, done)
    route.breaker.note()
    return summary


def _top(request: SummaryRequest, draft: Draft) -> str:
    """Return the largest text that came, cut to size."""
    whole = draft.texts[max(draft.texts)]
    if count_text(whole) >= count_text(request.text):
        raise Rejected("not smaller than its source")
    top = clip(whole, request.max_tokens)
    if not top:
        raise Rejected("nothing of it fits", smaller=False)
    return top


def _compose(request: SummaryRequest, draft: Draft, top: str, reason: str) -> Summary:
    """Make a summary of what came; what did not come is extracted from it."""
    levels = request.levels or (request.max_tokens,)
    texts = {levels[-1]: top}
    larger = top
    for level in reversed(levels[:-1]):
        size = min(level, request.max_tokens)
        larger = extract(draft.texts.get(level, larger), size, request.focus) or larger
        texts[level] = larger
    whole = next(level for level in levels if texts[level] == top)
    enough = next((level for level in levels if level >= draft.sufficient), levels[-1])
    return Summary(
        texts=tuple(sorted(texts.items())),
        topic=draft.topic or _topic(texts[levels[0]]),
        hints=_hints(draft.hints, request.text),
        sufficient=min(enough, whole) if draft.sufficient else whole,
        degraded=bool(reason),
        reason=reason,
    )


def _topic(text: str) -> str:
    first = _SPEAKER.sub("", extract(text, _TOPIC_TOKENS).partition("\n")[0])
    return clip(" ".join(first.split()[:_TOPIC_WORDS]), _TOPIC_TOKENS)


def _hints(own: Sequence[str], source: str) -> tuple[str, ...]:
    more = key_terms(source, _MOST_HINTS) if len(own) < _FEWEST_HINTS else ()
    return tuple(dict.fromkeys((*own, *more)))[:_MOST_HINTS]


def _extracted(request: SummaryRequest, reason: str) -> Summary:
    """Stand in for a summary: half of the source at most, or nothing would be won."""
    budget = min(request.max_tokens, max(count_text(request.text) // 2, _LEAST))
    return _compose(request, Draft({}), extract(request.text, budget, request.focus), reason)


def _parts(text: str, room: int) -> list[str]:
    """Cut a text into parts of at most *room* tokens, at blank lines, else at lines."""
    parts: list[str] = []
    current: list[str] = []
    size, blank = 0, True  # of the current part; pieces apart never count less than joined
    for block in re.split(r"(?<=\n\n)", text):
        for piece in [block] if count_text(block) <= room else _lines(block, room):
            tokens = count_text(piece)
            if not blank and size + tokens > room:
                size = count_text("".join(current))
                if size + tokens > room:
                    parts.append("".join(current))
                    current, size, blank = [], 0, True
            current.append(piece)
            size, blank = size + tokens, blank and not piece.strip()
    return parts if blank else [*parts, "".join(current)]


def _lines(block: str, room: int) -> list[str]:
    pieces = []
    for line in block.splitlines(keepends=True):
        rest = line
        while count_text(rest) > room:
            cut = clip(rest, room) or rest[:1]
            pieces.append(cut)
            rest = rest[len(cut) :]
        pieces.append(rest)
    return pieces


def _shares(request: SummaryRequest, parts: Sequence[str]) -> list[SummaryRequest]:
    """A request for each part, with its share of the room."""
    share = max(request.max_tokens // len(parts), _LEAST)
    return [replace(request, text=part, max_tokens=share) for part in parts]


def _joined(request: SummaryRequest, done: Sequence[Summary]) -> Summary:
    """One summary of the summaries of its parts, oldest first."""
    top = extract("\n".join(summary.text for summary in done), request.max_tokens, request.focus)
    hints = dict.fromkeys(hint for summary in done for hint in summary.hints)
    reason = next((summary.reason for summary in done if summary.degraded), "")
    return _compose(request, Draft({}, hints=tuple(hints)), top, reason)
