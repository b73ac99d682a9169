"""Secrets in the real hosts: what a model, a log and the disk get to see of them."""

from __future__ import annotations

import json

import pytest
from lcm.demo.model import Call, Reply, Script, ScriptedModel, Turn

pytestmark = pytest.mark.slow

#: One in each place: a user's text, a command, and what it prints.
SAID, TYPED, PRINTED = (f"h{n}nter-in-place-{n}x9" for n in range(3))
SECRETS = (SAID, TYPED, PRINTED)


def turns():
    """Sixteen turns of about 4,000 tokens; the second holds the secrets."""
    filler = "words and more " * 1100
    pages = [Turn(f"page {n}: {filler}", (Reply(f"read {n}"),)) for n in range(16)]
    command = f"echo DB_PASSWORD={PRINTED} # --password={TYPED}"
    steps = (Reply(calls=(Call("terminal", {"command": command}),)), Reply("done"))
    pages[1] = Turn(f"page 1: {filler}\nthe password is {SAID}", steps)
    return pages


def lived(make_home, **settings):
    """(home, result, requests for a summary, all that is stored) of that conversation."""
    script = turns()
    with ScriptedModel(Script(script)) as model:
        home = make_home(model.url)
        home.install()
        home.config["lcm"] = home.config.get("lcm", {}) | settings
        result = home.drive("converse", {"turns": [turn.user for turn in script]})
        asked = [json.dumps(request.messages) for request in model.summaries]
    session = result["turns"][-1]["session"]
    stored = home.drive("store", {"sessions": [session]})["sessions"][session]["messages"]
    kept = b"".join(
        path.read_bytes() for path in home.database.parent.iterdir()
    )  # large texts are packed
    assert sum(message["role"] == "user" for message in stored) == len(script)
    return home, result, asked, kept + json.dumps(stored).encode()


def test_no_summariser_and_no_log_of_ours_sees_a_secret(make_home):
    """SEC-01: The host's model is asked for summaries without them; the log of messages keeps them."""
    home, result, asked, kept = lived(make_home)
    assert result["turns"][-1]["compressions"] >= 1
    assert asked and any("page 1:" in each for each in asked)
    assert [secret for secret in SECRETS if any(secret in each for each in asked)] == []
    ours = [line for line in home.log().splitlines() if "lcm" in line]
    assert [secret for secret in SECRETS if any(secret in line for line in ours)] == []
    assert SAID.encode() in kept and TYPED.encode() in kept


def test_nothing_is_on_disk_where_redact_says_so(make_home):
    """SEC-01, SEC-04: ``redact: store`` in a host's config.yaml: in no byte of ours, and each row once."""
    _, result, _, kept = lived(make_home, redact="store")
    assert result["turns"][-1]["compressions"] >= 1
    assert [secret for secret in SECRETS if secret.encode() in kept] == []
