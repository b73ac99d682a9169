"""When something was: dates and times as people write them, in UTC.

``2026-05-31``, ``31 May``, ``May 31st 2026``, ``May 2026``, ``yesterday``, ``last Tuesday``, ``two weeks ago``,
``last month``, ``this week``. Each is a span, from its first to its last second.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

__all__ = ["FIGURES", "Span", "limit_of", "moment", "spans_in"]

_MONTHS = {name.lower(): at for at, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): at for at, name in enumerate(calendar.month_abbr) if name}
_DAYS = {name.lower(): at for at, name in enumerate(calendar.day_name)}
_NUMBERS = {
    word: at
    for at, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
_UNITS = {"minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_DAY = timedelta(days=1)
_TO_ITS_END = _DAY - timedelta(milliseconds=1)

#: Below it (1973) digits are no Unix seconds of anything that was said: they are a date, or nothing.
_SECONDS = 100_000_000
_DIGITS = re.compile(r"(\d{4})(?:(\d\d)(\d\d))?", re.ASCII)

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_COUNT = "|".join(sorted(_NUMBERS, key=len, reverse=True)).replace(" ", r"\s+")
_SPAN = re.compile(
    rf"""\b(?:
    (?P<iso>\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)
  | (?P<ago>(?:{_COUNT}|\d{{1,4}})\s+(?:minute|hour|day|week|month|year)s?\s+ago)
  | (?P<last>(?:last|past|previous|this)\s+(?:{"|".join(_DAYS)}|week|month|year))
  | (?P<day>today|yesterday|(?:the\s+)?day\s+before\s+yesterday)
  | (?P<dmy>\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTH})\b\.?(?:,?\s+\d{{4}})?)
  | (?P<mdy>(?:{_MONTH})\b\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}})?)
  | (?P<my>(?:{_MONTH})\b\.?,?\s+\d{{4}})
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
FIGURES: Mapping[str, Any] = {
    "months": _MONTHS, "days": _DAYS, "numbers": _NUMBERS, "units": _UNITS, "spans": _SPAN,
}  # fmt: skip
"""The same by name, for a page that ranks without us."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time in words, as Unix seconds."""

    text: str
    first: float
    last: float


def spans_in(text: str, now: float) -> list[Span]:
    """The times that *text* names, seen from *now*."""
    today = _calendar(now)
    if today is None:
        return []
    found = (_span(match, today) for match in _SPAN.finditer(text))
    return [span for span in found if span is not None]


def moment(text: str, now: float) -> Span | None:
    """The one time that *text* is, and nothing else; None if it is none."""
    whole = " ".join(text.split())
    match = _SPAN.fullmatch(whole)
    today = _calendar(now)
    return _span(match, today) if match and today else None


