"""Times in words: each is the span that a person means, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lcm.tools.when import limit_of, moment, spans_in

#: A Wednesday.
NOW = datetime(2026, 5, 27, 15, 30, tzinfo=UTC).timestamp()


def days(span):
    """The first and the last day of a span, as ISO."""
    return tuple(
        datetime.fromtimestamp(end, UTC).date().isoformat() for end in (span.first, span.last)
    )


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-05-01", "2026-05-01", "2026-05-01"),
        ("today", "2026-05-27", "2026-05-27"),
        ("Yesterday", "2026-05-26", "2026-05-26"),
        ("the day before yesterday", "2026-05-25", "2026-05-25"),
        ("last Tuesday", "2026-05-26", "2026-05-26"),
        ("last wednesday", "2026-05-20", "2026-05-20"),
        ("this Wednesday", "2026-05-27", "2026-05-27"),
        ("last week", "2026-05-18", "2026-05-24"),
        ("this week", "2026-05-25", "2026-05-31"),
        ("last month", "2026-04-01", "2026-04-30"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("3 days ago", "2026-05-24", "2026-05-24"),
        ("two weeks ago", "2026-05-10", "2026-05-16"),
        ("a couple of days ago", "2026-05-25", "2026-05-25"),
        ("five months ago", "2025-12-01", "2025-12-31"),
        ("a year ago", "2025-05-01", "2025-05-31"),
        ("31 May", "2025-05-31", "2025-05-31"),
        ("May 3rd", "2026-05-03", "2026-05-03"),
        ("3rd of March 2024", "2024-03-03", "2024-03-03"),
        ("Dec 24, 2025", "2025-12-24", "2025-12-24"),
        ("March 2024", "2024-03-01", "2024-03-31"),
    ],
)
def test_a_time_in_words_is_a_span_of_days(text, first, last):
    """Seen from a Wednesday in May; a date without a year is the last one that was."""
    assert days(moment(text, NOW)) == (first, last)


def _utc(seconds):
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()[:23]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026", "2026-01-01T00:00:00", "2026-12-31T23:59:59.999"),
        ("20260531", "2026-05-31T00:00:00", "2026-05-31T23:59:59.999"),
        ("2026-05-31", "2026-05-31T00:00:00", "2026-05-31T23:59:59.999"),
        ("9999-12-31", "9999-12-31T00:00:00", "9999-12-31T23:59:59"),
        ("20260531T1400", "2026-05-31T14:00:00", "2026-05-31T14:00:00"),
        ("last month", "2026-04-01T00:00:00", "2026-04-30T23:59:59.999"),
        ("1780235999", "2026-05-31T13:59:59", "2026-05-31T13:59:59"),
        ("1780235999.5", "2026-05-31T13:59:59.500", "2026-05-31T13:59:59.500"),
        ("0", "1970-01-01T00:00:00", "1970-01-01T00:00:00"),
    ],
)
def test_a_limit_is_the_first_or_the_last_moment(text, first, last):
    """A year and a day without hyphens are dates; digits are Unix seconds only where they can be."""
    assert first == _utc(limit_of(text, NOW))[: len(first)]
    assert last == _utc(limit_of(text, NOW, end=True))[: len(last)]


@pytest.mark.parametrize("text", ["202605", "20260231", "20261399", "12", "soon", "nan"])
def test_what_is_no_limit_is_refused(text):
    """Rather than taken for some second of 1970, before which nothing was said."""
    assert limit_of(text, NOW) is None


def test_hours_are_spans_around_their_middle():
    """Two hours ago is about then."""
    span = moment("two hours ago", NOW)
    assert span.first < NOW - 7200 < span.last
    assert span.last - span.first < 3601


def test_a_time_with_a_zone_is_that_moment():
    """An ISO time names its second, in its own zone; without one in UTC."""
    assert moment("2026-05-27T17:30:00+02:00", NOW).first == NOW
    assert moment("2026-05-27 15:30", NOW).first == NOW


@pytest.mark.parametrize(
    "text",
    [
        *("31 February", "soon", "99 May", "last", "9999 years ago", "", "may", "1 day"),
        *("Augu\u017ft 5", "5 augu\u017ft", "last \u017funday", "last fr\u0131day", "Apr \u0663"),
    ],
)
def test_what_is_no_time_is_none(text):
    """Neither a guess nor an exception."""
    assert moment(text, NOW) is None


def test_times_are_found_in_questions():
    """Anywhere in it, several of them; a word that only looks like one is none."""
    found = spans_in("What did we say last Tuesday, or on 3 May, about the marching band?", NOW)
    assert [span.text for span in found] == ["last Tuesday", "3 May"]
    assert spans_in("You may march to the second decade", NOW) == []


@given(st.text(max_size=80), st.floats(min_value=0, max_value=4e9))
def test_any_text_may_be_asked(text, now):
    """No text raises, and a span never ends before it begins."""
    for span in [moment(text, now), *spans_in(text, now)]:
        assert span is None or span.first <= span.last
