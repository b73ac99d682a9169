"""An agent goes on after a string was forgotten: what it shows of ours is still ours, whatever the string was."""

from __future__ import annotations

import io
import json
import sys

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.fit import stub
from lcm.dag.identity import is_less
from lcm.storage import open_store
from lcm.storage.canon import decode

SETTINGS = {"redact": "off", "threshold": 0.5, "target": 0.2, "fresh_tail_tokens": 600}
TOPIC = (
    "turns of our history; Understood, kept in full, lcm_grep, lcm_expand, Ask lcm_grep about it"
)
#: Words of our own sentences: the head, the filler, the hints, a block's name.
OURS = ("history", "lcm_grep", "kept in full", "Ask lcm_grep about", "turns", "Understood")


def forget(folder, text):
    """What ``forget --text`` of *text* says."""
    before, sys.stdin, sys.stdout = (sys.stdin, sys.stdout), io.StringIO(text), io.StringIO()
    try:
        main(["--db", str(folder / "lcm.db"), "forget", "--text", "--yes", "--json"])
        return json.loads(sys.stdout.getvalue())
    finally:
        sys.stdin, sys.stdout = before


def engine_at(folder):
    engine = LCMEngine(6000, db_path=folder / "lcm.db", settings=SETTINGS)
    engine.on_session_start("s")
    return engine


def conversation(turns):
    return [
        row
        for n in range(turns)
        for row in (
            {"role": "user", "content": f"Question {n} on the {TOPIC}: what is said of night {n}?"},
            {"role": "assistant", "content": f"Answer {n}. " + f"wind{n} tide lamp beacon " * 30},
        )
    ]


def plain(rows):
    """As a host restores them: roles and texts, white space collapsed, no notes."""
    return [{"role": row["role"], "content": " ".join(row["content"].split())} for row in rows]


def counted(folder):
    """How many messages are kept, of which none is a row of ours; what is there is proved."""
    store = open_store(folder / "lcm.db")
    texts = [str(decode(message.body)["content"]) for message in store.stream()]
    assert verify(store).failures == ()
    store.close()
    assert [text for text in texts if "compacted. This" in text or "I continue from" in text] == []
    return len(texts)


@pytest.mark.parametrize("word", OURS)
def test_our_own_sentences_are_never_erased(tmp_path, word):
    """A word of the head, the filler, the hints: the list that was shown before is known, by the agent that has it
    and after a restart without a note of ours on a row; nothing is doubled, and the next pass goes on from it."""
    engine, rows = engine_at(tmp_path), conversation(40)
    engine.ingest(rows)
    shown = engine.compress(rows, force=True)
    assert len(shown) < len(rows) and shown[0]["content"].startswith("Earlier conversation")
    engine.ingest(shown)
    assert forget(tmp_path, word)["done"]
    grown = [*shown, {"role": "user", "content": "next"}, {"role": "assistant", "content": "fine"}]
    assert engine.ingest(grown).new == 2
    engine.close()
    again = engine_at(tmp_path)
    report = again.ingest(plain(grown))
    assert (report.new, report.withdrawn) == (0, 0)
    smaller = again.compress([*plain(grown), *conversation(30)], force=True)
    again.ingest(smaller)
    again.close()
    assert counted(tmp_path) == 80 + 2 + 60
    assert smaller[0]["content"].startswith("Earlier conversation, compacted. This is history,")
    assert word not in "".join(smaller[0]["content"].split("\n\n")[1:-2]).replace(
        "turns ", ""
    ).replace("turn ", "")


def test_what_a_host_merged_behind_a_summary_is_a_message(tmp_path):
    """A list that was shown before and whose first rows the host joined: what stands behind is kept, without the
    string, and the blocks that were not changed must be what they are."""
    engine, rows = engine_at(tmp_path), conversation(40)
    shown = plain(engine.compress(rows, force=True))
    assert forget(tmp_path, "wind3 tide")["done"]
    merged = dict(shown[0], content=f"{shown[0]['content']}\n\nand this: wind3 tide, now")
    assert engine.ingest([merged, *shown[1:]]).new == 1
    other = dict(shown[0], content=shown[0]["content"].replace("wind30 tide", "storm"))
    assert other != shown[0]
    report = engine.ingest([merged, *shown[1:], {"role": "assistant", "content": "aye"}, other])
    assert report.new == 2, "a person's text, however like ours it is"
    engine.close()
    store = open_store(tmp_path / "lcm.db")
    texts = [str(decode(message.body)["content"]) for message in store.stream()]
    store.close()
    assert "and this: [forgotten], now" in texts


def test_a_stub_stays_one(tmp_path):
    """A result of which the list shows head and tail: the word is of our sentence, or the cut went through it."""
    secret = "swordfish-" + "9" * 40
    text = "begin " * 200 + secret + " end" * 400
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    rows = [
        {"role": "user", "content": "run it, tokens are left out here"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
        {"role": "assistant", "content": "done"},
    ]
    engine = engine_at(tmp_path)
    engine.ingest(rows)
    store = open_store(tmp_path / "lcm.db")
    uid = next(message.uid for message in store.stream() if message.role == "tool")
    store.close()
    whole = stub(rows[2], uid, 300)["content"]
    at, middle = text.index(secret) + 12, whole[whole.index("\n[lcm") :]
    cut = rows[2] | {"content": text[:at] + middle}
    for word in ("left out here", secret):
        assert forget(tmp_path, word)["done"]
        for shown in (rows[2] | {"content": whole}, cut):
            report = engine.ingest([*rows[:2], shown, rows[3]])
            assert (report.new, report.revised, report.known) == (0, 0, 4)
    engine.close()


def test_what_is_less_is_told_up_to_what_was_forgotten():
    """A stub of a message that lost a string is one only if both are the same up to it, from both ends."""
    middle = "\n[lcm 1a2b3c4d] 99 tokens are left out here; lcm_expand gives them back.\n"
    old = {"role": "tool", "content": "one [forgotten] two three [forgotten] four"}
    for text, same in (
        (f"one{middle}four", True),
        (f"one sword{middle}four", True),
        (f"one [forgotten] two{middle}fish four", True),
        (f"on sword{middle}four", False),
        (f"one{middle}fish fou", False),
        (f"one two{middle}fish four five", False),
    ):
        assert is_less(old, {"role": "tool", "content": text}) == same, text


@pytest.mark.parametrize("word", ["content", "assistant", "user", "tool", "call"])
def test_what_makes_a_message_is_no_part_of_one(tmp_path, word):
    """A word that is a field's name or a role: it goes from texts, and each message is still one."""
    rows = [
        {"role": "user", "content": f"the {word} of it"},
        {"role": "assistant", "content": [{"type": "text", "text": f"no {word}"}]},
    ]
    engine = engine_at(tmp_path)
    engine.ingest(rows)
    forget(tmp_path, word)
    assert engine.ingest(rows).known == 2
    engine.close()
    store = open_store(tmp_path / "lcm.db")
    kept = [decode(message.body) for message in store.stream()]
    assert verify(store).failures == ()
    store.close()
    assert kept == [
        {"role": "user", "content": "the [forgotten] of it"},
        {"role": "assistant", "content": [{"type": "text", "text": "no [forgotten]"}]},
    ]
