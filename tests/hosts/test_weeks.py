"""Weeks of work, in both hosts: 200 turns, many compactions, and a summariser that fails in every way.

Played once in each host, in place in the older one and with rotation in the newer one, by
``run_agent.AIAgent``. The tests look at what reached the wire and at what is left.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hostkit import HermesHome, faults_of, stray_keys
from hostkit.failing import WAYS, FailingModel
from hostkit.truth import NOTHING, difference, said, stored
from lcm.console.cli import main
from lcm.dag.identity import MARK
from lcm.demo.model import Call, Reply, Request, Script, Turn, text_of

pytestmark = pytest.mark.slow

TURNS = 200
WINDOW = 65536
#: The host adds about 12,000 tokens of its own to each request. Nothing is prepared ahead: that would ask
#: again for what had failed, and the same source always fails here.
SETTINGS = {"threshold": 0.3, "leaf_tokens": 2000, "condense_fanin": 3, "state_updates": "off"}
PARTS = ["lens", "relay", "battery", "fog horn", "tide gauge", "barometer", "stair", "clock"]
DEEDS = ["measured", "cleaned", "oiled", "repaired", "painted", "replaced", "checked", "tested"]


def talk(number: int, sentences: int) -> str:
    """A paragraph about the harbour light; the same every time, no two alike."""
    chance = random.Random(number * 31 + sentences)
    return " ".join(
        f"The {chance.choice(PARTS)} of berth {chance.randint(2, 99)} was {chance.choice(DEEDS)}"
        f" in shift {number}-{n}, which took {chance.randint(3, 90)} minutes."
        for n in range(sentences)
    )


def turns(work) -> list[Turn]:
    """200 turns of about 400 tokens; in every fourth the agent reads a file."""
    made = []
    for number in range(1, TURNS + 1):
        steps = [Reply(f"Shift {number}: {talk(-number, 9)}")]
        if number % 4 == 0:
            path = f"shift-{number:03d}.txt"
            (work / path).write_text(talk(number * 1000, 12).replace(". ", ".\n"))
            steps.insert(0, Reply(calls=(Call("read_file", {"path": path}),)))
        made.append(Turn(f"Note shift {number}. {talk(number, 5)}", tuple(steps)))
    return made


@dataclass(frozen=True)
class Played:
    """What the conversation left behind."""

    home: HermesHome
    result: dict[str, Any]  # the driver's
    requests: list[Request]
    given: dict[str, int]
    unsaid: list[str]
    store: dict[str, Any]  # the last session, as the plugin's tools give it back

    def lcm(self, *words: str) -> dict[str, Any]:
        """What the console says as JSON, without a Hermes: that would take seconds each time."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main([*words, "--db", str(self.home.database), "--json"])
        return json.loads(out.getvalue())


@pytest.fixture(name="played", scope="module")
def _played(host, tmp_path_factory):
    """The conversation, held."""
    home = HermesHome(tmp_path_factory.mktemp(host.generation), host, "")
    said_by_both = turns(home.work)
    with FailingModel(Script(said_by_both)) as model:
        for place in (home.config["model"], home.config["auxiliary"]["compression"]):
            place["base_url"] = model.url
        home.config["auxiliary"]["compression"]["timeout"] = 2
        home.config["auxiliary"]["transient_retries"] = 0
        home.config["compression"]["in_place"] = not host.is_new
        home.config["lcm"] = SETTINGS
        home.install()
        result = home.drive("converse", {"turns": [turn.user for turn in said_by_both]})
        requests, given = model.spoken, dict(model.given)
        unsaid = model.script.unsaid()
    last = result["turns"][-1]["session"]
    store = home.drive("store", {"sessions": [last]})["sessions"][last]
    return Played(home, result, requests, given, unsaid, store)


@pytest.fixture(name="tree", scope="module")
def _tree(played):
    """Every node of the graph, as ``hermes lcm tree`` has it."""
    found, waiting = [], list(played.lcm("tree", "--depth", "9")["nodes"])
    while waiting:
        found.append(waiting.pop())
        waiting += found[-1].get("sources", ())
    return found


def test_the_agent_goes_on(played):
    """200 turns by our engine, none failed, each answered to its end."""
    assert played.result["engine"] == "lcm"
    assert len(played.result["turns"]) == TURNS
    assert not any(turn["failed"] for turn in played.result["turns"])
    assert not played.unsaid
    sessions = {turn["session"] for turn in played.result["turns"]}
    assert (len(sessions) == 1) is played.home.config["compression"]["in_place"]


def test_it_compacted_often(played):
    """At least eight times, and no request became large."""
    assert played.result["turns"][-1]["compressions"] >= 8
    assert max(request.prompt_tokens for request in played.requests) < WINDOW // 2


def test_the_summariser_failed_in_every_way(played):
    """Each way was gone at least once."""
    assert set(played.given) == set(WAYS)


def test_what_failed_is_marked_with_its_reason(played, tree):
    """A node that stands in for a summary says why; those of good answers do not."""
    reasons = {node["degraded"] for node in tree if node["degraded"]}
    assert not [
        name
        for name, way in WAYS.items()
        if not any(re.search(way.reason, reason) for reason in reasons)
    ]
    assert sum(not node["degraded"] for node in tree) >= len(tree) / 2


def test_deep_nodes_are_shown_at_levels(played, tree):
    """A node of depth 2 stands in the last request, with a text of one of its sizes; older ones are coarser."""
    row = next(row for row in played.requests[-1].messages if MARK.search(text_of(row["content"])))
    names = MARK.findall(text_of(row["content"]))
    shown = [node for node in tree if node["shown_at"] is not None]
    assert {node["uid"][:8] for node in shown} == set(names[:-1])
    assert max(node["depth"] for node in shown) >= 2
    assert len({node["shown_at"] for node in shown}) >= 2
    for node in shown:
        levels = played.lcm("show", node["uid"])["levels"]
        assert len(levels) >= 3
        assert levels[str(node["shown_at"])].replace("[lcm ", "(lcm ") in text_of(row["content"])


def test_every_list_on_the_wire_is_valid_and_fits(played):
    """In every request: calls with their results, alternating roles, known keys, within the window."""
    faults = [(n, faults_of(r.messages)) for n, r in enumerate(played.requests)]
    assert not [pair for pair in faults if pair[1]]
    assert not set().union(*(stray_keys(r.messages) for r in played.requests))
    assert max(request.prompt_tokens for request in played.requests) < WINDOW


def test_every_message_is_stored_exactly_once_and_whole(played):
    """What was said on the wire comes back out of the store: nothing more, nothing less."""
    users = [turn.user for turn in turns(played.home.work)]
    assert difference(said(played.requests, users), stored(played.store["messages"])) == NOTHING
    assert len(played.store["messages"]) >= 2 * TURNS


def test_people_are_told(played, tree):
    """Status counts the extracted summaries and the failed calls, the doctor says what to do."""
    status = played.lcm("status")["conversation"]
    assert status["degraded_nodes"] >= len(WAYS) // 2
    assert status["model_calls"]["failed"] >= 4
    done = played.home.hermes("lcm", "doctor")
    assert "hold extracted sentences: no model gave a usable answer" in " ".join(
        done.stdout.split()
    )


def test_verify_accounts_for_every_message(played):
    """`hermes lcm verify` goes over the whole graph and finds it in order."""
    done = played.home.hermes("lcm", "verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every message accounted for" in done.stdout
