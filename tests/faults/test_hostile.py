"""Several agents on one session: what one of them never had in its list is no fault of its summaries."""

from __future__ import annotations

import random

import pytest
from lcm.console.verify import verify
from lcm.dag.ingest import Ledger
from lcm.dag.nodes import Item, node_of, wanted
from lcm.dag.summarizer import Summary
from lcm.storage import open_store


def turn(name, number, uids):
    """A question and its answer, of some eighty words each."""
    rows = [
        {"role": "user", "content": f"{name} asks {number}: " + f"why{number} " * 80},
        {"role": "assistant", "content": f"{name} hears {number}: " + f"so{number} " * 80},
    ]
    if uids:
        for place, row in enumerate(rows):
            row["message_uid"] = f"{name.encode().hex()}{2 * number + place:020x}"[-32:].zfill(32)
    return rows


def squeezed(engine, rows):
    """*rows* after a compaction, shown back."""
    out = engine.compress(rows, current_tokens=10**6, force=True)
    engine.ingest(out)
    return out


def proved(home, messages):
    """What ``verify`` says of the home's store, which holds so many messages."""
    store = open_store(home / "lcm" / "lcm.db", create=False)
    try:
        assert messages == store.totals().messages
        return verify(store)
    finally:
        store.close()


@pytest.mark.parametrize("uids", [False, True], ids=["no uids", "uids"])
@pytest.mark.parametrize("short", [False, True], ids=["all of the list", "a shorter one"])
def test_a_fork_that_compacts_the_same_session_is_no_fault(make, home, uids, short):
    """A background review has the list and two rows more; both agents compact, and each goes on."""
    main, fork = make(context_length=4000), make(context_length=4000)
    rows = [row for number in range(8) for row in turn("main", number, uids)]
    main.ingest(rows)
    review = [*rows[: -4 if short else None], *turn("fork", 0, uids)]
    squeezed(fork, review)
    rows += [row for number in range(8, 14) for row in turn("main", number, uids)]
    rows = squeezed(main, rows)
    squeezed(fork, [*review, *turn("fork", 1, uids)])
    for number in range(14, 20):
        rows = [*rows, *turn("main", number, uids)]
        main.ingest(rows)
    squeezed(main, rows)
    assert [] == list(proved(home, 2 * 22).failures)


@pytest.mark.parametrize("seed", range(3))
def test_agents_that_take_turns_on_one_session_are_no_fault(make, home, seed):
    """Each has a list of its own from the first row on; all of them compact, in any order."""
    rnd = random.Random(seed)
    agents = {name: (make(context_length=3000), []) for name in ("a", "b", "c")}
    told = dict.fromkeys(agents, 0)
    for _ in range(60):
        name = rnd.choice(sorted(agents))
        engine, rows = agents[name]
        rows += turn(name, told[name], uids=True)
        told[name] += 1
        engine.ingest(rows)
        if told[name] % 5 == 0:
            rows[:] = squeezed(engine, rows)
    assert [] == list(proved(home, 2 * 60).failures)


@pytest.mark.parametrize("returned", [False, True], ids=["always there", "came back"])
@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_message_that_a_node_lost_is_still_found(tmp_path, where, returned):
    """A hole in a span is a failure, unless the message was out of the conversation once."""
    store = open_store("memory:" if where == "memory" else tmp_path / "lcm.db")
    ledger = Ledger(store, store.open_session("s"))
    rows = [row for number in range(4) for row in turn("main", number, uids=False)]
    ledger.ingest(rows)
    line = ledger.session.line
    entries = store.entries(line)
    items = [Item(entry=entry) for entry in entries[:3] + entries[4:6]]
    texts = Summary(texts=((50, "a summary"),), topic="", hints=(), sufficient=50)
    store.put_node(node_of(line, wanted(items, (50,)), texts))
    if returned:
        Ledger(store, ledger.session).ingest(rows[:3])
        Ledger(store, ledger.session).ingest(rows)
    said = verify(store)
    found = [f.what for f in (said.notes if returned else said.failures) if f.kind == "node"]
    assert ["1 message stands inside its span and not under it"] == [w.split(";")[0] for w in found]
    assert returned == (said.failures == () or list(said.failures) == [])
    store.close()
