"""The commands of the documentation, carried out as they are written, in the order in which they stand."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest
from lcm.console.cli import main
from lcm.storage import open_store
from talks import compacted

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
#: What stands in the documentation for the reader's own, and what it is here.
NAMES = {
    "20261130": "20261130_174508_a0cf96",
    "20261130_0116": "20261130_011620_a0cf96",
    ".venvs/quickstart-home/hermes": "~/.hermes",
}


def commands():
    """(page, command) of each line that begins with one of our commands, without what a shell would do."""
    for page in PAGES:
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
            if found := re.match(
                r"(?:scripts/lcm|hermes lcm) (.+)$", line.strip().removeprefix("$ ")
            ):
                words = shlex.split(found[1], comments=True)
                yield page, words[: words.index("<")] if "<" in words else words


#: Without those that serve until somebody stops them: test_explorer.py.
COMMANDS = [(page, words) for page, words in commands() if words[0] != "view" or "--out" in words]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A user's home and a folder to work in, with what the documentation takes for granted."""
    folder = tmp_path_factory.mktemp("user")
    database = folder / ".hermes" / "lcm" / "lcm.db"
    database.parent.mkdir(parents=True)
    for name in (NAMES["20261130"], NAMES["20261130_0116"]):
        compacted(database, name, turns=20)
    (folder / "work").mkdir()
    (folder / "old").mkdir()
    (folder / "old" / "lcm.db").write_bytes(b"")  # a neighbour's, which is not here
    return folder


def test_there_are_commands_to_carry_out():
    """The documentation has some for most verbs; none is passed over because it looks otherwise."""
    assert {"status", "view", "backup", "export", "import", "forget"} <= {
        word for _, words in COMMANDS for word in words
    }


@pytest.mark.parametrize(
    ("page", "words"), COMMANDS, ids=[f"{page} {' '.join(words)}" for page, words in COMMANDS]
)
def test_a_command_of_the_documentation_does_what_it_says(place, monkeypatch, capsys, page, words):
    """It is understood, ends without a failure of ours, and gives something; only what asks a person is asked."""
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("HERMES_HOME", str(place / ".hermes"))
    monkeypatch.chdir(place / "work")
    monkeypatch.setattr("sys.stdin", io.StringIO("xylophone\n"))
    words = [
        str(Path(NAMES.get(word, word)).expanduser()) if "/" in word else NAMES.get(word, word)
        for word in words
    ]
    code = main(words)
    said = capsys.readouterr()
    wrong = "old/lcm.db" in " ".join(words) or "forget" in words  # no such file here; asks first
    assert code in ((0, 1) if wrong else (0,)), said.err
    assert said.out or said.err
    assert "could not be read (" not in said.err
    assert (place / ".hermes" / "lcm" / "lcm.db").exists()


def test_what_was_kept_is_still_kept(place):
    """After all of them the conversation that nobody forgot is there."""
    store = open_store(place / ".hermes" / "lcm" / "lcm.db", read_only=True)
    assert store.session(NAMES["20261130"]) is not None
    store.close()
