"""``import``: looked at first; files that are damaged, foreign, shareable, or hold what was forgotten."""

from __future__ import annotations

import io
import json
import re

import pytest
from lcm.console.scan import scan
from lcm.console.transfer import as_line
from lcm.console.verify import verify
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from moving import exported, full_store, imported, lcm, rows_of


@pytest.fixture
def full(tmp_path):
    """A store with versions, aliases, an undo, a rotation, a branch, compactions and large payloads."""
    return full_store(tmp_path / "full" / "lcm.db")


def test_a_dry_run_shows_and_changes_nothing(full, tmp_path):
    """Neither a database that is missing nor one that is there is touched; the numbers are those of the import."""
    file = exported(full, tmp_path / "a.jsonl")
    code, answer = imported(file, tmp_path / "none" / "lcm.db", "--dry-run")
    assert (0, None) == (code, answer["done"])
    assert not (tmp_path / "none").exists()
    expected = sum(each["new"] for each in answer["sessions"])
    assert expected == imported(file, tmp_path / "new.db")[1]["done"]["messages"]
    code, answer = imported(file, tmp_path / "new.db", "--dry-run")
    assert [0] == list({each["new"] for each in answer["sessions"]})
    assert expected == sum(each["known"] for each in answer["sessions"])


def lines(file):
    return file.read_text().splitlines(keepends=True)


def test_bad_lines_are_named_and_their_session_does_not_come(full, tmp_path):
    """The number of each line; the other sessions come; with --incomplete the rest of that one does too."""
    text = lines(exported(full, tmp_path / "a.jsonl"))
    (at, *_) = [n for n, line in enumerate(text) if '"other asks 2' in line]
    text[at] = text[at].replace("other asks 2", "other begs 2")
    file = tmp_path / "bad.jsonl"
    file.write_text("".join(text))
    code, answer = imported(file, tmp_path / "new.db")
    assert (1, [at + 1]) == (code, [bad["line"] for bad in answer["bad"]])
    assert "digest" in answer["bad"][0]["why"]
    assert ["other"] == [each["session"] for each in answer["refused"]]
    store = open_store(tmp_path / "new.db", create=False)
    assert store.session("other") is None and store.session("talk") is not None
    assert verify(store).good
    store.close()
    assert 1 == imported(file, tmp_path / "new.db", "--incomplete")[0], "bad lines are still bad"
    store = open_store(tmp_path / "new.db", create=False)
    assert 12 == len(store.entries(store.session("other").line))
    assert verify(store).good
    store.close()
    whole = tmp_path / "a.jsonl"
    assert 1 == imported(whole, tmp_path / "new.db")[1]["done"]["messages"], (
        "the mended file adds it"
    )
    again = exported(tmp_path / "new.db", tmp_path / "again.jsonl")
    store = open_store(tmp_path / "new.db", create=False)
    assert verify(store).good
    store.close()
    assert len(lines(again)) == len(lines(whole))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text[:-3], "do not end|does not end|missing"),
        (lambda text: [*text[:-3], text[-3][:40]], "Unterminated|Expecting|delimiter"),
        (lambda text: [*text[:5], "\x00garbage\n", *text[5:]], "Expecting|Invalid|codec"),
        (lambda text: [*text[:5], "[]\n", *text[5:]], "no record"),
        (lambda text: [*text[:5], text[5], *text[5:]], "taken"),
        (
            lambda text: [*text[:5], text[5].replace('"number": ', '"number": -'), *text[6:]],
            "number",
        ),
        (
            lambda text: [
                *text[:5],
                text[5].replace('"message": {', '"message": [{').replace("}}", "}]}"),
                *text[6:],
            ],
            ".",
        ),
    ],
    ids=["cut", "cut in a line", "garbage", "other JSON", "twice", "negative", "no message"],
)
def test_a_damaged_file_never_gives_an_exception(full, tmp_path, change, why):
    """Cut off, garbage, a line twice: words, exit code 1, and a store that verify accepts."""
    file = tmp_path / "bad.jsonl"
    file.write_text("".join(change(lines(exported(full, tmp_path / "a.jsonl")))))
    for words in ((), ("--incomplete",)):
        code, answer = imported(file, tmp_path / "new.db", *words)
        assert 1 == code
        assert re.search(why, " ".join(bad["why"] for bad in answer["bad"]))
        store = open_store(tmp_path / "new.db", create=False)
        assert verify(store).good
        store.close()


