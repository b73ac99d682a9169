"""The shortest proof: the command ``hermes`` starts, and our engine is the one that works."""

from __future__ import annotations

import pytest
from hostkit.truth import NOTHING, difference, said, stored
from lcm.demo.model import Call, Reply, Script, ScriptedModel, Turn

ASK = Turn(
    "What did we say about the harbour?",
    (Reply(calls=(Call("lcm_grep", {"query": "harbour"}),)), Reply("Nothing yet.")),
)


@pytest.mark.parametrize("command", [["-z"], ["chat", "-Q", "-q"]], ids=["z", "chat-q"])
def test_hermes_answers_with_our_engine(make_home, command):
    """``hermes -z`` and ``hermes chat -q`` offer lcm_grep, answer its call, and store it all."""
    with ScriptedModel(Script([ASK])) as model:
        home = make_home(model.url)
        home.install()
        done = home.hermes(*command, ASK.user)
        assert done.returncode == 0, done.stderr
        assert "Nothing yet." in done.stdout
        first, second = model.spoken
        assert "lcm_grep" in first.tools
        assert second.messages[-1]["role"] == "tool"
        ((_, kept),) = home.drive("store", {})["sessions"].items()
        assert difference(said(model.spoken, [ASK.user]), stored(kept["messages"])) == NOTHING
