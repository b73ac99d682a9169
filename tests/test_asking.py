"""Which engine answers ``/lcm`` where a process serves several chats; the real hosts: tests/hosts/test_chats.py."""

from __future__ import annotations

import gc
import json

import pytest
from lcm import LCMEngine
from lcm.host import plugin
from lcm.host.asking import Unclear, serving


@pytest.fixture
def chat(tmp_path, monkeypatch):
    """Engines in one home, each on a session and, in a gateway, for a chat."""
    gc.collect()  # the engines of other tests are of no chat that asks here
    monkeypatch.setattr(LCMEngine, "living", type(LCMEngine.living)())
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    made = []

    def chat(session="", key=None):
        engine = LCMEngine(8000, settings={}, db_path=tmp_path / "lcm" / "lcm.db")
        made.append(engine)
        if session:
            engine.on_session_start(session, hermes_home=str(tmp_path), conversation_id=key)
        return engine

    yield chat
    for engine in made:
        engine.close()


def test_outside_gateways_the_newest_answers(chat):
    """One person, one session at a time: the one that did something last."""
    own, first, second = chat(), chat("first"), chat("second")
    assert serving(own) == (second, "second")
    first.on_turn_complete([{"role": "user", "content": "back again"}])
    assert serving(own) == (first, "first")


def test_before_any_session_the_command_has_its_own(chat):
    """Nobody is on a session: nothing is told of one."""
    own = chat()
    assert serving(own) == (own, "")


def _handle_message(_quick_key, own):
    """What a gateway's handler looks like from below."""
    return serving(own)


def test_a_gateway_is_asked_whom_it_serves(chat, tmp_path):
    """The chat that is being handled; one without an agent has the session that the gateway notes."""
    own, ann, ben = chat(), chat("a", "key:ann"), chat("b", "key:ben")
    assert _handle_message("key:ann", own) == (ann, "a")
    assert _handle_message("key:ben", own) == (ben, "b")
    assert _handle_message("key:cid", own) == (own, "")
    (tmp_path / "sessions").mkdir()
    noted = tmp_path / "sessions" / "sessions.json"
    noted.write_text(json.dumps({"_README": "words", "key:cid": {"session_id": "c"}}))
    assert _handle_message("key:cid", own) == (own, "c")
    for broken in ("[]", "{", '{"key:cid": 3}'):
        noted.write_text(broken)
        assert _handle_message("key:cid", own) == (own, "")


def test_after_a_compaction_the_chat_is_the_same(chat):
    """The boundary of a rotation names no chat on some hosts; the agent answers the same one."""
    own, ann, _ben = chat(), chat("a", "key:ann"), chat("b", "key:ben")
    ann.on_session_start("a2", boundary_reason="compression", old_session_id="a")
    assert _handle_message("key:ann", own) == (ann, "a2")


def test_who_cannot_be_told_apart_is_told_so(chat):
    """Two chats and a host that does not say which: no figures of somebody else, but words of what to do."""
    own, ann, _ben = chat(), chat("a", "key:ann"), chat("b", "key:ben")
    with pytest.raises(Unclear):
        serving(own)
    commands = {}

    class Context:
        def register_context_engine(self, engine):
            pass

        def register_command(self, name, handler, **kwargs):
            commands[name] = handler

    from lcm import _run, _setup_parser, _slash

    plugin.register(Context(), plugin.Console(_setup_parser, _run, _slash))
    ann.on_turn_complete([{"role": "user", "content": "the plate"}])
    for verb in ("status", "why", "search plate", "tree", "show 1a2b3c4d"):
        assert "several chats are open" in " ".join(commands["lcm"](verb).split())
