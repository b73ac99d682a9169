"""A summary of any source: by a summariser, in parts or halves where it must be, or by extraction.

Summarising may fail; compaction may not. So whatever a summariser gives back, a :class:`Summary`
comes out: its own text where that is one, else sentences extracted from the source, marked as
degraded so that they can be summarised again later. The ladder: the whole; where that is too long,
late or no summary, its halves; where they are none either, the next model; in the end the extract.
No rung is tried twice.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from .breaker import Breaker
from .extractive import extract, key_terms
from .patience import Patience
from .replies import Draft, Rejected, Reply, is_too_long, read, without_surrogates
from .tokens import clip, count_text

__all__ = [
    "Reply",
    "Route",
    "Summarizer",
    "Summary",
    "SummaryRequest",
    "is_barred",
    "is_final",
    "summarize",
]

_log = logging.getLogger(__name__)

_TOPIC_WORDS: Final = 8
_TOPIC_TOKENS: Final = 24
_FEWEST_HINTS: Final = 2
_MOST_HINTS: Final = 5
_LEAST: Final = 5  #: tokens; an extract of fewer may be empty
_PROMPT_TOKENS: Final = 1000  #: what the prompt takes of a summariser's window, rounded up
_HALVINGS: Final = 3  #: how often a source is halved that is too long for its summariser
_HALVED: Final = 400  #: tokens; a smaller source is not worth a second call

#: Where a person speaks in a source, see :mod:`.source_text`.
_TURN: Final = re.compile(r"^(?=user(?: \([^\n)]{0,80}\))?: )", re.MULTILINE)
_BLANK_LINE: Final = re.compile(r"(?<=\n\n)")
#: Why a source has no summary that any summariser could write, but for its own words.
_FINAL: Final = frozenset(
    {"", "the source is blank", "not smaller than its source", "nothing of it fits"}
)
#: What a reason says where nobody has judged the source: the way to the model is barred.
_BARRED: Final = ("summariser failed", "not asked for a while", "no time left")
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
class Route:
    """Who is asked for a summary, and under which terms."""

    call: Summarizer
    trusted: bool
    """Whether it is the caller's own function, whose every text that is not blank and smaller than its
    source is the summary; otherwise a model, whose answer is judged first."""
    breaker: Breaker = field(default_factory=Breaker)
    window: int | None = None
    """Tokens that it can read; None: not known before it has said that a source is too long."""

    def room(self, answer: int) -> int | None:
        """Tokens of a source that it can read and give *answer* tokens for; None: any, as far as we know."""
        known = self.breaker.room
        if self.window is None:
            return known
        stated = max(self.window - _PROMPT_TOKENS - answer, self.window // 2, _LEAST)
        return stated if known is None else min(stated, known)

    def ask(self, request: SummaryRequest, patience: Patience | None) -> Draft:
        """What one call brings.

        Raises:
            Rejected: it failed, came too late, or is no summary.
        """
        if self.breaker.rests():
            raise Rejected(self.breaker.reason, smaller=False, spent=False)
        if patience is not None:
            request = replace(request, seconds=patience.for_a_call())
            if not request.seconds:
                raise Rejected("no time left for a summariser", smaller=False, spent=False)
        try:
            answer = self._answer(request, patience)
            return read(answer, trusted=self.trusted, source=request.text)
        except Rejected:
            raise
        except Exception as error:
            self._log(error)
            late, long = "timeout" in type(error).__name__.lower(), is_too_long(error)
            failed = f"summariser failed: {type(error).__name__}"
            reason = "longer than the summariser can read" if long else failed
            raise Rejected(reason, too_long=long, smaller=late or long) from error

    def _answer(self, request: SummaryRequest, patience: Patience | None) -> object:
        """A model's call the host itself ends, in the thread that it watches."""
        if not self.trusted or patience is None or request.seconds is None:
            return self.call(request)
        return patience.within(request.seconds, lambda: self.call(request))

    @staticmethod
    def _log(error: Exception) -> None:
        """Where, but not in its own words: they may hold a key, or the conversation."""
        where = "".join(traceback.format_tb(error.__traceback__))
        _log.warning("summariser failed (%s)\n%s", type(error).__name__, where)


