"""What every store must do, asked of each backend in turn."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from lcm.storage import open_store
from lcm.storage.canon import decode, digest, encode
from lcm.storage.errors import StoreDamaged
from lcm.storage.records import Draft, Filter, Node, Pass, Source
from lcm.storage.text import searchable


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    kept = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield kept
    kept.close()


def draft(number, message=None, *, time=None, uid=None):
    message = message or {"role": "user", "content": f"message number{number}"}
    body = encode(message)
    return Draft(
        uid=uid or f"{number:032x}",
        role=message["role"],
        body=body,
        text=searchable(message),
        key=digest(body)[:12],
        digest=digest(body),
        time=float(number if time is None else time),
        tokens=len(body) // 4,
        tool=str(message.get("tool_name", "")),
    )


def filled(store, count=3):
    session = store.open_session("s")
    store.append(session.line, [(draft(n), n) for n in range(1, count + 1)])
    return session.line


def node(uid, line, sources, **kw):
    values = {
        "uid": f"{uid:032x}", "kind": "leaf", "line": line, "source_key": f"k{uid}", "depth": 0,
        "texts": {15: "short", 50: f"a longer text about zebra{uid}"}, "topic": "animals", "hints": ("zebras",),
        "sufficient": 50, "degraded": "", "first_seq": 1, "last_seq": 9, "first_turn": 1, "last_turn": 2,
        "messages": len(sources), "lifted": (), "source_tokens": 10, "time": 1.0, "sources": tuple(sources),
    }  # fmt: skip
    return Node(**(values | kw))


def test_messages_come_back_byte_for_byte(store):
    """Whatever a message holds, its canonical JSON is what went in."""
    messages = [
        {"role": "user", "content": None},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a"},
                {"type": "image_url", "image_url": {"url": "x" * 9000}},
            ],
        },
        {
            "role": "assistant",
            "content": "nul \0 and \ud83d alone",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}}],
        },
        {
            "role": "tool",
            "content": "y" * 5_000_000,
            "tool_call_id": "c",
            "unknown": {"deep": ["z" * 3000, 1.5, True]},
        },
    ]
    line = store.open_session("s").line
    entries = store.append(line, [(draft(n, message), n) for n, message in enumerate(messages, 1)])
    back = store.read([(entry.id, 0) for entry in entries])
    assert [encode(message) for message in messages] == [kept.body for kept in back]
    assert messages == [decode(kept.body) for kept in back]


def test_a_large_string_is_kept_once(tmp_path):
    """The same 1 MB result under two call ids costs its compressed size once."""
    store = open_store(tmp_path / "lcm.db")
    line = store.open_session("s").line
    noise = "".join(f"{n:x}-" for n in range(200_000))
    store.append(line, [(draft(1, {"role": "tool", "content": noise, "tool_call_id": "a"}), 1)])
    once = store.totals().bytes
    store.append(line, [(draft(2, {"role": "tool", "content": noise, "tool_call_id": "b"}), 1)])
    # The words are indexed per message; the text itself is not stored again.
    assert store._connection.sql.execute("SELECT count(*) FROM payloads").fetchone() == (1,)
    assert store.totals().bytes < 2 * once
    store.close()


def test_rows_stand_in_order_and_can_be_put_between(store):
    """A row that is learnt of late goes to its place."""
    line = filled(store)
    first, second, third = store.entries(line)
    (between,) = store.append(line, [(draft(9), 1)], after=first.seq)
    (front,) = store.append(line, [(draft(8), 0)], after=0)
    assert [front.id, first.id, between.id, second.id, third.id] == [
        e.id for e in store.entries(line)
    ]
    assert [second.id, third.id] == [e.id for e in store.tail(line, 2)]
    assert [between.id, second.id] == [e.id for e in store.tail(line, 2, before=third.seq)]
    assert [second.id] == [e.id for e in store.turns(line, 2, 2)]


@pytest.mark.parametrize(
    ("brief", "lacking"),
    [("places", {"uid": "", "key": b""}), ("names", {"key": b"", "digest": b""})],
)
def test_brief_entries_lack_what_nobody_asked_for_alone(store, brief, lacking):
    """Whoever plans over a long line, or shows it, asks for them: all else is the same."""
    line = filled(store)
    whole, found = store.entries(line), store.entries(line, brief=brief)
    assert [each._replace(**lacking) for each in whole] == [
        each._replace(**lacking) for each in found
    ]


def test_a_version_supersedes_and_keeps(store):
    """The new version is current; the old one is there and found."""
    line = filled(store)
    entry = store.entries(line)[1]
    store.revise(
        line, entry.id, draft(50, {"role": "user", "content": "quite different"}, uid=entry.uid)
    )
    old, new = store.read([(entry.id, 1), (entry.id, 0)])
    assert ("message number2", "quite different") == (
        decode(old.body)["content"],
        decode(new.body)["content"],
    )
    assert (1, 2, 2) == (old.version, new.version, new.versions)
    assert [entry.id] == [hit.message for hit in store.search(["different"], [], Filter(), 5)]
    assert [(entry.id, 1)] == [
        (hit.message, hit.version) for hit in store.search(["number2"], [], Filter(), 5)
    ]
    assert {(entry.id, 1), (entry.id, 2)} <= {
        (number, version) for number, version, _ in store.texts(Filter())
    }


def test_a_uid_once_given_works_for_ever(store):
    """A message whose host uid arrives later answers to both."""
    line = filled(store)
    entry = store.entries(line)[0]
    store.rename(line, entry.id, "f" * 32)
    store.alias(entry.id, "not-hex")
    assert {entry.uid: entry.id, "f" * 32: entry.id, "not-hex": entry.id} == store.known(
        [entry.uid, "f" * 32, "not-hex", "x"]
    )
    assert [("message", "f" * 32)] == store.resolve("ffffff")
    assert [("message", "f" * 32)] == store.resolve("not-h")
    assert "f" * 32 == store.entries(line)[0].uid


def test_a_uid_leads_to_the_message_that_has_it_and_to_no_other(store):
    """Whatever else it was a name of, and in whatever order both come."""
    line = filled(store)
    for number in (7, 8):
        store.alias(1, f"{number:032x}")
    (seventh,) = store.append(line, [(draft(7), 4)])
    store.rename(line, 2, f"{8:032x}")
    store.alias(1, f"{7:032x}")
    store.rename(line, 3, f"{7:032x}")
    uids = {
        f"{number:032x}": message
        for number, message in ((1, 1), (2, 2), (8, 2), (3, 3), (7, seventh.id))
    }
    assert uids == store.known(uids)
    assert {2: (f"{2:032x}",)} == store.archive().aliases()
    assert {} == store.check()


def test_withdrawn_is_a_mark_that_can_be_revoked(store):
    """Undo marks; nothing leaves."""
    line = filled(store)
    last = store.entries(line)[-1]
    before = store.revision(line)
    store.withdraw(line, [last.seq], withdrawn=True)
    assert [False, False, True] == [entry.withdrawn for entry in store.entries(line)]
    assert before != store.revision(line)
    assert [last.id] == [entry.id for entry in store.withdrawn(line, last=last.seq)]
    assert 1 == store.totals(line).withdrawn
    store.withdraw(line, [e.seq for e in store.entries(line)], withdrawn=False)
    assert 0 == store.totals(line).withdrawn == store.totals().withdrawn
    assert [] == store.withdrawn(line, last=last.seq)
    assert [False, False, True] == [entry.returned for entry in store.entries(line)]
    places = store.audit().places(line, 0, last.seq, 9)
    assert [True, False, False] == [place.returned for place in places]
    assert store.audit().placed(line, [last.id])[last.id].returned


def test_what_was_taken_back_is_found_without_reading_the_line(tmp_path):
    """Each start of a process asks for it: a session of a year must not be read for that."""
    store = open_store(tmp_path / "lcm.db")
    line = store.open_session("s").line
    drafts = [(draft(n), n) for n in range(1, 3001)]
    entries = store.append(line, drafts)
    store.withdraw(line, [entries[7].seq], withdrawn=True)
    steps = []
    sql = store._connection.sql
    sql.set_progress_handler(lambda: steps.append(1), 100)
    assert [entries[7].id] == [e.id for e in store.withdrawn(line, last=entries[-1].seq)]
    sql.set_progress_handler(None, 0)
    assert len(steps) <= 3
    store.close()


def test_a_brief_node_has_the_nodes_among_its_sources(store):
    """A leaf stands for thousands of messages, and a pass that shows it needs none of them."""
    line = filled(store)
    first = node(1, line, [Source(1, 1, None, 0)])
    mixed = node(2, line, [Source(None, 0, first.uid, 50), Source(2, 1, None, 0)])
    for each in (first, mixed):
        store.put_node(each)
    assert [first, mixed] == store.nodes([first.uid, mixed.uid])
    for brief in (store.nodes([mixed.uid], brief=True)[0], store.nodes_for(["k2"])["k2"]):
        assert mixed.sources[:1] == brief.sources
        assert replace(mixed, sources=()) == replace(brief, sources=())


def test_rotation_shares_a_line_and_a_branch_copies_it(store):
    """Later rows of a branch are not its parent's."""
    line = filled(store)
    rotated = store.open_session("s2", parent="s", relation="rotation")
    branch = store.open_session("b", parent="s", relation="branch")
    assert line == rotated.line
    assert rotated == store.open_session("s2")
    store.append(branch.line, [(draft(77), 4)])
    assert (3, 4) == (len(store.entries(line)), len(store.entries(branch.line)))
    assert (branch.line, line) == store.lineage(branch.line)
    assert ["s", "s2", "b"] == [session.name for session in store.sessions()]
    assert "new" == store.open_session("z", parent="unknown", relation="branch").relation


