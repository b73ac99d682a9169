"""What counts as a summary, and what stands in for one when there is none.

Summarising may fail; compaction may not. So whatever a summariser gives back, a :class:`Summary`
comes out: its own text where that is one, else sentences extracted from the source, marked as
degraded so that they can be summarised again later. What a caller's own function returns is its
word and is taken as it is. What a model returns is judged by the response's own metadata and by a
closed list of whole answers that are no summary, never by a word inside: a good summary may well
speak of an error 401.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from .extractive import extract, key_terms
from .tokens import clip, count_text

_log = logging.getLogger(__name__)

_TOPIC_WORDS: Final = 8
_TOPIC_TOKENS: Final = 24
_HINT_TOKENS: Final = 24
_FEWEST_HINTS: Final = 2
_MOST_HINTS: Final = 5
_LEAST: Final = 5  #: tokens; an extract of fewer may be empty
_PROMPT_TOKENS: Final = 1000  #: what the prompt takes of a summariser's window, rounded up

_CUT_OFF: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_BLOCKED: Final = frozenset({"content_filter", "refusal", "safety", "error", "recitation"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SPEAKER: Final = re.compile(r"^(?:user|assistant|tool|system)[^:\n]{0,40}:\s*", re.IGNORECASE)
_FENCE: Final = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL | re.IGNORECASE)

_THINK: Final = r"(?:think|thinking|reasoning|thought|reasoning_scratchpad)"
#: A whole thought; one in quotes is spoken of, not thought.
_THOUGHT: Final = re.compile(
    rf"(?<![\"'`])<({_THINK})>(?:(?!<{_THINK}>).)*?</\1>(?![\"'`])", re.DOTALL | re.IGNORECASE
)
_ENDLESS_THOUGHT: Final = re.compile(rf"\s*<{_THINK}>.*", re.DOTALL | re.IGNORECASE)
#: The end of a thought whose beginning the model's chat template has swallowed.
_THOUGHT_END: Final = re.compile(
    rf"^[ \t]*</{_THINK}>[ \t]*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE
)

_CANNOT: Final = (
    r"(?:i(?:'m| am) (?:\w+ )?sorry,? (?:but )?|sorry,? (?:but )?|unfortunately,? "
    r"|as an ai[^.,]{0,40}, )?i (?:can't|cannot|can not|won't|am unable to|am not able to)"
    r" (?:assist|help|comply|do|fulfill?|provide|summari[sz]e|process|continue)[^.,;:!?\n]{0,80}"
)
_STATUS: Final = (
    r"unauthorized|forbidden|not found|bad request|too many requests|internal server error"
    r"|bad gateway|service unavailable|gateway timeout|payment required"
)
#: Answers that are no summary, as a whole. Closed: a new one is added here, never guessed.
_NO_SUMMARY: Final = re.compile(
    rf"{_CANNOT}|{_STATUS}"
    r"|(?:i'm|i am) (?:unable|not able) to (?:assist|help|summari[sz]e|comply)[^.,;:!?\n]{0,80}"
    r"|(?:the )?summary (?:is |was )?(?:not available|unavailable)(?: due to [\w ]{1,30})?"
    r"|no (?:summary|content|response|text|output)(?: (?:is )?available)?"
    r"|(?:the )?(?:input|prompt|context|conversation|request|text) (?:is |was )?too (?:long|large)"
    r"(?: to (?:summari[sz]e|process)| for (?:the|this) (?:model|context)[\w ]{0,20})?"
    r"|(?:maximum )?context (?:length|window|size)(?: limit)? exceeded"
    r"|(?:rate limit|quota)(?: was| has been)? (?:exceeded|reached)"
    r"(?:[.,;:]? (?:please )?(?:try|retry)[\w ]{0,40})?"
    r"|(?:the )?request (?:failed|timed out)|connection (?:error|refused)|invalid api key"
    r"|something went wrong|an (?:unexpected |internal )?error (?:has )?occurred"
    r"(?: while [\w ]{1,60})?(?:[.,;] (?:please )?try again(?: later)?)?"
    r"|(?:error|http(?: error)?|api error)(?: code)?:? [45]\d\d"
    rf"(?:[:,][^\n]{{0,120}}| - \{{.*\}}?| (?:{_STATUS}))?"
    r"|(?:none|null|nil|n/a|undefined|error|empty|ok|\{\})",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What is to be summarised, and into what."""

    text: str  #: the source as one string, each line with its speaker
    max_tokens: int  #: size of the largest text wanted
    levels: tuple[int, ...]  #: sizes wanted, in tokens, ascending; empty: max_tokens alone
    focus: str = ""  #: what the reader cares about most, in the user's words
    memory: str = ""  #: what a memory provider knows, to understand the source by


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer with what the response says about it."""

    text: str | None  #: the content alone, without reasoning fields
    finish_reason: str = ""  #: why the model stopped, in the provider's word
    refusal: str = ""  #: what the response gives as a refusal, if anything


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
class _Draft:
    """What an answer brings of its own."""

    texts: Mapping[int, str]
    topic: str = ""
    hints: tuple[str, ...] = ()
    sufficient: int = 0


class _RejectedError(Exception):
    """An answer that is no summary; the message is the reason."""


def summarize(
    request: SummaryRequest,
    summarizer: Summarizer | None,
    *,
    trusted: bool,
    window_tokens: int | None = None,
) -> Summary:
    """Summarise *request* by one call of *summarizer*, or by extraction where that gives nothing.

    *trusted*: the caller's own function, whose every text that is not blank and smaller than its
    source is the summary; otherwise a model, whose answer is judged first. *window_tokens*: what
    the summariser can read; a longer source is summarised in parts, one call each. Without a
    summariser the extract is made at once.

    Never raises an ``Exception``; what is none (a cancelled call, an interrupt) passes through. A
    blank source calls nobody and gives blank texts.
    """
    if not request.text.isascii():
        request = replace(request, text=_SURROGATE.sub("\ufffd", request.text))
    if not request.text.strip():
        return _compose(request, _Draft({}), "", "the source is blank")
    if summarizer is None:
        return _extracted(request, "no summariser")
    if window_tokens is not None:
        room = max(window_tokens - _PROMPT_TOKENS - request.max_tokens, window_tokens // 2, _LEAST)
        parts = _parts(request.text, room)
        if len(parts) > 1:
            return _in_parts(request, parts, summarizer, trusted=trusted)
    try:
        draft = _read(summarizer(request), trusted=trusted)
        return _compose(request, draft, _top(request, draft), "")
    except _RejectedError as rejected:
        return _extracted(request, str(rejected))
    except Exception as error:  # noqa: BLE001 -- foreign code; compaction goes on without it
        _log.warning("summariser failed, extracting instead", exc_info=True)
        return _extracted(request, f"summariser failed: {type(error).__name__}")


def _read(answer: object, *, trusted: bool) -> _Draft:
    """Return what an answer brings, or raise :class:`_RejectedError` with the reason."""
    reply = (
        answer if isinstance(answer, Reply) else Reply(answer if isinstance(answer, str) else "")
    )
    text = _SURROGATE.sub("\ufffd", reply.text if isinstance(reply.text, str) else "")
    if not trusted:
        _judge_response(reply)
        text = _without_thoughts(text)
    text = text.strip()
    if not text:
        raise _RejectedError("empty answer")
    draft = _parse(text, anywhere=not trusted)
    if draft is None and not trusted:
        _judge_text(text)
    return draft or _Draft({0: text})


def _top(request: SummaryRequest, draft: _Draft) -> str:
    """Return the largest text that came, cut to size."""
    whole = draft.texts[max(draft.texts)]
    if count_text(whole) >= count_text(request.text):
        raise _RejectedError("not smaller than its source")
    top = clip(whole, request.max_tokens)
    if not top:
        raise _RejectedError("nothing of it fits")
    return top


def _judge_response(reply: Reply) -> None:
    stopped = str(reply.finish_reason or "").lower()
    if reply.refusal or stopped in _BLOCKED:
        raise _RejectedError("refused by the model")
    if stopped in _CUT_OFF:
        raise _RejectedError("cut off by the model's length limit")


def _judge_text(text: str) -> None:
    plain = text.replace("\u2019", "'").strip(" \n\t.!\"'*`[]()")
    if not plain or _NO_SUMMARY.fullmatch(plain) or _NO_SUMMARY.fullmatch(text):
        raise _RejectedError("an error or a refusal in place of a summary")
    if text.startswith("{") and (text.endswith("}") or '"levels"' in text):
        raise _RejectedError("not the JSON that was asked for")
    if text.startswith("```json"):
        raise _RejectedError("broken JSON")


def _without_thoughts(text: str) -> str:
    text = _THOUGHT.sub("", text)
    if _ENDLESS_THOUGHT.match(text):
        return ""
    end = _THOUGHT_END.search(text)
    return text[end.end() :] if end else text


def _parse(text: str, *, anywhere: bool) -> _Draft | None:
    """Read the JSON object that prompts.yaml asks for; None where the text is something else.

    *anywhere*: models like to say something before and after it.
    """
    fence = _FENCE.search(text) if anywhere else _FENCE.fullmatch(text)
    body = fence[1] if fence else text
    if anywhere and "{" in body:
        body = body[body.index("{") : body.rfind("}") + 1]
    try:
        data = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return None
    levels = data.get("levels") if isinstance(data, dict) else None
    if not isinstance(levels, dict):
        return None
    texts = {
        _natural(size): _SURROGATE.sub("\ufffd", level).strip()
        for size, level in levels.items()
        if _natural(size) and isinstance(level, str) and level.strip()
    }
    if not texts:
        return None
    hints = data.get("hints")
    return _Draft(
        texts,
        _line(data.get("topic")),
        tuple(filter(None, map(_line, hints))) if isinstance(hints, list) else (),
        _natural(data.get("sufficient_tokens")),
    )


def _natural(value: Any) -> int:
    """Return *value*, a number or text that is one, as a number of tokens; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return 0
    return int(number) if math.isfinite(number) and number >= 1 else 0


