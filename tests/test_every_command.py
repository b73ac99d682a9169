"""Every command on every kind of store: empty, none, damaged, forbidden, large, and while an agent writes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from lcm.console.cli import main
from lcm.console.verbs import VERBS
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from talks import compacted, passed, plain

ROOT = Path(__file__).resolve().parent.parent

#: Each verb with what it needs; FILE is an export, NEW a file that is not there.
CALLS = {
    "status": ["status"],
    "why": ["why"],
    "search": ["search", "harbour"],
    "tree": ["tree", "--messages"],
    "view": ["view", "--out", "NEW.html"],
    "show": ["show", "--turn", "1"],
    "sessions": ["sessions"],
    "doctor": ["doctor"],
    "verify": ["verify"],
    "backup": ["backup", "NEW.db"],
    "export": ["export", "--out", "NEW.jsonl"],
    "import": ["import", "FILE", "--dry-run"],
    "forget": ["forget", "--text", "--yes"],
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A database and its export; do not write to them."""
    folder = tmp_path_factory.mktemp("source")
    compacted(folder / "lcm.db")
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        assert main(["--db", str(folder / "lcm.db"), "export", "--out", str(folder / "FILE")]) == 0
    return folder


@pytest.fixture
def call(source, tmp_path, monkeypatch, capsys):
    """Run a verb on a database, as text and as data; gives its exit codes and the text."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "nobody"))
    (tmp_path / "new").mkdir()
    count = iter(range(1000))

    def words_of(verb):
        names = {"FILE": str(source / "FILE")}
        new = str(tmp_path / "new" / f"{next(count)}-")
        return [names.get(word, word.replace("NEW", new)) for word in CALLS[verb]]

    def call(verb, path):
        codes = []
        for more in ([], ["--json"]):
            monkeypatch.setattr("sys.stdin", io.StringIO("xylophone\n"))
            codes.append(main([*words_of(verb), "--db", str(path), *more]))
            said = capsys.readouterr()
            assert "Traceback" not in said.out + said.err
            assert "could not be read (" not in said.out + said.err
            assert said.out or said.err
            if more:
                assert json.loads(said.out or said.err)
            else:
                text = said.out + said.err
        assert codes[0] == codes[1]
        return codes[0], text

    return call


def test_no_verb_is_left_out():
    """Who adds a verb says here how it is called."""
    assert list(CALLS) == list(VERBS)


@pytest.mark.parametrize("verb", CALLS)
def test_an_empty_store(call, tmp_path, verb):
    """Nothing was said yet: nothing is wrong."""
    path = tmp_path / "lcm.db"
    open_store(path).close()
    code, _ = call(verb, path)
    assert code == (1 if verb == "view" else 0)  # there is no page to write


@pytest.mark.parametrize("verb", CALLS)
def test_no_store(call, tmp_path, verb):
    """One line says where it should be; none is made, but by an import that is carried out."""
    path = tmp_path / "nowhere" / "lcm.db"
    code, text = call(verb, path)
    assert code == (0 if verb in ("doctor", "import") else 1)
    assert str(path) in "".join(text.split()) or verb == "import"
    assert not path.parent.exists()
    assert list((tmp_path / "new").iterdir()) == []


DAMAGE = {
    "half of it is missing": lambda path: os.truncate(
        path, path.stat().st_size // 2 // 4096 * 4096
    ),
    "its begin is overwritten": lambda path: _overwrite(path, 0, 4096),
    "a page is overwritten": lambda path: _overwrite(
        path, path.stat().st_size // 3 // 4096 * 4096, 4096
    ),
    "it is a text": lambda path: path.write_text("This is no database. " * 1000),
}


def _overwrite(path, at, length):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * length)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("verb", CALLS)
def test_a_damaged_store(call, source, tmp_path, verb, damage):
    """Words of what is wrong, or what can still be read; the file is not written over."""
    path = tmp_path / "lcm.db"
    path.write_bytes((source / "lcm.db").read_bytes())
    DAMAGE[damage](path)
    before = path.read_bytes()
    code, _ = call(verb, path)
    assert code in (0, 1)
    if verb in ("doctor", "verify", "backup"):
        assert code == 1
    assert path.read_bytes() == before


#: Run in a child that is an ordinary user: root may read anything.
_CHILD = """
import contextlib, importlib, importlib.util, io, json, os, pkgutil, sys
root, path, calls = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
spec = importlib.util.spec_from_file_location("lcm", f"{root}/__init__.py", submodule_search_locations=[root])
lcm = importlib.util.module_from_spec(spec); sys.modules["lcm"] = lcm; spec.loader.exec_module(lcm)
import rapidfuzz, networkx, regex, yaml, rich.console, rich.table, rich.tree, rich.padding, rich.progress
for room in ("storage", "dag", "tools", "console"):  # who may not reach this clone needs all of it now
    for module in pkgutil.iter_modules([f"{root}/{room}"], f"lcm.{room}."):
        importlib.import_module(module.name)
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
said = {}
for verb, words in calls.items():
    for more in ([], ["--json"]):
        sys.stdin = io.StringIO("xylophone\\n")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = lcm.console.cli.main([*words, "--db", path, *more])
        said[" ".join([verb, *more])] = [code, out.getvalue(), err.getvalue()]