def test_link_puts_a_known_message_on_another_line(store):
    """One message, two lines, one uid."""
    line = filled(store)
    other = store.open_session("other").line
    first = store.entries(line)[0]
    (linked,) = store.link(other, [(first.id, 1)])
    assert (first.id, first.uid) == (linked.id, linked.uid)
    assert 3 == store.totals().messages
    assert [linked] == store.placed(other, [first.id])


def test_renumbered_turns(store):
    """Turn numbers follow when a user row is learnt of late."""
    line = filled(store)
    store.renumber(line, [(entry.seq, entry.turn + 1) for entry in store.entries(line)])
    assert [2, 3, 4] == [entry.turn for entry in store.entries(line)]


def test_nodes_keep_their_sources_in_order(store):
    """Expanding at any depth gives the messages from left to right, each in its version."""
    line = filled(store, 4)
    a, b, c, d = store.entries(line)
    store.put_node(node(1, line, [Source(message=b.id, version=1)]))
    store.put_node(
        node(
            2,
            line,
            [
                Source(message=a.id, version=1),
                Source(node=f"{1:032x}"),
                Source(message=c.id, version=1),
            ],
            depth=1,
        )
    )
    store.put_node(node(3, line, [Source(node=f"{2:032x}", level=50)], kind="frame", depth=2))
    assert [(a.id, 1), (b.id, 1), (c.id, 1)] == store.stands_for(f"{3:032x}")
    (back,) = store.nodes([f"{2:032x}"])
    assert node(2, line, back.sources, depth=1) == back
    assert {a.id: f"{2:032x}", b.id: f"{1:032x}"} == store.over([a.id, b.id, d.id])
    assert [1, 2] == [int(each.uid, 16) for each in store.nodes_on([line])]
    assert {0: 1, 1: 1} == store.totals(line).nodes


