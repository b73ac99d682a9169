"""Ingest fidelity: what a host shows is stored, all of it, once, as it was."""

from __future__ import annotations

import copy
import itertools
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from faultkit import ask, called, database, kept, result, said, talk, totals, user, verbatim
from lcm.host.hooks import Family

ROOT = Path(__file__).resolve().parents[2]


def test_a_shorter_list_goes_on(make, home):
    """ING-01: forty messages, compacted to a few; the three turns after it are stored, and only they."""
    engine = make(context_length=4000)
    rows = talk(20)
    engine.ingest(rows)
    live = engine.compress(rows, force=True)
    assert len(live) <= 12
    more = talk(3, first=100)
    live = [*live, *more]
    assert (6, 0) == (engine.ingest(live).new, engine.ingest(live).new)
    assert [*rows, *more] == kept(home)


def test_a_restarted_session_keeps_its_tool_rows(make, home):
    """ING-02: 200 rows are stored; another engine on the session stores the next four, tools included."""
    rows = talk(100, words=5)
    make().ingest(rows)
    turn = [user("read it"), called("c1"), result("c1", "its text"), said("It says: its text.")]
    after = make()
    assert 4 == after.ingest([*copy.deepcopy(rows), *turn]).new
    assert 0 == after.ingest([*copy.deepcopy(rows), *copy.deepcopy(turn)]).new
    assert [*rows, *turn] == kept(home)


def test_a_turn_is_committed_when_the_door_returns(make, home):
    """ING-03: another connection sees each turn at once, and again after the first is closed."""
    engine = make()
    for turns in (1, 2):
        engine.on_turn_complete(talk(turns))
        assert talk(turns) == kept(home)
    engine.close()
    assert talk(2) == kept(home)


_KILLED = """
import importlib.util, os, sys
root, home = sys.argv[1:]
spec = importlib.util.spec_from_file_location(
    "lcm", root + "/__init__.py", submodule_search_locations=[root]
)
lcm = sys.modules["lcm"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lcm)
from lcm.host.hooks import Family
engine = lcm.LCMEngine(8000, settings={})
family = Family()
family.join(engine)
engine.on_session_start("s", hermes_home=home)
rows = [{"role": "user", "content": "before the fall"}, {"role": "assistant", "content": "noted"}]
family.post_llm_call(session_id="s", conversation_history=rows)
os.kill(os.getpid(), 9)
"""


def test_a_killed_process_has_committed_its_turns(make, home):
    """ING-03: SIGKILL right after the hook of the turn; what it showed is there, once."""
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(ROOT), str(home)], check=False, timeout=60
    )
    assert -signal.SIGKILL == done.returncode
    rows = [user("before the fall"), said("noted")]
    assert rows == kept(home)
    assert 0 == make().ingest(rows).new


def test_structured_content_takes_no_neighbour_with_it(make, home):
    """ING-04: text, parts with a picture, text: three rows, whole, also when they come again."""
    parts = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]
    rows = [user("first"), user(parts), said("a picture")]
    engine = make()
    assert (3, 0) == (engine.ingest(rows).new, make().ingest(copy.deepcopy(rows)).new)
    assert rows == kept(home)


def test_a_short_session_is_found_at_once(make, home):
    """ING-05: one exchange, far below the threshold, no end of the session: both rows are found, by another too."""
    make().on_turn_complete([user("where is the quokka?"), said("behind the numbat")])
    for engine in (make(), make("other")):
        for word, role in (("quokka", "user"), ("numbat", "assistant")):
            answer = ask(engine, "lcm_grep", query=word, mode="exact", scope="all")
            if "error" in answer:  # a session with nothing of its own
                engine.ingest([user("hello")])
                answer = ask(engine, "lcm_grep", query=word, mode="exact", scope="all")
            assert [role] == [hit["role"] for hit in answer["results"]]
    assert [user("where is the quokka?"), said("behind the numbat")] == kept(home)


def test_a_skipped_session_end_loses_nothing(make, home):
    """ING-06: the hook of older hosts, then on_session_reset and nothing else; the next session is empty."""
    family = Family()
    engine = make()
    family.join(engine)
    for turns in (1, 2, 3):
        family.post_llm_call(session_id="s", conversation_history=talk(turns))
    engine.on_session_reset()
    engine.bind_session_state(None, "next")
    assert 2 == engine.ingest([user("hello"), said("hi")]).new
    assert talk(3) == kept(home)
    assert 8 == totals(home).messages


def break_inserts(path):
    """Let every new message fail, as a full disk would."""
    with sqlite3.connect(path) as sql:
        sql.execute(
            "CREATE TRIGGER full BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
        )
    sql.close()