def limit_of(text: str, now: float, *, end: bool = False) -> float | None:
    """Unix seconds from which on, or at whose *end*, something is asked for; None where *text* is no time."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isfinite(number) and not 0 < number < _SECONDS:
        return number
    if (span := moment(text, now)) is not None:
        return span.last if end else span.first
    try:
        first, last = _in_digits(text) or _exact(text)
        return (last if end else first).timestamp()
    except (ValueError, OverflowError):
        return None


def _in_digits(text: str) -> _Ends | None:
    """First and last of a year, or of a day without hyphens; None for what has another form.

    Raises:
        ValueError: no calendar has it.
    """
    found = _DIGITS.fullmatch(text)
    if found is None:
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    first = datetime(year, month, day, tzinfo=UTC)
    return first, (first if found[2] else first.replace(month=12, day=31)) + _TO_ITS_END


def _exact(text: str) -> _Ends:
    """An ISO date or time in any form, also of a day that no calendar has a day after."""
    first = datetime.fromisoformat(text)
    first = first if first.tzinfo else first.replace(tzinfo=UTC)
    return first, first + _TO_ITS_END if len(text) == len("2026-05-31") else first


def _calendar(now: float) -> datetime | None:
    """*now* in a calendar; None where its years have no place there: a clock may say anything."""
    try:
        return datetime.fromtimestamp(now, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _span(match: re.Match[str], now: datetime) -> Span | None:
    kind = match.lastgroup or ""
    text = " ".join(match[0].lower().split())
    if not text.isascii():  # a long s, Arabic digits: no name and no number of ours is spelt so
        return None
    try:
        first, last = _FINDERS[kind](text, now)
        return Span(match[0], first.timestamp(), last.timestamp() - 0.001)
    except (ValueError, OverflowError, KeyError):  # a 31st of February, a year that no calendar has
        return None


_Ends = tuple[datetime, datetime]


def _iso(text: str, _: datetime) -> _Ends:
    first = datetime.fromisoformat(text.upper().replace(" ", "T"))
    first = first if first.tzinfo else first.replace(tzinfo=UTC)
    if len(text) == len("2026-05-31"):
        return first, first + _DAY
    return first, first + timedelta(milliseconds=1)


def _ago(text: str, now: datetime) -> _Ends:
    count, unit = re.fullmatch(r"(.+) (\w+?)s? ago", text).groups()  # type: ignore[union-attr]
    number = int(count) if count.isdecimal() else _NUMBERS[count]
    if unit in ("month", "year"):
        month = now.year * 12 + now.month - 1 - number * (12 if unit == "year" else 1)
        return _month(month // 12, month % 12 + 1)
    seconds = timedelta(seconds=_UNITS[unit])
    then = now - seconds * number
    if unit == "week":  # people mean about that day
        return _midnight(then) - 3 * _DAY, _midnight(then) + 4 * _DAY
    if unit == "day":
        return _midnight(then), _midnight(then) + _DAY
    return then - seconds / 2, then + seconds / 2


def _last(text: str, now: datetime) -> _Ends:
    which, unit = text.split(" ", 1)
    today = _midnight(now)
    if unit in _DAYS:
        back = (today.weekday() - _DAYS[unit]) % 7 or (0 if which == "this" else 7)
        return today - back * _DAY, today - (back - 1) * _DAY
    if unit == "week":
        monday = today - today.weekday() * _DAY - (0 if which == "this" else 7) * _DAY
        return monday, monday + 7 * _DAY
    if unit == "month":
        month = now.year * 12 + now.month - 1 - (which != "this")
        return _month(month // 12, month % 12 + 1)
    year = now.year - (which != "this")
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def _day(text: str, now: datetime) -> _Ends:
    back = 0 if text == "today" else 2 if "before" in text else 1
    return _midnight(now) - back * _DAY, _midnight(now) - (back - 1) * _DAY


def _dated(text: str, now: datetime) -> _Ends:
    """A day of a month; without a year the last one that was."""
    name = next(word for word in re.findall(r"[a-z]+", text) if word in _MONTHS)
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    year = next((number for number in numbers if number > 31), None)  # noqa: PLR2004 - no day
    day = next((number for number in numbers if number <= 31), 0)  # noqa: PLR2004
    first = datetime(year or now.year, _MONTHS[name], day, tzinfo=UTC)
    if year is None and first > now:
        first = first.replace(year=now.year - 1)
    return first, first + _DAY


def _in_month(text: str, _: datetime) -> _Ends:
    name = next(word for word in re.findall(r"[a-z]+", text) if word in _MONTHS)
    return _month(int(re.findall(r"\d{4}", text)[0]), _MONTHS[name])


def _month(year: int, month: int) -> _Ends:
    first = datetime(year, month, 1, tzinfo=UTC)
    return first, (first + 32 * _DAY).replace(day=1)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


_FINDERS = {
    "iso": _iso,
    "ago": _ago,
    "last": _last,
    "day": _day,
    "dmy": _dated,
    "mdy": _dated,
    "my": _in_month,
}
