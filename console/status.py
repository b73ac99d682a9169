"""``status``: is it on, what is kept, what did it save; in one screen."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..dag.settings import Settings
from ..storage.protocol import Store
from ..storage.records import Session
from ..tools.desk import Desk
from ..tools.status import DOCTOR, of_store, said_briefly
from ..tools.status import status as tool_status
from .absent import ANOTHER, lost, mistaken
from .pointing import pointed
from .present import present
from .screen import grid, many
from .verb import Answer, Call

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["gather", "is_well", "no_session", "run", "turns_of", "view"]

_NO_SESSION: Final = "no session yet: it begins with the first turn"

_NEVER_ASKED: Final = (
    "compression.enabled is false in config.yaml: Hermes never asks an engine to compact, "
    "and the conversation grows until the model refuses it. Set it to true."
)
_UNKNOWN: Final = (
    "not known from here: this reads the database alone. `{}hermes lcm status` knows whether "
    "a Hermes uses it, and `scripts/lcm {}doctor` can tell."
)
_UNKNOWN_OF_FILE: Final = (
    "not known from here: this reads the file alone. `hermes lcm status`, without --db and in the home of a Hermes, "
    "says which file that one uses."
)
#: Warnings that have a row each.
_MOST_WARNINGS: Final = 5
_UNITS: Final = ("bytes", "KB", "MB", "GB", "TB")
_STEP: Final = 1024


def no_session(store: Store | None, facts: Mapping[str, Any] | None = None) -> str:
    """Why there is none: the host does not say which is meant, none began, or all were forgotten."""
    if facts and facts.get("no_session"):
        return str(facts["no_session"])
    gone = len(store.eraser().stones("session")) if store else 0
    if not gone:
        return _NO_SESSION
    return (
        f"no session: {many(gone, 'session')} {'was' if gone == 1 else 'were'} forgotten on request"
    )


def gather(
    store: Store | None, session: Session | None, facts: Mapping[str, Any] | None
) -> dict[str, Any]:
    """All that is known: of the store (None: there is none yet), and by the host's *facts*."""
    known = dict(facts or {})
    answer: dict[str, Any] = {
        "engine": {
            "known": "engine_active" in known,
            "active": known.get("engine_active"),
            "reason": str(known.get("engine_reason") or ""),
        },
        "context": {
            name: known.get(name) for name in ("window", "threshold_tokens", "last_prompt_tokens")
        },
        "compression_enabled": known.get("compression_enabled"),
        "settings_sources": known.get("settings_sources"),
        "left_out": dict(known.get("left_out") or {}),
        "not_kept": known.get("not_kept"),
        "warnings": _warnings(known, store),
        "session": session.name if session else None,
        "note": "" if session else no_session(store, facts),
        "conversation": None,
        "turns": None,
        "list": None,
        "saved_tokens": None,
        "requests": None,
        "store": None,
        "no_database": None,
        "mistaken": "",
        "lost": "",
        "salvaged": False,
    }
    if store is not None:
        totals = store.totals()
        answer["store"] = {
            "database": store.path,
            "bytes": totals.bytes,
            "sessions": totals.sessions,
            "messages": totals.messages,
        }
        if session is not None:
            answer["conversation"] = tool_status(Desk(store, session, Settings()))
            answer["turns"] = turns_of(store, session)
            answer |= _of_list(store, session)
            _fill(answer["context"], answer["requests"])
    return answer


def turns_of(store: Store, session: Session) -> int:
    """How many turns the conversation has, the one that goes on now included."""
    end = store.tail(session.line, 1)
    return end[0].turn if end else 0


_SUMS: Final = ("requests", "prompt_tokens", "cache_read_tokens", "cache_write_tokens")


def _of_list(store: Store, session: Session) -> dict[str, Any]:
    """What stands in the list, what was taken out of it, and what the engine noted of its requests."""
    here = present(store, session)
    family = [each.name for each in store.sessions([session.line])]
    noted = [found for name in family if isinstance(found := store.recall(name, "requests"), dict)]
    return {
        "list": {
            "tokens": here.tokens,
            "summaries": len(here.blocks),
            "summarised": here.frame.messages if here.frame else 0,
            "messages": len(here.behind),
        },
        "saved_tokens": sum(done.tokens_before - done.tokens_after for done in here.passes),
        "requests": {
            **(noted[-1] if noted else {}),
            **{name: sum(_whole(each.get(name)) for each in noted) for name in _SUMS},
        },
    }


def _whole(value: Any) -> int:
    return value if type(value) is int else 0


def _fill(context: dict[str, Any], noted: Mapping[str, Any]) -> None:
    """What the process that asks does not know of the context, as the agent's noted it at its last turn."""
    if context["last_prompt_tokens"] is None and context["window"] is None:
        context |= {name: _whole(noted.get(name)) or None for name in context}


