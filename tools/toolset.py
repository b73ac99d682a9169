"""The tools as the agent sees them: schemas, and one door for every call.

A call never raises and always answers JSON: what went wrong is in ``error``,
what to do next in ``hint``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..storage.errors import StoreError
from ..storage.traces import trace_of
from .answers import ToolError, to_json
from .describe import describe
from .desk import Desk
from .expand import DETAILS, expand, retrieve
from .expand_query import expand_query
from .grep import MODES, grep
from .status import status

__all__ = ["call", "failure", "schemas"]

_log = logging.getLogger(__name__)

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def _schema(
    name: str, description: str, required: list[str], **properties: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": required},
    }


_SCHEMAS = [
    _schema(
        "lcm_grep",
        "Search everything said in this conversation, also what is no longer in your context. Use it before you say"
        " that you do not know or remember something, and before relying on a summary's detail.",
        ["query"],
        query=_TEXT
        | {"description": 'A question in plain words, a name, a path; "quotes" for a phrase.'},
        mode=_TEXT
        | {
            "enum": list(MODES),
            "description": "auto ranks; exact: any part of the text; fuzzy: typos.",
        },
        role=_TEXT | {"description": "user, assistant or tool."},
        tool=_TEXT | {"description": "Only this tool's calls and results."},
        since=_TEXT | {"description": "ISO, or words: last Tuesday, two weeks ago."},
        until=_TEXT | {"description": "The same."},
        start_turn=_NUMBER,
        end_turn=_NUMBER,
        scope=_TEXT | {"enum": ["session", "all"], "description": "all: past sessions too."},
        limit=_NUMBER | {"description": "Results, 10 by default, at most 50."},
        cursor=_TEXT | {"description": "From the answer before: the next page."},
    ),
    _schema(
        "lcm_expand",
        "Open a message or a summary block verbatim by its uid (6 or more characters, as in [lcm 1a2b3c4d]).",
        ["uid"],
        uid=_TEXT,
        detail=_TEXT
        | {
            "enum": list(DETAILS),
            "description": "raw (default): word for word; the others: summaries.",
        },
        cursor=_TEXT | {"description": "From the answer before: the next page."},
    ),
    _schema(
        "lcm_expand_query",
        "Answer a question from what was said: finds the passages, or reads those you name, has a model read them, and"
        " cites their uids. For what several messages say together; lcm_grep is cheaper for one fact.",
        ["question"],
        question=_TEXT,
        uids={
            "type": "array",
            "items": _TEXT,
            "description": "Messages or summary blocks to read.",
        },
        budget_tokens=_NUMBER | {"description": "Tokens of passages, 4000 by default."},
    ),
    _schema(
        "lcm_describe",
        "What a summary block is made of: its texts by size, hints, sources. Without uid: the outline of all of it.",
        [],
        uid=_TEXT,
        depth=_NUMBER | {"description": "Levels of the outline, 1 by default."},
        cursor=_TEXT,
    ),
    _schema(
        "lcm_status", "Counts, budget, last compaction and health of the conversation's memory.", []
    ),
]
_RETRIEVE = _schema(
    "retrieve_conversation_history",
    "The conversation by turn numbers (from 1, both included; a turn begins with a user message).",
    ["start_turn", "end_turn"],
    start_turn=_NUMBER,
    end_turn=_NUMBER,
    detail_level=_TEXT | {"enum": list(DETAILS), "description": "raw (default): word for word."},
    cursor=_TEXT,
)

#: Characters of one argument: more than any name, number or cursor has.
_LONGEST = 10_000
#: Of what is searched for: whole texts are.
_LONGEST_QUERY = 100_000
#: Names of arguments that no tool has, as far as they are shown.
_MOST_IGNORED = 20

_HALF = re.compile("[\ud800-\udfff]")

_Handler = Callable[[Desk, Mapping[str, Any]], dict[str, Any]]


def schemas(*, retrieval: bool) -> list[dict[str, Any]]:
    """The tools' schemas; *retrieval*: with ``retrieve_conversation_history``."""
    return [*_SCHEMAS, _RETRIEVE] if retrieval else list(_SCHEMAS)


def _grep(desk: Desk, args: Mapping[str, Any]) -> dict[str, Any]:
    return grep(desk, **args)


