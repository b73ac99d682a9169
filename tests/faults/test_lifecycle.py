"""Lifecycle and rotation: a conversation goes on where it was, and another one begins empty."""

from __future__ import annotations

import copy
import os

from faultkit import ask, database, kept, said, talk, totals, user
from lcm.storage import open_store


class HostSessions:
    """What the host's session database says, as far as it is asked."""

    def __init__(self, **rows):
        self.rows = rows

    def get_session(self, name):
        return self.rows.get(name)


def compacted(engine, rows):
    """*rows* after a pass, which must have made them fewer."""
    out = engine.compress(rows, force=True)
    assert len(out) < len(rows)
    return out


def names(row):
    """The names of the blocks that a summary row shows."""
    return [part.partition("]")[0] for part in row["content"].split("[lcm ")[1:]]


def test_a_rotated_session_reaches_everything(make, home):
    """LIFE-01: another id at the compaction: search, the blocks in the list and the counters go with it."""
    engine = make("s1")
    rows = [user("the password is quokka"), said("noted"), *talk(60)]
    out = compacted(engine, rows)
    engine.on_session_end("s1", rows)
    engine.on_session_start("s2", boundary_reason="compression", old_session_id="s1")
    assert 0 == engine.ingest(out).new
    assert 1 == ask(engine, "lcm_grep", query="quokka", mode="exact")["total"]
    for name in names(out[0]):
        assert ask(engine, "lcm_expand", uid=name)["messages"]
    status = ask(engine, "lcm_status")
    assert (122, 1, ["s1"]) == (status["messages"], status["compactions"], status["rotated_from"])
    assert sum(status["nodes_by_depth"].values()) > 0
    assert rows == kept(home, "s2")
    assert 122 == totals(home).messages


def test_the_hosts_idea_of_the_old_id_may_differ(make, home):
    """LIFE-02: bound to L1, the host says that H1 becomes H2: the line goes on, by what is bound."""
    engine = make("l1")
    rows = talk(60)
    out = compacted(engine, rows)
    engine.on_session_start("h2", boundary_reason="compression", old_session_id="h1")
    assert 1 == engine.ingest([*out, user("and on")]).new
    assert ["l1"] == ask(engine, "lcm_status")["rotated_from"]
    assert [*rows, user("and on")] == kept(home, "h2")


def test_a_rotation_moves_no_other_session(make, home):
    """LIFE-03: the old id that the host names is another session: its rows and nodes stay, and its list works."""
    victim = make("victim")
    rows = talk(60, first=500)
    shown = compacted(victim, rows)
    engine = make("mine")
    engine.ingest(talk(2))
    engine.on_session_start("new", boundary_reason="compression", old_session_id="victim")
    engine.ingest([*talk(2), user("more")])
    assert rows == kept(home, "victim")
    assert [*talk(2), user("more")] == kept(home, "new")
    again = make("victim")
    assert 0 == again.ingest(copy.deepcopy(shown)).new
    assert [] == ask(again, "lcm_status")["rotated_from"]


def test_a_new_session_shows_nothing_of_the_old(make, home):
    """LIFE-04, LIFE-08: condensed nodes in S1, then /new: S2's list, search and counters have nothing of it."""
    engine = make("s1", settings={"condense_fanin": 2})
    old = talk(200, first=1000)
    compacted(engine, old)
    engine.on_session_end("s1", old)
    engine.on_session_reset()
    engine.on_session_start("s2")
    assert (0, 0, 0) == (
        engine.compression_count, engine.last_prompt_tokens, ask_passes(engine),
    )  # fmt: skip
    out = compacted(engine, [user("a fresh start"), *talk(60)])
    assert "question 10" not in str(out)
    assert 0 == ask(engine, "lcm_grep", query="question 1100", mode="exact")["total"]
    assert 1 == ask(engine, "lcm_grep", query="question 1100", mode="exact", scope="all")["total"]
    assert 1 == engine.compression_count
    assert old == kept(home, "s1")


def ask_passes(engine):
    """Compactions as the status has them; none where nothing of the session is stored."""
    return ask(engine, "lcm_status").get("compactions", 0)