def _warnings(facts: Mapping[str, Any], store: Store | None) -> list[str]:
    """All that needs attention, the most serious first."""
    warnings = [_NEVER_ASKED] if facts.get("compression_enabled") is False else []
    warnings += of_store(store) if store else []
    return warnings + [str(problem) for problem in facts.get("problems") or ()]


def is_well(data: Mapping[str, Any]) -> bool:
    """Whether nothing needs a person's attention."""
    return data["engine"]["active"] is not False and not data["warnings"]


def view(data: Mapping[str, Any], point: Callable[[str], str] = str) -> RenderableType:
    """The screen; *point* gives advice for the database that was named."""
    rows = [("engine", _engine(data["engine"]))]
    rows += _context(data["context"])
    rows += _settings(data["settings_sources"])
    rows += _conversation(data)
    store = data["store"]
    if store is not None:
        kept = f"{many(store['messages'], 'message')} of {many(store['sessions'], 'session')}"
        rows += [
            ("database", f"{store['database'] or 'in memory'} ({size(store['bytes'])}, {kept})")
        ]
    elif data["lost"]:
        rows.append(("database", f"{data['lost']} {point(DOCTOR)}"))
    elif data["mistaken"]:
        rows.append(("database", f"{data['mistaken']} {ANOTHER}"))
    elif data["no_database"]:
        rows.append(
            ("database", f"none yet at {data['no_database']}: it begins with the first turn")
        )
    rows += [("not kept", data["not_kept"])] if data["not_kept"] else []
    rows += [("left out", _left_out(why, count)) for why, count in data["left_out"].items()]
    return grid(rows + [(name, point(said)) for name, said in _warned(data["warnings"])])


def _warned(warnings: Sequence[str]) -> list[tuple[str, str]]:
    """A row for each of the first few, and where the others are."""
    if not warnings:
        return []
    rows = [("warning", said_briefly(each)) for each in warnings[:_MOST_WARNINGS]]
    more = len(warnings) - len(rows)
    rest = f"{more:,} more: `status --json` has all. " if more else ""
    return [*rows, ("", f"{rest}{DOCTOR}")]


_WHY: Final = {"ignored": "ignored", "memory_only": "kept in memory only"}


def _left_out(why: str, count: Mapping[str, int]) -> str:
    """What this process did not put on disk."""
    of = f"{many(count['messages'], 'message')} of {many(count['sessions'], 'session')}"
    return f"{of}, {_WHY.get(why, 'forgotten on request')}, since this process began"


def _engine(engine: Mapping[str, Any]) -> str:
    if not engine["known"]:
        return str(engine["reason"]) or _unknown({})
    said = "active" if engine["active"] else "NOT ACTIVE"
    return f"{said}: {engine['reason']}" if engine["reason"] else said


def _unknown(options: Mapping[str, Any]) -> str:
    """Why it is not known whether it is on, and who knows of the home that *options* name."""
    if options.get("db"):
        return _UNKNOWN_OF_FILE
    if not (home := options.get("home")):
        return _UNKNOWN.format("", "")
    at = shlex.quote(str(home))
    return _UNKNOWN.format(f"HERMES_HOME={at} ", f"--home {at} ")


def _context(context: Mapping[str, Any]) -> list[tuple[str, str]]:
    window, threshold, used = (
        context[name] for name in ("window", "threshold_tokens", "last_prompt_tokens")
    )
    parts = []
    if used and used > 0:  # -1 right after a compaction: not measured yet
        of = f", {used / threshold:.0%} of the threshold" if threshold else ""
        parts.append(f"{used:,} tokens in the last request{of}")
    if threshold:
        parts.append(f"compacted at {threshold:,}")
    if window:
        parts.append(f"window {window:,}")
    return [("context", "; ".join(parts))] if parts else []


def _settings(sources: Any) -> list[tuple[str, str]]:
    if not sources:
        return []
    if isinstance(sources, Mapping):
        own = [f"{key} ({source})" for key, source in sources.items() if source != "default"]
        return [("settings", ", ".join(own) or "all defaults")]
    listed = [sources] if isinstance(sources, str) else list(sources)
    return [("settings", ", ".join(map(str, listed)))]


