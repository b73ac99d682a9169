"""Arguments that nobody means: each tool says what to pass, and none fails."""

from __future__ import annotations

import json
import time

import pytest
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.tools.desk import Desk
from lcm.tools.toolset import call, schemas

DIGITS = "9" * 5_000
WILD = {
    "digits": DIGITS,
    "number": 10**5_000,
    "negative": -(10**5_000),
    "large": 10**400,
    "cursor": f"0:{DIGITS}",
    "cursors": f"{DIGITS}:{DIGITS}:{DIGITS}:{DIGITS}",
    "superscript": "\u00b2:\u00b2",
    "arabic": "\u0661:\u0661",
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "nan": float("nan"),
    "infinity said": "inf",
    "nan said": "nan",
    "exponent": "1e999",
    "surrogate": "\ud800",
    "surrogates": ["\ud800", {"\udfff": "\udbff"}],
    "nul": "\0",
    "list": [[[]]],
    "object": {"a": {}},
    "true": True,
    "far": "99999-01-01",
    "ago": "9999 years ago",
}
TOOLS = {each["name"]: each["parameters"] for each in schemas(retrieval=True)}
SOUND = {
    "query": "zebra",
    "question": "zebra?",
    "start_turn": 1,
    "end_turn": 3,
    "detail_level": "brief",
    "detail": "brief",
}


@pytest.fixture
def desk(tmp_path):
    store = open_store(tmp_path / "lcm.db")
    session = store.open_session("s")
    rows = [
        {"role": role, "content": f"zebra {n}"} for n in range(4) for role in ("user", "assistant")
    ]
    Ledger(store, session).bind(rows)
    yield Desk(store, session, Settings())
    store.close()


def answer(desk, name, args):
    return json.loads(call(desk, name, args))


@pytest.mark.parametrize("value", WILD.values(), ids=WILD)
@pytest.mark.parametrize("name", TOOLS)
def test_no_argument_is_a_fault_of_ours(desk, name, value):
    """In every argument, beside sound ones: an answer, or an error that the caller can do something about."""
    (entry, *_) = desk.store.turns(desk.session.line, 1, 1)
    for argument in TOOLS[name]["properties"]:
        sound = {each: SOUND[each] for each in TOOLS[name]["required"] if each in SOUND}
        for detail in ({"detail": "brief"}, {"detail": "raw"}):
            base = {**sound, "uid": entry.uid, "detail_level": detail["detail"], **detail}
            args = {key: base[key] for key in TOOLS[name]["properties"] if key in base}
            found = answer(desk, name, {**args, argument: value})
            assert "fault of lcm" not in found.get("hint", ""), argument
            assert "doctor" not in found.get("hint", ""), argument


@pytest.mark.parametrize(
    ("name", "args", "error"),
    [
        ("lcm_grep", {"query": "zebra", "tool": "\ud800"}, "'tool' holds half of a surrogate pair"),
        ("lcm_grep", {"query": "zebra", "since": "\ud800"}, "'since' holds half"),
        ("lcm_expand", {"uid": None, "cursor": f"0:{DIGITS}"}, "is no cursor of this answer"),
        ("lcm_expand", {"uid": None, "detail": "full", "cursor": "1e9"}, "is no cursor"),
        (
            "retrieve_conversation_history",
            {"start_turn": 1, "end_turn": 3, "cursor": f"0:{DIGITS}"},
            "is no cursor of this answer",
        ),
        (
            "retrieve_conversation_history",
            {"start_turn": 1, "end_turn": 3, "detail_level": "brief", "cursor": float("inf")},
            "is no cursor of this answer",
        ),
    ],
)
def test_it_says_what_is_wrong(desk, name, args, error):
    (entry, *_) = desk.store.turns(desk.session.line, 1, 1)
    args = {key: entry.uid if value is None else value for key, value in args.items()}
    found = answer(desk, name, args)
    assert error in found["error"]
    assert found["hint"]


def test_half_a_character_can_be_searched_for(desk):
    """A query is whatever was copied; its words are found."""
    assert answer(desk, "lcm_grep", {"query": "zebra \ud800"})["total"] >= 1


@pytest.mark.parametrize("args", [{}, {"cursor": "0:99:0:999999999999"}])
def test_a_clock_beyond_every_calendar(desk, args, monkeypatch):
    """Words name no time then; what is searched for is found, and ISO is understood."""
    if not args:
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 1e12)
    found = answer(desk, "lcm_grep", {"query": "zebra", "since": "yesterday", **args})
    assert "is no time" in found["error"]
    assert "ISO" in found["hint"]
    found = answer(desk, "lcm_grep", {"query": "zebra yesterday", **args})
    assert found["total"] >= 1
    found = answer(desk, "lcm_grep", {"query": "zebra", "since": "2020-01-01", **args})
    assert found["total"] >= 1
