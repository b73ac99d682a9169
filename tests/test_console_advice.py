"""What an answer advises can be done as it stands: it names the database again, and the command that works."""

from __future__ import annotations

import argparse
import io
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from lcm.console import forget, screen
from lcm.console.cli import main, setup_parser
from lcm.console.pointing import pointed
from lcm.storage import connection, open_store
from talks import compacted

ROOT = Path(__file__).resolve().parent.parent
NAME = "20261130_174508_a0cf96"


@pytest.fixture
def home(tmp_path):
    """A Hermes home with a conversation that was compacted."""
    (tmp_path / "lcm").mkdir()
    (tmp_path / "config.yaml").touch()
    compacted(tmp_path / "lcm" / "lcm.db", NAME)
    return tmp_path


@pytest.fixture
def call(home, capsys, monkeypatch):
    """Run the command line on that home: (exit code, all that was said, in one line)."""

    def call(*words, stdin=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = main(["--home", str(home), *words])
        said = capsys.readouterr()
        return code, " ".join(f"{said.out} {said.err}".split())

    return call


@contextmanager
def locked(home):
    """Something else holds the write lock until the end of the block."""
    with closing(sqlite3.connect(home / "lcm" / "lcm.db", isolation_level=None)) as sql:
        sql.execute("BEGIN IMMEDIATE")
        yield


def test_what_succeeds_names_the_database_in_its_advice(home, call):
    """Also where nothing is wrong: what is advised would else be about another database."""
    at = f"--home {home}"
    for words, advised in (
        (("search", "xylophone"), f"`show UID {at}` opens one"),
        (("show", "--turn", "3"), f"`show UID {at}` gives one"),
    ):
        code, said = call(*words)
        assert code == 0 and advised in said, said


def test_the_script_of_the_clone_names_the_home_too(home):
    """It reads `--home` itself, for a shell; what it calls is told all the same."""
    words = [str(ROOT / "scripts" / "lcm"), "--home", str(home), "status"]
    env = {**os.environ, "PYTHON": sys.executable, "COLUMNS": "1000"}
    said = subprocess.run(words, env=env, capture_output=True, text=True, check=False).stdout
    assert f"`HERMES_HOME={home} hermes lcm status` knows" in said
    assert f"`scripts/lcm --home {home} doctor` can tell" in said


def test_status_of_a_file_does_not_send_to_another_one(home, capsys):
    """Where a file was named, the Hermes of the environment knows nothing of it."""
    main(["--db", str(home / "lcm" / "lcm.db"), "status"])
    said = " ".join(capsys.readouterr().out.split())
    assert "in the home of a Hermes, says which file that one uses" in said


def test_a_verb_alone_is_a_command_only_with_what_follows_it():
    """What explains a verb is a word, and stays as it is."""
    at = {"home": "/h"}
    assert pointed("`verify` checks all. `show --session ID` is about one.", at) == (
        "`verify` checks all. `show --session ID --home /h` is about one."
    )
    assert pointed("`hermes sessions delete ID`", at) == "`hermes sessions delete ID`"


@pytest.mark.parametrize(
    ("words", "undone"),
    [
        (("forget", "--session", NAME, "--yes"), "Nothing was forgotten."),
        (("forget", "--text", "--yes"), "Nothing was forgotten."),
        (("import", "FILE"), "of the others nothing is"),
    ],
)
def test_what_could_not_be_written_is_not_promised(home, call, monkeypatch, words, undone):
    """Another process keeps the file: nothing happens later by itself, as it does with an agent."""
    source = home / "other" / "lcm.db"
    compacted(source, "another")
    assert main(["--db", str(source), "export", str(home / "FILE")]) == 0
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    words = [str(home / word) if word == "FILE" else word for word in words]
    with locked(home):
        code, said = call(*words, stdin="xylophone")
    assert code == 1 and undone in said and "Run this again" in said
    assert "is stored" not in said and "next chance" not in said
    with closing(open_store(home / "lcm" / "lcm.db", create=False)) as store:
        assert [NAME] == [each.name for each in store.sessions()]


def test_what_is_to_be_wiped_later_is_so_in_the_same_database(home, call, monkeypatch):
    """The command that does it names it."""
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    with locked(home):
        code, said = call("forget", "--finish")
    assert code == 1 and f"`forget --finish --home {home}` wipes them" in said


def test_verify_finds_nothing_wrong_with_an_index_while_another_process_writes(
    home, call, monkeypatch
):
    """SQLite's own check of it is a write, which has to wait; that is no damage."""
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    with locked(home):
        code, said = call("verify")
    assert (code, "every message accounted for" in said) == (0, True), said


def test_the_beginning_of_an_id_is_told_the_call_that_works(call):
    """With --yes the whole id is needed, so it is not enough to add that."""
    code, said = call("forget", "--session", "2026")
    assert code == 1 and f"give the whole id: --session {NAME} --yes" in said
    code, said = call("forget", "--session", NAME)
    assert code == 1 and "To do it, add --yes." in said
    assert call("forget", "--session", NAME, "--yes")[0] == 0


def test_the_time_that_a_person_takes_is_not_counted(home, monkeypatch):
    """A bar is for work that takes long: two messages have none, however long one types, or thinks it over."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    now = [0.0]
    terminal = Terminal()

    def answer(question, file=None):
        terminal.write(question)
        if question.endswith("[y/N] "):
            now[0] += 60

    def typed(_question):
        now[0] += 60
        return "xylophone"

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("sys.stdin", Terminal("y\nn\n"))
    monkeypatch.setattr(screen.clock, "monotonic", lambda: now[0])
    monkeypatch.setattr(forget.getpass, "getpass", typed)
    monkeypatch.setattr(forget, "put", answer)
    assert main(["--home", str(home), "forget", "--text"]) == 0
    assert "It would be replaced" in terminal.getvalue()
    assert "messages ━" not in terminal.getvalue() and "0:0" not in terminal.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        ("search", ""),
        ("search", "x", "--since", "whenever"),
        ("search", "(", "--mode", "regex"),
        ("search", "x", "--cursor", "zebra"),
        ("search", "x", "--turns", "foo"),
        ("show", "1a2b"),
        ("forget", "--text", "abc", "--yes"),
        ("forget", "--session", "2026", "--yes"),
    ],
)
def test_a_wrong_call_is_one_whoever_finds_it_out(call, words):
    """Exit code 2, as docs/operations.md has it: the options' own parser and the search alike."""
    assert call(*words)[0] == 2


def test_search_goes_on_where_it_stopped(call):
    """The text names the option that has the next results; together they are all, each once."""
    seen, more = [], []
    while True:
        code, said = call("search", "harbour", "--limit", "10", *more)
        assert code == 0
        seen += [word for word, kind in zip(said.split(), said.split()[1:], strict=False)
                 if kind in ("user,", "assistant,", "tool,", "summary,")]  # fmt: skip
        if "the next with `--cursor " not in said:
            break
        more = ["--cursor", said.partition("`--cursor ")[2].partition("`")[0]]
    assert len(seen) > 20 and len(set(seen)) == len(seen)
    assert f"the last 10 of {len(seen)}, mode exact" in said
    assert f" {len(seen)}. " in said  # numbered on
    code, said = call("search", "harbour", "--cursor", f"9000{more[1][more[1].index(':') :]}")
    assert code == 0 and said.strip().startswith(f"nothing more: {len(seen)} in all")


def test_what_a_misspelt_word_was_read_as_is_on_the_screen(call):
    """As the tool's answer says it to the agent."""
    code, said = call("search", "xylofone", "attik")
    assert code == 0 and "xylofone: read as xylophone" in said and "lcm_expand" not in said


@pytest.mark.parametrize(
    ("words", "prog", "near"),
    [
        (["why", "foo"], "hermes lcm why", ""),
        (["why", "--sesion", "x"], "hermes lcm why", "--session"),
        (["--sesion", "x", "why"], "hermes lcm", "--session"),
        (["search", "x", "--limt", "3"], "hermes lcm search", "--limit"),
    ],
)
def test_a_mistyped_option_is_answered_by_its_verb_and_not_by_the_host(capsys, words, prog, near):
    """In a host's parser too, which would show how the host is called; and the nearest one is named."""
    host = argparse.ArgumentParser(prog="hermes")
    host.add_argument("--of-the-host")
    setup_parser(host.add_subparsers().add_parser("lcm"))
    with pytest.raises(SystemExit) as left:
        host.parse_args(["lcm", *words])
    said = capsys.readouterr().err
    assert left.value.code == 2 and said.startswith(f"usage: {prog} [-h]")
    assert "--of-the-host" not in said
    assert said.endswith(f"Did you mean {near}?\n") if near else "Did you mean" not in said
