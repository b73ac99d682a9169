"""What the host's last list shows of ours is written down with it, and is what people are told of the context."""

from __future__ import annotations

import json
import re

import pytest
from lcm.console.chart import chart
from lcm.console.cli import main
from lcm.console.present import present
from lcm.dag.shown import Shown, shown_on
from lcm.host.engine import LCMEngine
from lcm.storage import open_store
from talks import plain


@pytest.fixture
def engine(tmp_path):
    made = LCMEngine(context_length=6000, db_path=tmp_path / "lcm.db", settings={})
    made.on_session_start("talk")
    yield made
    made.close()


@pytest.fixture
def here(tmp_path, engine):
    """Gives what another process says of the context."""
    stores = []

    def look():
        stores.append(open_store(tmp_path / "lcm.db", read_only=True))
        return present(stores[-1], stores[-1].session("talk"))

    yield look
    for store in stores:
        store.close()


def more(rows, text="And one more."):
    return [*rows, {"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]


def names(rows):
    """The blocks that a list's first row shows."""
    return re.findall(r"^\[lcm (\w{8})\] turn", rows[0]["content"], re.MULTILINE)


def shown(found):
    return [each.node.uid[:8] for each in found.blocks]


def test_until_a_list_shows_it_a_compaction_is_only_expected(engine, here):
    """Right after it, what it gave is told as that; the next list makes it known."""
    rows = engine.compress(plain(30), force=True)
    assert shown(here()) == names(rows) != []
    assert not here().is_seen
    engine.on_turn_complete(more(rows))
    assert shown(here()) == names(rows)
    assert here().is_seen


def test_a_compaction_that_the_host_dropped_is_not_shown(engine, here, tmp_path, capsys):
    """The conversation went on with the list as it was: all of it is there word for word, and all say so."""
    rows = plain(30)
    engine.compress(rows, force=True)
    engine.on_turn_complete(more(rows))
    assert (here().frame, len(here().behind), here().is_seen) == (None, 32, True)
    store = open_store(tmp_path / "lcm.db", read_only=True)
    drawn = chart(store, store.session("talk"))
    store.close()
    assert drawn["present"]["from"] == 0
    assert not [node for node in drawn["nodes"] if node["shown_at"] is not None]
    assert main(["--db", str(tmp_path / "lcm.db"), "--json", "why"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert ([row["kind"] for row in said["rows"]], said["seen"]) == (["message"] * 32, True)
    assert abs(said["tokens"] - engine.count_tokens(more(rows))) < 200


def test_an_older_list_that_came_back_is_what_is_shown(engine, here):
    """Of two compactions the second was dropped: the summary row is that of the first."""
    first = engine.compress(plain(30), force=True)
    grown = [*first, *plain(40)[30:]]
    engine.on_turn_complete(grown)
    second = engine.compress(grown, force=True)
    assert names(second) != names(first)
    engine.on_turn_complete(more(grown))
    assert shown(here()) == names(first)
    engine.on_turn_complete(more(second))
    assert shown(here()) == names(second)


def reading(number):
    """A turn in which a tool gives much."""
    name = f"c{number}"
    call = {
        "id": name,
        "type": "function",
        "function": {"name": "read", "arguments": f"[{number}]"},
    }
    return [
        {"role": "user", "content": f"Read log {number}."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": f"lamp {number} trimmed. " * 300},
        {"role": "assistant", "content": "I have read it."},
    ]


def test_what_stands_there_in_part_is_known(engine, here, tmp_path, capsys):
    """Results of tools that are shown by head and tail are told from those that stand whole."""
    rows = engine.compress([row for n in range(6) for row in reading(n)], 6000)
    cut = [n for n, row in enumerate(rows) if "tokens are left out here" in row["content"]]
    assert 0 < len(cut) < 6
    engine.on_turn_complete(more(rows))
    kept = [n for n, row in enumerate(rows) if not row.get("_compressed_summary")]
    parts = [n for n, entry in zip(kept, here().behind, strict=False) if entry.id in here().parts]
    assert parts == cut
    assert main(["--db", str(tmp_path / "lcm.db"), "why", "--all"]) == 0
    said = capsys.readouterr().out
    assert said.count("head and tail of it") == len(cut)
    assert said.count("word for word") == len(kept) + 2 - len(cut)


def test_a_rotated_session_goes_on_with_what_was_shown(engine, tmp_path):
    """Under its new id too: first what the compaction gave, then what the list shows, be it none."""
    rows = plain(30)
    small = engine.compress(rows, force=True)
    engine.on_session_start("talk-2", boundary_reason="compression", old_session_id="talk")
    store = open_store(tmp_path / "lcm.db", read_only=True)
    after = store.session("talk-2")
    assert shown(present(store, after)) == names(small)
    engine.on_turn_complete(more(rows))
    found = present(store, after)
    assert (found.frame, found.is_seen) == (None, True)
    store.close()


def test_an_ordinary_turn_writes_none_of_it(engine, tmp_path):
    """A session that was never compacted has none, and between two compactions it is written once."""
    engine.on_turn_complete(plain(4))
    store = open_store(tmp_path / "lcm.db")
    line = store.session("talk").line
    assert shown_on(store, line) is None
    rows = more(engine.compress(plain(30), force=True))
    engine.on_turn_complete(rows)
    assert shown_on(store, line).frame
    store.remember("talk", "shown", Shown("unmoved")._asdict())
    for number in range(5):
        rows = more(rows, f"Said on: {number}.")
        engine.on_turn_complete(rows)
    assert shown_on(store, line) == Shown("unmoved")
    store.close()


@pytest.mark.parametrize("kept", [None, [], "x", {"frame": 1, "parts": []}, {"frame": "a"}])
def test_what_is_damaged_is_taken_for_nothing(engine, here, kept, tmp_path):
    """Whatever stands in its place: what the last compaction gave is told."""
    rows = engine.compress(plain(30), force=True)
    engine.on_turn_complete(more(rows))
    store = open_store(tmp_path / "lcm.db")
    store.remember("talk", "shown", kept)
    store.close()
    assert Shown.read(kept) is None
    assert shown(here()) == names(rows)
    assert not here().is_seen
