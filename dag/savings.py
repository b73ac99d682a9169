"""What can be left out of a list for nothing: tool results that nobody misses, shown by head and tail.

A result is *superseded* where the same call was made again later, a *duplicate* where a later result
has the same text, *old* where it stands before the verbatim tail. The stub names the message, and
``lcm_expand`` gives the whole back; no model is asked.

It is not free for a provider's prompt cache: from the first row that changes, everything is read
anew. So what is left out must be worth that: see :func:`worthwhile`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .messages import Row, calls_of, is_system, text_of
from .validity import partners

__all__ = ["STUB_TOKENS", "Saving", "savings", "worth_of", "worthwhile"]

#: Tokens that a stub of such a result may have.
STUB_TOKENS: Final = 120
#: Tokens from which a result is worth a stub.
_LEAST: Final = 2 * STUB_TOKENS
#: What a token costs that a provider's cache has, where one that it reads costs 1.
_CACHED: Final = 0.1


@dataclass(frozen=True, slots=True)
class Saving:
    """A result that could be shown in part."""

    index: int
    """Its place in the list."""
    saved: int
    """Tokens that the list would lose."""
    why: str
    """``superseded``, ``duplicate`` or ``old``."""


def savings(rows: Sequence[Any], tokens: Sequence[int], tail: int, newest: int) -> list[Saving]:
    """The results of *rows* that could be left out, in order.

    *tokens*: sizes of the rows. *tail*: index of the first row of the verbatim tail, where nothing is
    old. *newest*: index of the row behind which all is needed, since nobody has read it yet.
    """
    found = []
    calls, texts = _later_calls(rows), _later_texts(rows)
    for index, row in enumerate(rows[:newest]):
        if not _is_result(row) or tokens[index] < _LEAST:
            continue
        why = (
            "superseded" if index in calls
            else "duplicate" if index in texts
            else "old" if index < tail
            else ""
        )  # fmt: skip
        if why:
            found.append(Saving(index, tokens[index] - STUB_TOKENS, why))
    return found


def worthwhile(
    found: Sequence[Saving], tokens: Sequence[int], worth: float, least: int
) -> list[Saving]:
    """Those of *found*, from one of them on, whose omission saves most; none if it saves nothing.

    *worth*: the price of a token that is left out, see :func:`worth_of`. *least*: the smallest saving
    that is worth a change. Left out from row i on, the rows behind i are read anew once, at 0.9 of a
    token's price above that of a cached one.
    """
    behind = sum(tokens)
    best: list[Saving] = []
    most, saved = 0.0, sum(each.saved for each in found)
    at = 0
    for n, each in enumerate(found):
        behind -= sum(tokens[at : each.index])
        at = each.index
        won = worth * saved - (1 - _CACHED) * max(behind - saved, 0)
        if won > most and saved >= least:
            best, most = list(found[n:]), won
        saved -= each.saved
    return best


def worth_of(room: int, step: float, limit: int, target: int) -> float:
    """What it is worth that a list has a token less, in prices of a token that is read.

    It costs 0.1 less in each request until the list is compacted: *room* tokens from now, *step*
    tokens a request. And it puts that off: a compaction costs about as much as reading a list of
    *limit* tokens (a part by the summariser, the rest anew by the model), and there is one for every
    *limit* - *target* tokens.
    """
    return _CACHED * max(room, 0) / max(step, 1.0) + limit / max(limit - target, 1)


def _is_result(row: Any) -> bool:
    known = isinstance(row, dict) or not is_system(row)  # nothing that is a result is a system row
    return known and row.get("role") == "tool" and isinstance(row.get("content"), str)


def _later_calls(rows: Sequence[Any]) -> set[int]:
    """Results whose call was made again, and answered, later on."""
    seen: set[tuple[str, str]] = set()
    again = set()
    for result, call in reversed(_answers(rows)):
        if call in seen:
            again.add(result)
        seen.add(call)
    return again


def _answers(rows: Sequence[Any]) -> list[tuple[int, tuple[str, str]]]:
    """(index of a result, what was called), in order."""
    made: Mapping[int, int] = partners(rows)
    return [
        (result, call)
        for result in sorted(made)
        for call in _called(rows[made[result]], rows[result].get("tool_call_id"))
    ]


def _called(row: Row, wanted: object) -> Iterator[tuple[str, str]]:
    """Name and arguments of the call with that id."""
    for call in calls_of(row):
        function = call.get("function")
        if call.get("id") == wanted and isinstance(function, Mapping):
            yield _written(function.get("name")), _plain(function.get("arguments"))
            return


#: Made once: ``json.dumps`` makes one for every call, and takes twice as long.
_written: Final = json.JSONEncoder(sort_keys=True, default=str).encode


def _plain(arguments: object) -> str:
    """Arguments as a value: white space and the order of names say nothing."""
    if not isinstance(arguments, str):
        return _written(arguments)
    try:
        return _written(json.loads(arguments))
    except ValueError:
        return arguments


def _later_texts(rows: Sequence[Any]) -> set[int]:
    """Results whose text a later result has as well."""
    seen: set[int] = set()
    again = set()
    for index in range(len(rows) - 1, -1, -1):
        if _is_result(rows[index]):
            text = hash(text_of(rows[index]))
            if text in seen:
                again.add(index)
            seen.add(text)
    return again