def mend_inserts(path):
    with sqlite3.connect(path) as sql:
        sql.execute("DROP TRIGGER full")
    sql.close()


def test_what_cannot_be_saved_stays_in_the_context(make, home):
    """ING-07: inserts fail: the very list comes back and the failure is shown; mended, all is stored once."""
    engine = make()
    rows = talk(60)
    engine.ingest(rows[:2])
    break_inserts(database(home))
    assert rows is engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert engine._last_compress_aborted
    assert engine._last_summary_error
    assert engine.get_status()["problems"]
    assert rows[:2] == kept(home)
    mend_inserts(database(home))
    assert len(engine.compress(rows, current_tokens=engine.count_tokens(rows))) < len(rows)
    assert rows == kept(home)
    assert not engine._last_compress_aborted


class Interrupting(dict):
    """A part of a message at which a person presses Ctrl-C, as long as *armed*."""

    armed = True

    def items(self):
        if self.armed:
            signal.raise_signal(signal.SIGINT)
        return super().items()

    def __iter__(self):
        if self.armed:
            signal.raise_signal(signal.SIGINT)
        return super().__iter__()


@pytest.fixture
def interruptible():
    """A terminal's interrupts arrive: a shell has its background ignore them, and this may run there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_flush_is_whole_or_absent(make, home, caplog):
    """ING-08: SIGINT behind the first 1,000 rows of a flush: no traceback, none of them, all at the next start."""
    rows = [*talk(700, words=3), user([Interrupting(type="text", text="the last word")])]
    engine = make()
    engine.on_session_end("s", rows)
    assert "interrupted" in caplog.text
    assert "Traceback" not in caplog.text
    assert 0 == make().ingest([]).new
    assert [] == (kept(home) if database(home).exists() else [])
    rows[-1]["content"][0].armed = False
    assert 1401 == make().ingest(rows).new
    assert rows == kept(home)


def test_no_calls_written_as_none_stop_no_pass(make, home):
    """ING-09: tool_calls None on every answer, over the threshold: a pass, by the summariser, without a problem."""
    read = []
    engine = make(summarizer=lambda request: read.append(request.text) or "what was said")
    rows = [row | {"tool_calls": None} if row["role"] == "assistant" else row for row in talk(60)]
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert len(out) < len(rows)
    assert read
    assert [] == engine.get_status()["problems"]
    assert rows == kept(home)
    assert 0 == engine.ingest(out).new


def test_the_callers_rows_are_never_edited(make, home):
    """ING-10: a reply of 25,000 characters: the host's dicts stay, and no answer is ever shown in part."""
    engine = make(context_length=32_000)
    long = "a long and careful reply. " * 1000
    rows = [*talk(120), user("tell me everything"), said(long), user("thanks")]
    before = copy.deepcopy(rows)
    engine.ingest(rows)
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert len(out) < len(rows)
    assert before == rows
    own = [row for row in out if not row.get("_compressed_summary")]
    assert all(row in before for row in own)
    assert said(long) in kept(home)


def test_fields_of_the_provider_survive(make, home):
    """ING-11: reasoning, signatures and extra content stay on the tail and in the store; ours carry none."""
    engine = make()
    fields = {
        "reasoning_content": "step by step",
        "reasoning_details": [{"type": "thinking", "signature": "c2lnbmF0dXJl"}],
        "extra_content": {"google": {"thought_signature": "dGhvdWdodA=="}},
    }
    last = [
        user("now this"),
        called("c9", text="looking", **fields),
        result("c9", "seen"),
        said("ok", **fields),
    ]
    rows = [*talk(60), *last]
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert last == out[-4:]
    assert last == kept(home)[-4:]
    ours = [row for row in out if row.get("_compressed_summary")]
    assert ours
    assert all(
        {"role", "content"} == {k for k in row if not k.startswith("_")} - {"message_uid"}
        for row in ours
    )
    assert 0 == engine.ingest(out).new


def test_empty_answers_are_not_replayed_by_us(make, home):
    """ING-13: five aborted calls between two prompts: kept in the store, gone from the list and the summaries."""
    read = []
    engine = make(summarizer=lambda request: read.append(request.text) or "what was said")
    rows = [*talk(20), user("go on"), *[said("") for _ in range(5)], user("go on, please")]
    rows += [said("Going on."), *talk(40, first=100)]
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert said("") not in out
    assert not any("assistant: \n" in text or text.endswith("assistant:") for text in read)
    assert "go on, please" in "".join(read)
    roles = [row["role"] for row in out]
    assert all(one != other for one, other in itertools.pairwise(roles))
    assert rows == kept(home)
    assert 0 == engine.ingest(out).new


