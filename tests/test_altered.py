"""A message whose bytes were changed behind the store's back reads well, and is not what was said: whoever shows it
says so, and of no other.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from lcm.console.cli import main
from lcm.dag.compact import PassRequest, compact
from lcm.dag.forget import forget_text
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.storage.payloads import shrink
from lcm.storage.proof import ALTERED, altered
from lcm.tools.desk import Desk
from lcm.tools.toolset import call
from ledgers import result, said, stored, talk, user

ROWS = [
    user("We have two weeks until the zeppelin leaves."),
    said("Noted: two weeks for the zeppelin."),
    user("Read it."),
    said("", tool_calls=[{"id": "c1", "function": {"name": "read_file", "arguments": "{}"}}]),
    result("c1", "a large text of the zeppelin " * 3000),
    said("It says two weeks."),
]


@pytest.fixture
def path(tmp_path):
    """A conversation of which the first message, and the large text of the fifth, were changed; compacted before."""
    path = tmp_path / "lcm" / "lcm.db"
    store = open_store(path)
    ledger = Ledger(store, store.open_session("s"))
    rows = [*ROWS, *talk(40, first=10)]
    _, binding = ledger.bind(rows)
    settings = Settings(leaf_tokens=600, condense_fanin=2)
    compact(
        store,
        ledger.session.line,
        binding,
        PassRequest(settings, 6000, 4000, None, force=True, stamp=False),
    )
    store.close()
    change(path)
    return path


def change(path):
    with closing(sqlite3.connect(path)) as sql:
        (body,) = sql.execute("SELECT body FROM messages WHERE id = 1").fetchone()
        sql.execute("UPDATE messages SET body = ? WHERE id = 1", [body.replace(b"We", b"Xe")])
        data = shrink(b"another text of the zeppelin " * 3000)
        assert sql.execute("UPDATE payloads SET data = ?", [data]).rowcount == 1
        sql.commit()


@pytest.fixture
def desk(path):
    """What the tools work on."""
    store = open_store(path)
    yield Desk(store, store.session("s"), Settings())
    store.close()


def told(answer):
    return json.loads(answer)


def uids(desk):
    return [entry.uid for entry in desk.store.entries(desk.session.line)]


def test_they_are_known(desk):
    """Both changed ones and no other; one that is not there counts as changed."""
    pairs = [(number, 1) for number in range(1, 8)]
    assert altered(desk.store, pairs) == {(1, 1), (5, 1)}
    assert altered(desk.store, [(1, 0), (2, 0), (900, 0)]) == {(1, 0), (900, 0)}


def test_a_tool_that_opens_one_says_so(desk):
    """lcm_expand marks each of the two, gives what there is of it, and marks no other."""
    names = uids(desk)
    for number, uid in enumerate(names[:7], 1):
        (entry,) = told(call(desk, "lcm_expand", {"uid": uid}))["messages"][:1]
        assert entry.get("damaged") == (ALTERED if number in (1, 5) else None)
    assert (
        "Xe have" in told(call(desk, "lcm_expand", {"uid": names[0]}))["messages"][0]["content"]
    )  # what there is


def all_pages(desk, tool, **asked):
    pages, cursor = [], None
    while cursor or not pages:
        answer = told(call(desk, tool, {**asked, "cursor": cursor}))
        pages += answer["messages"]
        cursor = answer["cursor"]
    return pages


def test_every_page_of_it_says_so(desk):
    """A large one that comes in several pages is marked on each."""
    pages = all_pages(desk, "lcm_expand", uid=uids(desk)[4])
    assert len(pages) > 1
    assert {each["damaged"] for each in pages} == {ALTERED}


def test_turns_and_summaries_that_hold_it_say_so_of_it_alone(desk):
    """Turn by turn, and under a summary: these two are marked, their neighbours are not."""
    (node,) = [n for n in desk.store.nodes_on([desk.session.line]) if n.depth == 0][:1]
    turns = all_pages(desk, "retrieve_conversation_history", start_turn=1, end_turn=3)
    under = all_pages(desk, "lcm_expand", uid=node.uid)
    for pages in (turns, under):
        assert len({each["uid"] for each in pages}) > 5
        assert {each["uid"] for each in pages if "damaged" in each} == {
            uids(desk)[0],
            uids(desk)[4],
        }


def test_a_search_says_so(desk):
    """A result of lcm_grep is marked, one that says the same and is whole is not."""
    found = told(call(desk, "lcm_grep", {"query": "two weeks zeppelin"}))["results"]
    marked = {each["uid"] for each in found if each.get("damaged") == ALTERED}
    assert uids(desk)[0] in marked
    assert marked <= {uids(desk)[0], uids(desk)[4]}
    assert uids(desk)[1] in {each["uid"] for each in found} - marked


def test_a_passage_for_an_answer_says_so(desk):
    """The head of its passage in lcm_expand_query says it."""
    answer = told(call(desk, "lcm_expand_query", {"question": "two weeks zeppelin"}))["answer"]
    heads = {line[1:9]: line for line in answer.splitlines() if line.startswith("[")}
    assert ALTERED in heads[uids(desk)[0][:8]]
    assert ALTERED not in heads[uids(desk)[1][:8]]


def test_what_was_forgotten_is_not_damaged(tmp_path):
    """What was taken out on request differs from what was stored, and is as it should be."""
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.open_session("s"))
    ledger.ingest(ROWS)
    forget_text(store, "zeppelin", 1.0)
    assert "zeppelin" not in str(stored(ledger))
    assert altered(store, [(number, 0) for number in range(1, 7)]) == set()
    store.close()


def test_on_the_screen(path, desk, capsys):
    """Its text is there, its head says what it is, and the exit code is that of a finding."""
    db = ["--db", str(path)]
    for uid, code in ((uids(desk)[0], 1), (uids(desk)[1], 0)):
        assert main([*db, "show", uid]) == code
        out = capsys.readouterr().out
        assert (ALTERED in out) == bool(code)
        assert "zeppelin" in out
    assert main([*db, "search", "two weeks zeppelin"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert ALTERED in out
    assert main([*db, "--json", "show", uids(desk)[0]]) == 1
    assert json.loads(capsys.readouterr().out)["messages"][0]["damaged"] == ALTERED


def test_one_that_cannot_be_read_hides_no_other(path, desk, capsys):
    """Of a summary with an unreadable message all others are shown."""
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("UPDATE messages SET body = x'00' WHERE id = 2")
        sql.commit()
    (node,) = [n for n in desk.store.nodes_on([desk.session.line]) if n.depth == 0][:1]
    assert main(["--db", str(path), "show", node.uid]) == 1
    out = capsys.readouterr().out
    assert out.count(ALTERED) == 3
    assert "Xe have two weeks" in out
    assert "It says two weeks." in out


def test_the_doctor_tells_of_it(path, desk, capsys):
    """It looks at some messages from everywhere, and of a forgotten one it says nothing."""
    forget_text(desk.store, "because", 1.0)
    assert main(["--db", str(path), "--json", "doctor"]) == 1
    checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["messages"]["state"] == "wrong"
    assert checks["messages"]["said"] == "2 of 86 messages looked at are not what was stored."


def test_bodies_that_are_texts_hide_nothing(path, desk, capsys):
    """As who edits them by SQL leaves them behind: each is found by its name, and said to be damaged."""
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("UPDATE messages SET body = replace(body, 'two', 'six') WHERE id < 3")
        sql.commit()
    for uid in uids(desk)[:2]:
        assert main(["--db", str(path), "show", uid]) == 1
        assert ALTERED in capsys.readouterr().out
        answer = told(call(desk, "lcm_expand", {"uid": uid}))
        assert answer["messages"][0]["damaged"] == ALTERED
        assert told(call(desk, "lcm_describe", {"uid": uid}))["uid"] == uid
    assert main(["--db", str(path), "tree", "--messages"]) == 0
    tree = " ".join(capsys.readouterr().out.split())
    assert "because because" in tree
