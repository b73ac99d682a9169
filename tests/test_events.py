"""Events: what is told, to whom, and by which setting."""

from __future__ import annotations

import dataclasses
import logging

import pytest
from lcm import LCMEngine
from lcm.dag.events import ContextCompacted, DriftDetected, StateUpdated, is_shown
from lcm.host.events import states_made, tell

EVENTS = {
    "state_updated": StateUpdated("s", "a" * 32, 1, 4, 900, 50, ("the port", "the host")),
    "drift_detected": DriftDetected("s", 7, ("tides",), ("invoices", "tax")),
    "context_compacted": ContextCompacted("s", 9000, 3000, 80, 12, ("a" * 32,), (250,), 1),
}
TABLE = {
    "all": ["state_updated", "drift_detected", "context_compacted"],
    "normal": ["drift_detected", "context_compacted"],
    "minimal": ["drift_detected"],
    "off": [],
}


def talk(turns):
    return [
        {"role": role, "content": f"{what} {n} " + f"{what}{n} " * 60}
        for n in range(turns)
        for role, what in (("user", "question"), ("assistant", "answer"))
    ]


@pytest.fixture
def make(tmp_path):
    made = []

    def build(**settings):
        engine = LCMEngine(8000, db_path=tmp_path / "lcm.db", settings=settings)
        engine.on_session_start("s")
        made.append(engine)
        return engine

    yield build
    for engine in made:
        engine.close()


@pytest.mark.parametrize("verbosity", TABLE)
def test_what_each_verbosity_shows(verbosity):
    """all: the three; normal: drift and compaction; minimal: drift; off: nothing."""
    assert TABLE[verbosity] == [
        kind for kind, event in EVENTS.items() if is_shown(event, verbosity)
    ]


@pytest.mark.parametrize("kind", EVENTS)
def test_an_event_is_plain(kind):
    """Frozen, with a name of its own, one line for people, and plain data for programs."""
    event = EVENTS[kind]
    assert kind == event.kind == event.plain()["event"]
    assert "s" == event.plain()["session"]
    assert event.line().startswith("lcm: ")
    assert "\n" not in event.line()
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.session = "t"


def test_lines_say_what_matters():
    """Sizes and hints of a state, words of a drift, tokens and levels of a compaction."""
    state, drift, compacted = (event.line() for event in EVENTS.values())
    assert "lcm: turns 1-4 summarised, 50 tokens suffice; ask about the port, the host" == state
    assert "lcm: the subject changed at turn 7: from tides to invoices, tax" == drift
    assert "lcm: compacted 9,000 tokens to 3,000; 1 summary shown (1 at 250 tokens)" == compacted


@pytest.mark.parametrize("verbosity", TABLE)
def test_a_pass_tells_what_it_did(make, caplog, verbosity):
    """The callback, the log and the status get the same events, as many as the setting lets through."""
    caplog.set_level(logging.INFO)
    engine, heard = make(ui_verbosity=verbosity), []
    engine.on_event = heard.append
    rows = talk(60)
    made = engine.compress(rows, current_tokens=9000)
    states = [event for event in heard if event.kind == "state_updated"]
    compacted = [event for event in heard if event.kind == "context_compacted"]
    assert (verbosity == "all") == bool(states)
    assert (verbosity in ("all", "normal")) == bool(compacted)
    for event in compacted:
        assert event.tokens_after == engine.count_tokens(made) < event.tokens_before
        assert (len(rows), len(made)) == (event.rows_before, event.rows_after)
        assert len(event.nodes) == len(event.levels) > 0
        assert all(f"[lcm {uid[:8]}]" in made[0]["content"] for uid in event.nodes)
        assert event.made >= len(event.nodes)
    for event in states:
        assert event.hints
        assert event.sufficient_tokens in engine.settings.target_token_levels
    lines = [event.line() for event in heard]
    assert lines[-12:] == engine.get_status()["events"]
    logged = [
        record.getMessage() for record in caplog.records if record.name.endswith("host.events")
    ]
    assert [f"{line} (session s)" for line in lines] == logged


