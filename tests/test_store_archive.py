"""What moving a store needs, asked of each backend in turn."""

from __future__ import annotations

import pytest
from lcm.storage import open_store
from lcm.storage.archive import LineTotals, Placed
from lcm.storage.canon import digest, encode
from lcm.storage.records import Draft, Filter, Session
from lcm.storage.text import searchable


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    kept = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield kept
    kept.close()


def draft(number, content=""):
    message = {"role": "user", "content": content or f"message number{number}"}
    body = encode(message)
    return Draft(
        uid=f"{number:032x}", role="user", body=body, text=searchable(message), key=digest(body)[:12],
        digest=digest(body), time=float(number), tokens=1,
    )  # fmt: skip


def test_a_session_is_restored_on_its_own_line(store):
    """Name, line, parent and time are as they were; the line begins empty and remembers its base."""
    store.archive().restore_session(Session("old", 3, "", "new", 12.5))
    branch = Session("twig", 7, "old", "branch", 13.5)
    assert branch == store.archive().restore_session(branch, 3)
    assert [Session("old", 3, "", "new", 12.5), branch] == store.sessions()
    assert (7, 3) == store.lineage(7)
    assert [] == store.entries(7)
    assert store.open_session("next").line == 8


def test_a_session_that_is_there_stays_as_it_is(store):
    """Restoring under a name that is taken changes nothing."""
    was = store.open_session("s")
    assert was == store.archive().restore_session(Session("s", 9, "", "new", 1.0))
    assert [was] == store.sessions()


def test_messages_stand_where_they_stood(store):
    """Numbers, order keys, turns and what is withdrawn; a later append goes behind them."""
    line = store.archive().restore_session(Session("s", 1, "", "new", 1.0)).line
    rows = [
        (Placed(12, 1000, 1), draft(12)),
        (Placed(9, 77_000, 2, withdrawn=True), draft(9)),
        (Placed(4, 500, 1, returned=True), draft(4)),
    ]
    store.archive().restore(line, rows)
    found = [(e.id, e.seq, e.turn, e.withdrawn, e.returned) for e in store.entries(line)]
    one, two = (4, 500, 1, False, True), (12, 1000, 1, False, False)
    assert [one, two, (9, 77_000, 2, True, False)] == found
    assert store.append(line, [(draft(20), 3)])[0].id == 13
    assert [9] == [hit.message for hit in store.search(["number9"], [], Filter(), 5)]


def test_numbers_that_are_taken_are_moved_together(store):
    """What keeps numbers free: nothing where they are, else enough to follow the highest."""
    line = store.open_session("s").line
    assert [0, 0] == [store.archive().shift(numbers) for numbers in ([], [7, 8])]
    store.append(line, [(draft(n), n) for n in (1, 2, 3)])
    store.archive().restore(line, [(Placed(8, 1 << 30, 3), draft(8))])
    found = [store.archive().shift(numbers) for numbers in ([9, 10], [4, 5], [2, 10], [5, 8])]
    assert [0, 0, 7, 4] == found


def test_a_line_number_that_no_line_has(store):
    """The one behind the last, whichever sessions stand there."""
    assert 1 == store.archive().next_line()
    store.archive().restore_session(Session("s", 5, "", "new", 1.0))
    assert 6 == store.archive().next_line()


def test_a_message_may_be_put_on_another_line_too(store):
    """Without a draft the message that is stored stands on the line as well."""
    line = store.open_session("s").line
    store.append(line, [(draft(1), 1)])
    other = store.archive().restore_session(Session("other", 2, "", "new", 1.0)).line
    store.archive().restore(other, [(Placed(1, 5, 1, withdrawn=True), None)])
    (entry,) = store.entries(other)
    assert (1, 5, True) == (entry.id, entry.seq, entry.withdrawn)
    assert not store.entries(line)[0].withdrawn
    assert 1 == store.totals().messages


def test_nothing_restored_is_nothing_changed(store):
    """An empty list is no error."""
    line = store.open_session("s").line
    store.archive().restore(line, [])
    assert [] == store.entries(line)


def test_other_names_are_told(store):
    """Aliases of the messages asked for, and of no others; the uid itself is none."""
    line = store.open_session("s").line
    first, second, third = store.append(line, [(draft(n), n) for n in (1, 2, 3)])
    store.alias(first.id, "zeta")
    store.alias(first.id, "ab" * 16)
    store.rename(line, second.id, "host-uid")
    store.alias(third.id, "other")
    found = store.archive().aliases([first.id, second.id])
    assert {first.id: ("ab" * 16, "zeta"), second.id: (f"{2:032x}",)} == found
    assert {**found, third.id: ("other",)} == store.archive().aliases()


def test_single_messages_are_read_at_once(store):
    """Number, time, tools, digest and body of those that have one version; of an unknown number nothing."""
    line = store.open_session("s").line
    drafts = [draft(n) for n in (1, 2, 3, 4)]
    ids = [entry.id for entry in store.append(line, [(each, 1) for each in drafts])]
    store.revise(line, ids[1], draft(9, "changed"))
    rows = [(n, d.time, d.tool, d.digest, d.body) for n, d in zip(ids, drafts, strict=True)]
    del rows[1]
    assert rows == sorted(store.archive().single(ids))
    assert rows[1:] == sorted(store.archive().single([ids[3], 10**6, ids[2]]))
    assert [] == store.archive().single([])


def test_messages_of_older_lines_are_told(store):
    """Each with the oldest of the lines that it stands on, if that is older than the one asked for."""
    lines = [store.open_session(name).line for name in ("one", "two", "three")]
    one, both = (e.id for e in store.append(lines[0], [(draft(n), n) for n in (1, 2)]))
    store.append(lines[1], [(draft(3), 1)])
    (own,) = (e.id for e in store.append(lines[2], [(draft(4), 1)]))
    store.link(lines[1], [(both, 1)])
    store.link(lines[2], [(both, 1)])
    assert {both: lines[0]} == store.archive().older(lines[2]) == store.archive().older(lines[1])
    assert {} == store.archive().older(lines[0])
    assert {one, own}.isdisjoint(store.archive().older(lines[2]))


def test_the_overview_counts_each_line(store):
    """Messages, withdrawn ones, turns and times; a line without a message has no totals."""
    line = store.open_session("s").line
    entries = store.append(line, [(draft(n), n // 2) for n in (1, 2, 3, 4)])
    store.withdraw(line, [entries[-1].seq], withdrawn=True)
    store.open_session("empty")
    assert {line: LineTotals(4, 1, 2, 1.0, 4.0, 0)} == store.archive().overview()


def test_a_snapshot_is_of_one_moment(tmp_path):
    """What another connection commits inside the block is seen only after it."""
    store, other = open_store(tmp_path / "lcm.db"), open_store(tmp_path / "lcm.db")
    line = store.open_session("s").line
    with store.archive().snapshot():
        assert [] == store.entries(line)
        other.append(line, [(draft(1), 1)])
        assert [] == store.entries(line)
    assert 1 == len(store.entries(line))
    store.close()
    other.close()
