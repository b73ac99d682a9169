"""A summary that is damaged in the store: said in words everywhere, and nothing else is lost by it."""

from __future__ import annotations

import json
import sqlite3

import pytest
from damagekit import doctor
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
        for ask in (
            lambda: store.nodes([uid]),
            lambda: store.nodes_on([1]),
            lambda: [*store.eraser().words()],
        ):
            with pytest.raises(StoreDamaged, match=uid):
                ask()
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
    assert "1 node" in wrong["summaries"]["said"]
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
