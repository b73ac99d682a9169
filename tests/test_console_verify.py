"""``verify``: finds every byte that changed, and cries no wolf where none did."""

# ruff: noqa: S608 - statements on a copy that is thrown away, made of our own constants

from __future__ import annotations

import json
import shutil
import sqlite3
import time

import pytest
from lcm.console.verify import verify
from lcm.dag.compact import PassRequest, compact
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.storage.records import Pass

#: Leaves so small, and so soon condensed, that a short talk has nodes over nodes.
SETTINGS = Settings(leaf_tokens=500, condense_fanin=2)
WORDS = (
    "harbour",
    "lantern",
    "quartz",
    "violet",
    "meadow",
    "copper",
    "anchor",
    "granite",
    "willow",
)


def turn(number, *, size=300):
    """A turn of four messages about something of its own, with one tool result over 2 KB."""
    words = " ".join(
        f"{WORDS[(number * 7 + n) % len(WORDS)]}{number * 31 + n}" for n in range(size)
    )
    call = {"id": f"call{number}", "type": "function"}
    call["function"] = {"name": "read_file", "arguments": json.dumps({"path": f"src/{number}.py"})}
    return [
        {
            "role": "user",
            "content": f"Question {number}: where is the {WORDS[number % len(WORDS)]}?",
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call{number}", "content": words},
        {"role": "assistant", "content": f"Answer {number}: in src/{number}.py. {words[:200]}"},
    ]


class Talk:
    """A conversation as an engine would keep it: ingest after each turn, compact at need."""

    def __init__(self, store, name="s1", **parent):
        self.store, self.name = store, name
        self.ledger = Ledger(store, store.open_session(name, **parent))
        self.rows = []

    def say(self, *numbers):
        for number in numbers:
            self.rows += turn(number)
            self.ledger.ingest(self.rows)
        return self

    def compact(self):
        _, binding = self.ledger.bind(self.rows)
        request = PassRequest(SETTINGS, 8000, 5000, None, force=True, stamp=False)
        done = compact(self.store, self.ledger.session.line, binding, request)
        assert done.changed
        uid = done.frame.uid
        counts = (done.before, done.after, len(self.rows), len(done.rows))
        self.store.record_pass(Pass(time.time(), self.name, *counts, uid))
        self.rows = list(done.rows)
        self.ledger.ingest(self.rows)
        return self


def talk(store):
    """Forty turns and four compactions: leaves, condensed nodes, frames."""
    talked = Talk(store)
    for start in range(0, 40, 10):
        talked.say(*range(start, start + 10)).compact()
    return talked


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A sound database, with one message in two versions and one of them over 2 KB; copy it."""
    path = tmp_path_factory.mktemp("whole") / "lcm.db"
    store = open_store(path)
    talked = talk(store)
    talked.say(50, 51)
    talked.rows[-2] = talked.rows[-2] | {"content": "pruned by the host, but not below two hundred"}
    talked.ledger.ingest(talked.rows)
    store.close()
    return path


@pytest.fixture
def damage(whole, tmp_path):
    """Run statements on a copy of the sound database; gives the report on what is left."""
    path = tmp_path / "lcm.db"
    shutil.copy(whole, path)

    def run(*statements):
        with sqlite3.connect(path) as sql:
            for statement in statements:
                assert sql.execute(statement).rowcount != 0, statement
        sql.close()
        store = open_store(path, create=False)
        try:
            return verify(store)
        finally:
            store.close()

    return run


def test_a_sound_store_is_accounted_for(whole):
    """Nothing is wrong, nothing is odd, and the counts are those of what was said."""
    store = open_store(whole, create=False)
    report = verify(store)
    totals = store.totals()
    store.close()
    assert (report.failures, report.notes) == ((), ())
    assert report.counts.messages == totals.messages == 42 * 4
    assert report.counts.versions == totals.versions == 1
    assert report.counts.nodes == sum(totals.nodes.values()) > 10
    assert report.counts.frames == 4
    assert len(totals.nodes) > 1
    of = f"168 messages, {report.counts.nodes} summaries, 1 session"
    assert report.verdict == f"verify: every message accounted for ({of})"
    assert report.data()["good"] is True


def test_both_backends_are_verified_alike():
    """A store in memory passes the same checks."""
    store = open_store("memory:")
    talk(store)
    report = verify(store)
    assert report.good
    assert report.counts.messages == 160


def test_an_empty_store_is_accounted_for():
    """No message is every message."""
    report = verify(open_store("memory:"))
    assert (
        report.verdict
        == "verify: every message accounted for (0 messages, 0 summaries, 0 sessions)"
    )


def flip(column, table, where, *, at=9):
    """SQL that changes one byte of a value, and keeps its type."""
    kept = "blob" if column in ("body", "data", "digest", "uid") and table != "nodes" else "text"
    byte = f"CASE substr({column}, {at}, 1) WHEN {{0}} THEN {{1}} ELSE {{0}} END"
    byte = byte.format(*(("x'41'", "x'42'") if kept == "blob" else ("'A'", "'B'")))
    value = f"CAST(substr({column}, 1, {at} - 1) || {byte} || substr({column}, {at} + 1) AS {kept})"
    return f"UPDATE {table} SET {column} = {value} WHERE {where}"


def uid_of(whole, table, where):
    with sqlite3.connect(whole) as sql:
        found = sql.execute(f"SELECT hex(uid) FROM {table} WHERE {where}").fetchone()[0].lower()
    sql.close()
    return found


SMALL = "id = (SELECT min(id) FROM messages WHERE role = 'user' AND refs IS NULL)"
LARGE = "id = (SELECT min(id) FROM messages WHERE refs IS NOT NULL)"
LEAF = "id = (SELECT min(node) FROM edges WHERE message IS NOT NULL AND place = 1)"
CONDENSED = "id = (SELECT max(id) FROM nodes WHERE kind = 'condensed')"
FRAME = "id = (SELECT max(id) FROM nodes WHERE kind = 'frame')"


@pytest.mark.parametrize(
    ("statement", "table", "where"),
    [
        (flip("body", "messages", SMALL, at=20), "messages", SMALL),
        (flip("body", "messages", LARGE), "messages", LARGE),
        (flip("body", "messages", LARGE, at=1), "messages", LARGE),
        (flip("digest", "messages", SMALL), "messages", SMALL),
    ],
    ids=["a message", "what is left of a large one", "its first byte", "a stored digest"],
)
def test_a_flipped_byte_of_a_message_is_found(damage, whole, statement, table, where):
    """The message is named, and it alone among the messages."""
    report = damage(statement)
    named = {finding.uid for finding in report.failures if finding.kind == "message"}
    assert named == {uid_of(whole, table, where)}


def test_a_flipped_byte_of_a_payload_is_found(damage, whole):
    """A payload is part of every message that has it; all others are still read."""
    payload = "digest = (SELECT digest FROM payloads ORDER BY digest LIMIT 1)"
    report = damage(flip("data", "payloads", payload, at=60))
    with sqlite3.connect(whole) as sql:
        wanted = sql.execute(
            "SELECT lower(hex(uid)) FROM messages WHERE refs LIKE '%' ||"
            " (SELECT lower(hex(digest)) FROM payloads ORDER BY digest LIMIT 1) || '%'"
        ).fetchall()
    sql.close()
    assert {f.uid for f in report.failures} == {uid for (uid,) in wanted}
    assert report.counts.messages == 168


def test_a_flipped_byte_of_an_earlier_version_is_found(damage, whole):
    """The version is named with the message."""
    report = damage(flip("body", "versions", "id = 1", at=40))
    uid = uid_of(whole, "messages", "version = 2")
    assert f"{uid}@1" in {finding.uid for finding in report.failures}


@pytest.mark.parametrize("where", [LEAF, CONDENSED], ids=["leaf", "condensed"])
@pytest.mark.parametrize("key", ["$.topic", "$.texts.15", "$.hints[0]", "$.sufficient"])
def test_a_changed_word_of_a_node_is_found(damage, whole, where, key):
    """Texts of every size, topic, hints: all are under the node's uid."""
    other = 16 if key == "$.sufficient" else "'Something that nobody wrote'"
    report = damage(f"UPDATE nodes SET data = json_set(data, '{key}', {other}) WHERE {where}")
    assert {(f.kind, f.uid) for f in report.failures} == {("node", uid_of(whole, "nodes", where))}


@pytest.mark.parametrize("where", [LEAF, CONDENSED, FRAME], ids=["leaf", "condensed", "frame"])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE edges SET {source} = {source} + 1",
        "UPDATE edges SET level = level + 1",
        "DELETE FROM edges",
        "UPDATE edges SET {source} = 99999",
        "UPDATE edges SET place = place + 1000",
    ],
    ids=["elsewhere", "another size", "gone", "to nowhere", "another order"],
)
def test_a_changed_edge_is_found(damage, whole, where, change):
    """An edge that leads elsewhere, or is gone, is the node's fault."""
    source = "message" if where == LEAF else "source"
    report = damage(
        f"{change.format(source=source)} WHERE place = 0"
        f" AND node = (SELECT id FROM nodes WHERE {where})"
    )
    assert uid_of(whole, "nodes", where) in {f.uid for f in report.failures if f.kind == "node"}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", "'condensed'"),
        ("kind", "'frame'"),
        ("kind", "'tree'"),
        ("depth", "7"),
        ("line", "5"),
        ("data", "json_set(data, '$.messages', 1000)"),
        ("data", "json_set(data, '$.first_seq', 5)"),
        ("data", "json_set(data, '$.last_seq', 5)"),
        ("data", "substr(data, 1, 30)"),
        ("uid", "x'00112233445566778899aabbccddeeff'"),
    ],
)
def test_a_changed_record_of_a_node_is_found(damage, column, value):
    """What is not under the digest is checked against what is."""
    report = damage(f"UPDATE nodes SET {column} = {value} WHERE {LEAF}")
    assert not report.good
    assert report.counts.messages == 168


