"""The commands of the documentation, carried out as they are written, in the order in which they stand."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
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


def test_moving_to_another_machine_works_in_a_fresh_home(tmp_path):
    """docs/operations.md: what is written for here and for there, and the doctor finds nothing wrong with the file."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    _, _, after = page.partition("\n### Move to another machine\n")
    here, there = re.findall(
        r"^```\n(.*?)^```$", after.partition("\n### ")[0], re.MULTILINE | re.DOTALL
    )
    homes = [tmp_path / name for name in ("here", "there")]
    for home in homes:
        (home / ".hermes").mkdir(parents=True)
    compacted(homes[0] / ".hermes" / "lcm" / "lcm.db", turns=20)

    def by_shell(home, commands):
        known = {key: value for key, value in os.environ.items() if key != "HERMES_HOME"}
        return subprocess.run(
            ["/bin/sh", "-c", f"umask 022\n{commands}"],
            cwd=ROOT,
            env={**known, "HOME": str(home), "LC_ALL": "C", "PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
        )

    made = by_shell(homes[0], here)
    assert made.returncode == 0, made.stderr
    carried = homes[1] / "lcm-to-move.db"
    carried.write_bytes((homes[0] / "lcm-to-move.db").read_bytes())
    carried.chmod(0o644)  # as it comes from a stick
    moved = by_shell(homes[1], there)
    assert moved.returncode == 0, moved.stderr
    assert "every message accounted for (40 messages" in moved.stdout
    checks = json.loads(by_shell(homes[1], "scripts/lcm doctor --json").stdout)["checks"]
    found = {check["name"]: check["state"] for check in checks}
    assert [found[each] for each in ("database", "integrity", "sqlite", "permissions")] == [
        "ok"
    ] * 4
    kept = homes[1] / ".hermes" / "lcm" / "lcm.db"
    before = kept.read_bytes()
    carried.write_bytes(b"another")
    assert "exists" in by_shell(homes[1], there).stderr
    assert kept.read_bytes() == before, "a database that is there is not overwritten"


@pytest.mark.parametrize("shell", ["sh -e", "bash -e", "zsh -e"])
@pytest.mark.parametrize("beside", [(), ("-wal", "-shm"), ("-wal", "-shm", "-lock")])
def test_the_commands_that_restore_work_whatever_lies_beside(tmp_path, shell, beside):
    """docs/operations.md: as they are written, in each shell; what was there is kept."""
    program, flag = shell.split()
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    after = page.partition("\n### Restore\n")[2].partition("\n### ")[0]
    (commands,) = re.findall(r"^```\n(.*?)^```$", after, re.MULTILINE | re.DOTALL)
    folder = tmp_path / ".hermes" / "lcm"
    folder.mkdir(parents=True)
    names = sorted(f"lcm.db{end}" for end in ("", *beside))
    for name in names:
        (folder / name).write_text("old")
    (tmp_path / "lcm-copy.db").write_text("restored")
    words = [program, flag, "-c", commands]
    env = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run(words, env=env, check=True)
    (aside,) = [each for each in folder.iterdir() if each.is_dir()]
    assert names == sorted(each.name for each in aside.iterdir())
    assert (folder / "lcm.db").read_text() == "restored"
    (folder / "lcm.db").write_text("said since")
    again = subprocess.run(words, env=env, check=False, capture_output=True, text=True)
    assert again.returncode != 0 and "exists" in again.stderr
    assert {each.read_text() for each in aside.iterdir()} == {"old"}
    assert (folder / "lcm.db").read_text() == "said since"


def test_what_was_kept_is_still_kept(place):
    """After all of them the conversation that nobody forgot is there."""
    store = open_store(place / ".hermes" / "lcm" / "lcm.db", read_only=True)
    assert store.session(NAMES["20261130"]) is not None
    store.close()
