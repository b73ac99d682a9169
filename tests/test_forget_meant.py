"""Forgetting takes what was meant and nothing else, in every form and place, and says what it could not take."""

from __future__ import annotations

import io
import json
import sys
import time as clock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.erase import eraser, forms_of, stones_of
from lcm.storage import open_store


@pytest.fixture
def folder(tmp_path):
    """A folder with a database of two sessions, of which one's id begins the other's."""
    engine = LCMEngine(6000, db_path=tmp_path / "lcm.db", settings={"redact": "off"})
    for name in ("chat", "chat2"):
        engine.on_session_start(name)
        engine.ingest([{"role": "user", "content": f"said in {name}"}])
    engine.close()
    return tmp_path


def cli(folder, *words, stdin=""):
    """The exit code of the command line."""
    before = sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        return main(["--db", str(folder / "lcm.db"), *words])
    finally:
        sys.stdin = before


def names(folder):
    store = open_store(folder / "lcm.db")
    found = [session.name for session in store.sessions()]
    store.close()
    return found


def test_a_second_forget_takes_nothing_else(folder, capsys):
    """The id of a session that is gone begins another's: the second call says that it is gone, and takes nothing."""
    said = []
    for _ in range(2):
        assert cli(folder, "forget", "--session", "chat", "--yes", "--json") == 0
        said.append(json.loads(capsys.readouterr().out))
    first, second = said
    assert first["done"] and not second["done"] and "already" in second["note"]
    assert names(folder) == ["chat2"]


def test_the_beginning_of_an_id_is_shown_whole_and_not_taken_unasked(folder, capsys):
    """A beginning is enough for a preview, which names the whole id; with --yes it is refused."""
    assert cli(folder, "forget", "--session", "ch", "--yes") == 1
    assert cli(folder, "forget", "--session", "chat", "--yes") == 0
    capsys.readouterr()
    assert cli(folder, "forget", "--session", "cha", "--json") == 1
    assert json.loads(capsys.readouterr().out)["sessions"] == ["chat2"]
    assert cli(folder, "forget", "--session", "cha", "--yes") == 2
    assert "'chat2' begins so" in capsys.readouterr().err
    assert names(folder) == ["chat2"]


NEEDLE = 'Zebra "77" Quartz'


def nested(value, levels):
    for _ in range(levels):
        value = [value]
    return value


def in_json(value, levels):
    for _ in range(levels):
        value = json.dumps({"a": value})
    return value