@pytest.mark.parametrize("where", [LEAF, CONDENSED, FRAME], ids=["leaf", "condensed", "frame"])
def test_a_node_that_says_it_was_asked_for_otherwise_is_found(damage, whole, where):
    """The source key of a node is derived from its sources and the sizes that were asked for."""
    report = damage(flip("source_key", "nodes", where))
    assert {(f.kind, f.uid) for f in report.failures} == {("node", uid_of(whole, "nodes", where))}


def test_missing_rows_are_found(damage):
    """A message without a place, a place without a message, a node that is gone."""
    assert not damage(
        f"DELETE FROM entries WHERE message = (SELECT id FROM messages WHERE {SMALL})"
    ).good
    assert not damage(f"DELETE FROM messages WHERE {LARGE}").good
    assert not damage(f"DELETE FROM nodes WHERE {CONDENSED}").good


@pytest.mark.parametrize("table", ["payloads", "versions"])
def test_missing_contents_are_found(damage, table):
    """What a message refers to must be there."""
    report = damage(f"DELETE FROM {table}")
    assert {finding.kind for finding in report.failures} >= {"message"}


def test_messages_in_another_order_are_found(damage):
    """Two messages that changed places are no longer a run of the line."""
    report = damage(
        "UPDATE entries SET message = 5 - message WHERE message IN (2, 3)",
    )
    assert not report.good


