"""Between two compactions the newer host asks for old tool results in part; the older one never does."""

from __future__ import annotations

import pytest
from hostkit import faults_of, stray_keys
from lcm.demo.model import Call, Reply, Script, ScriptedModel, Turn

pytestmark = pytest.mark.slow

CALLS = 17
#: Different commands and outputs, of about 2,300 tokens each.
NUMBERS = range(21, 21 + CALLS)
COMMANDS = [f"seq {n}0001 {n}1500" for n in NUMBERS]


def test_old_results_of_a_long_turn_are_shown_in_part(make_home, host):
    """Without a compaction: the request stays small, and each result is in both databases, whole and once."""
    calls = [Reply(calls=(Call("terminal", {"command": each}),)) for each in COMMANDS]
    turns = [Turn("Count.", (*calls, Reply("Counted."))), Turn("And?", (Reply("Nothing else."),))]
    with ScriptedModel(Script(turns)) as model:
        home = make_home(model.url)
        home.install()
        result = home.drive("converse", {"turns": [turn.user for turn in turns]})
        session = result["turns"][-1]["session"]
        queries = [[f"{n}1499", {"mode": "exact", "role": "tool"}] for n in NUMBERS]
        read = home.drive("store", {"sessions": [session], "queries": queries})["sessions"][session]
        verified = home.hermes("lcm", "verify")
    last = [row["content"] for row in model.spoken[-1].messages if row["role"] == "tool"]
    stubs = [text for text in last if "tokens are left out here; lcm_expand" in text]
    if host.generation == "new":  # the older one has it compacted
        assert stubs
        assert not model.summaries
    assert not [faults for request in model.spoken if (faults := faults_of(request.messages))]
    assert not set().union(*(stray_keys(request.messages) for request in model.spoken))
    assert [1] * CALLS == [len(found) for found in read["found"].values()]
    results = [row for row in read["messages"] if row["role"] == "tool"]
    assert CALLS == len(results)
    assert not any("tokens are left out here" in str(row) for row in results)
    assert verified.returncode == 0, verified.stdout + verified.stderr
