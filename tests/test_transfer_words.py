"""What `import` says of a file that it does not take, and that nothing is left of the attempt."""

from __future__ import annotations

import json

import pytest
from lcm.console.cli import main
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from moving import full_store, rows_of


@pytest.fixture
def call(capsys):
    """Run the command line; gives (exit code, standard output and error)."""

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, "".join(capsys.readouterr())

    return call


@pytest.fixture
def database(tmp_path):
    """A small store."""
    store = open_store(tmp_path / "a.db")
    Ledger(store, store.open_session("talk")).ingest(rows_of("talk", 1, 3))
    store.close()
    return tmp_path / "a.db"


@pytest.mark.parametrize("form", ["markdown", "state"])
def test_exports_for_people_are_known(tmp_path, database, call, form):
    """Our own Markdown and state exports: they are what they are, and jsonl is what can be imported."""
    call("export", "--db", database, "--format", form, "--out", tmp_path / "out")
    code, said = call("import", tmp_path / "out", "--db", tmp_path / "new.db")
    assert code == 1
    assert f"an export as {form}" in said
    assert "--format jsonl" in said
    assert not (tmp_path / "new.db").exists()


def test_a_folder_is_a_folder(tmp_path, call):
    """A folder is not said to be missing."""
    code, said = call("import", tmp_path, "--db", tmp_path / "new.db")
    assert code == 1
    assert f"{tmp_path} is a folder" in said


@pytest.mark.parametrize("text", ["no export", "{}", ""])
def test_a_file_of_something_else_leaves_no_database(tmp_path, call, text):
    """No empty database comes of a file that is no export."""
    (tmp_path / "x").write_text(text)
    code, said = call("import", tmp_path / "x", "--db", tmp_path / "new" / "new.db")
    assert code == 1
    assert "no export" in said
    assert not (tmp_path / "new").exists()


@pytest.fixture
def spoiled(tmp_path):
    """An export of one conversation with summaries; one line of it cannot be read, and others rest on it."""
    database = full_store(tmp_path / "full.db")
    main(["export", "--db", str(database), "--out", str(tmp_path / "full.jsonl")])
    lines = (tmp_path / "full.jsonl").read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if json.loads(line)["kind"] == "message")
    lines[at] = lines[at][:40]
    (tmp_path / "bad.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "bad.jsonl", at + 1


def test_one_bad_line_is_one_bad_line(tmp_path, spoiled, call):
    """One line cannot be read; what rests on it is counted apart and not listed."""
    path, number = spoiled
    code, said = call("import", path, "--db", tmp_path / "new.db")
    assert code == 1
    assert "1 line of it cannot be read, " in said
    assert "more depend on it; --incomplete brings the rest" in said
    assert f"WRONG: line {number}: " in said
    assert said.count("WRONG: line ") == 1


def test_what_is_refused_is_not_called_imported(tmp_path, spoiled, call):
    """All of a file refused: neither "imported", nor "proves the whole", nor a database, nor a promise."""
    path, _ = spoiled
    for more in ((), ("--dry-run",)):
        _, said = call("import", path, "--db", tmp_path / "new.db", "--session", "talk", *more)
        assert "Nothing of it can be imported. Nothing was changed." in said
        assert "imported:" not in said
        assert "proves" not in said
        assert "Without --dry-run" not in said
        assert not (tmp_path / "new.db").exists()


def test_shareable_promises_no_more_than_it_holds(tmp_path, database, call):
    """Known secrets are taken out; that there are none is nobody's to say."""
    call("export", "--db", database, "--shareable", "--out", tmp_path / "s.jsonl")
    code, said = call("import", tmp_path / "s.jsonl", "--db", tmp_path / "new.db")
    assert code == 0
    assert "known secrets taken out" in said
    assert "no secrets" not in said
