"""What every store must do when a person wants something out of it, asked of each backend in turn."""

from __future__ import annotations

import pytest
from lcm.storage import open_store
from lcm.storage.canon import decode, digest, encode
from lcm.storage.errors import StoreForgotten
from lcm.storage.forget import Stone
from lcm.storage.records import Draft, Filter, Node, Pass, Session, Source
from lcm.storage.text import searchable

NEEDLE = "hunter2-in-the-log"


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    kept = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield kept
    kept.close()


def draft(number, text=None):
    message = {"role": "user", "content": text or f"message number{number}"}
    body = encode(message)
    key = digest(body)[:16]
    uid = f"{number:032x}"
    return Draft(uid, "user", body, searchable(message), key, digest(body), float(number), 9)


def node(store, uid, line, sources, text="a text about zebras", kind="leaf"):
    made = Node(
        uid=f"{uid:032x}", kind=kind, line=line, source_key=f"k{uid}", depth=0, texts={15: text}, topic="animals",
        hints=("zebras",), sufficient=15, degraded="", first_seq=1, last_seq=9, first_turn=1, last_turn=2,
        messages=len(sources), lifted=(), source_tokens=10, time=1.0, sources=tuple(sources), levels=(15,),
    )  # fmt: skip
    store.put_node(made)
    return made.uid


def stone(name, line, kind="session"):
    return Stone(kind, name, 1.0, b"d" * 16, line, {"messages": 2})


def two_sessions(store):
    """A session of three messages, a branch of it with one more, and nodes on both."""
    parent = store.open_session("parent")
    first = store.append(parent.line, [(draft(1), 1)])
    branch = store.open_session("branch", parent="parent", relation="branch")
    rest = store.append(parent.line, [(draft(2, NEEDLE), 2), (draft(3, "x" * 5000), 3)])
    own = store.append(branch.line, [(draft(4), 2)])
    return parent.line, branch.line, [*first, *rest, *own]


def test_what_a_line_has_for_itself(store):
    """Messages that a branch shows too are not alone on a line; nodes over a message are found at any depth."""
    line, branch, entries = two_sessions(store)
    assert [entry.id for entry in store.eraser().alone(line)] == [entries[1].id, entries[2].id]
    assert [entry.id for entry in store.eraser().alone(branch)] == [entries[3].id]
    shared = node(store, 1, line, [Source(entries[0].id, 1)])
    leaf = node(store, 2, line, [Source(entries[1].id, 1)])
    over = node(store, 3, line, [Source(node=shared), Source(node=leaf)], kind="condensed")
    frame = node(store, 4, line, [Source(node=over, level=15)], kind="frame")
    assert store.eraser().above([entries[1].id]) == [leaf, over, frame]
    assert store.eraser().above([entries[3].id]) == []


def test_a_removed_line_leaves_what_others_need(store):
    """The sessions, messages, nodes, passes and notes of a line go; what a branch shows stays, and nothing
    is written on that line any more."""
    line, branch, entries = two_sessions(store)
    shared = node(store, 1, line, [Source(entries[0].id, 1)])
    leaf = node(store, 2, line, [Source(entries[1].id, 1)])
    store.record_pass(Pass(1.0, "parent", 9, 5, 3, 2, ""))
    store.remember("parent", "what", "x")
    eraser, gone = store.eraser(), [entries[1].id, entries[2].id]
    for name in (f"{entries[1].id}@1", f"{entries[0].id}@1"):
        eraser.bury(stone(name, 0, "message"))
    for uid in (shared, leaf):
        eraser.bury(stone(uid, 0, "node"))
    with store.writing():
        eraser.remove(line, gone, eraser.above(gone))
        eraser.bury(stone("parent", line))
        eraser.sweep()
    assert [each.name for each in store.sessions()] == ["branch"]
    assert [entry.id for entry in store.entries(branch)] == [entries[0].id, entries[3].id]
    assert [message.id for message in store.stream()] == [entries[0].id, entries[3].id]
    assert [each.uid for each in store.nodes([shared, leaf])] == [shared]
    assert store.known([entries[1].uid]) == {}
    assert store.passes() == [] and store.recall("parent", "what") is None
    assert store.search(["hunter2"], [], Filter(), 9) == []
    assert store.search(["number4"], [], Filter(), 9)
    assert [each.name for each in eraser.stones("message", "node")] == [
        f"{entries[0].id}@1",
        shared,
    ]
    assert eraser.is_forgotten("parent") and not eraser.is_forgotten("branch")
    with pytest.raises(StoreForgotten):
        node(store, 9, line, [Source(entries[0].id, 1)])
    assert list(store.audit().faults()) == []
    new = store.append(branch, [(draft(5), 3)])
    assert new[0].id not in {entries[0].id, entries[3].id}


def test_stones_come_back_as_they_were(store):
    """A stone is kept with all its fields; a second one of its kind and name takes its place."""
    eraser = store.eraser()
    text = Stone("text", "b", 1.0, b"d" * 16, 0, {"length": 9, "shade": "00ff"})
    eraser.bury(text)
    eraser.bury(stone("a", 3))
    eraser.bury(Stone("session", "a", 2.0, b"e" * 16, 4, {}))
    assert eraser.stones() == [Stone("session", "a", 2.0, b"e" * 16, 4, {}), text]
    assert eraser.stones("text") == [text]
    eraser.unbury("text", "b")
    eraser.unbury("text", "b")
    assert eraser.stones("text") == []


def test_a_session_that_is_brought_back_is_not_forgotten_any_more(store):
    """An import of an older export is somebody's wish: the session is kept again from then on."""
    store.eraser().bury(stone("s", 7))
    store.archive().restore_session(Session("s", 8, "", "new", 1.0))
    assert not store.eraser().is_forgotten("s")


