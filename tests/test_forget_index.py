"""What is forgotten goes out of the search index word by word, and nothing of it is left in a byte of the file."""

from __future__ import annotations

import sqlite3

import pytest
from lcm.dag.forget import forget_session, forget_text
from lcm.storage import fts, fts_taken, open_store
from lcm.storage.canon import digest, encode
from lcm.storage.errors import StoreIndexBroken
from lcm.storage.records import Draft, Filter, Node, Source
from lcm.storage.text import searchable

#: Words that begin as no other does, and their stem: an index keeps of a term what differs from the one before.
NEEDLE, STEM = "qxvkeepings", b"qxvkeep"


def draft(number, text):
    message = {"role": "user", "content": text}
    body = encode(message)
    key = digest(body)[:16]
    return Draft(f"{number:032x}", "user", body, searchable(message), key, digest(body), 1.0, 9)


def node(store, uid, line, source, text):
    store.put_node(
        Node(
            uid=f"{uid:032x}", kind="leaf", line=line, source_key=f"k{uid}", depth=0, texts={15: text}, topic="ships",
            hints=("lamps",), sufficient=15, degraded="", first_seq=1, last_seq=9, first_turn=1, last_turn=2,
            messages=1, lifted=(), source_tokens=10, time=1.0, sources=(Source(source, 1),), levels=(15,),
        )
    )  # fmt: skip


@pytest.fixture
def store(tmp_path):
    """Four sessions that share words, written a message at a time so that the index was merged often; the needle
    stands in a current version, an earlier one, a large text and a summary."""
    kept = open_store(tmp_path / "lcm.db")
    lines = [kept.open_session(f"s{n}").line for n in range(4)]
    for n in range(160):
        secret = f"{NEEDLE} aboard" if n in (7, 40) else ""
        padding = f" {'z' * 5000} {n}" if n in (40, 41) else ""
        text = f"message number{n} of harbour and lantern {'word ' * (n % 9)}{secret}{padding}"
        (entry,) = kept.append(lines[n % 4], [(draft(n + 1, text), n)])
        if n in (20, 21):
            kept.revise(lines[n % 4], entry.id, draft(n + 1, f"revised {n}, {NEEDLE}"))
            kept.revise(lines[n % 4], entry.id, draft(n + 1, f"revised again {n}"))
        if n % 20 == 7:
            node(kept, n, lines[n % 4], entry.id, f"summary {n} of lanterns {secret}")
    yield kept
    kept.close()


def holders(store, needle):
    """Files that hold these bytes."""
    folder = store._connection.path.parent
    return [path.name for path in folder.glob("lcm.db*") if needle in path.read_bytes()]


def index_of(store):
    """All that the indexes find, at which place, how long they think each text is and all of them are."""
    return [_index_of(store._connection.sql, name) for name in ("message_index", "node_index")]


def _index_of(sql, name):
    sql.execute("DROP TABLE IF EXISTS temp.found")
    sql.execute(f"CREATE VIRTUAL TABLE temp.found USING fts5vocab(main, {name}, instance)")
    sizes = f"SELECT id, sz FROM {name}_docsize ORDER BY id"  # noqa: S608
    (lengths,) = sql.execute(f"SELECT block FROM {name}_data WHERE id = 1").fetchone()  # noqa: S608
    return (
        sorted(sql.execute("SELECT term, doc, offset FROM temp.found")),
        sql.execute(sizes).fetchall(),
        lengths.rstrip(b"\0"),
    )


def is_as_made_anew(store):
    """Whether the indexes hold exactly what they would if they were made anew now."""
    there = index_of(store)
    assert store.check() == {}
    store.reindex()
    return there == index_of(store)


@pytest.fixture
def rebuilt(monkeypatch):
    """How often the indexes were made anew."""
    calls, make = [], fts.rebuild

    def rebuild(*args):
        calls.append(args)
        return make(*args)

    monkeypatch.setattr(fts, "rebuild", rebuild)
    return calls


def segments(store):
    """Of how many parts the index of messages consists."""
    query = "SELECT count(DISTINCT segid) FROM message_index_idx"
    return store._connection.sql.execute(query).fetchone()[0]


def test_a_string_leaves_no_byte_in_an_index_that_was_not_made_anew(store, rebuilt):
    """Current and earlier versions, large texts and summaries: the index is as one made anew, and one segment."""
    assert segments(store) > 1 and holders(store, STEM)
    plan = forget_text(store, NEEDLE, 1.0)
    assert (len(plan.messages), len(plan.nodes), plan.left) == (4, 1, {})
    assert rebuilt == [] and segments(store) == 1
    assert store.eraser().scrub()
    assert holders(store, STEM) == [] and holders(store, STEM[2:]) == []
    assert store.search([NEEDLE], [], Filter(), 9) == [] and store.vocabulary()
    assert len(store.search(["harbour"], [], Filter(), 999)) == 160
    assert store.search(["forgotten"], [], Filter(), 9)
    assert len(store.search_nodes(["lanterns"], [], Filter(), 99)) == 8
    assert is_as_made_anew(store)


def test_a_session_leaves_no_byte_in_an_index_that_was_not_made_anew(store, rebuilt):
    """Its own words go, those that other sessions say too stay theirs."""
    forget_session(store, store.session("s3"), 1.0)
    assert rebuilt == []
    assert store.eraser().scrub()
    assert holders(store, b"number103") == []
    assert holders(store, b"number102") == ["lcm.db"]
    assert store.search(["number103"], [], Filter(), 9) == []
    assert len(store.search(["harbour"], [], Filter(), 999)) == 120
    assert is_as_made_anew(store)


