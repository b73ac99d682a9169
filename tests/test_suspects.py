"""What is looked through before anything is decoded: it finds all that a look at every message would find."""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing, suppress
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lcm.dag.erase import forms_of
from lcm.dag.forget import forget_text, plan_text
from lcm.dag.strings import strings_of
from lcm.storage import open_store
from lcm.storage.canon import decode, digest, encode
from lcm.storage.migrations import TABLES
from lcm.storage.payloads import swell
from lcm.storage.records import Draft
from lcm.storage.suspects import holding

#: Each is written in another way by one form of JSON or another, or is half of a character.
LETTERS = 'ab\\"/\n\t\x00\x1b\x7fé港😀\ud83d\ude00 u0'
TEXTS = st.text(LETTERS, max_size=12)
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    kept = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield kept
    kept.close()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """One file for all examples."""
    kept = open_store(tmp_path_factory.mktemp("many") / "lcm.db")
    yield kept
    kept.close()


def draft(number, body, role="user", uid=None):
    mark = digest(body)
    return Draft(uid or f"{number:032x}", role, body, "", mark, mark, float(number), 1)


def put(store, bodies, **how):
    line = store.open_session("one").line
    first = store.totals().messages
    return store.append(line, [(draft(first + n, b, **how), 1) for n, b in enumerate(bodies, 1)])


def suspected(store, *strings):
    return [pair for _, pairs in store.eraser().suspects(strings) for pair in pairs]


def spelt(value, how):
    """A message as the canon writes it, as other writers do, and with every character escaped."""
    if how == "canon":
        return encode(value)
    text = json.dumps(value, ensure_ascii=True)
    if how == "ascii":
        return text.encode()
    escaped = "".join(
        f"\\u{unit:04X}"
        for letter in value["content"]
        for unit in memoryview(letter.encode("utf-16-le", "surrogatepass")).cast("H")
    )
    return f'{{"content":"{escaped}"}}'.encode()


@SETTINGS
@given(
    needle=st.text(LETTERS, min_size=1, max_size=5),
    around=st.lists(st.tuples(TEXTS, TEXTS, st.booleans()), min_size=1, max_size=6),
    how=st.sampled_from(["canon", "ascii", "escapes"]),
    level=st.integers(0, 3),
)
def test_no_message_that_holds_it_is_left_out(many, needle, around, how, level):
    """However its JSON is written, and whatever stands beside it: also as JSON in JSON."""
    held = needle
    for _ in range(level):
        held = json.dumps(held, ensure_ascii=bool(level % 2))[1:-1]
    bodies = [
        spelt({"content": f"{a}{held}{b}" if is_in else f"{a}{b}"}, how) for a, b, is_in in around
    ]
    forms = forms_of(needle)
    made = put(many, bodies)
    wanted = {
        (entry.id, 1)
        for entry, body in zip(made, bodies, strict=True)
        if any(form in text for text in strings_of(decode(body)) for form in forms)
    }
    found = suspected(many, *forms)
    assert wanted <= set(found)
    assert found == sorted(found)


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("needle", ['a"b', "a\\b", "a\nb", 'é"港', "a\tb"])
def test_json_in_json_is_found(store, needle, level):
    """In a call's arguments a quotation mark has seven backslashes in front of it, and fifteen in our own JSON."""
    held = needle
    for _ in range(level):
        held = json.dumps(held, ensure_ascii=False)[1:-1]
    (made,) = put(store, [encode({"content": f"x {held} y"})])
    assert (made.id, 1) in suspected(store, *forms_of(needle))


def test_little_more_is_read_than_what_holds_it(tmp_path):
    """Of messages as we write them only those are suspected in which it stands."""
    store = open_store(tmp_path / "lcm.db")
    texts = ["harbour", "the port", 'a "harbour" town', "har\nbour", "Harbour", "港"]
    put(store, [encode({"content": text, "role": "user"}) for text in texts])
    assert suspected(store, *forms_of("harbour")) == [(1, 1), (3, 1)]
    assert suspected(store, *forms_of("港")) == [(6, 1)]
    store.close()


def test_large_texts_roles_keys_and_versions_are_looked_through(store):
    """Wherever in a message it may stand, in whichever version."""
    line = store.open_session("one").line
    bodies = [
        encode({"content": "x " * 2000 + "hunter2"}),  # kept compressed, beside its message
        encode({"hunter2": 1}),
        encode({"content": [{"deep": {"er": "a hunter2"}}]}),
        encode({"content": "y " * 2000}),
    ]
    store.append(line, [(draft(n, body), 1) for n, body in enumerate(bodies, 1)])
    store.append(line, [(draft(5, encode({"content": "z"}), role="hunter2"), 1)])
    for text in ("then another", "last"):
        store.revise(line, 5, draft(5, encode({"content": text}), role="hunter2"))
    found = set(suspected(store, "hunter2"))
    assert found >= {(1, 1), (2, 1), (3, 1), (5, 1), (5, 2), (5, 3)}