def _conversation(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    kept = data["conversation"]
    if kept is None:
        return [("session", data["note"])]
    since = f" (before that {', '.join(kept['rotated_from'])})" if kept["rotated_from"] else ""
    rows = [("session", f"{kept['session']}{since}")]
    if not kept["messages"]:
        return [*rows, ("messages", "none yet: they are stored after each turn")]
    more = [f"{kept['withdrawn']:,} withdrawn"] if kept["withdrawn"] else []
    more += (
        [f"{many(kept['earlier_versions'], 'earlier version')}"] if kept["earlier_versions"] else []
    )
    said = f"{kept['messages']:,} in {many(data['turns'], 'turn')}"
    rows.append(("messages", ", ".join([said, *more])))
    rows.append(("in the list", _list(data["list"], salvaged=data["salvaged"])))
    rows.append(("summaries", _summaries(kept, salvaged=data["salvaged"])))
    if ahead := kept.get("ahead"):
        rows.append(("made ahead", _ahead(ahead)))
    if last := kept.get("last_compaction"):
        rows.append(("compactions", f"{kept['compactions']:,}, the last at {last['time']}"))
        saved = f"{last['tokens_before']:,} -> {last['tokens_after']:,} tokens"
        rows.append(("", f"{saved}, {last['rows_before']:,} -> {last['rows_after']:,} rows"))
        rows.append(
            ("saved", f"{many(data['saved_tokens'], 'token')} taken out of the list so far")
        )
    rows += _cache(data["requests"])
    return [*rows, *_calls(kept.get("model_calls"))]


def _list(shown: Mapping[str, Any], *, salvaged: bool) -> str:
    """What the context holds, system prompt and tools aside."""
    parts = []
    if count := shown["summaries"]:
        parts.append(f"{many(count, 'summary')} of {many(shown['summarised'], 'message')}")
    parts.append(f"{many(shown['messages'], 'message')} word for word")
    unsure = "; what stands there of a damaged file is not known" if salvaged else ""
    return f"about {many(shown['tokens'], 'token')}: {', '.join(parts)}{unsure}"


def _cache(requests: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How much of what was sent the provider had in its cache, by its own count."""
    if not requests["prompt_tokens"]:
        return []
    share = requests["cache_read_tokens"] / requests["prompt_tokens"]
    of = f"{many(requests['prompt_tokens'], 'token')} in {many(requests['requests'], 'request')}"
    if not requests["cache_read_tokens"]:
        return [("cache", f"of {of}, none came from the provider's cache")]
    return [("cache", f"{share:.0%} of {of} came from the provider's cache")]


def _calls(spent: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """What the summaries have cost, with the models that wrote them."""
    if not spent:
        return []

    def said(of: Mapping[str, Any]) -> str:
        failed = f", {of['failed']:,} without an answer" if of["failed"] else ""
        tokens = f"{of['input_tokens']:,} tokens read, {of['output_tokens']:,} written"
        return f"{many(of['calls'], 'call')}{failed}; {tokens}"

    rows = [("", f"{model}: {said(each)}") for model, each in spent["by_model"].items()]
    if len(rows) == 1:
        return [("model calls", rows[0][1])]
    return [("model calls", said(spent)), *rows]


def _ahead(ahead: Mapping[str, Any]) -> str:
    """What was made between turns, and whether that fails."""
    count = ahead["nodes"]
    said = many(count, "summary")
    if ahead["repaired"]:
        said += f", {ahead['repaired']:,} made again"
    if ahead["last"]:
        said += f", the last at {ahead['last']}"
    if ahead.get("failures"):
        said += f"; failed {many(ahead['failures'], 'time')} since: {ahead['why']}"
    return said


def _summaries(kept: Mapping[str, Any], *, salvaged: bool) -> str:
    by_depth = kept["nodes_by_depth"]
    if not by_depth and salvaged:
        return "none that can be read"
    if not by_depth:
        return "none yet: all of it is in the context"
    said = ", ".join(f"{count:,} at depth {depth}" for depth, count in by_depth.items())
    degraded = kept["degraded_nodes"]
    return f"{said}; {degraded:,} extracted without a model" if degraded else said


def size(count: float) -> str:
    """*count* bytes, for people."""
    for unit in _UNITS:
        if count < _STEP or unit == _UNITS[-1]:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= _STEP
    raise AssertionError  # the last unit takes all


def run(call: Call) -> Answer:
    """All that is known, also without a store."""
    data = gather(call.store, call.found(), call.facts)
    if not data["engine"]["known"] and not data["engine"]["reason"]:
        data["engine"]["reason"] = _unknown(call.options)
    if call.store is None:
        data["no_database"] = call.path
        data["lost"] = lost(Path(call.path))
        if call.facts is None and not data["lost"]:  # inside Hermes the home is one
            data["mistaken"] = mistaken(Path(call.path), named=bool(call.options.get("db")))
    missing = data["mistaken"] or data["lost"]
    if missing:
        data["note"] = "none"
    data["salvaged"] = call.salvaged
    point = partial(pointed, options=call.options)
    return Answer(data, is_well(data) and not missing, [view(data, point)])