def test_old_pages_of_the_index_are_wiped(store):
    """A term that an earlier merge left in free pages, before anything was forgotten, is gone too."""
    store._connection.sql.execute("INSERT INTO message_index (message_index) VALUES ('optimize')")
    assert store._connection.sql.execute("PRAGMA freelist_count").fetchone()[0]
    forget_text(store, NEEDLE, 1.0)
    assert store.eraser().scrub()
    assert store._connection.sql.execute("PRAGMA freelist_count").fetchone()[0] == 0
    assert holders(store, STEM) == []


def test_many_texts_make_it_anew(store, rebuilt, monkeypatch):
    """Where more goes than a part of all, that is the shorter way."""
    monkeypatch.setattr(fts_taken, "_FEW", 3)
    monkeypatch.setattr(fts_taken, "_PART", 5)
    forget_session(store, store.session("s3"), 1.0)  # 40 of 164 texts
    assert len(rebuilt) == 1
    forget_text(store, NEEDLE, 1.0)
    assert len(rebuilt) == 1
    assert is_as_made_anew(store)


def stray(sql):
    """A row of the index that no message has."""
    sql.execute("INSERT INTO message_index (rowid, text) VALUES (9999, 'astray')")


def other_words(sql):
    """A message that is not indexed with the words that it gives."""
    sql.execute("INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', 8, 'x')")
    sql.execute("INSERT INTO message_index (rowid, text) VALUES (8, ?)", [f"{NEEDLE} alone"])


def left_behind(sql):
    """Words of an earlier version that were not taken out when the later one came: its length is right."""
    sql.execute("INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', 21, 'x')")
    sql.execute("INSERT INTO message_index (rowid, text) VALUES (21, ?)", [NEEDLE])
    sql.execute("INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', 21, 'x')")
    sql.execute("INSERT INTO message_index (rowid, text) VALUES (21, 'revised again 20')")


def failed(sql):
    """Said to have failed once."""
    fts.mark(sql, ValueError())


def in_pieces(sql):
    """Pages that cannot be read."""
    sql.execute("UPDATE message_index_data SET block = zeroblob(20) WHERE id > 10")


def older(sql):
    """Words parted as an earlier version did."""
    sql.execute("DROP TABLE node_index")
    sql.execute("CREATE VIRTUAL TABLE node_index USING fts5(text, content='')")


@pytest.mark.parametrize("fault", [stray, other_words, left_behind, failed, in_pieces, older])
def test_an_index_that_does_not_agree_with_the_log_is_made_anew(store, rebuilt, fault):
    """Nothing of the string is left either, and what was wrong is right afterwards."""
    fault(store._connection.sql)
    forget_text(store, NEEDLE, 1.0)
    assert len(rebuilt) == 1
    assert store.eraser().scrub()
    assert holders(store, STEM) == []
    assert len(store.search(["harbour"], [], Filter(), 999)) == 160
    assert is_as_made_anew(store)


def test_a_merge_that_leaves_something_is_not_trusted(store, rebuilt, monkeypatch):
    """Only one segment has nothing beside what it finds."""
    monkeypatch.setattr(fts_taken, "_is_one", lambda *_: False)
    forget_text(store, NEEDLE, 1.0)
    assert len(rebuilt) == 1 and is_as_made_anew(store)


def test_an_index_that_takes_the_transaction_along_is_made_anew(store, rebuilt, monkeypatch):
    """SQLite from 3.44 on does not go on with it: all is undone, and done once more."""
    settle, calls = fts_taken.settle, []

    def breaks(*args):
        calls.append(args)
        if len(calls) == 1:
            raise StoreIndexBroken("x")
        return settle(*args)

    monkeypatch.setattr(fts_taken, "settle", breaks)
    assert len(forget_text(store, NEEDLE, 1.0).messages) == 4
    assert len(calls) == 2 and len(rebuilt) == 1
    assert is_as_made_anew(store)


def test_what_ends_in_the_middle_has_changed_nothing(store, rebuilt, monkeypatch):
    """The log and the index are as before; what was noted for it is not taken for the next time's."""
    before = index_of(store), [message.body for message in store.stream()]
    with monkeypatch.context() as patched:
        patched.setattr(fts_taken, "_are_said", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            forget_session(store, store.session("s3"), 1.0)
    assert before == (index_of(store), [message.body for message in store.stream()])
    forget_text(store, NEEDLE, 1.0)
    assert rebuilt == [] and is_as_made_anew(store)
    assert len(store.search(["harbour"], [], Filter(), 999)) == 160


def test_what_another_process_wrote_is_forgotten_too(store, rebuilt):
    """Each time all is looked for anew, in the transaction in which it goes."""
    assert forget_text(store, NEEDLE, 1.0).messages
    other = open_store(store.path)
    line = other.session("s1").line
    other.append(line, [(draft(900, f"later {NEEDLE}"), 99)])
    assert [each.id for each in forget_text(store, NEEDLE, 2.0).messages] == [161]
    assert store.eraser().scrub()
    assert holders(store, STEM) == []
    other.append(line, [(draft(901, "goes on"), 99)])
    other.close()
    assert rebuilt == [] and is_as_made_anew(store)


def test_while_another_process_writes_it_waits_or_says_so(store):
    """Not half of it is done."""
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store._connection._wait(0.05)
    store._connection._impatient_until = 1e18
    with pytest.raises(Exception, match=r"busy|locked|writ"):
        forget_text(store, NEEDLE, 1.0)
    other.execute("ROLLBACK")
    other.close()
    assert len(forget_text(store, NEEDLE, 1.0).messages) == 4
