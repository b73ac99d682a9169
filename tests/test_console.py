"""The command line and ``/lcm``: what a person sees, on good stores and on bad ones."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lcm.console import screen
from lcm.console.cli import main, run, setup_parser, slash
from lcm.dag.compact import PassRequest, compact
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.storage.records import Pass

ROOT = Path(__file__).resolve().parent.parent
VERBS = (["status"], ["why"], ["search", "harbour"], ["tree"], ["verify"])


def fill(path, name="first", *, turns=30):
    """A conversation of short turns, compacted twice; turn 3 holds a secret word."""
    store = open_store(path)
    ledger = Ledger(store, store.open_session(name))
    rows = []
    for number in range(1, turns + 1):
        hidden = number == 3 and name == "first"
        fact = "the xylophone stands in the attic" if hidden else f"fact {number} of {turns}"
        filler = " ".join(f"harbour{number}{n}" for n in range(120))
        rows += [
            {"role": "user", "content": f"Note for {name}, number {number}: {fact}."},
            {"role": "assistant", "content": f"Noted {number}. [bold]Not markup[/bold] {filler}"},
        ]
        ledger.ingest(rows)
        if number in (turns // 2, turns - 3):
            _, binding = ledger.bind(rows)
            settings = Settings(leaf_tokens=600, condense_fanin=2)
            request = PassRequest(settings, 6000, 4000, None, force=True, stamp=False)
            done = compact(store, ledger.session.line, binding, request)
            counts = (done.before, done.after, len(rows), len(done.rows))
            store.record_pass(Pass(time.time(), name, *counts, done.frame.uid))
            rows = list(done.rows)
    ledger.ingest(rows)
    store.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A Hermes home whose database holds two conversations; do not write to it."""
    folder = tmp_path_factory.mktemp("home")
    fill(folder / "lcm" / "lcm.db", "first")
    fill(folder / "lcm" / "lcm.db", "second", turns=20)
    return folder


@pytest.fixture(autouse=True)
def _no_home_of_ones_own(monkeypatch, tmp_path):
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "nobody"))
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def call(capsys):
    """Run the command line; gives (exit code, standard output, standard error)."""

    def call(*words):
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


def shell(*words, **environment):
    """Run the command line in a process of its own, from the clone."""
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "run.py"), "console.cli", *map(str, words)],
        env=os.environ | environment,
        capture_output=True,
        check=False,
        timeout=60,
    )


# finding the database


def test_a_home_or_a_file_may_be_named_before_or_after_the_verb(call, home, monkeypatch):
    """All ways lead to the same database."""
    file = home / "lcm" / "lcm.db"
    ways = [
        ("--home", home, "sessions"),
        ("sessions", "--home", home),
        ("--db", file, "sessions"),
        ("sessions", "--db", file),
        ("--home", "/nowhere", "sessions", "--home", home),
    ]
    seen = {call(*way) for way in ways}
    monkeypatch.setenv("HERMES_HOME", str(home))
    seen.add(call("sessions"))
    assert len(seen) == 1
    assert seen.pop()[0] == 0
    for way in (("--home", home), ("--db", file)):
        assert str(file) in call("status", *way)[1].replace("\n", "")


@pytest.mark.parametrize("verb", VERBS[1:], ids=lambda verb: verb[0])
def test_a_missing_database_is_one_line_and_is_not_made(call, tmp_path, verb):
    """It says where it looked and what to do next, and creates nothing."""
    code, out, err = call(*verb, "--home", tmp_path)
    assert code == 1
    assert out == ""
    assert err.count("\n") == 1
    assert f"There is no database at `{tmp_path}/lcm/lcm.db" in err
    assert "--home" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", VERBS[1:], ids=lambda verb: verb[0])
