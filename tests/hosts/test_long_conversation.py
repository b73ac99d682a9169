"""The main job, in both hosts: sixty turns, compactions, a restart, and nothing is lost.

The conversation is the demonstration's own. It is played once for each host, in place and
with rotation, by ``run_agent.AIAgent`` in two processes; the tests look at what is left.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hostkit import HermesHome, faults_of, stray_keys
from hostkit.truth import NOTHING, difference, key_of, said, stored
from lcm.demo import story
from lcm.demo.model import Request, Script, ScriptedModel

pytestmark = pytest.mark.slow

RESTART_AFTER = 36
#: What stands in a result that is shown in part.
STUB = " tokens are left out here; lcm_expand gives them back."


@dataclass(frozen=True)
class Played:
    """What a conversation left behind."""

    home: HermesHome
    halves: list[dict[str, Any]]  # the driver's results: before and after the restart
    requests: list[Request]
    summaries: int
    store: dict[str, Any]  # the last session, as the plugin's tools give it back
    unsaid: list[str]

    @property
    def turns(self) -> list[dict[str, Any]]:
        return [turn for half in self.halves for turn in half["turns"]]


def play(home: HermesHome, model: ScriptedModel, turns: list[story.Turn]) -> Played:
    """Hold the conversation in two processes, then read the store in a third."""
    story.lay_out(home.work)
    texts = [turn.user for turn in turns]
    before = home.drive("converse", {"turns": texts[:RESTART_AFTER]})
    session = before["turns"][-1]["session"]
    after = home.drive("converse", {"turns": texts[RESTART_AFTER:], "session": session})
    last = after["turns"][-1]["session"]
    queries = [[story.ODD_QUERY, {}], [f"RELAY {7 + 3} STUCK", {"mode": "exact"}]]
    read = home.drive("store", {"sessions": [last], "queries": queries})["sessions"][last]
    return Played(
        home, [before, after], model.spoken, len(model.summaries), read, model.script.unsaid()
    )


@pytest.fixture(scope="module", params=[True, False], ids=["in-place", "rotation"])
def played(request, host, tmp_path_factory):
    """The conversation, held."""
    turns = story.turns()
    with ScriptedModel(Script(turns)) as model:
        home = HermesHome(tmp_path_factory.mktemp(host.generation), host, model.url)
        home.config["compression"]["in_place"] = request.param
        # The newer host has old tool results shown in part before, which puts compactions off.
        home.config["lcm"] = {"threshold": 0.6}
        home.install()
        yield play(home, model, turns)


def test_the_engine_is_ours_and_the_conversation_is_long(played):
    """After the restart too, `lcm` is what compacts; at least sixty turns, three compactions."""
    assert [half["engine"] for half in played.halves] == ["lcm", "lcm"]
    assert len(played.turns) >= 60
    assert not any(turn["failed"] for turn in played.turns)
    assert sum(half["turns"][-1]["compressions"] for half in played.halves) >= 3
    assert not played.unsaid


def test_rotation_makes_sessions_and_in_place_does_not(request, played):
    """The host did what the parameter says: the test means what it seems to."""
    sessions = {turn["session"] for turn in played.turns}
    in_place = played.home.config["compression"]["in_place"]
    assert (len(sessions) == 1) is in_place


def test_every_message_is_stored_exactly_once_and_whole(played):
    """ING-01, ING-02, DED-12: What was said on the wire comes back out of the store: nothing more, nothing less."""
    users = [turn.user for turn in story.turns()]
    assert difference(said(played.requests, users), stored(played.store["messages"])) == NOTHING


def test_every_row_that_was_ever_in_the_list_is_stored(played):
    """The agent's own list, after each turn, holds no message that the store does not have."""
    found = stored(played.store["messages"])
    everything = [row for half in played.halves for row in half["rows"]]
    # The older host forgets the mark of our rows in a restart; their text stays ours.
    ours = {row["content"] for row in everything if row["_ours"]}
    rows = [row for row in everything if row["content"] not in ours]
    answered = {
        key[::2] for key in found
    }  # role, and the call that it answers: what a stub still says
    keys = [(key_of(row), STUB in str(row["content"])) for row in rows]
    missing = [
        key for key, stub in keys if (key[::2] not in answered if stub else key not in found)
    ]
    assert not missing
    assert len(rows) > 100


def test_every_list_that_reached_the_model_is_valid(played):
    """PAIR-01, PAIR-02, PAIR-08: Calls and results are paired and roles alternate, in every request."""
    faults = [(n, faults_of(r.messages)) for n, r in enumerate(played.requests)]
    assert not [pair for pair in faults if pair[1]]


def test_no_stray_key_reaches_the_wire(played):
    """A row of ours looks to a provider like any other."""
    assert not set().union(*(stray_keys(r.messages) for r in played.requests))


def test_compaction_kept_the_requests_within_the_window(played):
    """No request is larger than the window; the largest would have been far more."""
    assert max(r.prompt_tokens for r in played.requests) < 65536
    assert played.summaries >= 3


def test_the_agent_finds_what_is_no_longer_in_its_context(played):
    """The odd fact of the first day: gone from the request, found by lcm_grep, quoted whole."""
    asked = next(
        r for r in played.requests if r.reply.calls and r.reply.calls[0].name == "lcm_grep"
    )
    assert story.ODD_FACT not in json.dumps(asked.messages)
    assert story.ODD_FACT in played.turns[-1]["final"]
    opened = played.requests[-1].messages[-1]
    assert story.ODD_FACT in opened["content"]


def test_another_process_finds_it_too(played):
    """A search in a process that ingested nothing finds both a user's word and a tool's output."""
    words, exact = played.store["found"].values()
    assert any("HERON" in hit["snippet"].upper() for hit in words)
    assert any(hit["role"] == "tool" for hit in exact)


def test_verify_accounts_for_every_message(played):
    """`hermes lcm verify` goes over the whole graph and finds it in order."""
    done = played.home.hermes("lcm", "verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every message accounted for" in done.stdout


def test_what_is_told_of_the_context_is_what_the_model_got(played):
    """`hermes lcm why` in another process: the summary row, and each row behind it, whole or by head and tail."""
    done = played.home.hermes("lcm", "why", "--json")
    told = json.loads(done.stdout[done.stdout.index("{") :])
    assert told["seen"]
    (summary, *rows) = told["rows"]
    sent = [row for row in played.requests[-1].messages if row["role"] != "system"]
    assert f"[lcm {summary['uid'][:8]}]" in sent[0]["content"]
    behind = sent[2:] if sent[1]["content"].startswith("Understood. I continue") else sent[1:]
    got = [(row["role"], STUB in str(row["content"])) for row in behind]
    assert [(row["role"], row["in_part"]) for row in rows] == [*got, ("assistant", False)]


def test_identical_messages_stay_apart(played):
    """DED-03: Three times 'ok' are three messages."""
    oks = Counter(key_of(entry) for entry in played.store["messages"])["user", "ok", ""]
    assert oks == sum(turn.user == "ok" for turn in story.turns()) == 3