def test_a_message_twice_on_a_line_is_found(damage):
    """A line holds each message once."""
    report = damage(
        "INSERT INTO entries SELECT line, 1 << 40, message, turn, 0, 0 FROM entries LIMIT 1"
    )
    assert "stands twice" in " ".join(finding.what for finding in report.failures)


def test_a_circle_is_found_and_ends(damage):
    """A graph that goes round gives a report."""
    report = damage(
        "UPDATE edges SET message = NULL, version = 0,"
        f" source = (SELECT id FROM nodes WHERE {CONDENSED})"
        " WHERE place = 0 AND node = (SELECT source FROM edges"
        f" WHERE node = (SELECT id FROM nodes WHERE {CONDENSED}) ORDER BY place LIMIT 1)"
    )
    assert "it has a source that was made after it" in {finding.what for finding in report.failures}


def test_a_summary_row_that_lost_a_block_is_found(damage, whole):
    """Messages that were summarised and are shown by nothing any more are named, each of them."""
    report = damage(
        "DELETE FROM edges WHERE place = 0 AND node IN (SELECT id FROM nodes WHERE kind = 'frame')"
    )
    lost = {f.uid for f in report.failures if "neither under" in f.what}
    first = uid_of(whole, "messages", "id = 1")
    assert first in lost
    assert len(lost) > 3


