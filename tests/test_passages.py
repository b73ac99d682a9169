"""The messages of a page that is a file: put together from texts, and the same as told one by one."""

from __future__ import annotations

import json
import sqlite3

import pytest
from lcm.console.finding import Searched, parts
from lcm.console.passages import passages
from lcm.console.pieces import batches, versions
from lcm.console.wording import words
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from lcm.storage.canon import digest, encode
from lcm.storage.records import Draft
from lcm.storage.text import searchable
from ledgers import result, said, talk, user
from talks import HOSTILE


def call(arguments, content="", **more):
    function = {"name": "read_file", "arguments": arguments}
    return said(
        content, tool_calls=[{"id": "c1", "type": "function", "function": function}], **more
    )


ROWS = [
    user("plain"),
    said('é \u2028 \u2029 \x7f \x00 \x1f \\ " / \t \ud800 \U0001f600 ß ﬁ İ'),
    user(HOSTILE),
    user('","role":"user"}'),
    user("x" * 5000),
    said("é" * 5000),
    user(""),
    {"role": "user"},
    {"role": "user", "content": None},
    user([{"type": "text", "text": "part"}, {"type": "data", "value": 12345678901234567890123}]),
    user("with more", meta={"nan": float("nan"), "many": 10**30}),
    user("named", name="somebody"),
    said("thought", reasoning="because \ud800 é"),
    call('{"path": "/srv/choock/drain/vakind/lum/brom/greal.py", "offset": 0}'),
    call('{"text": "a \\" quote and a \\\\ backslash, and more of it"}', "said before"),
    call({"path": "/srv/as/an/object"}),
    call("{broken"),
    result("c1", "what was found é"),
    result("c1", "", name="read_file"),
    result('odd " \ud800 é', "of an odd call"),
    result(17, "of a call that is a number"),
    result("", "of no call"),
    {"role": "tool", "content": ["parts"], "tool_call_id": "c1"},
]  # fmt: skip


LONG = '{"path": "/srv/choock/drain/vakind/lum/brom/greal.py", "limit": 200}'
CALLS = [
    call(LONG),
    call(LONG, None),
    call(LONG, "said before"),
    call(LONG, []),
    call(LONG, reasoning="because"),
    call(LONG.replace("py", "\\n")),
    call("short"),
    call("b " * 30),
    *(
        call(LONG.replace("limit", name))
        | {"tool_calls": [{**call(LONG)["tool_calls"][0], "sure": value}]}
        for value in (float("nan"), float("-inf"), 10**30, 1e300, "NaN")
        for name in ("limit", "NaN")
    ),
    call(LONG.replace("limit", "Infinity")),
    call(LONG) | {"tool_calls": [*call(LONG)["tool_calls"], *call(LONG)["tool_calls"]]},
    *(
        call(raw) | {"tool_calls": [{"function": {"name": name, "arguments": raw}}]}
        for raw in (LONG, "b " * 30, " " * 50)
        for name in ("", "ab", LONG, f"{LONG} {LONG}", None, 17)
    ),
]


@pytest.mark.parametrize("row", [row for row in [*ROWS, *CALLS] if "role" in row])
def test_of_its_parts_a_page_makes_what_the_index_has(row):
    """Put together as the page does it: texts, what is shown, what is shown before the last line, and arguments."""
    shown = words(row)

    def part(each):
        if isinstance(each, str):
            return each
        if isinstance(each, list):
            line = json.loads(shown.rpartition("\n")[2], parse_constant=pytest.fail)
            raw = line["tool_calls"][each[0]]["function"]["arguments"]
            flat = "\\" in raw
            return " ".join(f"{k}: {v}" for k, v in json.loads(raw).items()) if flat else raw
        return shown if each else shown.rpartition("\n")[0]

    assert "".join(map(part, parts(row, shown))) == searchable(row)


def test_of_a_call_alone_the_words_are_not_told_twice():
    """Most messages of agents are such: a page gets the name, and takes the rest from what it shows."""
    assert parts(call(LONG), words(call(LONG))) == ["read_file ", [0]]
    named = call(LONG.replace("limit", "NaN"))  # only in a text
    assert parts(named, words(named)) == ["read_file ", [0]]


def told(store, line):
    """All parts as they are put together, each with its number of messages; and the same one by one."""
    entries, names = store.entries(line), store.archive().aliases(None)
    found = list(passages(store, entries, names, Searched()))
    parts = [versions(store, part, names, Searched().of) for part in batches(entries)]
    one_by_one = [(len(part), json.dumps(part, separators=(",", ":"))) for part in parts]
    return found, one_by_one


def test_whatever_was_said_is_told_the_same(ledger):
    """Messages of every kind, in parts, with other names and other versions: the same signs."""
    store, line = ledger.store, ledger.session.line
    ledger.ingest([*ROWS, *talk(60)])
    entries = store.entries(line)
    for entry in entries[:3]:
        store.alias(entry.id, f'other "name" of {entry.id}')
    store.rename(line, entries[3].id, 'odd " uid é')
    for entry in entries[4:7]:
        row = user(f"{entry.id} changed ø")
        body = encode(row)
        store.revise(line, entry.id, Draft(entry.uid, "user", body, "", b"k", digest(body), 0.0, 1))
    found, wanted = told(store, line)
    assert found == wanted
    assert len(found) > 1
    assert [len(each["versions"]) for each in json.loads(found[0][1])[3:8]] == [1, 2, 2, 2, 1]


def test_numbers_that_are_no_neighbours_are_told_the_same(store):
    """Where two conversations were written by turns."""
    one, two = (Ledger(store, store.open_session(name)) for name in ("one", "two"))
    for count in range(1, 9):
        one.ingest(talk(count))
        two.ingest(talk(count, first=100))
    found, wanted = told(store, two.session.line)
    assert found == wanted
    assert "question number 107" in found[0][1]


@pytest.mark.parametrize(
    "change",
    [
        "body = x'00ff'",
        "body = CAST(body AS TEXT)",
        "digest = x'00'",
        'refs = \'[[["content"], "00"]]\'',
        "version = 2",
        "tool = 17",
        "uid = 17",
        "time = 1e300",
    ],
)
def test_what_is_damaged_is_told_the_same(tmp_path, change):
    """One message says so in its place, or what can be told of it; all others are whole."""
    path = tmp_path / "lcm.db"
    store = open_store(path)
    ledger = Ledger(store, store.open_session("s"))
    ledger.ingest(talk(4))
    store.close()
    with sqlite3.connect(path) as sql:
        sql.execute(f"UPDATE messages SET {change} WHERE id = 5")  # noqa: S608 - of the test
    sql.close()
    store = open_store(path)
    found, wanted = told(store, ledger.session.line)
    assert found == wanted
    assert [len(json.loads(text)) for _, text in found] == [8]
    store.close()