def test_the_first_node_stands_and_a_repaired_one_is_preferred(store):
    """Same source key: what is not degraded wins, then what came first."""
    line = filled(store)
    store.put_node(node(1, line, [], source_key="k", degraded="timeout"))
    store.put_node(node(1, line, [], source_key="other"))
    assert f"{1:032x}" == store.nodes_for(["k", "none"])["k"].uid
    assert 1 == store.totals(line).degraded
    assert [f"{1:032x}"] == [each.uid for each in store.degraded([line], 9)]
    assert [] == store.degraded([line + 1], 9) == store.degraded([line], 0)
    store.put_node(node(2, line, [], source_key="k"))
    store.put_node(node(3, line, [], source_key="k"))
    assert f"{2:032x}" == store.nodes_for(["k"])["k"].uid
    assert 0 == store.totals(line).degraded
    assert [] == store.degraded([line], 9)


def test_search_takes_any_bytes_and_ranks(store):
    """No query is a syntax error; the rarer word wins."""
    line = store.open_session("s").line
    texts = [
        "the cat sat on the mat",
        "the dog",
        "a zebra and the dog \0 behind a nul",
        "讨论记忆断裂的问题",
    ]
    ids = [
        store.append(line, [(draft(n, {"role": "user", "content": text}), n)])[0].id
        for n, text in enumerate(texts, 1)
    ]
    assert ids[2] == store.search(["the", "zebra"], [], Filter(), 9)[0].message
    assert [ids[2]] == [hit.message for hit in store.search(["nul"], [], Filter(), 9)]
    assert [ids[3]] == [hit.message for hit in store.search([], ["记忆"], Filter(), 9)]
    for text in ['"', "C++", "NEAR(", "a:b", "*", "", " ", "\ud83d", "\0", "x" * 100_000, "%_"]:
        assert [] == store.search([text], [text], Filter(lines=()), 9)
        store.search([text], [text], Filter(), 9)


