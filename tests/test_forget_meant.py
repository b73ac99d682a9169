"""Forgetting takes what was meant and nothing else, in every form and place, and says what it could not take."""

from __future__ import annotations

import io
import json
import sys

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.storage import open_store


@pytest.fixture
def folder(tmp_path):
    """A folder with a database of two sessions, of which one's id begins the other's."""
    engine = LCMEngine(6000, db_path=tmp_path / "lcm.db", settings={"redact": "off"})
    for name in ("chat", "chat2"):
        engine.on_session_start(name)
        engine.ingest([{"role": "user", "content": f"said in {name}"}])
    engine.close()
    return tmp_path


def cli(folder, *words, stdin=""):
    """The exit code of the command line."""
    before = sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        return main(["--db", str(folder / "lcm.db"), *words])
    finally:
        sys.stdin = before


def names(folder):
    store = open_store(folder / "lcm.db")
    found = [session.name for session in store.sessions()]
    store.close()
    return found


def test_a_second_forget_takes_nothing_else(folder, capsys):
    """The id of a session that is gone begins another's: the second call says that it is gone, and takes nothing."""
    said = []
    for _ in range(2):
        assert cli(folder, "forget", "--session", "chat", "--yes", "--json") == 0
        said.append(json.loads(capsys.readouterr().out))
    first, second = said
    assert first["done"] and not second["done"] and "already" in second["note"]
    assert names(folder) == ["chat2"]


def test_the_beginning_of_an_id_is_shown_whole_and_not_taken_unasked(folder, capsys):
    """A beginning is enough for a preview, which names the whole id; with --yes it is refused."""
    assert cli(folder, "forget", "--session", "ch", "--yes") == 1
    assert cli(folder, "forget", "--session", "chat", "--yes") == 0
    capsys.readouterr()
    assert cli(folder, "forget", "--session", "cha", "--json") == 1
    assert json.loads(capsys.readouterr().out)["sessions"] == ["chat2"]
    assert cli(folder, "forget", "--session", "cha", "--yes") == 1
    assert "'chat2' begins so" in capsys.readouterr().err
    assert names(folder) == ["chat2"]
