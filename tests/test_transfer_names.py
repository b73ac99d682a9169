"""A summary row that a host shows is known after an import, wherever it went: every uid in it stays valid."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.storage import open_store
from moving import exported, imported

STRING = "tr0ub4dor&3-Hunter!Zebra77"
SETTINGS = {"redact": "off", "leaf_tokens": 1500}
LATER = {"role": "user", "content": "and later"}
ANSWER = {"role": "assistant", "content": "an answer to that"}


def conversation(name, count):
    """So many turns; the string to forget stands in the second."""
    return [
        row
        for n in range(count)
        for row in (
            {"role": "user", "content": f"{name} asks {n}: {STRING * (n == 1)} " + f"q{n} " * 250},
            {"role": "assistant", "content": f"{name} answers {n}: " + f"a{n} " * 250},
        )
    ]


def engine_on(path, session="s"):
    engine = LCMEngine(9000, db_path=path, settings=SETTINGS)
    engine.on_session_start(session)
    return engine


def forget(path):
    """Forget the string in that store, as a person does."""
    before, sys.stdin = sys.stdin, io.StringIO(STRING)
    try:
        assert main(["--db", str(path), "forget", "--text", "--yes"]) == 0
    finally:
        sys.stdin = before


def proved(path):
    """What ``verify`` counts in a store in which it finds nothing wrong."""
    store = open_store(path, create=False)
    report = verify(store)
    store.close()
    assert report.good, report.failures
    return report.counts


def kept(path):
    """uid, kind, texts and topic of all that stands over the messages of *path*."""
    store = open_store(path, create=False)
    lines = [each.line for each in store.sessions()]
    nodes = store.nodes_on(lines, kinds=["leaf", "condensed", "frame", "state"])
    store.close()
    return [(node.uid, node.kind, node.texts, node.topic) for node in nodes]


def stones(path):
    """uids of the nodes in which something was forgotten."""
    store = open_store(path, create=False)
    found = [each.name for each in store.eraser().stones("node")]
    store.close()
    return found


@pytest.fixture(scope="module")
def compacted(tmp_path_factory):
    """(the folder of a store with a compacted session, its list)."""
    folder = tmp_path_factory.mktemp("from")
    engine = engine_on(folder / "lcm.db")
    rows = engine.compress(conversation("x", 10), current_tokens=8000)
    engine.on_session_start("s", boundary_reason="compression", old_session_id="s")
    engine.ingest([*rows, LATER])
    engine.close()
    return folder, rows


@pytest.fixture
def moved(compacted, tmp_path, request):
    """(the export of it, the list); with ``forgotten``: after a string in an early message was."""
    folder, rows = compacted
    source = tmp_path / "source"
    source.mkdir()
    (source / "lcm.db").write_bytes((folder / "lcm.db").read_bytes())
    if request.param == "forgotten":
        assert "Zebra77" in rows[0]["content"], "so a summary holds it, or a part of it"
        forget(source / "lcm.db")
    proved(source / "lcm.db")
    return exported(source / "lcm.db", tmp_path / "moved.jsonl"), rows


def busy(path):
    """A store in which other conversations have the numbers."""
    engine = engine_on(path, "mine")
    engine.ingest(conversation("mine", 3))
    engine.close()
    return path


BOTH = pytest.mark.parametrize("moved", ["whole", "forgotten"], indirect=True)
EITHER = pytest.mark.parametrize("place", [lambda path: path, busy], ids=["empty", "busy"])


@BOTH
@EITHER
def test_a_compacted_session_goes_on_where_it_was_imported(moved, tmp_path, place):
    """Its summary row is no message, each name in it opens, and after the next pass all is proved."""
    file, rows = moved
    path = place(tmp_path / "lcm.db")
    assert imported(file, path)[1]["done"]["renamed"] == 0
    before = proved(path)
    engine = engine_on(path)
    rows = [*rows, LATER, ANSWER]
    assert engine.ingest(rows).new == 1
    for name in re.findall(r"\[lcm (\w{8})\]", rows[0]["content"]):
        for tool in ("lcm_expand", "lcm_describe"):
            answer = json.loads(engine.handle_tool_call(tool, {"uid": name}, messages=rows))
            assert answer["uid"].startswith(name)
    engine.compress([*rows, *conversation("y", 6)], current_tokens=8500)
    engine.close()
    after = proved(path)
    assert after.messages == before.messages + 13
    assert after.frames == before.frames + 1


@BOTH
@EITHER
def test_it_comes_once_and_goes_out_again(moved, tmp_path, place):
    """A second import adds nothing; what goes on to a third store, and back, has the names of the first."""
    file, _ = moved
    path, third = place(tmp_path / "lcm.db"), tmp_path / "third.db"
    assert imported(file, path)[1]["done"]["nodes"] > 1
    assert imported(file, path)[1]["done"]["nodes"] == 0
    names = kept(path)
    assert names == kept(file.parent / "source" / "lcm.db")
    assert stones(path) == stones(file.parent / "source" / "lcm.db")
    on = exported(path, tmp_path / "on.jsonl")
    assert imported(on, third)[1]["done"]["left_out"] == 0
    proved(third)
    assert names == kept(third)
    assert stones(third) == stones(path)
    back = exported(third, tmp_path / "back.jsonl")
    done = imported(back, file.parent / "source" / "lcm.db", "--session", "s")[1]["done"]
    assert (0, 0, 0) == (done["messages"], done["nodes"], done["renamed"])
    proved(file.parent / "source" / "lcm.db")


@BOTH
def test_the_stones_of_a_moved_session_go_with_it(moved, tmp_path):
    """Forgotten where it was imported, it leaves nothing of its summaries."""
    file, _ = moved
    path = busy(tmp_path / "lcm.db")
    imported(file, path)
    store = open_store(path, create=False)
    assert store.eraser().stones("moved")
    store.close()
    assert main(["forget", "--db", str(path), "--session", "s", "--yes"]) == 0
    store = open_store(path, create=False)
    assert store.eraser().stones("moved", "node") == []
    store.close()
    assert proved(path).nodes == 0


@pytest.mark.parametrize("moved", ["whole"], indirect=True)
def test_an_import_in_the_middle_of_a_check_is_no_fault(moved, tmp_path):
    """What comes after the stones were read is proved with those that came with it."""
    path = busy(tmp_path / "lcm.db")
    store = open_store(path, create=False)

    def progress(what, _done, _total):
        if what == "rows":
            assert imported(moved[0], path)[1]["done"]["nodes"] > 1

    report = verify(store, progress)
    store.close()
    assert report.counts.frames == 1
    assert report.good, report.failures


@pytest.mark.parametrize("moved", ["forgotten"], indirect=True)
def test_a_store_that_forgot_a_string_takes_summaries_without_it(compacted, moved, tmp_path):
    """An export from before the string was forgotten brings names and no word of it, and all is proved."""
    path = busy(tmp_path / "lcm.db")
    forget(path)
    folder, rows = compacted
    file = exported(folder / "lcm.db", tmp_path / "whole.jsonl")
    assert imported(file, path)[1]["done"]["renamed"] == 0
    assert kept(path) == kept(moved[0].parent / "source" / "lcm.db")
    proved(path)
    engine = engine_on(path)
    assert engine.ingest([*rows, LATER, ANSWER]).new == 1
    engine.close()


@pytest.mark.parametrize("moved", ["forgotten"], indirect=True)
def test_what_a_summary_gives_is_proved_before_it_comes(moved, tmp_path):
    """Of an export in which a text was changed, or a uid given twice, nothing comes."""
    file, _ = moved
    records = [json.loads(line) for line in file.read_text().splitlines()]
    at = next(n for n, each in enumerate(records) if "gives" in each)
    first, other = [n for n, each in enumerate(records) if each.get("node_kind") == "leaf"][:2]
    changes = [
        (at, {"topic": "something else"}),
        (at, {"gives": records[at]["uid"]}),
        (at, {"gives": "no digest"}),
        (at, {"uid": "no digest"}),
        (at, {"forgotten": "yes"}),
        (other, {"uid": records[first]["uid"], "gives": records[other]["uid"]}),
    ]
    for number, (line, change) in enumerate(changes):
        odd = tmp_path / f"{number}.jsonl"
        lines = [{**each, **change} if n == line else each for n, each in enumerate(records)]
        odd.write_text("\n".join(map(json.dumps, lines)))
        code, answer = imported(odd, tmp_path / "odd.db")
        assert (1, line + 1) == (code, answer["bad"][0]["line"]), change
    assert not (tmp_path / "odd.db").exists()


def test_a_name_that_is_taken_is_no_loss(compacted, tmp_path):
    """Where a session went another way meanwhile, the row of the one beside it is another row: both are proved."""
    folder, rows = compacted
    file, path = exported(folder / "lcm.db", tmp_path / "x.jsonl"), tmp_path / "lcm.db"
    imported(exported(folder / "lcm.db", tmp_path / "early.jsonl"), path)
    for database, word in ((path, "here"), (tmp_path / "there.db", "there")):
        imported(file, database)
        engine = engine_on(database)
        engine.ingest([*rows, LATER, {"role": "assistant", "content": word}])
        engine.close()
    parted = exported(tmp_path / "there.db", tmp_path / "parted.jsonl")
    code, answer = imported(parted, path)
    assert (0, 1, 0) == (
        code,
        answer["done"]["renamed"],
        answer["done"]["nodes"],
    )  # rows are not counted
    assert imported(parted, path)[1]["done"]["nodes"] == 0
    assert proved(path).frames == 2