def test_filters_come_before_the_limit(store):
    """A limit counts what the filter lets through."""
    line = store.open_session("s").line
    other = store.open_session("t").line
    rows = [{"role": "user", "content": "zebra zebra"}] * 5 + [
        {"role": "tool", "tool_name": "read_file", "content": "one zebra here"}
    ]
    made = store.append(line, [(draft(n, row, time=n), n) for n, row in enumerate(rows, 1)])
    store.append(other, [(draft(99, rows[0]), 1)])
    last = made[-1].id
    assert [last] == [
        hit.message for hit in store.search(["zebra"], [], Filter(roles=("tool",)), 1)
    ]
    assert [last] == [
        hit.message for hit in store.search(["zebra"], [], Filter(tool="read_file"), 1)
    ]
    assert 6 == len(store.search(["zebra"], [], Filter(lines=(line,)), 50))
    assert {2, 3} == {
        hit.message
        for hit in store.search(["zebra"], [], Filter(lines=(line,), since=2, until=3), 50)
    }
    assert [last] == [number for number, _, _ in store.texts(Filter(tool="read_file"))]
    counted = [
        store.count(Filter((line,), **where))
        for where in ({}, {"roles": ("user",)}, {"since": 2, "until": 3}, {"without": (last,)})
    ]
    assert [6, 5, 2, 5] == counted
    assert [7, 0] == [store.count(Filter()), store.count(Filter(()))]


def test_turns_are_those_of_the_lines(store):
    """A message that stands on two lines is of a turn on each."""
    one, two = store.open_session("s").line, store.open_session("t").line
    rows = [draft(n, {"role": "user", "content": f"zebra {n}"}) for n in range(1, 4)]
    ids = [entry.id for entry in store.append(one, list(zip(rows, (1, 2, 3), strict=True)))]
    store.link(two, [(ids[2], 1)])

    def found(**where):
        hits = store.search(["zebra"], [], Filter(**where), 9)
        read = {number for number, _, _ in store.texts(Filter(**where))}
        assert read == {hit.message for hit in hits}
        assert len(read) == store.count(Filter(**where))
        return read

    assert set(ids[:2]) == found(turns=(1, 2), lines=(one,))
    assert {ids[2]} == found(turns=(1, 2), lines=(two,))
    assert set(ids) == found(turns=(1, 2))
    assert set() == found(turns=(4, 9))
    assert {ids[0]: one, ids[2]: one} == store.lines_of([ids[2], ids[0], 10**6])


def test_nodes_are_found_and_frames_are_not(store):
    """A frame repeats what its nodes say."""
    line = filled(store)
    store.put_node(node(1, line, []))
    store.put_node(node(2, line, [], kind="frame"))
    assert [f"{1:032x}"] == [hit.node for hit in store.search_nodes(["zebras"], [], Filter(), 9)]
    assert [] == store.search_nodes(["zebras"], [], Filter(lines=()), 9)
    assert 4 == store.reindex() or store.path == ""
    assert [f"{1:032x}"] == [hit.node for hit in store.search_nodes(["zebras"], [], Filter(), 9)]
    assert 1 == len(store.search(["number2"], [], Filter(), 9))


def test_what_is_remembered(store):
    """Small values per session, and the list of passes."""
    store.remember("s", "state", {"a": [1]})
    store.remember("s", "state", {"a": [2]})
    assert ({"a": [2]}, None) == (store.recall("s", "state"), store.recall("t", "state"))
    done = Pass(1.0, "s", 100, 50, 9, 4, "f" * 32, {"nodes": 2})
    store.record_pass(done)
    assert [done] == store.passes(["s"]) == store.passes()
    assert [] == store.passes(["t"])
    assert (1, 0) == (store.passed("s"), store.passed("t"))