def test_a_pass_that_changes_nothing_tells_nothing(make):
    """Below the threshold."""
    engine, heard = make(ui_verbosity="all"), []
    engine.on_event = heard.append
    engine.compress(talk(2), current_tokens=100)
    assert [] == heard


def test_a_callback_that_fails_is_logged(make, caplog):
    """The pass goes on, the next event too."""
    engine, heard = make(ui_verbosity="all"), []

    def callback(event):
        heard.append(event)
        raise RuntimeError("mine")

    engine.on_event = callback
    rows = talk(60)
    assert engine.compress(rows, current_tokens=9000) is not rows
    assert len(heard) > 1
    assert "the callback for context_compacted failed" in caplog.text
    assert not engine._last_compress_aborted


def test_the_callback_goes_to_clones(make):
    """Hosts copy engines."""
    engine = make()
    engine.on_event = print
    assert print is engine.clone_for_agent().on_event


def test_states_made_ahead_are_told(make):
    """What prepares nodes calls one function."""
    engine, heard = make(ui_verbosity="all"), []
    engine.compress(talk(60), current_tokens=9000)
    store, session = engine._attachment.stored()
    nodes = store.nodes_on([session.line])
    engine.on_event = heard.append
    states_made(engine, "s", nodes)
    assert [node.uid for node in nodes] == [event.uid for event in heard]


def test_what_no_screen_showed_comes_with_the_hosts_next_line(make):
    """Once: without a command line there is no other way to the person."""
    engine = make()
    tell(engine, [EVENTS["drift_detected"]])
    asked = [
        engine.get_automatic_compaction_status_message(phase="compress", default_message="Line")
        for _ in range(2)
    ]
    assert [f"Line\n{EVENTS['drift_detected'].line()}", "Line"] == asked


TIDES = (
    ("Why is the tide gauge late?", "The gauge in the harbour is read by hand at each tide."),
    ("Who reads the gauge at night?", "The harbour pilot reads the gauge, at high tide only."),
    ("Does the pilot note the level?", "The pilot notes the level of the tide in the harbour log."),
    ("Is the harbour log complete?", "The log lacks the level of two tides, when the gauge froze."),
    (
        "Can a frozen gauge be thawed?",
        "The pilot thaws the gauge with warm water from the harbour.",
    ),
    (
        "And if the tide is too low?",
        "At a low tide the pilot lowers the gauge to the level of the water.",
    ),
)
TAXES = (
    ("How do I book this invoice?", "Book the invoice in the ledger under travel expenses."),
    ("Which rate has the invoice?", "Travel expenses are taxed at the reduced rate in the ledger."),
    (
        "Does the ledger show the rate?",
        "The ledger shows the rate of each invoice and its receipt.",
    ),
    ("Where do receipts go?", "Receipts go behind the invoice, by the date in the ledger."),
    (
        "What if a receipt is lost?",
        "Without a receipt the expenses of the invoice are not deducted.",
    ),
    (
        "Who checks the expenses?",
        "The accountant checks expenses, receipts and the ledger each quarter.",
    ),
)


def test_a_change_of_subject_is_told(make):
    """What the pass found: the turn, and words of both subjects."""
    rows = [
        {"role": role, "content": f"{words} {'(and so on) ' * 40}{words}" if n else words}
        for pair in (*TIDES, *TAXES, *TAXES[:2])
        for n, (role, words) in enumerate(zip(("user", "assistant"), pair, strict=True))
    ]
    engine, heard = make(ui_verbosity="minimal"), []
    engine.on_event = heard.append
    engine.compress(rows, current_tokens=2000, force=True)
    assert ["drift_detected"] == [event.kind for event in heard]
    (drift,) = heard
    assert 7 == drift.turn
    assert {"gauge", "tide", "harbour"} & set(drift.before)
    assert {"ledger", "invoice", "expenses"} & set(drift.after)