def test_a_changed_summary_is_found(full, tmp_path):
    """A word changed in a summary, or in its sources, is a bad line: no node comes that verify would refuse."""
    text = lines(exported(full, tmp_path / "a.jsonl"))
    (at, *_) = [n for n, line in enumerate(text) if '"node_kind": "leaf"' in line]
    record = json.loads(text[at])
    record["topic"] += "!"
    text[at] = as_line(record)
    (tmp_path / "bad.jsonl").write_text("".join(text))
    found = scan(tmp_path / "bad.jsonl", lambda *_: None)
    bad = [each for group in found.groups for each in group.bad]
    assert at + 1 == bad[0].line
    assert "uid" in bad[0].why


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"kind": "other"}\n', b"\xff\xfe\x00"])
def test_what_is_no_export_is_refused(tmp_path, content):
    """One sentence, exit code 1, and no database made of it."""
    (tmp_path / "file").write_bytes(content)
    code, answer = imported(tmp_path / "file", tmp_path / "new.db")
    assert (1, True) == (code, "no export" in answer["error"])


def test_a_file_of_a_newer_form_is_refused(tmp_path):
    """What a later version wrote is not half understood."""
    (tmp_path / "file").write_text('{"kind": "lcm-export", "version": 99}\n')
    assert "newer version" in imported(tmp_path / "file", tmp_path / "new.db")[1]["error"]


def test_a_missing_file_is_said(tmp_path):
    """And nothing is made."""
    code, answer = imported(tmp_path / "none", tmp_path / "new.db")
    assert (1, True) == (code, "no file" in answer["error"])
    assert [] == list(tmp_path.iterdir())


def test_our_own_database_is_not_imported_as_a_neighbours(full, tmp_path):
    """The way to take it in is named."""
    code, answer = imported(full, tmp_path / "new.db")
    assert (1, True) == (code, "export" in answer["error"])


def test_a_shareable_export_holds_no_secret_and_overwrites_nothing(tmp_path):
    """Keys are masked in every form; imported where the messages are, it changes none of them."""
    path, secret = tmp_path / "lcm.db", "ghp_" + "a1B2" * 9
    store = open_store(path)
    rows = [
        {"role": "user", "content": f"my key is {secret}"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c", "function": {"name": "f", "arguments": json.dumps({"token": secret})}}]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": f"GITHUB={secret}"}]},
    ]  # fmt: skip
    Ledger(store, store.open_session("s")).ingest(rows)
    store.close()
    for form in ("jsonl", "markdown", "state"):
        file = exported(path, tmp_path / form, "--shareable", "--format", form)
        assert secret not in file.read_text()
        assert (
            secret in exported(path, tmp_path / f"{form}2", "--format", form).read_text()
            or form == "state"
        )
    before = exported(path, tmp_path / "before").read_bytes()
    code, answer = imported(tmp_path / "jsonl", path)
    assert (0, True, 0, 0) == (
        code,
        answer["shareable"],
        answer["done"]["messages"],
        answer["done"]["versions"],
    )
    assert before == exported(path, tmp_path / "after").read_bytes()
    assert 3 == imported(tmp_path / "jsonl", tmp_path / "new.db")[1]["done"]["messages"]


def test_a_forgotten_session_does_not_come_back(full, tmp_path):
    """An old export brings all but what was forgotten here on request, and says so."""
    file = exported(full, tmp_path / "a.jsonl")
    imported(file, tmp_path / "new.db")
    assert (
        0 == lcm("forget", "--db", tmp_path / "new.db", "--session", "other", "--yes", "--json")[0]
    )
    code, answer = imported(file, tmp_path / "new.db")
    assert (1, ["other"]) == (code, [each["session"] for each in answer["refused"]])
    store = open_store(tmp_path / "new.db", create=False)
    assert store.session("other") is None
    assert verify(store).good
    store.close()


def test_a_forgotten_string_does_not_come_back(full, tmp_path, monkeypatch):
    """An old export holds it still: what comes from there is what stands here, and no version more."""
    file = exported(full, tmp_path / "a.jsonl")
    for database in (full, tmp_path / "other.db"):
        if database != full:
            store = open_store(database)
            Ledger(store, store.open_session("mine")).ingest(rows_of("seen", 1, 2))
            store.close()
        monkeypatch.setattr("sys.stdin", io.StringIO("seen 2 seen 2"))
        assert 0 == lcm("forget", "--db", database, "--text", "--yes", "--json")[0]
        code, answer = imported(file, database)
        assert 0 == code
        if database == full:
            assert (0, 0, 0) == tuple(answer["done"][k] for k in ("messages", "versions", "nodes"))
        again = exported(database, tmp_path / f"{database.parent.name}-again.jsonl")
        assert "seen 2 seen 2" not in again.read_text()
        assert 0 == imported(again, tmp_path / f"{database.parent.name}-new.db")[0]
        store = open_store(database)
        assert not [m for m in store.stream() if b"seen 2 seen 2" in m.body]
        assert not [
            n
            for n in store.nodes_on(range(1, 9))
            if any("seen 2 seen 2" in t for t in n.texts.values())
        ]
        report = verify(store)
        assert report.good, report.failures
        store.close()
