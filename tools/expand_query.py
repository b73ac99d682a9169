"""``lcm_expand_query``: a question answered from what was said, with the names of the passages that say it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..dag.answering import Question, answered
from ..dag.replies import Rejected
from ..dag.tokens import clip, count_text
from ..storage.proof import ALTERED
from ..storage.records import Filter, Message
from ..storage.text import searchable
from .answers import ToolError
from .describe import stamp
from .desk import Desk
from .grep import OWN_TOOLS, ranking_of
from .query import terms_of
from .results import POOL
from .snippet import snippet

__all__ = ["expand_query"]

#: Tokens that the passages have if nobody says otherwise, at the least and at the most.
_BUDGET, _LEAST, _MOST = 4_000, 200, 32_000
#: Messages that are looked at; of a summary that is named, the best of them.
_PASSAGES = 24
#: Tokens of a passage beyond which only what is around the match is shown, and of the answer.
_WHOLE, _ANSWER = 600, 800
#: Seconds for the one call: hosts give a tool up after 120.
_SECONDS = 60.0
_MOST_UIDS = 50
_CITED = re.compile(r"[0-9a-f]{6,32}")
_NOTHING = "Nothing that was said here answers it. lcm_grep with other words may find more."


@dataclass(frozen=True, slots=True)
class _Passage:
    """A part of the conversation."""

    uid: str
    head: str
    text: str
    whole: bool

    def __str__(self) -> str:
        return f"[{self.uid[:8]}] {self.head}: {self.text}"


def expand_query(
    desk: Desk, question: Any, uids: Any = None, budget_tokens: Any = None
) -> dict[str, Any]:
    """An answer to *question*, from the messages of *uids* or the best that a search finds.

    Raises:
        ToolError: an argument cannot be understood.
    """
    text = "" if question is None else str(question).strip()
    if not text:
        raise ToolError("The question is empty.", "Ask it in plain words.")
    budget = _budget(budget_tokens)
    named = _uids(uids)
    pairs = _named(desk, text, named) if named else _best(desk, text)
    messages = [each for each, _ in desk.rows(pairs[: _PASSAGES * max(len(named), 1)])]
    passages, left_out = _passages(desk, text, messages, budget)
    if not passages:
        return {"answer": "", "sources": [], "truncated": False, "note": _NOTHING}
    cut = left_out or len(messages) < len(pairs) or not all(passage.whole for passage in passages)
    return {"truncated": cut} | _answer(desk, text, passages, budget)


def _budget(value: Any) -> int:
    try:
        return min(max(int(_BUDGET if value in (None, "") else value), _LEAST), _MOST)
    except (TypeError, ValueError, OverflowError):
        raise ToolError(
            "budget_tokens must be a whole number.", f"Use {_LEAST} to {_MOST}."
        ) from None


def _uids(value: Any) -> list[str]:
    if value in (None, "", [], ()):
        return []
    given = value if isinstance(value, list | tuple) else re.split(r"[\s,;]+", str(value))
    if len(given) > _MOST_UIDS:
        raise ToolError("Too many uids.", f"Give {_MOST_UIDS} of them at most.")
    return [str(each) for each in given if str(each).strip()]


def _best(desk: Desk, question: str) -> list[tuple[int, int]]:
    """What a search finds: messages, and those under the summaries that it finds."""
    hits = ranking_of(desk, question).hits[:_PASSAGES]
    numbers = [(hit.message, hit.version) for hit in hits if hit.message is not None]
    nodes = [hit.node for hit in hits if hit.node is not None]
    ranks = _ranks(desk, question) if nodes else {}
    for node in nodes:
        found = [pair for pair in _under(desk, node, ranks) if pair[0] in ranks]
        numbers += found[: _PASSAGES // 4]
    return list(dict.fromkeys(numbers))[:_PASSAGES]


def _named(desk: Desk, question: str, uids: Sequence[str]) -> list[tuple[int, int]]:
    named = [desk.find(uid) for uid in uids]
    ranks = _ranks(desk, question) if any(each.node is not None for each in named) else {}
    found: dict[tuple[int, int], None] = {}
    for each in named:
        if each.message is not None:
            found[each.message.id, each.message.version] = None
        elif each.node is not None:
            found |= dict.fromkeys(_under(desk, each.node.uid, ranks))
    return list(found)


def _under(desk: Desk, node: str, ranks: Mapping[int | None, int]) -> list[tuple[int, int]]:
    """The messages under a summary as (number, version); the best by *ranks* first."""
    last = len(ranks)
    return sorted(desk.store.stands_for(node), key=lambda pair: ranks.get(pair[0], last))


def _ranks(desk: Desk, question: str) -> dict[int | None, int]:
    """The messages that the question finds, and how well: 0 is the best."""
    terms = terms_of(question)
    where = Filter(lines=desk.lines, without_tools=OWN_TOOLS)
    hits = desk.store.search(terms.words, (*terms.phrases, *terms.pairs), where, POOL)
    return {hit.message: at for at, hit in enumerate(hits)}


def _passages(
    desk: Desk, question: str, messages: Sequence[Message], budget: int
) -> tuple[list[_Passage], bool]:
    """As many as the budget holds, the best first into it and then in order; and whether any was left out."""
    places = desk.places([message.id for message in messages])
    rows = dict(
        zip(
            [message.id for message in messages],
            desk.rows([(message.id, message.version) for message in messages]),
            strict=True,
        )
    )
    needles = terms_of(question).needles
    altered = desk.altered([(message.id, message.version) for message in messages])
    kept: list[tuple[tuple[int, int], _Passage]] = []
    left = budget
    for message in messages:
        text = searchable(rows[message.id][1]).strip()
        place = places.get(message.id)
        room = min(left - 40, _WHOLE if len(messages) > 1 else budget)
        if not text or room < 20:  # noqa: PLR2004 - tokens that say nothing
            continue
        shown = text if count_text(text) <= room else clip(snippet(text, needles, room * 3), room)
        said = f"{message.role}, turn {place.turn}" if place else message.role
        if (message.id, message.version) in altered:
            said += f", {ALTERED}"
        passage = _Passage(
            message.uid, f"{said}, {stamp(message.time)}", shown, len(shown) == len(text)
        )
        kept.append(((place.seq if place else 0, message.id), passage))
        left -= count_text(str(passage))
    kept.sort(key=lambda pair: pair[0])
    told = sum(bool(searchable(row).strip()) for _, row in rows.values())
    return [passage for _, passage in kept], len(kept) < told


def _answer(desk: Desk, question: str, passages: Sequence[_Passage], budget: int) -> dict[str, Any]:
    text = "\n\n".join(map(str, passages))
    voice = desk.voice()
    if voice.answerer is None:
        return _verbatim(desk, passages, "No model was asked: there is none.")
    clean = voice.redact(text) if voice.redact else text
    size = min(_ANSWER, max(budget // 4, 100))
    asked = Question(voice.redact(question) if voice.redact else question, clean, size, _SECONDS)
    try:
        said = clip(answered(asked, voice.answerer), desk.page // 4)
    except Rejected as error:
        return _verbatim(desk, passages, f"No model answered: {error}.")
    cited = set(_CITED.findall(said.lower()))
    uids = list(dict.fromkeys(passage.uid for passage in passages))
    sources = [uid for uid in uids if any(uid.startswith(name) for name in cited)]
    note = "A model wrote the answer. lcm_expand(uid) opens a source word for word."
    if not sources:
        sources, note = uids, f"It cites none of its sources: these are what it was shown. {note}"
    return {"answer": said, "sources": sources, "note": note}


def _verbatim(desk: Desk, passages: Sequence[_Passage], why: str) -> dict[str, Any]:
    """The passages themselves, as far as they fit on a page."""
    shown: list[_Passage] = []
    size = 0
    for passage in passages:
        size += count_text(str(passage)) * 4
        if shown and size > desk.page * 3 // 4:
            break
        shown.append(passage)
    whole = "\n\n".join(map(str, shown))
    text = clip(whole, desk.page // 4)
    sources = list(dict.fromkeys(passage.uid for passage in shown))
    note = f"{why} These are the passages themselves, word for word."
    answer: dict[str, Any] = {"answer": text, "sources": sources, "note": note}
    if len(shown) < len(passages) or text != whole:
        answer["truncated"] = True
        answer["note"] += " More did not fit: lcm_expand(uid) opens each of them."
    return answer
