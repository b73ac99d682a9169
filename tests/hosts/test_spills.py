"""Large tool results, which both hosts put into a file before any engine sees them."""

from __future__ import annotations

import pytest
from lcm.demo.model import Call, Reply, Script, ScriptedModel, Turn

pytestmark = pytest.mark.slow

#: Words that stand at the end of an output only.
LAST = "the last quokka of the output"
COMMAND = f"seq 1 40000; echo {LAST}"


def test_what_the_host_puts_into_a_file_is_kept_whole(make_home):
    """ING-15: the model saw the beginning of 230,000 characters; the store has all of them, once, without the file."""
    turns = [
        Turn("Count.", (Reply(calls=(Call("terminal", {"command": COMMAND}),)), Reply("Counted."))),
        Turn("And?", (Reply("Nothing else."),)),
    ]
    with ScriptedModel(Script(turns)) as model:
        home = make_home(model.url)
        home.install()
        result = home.drive("converse", {"turns": [turn.user for turn in turns]})
        session = result["turns"][-1]["session"]
        shown = [str(m) for r in model.spoken for m in r.messages if m["role"] == "tool"]
        queries = [[LAST, {"mode": "exact", "role": "tool"}]]
        read = home.drive("store", {"sessions": [session], "queries": queries})["sessions"][session]
        verified = home.hermes("lcm", "verify")
    assert any("<persisted-output>" in text for text in shown)
    assert not any("39999" in text for text in shown)
    assert 1 == len(read["found"][LAST])
    assert 0 == verified.returncode, verified.stdout + verified.stderr
