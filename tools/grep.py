"""``lcm_grep``: find again what was said, in this session or in all of them."""

from __future__ import annotations

import re
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from ..dag.wording import many
from ..storage.errors import StoreIndexBroken, StoreSlow
from ..storage.records import Filter, Hit
from ..storage.text import beginning, indexable
from .answers import WrongArgument
from .desk import Desk
from .folding import page_of
from .fuzzy import readings, repair
from .manner import by_manner
from .moments import of_that_time
from .patterns import Find, Stopwatch, exactly, mentions, pattern
from .query import Terms, looks_like_a_pattern, terms_of, unspaced
from .results import POOL, Ranking, note_on, results
from .turns import LAST_TURN, in_order, turn_of
from .verbatim import spellings, verbatim
from .when import limit_of

__all__ = ["FIGURES", "MODES", "OWN_TOOLS", "ROLES", "asked_last", "grep", "ranking_of"]

MODES = ("auto", "exact", "regex", "fuzzy")
#: Characters of a query that an answer repeats.
_SHOWN_QUERY = 1000
_MOST_LIMIT = 50
ROLES = ("user", "assistant", "tool")
OWN_TOOLS = (
    "lcm_grep",
    "lcm_expand",
    "lcm_expand_query",
    "lcm_describe",
    "lcm_status",
    "retrieve_conversation_history",
)
#: A summary says in few words what its messages say in many, so its score runs higher.
_NODE_WEIGHT, _MOST_NODES = 0.5, 10
FIGURES: Mapping[str, Any] = {
    "own": OWN_TOOLS, "node": _NODE_WEIGHT, "most_nodes": _MOST_NODES, "pool": POOL, "shown": _MOST_LIMIT,
}  # fmt: skip
"""The same by name, for a page that ranks without us."""
#: Characters of a page that a result takes at the least.
_LEAST_RESULT = 400
#: Results that there is room for in any window.
_ALWAYS = 10
_AS_WORDS = "Its words were searched for; mode 'regex' reads it as a pattern."
_AS_SIGNS = (
    "There is no letter or digit in it that could be mistyped, so it was looked for as it is."
)
_NOTHING_SPELT = re.compile(r"[\W_]*")
_BEGINS = (
    "Of a very long phrase only the beginning was looked for; mode 'exact' looks for all of it."
)
_CURSOR = re.compile(r"(\d{1,9}):(\d{1,18}):(\d{1,18}):(\d{1,12}(?:\.\d{1,6})?)")


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a page begins, and what there was when the first one was asked for: later pages see no more."""

    start: int
    newest: int
    asked: int
    """Number of the question that the user asked last; 0 if nothing is going on."""
    time: float

    def __str__(self) -> str:
        return f"{self.start}:{self.newest}:{self.asked}:{self.time}"


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

    *filters*: ``role``, ``tool``, ``since``, ``until``, ``start_turn``, ``end_turn`` and ``scope``, as in the
    tool's schema.

    Raises:
        WrongArgument: an argument cannot be understood.
    """
    text = "" if query is None else str(query)
    if not text.strip():
        raise WrongArgument(
            "The query is empty.",
            "Say what to look for: a question, a name, a path, a phrase in quotes.",
        )
    at = _position(cursor) or _Position(
        0, desk.store.newest(), asked_last(desk), round(clock.time(), 3)
    )
    where = _filter(desk, filters, at)
    ranking = _ranking(desk, text, _choice(mode, "mode", MODES, "auto"), where)
    hits = ranking.hits
    count = min(_limit(limit), max(desk.page // _LEAST_RESULT, _ALWAYS))
    page = page_of(desk, hits, at.start, count, folds=ranking.mode in ("auto", "fuzzy"))
    return {
        "query": text if len(text) <= _SHOWN_QUERY else f"{text[:_SHOWN_QUERY]}…",
        "mode": ranking.mode,
        "total": len(hits),
        "results": results(desk, page, ranking, everywhere=where.lines is None),
        "cursor": None if page.following is None else str(replace(at, start=page.following)),
        "note": note_on(desk, ranking, hits, where),
    }


# arguments


def _filter(desk: Desk, given: Mapping[str, Any], at: _Position) -> Filter:
    scope = _choice(given.get("scope"), "scope", ("session", "all"), "session")
    tool = given.get("tool")
    return Filter(
        lines=desk.lines if scope == "session" else None,
        roles=_roles(given.get("role")),
        tool=str(tool).strip() if tool else "",
        since=_time(given.get("since"), "since", at.time),
        until=_time(given.get("until"), "until", at.time, end=True),
        without=(at.asked,) if at.asked else (),
        last=at.newest,
        made=at.time,
        turns=_turns(given.get("start_turn"), given.get("end_turn")),
    )


def _turns(first: Any, last: Any) -> tuple[int, int] | None:
    """From one turn to another, each of which may be left open."""
    if first in (None, "") and last in (None, ""):
        return None
    low = 0 if first in (None, "") else turn_of(first, "start_turn")
    high = LAST_TURN if last in (None, "") else turn_of(last, "end_turn")
    in_order(low, high)
    return low, high


def _choice(value: Any, name: str, allowed: Sequence[str], default: str) -> str:
    chosen = str(value or default).strip().lower()
    if chosen not in allowed:
        raise WrongArgument(
            f"There is no {name} '{chosen[:40]}'.", f"Use one of: {', '.join(allowed)}."
        )
    return chosen


def _roles(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(_choice(each, "role", ROLES, "") for each in values if each)


def _limit(value: Any) -> int:
    try:
        return min(max(int(10 if value in (None, "") else value), 1), _MOST_LIMIT)
    except (TypeError, ValueError, OverflowError):
        raise WrongArgument("limit must be a whole number.", f"Use 1 to {_MOST_LIMIT}.") from None


def _position(cursor: Any) -> _Position | None:
    if cursor in (None, ""):
        return None
    found = _CURSOR.fullmatch(str(cursor))
    if found is None:
        raise WrongArgument(
            f"'{str(cursor)[:40]}' is no cursor of a search.",
            "Leave it out to start with the best result.",
        )
    start, newest, asked, time = found.groups()
    return _Position(int(start), int(newest), int(asked), float(time))


def _time(value: Any, name: str, now: float, *, end: bool = False) -> float | None:
    """Unix seconds, an ISO date or time, a year, or one in words; what lasts means its begin, or its end."""
    if value in (None, ""):
        return None
    text = str(value).strip()
    at = limit_of(text, now, end=end)
    if at is None:
        raise WrongArgument(
            f"{name} '{text[:40]}' is no time.",
            "Use ISO, 2026-05-31 or 2026-05-31T14:00, or words: yesterday, last Tuesday, two weeks ago.",
        )
    return at


# searching


def _ranking(desk: Desk, text: str, mode: str, where: Filter) -> Ranking:
    if mode == "exact":
        return _scan(desk, exactly(text), _Search(text, where, [text]), mode)
    if mode == "regex":
        watch = Stopwatch()
        find = pattern(text, watch)
        found = _scan(desk, find, _Search(text, where), mode, watch)
        return replace(found, find=find)
    if mode == "fuzzy" and _NOTHING_SPELT.fullmatch(text):
        found = _scan(desk, exactly(text.strip()), _Search(text, where, [text.strip()]), "exact")
        return replace(found, note=f"{_AS_SIGNS} {found.note}".strip())
    if mode == "fuzzy":
        return _asking(_fuzzy, desk, text, where)
    return _asking(_auto, desk, text, where)


def ranking_of(desk: Desk, question: str) -> Ranking:
    """What mode ``auto`` finds in the session."""
    asked = asked_last(desk)
    where = Filter(lines=desk.lines, without=(asked,) if asked else ())
    return _asking(_auto, desk, question, where)


def _asking(
    find: Callable[[Desk, str, Filter], Ranking], desk: Desk, text: str, where: Filter
) -> Ranking:
    """What *find* finds with the index, or what reading the log finds without it."""
    try:
        found = find(desk, text, where)
        spelt = map(indexable, terms_of(text).phrases)
        is_cut = found.mode != "exact" and any(beginning(each) != each for each in spelt)
        return replace(found, note=f"{_BEGINS} {found.note}".strip()) if is_cut else found
    except (StoreIndexBroken, StoreSlow) as error:
        found = _by_reading(desk, text, where)
        return replace(found, note=f"{error} {found.note}".strip())


def _own_calls_last(where: Filter) -> list[Filter]:
    """A search must not find itself first: its call holds the query word for word."""
    if where.tool:
        return [where]
    mine = [replace(where, tool=name) for name in OWN_TOOLS]
    return [replace(where, without_tools=OWN_TOOLS), *mine]


def _auto(desk: Desk, text: str, where: Filter) -> Ranking:
    hits, terms, note = _timely(desk, text, where)
    if hits:
        said = f"{_AS_WORDS} {note}".strip() if looks_like_a_pattern(text) else note
        return Ranking(hits, terms.needles, "auto", said)
    literal = text.strip().strip('"') or text.strip()
    looked = None
    for part, how in spellings(literal).items():
        found = _scan(desk, exactly(part), _Search(text, where, [part]), "exact")
        if found.hits:
            return replace(found, note=f"No word matched; found {how}. {found.note}".strip())
        looked = found.looked if looked is None else looked
    ranking = _fuzzy(desk, text, where)
    note = f"{_AS_WORDS} {ranking.note}".strip() if looks_like_a_pattern(text) else ranking.note
    return replace(ranking, note=note, tried="auto, exact and fuzzy", looked=looked)


def _timely(desk: Desk, text: str, where: Filter) -> tuple[list[Hit], Terms, str]:
    """What the words find, weighed by how it is said, by the names in it, and by the times that *text* names."""
    terms = terms_of(text)
    hits = _ranked(desk, terms.words, (*terms.phrases, *terms.pairs), where)
    hits = verbatim(desk, by_manner(desk, hits, text), terms)
    asked = where, where.made or clock.time()
    hits, note = of_that_time(desk, hits, text, asked, partial(_ranked, desk))
    return hits, terms, note


def _ranked(desk: Desk, words: Sequence[str], phrases: Sequence[str], where: Filter) -> list[Hit]:
    """Messages and nodes by their words; calls of our own tools and their results only repeat others.

    So does what the user said last: it is the question, and stands in the context word for word.
    """
    others = where if where.tool else replace(where, without_tools=OWN_TOOLS)
    hits = _asked_for(desk.store.search, words, phrases, others, POOL)
    if not hits and where.without:
        hits = _asked_for(desk.store.search, words, phrases, replace(others, without=()), POOL)
    if not where.is_narrow:
        lines = None if where.lines is None else desk.lineage
        nodes = _asked_for(
            desk.store.search_nodes,
            words,
            phrases,
            Filter(lines=lines, made=where.made),
            _MOST_NODES,
        )
        hits += [Hit(hit.score * _NODE_WEIGHT, node=hit.node) for hit in nodes]
    return sorted(hits, key=lambda hit: -hit.score)


def asked_last(desk: Desk) -> int:
    """Number of the user message of the turn that is going on; 0 if none is."""
    last = desk.store.tail(desk.session.line, 1)
    if not last or (last[0].role == "assistant" and not desk.store.read([(last[0].id, 0)])[0].tool):
        return 0
    turn = desk.store.turns(desk.session.line, last[0].turn, last[0].turn)
    return next((entry.id for entry in turn[:1] if entry.role == "user"), 0)


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
    notes = readings(desk, hits, repaired)
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
    looked = last = 0
    everything = replace(search.where, without=())
    texts = chain.from_iterable(map(desk.store.texts, _own_calls_last(everything)))
    for number, version, text in texts:
        looked += number != last
        last = number
        if number not in hits and (at := find(text)) >= 0:
            score = float(at + 1 if weigh else number)
            hits[number] = Hit(score, message=number, version=version)
        if watch.over():
            note = f"The search took too long: it read the newest {many(looked, 'message')} and stopped."
            return Ranking(list(hits.values()), search.needles, mode, note, looked=looked)
    return Ranking(list(hits.values()), search.needles, mode)


def _by_reading(desk: Desk, text: str, where: Filter) -> Ranking:
    """Every message that holds any of the words, those with the most of them first."""
    needles = terms_of(text).needles or [text.strip()]
    found = _scan(desk, mentions(needles), _Search(text, where, needles), "auto", weigh=True)
    return replace(found, hits=sorted(found.hits, key=lambda hit: -hit.score))