@pytest.mark.parametrize(
    "table", ["sessions", "lines", "messages", "entries", "nodes", "edges", "passes"]
)
def test_a_missing_table_gives_a_report(damage, table):
    """Whatever is gone: failures, and no exception."""
    assert not damage(f"DROP TABLE {table}").good


@pytest.mark.parametrize(
    ("statement", "name", "what"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON messages BEGIN DELETE FROM messages WHERE id = new.id; END",
         "t", "is a trigger on messages that is none of lcm's"),
        ("CREATE VIEW v AS SELECT * FROM messages", "v", "is a view on v that is none of lcm's"),
        ("CREATE TABLE theirs (x)", "theirs", "is a table on theirs that is none of lcm's"),
        ("CREATE TABLE message_index_more (x)", "message_index_more",
         "is a table on message_index_more that is none of lcm's"),
        ("CREATE INDEX i ON messages (role)", "i", "is an index on messages that is none of lcm's"),
        ("DROP INDEX passes_by_session", "passes_by_session", "is an index that is lacking"),
        ("ALTER TABLE passes ADD COLUMN x", "passes", "is a table that is not as lcm makes it"),
    ],
)  # fmt: skip
def test_what_else_is_in_the_file_is_named(damage, statement, name, what):
    """A trigger may take away what a door has stored; rows do not tell of it."""
    assert [tuple_of(each) for each in damage(statement).failures] == [("file", name, what)]


def tuple_of(finding):
    return finding.kind, finding.uid, finding.what


def test_garbage_in_the_file_gives_a_report(whole, tmp_path):
    """Pages overwritten in the middle of the file are reported."""
    path = tmp_path / "lcm.db"
    data = bytearray(whole.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 16384] = b"\xa5" * 16384
    path.write_bytes(data)
    store = open_store(path, create=False)
    report = verify(store)
    store.close()
    assert not report.good


# what is odd and innocent


def test_taking_back_what_was_compacted_is_no_fault():
    """A host that goes back to a list from before a compaction leaves a note at most."""
    store = open_store("memory:")
    talked = Talk(store).say(*range(8))
    earlier = list(talked.rows)
    talked.compact()
    talked.rows = earlier[:16]
    talked.ledger.ingest(talked.rows)
    talked.say(20, 21)
    report = verify(store)
    assert report.failures == ()
    assert "went back" in report.notes[0].what


def test_a_conversation_begun_anew_is_no_fault():
    """The first turn was taken back before anything was compacted."""
    store = open_store("memory:")
    talked = Talk(store).say(1)
    talked.rows = []
    talked.ledger.ingest([])
    talked.say(*range(2, 12)).compact()
    report = verify(store)
    assert report.failures == ()


