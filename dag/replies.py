"""What of a summariser's answer is a summary.

What a caller's own function returns is its word and is taken as it is. What a model returns is
judged by the response's own metadata and by a closed list of whole answers that are no summary,
never by a word inside: a good summary may well speak of an error 401.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from .nonsense import echoes, fault_of
from .tokens import clip
from .usage import Usage

__all__ = [
    "Draft",
    "Rejected",
    "Reply",
    "is_too_long",
    "read",
    "without_surrogates",
    "words_of",
]

_HINT_TOKENS: Final = 24
_HINT_WORDS: Final = 6

_CUT_OFF: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_BLOCKED: Final = frozenset({"content_filter", "refusal", "safety", "error", "recitation"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
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
    r"|(?:(?:sure|certainly|of course|okay)[,.!] )?(?:i(?:'ll| will| can|'m going to| am going to)|let me)"
    r" (?:now )?(?:provide|explain|summari[sz]e|describe|give|write|create|present|outline|list|analy[sz]e)"
    r"\b[^.!?\n]{0,160}"
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


#: What a model's window is too small for, as providers and small servers say it.
_TOO_LONG: Final = re.compile(
    r"context.?(?:length|window|size)|too (?:long|large|many tokens)|maximum[\w ]{0,30} tokens"
    r"|token limit|reduce the length|exceed[^\n]{0,60}(?:limit|maximum|context)",
    re.IGNORECASE,
)
_TOO_LARGE: Final = 413
#: Statuses with which a request is refused for what is in it; None: no status at all.
_REFUSED: Final = frozenset({None, 400, 413, 422})


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer with what the response says about it."""

    text: str | None  #: the content alone, without reasoning fields
    finish_reason: str = ""  #: why the model stopped, in the provider's word
    refusal: str = ""  #: what the response gives as a refusal, if anything
    usage: Usage | None = None  #: what the provider counted; None where it counted nothing
    model: str = ""  #: which model answered, as the response says


@dataclass(frozen=True, slots=True)
class Draft:
    """What an answer brings of its own."""

    texts: Mapping[int, str]
    topic: str = ""
    hints: tuple[str, ...] = ()
    sufficient: int = 0


class Rejected(Exception):
    """An answer that is no summary; the message is the reason, in our own words."""

    def __init__(
        self, reason: str, *, too_long: bool = False, smaller: bool = True, spent: bool = True
    ) -> None:
        super().__init__(reason)
        self.too_long = too_long
        """Whether the source is too long for the summariser."""
        self.smaller = smaller
        """Whether a smaller source may fare better."""
        self.spent = spent
        """Whether a call was made for it."""


def without_surrogates(text: str) -> str:
    """*text* with each lone surrogate replaced by U+FFFD: no file and no wire takes one."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def is_too_long(error: Exception) -> bool:
    """Whether a call failed because its source is longer than the model can read."""
    status = getattr(error, "status_code", None)
    if status == _TOO_LARGE:
        return True
    return status in _REFUSED and _TOO_LONG.search(str(error)[:2000]) is not None


def read(answer: object, *, trusted: bool, source: str = "") -> Draft:
    """What an answer brings.

    *trusted*: the caller's own function gave it, and no model. *source*: what it is to be a summary
    of; a model's answer is held against it.

    Raises:
        Rejected: it is no summary.
    """
    text = words_of(answer, trusted=trusted)
    draft = _parse(text, anywhere=not trusted) or Draft({0: text})
    return draft if trusted else _judged(draft, source)


def words_of(answer: object, *, trusted: bool = False) -> str:
    """The text of an answer, without a model's thoughts.

    Raises:
        Rejected: there is none, or the response says itself that it is no answer.
    """
    reply = (
        answer if isinstance(answer, Reply) else Reply(answer if isinstance(answer, str) else "")
    )
    text = without_surrogates(reply.text if isinstance(reply.text, str) else "")
    if not trusted:
        _judge_response(reply)
        text = _without_thoughts(text)
    text = text.strip()
    if not text:
        raise Rejected("empty answer")
    return text


def _judge_response(reply: Reply) -> None:
    stopped = str(reply.finish_reason or "").lower()
    if reply.refusal or stopped in _BLOCKED:
        raise Rejected("refused by the model")
    if stopped in _CUT_OFF:
        raise Rejected("cut off by the model's length limit")


def _judged(draft: Draft, source: str) -> Draft:
    """*draft* without the smaller texts, topic and hints that are none.

    Raises:
        Rejected: its largest text is none.
    """
    largest = max(draft.texts)
    _judge_text(draft.texts[largest], source)
    texts = {}
    for size, text in draft.texts.items():
        with contextlib.suppress(Rejected):
            _judge_text(text, source)
            texts[size] = text
    hints = tuple(hint for hint in draft.hints if not echoes(hint) and not _states(hint))
    return replace(
        draft, texts=texts, topic="" if echoes(draft.topic) else draft.topic, hints=hints
    )


def _states(hint: str) -> bool:
    """Whether *hint* is no name or question but tells something, which a reader would take for true."""
    return hint.endswith(".") and len(hint.split()) > _HINT_WORDS


def _judge_text(text: str, source: str) -> None:
    plain = text.replace("\u2019", "'").strip(" \n\t.!\"'*`[]()")
    if not plain or _NO_SUMMARY.fullmatch(plain) or _NO_SUMMARY.fullmatch(text):
        long = _TOO_LONG.search(plain) is not None
        raise Rejected("an error or a refusal in place of a summary", too_long=long)
    if text.startswith("{") and (text.endswith("}") or '"levels"' in text):
        raise Rejected("not the JSON that was asked for")
    if text.startswith("```json"):
        raise Rejected("broken JSON")
    if not any(letter.isalpha() for letter in text):
        raise Rejected("no words")
    if fault := fault_of(text, source):
        raise Rejected(fault)


def _without_thoughts(text: str) -> str:
    text = _THOUGHT.sub("", text)
    if _ENDLESS_THOUGHT.match(text):
        return ""
    end = _THOUGHT_END.search(text)
    return text[end.end() :] if end else text


def _parse(text: str, *, anywhere: bool) -> Draft | None:
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
        _natural(size): without_surrogates(level).strip()
        for size, level in levels.items()
        if _natural(size) and isinstance(level, str) and level.strip()
    }
    if not texts:
        return None
    hints = data.get("hints")
    return Draft(
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
    return clip(without_surrogates(text), _HINT_TOKENS)
