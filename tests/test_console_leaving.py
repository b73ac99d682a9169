"""How a call ends: stopped at a question, refused, or answered; and what is said of it."""

from __future__ import annotations

import getpass
import io
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest
from lcm import LCMEngine
from lcm.console.cli import main

ROOT = Path(__file__).resolve().parent.parent


class Terminal(io.StringIO):
    """What a person types, a line at a time; at its end it is Ctrl-D."""

    def isatty(self):
        return True


@pytest.fixture
def call(tmp_path, capsys, monkeypatch):
    """Run the command line on a home with one message; gives (exit code, standard output, standard error)."""
    engine = LCMEngine(6000)
    engine.on_session_start("talk", hermes_home=str(tmp_path))
    engine.ingest([{"role": "user", "content": "the lamp was lit"}])
    engine.close()

    def call(*words, typed=""):
        monkeypatch.setattr("sys.stdin", Terminal(typed))
        capsys.readouterr()
        code = main(["--home", str(tmp_path), *words])
        return code, *capsys.readouterr()

    return call


_WAITS = "import sys, time\nprint('importing', file=sys.stderr, flush=True)\ntime.sleep(60)\n"
_PIP = """
import importlib.util, sys
root = sys.argv[1]
spec = importlib.util.spec_from_file_location("lcm", f"{root}/__init__.py", submodule_search_locations=[root])
lcm = importlib.util.module_from_spec(spec); sys.modules["lcm"] = lcm; spec.loader.exec_module(lcm)
from lcm.console.starting import main
sys.argv = ["hermes-lcm", *sys.argv[2:]]
sys.exit(main())
"""


@pytest.mark.parametrize("program", ["scripts/lcm", "run.py", "hermes-lcm"])
@pytest.mark.parametrize("module", ["textwrap", "sqlite3"])
def test_ctrl_c_is_quiet_while_modules_are_imported(tmp_path, program, module):
    """Of the program, and of the verb that is called: one line, no traceback, exit code 130."""
    (tmp_path / f"{module}.py").write_text(_WAITS)
    words = {
        "scripts/lcm": [str(ROOT / "scripts" / "lcm")],
        "run.py": [sys.executable, str(ROOT / "scripts" / "run.py"), "console.cli"],
        "hermes-lcm": [sys.executable, "-c", _PIP, str(ROOT)],
    }[program]
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHON": sys.executable}
    child = subprocess.Popen(
        [*words, "--home", str(tmp_path), "verify"], stderr=subprocess.PIPE, text=True, env=env
    )
    assert child.stderr.readline() == "importing\n"
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert (child.returncode, said) == (130, "\nlcm: stopped\n")


def test_a_program_that_shall_not_be_interrupted_is_not(tmp_path):
    """Where whoever started it had Ctrl-C ignored, as for what runs in the background."""
    words = [sys.executable, str(ROOT / "scripts" / "run.py"), "console.cli", "--help"]
    (tmp_path / "textwrap.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfrom _textwrap import *\n"
    )
    (tmp_path / "_textwrap.py").write_text(Path(textwrap.__file__).read_text())
    done = subprocess.run(
        ["/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh", *words],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "examples:" in done.stdout


def unseen(prompt):
    """The hidden prompt, where somebody presses Ctrl-D: the real one reads from the process's own terminal."""
    raise EOFError(prompt)


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (["--text"], ""),
        (["--text", "lamp"], ""),
        (["--text", "lamp"], "y\n"),
        (["--session", "talk"], ""),
    ],
    ids=["hidden", "text", "backup", "session"],
)
def test_ctrl_d_stops_as_ctrl_c_does(call, monkeypatch, words, typed):
    """At the hidden prompt, at the question and at the offer of a backup: exit code 130, and nothing was changed."""
    monkeypatch.setattr(getpass, "getpass", unseen)
    code, out, err = call("forget", *words, typed=typed)
    assert (code, out) == (130, "")
    assert err.endswith("lcm: stopped\n") and "could not be read" not in err
    assert "the lamp was lit" in call("search", "lamp")[1]


def test_a_no_is_answered_in_one_line(call):
    """What would go was shown before the question, and is not shown again."""
    code, out, err = call("forget", "--session", "talk", typed="n\n")
    assert (code, out) == (1, "Nothing was changed.\n")
    assert err.count("This would go") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "1a2b3c4d", "--turn", "1"], "not both"),
        (["forget", "--finish", "--session", "talk"], "--finish goes alone"),
        (["forget", "--finish", "--text", "lamp"], "--finish goes alone"),
        (["backup", "--session", "talk"], "export --session"),
        (["sessions", "--session", "talk"], "status --session"),
    ],
    ids=" ".join,
)
def test_what_would_be_left_aside_is_a_wrong_call(call, words, said):
    """Exit code 2 instead of an answer to a part of what was asked."""
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("words", [["forget"], ["show"], ["forget", "--session", "a", "--text"]])
def test_a_call_that_lacks_something_is_a_wrong_call(call, words):
    """Exit code 2, and the options that it wants."""
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert "Say wh" in err and "--" in err


def test_verify_says_what_the_rows_of_the_host_are(call, tmp_path):
    """Beside the number of rows stands why it is not that of the messages."""
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as sql:
        sql.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT,"
            " timestamp REAL, active INTEGER, compacted INTEGER)"
        )
        for active in (0, 1):
            row = ("talk", "user", "the lamp was lit", active, 1 - active)
            sql.execute(
                "INSERT INTO messages (session_id, role, content, timestamp, active, compacted)"
                " VALUES (?, ?, ?, 1.0, ?, ?)",
                row,
            )
    code, out, _ = call("verify")
    said = " ".join(out.split())
    assert code == 0 and "2 rows of 1 session" in said
    assert "a message once more for each compaction that left it in the list" in said
    assert "2 of messages that are here, 0 written by lcm itself" in said
