"""``/lcm`` in chats of the real hosts: whoever asks is answered about his own conversation."""

from __future__ import annotations

import pytest
from lcm.demo.model import Reply, Script, ScriptedModel

pytestmark = pytest.mark.slow


class Echo(Script):
    """A model that has an answer to everything."""

    def __init__(self):
        super().__init__([])

    def answer(self, messages):
        return Reply(f"Heard ({len(messages)}).")


@pytest.fixture
def hold(make_home):
    """Have [chat, text] said there; gives what was answered."""
    with ScriptedModel(Echo()) as model:
        home = make_home(model.url)
        home.install()
        home.variables["GATEWAY_ALLOW_ALL_USERS"] = "true"

        def hold(where, *talk):
            said = home.drive("chats", {"where": where, "talk": talk})["said"]
            return [" ".join(each.split()) for each in said]

        yield hold


PLATE = "The brass plate reads QUIET-HERON."
LAMP = "The lamp of the harbour is green."


def test_on_the_command_line_it_is_the_session_that_one_is_in(hold):
    """Before the first turn there is none; then every verb speaks of it, also after /new."""
    said = hold(
        "command line",
        ("", "/lcm status"), ("", PLATE), ("", "/lcm status"), ("", "/lcm why"), ("", "/lcm search plate"),
        ("", "/new"), ("", LAMP), ("", "/lcm search plate"), ("", "/lcm search lamp"),
    )  # fmt: skip
    before, status, why, found, other, own = said
    assert "no session yet" in before
    assert "engine active" in status
    assert "messages 2" in status
    assert "2 rows" in why
    assert "QUIET-HERON" in found
    assert "nothing found" in other
    assert "green" in own


def test_in_a_gateway_each_chat_is_told_of_itself(hold):
    """Two chats in one process, and a third that has said nothing yet; no one sees another's by mistake."""
    said = hold(
        "gateway",
        ("ann", PLATE), ("ben", "/lcm status"), ("ben", LAMP), ("ann", "/lcm search plate"),
        ("ben", "/lcm search plate"), ("ann", "/lcm why"), ("ben", "/lcm why"), ("cid", "/lcm why"),
        ("ben", "/lcm search plate --scope all"), ("cid", "/lcm doctor"),
    )  # fmt: skip
    _, early, _, hers, his, her_rows, his_rows, nobody, everywhere, doctor = said
    assert "no session yet" in early
    assert "QUIET-HERON" in hers
    assert "nothing found" in his
    assert her_rows.split(":")[0] != his_rows.split(":")[0]
    assert "2 rows" in her_rows
    assert "2 rows" in his_rows
    assert "no session yet" in nobody
    assert "QUIET-HERON" in everywhere
    assert "doctor: nothing is wrong" in doctor


def test_a_chat_whose_agent_is_gone_is_told_of_its_session(hold):
    """A gateway that began anew has no agent for a chat before its next turn; its session is known all the same."""
    hold("gateway", ("ann", PLATE), ("ben", LAMP))
    found, other, status = hold(
        "gateway",
        ("ann", "/lcm search plate"),
        ("ben", "/lcm search plate"),
        ("ben", "/lcm status"),
    )
    assert "QUIET-HERON" in found
    assert "nothing found" in other
    assert "messages 2" in status


def test_in_the_terminal_ui_each_tab_is_told_of_itself(hold, host):
    """Two tabs of one server, and one without a turn."""
    said = hold(
        "terminal ui",
        ("a", PLATE), ("b", LAMP), ("a", "/lcm search plate"), ("b", "/lcm search plate"),
        ("a", "/lcm why"), ("c", "/lcm status"),
    )  # fmt: skip
    if said == ["the server has ended"] and host.is_new:
        pytest.skip(
            "the terminal UI's server of this build does not start (a NameError of its own)"
        )
    hers, his, why, empty = said
    assert "QUIET-HERON" in hers
    assert "nothing found" in his
    assert "2 rows" in why
    assert "no session yet" in empty
