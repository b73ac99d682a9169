"""Storage growth: what a person asks to be taken out goes whole, and leaves nothing that points at it."""

from __future__ import annotations

import json
import random

from faultkit import ask, database, kept, said, talk, totals, user
from lcm.console.cli import main


def lcm(home, capsys, *words):
    """A verb of the command line on that home's database: exit code, and what it says as JSON."""
    capsys.readouterr()
    code = main([*words, "--db", str(database(home)), "--json"])
    return code, json.loads(capsys.readouterr().out)


def payload(seed):
    """Forty kilobytes of words that occur nowhere else."""
    rnd = random.Random(seed)
    return " ".join(f"w{rnd.getrandbits(40):x}" for _ in range(4000))


def bytes_of(home):
    """Everything in the store's folder, and the names of the files."""
    files = sorted(database(home).parent.iterdir())
    return b"".join(path.read_bytes() for path in files), {path.name for path in files}


def test_a_session_can_be_taken_out(make, home, capsys):
    """STOR-03, STOR-08: shown first; then rows, index, nodes and payloads go, the file shrinks, others are whole."""
    old, live = make("old"), make("live")
    gone = [row for n in range(3) for row in (user(f"gone quokka {n}"), said(payload(n)))]
    old.ingest(gone)
    assert len(old.compress([*gone, *talk(60, 900)], force=True)) < 120
    rows = [*talk(60), user("the numbat stays"), said(payload(9))]
    shown = live.compress(rows, force=True)
    before, count = kept(home, "live"), totals(home).messages
    size = len(bytes_of(home)[0])
    code, plan = lcm(home, capsys, "forget", "--session", "old")
    assert (1, 126, False) == (code, len(plan["messages"]), plan["done"])
    assert count == totals(home).messages
    old.close()
    live.close()
    code, done = lcm(home, capsys, "forget", "--session", "old", "--yes")
    assert (0, True) == (code, done["done"])
    left, names = bytes_of(home)
    assert names <= {"lcm.db", "lcm.db-wal", "lcm.db-shm", "lcm.db-lock"}
    assert b"gone quokka" not in left
    assert len(left) < size
    assert count - 126 == totals(home).messages
    assert before == rows == kept(home, "live")
    after = make("live")
    assert 0 == after.ingest(shown).new
    for word, found in (("gone quokka", 0), (payload(1)[:20], 0), ("the numbat stays", 1)):
        assert found == ask(after, "lcm_grep", query=word, mode="exact", scope="all")["total"]
    assert 0 == lcm(home, capsys, "verify")[0]


def test_a_node_says_what_is_gone(make, home, capsys):
    """STOR-04: a string under a summary is forgotten: the block still opens, row by row, and says so in its place."""
    engine = make(summarizer=lambda request: "what was said about the harbour")
    rows = [user("the code is QUOKKA-4711, remember"), said("I do."), *talk(60)]
    out = engine.compress(rows, force=True)
    name = out[0]["content"].split("[lcm ")[1][:8]
    _, done = lcm(home, capsys, "forget", "--text", "QUOKKA-4711", "--yes")
    assert done["done"]
    opened = ask(make(), "lcm_expand", uid=name)
    assert "the code is [forgotten], remember" == opened["messages"][0]["content"]
    assert "I do." == opened["messages"][1]["content"]
    assert rows[1:] == kept(home)[1:]
    assert len(rows) == totals(home).messages
    assert 0 == make().ingest(out).new
    assert 0 == lcm(home, capsys, "verify")[0]