def test_an_error_is_data_where_data_is_asked_for(call, tmp_path, verb):
    """--json holds for what goes wrong, too."""
    code, out, err = call(*verb, "--json", "--home", tmp_path)
    assert (code, err) == (1, "")
    assert set(json.loads(out)) == {"error", "hint"}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_what_is_no_database_of_ours_is_said_in_words(call, tmp_path, verb):
    """Text, another program's database, a folder, a file below a file."""
    text = tmp_path / "text.db"
    text.write_text("This is no database at all, and long enough to be sure of it. " * 20)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as sql:
        sql.execute("CREATE TABLE theirs (x)")
    sql.close()
    before = other.read_bytes()
    for path, word in [
        (text, "no SQLite"),
        (other, "another program"),
        (tmp_path, ""),
        (text / "x", ""),
    ]:
        code, out, err = call(*verb, "--db", path)
        assert (code, out) == (1, "")
        assert word in err
        assert "Traceback" not in err
    assert other.read_bytes() == before


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_an_empty_store_is_no_trouble(call, tmp_path, verb):
    """Before the first turn there is nothing wrong: no zeros that look broken, exit code 0."""
    open_store(tmp_path / "lcm.db").close()
    code, out, err = call(*verb, "--db", tmp_path / "lcm.db")
    assert (code, err) == (0, "")
    assert ("every message accounted for" if verb == ["verify"] else "no session yet") in out


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE nodes SET data = 'x'",
        "UPDATE messages SET body = x'ff', refs = NULL",
        "UPDATE passes SET data = '{}'",
        "UPDATE edges SET source = 99999, message = NULL",
        "DROP TABLE entries",
        "DROP TABLE sessions",
    ],
)
def test_a_damaged_store_gives_words(call, home, tmp_path, verb, statement):
    """Whatever is broken: an answer or an error, never a traceback; verify always says so."""
    path = tmp_path / "lcm.db"
    shutil.copy(home / "lcm" / "lcm.db", path)
    with sqlite3.connect(path) as sql:
        sql.execute(statement)
    sql.close()
    code, out, err = call(*verb, "--db", path)
    assert code in ((1,) if verb == ["verify"] else (0, 1))
    assert out or err
    assert "Traceback" not in out + err


# sessions


def test_the_session_last_used_is_shown(call, tmp_path):
    """The one with the newest message, not the one opened last."""
    path = tmp_path / "lcm.db"
    fill(path, "old")
    fill(path, "young", turns=10)
    store = open_store(path)
    Ledger(store, store.session("old")).ingest([{"role": "user", "content": "back again"}])
    store.open_session("silent")
    store.close()
    _, out, _ = call("status", "--db", path, "--json")
    assert json.loads(out)["session"] == "old"


def test_a_session_may_be_named_by_its_beginning(call, home):
    """As long as that is unambiguous."""
    _, out, _ = call("tree", "--home", home, "--session", "fir", "--json")
    assert json.loads(out)["session"] == "first"


def test_an_unknown_session_is_answered_with_the_known_ones(call, home):
    """And with exit code 1."""
    code, _, err = call("tree", "--home", home, "--session", "third")
    assert code == 1
    assert "second, first" in err


# status


def test_status_without_a_host_says_what_it_does_not_know(call, home):
    """The database alone cannot tell whether a Hermes uses it."""
    code, out, _ = call("status", "--home", home, "--session", "first")
    assert code == 0
    assert "not known from here" in out
    assert "60" in out
    assert "compactions  2" in out
    assert "100 messages of 2 sessions" in " ".join(out.split())


def facts(**more):
    return {
        "engine_active": True,
        "engine_reason": "",
        "compression_enabled": True,
        "window": 200_000,
        "threshold_tokens": 150_000,
        "last_prompt_tokens": 75_000,
        "problems": [],
    } | more


def ask(facts, *words, db_path=""):
    """What the host's command line does: its parser, our arguments, its facts."""
    parser = argparse.ArgumentParser(prog="hermes")
    verb = parser.add_subparsers(dest="command").add_parser("lcm")
    setup_parser(verb)
    return run(parser.parse_args(["lcm", *words]), db_path=db_path, facts=facts)