def test_a_message_that_comes_during_a_pass_is_not_lost(make, home):
    """ING-14: the pass waits for the summariser, the list gains a row; committed result plus row hold it once."""
    reached, go_on = threading.Event(), threading.Event()

    def slow(request):
        reached.set()
        assert go_on.wait(30)
        return "what was said"

    engine = make(summarizer=slow)
    live = talk(60)
    before, late, out = list(live), user("one more thing"), []
    passing = threading.Thread(
        target=lambda: out.extend(engine.compress(live, current_tokens=engine.count_tokens(before)))
    )
    passing.start()
    assert reached.wait(30)
    live.append(late)
    engine.on_turn_complete(list(live))
    go_on.set()
    passing.join(30)
    committed = [*out, *([] if late in out else [late])]
    assert 0 == engine.ingest(committed).new
    assert [*before, late] == kept(home)
    assert 1 == sum(row == late for row in committed)


def test_a_picture_alone_is_a_message(make, home):
    """ING-16: no text part: stored as it is; the summariser reads that there was an attachment."""
    read = []
    engine = make(summarizer=lambda request: read.append(request.text) or "what was said")
    picture = user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}}])
    rows = [picture, said("a lighthouse"), *talk(60)]
    engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert "user: (an attachment without text)" in "".join(read)
    assert "iVBORw0=" not in "".join(read)
    assert rows == kept(home)


def test_a_first_message_of_parts_is_compacted_and_kept(make, home):
    """ING-17: [system, user of parts, ...] over the threshold: no exception, the parts are whole."""
    engine = make()
    parts = [
        {"type": "text", "text": "look at it"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
    ]
    system = {"role": "system", "content": "be good"}
    rows = [system, user(parts), said("nice"), *talk(60)]
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert system == out[0]
    assert len(out) < len(rows)
    assert rows[1:] == kept(home)
    assert [] == engine.get_status()["problems"]


def test_what_memory_plugins_inject_is_not_said_by_the_user(make, home):
    """ING-18: Hermes keeps injected recall beside the message, under api_content: neither read nor found."""
    read = []
    engine = make(summarizer=lambda request: read.append(request.text) or "what was said")
    injected = "<memory-context>\nOLDSECRET recalled\n</memory-context>\n\nreal ask"
    about = user("why does it say <memory-context> in the log?")
    rows = [user("real ask", api_content=injected), said("done"), about, said("a tag"), *talk(60)]
    engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert "OLDSECRET" not in "".join(read)
    assert "real ask" in "".join(read)
    assert 0 == ask(engine, "lcm_grep", query="OLDSECRET", mode="exact")["total"]
    assert 1 == ask(engine, "lcm_grep", query="real ask", mode="exact")["total"]
    assert 1 == ask(engine, "lcm_grep", query="<memory-context>", mode="exact")["total"]
    assert rows == kept(home)


def test_a_batch_has_an_order_and_times(make, home):
    """ING-19: sixty rows of one call stand in order; a filter by time selects a proper part of them."""
    engine = make()
    rows = [row | {"timestamp": 1_700_000_000 + 60 * n} for n, row in enumerate(talk(30))]
    engine.ingest(rows)
    assert rows == kept(home)
    found = ask(
        engine, "lcm_grep", query="question", mode="exact", limit=50,
        since="2023-11-14T22:23:20+00:00", until="2023-11-14T22:33:20+00:00",
    )  # fmt: skip
    assert 0 < found["total"] < 30
    times = [each["time"] for each in found["results"]]
    assert len(set(times)) == len(times)


def test_who_spoke_is_kept(make, home):
    """ING-20: names in a group chat are in the store, in the search and in what the summariser reads."""
    read = []
    engine = make(summarizer=lambda request: read.append(request.text) or "what was said")
    rows = [user("I pay.", name="marta"), user("So do I.", name="jonas"), said("Noted."), *talk(60)]
    engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert "user (marta): I pay." in "".join(read)
    assert "user (jonas): So do I." in "".join(read)
    (hit,) = ask(engine, "lcm_grep", query="jonas", mode="exact")["results"]
    assert [("user", "So do I.")] == verbatim(engine, hit["uid"])
    assert rows == kept(home)


def test_what_is_left_out_by_a_rule_is_said(make, home):
    """ING-21: the only rule leaves out whole sessions; such a session says so, others are stored."""
    engine = make("cron_1", settings={"ignore_sessions": ["cron_*"]})
    for _ in range(3):
        engine.ingest([user("ping")])
    assert "ignore_sessions" in engine.get_status()["not_kept"]
    assert "ignore_sessions" in ask(engine, "lcm_status")["error"]
    other = make("s", settings={"ignore_sessions": ["cron_*"]})
    other.ingest([user("ping")])
    assert [user("ping")] == kept(home)
    assert "not_kept" not in other.get_status()