def test_an_overwritten_version_keeps_its_digest(store):
    """Bytes and key of any version can be replaced, in the index too; the digest says what was there."""
    line = store.open_session("s").line
    (entry,) = store.append(line, [(draft(1, f"first {NEEDLE}"), 1)])
    store.revise(line, entry.id, draft(1, f"second {NEEDLE} {'y' * 5000}"))
    before = [message.digest for message in store.stream()]
    eraser = store.eraser()
    clean = [draft(1, "first word"), draft(1, f"second word {'y' * 5000}")]
    with store.writing():
        for version, each in enumerate(clean, 1):
            eraser.overwrite(entry.id, version, each)
        eraser.sweep()
    assert [decode(message.body)["content"][:11] for message in store.stream()] == [
        "first word",
        "second word",
    ]
    assert [message.digest for message in store.stream()] == before
    assert [key for _, key in store.editions(entry.id)] == [each.key for each in clean]
    assert store.search(["hunter2"], [], Filter(), 9) == []
    assert len(store.search(["word"], [], Filter(), 9)) == 1
    assert list(store.audit().faults()) == []


def test_an_overwritten_node_keeps_its_uid(store):
    """Texts, topic and hints of a node can be replaced, in the index too."""
    line = store.open_session("s").line
    (entry,) = store.append(line, [(draft(1), 1)])
    uid = node(store, 1, line, [Source(entry.id, 1)], NEEDLE)
    (old,) = store.nodes([uid])
    with store.writing():
        store.eraser().overwrite_node(
            Node(**{name: getattr(old, name) for name in Node.__slots__} | {"texts": {15: "clean"}})
        )
        store.eraser().sweep()
    (new,) = store.nodes([uid])
    assert new.texts == {15: "clean"} and new.sources == old.sources
    assert store.search_nodes(["hunter2"], [], Filter(), 9) == []
    assert store.search_nodes(["clean"], [], Filter(), 9)
    assert list(store.audit().faults()) == []


def test_every_line_changes_when_something_is_forgotten(store):
    """An agent elsewhere looks at its whole list again, for a line's revision has changed."""
    line = store.open_session("s").line
    before = store.revision(line)
    store.eraser().sweep()
    assert store.revision(line) != before


def test_nothing_of_it_is_left_in_the_file(tmp_path):
    """SEC-01: deleted bytes are in no page and not in the log of writes, payloads and index included."""
    store = open_store(tmp_path / "lcm.db")
    line = store.open_session("s").line
    large = f"{NEEDLE} " + "z" * 5000
    ((one), (two)) = store.append(line, [(draft(1, NEEDLE), 1), (draft(2, large), 2)])
    node(store, 1, line, [Source(one.id, 1)], NEEDLE)
    assert found_in(tmp_path, NEEDLE.encode())
    eraser = store.eraser()
    with store.writing():
        eraser.remove(line, [one.id, two.id], eraser.above([one.id]))
        eraser.bury(stone("s", line))
        eraser.sweep()
    assert eraser.scrub()
    assert not found_in(tmp_path, NEEDLE.encode())
    assert not found_in(tmp_path, b"hunter2")
    store.close()
    assert not found_in(tmp_path, b"hunter2")


def test_a_reader_keeps_the_file_from_being_scrubbed(tmp_path):
    """While another process reads, old bytes may stay, and that is said; later it works."""
    import sqlite3

    store = open_store(tmp_path / "lcm.db")
    line = store.open_session("s").line
    (entry,) = store.append(line, [(draft(1, NEEDLE), 1)])
    other = sqlite3.connect(tmp_path / "lcm.db", isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM messages").fetchone()
    store._connection.sql.execute("PRAGMA busy_timeout = 100")
    with store.writing():
        store.eraser().remove(line, [entry.id], [])
        store.eraser().bury(stone("s", line))
        store.eraser().sweep()
    assert not store.eraser().scrub()
    other.execute("COMMIT")
    other.close()
    assert store.eraser().scrub()
    assert not found_in(tmp_path, NEEDLE.encode())
    store.close()


def found_in(folder, needle):
    """Names of files under *folder* that hold these bytes."""
    return [
        path.name for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()
    ]


def test_a_uid_gives_way_to_another(store):
    """A message's own uid, or another name of it: the new one finds it, the old is nowhere, all else is as it was."""
    line, _, entries = two_sessions(store)
    first = entries[0]
    store.alias(first.id, "another-name")
    store.eraser().rename(first.id, first.uid, "f" * 32)
    store.eraser().rename(first.id, "another-name", "e" * 32)
    store.eraser().rename(first.id, "e" * 32, "f" * 32)  # the one it has already
    assert store.known([first.uid, "another-name", "e" * 32, "f" * 32]) == {"f" * 32: first.id}
    assert [entry.uid for entry in store.entries(line)][:2] == ["f" * 32, entries[1].uid]
    assert store.archive().aliases() == {}


def test_what_still_holds_some_bytes_is_found(store):
    """In bodies, large texts that are kept compressed, names, nodes and what is remembered, counted by row."""
    line, _, entries = two_sessions(store)
    assert store.eraser().holding([b"nowhere at all"]) == {}
    assert store.eraser().holding([NEEDLE.encode(), b"nowhere"]) == {"messages": 1}
    assert sum(store.eraser().holding([b"x" * 100]).values()) == 1
    node(store, 7, line, [Source(entries[0].id, 1)], text=f"about {NEEDLE}")
    store.open_session(f"of {NEEDLE}")
    store.remember("parent", "said", NEEDLE)
    found = store.eraser().holding([NEEDLE.encode()])
    assert found == {"messages": 1, "nodes": 1, "sessions": 1, "memory": 1}
