"""An export that somebody has changed: a line that cannot be so is refused, before anything is written."""

from __future__ import annotations

import json
import re

import pytest
from lcm import LCMEngine
from lcm.console.cli import main


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The records of an export with two summaries of a long conversation, one in another."""
    folder = tmp_path_factory.mktemp("hostile")
    engine = LCMEngine(4000, db_path=folder / "l.db", settings={"threshold": 0.5, "target": 0.2})
    engine.on_session_start("s1")
    rows = []
    for n in range(12):
        rows.append({"role": "user", "content": f"question {n} " + "word " * 60})
        rows.append({"role": "assistant", "content": f"answer {n} " + "text " * 60})
    engine.compress(rows, force=True)
    engine.close()
    out = folder / "x.jsonl"
    assert main(["export", "--db", str(folder / "l.db"), "--out", str(out)]) == 0
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


ODD_TIMES = [1e30, -1.0, float("inf"), float("nan"), "now", None, True, 10**400]
CHANGES = [
    *(("message", "time", value) for value in ODD_TIMES),
    *(("node", "time", value) for value in ODD_TIMES),
    *(("pass", "time", value) for value in ODD_TIMES),
    *(("line", "created", value) for value in ODD_TIMES),
    *(("line", "origin", value) for value in ([1], "x", 7, {"program": 1, "file": "x"}, {"a": 1})),
    *(("message", "seq", value) for value in (1 << 62, (1 << 63) - 1, -1, 1.5)),
    *(("message", "number", value) for value in (1 << 62, 10**30, "1")),
    *(("message", "turn", value) for value in (1 << 31, -1, [])),
    *(("message", "version", value) for value in (1.5, True, "1")),
    *(("node", "messages", value) for value in (10**15, 0, 1)),
    *(("node", "depth", value) for value in (7, 10**15)),
    *(("node", "source_tokens", value) for value in (10**12, -1)),
    *(("node", "first_turn", value) for value in (10**17, -1)),
    ("node", "line", 99),
    *(("node", name, None) for name in ("texts", "hints", "lifted", "sources", "levels", "uid")),
    *(("node", "sources", value) for value in ([[1]], [1], [None], "ab")),
    *(("message", "withdrawn", value) for value in ("yes", 1, None)),
    *(("message", "returned", value) for value in ("yes", 1)),
    *(("message", "names", value) for value in ("abc", None, {}, [None])),
    *(("message", "session", value) for value in ("nope", None, 1)),
    *(("message", "versions", value) for value in (0, None, "1")),
    ("pass", "detail", []),
]


@pytest.mark.parametrize(("kind", "name", "value"), CHANGES)
def test_what_cannot_be_is_a_bad_line(tmp_path, capsys, exported, kind, name, value):
    """A time of no year, a number beyond every database, a summary that stands for more than is under it: the line is
    named, nothing comes of its session, and what was there is as it was and can be read."""
    records = json.loads(json.dumps(exported))
    record = next(each for each in records if each["kind"] == kind)
    (record["sessions"][0] if kind == "line" else record)[name] = value
    file, path = tmp_path / "x.jsonl", tmp_path / "l.db"
    file.write_text("\n".join(map(json.dumps, records)))
    engine = LCMEngine(8000, db_path=path, settings={})
    engine.on_session_start("mine")
    engine.ingest([{"role": "user", "content": "my own words"}])
    engine.close()
    assert main(["import", str(file), "--db", str(path), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert len(said["bad"]) >= 1
    assert not re.search(
        r"has no attribute|NoneType|argument|unpack|iterable|subscript", said["bad"][0]["why"]
    )
    assert not said["done"] or said["done"]["messages"] == 0
    assert main(["sessions", "--db", str(path)]) == 0
    assert "s1" not in capsys.readouterr().out


@pytest.mark.parametrize("value", ["uid", "name"])
@pytest.mark.parametrize("number", [1, 4, 23])
def test_two_messages_of_one_name_are_a_bad_line(tmp_path, capsys, exported, value, number):
    """The second line is named, and no database is made for what does not come."""
    records = json.loads(json.dumps(exported))
    lines = [at for at, each in enumerate(records, 1) if each["kind"] == "message"]
    first, other = records[lines[0] - 1], records[lines[number] - 1]
    if value == "uid":
        other["uid"] = first["uid"]
    else:
        other["names"] = [first["uid"]]
    file, path = tmp_path / "x.jsonl", tmp_path / "new" / "l.db"
    file.write_text("\n".join(map(json.dumps, records)))
    assert main(["import", str(file), "--db", str(path), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["bad"][0]["line"], said["done"]) == (lines[number], None)
    assert first["uid"] in said["bad"][0]["why"]
    assert not path.parent.exists()
    assert main(["import", str(file), "--db", str(path), "--incomplete", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["done"]["messages"] == 23
    assert main(["verify", "--db", str(path)]) == 0


@pytest.mark.parametrize("kind", ["message", "place"])
def test_a_version_or_a_place_of_another_name_is_a_bad_line(tmp_path, capsys, exported, kind):
    """What goes on with a message says its name."""
    records = json.loads(json.dumps(exported))
    at = next(n for n, each in enumerate(records) if each["kind"] == "message")
    more = {**records[at], "kind": kind, "uid": "a" * 32, "version": 2, "versions": 2, "seq": 5}
    records.insert(at + 1, more)
    file = tmp_path / "x.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    assert main(["import", str(file), "--db", str(tmp_path / "l.db"), "--json"]) == 1
    (bad, *_) = json.loads(capsys.readouterr().out)["bad"]
    assert bad == {
        "line": at + 2,
        "why": f"{'a' * 32!r} is no name of its message",
        "depends": False,
    }
    assert not (tmp_path / "l.db").exists()


def test_unchanged_it_comes(tmp_path, capsys, exported):
    """The other direction: the same file as it was made is taken whole, its summaries too."""
    file, path = tmp_path / "x.jsonl", tmp_path / "l.db"
    file.write_text("\n".join(map(json.dumps, exported)))
    assert main(["import", str(file), "--db", str(path), "--json"]) == 0
    done = json.loads(capsys.readouterr().out)["done"]
    assert done["messages"] == 24
    kinds = [each["node_kind"] for each in exported if each["kind"] == "node"]
    assert "frame" in kinds
    assert done["nodes"] == len(kinds) - kinds.count("frame") >= 1
    assert main(["verify", "--db", str(path)]) == 0
