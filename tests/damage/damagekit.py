"""What the tests of damage share: a conversation, every door of a host, and ways to look at what is kept."""

from __future__ import annotations

import json

from lcm.console.cli import main
from lcm.storage import open_store


def talk(turns, first=1):
    return [
        row
        for n in range(first, first + turns)
        for row in (
            {"role": "user", "content": f"question {n} about harbour{n} " + "why " * 60},
            {"role": "assistant", "content": f"answer {n} " + "because " * 60},
        )
    ]


def ask(engine, name, **args):
    return json.loads(engine.handle_tool_call(name, args))


def texts(path):
    """What is stored, in order, as (role, beginning)."""
    store = open_store(path, create=False)
    try:
        return [
            json.loads(message.body)["content"][:20]
            for message in store.stream()
            if message.version == message.versions
        ]
    finally:
        store.close()


def expected(turns, first=1):
    return [row["content"][:20] for row in talk(turns, first)]


def doctor(capsys, path, *words):
    """The doctor's answer about a database: its exit code and the checks that found something wrong."""
    capsys.readouterr()
    code = main(["doctor", "--db", str(path), "--json", *words])
    data = json.loads(capsys.readouterr().out)
    return code, {check["name"]: check for check in data["checks"] if check["state"] == "wrong"}


def every_door(engine, rows):
    """Call whatever a host calls: nothing is raised, and every tool says what to do."""
    engine.on_turn_complete(rows)
    engine.on_session_end("s", rows)
    for name, args in (
        ("lcm_grep", {"query": "harbour3"}),
        ("lcm_expand", {"uid": "abcdef12"}),
        ("lcm_describe", {}),
        ("lcm_status", {}),
        ("retrieve_conversation_history", {"start_turn": 1, "end_turn": 2}),
    ):
        answer = json.loads(engine.handle_tool_call(name, args, messages=rows))
        assert "error" in answer, name
        assert "doctor" in answer["error"] + answer["hint"], name
    engine.should_compress(10**6)
    engine.on_session_reset()
    engine.bind_session_state(None, "s")
    assert engine.get_status()["engine"] == "lcm"


def content_of(path):
    """The bytes of the database and its WAL, by name; what SQLite makes for itself is no content."""
    return {
        each.name: each.read_bytes()
        for each in path.parent.iterdir()
        if each.is_file()
        and not each.name.endswith(("-shm", "-lock"))
        and (each.stat().st_size or not each.name.endswith("-wal"))
    }