def called(name, arguments):
    function = {"name": name, "arguments": arguments}
    calls = [{"id": "c", "type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": calls}


#: One row for each place where a string can hide.
PLACES = {
    "data url": {"role": "user", "content": f"data:text/plain;base64,{NEEDLE}"},
    "deep": {"role": "assistant", "content": [{"type": "text", "text": "x", "m": nested(NEEDLE, 300)}]},
    "json": called("t", in_json(NEEDLE, 1)),
    "json in json": called("t", in_json(NEEDLE, 2)),
    "json in json in json": {"role": "tool", "tool_call_id": "c", "content": in_json(NEEDLE, 3)},
    "a called name": called(NEEDLE, "{}"),
    "role": {"role": NEEDLE, "content": "x"},
    "uid": {"role": "user", "content": "x", "message_uid": NEEDLE},
    "absorbed uid": {"role": "user", "content": "x", "message_uid": "a" * 32, "_absorbed_message_uids": [NEEDLE]},
    "key": {"role": "user", "content": "x", "meta": {NEEDLE: 1}},
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_string_goes_wherever_it_hides(tmp_path, capsys, place):
    """Texts that look like pictures, any depth, JSON in JSON, roles and uids: it goes, nothing else does, the rows
    that still have it bring it back in no way and are known, and verify proves the whole."""
    rows = [
        {"role": "user", "content": "first"},
        PLACES[place],
        {"role": "assistant", "content": "last"},
    ]
    engine = LCMEngine(6000, db_path=tmp_path / "lcm.db", settings={"redact": "off"})
    engine.on_session_start("s")
    assert engine.ingest(rows).new == 3
    assert cli(tmp_path, "forget", "--text", "--yes", "--json", stdin=NEEDLE) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["done"] and data["left"] == {}
    assert engine.ingest([*rows, {"role": "user", "content": "and more"}]).new == 1
    engine.close()
    again = LCMEngine(6000, db_path=tmp_path / "lcm.db", settings={"redact": "off"})
    again.on_session_start("s")
    assert again.ingest(rows).new == 0
    again.close()
    store = open_store(tmp_path / "lcm.db")
    needles = [form.encode() for form in forms_of(NEEDLE)]
    assert store.eraser().holding(needles) == {} and store.totals().messages == 4
    assert verify(store).failures == ()
    store.close()


def test_what_cannot_be_taken_out_is_said(tmp_path, capsys):
    """A string in a session's name, or one that is a number in a call, stays, and is not counted as done."""
    engine = LCMEngine(6000, db_path=tmp_path / "lcm.db", settings={"redact": "off"})
    engine.on_session_start("of 77123456")
    engine.ingest([{"role": "user", "content": "dial 77123456"}, called("t", {"number": 77123456})])
    engine.close()
    assert cli(tmp_path, "forget", "--text", "--yes", "--json", stdin="77123456") == 1
    data = json.loads(capsys.readouterr().out)
    assert not data["done"] and data["session_names"] == ["of 77123456"]
    assert data["left"]["messages"] == 1 and data["left"]["sessions"] == 1
    assert cli(tmp_path, "forget", "--text", "--yes", stdin="77123456") == 1
    assert "only where it cannot be taken out" in capsys.readouterr().out


def test_a_summary_that_is_late_does_not_bring_a_string_back(tmp_path):
    """A string that is forgotten while a summariser has it in hand: neither its text nor the row shown has it."""

    def forgets(request):
        if not done:
            done.append(1)
            cli(tmp_path, "forget", "--text", "--yes", "--json", stdin="Zebra-Quartz-77")
        return "They spoke of Zebra-Quartz-77 and of much more."

    done: list[int] = []
    rows = [{"role": "user", "content": "first Zebra-Quartz-77 " + "w " * 300}]
    for n in range(12):
        rows.append({"role": "assistant", "content": f"answer {n} " * 200})
        rows.append({"role": "user", "content": f"question {n} " * 200})
    engine = LCMEngine(
        8000, db_path=tmp_path / "lcm.db", settings={"redact": "off"}, summarizer=forgets
    )
    engine.on_session_start("s")
    shown = engine.compress(rows, force=True)
    engine.close()
    assert done and len(shown) < len(rows)
    assert "Zebra-Quartz-77" not in json.dumps(shown)
    store = open_store(tmp_path / "lcm.db")
    assert store.eraser().holding([b"Zebra-Quartz-77"]) == {} and store.audit().nodes(0, 9)
    assert verify(store).failures == ()
    store.close()


@pytest.mark.slow
def test_many_forgotten_strings_cost_little():
    """Ten strings in all their forms, in 2 MB: a fraction of a second of work each, whatever the text is made of."""
    stones = [stone for n in range(10) for stone in stones_of(f'string {n} "n{"x" * n}"\n', 1.0)]
    erase = eraser(stones)
    for text in ("abc " * 500_000, "a" * 2_000_000, 'string "n"\n' * 180_000):
        begun = clock.process_time()
        assert erase(text) == text
        assert clock.process_time() - begun < 8


@given(st.text(alphabet='ab\n"', min_size=4, max_size=12), st.text(alphabet='ab\n" ', max_size=60))
def test_a_string_is_known_wherever_it_stands(needle, around):
    """Whatever stands around it, also what is nearly the same: what is left does not hold it."""
    erase = eraser(stones_of(needle, 1.0))
    assert needle not in erase(f"{around}{needle}{around}")
    if not any(form in around for form in forms_of(needle)):
        assert erase(around) == around
