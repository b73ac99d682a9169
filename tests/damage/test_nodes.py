"""A summary that is damaged in the store: said in words everywhere, and nothing else is lost by it."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import pytest
from damagekit import doctor
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.storage import open_store
from lcm.storage.errors import StoreDamaged

FIELDS = (
    "topic", "hints", "sufficient", "first_seq", "last_seq", "first_turn", "last_turn", "messages", "lifted",
    "source_tokens", "levels", "texts",
)  # fmt: skip
NONSENSE = (None, 5.5, True, [None], {"a": "b"}, {"50": 5}, 10**30)


def change(path, make, kind="leaf"):
    """Put something else for the data of the first node of that kind; gives its uid."""
    sql = sqlite3.connect(path)
    number, uid, data = sql.execute(
        "SELECT id, lower(hex(uid)), data FROM nodes WHERE kind = ? ORDER BY id LIMIT 1", [kind]
    ).fetchone()
    sql.execute("UPDATE nodes SET data = ? WHERE id = ?", [make(data), number])
    sql.commit()
    sql.close()
    return uid


def damages(data):
    """*data* in every way that it may be another."""
    yield from (
        "",
        "{",
        "null",
        "[]",
        "{}",
        '"x"',
        "7",
        "[" * 9000,
        7,
        1.5,
        b"\xff\xfe",
        b"\0" * 50,
    )
    yield data[: len(data) // 2]
    fields = json.loads(data)
    assert fields.keys() == set(FIELDS)
    for name in FIELDS:
        yield json.dumps({k: v for k, v in fields.items() if k != name})
        for value in NONSENSE:
            yield json.dumps({**fields, name: value})


def test_whatever_stands_in_its_data_is_damage_in_words(filled):
    """No number, text or list of another type or range gets out of the store, and nothing but its own error."""
    said = []
    uid = change(filled, lambda data: said.append(data) or data)
    store = open_store(filled, create=False)
    for other in damages(said[0]):
        change(filled, lambda _data, other=other: other)
        for ask in (lambda: store.nodes([uid]), lambda: store.nodes_on([1])):
            with pytest.raises(StoreDamaged, match=uid):
                ask()
        assert dict(store.eraser().words())[uid] == ()
        (left,) = store.nodes([uid], damaged=True)
        assert (left.kind, left.texts, left.first_turn) == ("leaf", {}, 1)
        assert left.messages == len(left.sources) > 1
        assert left.source_key not in store.nodes_for([left.source_key])
    store.close()


def test_the_doctor_counts_damaged_nodes(filled, capsys):
    """It says how many, that nothing is lost, and what makes them whole again."""
    change(filled, lambda data: data[:50])
    code, wrong = doctor(capsys, filled)
    assert (code, list(wrong)) == (1, ["summaries"])
    assert "1 summary is damaged" in wrong["summaries"]["said"]
    assert "kept in full" in wrong["summaries"]["remedy"]


@pytest.mark.parametrize("kind", ["leaf", "frame"])
def test_what_is_left_is_what_the_node_said_of_itself(filled, kind):
    """The span, the turns and the messages of a damaged node are those that it had."""
    store = open_store(filled, create=False)
    uid = change(filled, lambda data: data, kind)
    (before,) = store.nodes([uid])
    change(filled, lambda _data: "", kind)
    (left,) = store.nodes([uid], damaged=True)
    store.close()
    for name in ("line", "source_key", "sources", "depth", "first_seq", "last_seq", "first_turn",
                 "last_turn", "messages", "lifted"):  # fmt: skip
        assert getattr(left, name) == getattr(before, name), name


def rows_of(turns, first=1):
    return [
        row
        for n in range(first, first + turns)
        for row in (
            {"role": "user", "content": f"question {n} about harbour{n} " + f"why{n} " * 90},
            {"role": "assistant", "content": f"answer {n} " + f"because{n} " * 90},
        )
    ]


class Told:
    """An engine whose summaries a program writes, and the list that its host shows after two compactions."""

    def __init__(self, path):
        self.path, self.calls = path, 0
        engine = self.engine()
        rows = list(engine.compress(rows_of(24), force=True, current_tokens=30_000))
        rows += rows_of(8, 25)
        self.rows = list(engine.compress(rows, force=True, current_tokens=30_000))
        engine.ingest(self.rows)
        engine.close()

    def summary(self, _request):
        self.calls += 1
        return f"They went through the harbours {self.calls}. Decided: the port is 8123. " * 4

    def engine(self):
        settings = {"condense_fanin": 2, "leaf_tokens": 700, "state_updates": "off"}
        engine = LCMEngine(
            16_000, db_path=str(self.path), settings=settings, summarizer=self.summary
        )
        engine.on_session_start("s")
        return engine

    def node(self, which):
        """Number of a node: the newest frame, one that it shows, or one below those."""
        with contextlib.closing(sqlite3.connect(self.path)) as sql:
            (frame,) = sql.execute("SELECT max(id) FROM nodes WHERE kind = 'frame'").fetchone()
            shown = [n for (n,) in sql.execute("SELECT source FROM edges WHERE node = ?", [frame])]
            (deep,) = sql.execute("SELECT min(id) FROM nodes").fetchone()
            assert len(shown) > 1
            assert deep not in shown
        return {"frame": frame, "first": shown[0], "last": shown[-1], "deep": deep}[which]

    def damage(self, *whichs):
        for number in map(self.node, whichs):
            with contextlib.closing(sqlite3.connect(self.path)) as sql, sql:
                sql.execute("UPDATE nodes SET data = substr(data, 1, 60) WHERE id = ?", [number])

    def stored(self):
        store = open_store(self.path, create=False)
        with contextlib.closing(store):
            line = store.session("s").line
            entries = [e for e in store.entries(line) if not e.withdrawn]
            return [json.loads(m.body) for m in store.read([(e.id, 0) for e in entries])]

    def faults(self):
        store = open_store(self.path, create=False)
        with contextlib.closing(store):
            return {(fault.kind, fault.uid) for fault in verify(store).failures}


WHICH = [
    ("frame",),
    ("first",),
    ("last",),
    ("deep",),
    ("frame", "last"),
    ("frame", "first", "last", "deep"),
]


@pytest.mark.parametrize("which", WHICH, ids="+".join)
def test_a_conversation_goes_on_over_damaged_summaries(tmp_path, which):
    """What is said goes on being stored, once; the list goes on being compacted, and what it showed is made again."""
    told = Told(tmp_path / "lcm.db")
    assert told.faults() == set()
    told.damage(*which)
    hit = told.faults()
    assert len(hit) == len(which)
    engine = told.engine()
    rows = [*told.rows, *rows_of(12, 33)]
    report = engine.ingest(rows)
    assert (report.new, report.withdrawn) == (24, 0)
    done = engine.compress(rows, force=True, current_tokens=40_000)
    assert engine.count_tokens(done) < engine.count_tokens(rows) / 2
    assert engine.get_status()["problems"] == []
    text = done[0]["content"]
    assert text.startswith("Earlier conversation")
    assert "damaged" not in text
    again = engine.ingest(done)
    assert (again.new, again.withdrawn) == (0, 0)
    done = engine.compress([*done, *rows_of(8, 45)], force=True, current_tokens=40_000)
    assert engine.ingest(done).new == 0
    engine.close()
    assert told.stored() == rows_of(52)
    assert told.faults() <= hit


@pytest.mark.parametrize("which", WHICH, ids="+".join)
def test_the_whole_list_is_compacted_over_damaged_summaries(tmp_path, which):
    """A host that shows all again: leaves that are whole stay what they are, those that are not are made again."""
    told = Told(tmp_path / "lcm.db")
    told.damage(*which)
    engine, rows = told.engine(), rows_of(44)
    assert engine.ingest(rows).new == 24
    done = engine.compress(rows, force=True, current_tokens=40_000)
    assert engine.count_tokens(done) < engine.count_tokens(rows) / 2
    assert engine.ingest(done).new == 0
    engine.close()
    assert told.stored() == rows


def steps(count, first=1):
    """One turn of many calls: its message is lifted out of what is compacted."""
    for n in range(first, first + count):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        yield {"role": "assistant", "content": "", "tool_calls": [call]}
        yield {
            "role": "tool",
            "tool_call_id": f"c{n}",
            "content": f"room {n}: " + f"thing{n} " * 200,
        }


def test_the_message_that_was_lifted_out_of_a_damaged_frame(tmp_path):
    """What is left of a frame tells which user message stands behind it, and that one is not stored again."""
    told = Told(tmp_path / "lcm.db")
    engine = told.engine()
    rows = [*told.rows, {"role": "user", "content": "Look into all rooms."}, *steps(30)]
    done = engine.compress(rows, force=True, current_tokens=40_000)
    engine.close()
    assert any(row["content"] == "Look into all rooms." for row in done)
    store = open_store(told.path, create=False)
    with contextlib.closing(store):
        uid = store.passes()[-1].frame
        (before,) = store.nodes([uid])
        assert before.lifted
        told.damage("frame")
        (left,) = store.nodes([uid], damaged=True)
        assert (left.lifted, left.last_seq) == (before.lifted, before.last_seq)
    engine = told.engine()
    more = [*done, *steps(10, 31)]
    report = engine.ingest(more)
    assert (report.new, report.withdrawn) == (20, 0)
    again = engine.compress(more, force=True, current_tokens=40_000)
    assert engine.ingest(again).new == 0
    assert sum(row["content"] == "Look into all rooms." for row in again) == 1
    engine.close()
    assert told.stored() == [*rows_of(32), rows[len(told.rows)], *steps(40)]


@pytest.mark.parametrize("which", [("frame",), ("first",)], ids="+".join)
def test_people_are_told_of_a_damaged_summary(tmp_path, capsys, which):
    """The status gives what can be read and says that something cannot; no verb ends in an error of Python's own."""
    told = Told(tmp_path / "lcm.db")
    told.damage(*which)
    for words in ("status", "tree", "why", "sessions", "show --turn 3", "search port", "verify"):
        code = main([*words.split(), "--db", str(told.path)])
        out = capsys.readouterr()
        assert "Error" not in out.out + out.err, words
        if words in ("tree", "status"):
            assert code == 1
            assert "damaged" in out.out + out.err
    assert doctor(capsys, told.path)[1].keys() == {"summaries"}


def test_an_import_puts_damaged_nodes_back(tmp_path, capsys):
    """What an export from before still has of them is written in their place."""
    told = Told(tmp_path / "lcm.db")
    assert main(["export", str(tmp_path / "all.jsonl"), "--db", str(told.path)]) == 0
    told.damage("frame", "first", "last", "deep")
    assert len(told.faults()) == 4
    assert main(["import", str(tmp_path / "all.jsonl"), "--db", str(told.path)]) == 0
    assert told.faults() == set()
    assert doctor(capsys, told.path) == (0, {})
    assert told.stored() == rows_of(32)