print(json.dumps(said))
"""


@pytest.fixture
def somebody_elses(source):
    """A database that an ordinary user may not read, in a folder that he reaches."""
    with tempfile.TemporaryDirectory(prefix="lcm-commands-") as base:
        folder = Path(base) / "lcm"
        folder.mkdir()
        Path(base).chmod(0o755)
        (folder / "lcm.db").write_bytes((source / "lcm.db").read_bytes())
        (folder / "FILE").write_bytes((source / "FILE").read_bytes())
        yield folder
        folder.chmod(0o700)


@pytest.mark.parametrize("mode", [0o000, 0o755])
def test_no_permission(somebody_elses, mode):
    """Folder or file shut: each command says so in words, names the path, and leaves nothing behind."""
    path = somebody_elses / "lcm.db"
    path.chmod(0)
    (somebody_elses / "FILE").chmod(0o644)
    somebody_elses.chmod(mode)
    names = {"FILE": str(somebody_elses / "FILE")}
    calls = {
        verb: [names.get(word, word.replace("NEW", str(somebody_elses / "new"))) for word in words]
        for verb, words in CALLS.items()
    }
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(ROOT), str(path), json.dumps(calls)],
        capture_output=True, text=True, timeout=120, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for verb, (code, out, err) in json.loads(done.stdout).items():
        said = " ".join(f"{out} {err}".split())
        assert code == 1, (verb, said)
        assert "Traceback" not in said
        assert "ermission" in said or "cannot be" in said or "not allowed" in said, (verb, said)
        assert str(path.parent) in "".join(said.split()), (verb, said)
        if verb.endswith(" --json"):
            data = json.loads(out)  # and nothing else, so that a program can read it
            assert isinstance(data, dict) and err == "", (verb, said)
    somebody_elses.chmod(0o700)
    assert {each.name for each in somebody_elses.iterdir()} == {"lcm.db", "FILE"}


@pytest.mark.parametrize("verb", [verb for verb in CALLS if verb != "forget"])
def test_while_an_agent_writes(call, tmp_path, verb):
    """Whatever is asked meanwhile is answered, and nothing of what the agent says is lost."""
    path = tmp_path / "lcm.db"
    compacted(path)
    begun, done, failures, rows = threading.Event(), threading.Event(), [], plain(2000)

    def write():
        try:
            store = open_store(path)
            ledger = Ledger(store, store.open_session("agent"))
            said = 0
            while not done.is_set() and said < len(rows):
                said += 2
                ledger.ingest(rows[:said])
                if said == 10:  # a quick command would be over before the first turn
                    begun.set()
            store.close()
            failures.extend([] if begun.is_set() else ["the agent said next to nothing"])
        except Exception as error:  # noqa: BLE001 - whatever it is, the test fails of it
            failures.append(error)

    agent = threading.Thread(target=write)
    agent.start()
    try:
        begun.wait(60)
        code, _ = call(verb, path)
    finally:
        done.set()
        agent.join()
    assert failures == []
    assert code == 0
    assert call("verify", path)[0] == 0


# how it looks, and how it ends


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("verb", [verb for verb in CALLS if verb != "show"])
def test_lines_fit_the_terminal(call, source, tmp_path, monkeypatch, verb, columns):
    """Only what is to be copied, and a path, is wider; `show` is word for word."""
    path = tmp_path / "lcm.db"
    path.write_bytes((source / "lcm.db").read_bytes())
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "dumb")
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    _, text = call(verb, path)
    least = 48 if verb == "doctor" else columns  # beside its names a few words must have room
    without_paths = [re.sub(r"\S*/\S*", "", line) for line in text.splitlines()]
    wide = [line for line in without_paths if len(line) > max(columns, least)]
    assert [line for line in wide if not line.startswith("  ")] == []


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("verb", ["", *CALLS])
def test_help_fits_the_terminal(monkeypatch, capsys, verb, columns):
    """Examples are to be copied; all else is broken. Each has some."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([*verb.split(), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "examples:" in lines
    assert [line for line in lines if len(line) > columns and not line.startswith("  ")] == []