def test_what_cannot_be_read_is_suspected(tmp_path):
    """So that whoever takes something out learns of it, as he did when everything was read."""
    store = open_store(tmp_path / "lcm.db")
    put(store, [encode({"content": "z " * 2000}), encode({"content": "a"}), encode({"content": 1})])
    store.close()
    with closing(sqlite3.connect(tmp_path / "lcm.db")) as sql, sql:
        sql.execute("DELETE FROM payloads")
        sql.execute("UPDATE messages SET body = x'7b' WHERE id = 2")
    store = open_store(tmp_path / "lcm.db")
    assert suspected(store, "nowhere") == [(1, 1), (2, 1)]
    store.close()


def test_parts_of_the_log_are_looked_through_one_by_one(tmp_path, monkeypatch):
    """None is left out between two of them, and the last ends at the last message."""
    monkeypatch.setattr("lcm.storage.sqlite_forget._STRIDE", 3)
    store = open_store(tmp_path / "lcm.db")
    put(store, [encode({"content": f"hunter{n}"}) for n in range(7)])
    parts = list(store.eraser().suspects(["hunter"]))
    assert [end for end, _ in parts] == [3, 6, 7]
    assert [number for _, pairs in parts for number, _ in pairs] == list(range(1, 8))
    store.close()


def test_names_are_found(store):
    """The host's own uids, and the other ones of a message; not those of 32 hex digits that we mint."""
    line = store.open_session("one").line
    body = encode({"content": "a"})
    named = [draft(1, body, uid="tg-hunter2-7"), draft(2, body), draft(3, body, uid="tg-8")]
    store.append(line, [(each, 1) for each in named])
    store.alias(2, "also hunter2")
    assert set(store.eraser().called(["hunter2"])) == {(1, "tg-hunter2-7"), (2, "also hunter2")}


def test_what_was_imported_in_another_spelling_is_forgotten(tmp_path):
    """A body that an export brought with every letter escaped holds it as well as any other."""
    store = open_store(tmp_path / "lcm.db")
    row = {"content": "say swordfish now", "role": "user"}
    odd = spelt(row, "escapes")[:-1] + b',"role":"user"}'
    put(store, [odd, encode({"content": "nothing", "role": "user"})])
    assert decode(odd) == row
    assert [each.id for each in plan_text(store, "swordfish").messages] == [1]
    forget_text(store, "swordfish", 1.0)
    assert decode(store.read([(1, 0)])[0].body)["content"] == "say [forgotten] now"
    store.close()


VALUES = st.one_of(
    st.binary(max_size=12),
    TEXTS,
    TEXTS.map(lambda text: zlib.compress(text.encode("utf-8", "surrogatepass"))),
    TEXTS.map(lambda text: b"\x78\x9c" + text.encode("utf-8", "surrogatepass")),
    st.integers(0, 10**6),
)


@SETTINGS
@given(
    rows=st.lists(st.tuples(VALUES, VALUES), max_size=5),
    needles=st.lists(st.one_of(st.binary(min_size=1, max_size=3), st.just(b"12")), min_size=1),
)
@pytest.mark.parametrize("types", [("", ""), ("INTEGER", "REAL"), ("TEXT", "BLOB")])
def test_every_value_is_looked_at_as_it_is_kept(many, rows, needles, types):
    """The same count as of one who takes all rows and looks at each value, and at what zlib wrote where it does."""

    def holds(value, *, swollen=False):
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        if isinstance(data, int | float):
            return False
        if swollen:
            with suppress(zlib.error):
                data = swell(data)
        return any(needle in data for needle in needles)

    with closing(sqlite3.connect(":memory:")) as sql:
        for table in TABLES:
            sql.execute(f"CREATE TABLE {table} (a {types[0]}, b {types[1]})")
        rows = [
            [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in r]
            for r in rows
        ]
        counts = {}
        for table in ("aliases", "payloads"):
            sql.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)  # noqa: S608 - of ours
            # As the types of its columns have it.
            kept = sql.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - of ours
            hold = partial(holds, swollen=table == "payloads")
            if count := sum(any(map(hold, row)) for row in kept):
                counts[table] = count
        assert holding(sql, needles) == counts
