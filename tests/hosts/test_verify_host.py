"""``lcm verify`` against the log of a real Hermes: no false alarm after all that people do, and no row missed."""

# ruff: noqa: S608 - statements on a copy that is thrown away, made of our own constants

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing

import pytest
from hostkit import HermesHome
from hostkit.host import ROOT
from lcm.console.verify import HostLogAt, verify
from lcm.demo.model import Call, Reply, Script, ScriptedModel
from lcm.storage import open_store

pytestmark = pytest.mark.slow

FILLER = " The tide gauge was read and noted as usual on that day." * 12
ACTIONS = [
    ["say", "alpha-0001"],
    ["say", "  alpha-0002 with blanks around it  "],
    ["undo", 1],
    ["say", "alpha-0003 TOOL"],
    ["say", "alpha-0004"],
    ["say", "alpha-0005"],
    ["compress", ""],
    ["say", "alpha-0006"],
    ["new", None],
    ["say", "bravo-0001"],
    ["retry", None],
    ["resume", "first session"],
    ["say", "alpha-0007"],
    ["undo", 2],
    ["branch", None],
    ["say", "charlie-0001"],
    ["say", "charlie-0002"],
    ["compress", "here 1"],
    ["say", "charlie-0003"],
]


class Answers(Script):
    """Answers each text with its first word; one with a call."""

    def __init__(self) -> None:
        super().__init__([])

    def answer(self, messages):
        last = [m["content"] for m in messages if m["role"] == "user"][-1]
        if "TOOL" in last and messages[-1]["role"] == "user":
            return Reply("", (Call("terminal", {"command": "echo tool-output-0003"}),))
        return Reply(f"reply to {last.strip()[-len(FILLER) - 20 :].split(':')[0].split()[-1]}.")


@pytest.fixture(scope="module", params=[True, False], ids=["in-place", "rotation"])
def lived(request, host, tmp_path_factory):
    """A home in which people did a lot; two processes, one after the other."""
    actions = [[v, f"{a}:{FILLER}" if v == "say" else a] for v, a in ACTIONS]
    with ScriptedModel(Answers()) as model:
        home = HermesHome(tmp_path_factory.mktemp("verify"), host, model.url)
        home.config["compression"]["in_place"] = request.param
        home.install()
        seen = home.drive("habits", {"actions": actions})["seen"]
        session = seen[-1]["session"]
        home.drive("habits", {"session": session, "actions": [["say", f"delta-0001:{FILLER}"]]})
        yield home, session


@pytest.fixture
def copied(lived, tmp_path):
    """A copy of both databases, to be changed; gives the verification of what is left."""
    home, _ = lived
    for name in ("state.db", "state.db-wal", "lcm/lcm.db", "lcm/lcm.db-wal"):
        if (home.path / name).exists():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            shutil.copy(home.path / name, tmp_path / name)

    def check(*statements):
        with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as sql:
            for statement in statements:
                assert sql.execute(statement).rowcount, statement
        with closing(open_store(tmp_path / "lcm" / "lcm.db", create=False)) as store:
            return verify(store, host=HostLogAt(tmp_path / "state.db", asked_for=True))

    return check


def test_everything_hermes_has_is_in_the_store(lived):
    """After undo, retry, /new, /resume, /branch, compaction and a restart: each row is found, none is a false alarm."""
    home, _ = lived
    before = sorted(path.name for path in home.path.glob("state.db*"))
    command = [str(ROOT / "scripts" / "lcm"), "verify", "--json"]
    done = home.run(command, PYTHON=str(home.host.python))
    told = json.loads(done.stdout)
    assert (told["failures"], done.returncode) == ([], 0)
    assert told["host"]["rows"] > 2 * len(ACTIONS)
    assert told["host"]["found"] + told["host"]["own"] == told["host"]["rows"]
    assert told["host"]["own"] > 0
    # An older Hermes keeps what /retry took back in its list, beside what was said again.
    notes = [note["what"] for note in told["notes"] if "more often than" not in note["what"]]
    assert notes == []
    assert not home.host.is_new or told["notes"] == []
    assert sorted(path.name for path in home.path.glob("state.db*")) == before


def test_a_row_that_is_not_in_the_store_is_named(copied):
    """A message that only Hermes has is a failure, wherever it stands."""
    words = "entirely other words, kept by nobody but the host"
    report = copied(
        f"UPDATE messages SET content = '{words}' WHERE content = 'reply to charlie-0001.'"
    )
    if report.good:  # where the host gives uids, the message is known by its uid, whatever it says
        report = copied(f"UPDATE messages SET message_uid = 'f00d' WHERE content = '{words}'")
    assert {each.kind for each in report.failures} == {"message"}
    assert "is in Hermes's log" in report.failures[0].what


def test_a_session_that_nobody_kept_is_a_note(copied):
    """Rows of a session that the engine never saw are told, and are no failure."""
    report = copied(
        "INSERT INTO sessions (id, source, started_at) VALUES ('stranger', 'cli', 1.0)",
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('stranger', 'user', 'hello', 1.0)",
    )
    assert report.good
    assert "1 row of 1 session" in report.notes[-1].what