def is_final(reason: str) -> bool:
    """Whether a text that is extracted for *reason* is as good as any; also where there is no reason."""
    return _FINAL.issuperset(reason.split("; "))


def is_barred(reason: str) -> bool:
    """Whether the same source may well be summarised when the way to a model is free again."""
    return any(each in reason for each in _BARRED)


def summarize(
    request: SummaryRequest, routes: Sequence[Route], patience: Patience | None = None
) -> Summary:
    """Summarise *request* by the first of *routes* that can, or by extraction where none can.

    A source that is longer than a route can read is summarised in parts, cut at turns where that is
    possible, one call each. *patience*: how long to wait in all. Without a route the extract is made
    at once.

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
    if not routes:
        return _extracted(request, "no summariser")
    return _laddered(request, routes, patience)


def _laddered(
    request: SummaryRequest, routes: Sequence[Route], patience: Patience | None
) -> Summary:
    """Down the ladder: of each route the whole, its halves; then the extract."""
    reasons: dict[str, None] = {}
    for n, route in enumerate(routes):
        room = route.room(request.max_tokens)
        parts = [] if room is None or route.breaker.rests() else _parts(request.text, room)
        if len(parts) > 1:
            shares = _shares(request, parts)
            return _joined(request, [_laddered(part, routes[n:], patience) for part in shares])
        try:
            return _written(request, route, patience, _HALVINGS)
        except Rejected as rejected:
            reasons[str(rejected)] = None
    return _extracted(request, "; ".join(reasons))


def _written(
    request: SummaryRequest, route: Route, patience: Patience | None, halvings: int
) -> Summary:
    """A summary by one route.

    Raises:
        Rejected: it gave none, of the whole nor of both halves.
    """
    try:
        draft = route.ask(request, patience)
        summary = _compose(request, draft, _top(request, draft), "")
    except Rejected as rejected:
        tokens = count_text(request.text)
        shorter = tokens * 6 // 10
        halves = rejected.smaller and halvings > 0 and tokens >= _HALVED
        if rejected.too_long and halves:
            route.breaker.overflowed(shorter)
        elif rejected.spent:
            route.breaker.note(str(rejected))
        parts = _parts(request.text, shorter) if halves else []
        if not parts[1:]:
            raise
        left = halvings - 1 if rejected.too_long else 0
        try:
            done = [_written(part, route, patience, left) for part in _shares(request, parts)]
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
    topic, hints = draft.topic or _topic(texts[levels[0]]), _hints(draft.hints, request.text)
    says_nothing = count_text(topic) < _LEAST or topic[0] in "{["  # "Hello.", a call's arguments
    if reason and says_nothing:
        topic = clip(", ".join(hints), _TOPIC_TOKENS) or topic
    return Summary(
        texts=tuple(sorted(texts.items())),
        topic=topic,
        hints=hints,
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
    """Cut a text into parts of at most *room* tokens: where a person speaks, else at blank lines, else at lines."""
    parts: list[str] = []
    current: list[str] = []
    size, blank = 0, True  # of the current part; pieces apart never count less than joined
    for piece in _pieces(text, room):
        tokens = count_text(piece)
        if not blank and size + tokens > room:
            size = count_text("".join(current))
            if size + tokens > room:
                parts.append("".join(current))
                current, size, blank = [], 0, True
        current.append(piece)
        size, blank = size + tokens, blank and not piece.strip()
    return parts if blank else [*parts, "".join(current)]


def _pieces(text: str, room: int) -> Iterator[str]:
    """*text* in the largest pieces that are within *room* tokens each."""
    for turn in _TURN.split(text):
        blocks = [turn] if count_text(turn) <= room else _BLANK_LINE.split(turn)
        for block in filter(None, blocks):
            yield from [block] if count_text(block) <= room else _lines(block, room)


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