def _line(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return clip(_SURROGATE.sub("\ufffd", text), _HINT_TOKENS)


def _compose(request: SummaryRequest, draft: _Draft, top: str, reason: str) -> Summary:
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
    return _compose(request, _Draft({}), extract(request.text, budget, request.focus), reason)


def _parts(text: str, room: int) -> list[str]:
    """Cut a text into parts of at most *room* tokens, at blank lines, else at lines."""
    parts: list[str] = []
    current = ""
    for block in re.split(r"(?<=\n\n)", text):
        for piece in [block] if count_text(block) <= room else _lines(block, room):
            if current.strip() and count_text(current) + count_text(piece) > room:
                parts.append(current)
                current = ""
            current += piece
    return [*parts, current] if current.strip() else parts


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


def _in_parts(
    request: SummaryRequest, parts: Sequence[str], summarizer: Summarizer, *, trusted: bool
) -> Summary:
    """Summarise each part into its share and join them, oldest first."""
    share = max(request.max_tokens // len(parts), _LEAST)
    done = [
        summarize(replace(request, text=part, max_tokens=share), summarizer, trusted=trusted)
        for part in parts
    ]
    top = extract("\n".join(summary.text for summary in done), request.max_tokens, request.focus)
    hints = dict.fromkeys(hint for summary in done for hint in summary.hints)
    reason = next((summary.reason for summary in done if summary.degraded), "")
    return _compose(request, _Draft({}, hints=tuple(hints)), top, reason)