def test_status_with_facts_says_them(home, capsys):
    """What the host knows is shown, and all is well."""
    code = ask(facts(), "status", db_path=str(home / "lcm" / "lcm.db"))
    out = " ".join(capsys.readouterr().out.split())
    assert code == 0
    assert "engine active" in out
    assert "75,000 tokens in the last request, 50% of the threshold" in out
    assert "warning" not in out


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ({"compression_enabled": False}, "compression.enabled is false"),
        ({"engine_active": False, "engine_reason": "built-in it is"}, "NOT ACTIVE: built-in it is"),
        ({"problems": ["lcm.treshold: unknown"]}, "lcm.treshold: unknown"),
    ],
)
def test_status_says_why_an_engine_does_nothing(home, capsys, fact, said):
    """The host never asks, another engine is chosen, a setting is wrong: exit code 1."""
    code = ask(facts(**fact), "status", db_path=str(home / "lcm" / "lcm.db"))
    assert code == 1
    assert said in " ".join(capsys.readouterr().out.split())


def test_status_shows_each_warning_and_the_worst_first(home, capsys):
    """Compression switched off before wrong keys, each in a row of its own, and how many more there are."""
    told = facts(compression_enabled=False, problems=[f"lcm.key{n}: unknown" for n in range(6)])
    assert ask(told, "status", db_path=str(home / "lcm" / "lcm.db")) == 1
    rows = capsys.readouterr().out.partition("\nwarning ")[2]
    places = [rows.index(said) for said in ("compression.enabled", "key0", "key1", "key3")]
    assert places == sorted(places)
    assert rows.count("\nwarning ") == 4
    assert "key4" not in rows and "2 more: `status --json` has all" in rows
    assert rows.count("hermes lcm doctor") == 1


def test_status_before_the_first_turn_is_no_screen_of_zeros(tmp_path, capsys):
    """HOST-12: no database yet: the facts are shown, and that no session began."""
    code = ask(facts(last_prompt_tokens=0), "status", db_path=str(tmp_path / "lcm.db"))
    out = capsys.readouterr().out
    assert code == 0
    assert "no session yet" in out
    assert "engine" in out
    assert " 0" not in out
    assert list(tmp_path.iterdir()) == []


def test_status_of_a_fresh_home_is_the_same_from_a_clone(tmp_path, call, capsys):
    """But for what only Hermes knows: no session, no database yet, where it will be. Nothing is wrong."""
    path = str(tmp_path / "lcm" / "lcm.db")
    (tmp_path / "config.yaml").touch()
    assert ask(facts(window=None), "status", db_path=path) == 0
    inside = " ".join(capsys.readouterr().out.split())
    code, out, err = call("status", "--home", tmp_path)
    outside = " ".join(out.split())
    assert (code, err) == (0, "")
    for said in (inside, outside):
        assert "session no session yet: it begins with the first turn" in said
        assert f"none yet at {path}" in said.replace("\n", "")
    assert "not known from here" in outside
    assert json.loads(call("status", "--home", tmp_path, "--json")[1])["no_database"] == path
    assert [each.name for each in tmp_path.iterdir()] == ["config.yaml"]


def test_facts_are_not_told_of_another_database(home, capsys):
    """--home asks about a Hermes that did not send these facts."""
    ask(facts(), "status", "--home", str(home))
    assert "not known from here" in capsys.readouterr().out


# tree, search, verify