def test_resume_and_branch(make, home):
    """LIFE-05: back on S1 its blocks open again; a branch shares them, and what it says is not in S1."""
    engine = make("s1")
    rows = talk(60)
    out = compacted(engine, rows)
    engine.on_session_reset()
    engine.on_session_start("s2")
    engine.ingest([user("elsewhere"), said("yes")])
    engine.on_session_reset()
    engine.bind_session_state(None, "s1")
    assert 0 == engine.ingest(copy.deepcopy(out)).new
    assert all(ask(engine, "lcm_expand", uid=name)["messages"] for name in names(out[0]))
    sessions = HostSessions(s3={"parent_session_id": "s1"}, s1={"end_reason": "branched"})
    engine.on_session_reset()
    engine.bind_session_state(sessions, "s3")
    own = [user("the other way"), said("as you like")]
    assert 2 == engine.ingest([*copy.deepcopy(out), *own]).new
    assert all(ask(engine, "lcm_expand", uid=name)["messages"] for name in names(out[0]))
    assert rows == kept(home, "s1")
    assert [*rows, *own] == kept(home, "s3")
    assert 124 == totals(home).messages


def test_a_restart_is_no_end(make, home):
    """LIFE-06: the session's end, then another process with the same id: the same conversation goes on."""
    engine = make()
    rows = talk(60)
    out = compacted(engine, rows)
    engine.on_session_end("s", out)
    engine.close()
    after = make()
    assert 1 == after.compression_count
    more = [*copy.deepcopy(out), *talk(60, first=500)]
    assert 120 == after.ingest(more).new
    again = compacted(after, more)
    assert names(out[0])[0] in all_names(after)
    assert [*rows, *talk(60, first=500)] == kept(home)
    assert 0 == after.ingest(again).new


def all_names(engine):
    """The short names of every node that the session has."""
    store, session = engine._attachment.stored()
    return [node.uid[:8] for node in store.nodes_on([session.line])]


def test_a_closed_engine_starts_again(make, home):
    """LIFE-07: close, then a start and a turn on the same object: it reopens, and stores the turn once."""
    engine = make()
    engine.ingest(talk(1))
    engine.close()
    engine.on_session_start("s", hermes_home=str(home), platform="cli")
    engine.on_turn_complete(talk(2))
    engine.on_turn_complete(talk(2))
    assert 4 == ask(engine, "lcm_status")["messages"]
    assert [] == engine.get_status()["problems"]
    assert talk(2) == kept(home)


def test_a_job_with_a_stable_key_begins_anew(make, home):
    """LIFE-09: two runs of a job under one conversation id: neither's list has anything of the other."""
    for n in (1, 2):
        engine = make(session="")
        engine.on_session_start(
            f"cron_run_{n}", hermes_home=str(home), platform="cron", conversation_id="job:daily"
        )
        out = compacted(engine, talk(60, first=1000 * n))
        assert f"question {3 - n}0" not in str(out)
        other = f"question {1000 * (3 - n)}"
        assert 0 == ask(engine, "lcm_grep", query=other, mode="exact")["total"]
        assert talk(60, first=1000 * n) == kept(home, f"cron_run_{n}")


def test_empty_sessions_leave_nothing(make, home):
    """LIFE-10: five hundred sessions without a message, beside one with: one session in the store."""
    engine = make("real")
    engine.ingest(talk(1))
    for n in range(500):
        engine.on_session_start(f"empty{n}", hermes_home=str(home))
        engine.on_session_end(f"empty{n}", [])
    store = open_store(database(home), create=False)
    assert ["real"] == [session.name for session in store.sessions()]
    store.close()


def test_what_was_taken_back_stays_so_after_a_repair(make, home):
    """LIFE-11: an undo, then the index is made again and the file opened anew: still withdrawn, still found."""
    engine = make()
    rows = talk(4)
    engine.ingest(rows)
    engine.ingest(rows[:4])
    engine.close()
    store = open_store(database(home), create=False)
    assert 8 == store.reindex()
    store.close()
    after = make()
    assert rows[:4] == kept(home)
    (hit,) = ask(after, "lcm_grep", query="question 3", mode="exact")["results"]
    assert hit["withdrawn"]
    assert 0 == after.ingest(rows[:4]).new
    assert rows[:4] == kept(home)
    assert os.path.exists(database(home))
