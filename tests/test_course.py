"""What a chart has read is read once: it is the same as if all were read anew, whatever happens in between."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest
from lcm.console.chart import Known, chart
from lcm.console.course import Courses
from lcm.dag.ingest import Ledger
from lcm.dag.messages import draft_of, key_of
from lcm.storage import open_store
from lcm.storage.forget import Stone
from talks import long, passed, plain

_MESSAGE_COLUMNS = ("uid", "role", "turn", "tokens", "withdrawn")


def joined(before, now):
    """What a page has after *now* where it had *before*, as page.js does it."""
    if now["same"]:
        return before
    whole = {**now, "start": 0}
    if now["start"]:
        whole["messages"] = {
            name: before["messages"][name][: now["start"]] + now["messages"][name]
            for name in _MESSAGE_COLUMNS
        }
    if now["nodes"] is None:
        whole["nodes"] = before["nodes"]
    return whole


def known_of(had):
    return Known(had["count"], had["mark"], had["revision"], had["over"])


def drafted(text):
    row = {"role": "user", "content": text}
    return draft_of(row, key=key_of(row))


class Talk:
    """A conversation that goes on in every way there is."""

    def __init__(self, store, seed):
        self.store, self.random = store, random.Random(seed)
        self.ledger = Ledger(store, store.open_session("talk"))
        self.rows = plain(8)
        self.ledger.ingest(self.rows)

    def step(self):
        kind = self.random.choice(("more", "more", "undo", "edit", "between", "pass", "branch"))
        getattr(self, kind)()
        self.ledger.ingest(self.rows)
        return kind

    def more(self):
        said = f"{self.random.random()} " * self.random.choice((3, 200))
        self.rows = [
            *self.rows,
            {"role": "user", "content": said},
            {"role": "assistant", "content": "Yes."},
        ]

    def undo(self):
        self.rows = self.rows[:-2] if len(self.rows) > 4 else self.rows

    def edit(self):
        at = self.random.randrange(len(self.rows))
        if not self.rows[at].get("_compressed_summary"):
            said = f"{self.rows[at]['content']} Changed."
            self.rows = [*self.rows[:at], {**self.rows[at], "content": said}, *self.rows[at + 1 :]]

    def between(self):
        entries = self.store.entries(self.ledger.session.line)
        at = self.random.choice(entries).seq
        if all(entry.seq != at + 1 for entry in entries):
            draft = drafted(f"Put in between: {self.random.random()}")
            self.store.append(self.ledger.session.line, [(draft, 1)], after=at)

    def branch(self):
        name = f"branch {self.random.random()}"
        other = Ledger(self.store, self.store.open_session(name, parent="talk", relation="branch"))
        other.ingest([*self.rows, {"role": "user", "content": "The other way."}])

    def pass_(self):
        self.rows = passed(self.store, self.ledger, self.rows)


setattr(Talk, "pass", Talk.pass_)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_read_once_is_what_is_there(tmp_path, seed):
    """After each step the page has what it would get if it were opened anew."""
    store = open_store(tmp_path / "lcm.db")
    talk, courses = Talk(store, seed), Courses()
    session = talk.ledger.session
    had = chart(store, session, None, courses)
    reused = 0
    for _ in range(25):
        step = talk.step()
        now = chart(store, session, known_of(had), courses)
        reused += not now["same"] and now["start"] > 0
        had = joined(had, now)
        assert had == chart(store, session), step
    assert reused > 3
    store.close()


def test_what_was_forgotten_is_not_remembered_here(tmp_path):
    """A topic that was taken out is gone from the next chart, though neither counts nor names have changed."""
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.open_session("talk"))
    rows = plain(30)
    ledger.ingest(rows)
    passed(store, ledger, rows)
    courses = Courses()
    had = chart(store, ledger.session, None, courses)
    (node, *_) = store.nodes_on([ledger.session.line])
    with store.writing():
        store.eraser().overwrite_node(replace(node, topic="(forgotten)"))
        store.eraser().bury(Stone("node", node.uid, time.time(), b"x" * 32))
    ledger.ingest([*rows, {"role": "user", "content": "Go on."}])
    now = joined(had, chart(store, ledger.session, known_of(had), courses))
    assert "(forgotten)" in [each["topic"] for each in now["nodes"]]
    assert now == chart(store, ledger.session)
    store.close()


def test_only_the_last_conversations_are_held(tmp_path):
    """A server that has shown many keeps two."""
    courses = Courses()
    first = courses.of(1)
    assert courses.of(1) is first
    courses.of(2)
    assert courses.of(1) is first
    courses.of(3)
    assert courses.of(1) is first
    assert courses.of(2) is not first
    assert len(courses._kept) == 2


@pytest.mark.slow
def test_a_long_conversation_stays_live(tmp_path):
    """Of 20,000 messages a turn more is drawn in a fraction of the time that all of them take."""
    long(tmp_path / "lcm.db")
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.session("long"))
    courses = Courses()
    began = time.process_time()
    had = chart(store, ledger.session, None, courses)
    first = time.process_time() - began
    taken = []
    for number in range(5):
        draft = drafted(f"And one more: {number}.")
        store.append(ledger.session.line, [(draft, 10_001 + number)])
        began = time.process_time()
        now = chart(store, ledger.session, known_of(had), courses)
        taken.append(time.process_time() - began)
        assert (now["start"], now["nodes"]) == (20_000 + number, None)
        had = joined(had, now)
    assert min(taken) < first / 4, (taken, first)
    store.close()
