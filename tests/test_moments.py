"""Times relative to what happened: what is on that side of it comes first, and the answer says what it was."""

from __future__ import annotations

import json

import pytest
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.tools.desk import Desk
from lcm.tools.moments import event_in
from lcm.tools.toolset import call

EARLY, EVENT, LATE = (
    "The budget was small then",
    "The big launch is today",
    "The budget is large now",
)


@pytest.fixture(name="ask", params=["memory", "sqlite"])
def _ask(request, tmp_path):
    """Asks ``lcm_grep`` in a conversation with an event between two messages of the same words."""
    store = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    session = store.open_session("s")
    filler = [{"role": "assistant", "content": f"flowers {at}"} for at in range(12)]
    told = [
        row for text in (EARLY, EVENT, LATE) for row in ({"role": "user", "content": text}, *filler)
    ]
    Ledger(store, session).ingest(told)
    desk = Desk(store, session, Settings())
    yield lambda query, **filters: json.loads(call(desk, "lcm_grep", {"query": query, **filters}))
    store.close()


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("What was the budget before the launch?", EARLY, LATE),
        ("What was the budget after the launch?", LATE, EARLY),
        ("Who spoke of the budget until the big launch?", EARLY, LATE),
    ],
)
def test_what_is_on_that_side_of_an_event_comes_first(ask, query, first, last):
    """The other side is found as well, behind it: nothing is filtered silently."""
    answer = ask(query)
    found = [each["snippet"] for each in answer["results"] if "budget" in each["snippet"]]
    assert [first, last] == found
    (event,) = (each for each in ask("big launch")["results"] if each["snippet"] == EVENT)
    assert event["uid"][:12] in answer["note"]
    assert "counts more" in answer["note"]


def test_an_event_that_nobody_spoke_of_changes_nothing(ask):
    """The order of the words, and no claim."""
    found = ask("What was the budget before the wedding in Rome?")
    assert "taken for" not in found["note"]
    assert [LATE, EARLY] == [
        each["snippet"] for each in found["results"] if "budget" in each["snippet"]
    ]


def test_an_event_is_looked_for_whoever_spoke_of_it(ask):
    """A filter by role holds for what is found, not for the event."""
    assert "taken for" in ask("What flowers before the launch?", role="assistant")["note"]


@pytest.mark.parametrize(
    ("question", "text", "before"),
    [
        ("What did we plan before the launch?", "the launch", True),
        ("Where did I work after I moved to Rome, again?", "I moved to Rome", False),
        ("what has changed since meeting Jo", "meeting Jo", False),
        ("Who was there prior to Anna's party?", "Anna's party", True),
    ],
)
def test_an_event_is_what_stands_behind_before_or_after(question, text, before):
    """Up to the end of the clause."""
    assert (text, before) == event_in(question)


@pytest.mark.parametrize(
    "question", ["before", "Look after them", "the day before 5", "x " * 200 + "before the end"]
)
def test_what_is_no_event_is_none(question):
    """Nor is anything in a question that is a story."""
    assert event_in(question) is None
