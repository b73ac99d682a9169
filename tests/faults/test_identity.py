"""Dedupe and identity: the same message is one, and two messages are two."""

from __future__ import annotations

import copy
import sqlite3

from faultkit import ask, called, database, kept, result, said, talk, totals, user, verbatim


def test_a_throw_away_agent_makes_no_second_copy(make, home):
    """DED-06: a fresh engine under another platform compacts the same list; each message is there once."""
    rows = talk(60)
    first = make(session="")
    first.on_session_start("s", hermes_home=str(home), platform="telegram")
    first.ingest(rows)
    second = make(session="")
    second.on_session_start("s", hermes_home=str(home), platform="cli")
    out = second.compress(copy.deepcopy(rows), force=True)
    assert len(out) < len(rows)
    second.on_session_end("s", [])
    assert 1 == first.ingest([*rows, user("and on")]).new
    assert [*rows, user("and on")] == kept(home)
    assert 121 == totals(home).messages


def test_a_live_turn_and_its_transcript_are_one(make, home):
    """DED-07: the turn's own door, then the session's end and a restored transcript with the same rows."""
    rows = [user("read it "), called("c"), result("c", "its text"), said("It says so.")]
    engine = make()
    engine.on_turn_complete(rows)
    engine.on_session_end("s", copy.deepcopy(rows))
    restored = [user("read it", timestamp=1.5), *copy.deepcopy(rows[1:])]
    engine.on_session_end("s", restored)
    assert 0 == make().ingest(restored).new
    assert rows == kept(home)


def test_a_cleaned_list_after_a_restart_adds_only_what_is_new(make, home):
    """DED-09: a blank answer was cleaned away and one row is new: four messages, the blank one among them."""
    system = {"role": "system", "content": "be good"}
    rows = [user("is it on?"), said(""), said("It is on.")]
    make().ingest([system, *rows])
    new = user("since when?")
    again = make()
    assert 1 == again.ingest([system, rows[0], rows[2], new]).new
    assert 0 == again.ingest([system, rows[0], rows[2], new]).new
    assert [*rows, new] == kept(home)


def test_a_large_row_and_its_stub_are_one(make, home):
    """DED-10: 30,000 characters, kept beside the row: the full text, a stub of it, the full text again."""
    text = "".join(f"line {n} of the log\n" for n in range(1500))
    rows = [*talk(4), user("read it"), called("c"), result("c", text)]
    engine = make()
    engine.ingest(rows)
    out = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert text != out[-1]["content"]
    for shown in (out, rows, out):
        assert (0, 0) == ((report := make().ingest(copy.deepcopy(shown))).new, report.revised)
    assert rows == kept(home)
    assert 0 == totals(home).versions


def test_a_tail_that_stays_is_found_once(make, home):
    """DED-11: three passes over the same four rows at the end; a word of theirs is found in one message."""
    last = [
        user("remember the quokka"),
        said("I will."),
        user("and the numbat"),
        said("That as well."),
    ]
    engine = make()
    rows = [*talk(60), *last]
    for _ in range(3):
        out = engine.compress(rows, force=True)
        assert last == out[-4:]
        rows = [*out[:-4], *talk(40, first=200), *last]
    assert 1 == ask(engine, "lcm_grep", query="quokka", mode="exact")["total"]
    assert 1 == sum("quokka" in str(row["content"]) for row in kept(home))


def test_passes_store_nothing_again(make, home):
    """DED-12: a pass, five turns, a pass, five turns, a pass: as many messages as were sent."""
    engine = make()
    sent = live = talk(60)
    for n in range(3):
        live = engine.compress(live, force=True)
        more = talk(5, first=1000 * (n + 1))
        live, sent = [*live, *more], [*sent, *more]
        engine.on_turn_complete(live)
    assert sent == kept(home)
    assert len(sent) == totals(home).messages


def test_white_space_makes_no_second_message_and_hides_none(make, home):
    """DED-13: a row that comes back with its blanks collapsed is the same; two rows that differ by them are two."""
    rows = [user("a  b"), said("first"), user("a b"), said("second")]
    make().ingest(rows)
    collapsed = [user("a b"), *rows[1:]]
    report = make().ingest(collapsed)
    assert (0, 0) == (report.new, report.withdrawn)
    assert rows == kept(home)
    assert 0 == totals(home).versions


def test_rows_put_back_by_an_operator_are_known(make, home):
    """DED-14: what the store gives back, put into the host and played after the session's end, is nothing new."""
    rows = [user("read it"), called("c"), result("c", "its text\n" * 900), said("It says so.")]
    first = make()
    first.ingest(rows)
    first.on_session_end("s", rows)
    uids = [
        row["uid"]
        for row in ask(first, "retrieve_conversation_history", start_turn=1, end_turn=1)["messages"]
    ]
    restored = copy.deepcopy(rows)
    restored[2]["content"] = verbatim(first, uids[2])[0][1]
    assert rows == restored
    assert 0 == make().ingest(restored).new
    assert rows == kept(home)


def test_no_key_has_a_hole(make, home):
    """DED-15: every column of every unique index refuses NULL, so uniqueness never switches itself off."""
    make().ingest(talk(1))
    sql = sqlite3.connect(f"file:{database(home)}?mode=ro", uri=True)
    tables = [
        row[0]
        for row in sql.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\\_index%' ESCAPE '\\'"
            " AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_%' ESCAPE '\\'"
        )
    ]
    open_columns = []
    for table in tables:
        columns = {
            row[1]: bool(row[3])
            for row in sql.execute(f"PRAGMA table_info({table})")  # name: NOT NULL
        }
        for index in sql.execute(f"PRAGMA index_list({table})").fetchall():
            names = [row[2] for row in sql.execute(f"PRAGMA index_info({index[1]})")]
            if index[2]:
                open_columns += [f"{table}.{name}" for name in names if not columns[name]]
    sql.close()
    assert len(tables) > 5
    assert [] == open_columns
