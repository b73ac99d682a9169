"""A string that is to be forgotten stands in a tool's arguments as some other writer of JSON has it."""

from __future__ import annotations

import io
import json
import sys

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.forget import forget_text, plan_text
from lcm.storage import open_store
from lcm.storage.canon import decode, digest, encode
from lcm.storage.records import Draft

#: What is to be forgotten, and how it stands within a string of JSON.
SPELT = {
    "as Go writes it": ("pass&word-77", "pass\\u0026word-77"),
    "as PHP writes it": ("https://h.example/s3cr3t", "https:\\/\\/h.example\\/s3cr3t"),
    "an apostrophe": ("it's-secret-9", "it\\u0027s-secret-9"),
    "capital digits": ("café-geheim", "caf\\u00E9-geheim"),
    "angles": ("<tok>abc99", "\\u003ctok\\u003eabc99"),
    "above U+FFFF": ("key 😀 of it", "key \\uD83D\\uDE00 of it"),
    "a letter": ("swordfish-77", "\\u0073wordfish-7\\u0037"),
    "a line break": ("two lines\nof it", "two\\u0020lines\\u000aof it"),
}


def cli(folder, *words, stdin="", capsys):
    before, sys.stdin = sys.stdin, io.StringIO(stdin)
    try:
        code = main(["--db", str(folder / "lcm.db"), *words])
    finally:
        sys.stdin = before
    return code, capsys.readouterr().out


def rows_of(arguments):
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "run", "arguments": arguments},
    }
    return [
        {"role": "user", "content": "do it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "assistant", "content": "fine"},
    ]


def engine_at(folder):
    engine = LCMEngine(6000, db_path=folder / "lcm.db", settings={"redact": "off"})
    engine.on_session_start("s")
    return engine


def arguments_of(store):
    """What stands in the arguments of each call."""
    return [
        call["function"]["arguments"]
        for message in store.stream()
        for call in decode(message.body).get("tool_calls") or ()
    ]


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("how", SPELT)
def test_it_goes_however_it_is_spelt(tmp_path, capsys, how, level):
    """From arguments, and from JSON in them: the agent finds it no more, what is around it stays as it was written,
    and an agent that shows it again, or says it again, brings nothing of it back."""
    needle, held = SPELT[how]
    for _ in range(level):
        held = json.dumps(held)[1:-1]
    arguments = f'{{"p":"a\\u0021 {held} \\u0062"}}'
    engine = engine_at(tmp_path)
    engine.ingest(rows_of(arguments))
    planned = json.loads(
        cli(tmp_path, "forget", "--text", "--json", stdin=needle, capsys=capsys)[1]
    )
    code, out = cli(tmp_path, "forget", "--text", "--yes", "--json", stdin=needle, capsys=capsys)
    done = json.loads(out)
    assert (code, done["done"], done["left"], len(done["messages"])) == (0, True, {}, 1)
    assert done["messages"] == planned["messages"] and planned["left"] == {"messages": 1}
    gone = '{"p":"a\\u0021 [forgotten] \\u0062"}'
    store = open_store(tmp_path / "lcm.db")
    assert arguments_of(store) == [gone] and verify(store).failures == ()
    found = engine.handle_tool_call("lcm_grep", {"query": needle, "scope": "all", "mode": "exact"})
    assert json.loads(found)["results"] == []
    known = engine.ingest(rows_of(arguments))
    assert (known.new, known.revised) == (0, 0)
    engine.ingest([*rows_of(arguments), *rows_of(arguments)])
    assert arguments_of(store) == [gone, gone]
    store.close()
    engine.close()


def draft(number, row, uid=None):
    body = encode(row)
    return Draft(uid or f"{number:032x}", row["role"], body, "", digest(body), digest(body), 1.0, 1)


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    kept = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield kept
    kept.close()


HELD = "pass\\u0026word-77"
SAID = "pass&word-77"


def test_it_goes_from_wherever_a_string_may_stand(store):
    """Large texts that are kept compressed, keys, a role, a uid, earlier versions; what does not hold it is left."""
    line = store.open_session("one").line
    rows = [
        {"role": "tool", "content": "x" * 5000 + HELD},
        {"role": "user", "content": [{HELD: 1}]},
        {"role": HELD, "content": "a role"},
        {"role": "user", "content": "a name"},
        {"role": "user", "content": HELD},
        {"role": "user", "content": "pass\\u0026wort"},
    ]
    uids = [None, None, None, f"tg-{HELD}"]
    drafts = [
        draft(n, row, uid)
        for n, (row, uid) in enumerate(zip(rows, [*uids, None, None], strict=True), 1)
    ]
    store.append(line, [(each, 1) for each in drafts])
    store.revise(line, 5, draft(5, {"role": "user", "content": "as it is now"}))
    planned = plan_text(store, SAID)
    assert {(m.id, m.version) for m in planned.messages} == {(1, 1), (2, 1), (3, 1), (5, 1)}
    assert planned.uids == (f"tg-{HELD}",) and planned.left
    done = forget_text(store, SAID, 1.0)
    assert done.left == {} and len(done.messages) == 4
    bodies = {m.id: decode(m.body) for m in store.stream()}
    assert bodies[1]["content"] == "x" * 5000 + "[forgotten]"
    assert bodies[2]["content"] == [{"[forgotten]": 1}]
    assert bodies[6]["content"] == "pass\\u0026wort"
    assert forget_text(store, SAID, 1.0).left == {}


def test_what_cannot_be_taken_out_is_named(store):
    """The name of a session is not changed; that it stands there in another spelling is said all the same."""
    store.open_session(f"n {HELD}")
    planned = plan_text(store, SAID)
    assert planned.names == (f"n {HELD}",) and planned.left == {"sessions": 1}
    assert plan_text(store, "pass&word-78").left == {}


def test_another_case_is_seen_in_another_spelling(store):
    """It is another string, and stays; that it is there is told."""
    line = store.open_session("one").line
    rows = [
        {"role": "user", "content": text} for text in (HELD, HELD.upper().replace("\\U", "\\u"))
    ]
    store.append(line, [(draft(n, row), 1) for n, row in enumerate(rows, 1)])
    assert plan_text(store, SAID).other_case == {"messages": 1, "forms": {"upper": 1}}
