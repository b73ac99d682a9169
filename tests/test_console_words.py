"""What the command line says where a newcomer had to guess: summaries, short names, homes that are not there."""

from __future__ import annotations

import json

import pytest
from lcm.console.cli import main
from lcm.storage import open_store
from moving import full_store


@pytest.fixture
def call(capsys):
    """Run the command line; gives (exit code, standard output, standard error)."""

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def database(tmp_path):
    """A store with all there is."""
    return full_store(tmp_path / "home" / "lcm" / "lcm.db")


def test_show_says_what_a_summary_says(database, call):
    """Topic, the text at its largest size and the hints come first, then the messages; --json has every size."""
    store = open_store(database, create=False)
    session = store.sessions()[0]
    node = next(each for each in store.nodes_on([session.line]) if each.topic and each.hints)
    (frame, *_) = store.nodes_on([session.line], kinds=["frame"])
    store.close()
    code, out, _ = call("show", node.uid, "--db", database, "--session", session.name)
    assert code == 0
    text = node.texts[max(node.texts)]
    places = [out.index(said) for said in (node.topic, text, node.hints[0], "\n[")]
    assert places == sorted(places)
    _, out, _ = call("show", node.uid, "--db", database, "--session", session.name, "--json")
    data = json.loads(out)
    assert {int(level): said for level, said in data["levels"].items()} == dict(node.texts)
    assert (data["topic"], tuple(data["hints"])) == (node.topic, node.hints)
    assert len(data["messages"]) == node.messages
    _, out, _ = call("show", frame.uid, "--db", database, "--session", session.name)
    assert f"a summary row that shows {frame.sources[0].node[:8]}" in out


def test_a_name_that_is_too_short_is_called_so(database, call):
    """Five characters are not looked for, so it is not said that nothing is called so."""
    code, _, err = call("show", "44b85", "--db", database)
    assert code == 1
    assert "6 characters of the uid at least" in err
    assert "Nothing here is called" not in err


@pytest.mark.parametrize(
    "words", [("import", "x.jsonl"), ("status",), ("doctor",), ("export",), ("backup",)]
)
def test_a_home_that_is_not_there_is_refused(tmp_path, call, words):
    """Before or behind the verb, whatever the verb: exit code 2, one line, and no folder is made."""
    home = tmp_path / "typo"
    for given in ((*words, "--home", home), ("--home", home, *words)):
        code, out, err = call(*given)
        assert (code, out) == (2, "")
        assert f"There is no folder {home}" in err
        assert not home.exists()


@pytest.mark.parametrize("content", [b"a text", b"", None])
def test_a_wrong_host_log_is_no_fault_of_the_store(tmp_path, database, call, content):
    """--host-db with a file of something else: that is said, and nothing of the store."""
    wrong = tmp_path / "wrong"
    if content is None:
        wrong.mkdir()
    else:
        wrong.write_bytes(content)
    code, out, err = call("verify", "--db", database, "--host-db", wrong)
    assert (code, out) == (1, "")
    assert "is a folder" in err or "is no Hermes database" in err
