"""Whom the real hosts ask for a summary, with whose key, and what they do when nobody answers."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import pytest
from hostkit.truth import NOTHING, difference, said, stored
from lcm.demo.model import Reply, Script, ScriptedModel, Turn, text_of

pytestmark = pytest.mark.slow

#: A turn of about 4,000 tokens: a window of 65,536 is over its threshold after eleven.
TURNS = [Turn(f"page {n}: {'words and more ' * 1100}", (Reply(f"read {n}"),)) for n in range(16)]
#: Longer than the whole test may take.
SLEEP = 400


class KeyedModel(ScriptedModel):
    """A model that notes the key that each request brings."""

    def __init__(self, script: Script, *, asleep: bool = False) -> None:
        super().__init__(script)
        self.asleep = asleep
        self.keys: list[tuple[bool, str]] = []
        handler = self.RequestHandlerClass

        class Noting(handler):
            def do_POST(self):  # noqa: N802 -- the name is the library's
                self.server.key = self.headers.get("Authorization", "")
                super().do_POST()

        self.RequestHandlerClass = Noting

    def answer(self, body):
        auxiliary = not body.get("tools")
        self.keys.append((auxiliary, self.key))
        if auxiliary and self.asleep:
            time.sleep(SLEEP)
        return super().answer(body)


def converse(home):
    """Hold the conversation; its result, and what is stored of its session."""
    result = home.drive("converse", {"turns": [turn.user for turn in TURNS]})
    session = result["turns"][-1]["session"]
    return result, home.drive("store", {"sessions": [session]})["sessions"][session]


def test_a_summary_is_asked_for_with_its_own_key(make_home):
    """SUM-17: the summariser has a provider of its own: it alone is asked for summaries, with its key alone."""
    with KeyedModel(Script(TURNS)) as chat, KeyedModel(Script([])) as notes:
        home = make_home(chat.url)
        home.install()
        home.config["model"]["api_key"] = "sk-of-the-chat"
        home.config["auxiliary"]["compression"] |= {
            "base_url": notes.url,
            "api_key": "sk-of-the-notes",
        }
        result, kept = converse(home)
        assert (
            difference(said(chat.spoken, [t.user for t in TURNS]), stored(kept["messages"]))
            == NOTHING
        )
    assert result["turns"][-1]["compressions"] >= 1
    assert {(False, "Bearer sk-of-the-chat")} == set(chat.keys)
    assert {(True, "Bearer sk-of-the-notes")} == set(notes.keys)


def test_a_summariser_that_hangs_stops_no_turn(make_home):
    """SUM-06: it never answers: the host's limit ends the call, the pass ends without it, all is kept once."""
    with KeyedModel(Script(TURNS), asleep=True) as model:
        home = make_home(model.url)
        home.install()
        home.config["auxiliary"]["compression"]["timeout"] = 2
        home.config["auxiliary"]["transient_retries"] = 0
        began = time.monotonic()
        result, kept = converse(home)
        assert time.monotonic() - began < 240
        assert (
            difference(said(model.spoken, [t.user for t in TURNS]), stored(kept["messages"]))
            == NOTHING
        )
    assert [turn["final"] for turn in result["turns"]] == [f"read {n}" for n in range(len(TURNS))]
    assert not any(turn["failed"] for turn in result["turns"])
    assert result["turns"][-1]["compressions"] >= 1
    assert any(auxiliary for auxiliary, _ in model.keys)


class Subjects(KeyedModel):
    """A model that, asked where the subject changes, says at turn 4."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.shown: list[tuple[str, str]] = []

    def answer(self, body):
        request = super().answer(body)
        if "new_subject" in text_of(body["messages"][0]["content"]):
            self.shown.append((body["model"], text_of(body["messages"][-1]["content"])))
            turn = [4] if "judge: 2 to 4" in self.shown[-1][1] else []
            return replace(request, reply=Reply(json.dumps({"new_subject": turn})))
        return request


def test_a_model_that_is_set_tells_where_the_subject_changes(make_home):
    """The one that is named, by the route of summaries; and summaries end where it says."""
    with Subjects(Script(TURNS)) as model:
        home = make_home(model.url)
        home.install()
        home.config["lcm"] = {
            "drift_detection_model": "subjects-1",
            "drift_window_size": 5,
            "leaf_tokens": 16_000,
        }
        result, kept = converse(home)
        summaries = [text_of(request.messages[-1]["content"]) for request in model.summaries]
    assert result["turns"][-1]["compressions"] >= 1
    assert kept["status"]["problems"] == []
    assert {"subjects-1"} == {name for name, _ in model.shown}
    assert [f"\n{n}: page {n - 1}: words and more" in model.shown[0][1] for n in range(1, 5)] == [
        True
    ] * 4
    pages = [re.findall(r"^user: page (\d+)", text, re.MULTILINE) for text in summaries]
    assert ["0", "1", "2"] in pages
    assert any(leaf[:1] == ["3"] for leaf in pages)
