"""What the status tells of requests and of the list, from another process than the agent's."""

from __future__ import annotations

import json
import re
from contextlib import closing

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.why import gather
from lcm.storage import open_store
from lcm.storage.records import Pass
from lcm.tools.status import warning


@pytest.fixture
def engine(tmp_path):
    made = LCMEngine(64_000, db_path=tmp_path / "lcm.db", settings={})
    made.on_session_start("talk")
    yield made
    made.close()


@pytest.fixture
def status(tmp_path, capsys):
    """The status as a process knows it that has no engine."""

    def status():
        assert main(["--db", str(tmp_path / "lcm.db"), "--json", "status"]) == 0
        return json.loads(capsys.readouterr().out)

    return status


ROWS = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello to you."}]
USAGE = {
    "prompt_tokens": 10_000,
    "completion_tokens": 5,
    "cache_read_tokens": 8_000,
    "cache_write_tokens": 500,
}


def test_what_the_cache_had_is_added_up(engine, status, tmp_path, capsys):
    """Each response counts once, over turns and over engines; the last one says how large requests are."""
    engine.update_from_response(USAGE)
    engine.update_from_response({**USAGE, "prompt_tokens": 12_000})
    engine.on_turn_complete(ROWS)
    engine.on_turn_complete(ROWS)  # a second door of the same turn
    found = status()
    sums = {
        "requests": 2,
        "prompt_tokens": 22_000,
        "cache_read_tokens": 16_000,
        "cache_write_tokens": 1_000,
    }
    assert sums.items() <= found["requests"].items()
    assert found["context"] == {
        "window": 64_000,
        "threshold_tokens": 48_000,
        "last_prompt_tokens": 12_000,
    }
    other = engine.clone_for_agent()
    other.on_session_start("talk")
    other.update_from_response(USAGE)
    other.on_turn_complete(ROWS)
    other.close()
    assert status()["requests"]["prompt_tokens"] == 32_000
    assert main(["--db", str(tmp_path / "lcm.db"), "status"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "75% of 32,000 tokens in 3 requests came from the provider's cache" in text
    assert "10,000 tokens in the last request, 21% of the threshold" in text


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "many"}], ids=str
)
def test_what_nobody_counted_is_not_told(engine, status, usage):
    """A provider that says nothing leaves nothing: no share of nothing is shown."""
    engine.update_from_response(usage)
    engine.on_turn_complete(ROWS)
    found = status()
    assert found["requests"]["prompt_tokens"] == 0
    assert found["context"]["last_prompt_tokens"] is None


def test_a_session_that_is_not_kept_leaves_no_count(tmp_path):
    """Nothing of an ignored session is on disk, neither words nor numbers."""
    engine = LCMEngine(64_000, db_path=tmp_path / "lcm.db", settings={"ignore_sessions": ["cron*"]})
    engine.on_session_start("cron-1")
    engine.update_from_response(USAGE)
    engine.on_turn_complete(ROWS)
    engine.close()
    if (tmp_path / "lcm.db").exists():
        store = open_store(tmp_path / "lcm.db", read_only=True)
        assert store.recall("cron-1", "requests") is None
        store.close()


def test_the_status_says_what_is_in_the_list(engine, status):
    """Summaries, messages word for word, and what was taken out: those of the list that the engine gave."""
    rows = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n} " + f"word{n} " * 900}
        for n in range(60)
    ]
    before = engine.count_tokens(rows)
    after = engine.compress(rows)
    found = status()
    assert found["saved_tokens"] == before - engine.count_tokens(after) > 0
    kept = [row for row in after if not row.get("_compressed_summary")]
    assert found["list"]["messages"] == len(kept)
    assert found["list"]["summarised"] == 60 - len(kept)
    assert abs(found["list"]["tokens"] - engine.count_tokens(after)) < 100


def test_results_that_are_shown_in_part_are_not_counted_whole(engine, status, tmp_path, capsys):
    """Where a compaction only shortens old results of tools, the list has the tokens that it has."""
    rows = [{"role": "user", "content": "Read them all."}]
    for n in range(12):
        call = {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "read", "arguments": f'{{"n": {n}}}'},
        }
        rows += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"line {n} of the log\n" * 1000},
        ]
    rows += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks."}]
    after = engine.compress(rows)
    assert not any(row.get("_compressed_summary") for row in after)
    assert abs(status()["list"]["tokens"] - engine.count_tokens(after)) < 100
    assert main(["--db", str(tmp_path / "lcm.db"), "why"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Results of tools are shown by head and tail" in text
    cut = [
        row for row in after if row["role"] == "tool" and "tokens are left out" in row["content"]
    ]
    names = " ".join(re.search(r"\[lcm ([0-9a-f]{8})\]", row["content"])[1] for row in cut)
    assert len(cut) > 1
    assert f"{len(cut)} results of tools (" in text
    assert f" tokens) by head and tail: {names}" in text
    with closing(open_store(tmp_path / "lcm.db", read_only=True)) as store:
        said = gather(store, store.session("talk"))["compactions"][0]["in_part"]
        whole = store.entries(store.session("talk").line)
    assert [each["uid"][:8] for each in said] == names.split()
    assert {each["tokens"] for each in said} <= {entry.tokens for entry in whole}


def test_an_older_compaction_that_noted_no_names_is_told_without(engine, tmp_path, capsys):
    """As are records in which somebody wrote something else."""
    engine.on_turn_complete(ROWS)
    store = open_store(tmp_path / "lcm.db")
    for time, parts in enumerate((None, "x", [7, "zz", "00000000"]), 1):
        detail = {} if parts is None else {"parts": parts}
        store.record_pass(Pass(float(time), "talk", 9000, 4000, 9, 9, "", detail))
    store.close()
    assert main(["--db", str(tmp_path / "lcm.db"), "why"]) == 0
    assert capsys.readouterr().out.count("old results of tools, by their head and tail") == 3


def test_what_is_not_stored_comes_before_a_wrong_key(tmp_path):
    """A folder is no database: of all problems that is the first, and the one that the agent's status tells."""
    made = LCMEngine(64_000, db_path=tmp_path, settings={"treshold": 0.5})
    made.on_session_start("talk")
    made.on_turn_complete(ROWS)
    problems = made.get_status()["problems"]
    made.close()
    assert len(problems) > 1 and str(tmp_path) in problems[0]
    assert problems[-1].startswith("lcm.treshold")
    assert problems[0][:40] in warning(problems) and "treshold" not in warning(problems)
