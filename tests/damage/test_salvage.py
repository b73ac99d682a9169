"""What can be read of a damaged database comes out of it; what cannot is named, and the file is left as it is."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from damagekit import talk
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.storage import open_store
from lcm.storage.errors import StoreDamaged
from lcm.storage.salvage import salvaged

FORMATS = ("jsonl", "markdown", "state")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A database of one conversation with summaries, all of it in the file itself."""
    path = tmp_path_factory.mktemp("good") / "lcm.db"
    engine = LCMEngine(8000, settings={}, db_path=path)
    engine.on_session_start("s")
    rows = talk(300)
    for n in range(0, len(rows), 60):
        engine.ingest(rows[: n + 60])
    engine.compress(rows, current_tokens=7900)
    engine.close()
    return path


def leaf_pages(path, table):
    """Places of the leaves of a table in the file."""
    with closing(sqlite3.connect(path)) as sql:
        try:
            query = "SELECT pgoffset, pgsize FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path"
            return sql.execute(query, [table]).fetchall()
        except sqlite3.OperationalError:
            pytest.skip("this SQLite has no dbstat")


@pytest.fixture
def broken(good, tmp_path):
    """Copies of the database with a leaf of a table overwritten."""

    def broken(table, which=1):
        path = tmp_path / "broken.db"
        shutil.copy(good, path)
        offset, _ = leaf_pages(good, table)[which]
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(b"\xaa" * 3000)
        return path

    return broken


@pytest.fixture
def call(capsys):
    """Run the command line; gives (exit code, standard output, standard error)."""

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


def bodies(path):
    """The bytes of all messages of a store, in order."""
    store = open_store(path, create=False)
    try:
        return [message.body for message in store.stream()]
    finally:
        store.close()


@pytest.mark.parametrize("words", [(), ("--session", "s"), ("--shareable",)])
def test_a_page_of_nodes_takes_no_message_with_it(good, broken, call, tmp_path, words):
    """Every message comes whole; the nodes of the page are named, exit code 1; the copy is proven by verify."""
    path = broken("nodes")
    before = path.read_bytes()
    code, out, err = call("export", "--db", path, *words, "--out", tmp_path / "out", "--json")
    data = json.loads(out)
    assert code == 1
    assert data["messages"] == 600
    assert data["left_out"]["messages"] == []
    assert data["left_out"]["nodes"]
    assert all(uid in err for uid in data["left_out"]["nodes"][:10])
    assert path.read_bytes() == before
    call("import", tmp_path / "out", "--db", tmp_path / "new.db")
    assert bodies(tmp_path / "new.db") == bodies(good)
    assert call("verify", "--db", tmp_path / "new.db")[0] == 0


@pytest.mark.parametrize(
    "verb", ["status", "tree", "sessions", "export --format state", "export --format markdown"]
)
def test_every_way_to_look_shows_what_is_left(broken, call, verb):
    """With a page of nodes lost each of them gives its answer, beside the warning."""
    code, out, err = call(*verb.split(), "--db", broken("nodes"))
    assert "s" in out.split() or '"session": "s"' in out
    if code:  # it met the damage
        assert "is damaged" in err
        assert "cannot be read" in err


@pytest.mark.parametrize("table", ["messages", "entries"])
def test_a_page_of_the_log_takes_only_its_own(good, broken, call, tmp_path, table):
    """The others come, whole and in order, from before and behind the page; a place that is lost is made up for."""
    code, _, _ = call("export", "--db", broken(table), "--out", tmp_path / "out")
    assert code == 1
    call("import", tmp_path / "out", "--db", tmp_path / "new.db")
    found, all_ = bodies(tmp_path / "new.db"), bodies(good)
    lost = len(all_) - len(found)
    assert lost == 0 if table == "entries" else 0 < lost < 40
    assert found == [body for body in all_ if body in set(found)]


@pytest.mark.parametrize("form", FORMATS)
def test_half_a_file_gives_what_is_in_it(good, call, tmp_path, form):
    """A file cut in half: its messages come, not one of them changed; the file stays as it is."""
    path = tmp_path / "half.db"
    shutil.copy(good, path)
    os.truncate(path, path.stat().st_size // 2)
    before = path.read_bytes()
    code, out, err = call(
        "export", "--db", path, "--format", form, "--out", tmp_path / "out", "--json"
    )
    assert code == 1
    assert "is damaged" in err
    count = json.loads(out)["messages"]
    assert 50 < count < 600
    assert path.read_bytes() == before
    if form == "jsonl":
        call("import", tmp_path / "out", "--db", tmp_path / "new.db")
        found = bodies(tmp_path / "new.db")
        assert len(found) == count
        assert set(found) <= set(bodies(good))


def test_where_nothing_can_be_read_it_says_so(good, call, tmp_path):
    """Two pages of it: no message, a clear line, no file, and the doctor names what can still be tried."""
    path = tmp_path / "stump.db"
    shutil.copy(good, path)
    os.truncate(path, 8192)
    with pytest.raises(StoreDamaged), salvaged(path, lambda _what: None):
        pass
    code, out, err = call("export", "--db", path, "--out", tmp_path / "out")
    assert (code, out) == (1, "")
    assert "damaged" in err
    assert not (tmp_path / "out").exists()
    assert ".recover" in call("doctor", "--db", path)[1]