class Interrupted(io.StringIO):
    """A terminal where somebody presses Ctrl-C."""

    def readline(self, *_):
        raise KeyboardInterrupt

    read = readline


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    "call",
    [
        ["forget"],
        ["forget", "--text", "--session", "one"],
        ["show"],
        ["import"],
        ["search"],
        ["tree", "--depth", "0"],
        ["view", "--port", "0"],
        ["export", "--format", "poem"],
        ["nothing"],
        [],
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_one_with_and_without_a_database(source, tmp_path, capsys, call, there):
    """Exit code 2, and words on how to call it; nobody is sent to look for a database."""
    path = source / "lcm.db" if there else tmp_path / "none.db"
    assert main(["--db", str(path), *call]) == 2
    said = capsys.readouterr()
    assert said.err and "no database" not in said.err
    assert main(["--db", str(path), *call, "--json"]) == 2


def test_the_exit_codes_are_those_of_the_documentation(source, tmp_path, monkeypatch, capsys):
    """docs/operations.md: 0 all is well, 1 something is wrong, 2 the call is, 130 Ctrl-C."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = page.partition("### Exit codes")[2].partition("\n## ")[0]
    path = tmp_path / "lcm.db"
    path.write_bytes((source / "lcm.db").read_bytes())
    monkeypatch.setattr("sys.stdin", Interrupted())
    found = {
        main(["--db", str(path), "status"]),
        main(["--db", str(tmp_path / "none.db"), "why"]),
        main(["--db", str(path), "tree", "--depth", "none"]),
        main(["--db", str(path), "forget", "--text"]),
    }
    assert found == {0, 1, 2, 130}
    assert found == {int(line.split("|")[1]) for line in table.splitlines() if line[2:3].isdigit()}
    assert "stopped" in capsys.readouterr().err


# a long conversation


#: What reads all of it; the others answer in two seconds.
READS_ALL = ("verify", "export", "view", "import")
LONG_CALLS = {
    **CALLS,
    "why": ["why", "--all"],
    "forget": ["forget", "--text"],  # without --yes it shows what would go
    "search": ["search", "word777"],
    "tree": ["tree"],
    "export --format state": ["export", "--format", "state", "--out", "NEW.json"],
    "search --mode exact": ["search", "word77", "--mode", "exact"],
    "search --mode regex": ["search", "word7[7]7", "--mode", "regex"],
    "search --mode fuzzy": ["search", "wrod777", "--mode", "fuzzy"],
    "show --turn 4000": ["show", "--turn", "4000"],
}


@pytest.fixture(scope="module", params=[10_000, pytest.param(100_000, marks=pytest.mark.long)])
def large(request, tmp_path_factory):
    """A database of so many messages that were ingested and compacted, and their number."""
    folder = tmp_path_factory.mktemp("large")
    store = open_store(folder / "lcm.db")
    ledger = Ledger(store, store.open_session("long"))
    rows = [
        {"role": ("user", "assistant")[n % 2], "content": f"word{n} " + "of the talk " * (n % 17)}
        for n in range(request.param)
    ]
    ledger.ingest(rows)
    passed(store, ledger, rows)
    store.close()
    return folder, request.param


def program(*words):
    """Run it in a process of its own: what it said, and the seconds of the processor that it took."""
    command = [sys.executable, str(ROOT / "scripts" / "run.py"), "console.cli", *words]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, input="word777 \n"
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done, spent


@pytest.mark.slow
def test_a_long_conversation_keeps_nobody_waiting(large, tmp_path):
    """Two seconds of the processor, or five times what the program takes on an empty store where that is more.

    What reads everything takes longer, and says how far it is from the first second on.
    """
    folder, count = large
    open_store(tmp_path / "empty.db").close()
    _, least = program("--db", str(tmp_path / "empty.db"), "status")
    (folder / "FILE").unlink(missing_ok=True)
    assert program("--db", str(folder / "lcm.db"), "export", "--out", str(folder / "FILE"))
    spent, silent = {}, []
    names = {"FILE": str(folder / "FILE")}
    for name, call in LONG_CALLS.items():
        words = [names.get(word, word.replace("NEW", str(tmp_path / "new"))) for word in call]
        done, seconds = program("--db", str(folder / "lcm.db"), *words)
        assert done.returncode == (1 if name == "forget" else 0), (name, done.stderr)
        assert done.stdout or done.stderr
        if words[0] in READS_ALL:
            if not done.stderr.startswith(f"{words[0]}: "):
                silent.append(name)
        else:
            spent[name] = seconds
    assert max(spent.values()) < max(2.0, 5 * least), (least, spent)
    assert count < 100_000 or silent == []
