"""What a file must hold beside the words of a conversation to find as the agent's own search does.

By which figures, and how letters are taken (:func:`rule`); which numbers the messages have, and what the index
holds besides (:func:`told`); and what can be searched of a message where that is not what is shown of it
(:class:`Searched`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..dag.settings import Settings
from ..storage import fts_places, fts_rows, fts_search, ranking, text
from ..storage.archive import Beside
from ..storage.errors import StoreIndexBroken, StoreSlow
from ..storage.protocol import Store
from ..storage.records import Entry, Session
from ..storage.text import searchable
from ..tools import fuzzy, grep, manner, moments, query, verbatim, when
from ..tools.desk import Desk
from . import letters
from .scripted import as_script

__all__ = ["Searched", "only", "parts", "rule", "told"]

#: Patterns that are looked for at the beginning of a text.
_AT_START: Final = ("speaker", "opening")
#: Characters of a call's arguments from which on it pays to take them from what is shown.
_LONG: Final = 40
_PLAIN: Final = {"role", "content"}
_RESULT: Final = {"role", "content", "tool_call_id", "tool_name", "name"}
_CALLS: Final = {"role", "content", "tool_calls"}


def rule() -> dict[str, Any]:
    """How a file ranks what it finds: by the figures of the agent's own search."""
    plain = (ranking, fts_places, fts_rows, fts_search, text, query, grep)
    named = {
        "manner": manner,
        "verbatim": verbatim,
        "moments": moments,
        "calendar": when,
        "fuzzy": fuzzy,
    }
    found: dict[str, Any] = {}
    for module in plain:
        found |= _scripted(module.FIGURES)
    found |= {name: _scripted(module.FIGURES) for name, module in named.items()}
    made = {"letters": letters.of_index(), "caseless": letters.caseless()}
    return found | {name: letters.as_runs(each) for name, each in made.items()}


def _scripted(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: as_script(value, at_start=name in _AT_START)
        if isinstance(value, re.Pattern)
        else value
        for name, value in figures.items()
    }


# what can be searched of a message


def _is_plain(row: Mapping[str, Any] | None) -> bool:
    """Whether a page knows without us what of it is searched, as of nine of ten.

    What has a role and a text and nothing else: just that. The result of a call: its text, and the name of the tool.
    """
    if row is None or not isinstance(row.get("content"), str):
        return False
    if row.get("role") == "tool":
        return bool(row.get("tool_call_id")) and row.keys() <= _RESULT
    return row.keys() == _PLAIN


class Searched:
    """What can be searched of messages, and how many of them are damaged."""

    def __init__(self) -> None:
        self.damaged = 0

    def of(self, rows: Sequence[Any], shown: Sequence[str]) -> dict[str, Any]:
        """What is to be said of a message, by its versions, if what is searched of it is not just what is shown."""
        self.damaged += None in rows
        if all(map(_is_plain, rows)):
            return {}
        pairs = zip(rows, shown, strict=True)
        return {"found": [[] if row is None else parts(row, said) for row, said in pairs]}


def only(row: Mapping[str, Any], shown: str) -> list[Any] | None:
    """What is to be said of one in its only version; None: nothing."""
    return None if _is_plain(row) else parts(row, shown)


def parts(row: Mapping[str, Any], shown: str) -> list[Any]:
    """What can be searched of *row*, of which *shown* is shown.

    A text is itself, 1 all that is shown, 0 what is shown before the last line, and ``[n]`` the arguments of the
    call *n* in that line.
    """
    legible = _is_legible(shown)
    if legible and (call := _only_call(row)) is not None:
        return call
    whole = searchable(row)
    if whole == shown:
        return [1]
    content = row.get("content")
    head = len(content) if isinstance(content, str) and whole.startswith(content) else 0
    found: list[Any] = [0] if 0 < head < len(shown) else []
    rest = whole[head:] if found else whole
    for number, said in _arguments(row) if legible and "tool_calls" in row else ():
        before, there, behind = rest.partition(said)
        if there:
            found += [before, [number]]
            rest = behind
    return [each for each in [*found, rest] if each != ""]


def _is_legible(shown: str) -> bool:
    """Whether a browser reads the JSON in the last line of what is shown: it knows no NaN and no Infinity."""
    if "NaN" not in shown and "Infinity" not in shown:
        return True
    try:
        json.loads(shown.rpartition("\n")[2], parse_constant=_refused)
    except ValueError:
        return False
    return True


def _refused(name: str) -> Any:
    raise ValueError(name)


def _only_call(row: Mapping[str, Any]) -> list[Any] | None:
    """The parts of a message that says nothing beside one call, as most calls do: in a tenth of the time."""
    calls = row.get("tool_calls")
    if type(calls) is not list or len(calls) != 1 or type(calls[0]) is not dict:
        return None
    if row.keys() != _CALLS or row["content"] not in ("", None):
        return None
    function = calls[0].get("function")
    if type(function) is not dict:
        return None
    name, raw = function.get("name"), function.get("arguments")
    if type(name) is not str or type(raw) is not str or len(raw) < _LONG or "\\" in raw:
        return None
    before = f"{name} "
    return [before, [0]] if f"{before}{raw}".find(raw) == len(before) else None


def _arguments(row: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """The arguments of calls that a page can spell as we do, each with the number of its call."""
    calls = row.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        raw = function.get("arguments") if isinstance(function, dict) else None
        if not isinstance(raw, str) or len(raw) < _LONG:
            continue
        said = raw if "\\" not in raw else _flat(raw)
        if said is not None:
            yield number, said


def _flat(raw: str) -> str | None:
    """Arguments with their escapes undone, if they are texts by names that stay in their order in a browser."""
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(value, dict) or any(key.isdecimal() for key in value):
        return None
    if not all(isinstance(item, str) for item in value.values()):
        return None
    return " ".join(f"{key}: {item}" for key, item in value.items())


# what the index knows


def told(
    store: Store, session: Session, entries: Sequence[Entry], nodes: Sequence[str]
) -> dict[str, Any]:
    """What the index knows of a conversation, and of its summaries, beside their words."""
    numbers = [entry.id for entry in entries]
    older = store.archive().older(session.line)
    beside = _beside(store, nodes)
    return {
        "numbers": list(_runs(numbers)),
        "newest": store.newest(),
        "asked": grep.asked_last(Desk(store, session, Settings())),
        "lines": list(
            _changes((number, older.get(number, session.line)) for number in sorted(numbers))
        )
        if older
        else [[min(numbers), session.line]]
        if numbers
        else [],
        "nodes": {**beside._asdict(), "holding": dict(beside.holding)},
    }


def _beside(store: Store, nodes: Sequence[str]) -> Beside:
    """What counts besides; nothing where the index cannot tell: then summaries rank as if there were no others."""
    try:
        return store.archive().beside(nodes)
    except (StoreIndexBroken, StoreSlow):
        return Beside()


def _runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Neighbouring numbers as the first of them and how many there are."""
    first, many = 0, 0
    for number in numbers:
        if many and number == first + many:
            many += 1
            continue
        if many:
            yield [first, many]
        first, many = number, 1
    if many:
        yield [first, many]


def _changes(pairs: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Those pairs that have another value than the one before."""
    last = None
    for number, value in pairs:
        if value != last:
            yield [number, value]
        last = value