def test_tree_shows_spans_sizes_and_what_is_verbatim(call, home):
    """Every turn is in the tree once: in a top node or in the rest."""
    code, out, _ = call("tree", "--home", home, "--session", "first", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["nodes"][0]["turns"][0] == 1
    assert sum(node["messages"] for node in data["nodes"]) + data["verbatim"]["messages"] == 60
    assert all(node["shown_at"] for node in data["nodes"])
    _, text, _ = call("tree", "--home", home, "--session", "first")
    assert data["nodes"][0]["uid"][:8] in text
    assert f"in the context word for word: turns {data['verbatim']['turns'][0]}-" in text


def test_tree_goes_as_deep_as_asked(call, home):
    """--depth cuts, and says that something is below; --messages shows the leaves' own."""
    words = ("tree", "--home", home, "--session", "first")
    _, flat, _ = call(*words, "--depth", "1")
    _, deep, _ = call(*words, "--depth", "9", "--messages")
    assert "more below: --depth 2" in flat
    assert "user: Note for first, number 3: the xylophone" in " ".join(deep.split())
    assert deep.count("\n") > flat.count("\n") + 20


def test_tree_of_a_branch_leaves_out_what_its_parent_said_later(call, tmp_path):
    """Nodes made on the parent's line since the branch are not the branch's."""
    path = tmp_path / "lcm.db"
    fill(path, "parent", turns=10)
    store = open_store(path)
    branch = store.open_session("branch", parent="parent", relation="branch")
    count = len(store.entries(branch.line))
    store.close()
    fill_more = open_store(path)
    talk = Ledger(fill_more, fill_more.session("parent"))
    rows = [{"role": "user", "content": f"later {n} " + "granite " * 200} for n in range(20)]
    _, binding = talk.bind(rows)
    request = PassRequest(Settings(), 6000, 3000, None, force=True, stamp=False)
    assert compact(fill_more, talk.session.line, binding, request).changed
    fill_more.close()
    _, out, _ = call("tree", "--db", path, "--session", "branch", "--json")
    data = json.loads(out)
    assert data["nodes"]
    assert sum(node["messages"] for node in data["nodes"]) <= count


def test_search_finds_what_the_tool_finds(call, home):
    """The fact is found, with its session's turn; another session needs --scope all."""
    words = ("search", "where", "is", "the", "xylophone", "--home", home)
    code, out, _ = call(*words, "--session", "first", "--json")
    best = next(each for each in json.loads(out)["results"] if each["kind"] == "message")
    assert code == 0
    assert best["turn"] == 3
    assert "attic" in best["snippet"]
    _, text, _ = call(*words, "--session", "first")
    assert best["uid"][:8] in text
    assert "turn 3" in text
    _, out, _ = call(*words, "--session", "second", "--json")
    assert json.loads(out)["results"] == []
    _, out, _ = call(*words, "--session", "second", "--scope", "all", "--json")
    assert json.loads(out)["results"]


def test_search_that_finds_nothing_says_where_it_looked(call, home):
    """Nothing found is an answer and no failure."""
    code, out, _ = call("search", "qqqqzzzz", "--home", home)
    assert code == 0
    assert "nothing found" in out


def test_search_that_cannot_be_answered_says_what_to_do(call, home):
    """A wrong pattern is a wrong call: exit code 2 and a hint."""
    code, _, err = call("search", "(", "--mode", "regex", "--home", home)
    assert code == 2
    assert "exact" in err


def test_show_gives_a_message_back_word_for_word(call, home):
    """By the name that search and tree show; under a node all of its messages; as data byte for byte."""
    code, out, _ = call("search", "xylophone", "--session", "first", "--home", home, "--json")
    (found, *_) = json.loads(out)["results"]
    home = [home, "--session", "first"]
    code, out, _ = call("show", found["uid"][:8], "--home", *home)
    assert code == 0
    assert "\nNote for first, number 3: the xylophone stands in the attic.\n" in out
    long = json.loads(call("search", "harbour31", "--home", *home, "--json")[1])["results"][0]
    assert max(map(len, call("show", long["uid"], "--home", *home)[1].splitlines())) > 1000
    code, out, _ = call("show", found["covered_by"], "--home", *home, "--json")
    texts = [each["message"]["content"] for each in json.loads(out)["messages"]]
    assert any(
        text == "Note for first, number 3: the xylophone stands in the attic." for text in texts
    )
    code, _, err = call("show", "ffffffff", "--home", *home)
    assert code == 1
    assert "Nothing here is called" in err
    assert "xylophone" in slash(
        f"show {found['uid'][:8]}", db_path=str(home[0] / "lcm" / "lcm.db"), session="first"
    )


def test_verify_of_one_session_is_refused(call, home):
    """It must not say that every message of it is accounted for."""
    code, out, err = call("verify", "--session", "nope", "--home", home)
    assert (code, out) == (2, "")
    assert "checks all sessions" in err


def test_verify_ends_with_its_verdict(call, home):
    """What was checked and how many; the last line is the verdict."""
    code, out, err = call("verify", "--home", home)
    assert (code, err) == (0, "")
    assert (
        out.rstrip().split("\n")[-1].startswith("verify: every message accounted for (100 messages")
    )
    code, out, _ = call("verify", "--home", home, "--json")
    assert code == 0
    assert json.loads(out)["checked"]["messages"] == 100


def test_verify_names_what_fails(call, home, tmp_path):
    """The uid in full, exit code 1, and the same as data."""
    path = tmp_path / "lcm.db"
    shutil.copy(home / "lcm" / "lcm.db", path)
    with sqlite3.connect(path) as sql:
        sql.execute("UPDATE messages SET body = replace(body, 'fact 7', 'fact 8') WHERE id = 13")
        (uid,) = sql.execute("SELECT lower(hex(uid)) FROM messages WHERE id = 13").fetchone()
    sql.close()
    code, out, _ = call("verify", "--db", path)
    assert code == 1
    assert uid in out.replace("\n", "")
    assert "verify: 1 fault in" in out
    code, out, _ = call("verify", "--db", path, "--json")
    assert code == 1
    assert [failure["uid"] for failure in json.loads(out)["failures"]] == [uid]


# how it looks


@pytest.mark.parametrize("columns", [20, 40, 100])
@pytest.mark.parametrize("verb", [*VERBS, ["tree", "--messages"]], ids=" ".join)
def test_lines_are_no_wider_than_the_terminal(call, home, monkeypatch, verb, columns):
    """COLUMNS is obeyed; uids stay readable."""
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = call(*verb, "--home", home)
    assert max(len(line) for line in out.split("\n")) <= columns


def test_colours_only_on_a_terminal_that_wants_them(home):
    """None in a pipe; on a terminal yes, with NO_COLOR none."""
    pty = pytest.importorskip("pty")

    def on_a_terminal(**environment):
        leader, follower = pty.openpty()
        words = [
            sys.executable,
            str(ROOT / "scripts" / "run.py"),
            "console.cli",
            "tree",
            "--home",
            str(home),
        ]
        env = os.environ | {"TERM": "xterm-256color"} | environment
        with subprocess.Popen(words, env=env, stdout=follower, stderr=subprocess.DEVNULL):
            os.close(follower)
            said = b""
            while chunk := _read(leader):
                said += chunk
        os.close(leader)
        return said

    assert b"\x1b" not in shell("tree", "--home", home).stdout
    assert b"\x1b[36m" in on_a_terminal()
    assert b"\x1b[36m" not in on_a_terminal(NO_COLOR="1")


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def test_what_was_said_cannot_steer_the_terminal(call, tmp_path):
    """Escape sequences, markup and lone surrogates of a conversation are text."""
    store = open_store(tmp_path / "lcm.db")
    evil = "\x1b]0;owned\x07 \x1b[31mred [red]markup[/red] \ud800 \u202e zebra"
    Ledger(store, store.open_session("s\x1b[2J")).ingest([{"role": "user", "content": evil}])
    store.close()
    for verb in (["search", "zebra"], ["tree"], ["status"], ["verify"]):
        code, out, _ = call(*verb, "--db", tmp_path / "lcm.db")
        assert code == 0
        assert not {"\x1b", "\x07", "\ud800", "\u202e"} & set(out)
    _, out, _ = call("search", "zebra", "--db", tmp_path / "lcm.db")
    assert "[red]markup[/red]" in out


def test_a_terminal_without_unicode_is_served(home):
    """ASCII only: a tree of ASCII, question marks at worst, no traceback."""
    done = shell("tree", "--home", home, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"Traceback" not in done.stderr


# as a program


def errors(stderr):
    """What is said on standard error, but for how far it is, which a busy machine has time to say."""
    return [line for line in stderr.splitlines() if not line.startswith((b"verify: ", b"tree: "))]


def test_the_program_answers_with_exit_codes(home, tmp_path):
    """0 good, 1 something is wrong, 2 the call is wrong."""
    good = shell("verify", "--home", home)
    assert (good.returncode, errors(good.stderr)) == (0, [])
    assert b"verify: every message accounted for" in good.stdout
    assert shell("status", "--home", tmp_path).returncode == 1
    (tmp_path / "config.yaml").touch()
    assert shell("status", "--home", tmp_path).returncode == 0
    assert shell("status", "--db", tmp_path / "none.db").returncode == 1
    for wrong in (
        [],
        ["staus"],
        ["search"],
        ["tree", "--depth", "0"],
        ["search", "x", "--limit", "51"],
    ):
        done = shell(*wrong, "--home", home)
        assert done.returncode == 2
        assert b"usage: lcm" in done.stderr
        assert b"Traceback" not in done.stderr


def test_a_reader_that_leaves_is_no_trouble(home):
    """``lcm tree | head -1`` ends quietly."""
    words = [sys.executable, str(ROOT / "scripts" / "run.py"), "console.cli"]
    words += ["tree", "--messages", "--home", str(home)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert errors(process.stderr.read()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("where", ["/dev/full", "&-"])
@pytest.mark.parametrize("verb", ["tree --json", "tree", "status", "export", "doctor", "search x"])
def test_output_that_cannot_be_written(home, verb, where):
    """Said in words, and not of the database, which is well."""
    words = f"{sys.executable} {ROOT / 'scripts' / 'run.py'} console.cli {verb} --home {home}"
    done = subprocess.run(
        ["/bin/sh", "-c", f"{words} >{where}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert 1 == done.returncode
    why = "No space left on device" if where == "/dev/full" else "it is closed"
    said = [line for line in done.stderr.splitlines() if line.startswith("lcm: ")]  # else progress
    assert [f"lcm: what was found cannot be written: {why}"] == said
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", ["tree", "verify", "export", "search x", "staus", ""])
def test_a_closed_standard_error_changes_nothing_else(home, verb):
    """A cron job or a daemon may have none (``2>&-``): same answer, same exit code."""
    words = f"{sys.executable} {ROOT / 'scripts' / 'run.py'} console.cli {verb} --home {home}"
    there, closed = (
        subprocess.run(
            ["/bin/sh", "-c", f"{words} {where}"], stdout=subprocess.PIPE, timeout=60, check=False
        )
        for where in ("2>/dev/null", "2>&-")
    )
    assert (there.returncode, there.stdout) == (closed.returncode, closed.stdout)


@pytest.mark.parametrize("verb", [[], *VERBS], ids=lambda verb: verb[0] if verb else "lcm")
def test_help_has_examples(call, verb):
    """Every help text shows how it is called, and ends with 0."""
    code, out, _ = call(*verb[:1], "--help")
    assert code == 0
    assert f"examples:\n  lcm {verb[0] if verb else 'status'}" in out


def test_nothing_heavy_is_imported_before_it_is_needed():
    """A host that registers the command pays for no table library, no graph and no database."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r}); import run;"
        "sys.argv = ['x'];"
        "code = run.main(['console.cli', '--help']);"
        "sys.exit(any(name in sys.modules for name in ('rich', 'networkx', 'sqlite_utils')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


# in a chat


@pytest.fixture
def chat(home):
    """``/lcm`` in the chat of the session *first*."""

    def chat(raw, **more):
        given = {"db_path": str(home / "lcm" / "lcm.db"), "session": "first"} | more
        return slash(raw, **given)

    return chat


def test_a_chat_gets_plain_text(chat):
    """Every verb answers, without colour and short enough for the strictest chat."""
    for raw in ("", "status", "search xylophone", "tree --messages --depth 9", "verify", "help"):
        said = chat(raw, facts=facts())
        assert said.strip()
        assert len(said) <= 3600
        assert "\x1b" not in said
    assert "attic" in chat("search xylophone")
    assert "every message accounted for" in chat("verify")
    assert "engine" in chat("", facts=facts())


def test_a_long_reply_keeps_its_begin_and_its_end(chat):
    """What is left out is said."""
    said = chat("tree --messages --depth 9")
    assert "session first" in said
    assert "in a terminal shows all of it" in said
    assert "in the context word for word: " in said


@pytest.mark.parametrize("raw", ["", "status"])
def test_a_chat_before_its_first_turn_has_no_session(chat, raw, tmp_path):
    """Not another chat's figures, and no zeros; with and without a database."""
    assert "no session yet" in chat(raw, session="")
    assert "no session yet" in chat(raw, session="unheard-of")
    said = chat(raw, session="", db_path=str(tmp_path / "lcm.db"), facts=facts(window=None))
    assert "no session yet" in said
    assert list(tmp_path.iterdir()) == []


def test_a_chat_sees_its_own_session_only(chat):
    """Without a session there is nothing to search, whatever the store holds."""
    assert "attic" not in chat("search xylophone", session="")
    assert "attic" not in chat("search xylophone", session="second")
    for raw in (
        "status --db /etc/passwd",
        "tree --session second",
        "verify --home /",
        "tree --json",
    ):
        assert "/lcm search WORDS" in chat(raw)


@pytest.mark.parametrize(
    "raw",
    [
        "staus",
        "search",
        "search what's up",
        'search "open',
        "tree --depth x",
        "-h",
        "\x00",
        "\ud800 x",
        "search \ud800",
    ],
)
def test_a_chat_never_gets_an_exception(chat, raw):
    """Wrong verbs, open quotes, nonsense: a reply."""
    assert chat(raw).strip()


def test_a_chat_hears_of_a_damaged_store_in_words(chat, home, tmp_path):
    """One line of what is wrong."""
    path = tmp_path / "lcm.db"
    shutil.copy(home / "lcm" / "lcm.db", path)
    with sqlite3.connect(path) as sql:
        sql.execute("DROP TABLE nodes")
    sql.close()
    for raw in ("status", "tree", "search harbour", "verify"):
        said = chat(raw, db_path=str(path))
        assert said.strip()
        assert "Traceback" not in said
    assert "fault" in chat("verify", db_path=str(path))
    text = tmp_path / "text.db"
    text.write_text("no database " * 100)
    assert "no SQLite database" in chat("status", db_path=str(text))


class Screen(io.StringIO):
    """A terminal's standard error."""

    def isatty(self):
        return True


def test_a_bar_stands_still_once_its_work_is_done(monkeypatch):
    """A question that follows is not drawn over."""
    monkeypatch.setenv("TERM", "xterm")
    err = Screen()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(screen, "_QUIET_SECONDS", 0.0)
    with screen.progress("forget") as show:
        show("messages", 1, 2)
        assert "forget" in err.getvalue()
        show("messages", 2, 2)
        said = err.getvalue()
        time.sleep(0.4)  # four times as long as a bar takes to be drawn anew
        assert err.getvalue() == said
