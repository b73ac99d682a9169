"""``lcm_grep``: find again what was said, in this session or in all of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from ..storage.errors import StoreIndexBroken
from ..storage.records import Filter, Hit
from .answers import ToolError
from .desk import Desk
from .fuzzy import repair
from .patterns import Find, Stopwatch, exactly, mentions, pattern
from .query import looks_like_a_pattern, terms_of, unspaced
from .results import POOL, Ranking, note_on, results

__all__ = ["MODES", "grep", "ranking_of"]

MODES = ("auto", "exact", "regex", "fuzzy")
#: Characters of a query that an answer repeats.
_SHOWN_QUERY = 1000
_MOST_LIMIT = 50
_ROLES = ("user", "assistant", "tool")
_OWN_TOOLS = (
    "lcm_grep",
    "lcm_expand",
    "lcm_expand_query",
    "lcm_describe",
    "lcm_status",
    "retrieve_conversation_history",
)
#: A summary says in few words what its messages say in many, so its score runs higher.
_NODE_WEIGHT = 0.5
#: Characters of a page that a result takes at the least.
_LEAST_RESULT = 400
#: Results that there is room for in any window.
_ALWAYS = 10
_AS_WORDS = "Its words were searched for; mode 'regex' reads it as a pattern."
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d\Z")


@dataclass(frozen=True, slots=True)
class _Search:
    """A search that is understood."""

    query: str
    where: Filter
    needles: Sequence[str] = ()


def grep(
    desk: Desk,
    query: Any,
    mode: Any = "auto",
    *,
    limit: Any = 10,
    cursor: Any = None,
    **filters: Any,
) -> dict[str, Any]:
    """Messages and nodes that answer *query*, best first.

    *filters*: ``role``, ``tool``, ``since``, ``until`` and ``scope``, as in the tool's schema.

    Raises:
        ToolError: an argument cannot be understood.
    """
    text = "" if query is None else str(query)
    if not text.strip():
        raise ToolError(
            "The query is empty.",
            "Say what to look for: a question, a name, a path, a phrase in quotes.",
        )
    where = _filter(desk, filters)
    ranking = _ranking(desk, text, _choice(mode, "mode", MODES, "auto"), where)
    start, newest = _position(cursor)
    numbers = [hit.message for hit in ranking.hits if hit.message is not None]
    newest = newest or max(numbers, default=0)
    hits = [hit for hit in ranking.hits if hit.message is None or hit.message <= newest]
    count = min(_limit(limit), max(desk.page // _LEAST_RESULT, _ALWAYS))
    shown = hits[start : start + count]
    following = start + len(shown)
    return {
        "query": text if len(text) <= _SHOWN_QUERY else f"{text[:_SHOWN_QUERY]}…",
        "mode": ranking.mode,
        "total": len(hits),
        "results": results(desk, shown, ranking),
        "cursor": f"{following}:{newest}" if following < len(hits) else None,
        "note": note_on(desk, ranking, hits, where),
    }


# arguments


def _filter(desk: Desk, given: Mapping[str, Any]) -> Filter:
    scope = _choice(given.get("scope"), "scope", ("session", "all"), "session")
    tool = given.get("tool")
    return Filter(
        lines=desk.lines if scope == "session" else None,
        roles=_roles(given.get("role")),
        tool=str(tool).strip() if tool else "",
        since=_time(given.get("since"), "since"),
        until=_time(given.get("until"), "until", end=True),
    )


def _choice(value: Any, name: str, allowed: Sequence[str], default: str) -> str:
    chosen = str(value or default).strip().lower()
    if chosen not in allowed:
        raise ToolError(
            f"There is no {name} '{chosen[:40]}'.", f"Use one of: {', '.join(allowed)}."
        )
    return chosen


def _roles(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(_choice(each, "role", _ROLES, "") for each in values if each)


def _limit(value: Any) -> int:
    try:
        return min(max(int(10 if value in (None, "") else value), 1), _MOST_LIMIT)
    except (TypeError, ValueError, OverflowError):
        raise ToolError("limit must be a whole number.", f"Use 1 to {_MOST_LIMIT}.") from None


def _position(cursor: Any) -> tuple[int, int]:
    if cursor in (None, ""):
        return 0, 0
    start, _, newest = str(cursor).partition(":")
    if not (start.isdecimal() and newest.isdecimal()):
        raise ToolError(
            f"'{str(cursor)[:40]}' is no cursor of a search.",
            "Leave it out to start with the best result.",
        )
    return int(start), int(newest)


def _time(value: Any, name: str, *, end: bool = False) -> float | None:
    """Unix seconds, or an ISO date or time; a date alone means its begin, or its end."""
    if value in (None, ""):
        return None
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return number
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ToolError(
            f"{name} '{text[:40]}' is no time.", "Use ISO: 2026-05-31 or 2026-05-31T14:00."
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() + (86_399.999 if end and _DATE.match(text) else 0)


# searching


def _ranking(desk: Desk, text: str, mode: str, where: Filter) -> Ranking:
    if mode == "exact":
        return _scan(desk, exactly(text), _Search(text, where, [text]), mode)
    if mode == "regex":
        watch = Stopwatch()
        find = pattern(text, watch)
        found = _scan(desk, find, _Search(text, where), mode, watch)
        return replace(found, find=find)
    if mode == "fuzzy":
        return _asking(_fuzzy, desk, text, where)
    return ranking_of(desk, text, where)


def ranking_of(desk: Desk, question: str, where: Filter) -> Ranking:
    """What mode ``auto`` finds."""
    return _asking(_auto, desk, question, where)


def _asking(
    find: Callable[[Desk, str, Filter], Ranking], desk: Desk, text: str, where: Filter
) -> Ranking:
    """What *find* finds with the index, or what reading the log finds without it."""
    try:
        return find(desk, text, where)
    except StoreIndexBroken as error:
        found = _by_reading(desk, text, where)
        return replace(found, note=f"{error} {found.note}".strip())


def _own_calls_last(where: Filter) -> list[Filter]:
    """A search must not find itself first: its call holds the query word for word."""
    if where.tool:
        return [where]
    mine = [replace(where, tool=name) for name in _OWN_TOOLS]
    return [replace(where, without_tools=_OWN_TOOLS), *mine]


def _auto(desk: Desk, text: str, where: Filter) -> Ranking:
    terms = terms_of(text)
    hits = _ranked(desk, terms.words, (*terms.phrases, *terms.pairs), where)
    if hits:
        note = _AS_WORDS if looks_like_a_pattern(text) else ""
        return Ranking(hits, terms.needles, "auto", note)
    literal = text.strip().strip('"') or text.strip()
    found = _scan(desk, exactly(literal), _Search(text, where, [literal]), "exact")
    if found.hits:
        return Ranking(
            found.hits, found.needles, "exact", "No word matched; found as a part of the text."
        )
    ranking = _fuzzy(desk, text, where)
    note = f"{_AS_WORDS} {ranking.note}".strip() if looks_like_a_pattern(text) else ranking.note
    return replace(ranking, note=note, tried="auto, exact and fuzzy")


def _ranked(desk: Desk, words: Sequence[str], phrases: Sequence[str], where: Filter) -> list[Hit]:
    """Messages and nodes by their words; calls of our own tools and their results only repeat others.

    So does what the user said last: it is the question, and stands in the context word for word.
    """
    others = where if where.tool else replace(where, without_tools=_OWN_TOOLS)
    asked = _newest(desk)
    hits = _asked_for(desk.store.search, words, phrases, replace(others, without=asked), POOL)
    if not hits and asked:
        hits = _asked_for(desk.store.search, words, phrases, others, POOL)
    if not (where.roles or where.tool or where.since or where.until):
        lines = None if where.lines is None else desk.lineage
        nodes = _asked_for(desk.store.search_nodes, words, phrases, Filter(lines=lines), 10)
        hits += [Hit(hit.score * _NODE_WEIGHT, node=hit.node) for hit in nodes]
    return sorted(hits, key=lambda hit: -hit.score)


def _newest(desk: Desk) -> tuple[int, ...]:
    """The user message of the turn that is going on."""
    last = desk.store.tail(desk.session.line, 1)
    if not last or (
        last[0].role == "assistant" and not desk.store.read([(last[0].id, 0)])[0].tool
    ):  # nothing is going on
        return ()
    turn = desk.store.turns(desk.session.line, last[0].turn, last[0].turn)
    return tuple(entry.id for entry in turn[:1] if entry.role == "user")


_Find = Callable[[Sequence[str], Sequence[str], Filter, int], Sequence[Hit]]


def _asked_for(
    find: _Find, words: Sequence[str], phrases: Sequence[str], where: Filter, most: int
) -> list[Hit]:
    """What *find* finds; beside words of a script without spaces, Latin ones only rank.

    In such a question the Latin word is a name that stands in every other
    message: what is asked about it is the rest.
    """
    hits = list(find(words, phrases, where, most))
    telling = unspaced(words)
    if not telling or len(telling) == len(words):
        return hits
    scores = {(hit.message, hit.node): hit.score for hit in hits}
    return [
        replace(hit, score=scores.get((hit.message, hit.node), hit.score))
        for hit in find(telling, (), where, most)
    ]


def _fuzzy(desk: Desk, text: str, where: Filter) -> Ranking:
    terms = terms_of(text)
    repaired = repair(terms.words, desk.store.vocabulary())
    words = [near for word in terms.words for near in repaired.get(word, [word])]
    hits = _ranked(desk, words, terms.phrases, where)
    notes = [f"{word}: read as {', '.join(near)}" for word, near in repaired.items()]
    lacking = unspaced(terms.words)
    if not hits and lacking and len(lacking) < len(terms.words):
        notes.append(f"No message has {' or '.join(lacking)}; ask for the other words alone.")
    return Ranking(hits, words, "fuzzy", "; ".join(notes))


def _scan(
    desk: Desk,
    find: Find,
    search: _Search,
    mode: str,
    watch: Stopwatch | None = None,
    *,
    weigh: bool = False,
) -> Ranking:
    """Every message in which *find* finds something, in any version; the newest first.

    *weigh*: what it gives is not a place but how much was found, which is the score.
    """
    watch = watch or Stopwatch()
    hits: dict[int, Hit] = {}
    note = ""
    texts = chain.from_iterable(map(desk.store.texts, _own_calls_last(search.where)))
    for number, version, text in texts:
        if number not in hits and (at := find(text)) >= 0:
            score = float(at + 1 if weigh else number)
            hits[number] = Hit(score, message=number, version=version)
        if watch.over():
            note = "The search took too long and stopped before the oldest messages."
            break
    return Ranking(list(hits.values()), search.needles, mode, note)


def _by_reading(desk: Desk, text: str, where: Filter) -> Ranking:
    """Every message that holds any of the words, those with the most of them first."""
    needles = terms_of(text).needles or [text.strip()]
    found = _scan(desk, mentions(needles), _Search(text, where, needles), "auto", weigh=True)
    return replace(found, hits=sorted(found.hits, key=lambda hit: -hit.score))