def test_undo_retry_branch_and_rotation_are_no_fault():
    """What hosts do to their lists between two compactions leaves no failure and no note."""
    store = open_store("memory:")
    talked = Talk(store).say(*range(10)).compact()
    talked.rows = talked.rows[:-4]  # undo
    talked.say(30)
    branch = Talk(store, "s2", parent="s1", relation="branch")
    branch.rows = list(talked.rows)
    branch.say(*range(40, 50)).compact()
    rotated = Talk(store, "s3", parent="s1", relation="rotation")
    rotated.rows = list(talked.rows)
    rotated.say(*range(60, 70)).compact()
    report = verify(store)
    assert (report.failures, report.notes) == ((), ())
    assert report.counts.sessions == 3
    assert report.counts.withdrawn >= 4


def test_what_a_branch_compacted_is_no_fault_of_its_parent():
    """The first turn was cut inside, its question kept behind the summary row; in a branch it is under a node."""
    store = open_store("memory:")
    talked = Talk(store)
    talked.rows = [turn(1)[0]]
    for number in range(1, 40):
        talked.rows += turn(number)[1:3]
    talked.ledger.ingest(talked.rows)
    talked.compact()
    assert turn(1)[0]["content"] in [row["content"] for row in talked.rows]
    assert (verify(store).failures, verify(store).notes) == ((), ())
    branch = Talk(store, "s2", parent="s1", relation="branch")
    branch.rows = list(talked.rows)
    branch.say(*range(40, 60)).compact()
    assert turn(1)[0]["content"] not in [row["content"] for row in branch.rows]
    report = verify(store)
    assert (report.failures, report.notes) == ((), ())


def test_a_discarded_compaction_is_no_fault():
    """The host threw the result away and went on with its list."""
    store = open_store("memory:")
    talked = Talk(store).say(*range(10))
    earlier = list(talked.rows)
    talked.compact()
    talked.rows = earlier
    talked.say(20)
    report = verify(store)
    assert (report.failures, report.notes) == ((), ())


def test_an_agent_may_write_meanwhile(whole, tmp_path):
    """A store that grows while it is verified is as sound as before."""
    path = tmp_path / "lcm.db"
    shutil.copy(whole, path)
    reader, writer = open_store(path, create=False), open_store(path, create=False)
    other = Talk(writer, "s9")
    steps = iter(range(100, 112))

    def write(what, done, total):
        if (number := next(steps, None)) is not None:
            other.say(number)
            if number % 6 == 5:
                other.compact()

    report = verify(reader, write)
    assert report.good
    assert verify(reader).counts.messages == 168 + 48
    reader.close()
    writer.close()


def test_progress_is_told(whole):
    """Nodes are counted up, then messages and lines, of a known number."""
    told = []
    store = open_store(whole, create=False)
    verify(store, lambda *step: told.append(step))
    store.close()
    assert told[-2:] == [("messages", 168, 168), ("lines", 1, 1)]
    assert list(dict.fromkeys(what for what, _, _ in told)) == [
        "file",
        "rows",
        "nodes",
        "messages",
        "lines",
    ]


@pytest.mark.parametrize("where", [LEAF, CONDENSED, FRAME], ids=["leaf", "condensed", "frame"])
@pytest.mark.parametrize(
    "data", ["substr(data, 1, 40)", "'null'", "json_set(data, '$.hints', json('null'))"]
)
def test_a_node_that_cannot_be_read_is_one_fault(damage, whole, where, data):
    """What stands over it and under it is not called missing, and all messages are accounted for."""
    report = damage(f"UPDATE nodes SET data = {data} WHERE {where}")
    uid = uid_of(whole, "nodes", where)
    assert {(finding.kind, finding.uid) for finding in report.failures} == {("node", uid)}
    assert len(report.failures) == 2  # its seal, and that it cannot be read
    assert report.notes == ()