def test_a_missing_message_is_named(store):
    """Reading what is not there is an error, not an empty answer."""
    with pytest.raises(StoreDamaged, match="4711"):
        store.read([(4711, 0)])


def test_stream_gives_every_version(store):
    """For verification: all that is kept, one at a time."""
    line = filled(store)
    store.revise(line, 2, draft(50, uid=f"{2:032x}"))
    assert [(1, 1), (2, 1), (2, 2), (3, 1)] == [(m.id, m.version) for m in store.stream()]
    assert [(1, 1), (2, 1), (2, 2), (3, 1)] == [(m.id, m.version) for m in store.stream(line)]
    assert {} == store.check()


def test_a_sound_store_passes_its_audit(store):
    """Whatever was done to lines, messages and uids: every row is what was written last."""
    line = filled(store)
    store.revise(line, 2, draft(50, uid=f"{2:032x}"))
    store.rename(line, 1, "f" * 32)
    store.alias(3, "e" * 32)
    store.withdraw(line, [store.tail(line, 1)[0].seq], withdrawn=True)
    store.renumber(line, [(entry.seq, entry.turn + 1) for entry in store.entries(line)])
    branch = store.open_session("b", parent="s", relation="branch").line
    other = store.open_session("t").line
    store.link(other, [(1, 1)])
    store.append(branch, [(draft(60), 4)], after=0)
    store.put_node(node(1, line, [Source(message=1, version=1)]))
    store.remember("s", "state", 1)
    store.remember("s", "state", 2)
    store.record_pass(Pass(1.0, "s", 10, 5, 4, 2, ""))
    audit = store.audit()
    assert [] == list(audit.faults())
    assert [(1, "f" * 32, 1, False), (2, f"{2:032x}", 2, False)] == audit.messages(0, 2)
    assert [3, 4] == [each.number for each in audit.messages(2, 9)]
    places = [(e.id, e.seq, e.withdrawn, e.returned) for e in store.entries(line)]
    assert places[:0:-1] == audit.places(line, places[1][1], places[2][1], 9)
    assert places[:1:-1] == audit.places(line, 0, 1 << 60, 1)
    assert {1: places[0], 3: places[2]} == audit.placed(line, [1, 3, 4, 9])
    first, second = store.read([(2, 1), (2, 2)])
    keys = [key for entry in store.entries(line) for _, key in store.editions(entry.id)]
    assert sorted(keys) == sorted(audit.keys(line))
    wanted = {(2, 1): first.digest, (2, 2): second.digest}
    assert wanted == audit.digests([(2, 1), (2, 2), (2, 3), (9, 1)])
    assert [(1, f"{1:032x}")] == audit.nodes(0, 9)
    assert [] == audit.nodes(1, 9)


def test_a_failed_block_leaves_nothing(tmp_path):
    """All or nothing, also for what nested blocks wrote."""
    store = open_store(tmp_path / "lcm.db")
    line = store.open_session("s").line
    with pytest.raises(KeyboardInterrupt), store.writing():
        store.append(line, [(draft(1), 1)])
        raise KeyboardInterrupt
    assert [] == store.entries(line)
    store.append(line, [(draft(1), 1)])
    store.close()
    store.close()
    again = open_store(tmp_path / "lcm.db")
    assert 1 == len(again.entries(line))
    again.close()


def test_threads_take_turns(store):
    """Eight threads append to one line; every row is there once, in a strict order."""
    line = store.open_session("s").line

    def work(who):
        for n in range(25):
            store.append(line, [(draft(who * 1000 + n), 1)])

    threads = [threading.Thread(target=work, args=[who]) for who in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    entries = store.entries(line)
    assert 200 == len(entries) == len({entry.seq for entry in entries})


def test_vocabulary(store):
    """Terms of what was said, for repairing typos."""
    filled(store)
    assert {"number1", "number2"} <= set(store.vocabulary())


def test_a_store_is_opened_anew_only_if_its_file_is_another(store):
    """While nothing happened to its file a store is not stale, before and after writing."""
    assert not store.stale()
    filled(store)
    assert not store.stale()
