"""What the command line counts and times: each in one way, with words that fit, and no more than is known."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from lcm.console.cli import main
from lcm.console.present import present
from lcm.dag.wording import many
from lcm.storage import open_store
from talks import compacted


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
    """A conversation that was compacted twice."""
    path = tmp_path / "lcm.db"
    compacted(path, "talk")
    return path


def test_show_says_which_size_it_prints_and_which_one_the_context_shows(database, call):
    """The largest, unless another is asked for; the text is that of the size that is named."""
    shown = json.loads(call("why", "--db", database, "--json")[1])["rows"][0]["shows"]
    uid, at = next((each["uid"], each["level"]) for each in shown if each["level"] < 1000)
    data = json.loads(call("show", uid, "--db", database, "--json")[1])
    sizes = sorted(map(int, data["levels"]))
    assert data["shown_at"] == at and len(sizes) > 1 and at in sizes
    for more, size in ((), sizes[-1]), (("--level", sizes[0]), sizes[0]), (("--level", at + 1), at):
        _, out, _ = call("show", uid, *more, "--db", database)
        head = out.partition("\n")[0]
        assert f"in up to {size} tokens" in head and data["levels"][str(size)] in out
        assert ("as the context shows it" if size == at else f"shows up to {at}") in head
    for words in (("--turn", 3, "--level", 50), (data["messages"][0]["uid"], "--level", 50)):
        assert call("show", *words, "--db", database)[0] == 2


def test_times_are_in_one_form_and_say_that_they_are_in_utc(database, call):
    """In status, why, sessions and search."""
    for verb in (["status"], ["why"], ["sessions"], ["search", "xylophone"]):
        out = call(*verb, "--db", database)[1]
        out = out.replace(str(database), "")
        assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z", out), verb
        assert not re.search(r"\d\d:\d\d(?!\d|:\d\d|Z)", out), verb


def test_the_rows_of_why_and_what_is_beside_them_are_the_tokens_of_the_list(database, call):
    """What the list has more, or less, than its rows is a field, and a line."""
    for beside in (49, -49):
        store = open_store(database)
        (last, *_) = reversed(store.passes())
        here = present(store, store.session("talk"))
        end = here.behind[-1].seq
        tokens = here.whole + beside
        store.record_pass(replace(last, tokens_after=tokens, detail={"end": end}))
        store.close()
        data = json.loads(call("why", "--db", database, "--json")[1])
        rows = sum(row["tokens"] for row in data["rows"])
        assert data["tokens"] == rows + data["beside"] - data["shortened"] == rows + beside
        said = "And 49 tokens of what Hermes keeps" if beside > 0 else "these are 49 tokens less"
        assert said in " ".join(call("why", "--db", database)[1].split())


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [(1, "summary", "1 summary"), (2, "summary", "2 summaries"), (0, "day", "0 days"),
     (1234, "summary row", "1,234 summary rows"), (2, "version", "2 versions")],
)  # fmt: skip
def test_one_thing_is_not_said_to_be_several(count, noun, said):
    """Numbers of things, also of those whose plural is another word."""
    assert many(count, noun) == said


def test_a_version_that_is_not_there_is_refused_in_good_words(database, call):
    """One version is no versions."""
    uid = json.loads(call("search", "xylophone", "--db", database, "--json")[1])["results"][0][
        "uid"
    ]
    assert f"{uid} has 1 version." in call("show", f"{uid}@7", "--db", database)[2]


def test_a_page_of_its_own_counts_what_is_damaged(tmp_path, call):
    """It is no message word for word, and the exit code says so as that of other findings does."""
    path = tmp_path / "lcm.db"
    compacted(path, "talk")
    code, out, _ = call("view", "--out", tmp_path / "whole.html", "--db", path)
    assert code == 0 and "It holds 80 messages word for word" in out and "WRONG" not in out
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("UPDATE messages SET body = x'7b7b' WHERE id IN (2, 5)")
        sql.commit()
    code, out, _ = call("view", "--out", tmp_path / "page.html", "--db", path)
    assert code == 1 and "It holds 78 messages word for word" in out
    assert "WRONG: 2 messages cannot be read" in out and f"`hermes lcm verify --db {path}`" in out


def torn(path):
    """Overwrite the page from which all summaries are found; their names stand in an index besides."""
    with closing(sqlite3.connect(path)) as sql:
        (root,) = sql.execute("SELECT rootpage FROM sqlite_master WHERE name = 'nodes'").fetchone()
        (size,) = sql.execute("PRAGMA page_size").fetchone()
        sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)


def test_what_cannot_be_read_is_not_said_to_be_none(tmp_path, call):
    """Of a damaged file what is lost is counted as verify counts it, and what is left is not said to be all."""
    path = tmp_path / "lcm.db"
    compacted(path, "talk")
    checked = json.loads(call("verify", "--db", path, "--json")[1])["checked"]
    torn(path)
    code, out, err = call("status", "--db", path)
    assert code == 1 and "none that can be read" in out and "none yet" not in out
    assert f"at least {many(checked['nodes'], 'summary')} cannot be read" in err
    assert f"at least {many(checked['frames'], 'summary row')} cannot be read" in err
    assert "under no summary that can be read" in call("tree", "--db", path)[1]
    for verb in ("tree", "why"):
        assert "othing compacted yet" not in call(verb, "--db", path)[1]