def _expand(desk: Desk, args: Mapping[str, Any]) -> dict[str, Any]:
    return expand(desk, args.get("uid"), args.get("detail"), args.get("cursor"))


def _expand_query(desk: Desk, args: Mapping[str, Any]) -> dict[str, Any]:
    return expand_query(desk, **args)


def _describe(desk: Desk, args: Mapping[str, Any]) -> dict[str, Any]:
    return describe(desk, args.get("uid"), args.get("depth"), args.get("cursor"))


def _status(desk: Desk, _: Mapping[str, Any]) -> dict[str, Any]:
    return status(desk)


def _retrieve(desk: Desk, args: Mapping[str, Any]) -> dict[str, Any]:
    return retrieve(
        desk, args["start_turn"], args["end_turn"], args.get("detail_level"), args.get("cursor")
    )


_HANDLERS: dict[str, _Handler] = {
    "lcm_grep": _grep,
    "lcm_expand": _expand,
    "lcm_expand_query": _expand_query,
    "lcm_describe": _describe,
    "lcm_status": _status,
    "retrieve_conversation_history": _retrieve,
}


def call(desk: Desk, name: str, args: Any) -> str:
    """Carry out a tool call; returns JSON."""
    try:
        known, ignored = _checked(_parameters(name), args)
        answer = _HANDLERS[name](desk, known)
        return to_json(answer | {"ignored_arguments": ignored} if ignored else answer)
    except ToolError as error:
        return to_json({"error": error.error, "hint": error.hint})
    except StoreError as error:
        _log.warning("%s could not read the store\n%s", name, trace_of(error))
        return failure(str(error), "The conversation goes on. `hermes lcm doctor` says what to do.")
    except Exception as error:  # the agent loop must not meet an exception of ours
        _log.error("%s failed\n%s", name, trace_of(error))
        return failure(
            f"{name} failed: {type(error).__name__}.",
            "This is a fault of lcm; the log has its traceback.",
        )


def _parameters(name: str) -> Mapping[str, Any]:
    found = (each["parameters"] for each in schemas(retrieval=True) if each["name"] == name)
    parameters: Mapping[str, Any] | None = next(found, None)
    if parameters is None:
        raise ToolError(
            f"There is no tool '{str(name)[:60]}'.", f"There are: {', '.join(_HANDLERS)}."
        )
    return parameters


def failure(error: str, hint: str) -> str:
    """An error as a tool answers it."""
    return to_json({"error": error, "hint": hint})


def _checked(parameters: Mapping[str, Any], args: Any) -> tuple[dict[str, Any], list[str]]:
    """The arguments that the schema knows, and the names of those that it does not."""
    if args is None:
        args = {}
    if not isinstance(args, Mapping):
        raise ToolError(
            "The arguments must be one JSON object.",
            f"Its keys: {', '.join(parameters['properties'])}.",
        )
    known = {
        name: value
        for name, value in args.items()
        if name in parameters["properties"] and value is not None
    }
    for name, value in known.items():
        _bound(name, value)
        _sendable(name, value)
    missing = [name for name in parameters["required"] if name not in known]
    if missing:
        raise ToolError(
            f"Missing: {', '.join(missing)}.", f"Required: {', '.join(parameters['required'])}."
        )
    ignored = sorted(str(name)[:60] for name in args if name not in parameters["properties"])
    return known, ignored[:_MOST_IGNORED]


def _bound(name: str, value: Any) -> None:
    """What is longer than anything one looks for is not even looked at.

    Raises:
        ToolError: it is.
    """
    most = _LONGEST_QUERY if name in ("query", "question") else _LONGEST
    try:
        length = len(value if isinstance(value, str) else str(value))
    except ValueError:  # a number of so many digits that Python does not write it
        length = most + 1
    if length > most:
        raise ToolError(f"'{name}' is too long.", f"Give {most:,} characters of it at most.")


def _sendable(name: str, value: Any) -> None:
    """What is searched for or opened may be anything; all else is text that can be written.

    Raises:
        ToolError: it holds half a character.
    """
    if name not in ("query", "question", "uid", "uids") and _HALF.search(str(value)):
        raise ToolError(
            f"'{name}' holds half of a surrogate pair, which is no character.",
            "Give it as plain text, as an answer or the tool's description has it.",
        )
