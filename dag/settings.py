"""What a user may set, what it means, and what is done about a mistake in it.

A mistake in a settings file must neither stop the agent nor pass in silence: every unknown key and
every wrong value is reported as a :class:`Problem`, and the default is used in its place. The
table of keys is the dataclass :class:`Settings` itself, so the documentation, the checks and the
values cannot part ways.
"""

from __future__ import annotations

import difflib
import fnmatch
import itertools
import json
import math
import os
import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, Literal

_Complain = Callable[[object, str], None]  # (what is wrong, why); the rest of the value is used
_Parse = Callable[
    [Any, _Complain], Any
]  # gives the value or raises ValueError with what it must be

#: Keys of the documents this project started from, and what took their place.
_REPLACED: Final = {
    "state_store_path": ("database", "use database"),
    "enabled": ("threshold", "select the engine with context.engine: lcm instead"),
}
_SOFT_SHARE: Final = 0.8  # of the threshold, as 0.60 is of 0.75
_TARGET_SHARE: Final = 0.5  # of the threshold, about what 0.40 is of 0.75
_LEAST_TARGET: Final = 0.02
#: Characters of a value that is shown.
_SHORT: Final = 60
#: More tokens than any window has, and far fewer than a database can count.
_MOST_TOKENS: Final = 100_000_000
#: More turns, or summaries, than are ever looked at together.
_MOST_TURNS: Final = 1_000_000
#: Keys that are read and checked, and that nothing acts on: a user must not believe otherwise.
_IDLE: Final = frozenset(
    {
        "embeddings",  # left out: docs/decisions/0038
    }
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A key or a value that could not be used."""

    key: str  #: as written, empty where the whole section is wrong
    value: str  #: as written, shortened, in Python's notation
    message: str  #: what is wrong, what is used instead, in words for the user
    nearest: str  #: the known key that comes nearest, the key itself where only its value is wrong

    @property
    def said(self) -> str:
        """The message, for whoever has the whole file before them."""
        return f"lcm.{self.message}" if self.key else self.message


def _whole(least: int, most: int) -> _Parse:
    def parse(value: Any, _: _Complain) -> int:
        number = _number(value)
        if not number.is_integer() or not least <= number <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(number)

    return parse


def _fraction(low: float, *, zero_means_default: bool = False) -> _Parse:
    def parse(value: Any, _: _Complain) -> float | None:
        if zero_means_default and (value is False or _is_zero(value)):
            return None
        number = _number(value)
        if not low <= number <= 1:
            raise ValueError(f"must be a fraction of the window between {low} and 1")
        return number

    return parse


def _choice(*words: str) -> _Parse:
    def parse(value: Any, _: _Complain) -> str:
        word = "off" if value is False else value  # what YAML makes of a bare off
        if isinstance(word, str) and word.strip().lower() in words:
            return word.strip().lower()
        raise ValueError(f"must be one of {', '.join(words)}")

    return parse


def _flag(value: Any, _: _Complain) -> bool:
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    if word in {"true", "yes", "on", "1"}:
        return True
    if word in {"false", "no", "off", "0"}:
        return False
    raise ValueError("must be true or false")


def _text(value: Any, _: _Complain) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise ValueError("must be text")  # noqa: TRY004 -- all parsers raise the same
    return value.strip()


def _text_or_off(value: Any, complain: _Complain) -> str:
    return "" if value is False else _text(value, complain)


def _levels(value: Any, complain: _Complain) -> tuple[int, ...]:
    parse = _whole(1, _MOST_TOKENS)
    sizes = tuple(parse(item, complain) for item in _items(value))
    if not sizes or any(low >= high for low, high in itertools.pairwise(sizes)):
        raise ValueError("must be whole numbers in ascending order, like [15, 50, 250, 1000]")
    return sizes


def _patterns(value: Any, complain: _Complain) -> tuple[str, ...]:
    good = []
    for item in _items(value):
        if isinstance(item, str) and item.strip() and _is_glob(item.strip()):
            good.append(item.strip())
        else:
            complain(item, "is no pattern like cron_* and was skipped")
    return tuple(good)


def _items(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return [value]  # one item may stand without its brackets
    raise ValueError("must be a list")


def _is_glob(pattern: str) -> bool:
    if pattern.count("[") > pattern.count("]") or "\0" in pattern:
        return False
    try:
        re.compile(fnmatch.translate(pattern))
    except re.error:
        return False
    return True


def _number(value: Any) -> float:
    """Return a finite number; text that holds one is one, true and false are not."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("must be a number")  # noqa: TRY004 -- all parsers raise the same
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("must be a number")
    return number


def _is_zero(value: Any) -> bool:
    try:
        return _number(value) == 0
    except ValueError:
        return False


def _key(default: Any, parse: _Parse, doc: str) -> Any:
    return field(default=default, metadata={"parse": parse, "doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The section ``lcm:`` of config.yaml. Sizes are tokens, shares are fractions of the window."""

    target_token_levels: tuple[int, ...] = _key(
        (15, 50, 250, 1000), _levels, "Sizes of a summary in tokens, ascending, any number of them."
    )
    provide_retrieval_tool: bool = _key(
        default=True, parse=_flag, doc="Offer the tool retrieve_conversation_history to the agent."
    )
    state_generation_model: str = _key(
        "", _text, "Model that writes summaries; empty: what Hermes uses for compression."
    )
    drift_detection_model: str = _key(
        "",
        _text_or_off,
        "Model that tells where the subject changes; empty: by words, without a model.",
    )
    min_turns_before_compaction: int = _key(
        3,
        _whole(0, _MOST_TURNS),
        "Turns before work ahead starts; never holds back a list over the threshold.",
    )
    compaction_token_threshold: int = _key(
        1000, _whole(0, _MOST_TOKENS), "Smallest saving in tokens worth a pass below the threshold."
    )
    drift_window_size: int = _key(
        10, _whole(1, _MOST_TURNS), "Turns that are looked at together to find a change of subject."
    )
    estimate_sufficient_tokens: bool = _key(
        default=True,
        parse=_flag,
        doc="Never show more of a summary than it needs; off: go by its age alone.",
    )
    state_updates: Literal["off", "ahead", "every_turn"] = _key(
        "ahead",
        _choice("off", "ahead", "every_turn"),
        "Work in the background: off; ahead, the next compaction's summaries, above soft_threshold;"
        " every_turn, also the state after each turn.",
    )
    ui_verbosity: Literal["all", "normal", "minimal", "off"] = _key(
        "normal",
        _choice("all", "normal", "minimal", "off"),
        "Which events are shown: all, normal (changes of subject, compactions), minimal (changes of subject), off.",
    )
    database: str = _key("", _text, "The database file; empty: lcm/lcm.db in the Hermes home.")
    threshold: float = _key(
        0.75,
        _fraction(0.03, zero_means_default=True),
        "Share of the window at which the conversation is compacted.",
    )
    soft_threshold: float = _key(
        0.60,
        _fraction(0.01),
        "Share of the window from which work is done ahead: summaries made, old tool results shown in part.",
    )
    target: float = _key(
        0.40, _fraction(_LEAST_TARGET), "Share of the window that a compaction aims at."
    )
    fresh_tail_tokens: int | None = _key(
        None,
        _whole(0, _MOST_TOKENS),
        "Newest tokens that stay verbatim; empty: a fifth of the window.",
    )
    leaf_tokens: int | None = _key(
        None,
        _whole(1, _MOST_TOKENS),
        "Most tokens of messages that are read for one summary; empty: half of the window, 1500 to 20,000.",
    )
    condense_fanin: int = _key(
        4, _whole(2, _MOST_TURNS), "Summaries that are condensed into one of the next depth."
    )
    redact: Literal["off", "summaries", "store"] = _key(
        "summaries",
        _choice("off", "summaries", "store"),
        "Where secrets are masked: off, in summaries, or before anything is stored (store).",
    )
    ignore_sessions: tuple[str, ...] = _key(
        (),
        _patterns,
        "Patterns (with * and ?) of session ids that are neither stored nor searched.",
    )
    memory_only_sessions: tuple[str, ...] = _key(
        (), _patterns, "Patterns of session ids that are kept in memory and leave no trace on disk."
    )
    search_budget_tokens: int = _key(
        2000, _whole(1, _MOST_TOKENS), "Most tokens of one page of search results."
    )
    embeddings: bool = _key(
        default=False, parse=_flag, doc="Search is by words alone: vectors found too little more."
    )


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings in force, with where each came from and what was wrong."""

    settings: Settings
    problems: tuple[Problem, ...]
    sources: Mapping[str, str]  #: key to "config" or "default"
    inert: tuple[Problem, ...] = ()  #: keys that were set and that nothing acts on


_FIELDS: Final[Mapping[str, Field[Any]]] = {item.name: item for item in fields(Settings)}


def describe() -> list[tuple[str, object, str]]:
    """Return (key, default, description) of every setting, in the order of the documentation."""
    return [(name, item.default, item.metadata["doc"]) for name, item in _FIELDS.items()]


def load_settings(raw: object) -> LoadedSettings:
    """Read a section of the configuration: a mapping, a :class:`Settings`, or None for nothing.

    Never raises. Unknown keys and wrong values are among the problems, and their defaults in use.
    A key without a value (``null``) means its default, and so does a threshold of 0 or false.
    """
    problems: list[Problem] = []
    inert: list[Problem] = []
    given: dict[str, Any] = {}
    for key, value in _pairs(raw, problems):
        if key not in _FIELDS:
            problems.append(_unknown(key, value))
        elif value is not None:
            parsed = _parse(key, value, problems)
            if parsed is not None:
                given[key] = parsed
                if key in _IDLE and parsed != _FIELDS[key].default:
                    inert.append(_without_effect(key, value))
    settings = Settings(**_in_order(given, problems))
    sources = {name: "config" if name in given else "default" for name in _FIELDS}
    return LoadedSettings(settings, tuple(problems), sources, tuple(inert))


def section_of(config: Mapping[str, Any]) -> Any:
    """The section ``lcm:`` of a config.yaml, overlaid by ``plugins.entries.lcm.settings``."""
    section = config.get("lcm")
    entry: Any = config
    for name in ("plugins", "entries", "lcm", "settings"):
        entry = entry.get(name) if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not entry:
        return section
    return {**section, **entry} if isinstance(section, Mapping) else dict(entry)


def _without_effect(key: str, value: object) -> Problem:
    text = f"{key}: nothing is changed by setting it; {_FIELDS[key].metadata['doc']}"
    return Problem(key, reprlib.repr(value), text, key)


def _pairs(raw: object, problems: list[Problem]) -> list[tuple[str, Any]]:
    if isinstance(raw, Settings):
        own = [(name, getattr(raw, name), item.default) for name, item in _FIELDS.items()]
        return [(name, value) for name, value, default in own if value != default]
    if isinstance(raw, Mapping):
        return [(key if isinstance(key, str) else str(key), value) for key, value in raw.items()]
    if raw is not None:
        instead = "where keys with values belong, like `threshold: 0.75`; the defaults are used"
        message = f"`lcm:` is {_in_yaml(raw)} {instead}"
        problems.append(Problem("", reprlib.repr(raw), message, ""))
    return []


def _parse(key: str, value: Any, problems: list[Problem]) -> Any:
    """Return the value in its own type, or None where the default is to be used."""

    def complain(what: object, why: str) -> None:
        problems.append(Problem(key, reprlib.repr(what), f"{key}: {_in_yaml(what)} {why}", key))

    item = _FIELDS[key]
    try:
        return item.metadata["parse"](value, complain)
    except ValueError as error:
        shown = (
            "a share of the window" if item.default is None else _in_yaml(item.default).strip('"')
        )
        complain(value, f"{error}; the default is used: {shown or 'none'}")
        return None


def _in_yaml(value: object) -> str:
    """A value as one writes it in YAML, shortened."""
    given = list(value) if isinstance(value, tuple) else value
    try:
        text = json.dumps(given, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return reprlib.repr(value)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."


def _unknown(key: str, value: object) -> Problem:
    if key in _REPLACED:
        nearest, advice = _REPLACED[key]
    else:
        nearest = difflib.get_close_matches(key.lower(), _FIELDS, n=1, cutoff=0.0)[0]
        advice = f"the nearest known key is {nearest}"
    message = f"{key[:80]}: there is no such key; {advice}"
    return Problem(key[:80], reprlib.repr(value), message, nearest)


def _in_order(given: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """Keep soft_threshold and target below threshold, and report it where that changes a wish."""
    values = dict(given)
    threshold = values.get("threshold", _FIELDS["threshold"].default)
    for key, share in (("soft_threshold", _SOFT_SHARE), ("target", _TARGET_SHARE)):
        default = _FIELDS[key].default
        if values.get(key, default) < threshold:
            continue
        least = _LEAST_TARGET if key == "target" else 0.0
        used = default if default < threshold else max(least, round(threshold * share, 4))
        if key in given:
            message = f"{key}: must be below threshold ({threshold}); {used} is used"
            problems.append(Problem(key, repr(given[key]), message, key))
        values[key] = used
    return values
