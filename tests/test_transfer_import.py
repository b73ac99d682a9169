"""``import`` of an export: what went out comes in again, byte for byte, once, wherever it goes."""

from __future__ import annotations

import pytest
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from moving import compacted, exported, full_store, imported, rows_of


@pytest.fixture
def full(tmp_path):
    """A store with versions, aliases, an undo, a rotation, a branch, compactions and large payloads."""
    return full_store(tmp_path / "full" / "lcm.db")


def test_everything_goes_into_an_empty_store(full, tmp_path):
    """Same uids of messages and nodes, same bytes and places; verified; exported again, it is the same file."""
    first = exported(full, tmp_path / "first.jsonl")
    code, answer = imported(first, tmp_path / "new" / "lcm.db")
    assert (0, None, 0) == (code, answer["backup"], answer["done"]["renamed"])
    store = open_store(tmp_path / "new" / "lcm.db", create=False)
    report = verify(store)
    assert report.good, report.failures
    assert report.counts.nodes > 2
    assert (
        "another-name"
        in store.archive().aliases([store.known(["host-uid-1"])["host-uid-1"]]).popitem()[1]
    )
    store.close()
    second = exported(tmp_path / "new" / "lcm.db", tmp_path / "second.jsonl")
    assert first.read_bytes() == second.read_bytes()


def test_summaries_alone_are_told_and_backed_up_for(full, tmp_path):
    """All messages are here, without a summary, from an export for others: what comes changes what is shown."""
    new = tmp_path / "new.db"
    shareable = exported(full, tmp_path / "share.jsonl", "--shareable")
    imported(shareable, new)
    whole = exported(full, tmp_path / "whole.jsonl")
    _, told = imported(whole, new, "--dry-run")
    assert sum(each["new"] for each in told["sessions"]) == 0
    assert sum(each["summaries"] for each in told["sessions"]) > 2
    _, done = imported(whole, new)
    assert done["backup"]
    assert done["done"]["nodes"] > 2


def test_twice_is_as_once(full, tmp_path):
    """The second import adds nothing, makes no backup, and leaves an export the same."""
    file, new = exported(full, tmp_path / "a.jsonl"), tmp_path / "new.db"
    imported(file, new)
    once = exported(new, tmp_path / "once.jsonl").read_bytes()
    code, answer = imported(file, new)
    done = answer["done"]
    assert (0, 0, 0, 0, 0) == (
        code,
        done["messages"],
        done["sessions"],
        done["versions"],
        done["nodes"],
    )
    assert answer["backup"] is None
    assert once == exported(new, tmp_path / "twice.jsonl").read_bytes()


def test_the_rest_is_added_to_what_is_there_in_part(full, tmp_path):
    """A store that was moved at noon takes what came after noon; then it holds the whole, proved."""
    new = tmp_path / "new.db"
    imported(exported(full, tmp_path / "noon.jsonl"), new)
    store = open_store(full)
    ledger = Ledger(store, store.open_session("other"))
    uid = {"message_uid": "host-uid-1", "role": "user", "content": "x" * 300_000}
    rows = [*rows_of("other", 1, 3), uid, *rows_of("other", 4, 14)]
    ledger.ingest(rows)
    compacted(store, ledger, rows)
    store.close()
    file = exported(full, tmp_path / "night.jsonl")
    code, answer = imported(file, new)
    assert (0, 44, 0) == (code, answer["done"]["messages"], answer["done"]["renamed"])
    assert answer["backup"], "it had rows"
    assert file.read_bytes() == exported(new, tmp_path / "again.jsonl").read_bytes()


def test_one_session_comes_with_what_it_rests_on(full, tmp_path):
    """A branch alone: its own messages, its parent's summaries over them, and no word more of the parent."""
    file, new = exported(full, tmp_path / "twig.jsonl", "--session", "twig"), tmp_path / "new.db"
    code, answer = imported(file, new)
    assert (0, 0, 0) == (code, answer["done"]["renamed"], answer["done"]["left_out"])
    store, whole = open_store(new, create=False), open_store(full, create=False)
    assert verify(store).good
    mine, theirs = (s.entries(s.session("twig").line) for s in (store, whole))
    assert [(e.uid, e.seq, e.turn, e.digest) for e in theirs] == [
        (e.uid, e.seq, e.turn, e.digest) for e in mine
    ]
    assert len(theirs) == store.totals().messages
    assert store.session("other") is None
    store.close()
    whole.close()
    code, answer = imported(exported(full, tmp_path / "all.jsonl"), new)
    assert 0 == code
    store = open_store(new, create=False)
    assert verify(store).good
    assert answer["done"]["known"] == len(theirs)
    store.close()


def test_of_a_whole_export_one_session_may_be_taken(full, tmp_path):
    """--session brings it and what it rests on; an unknown one is an error."""
    file, new = exported(full, tmp_path / "a.jsonl"), tmp_path / "new.db"
    code, answer = imported(file, new, "--session", "oth")
    assert (0, 13) == (code, answer["done"]["messages"])
    code, answer = imported(file, new, "--session", "twig")
    assert 0 == code
    store = open_store(new, create=False)
    assert verify(store).good
    assert {"other", "twig", "talk", "talk-2"} == {each.name for each in store.sessions()}
    store.close()
    assert "no session" in imported(file, new, "--session", "nobody")[1]["error"]


def test_a_name_that_begins_another_means_itself(tmp_path):
    """--session takes the one of that name, and refuses a beginning that several have, as other verbs do."""
    path, new = tmp_path / "lcm.db", tmp_path / "new.db"
    store = open_store(path)
    for name in ("talk", "talk2", "tale"):
        Ledger(store, store.open_session(name)).ingest(rows_of(name, 1, 2))
    store.close()
    file = exported(path, tmp_path / "a.jsonl")
    said = imported(file, new, "--session", "tal")[1]["error"]
    assert "'tal' begins 3 sessions: " in said
    assert not new.exists()
    assert [0, 0] == [imported(file, new, "--session", name)[0] for name in ("talk", "tale")]
    store = open_store(new, create=False)
    assert {"talk", "tale"} == {each.name for each in store.sessions()}
    store.close()


@pytest.mark.parametrize("words", [[], ["--session", "twig"]])
def test_a_branch_comes_whole_though_its_parent_was_forgotten(full, tmp_path, words):
    """Its messages, its summary row and what that rests on: also the summaries that were made on the parent's line."""
    store = open_store(full)
    before = {each.uid for each in store.nodes_on(store.lineage(store.session("twig").line))}
    store.close()
    assert 0 == main(["forget", "--db", str(full), "--session", "talk-2", "--yes"])
    file, new = exported(full, tmp_path / "a.jsonl", *words), tmp_path / "new.db"
    assert 0 == imported(file, new)[0]
    store = open_store(new, create=False)
    report = verify(store)
    assert report.good, report.failures
    assert (before, 1) == (
        {each.uid for each in store.nodes_on([store.session("twig").line])},
        report.counts.frames,
    )
    store.close()


def test_into_a_store_with_other_conversations(full, tmp_path):
    """Numbers are taken: messages and summaries keep their uids, and all is proved."""
    new = tmp_path / "new.db"
    store = open_store(new)
    Ledger(store, store.open_session("mine")).ingest(rows_of("mine", 1, 5))
    before = [message.uid for message in store.stream()]
    store.close()
    file = exported(full, tmp_path / "a.jsonl")
    code, answer = imported(file, new)
    assert 0 == code
    assert answer["backup"]
    assert answer["done"]["renamed"] == 0
    assert answer["done"]["nodes"] > 2
    store, whole = open_store(new, create=False), open_store(full, create=False)
    report = verify(store)
    assert report.good, report.failures
    found = [message.uid for message in store.stream()]
    assert before == found[: len(before)]
    theirs = [(m.uid, m.version, m.body) for m in whole.stream()]
    assert sorted(theirs) == sorted(
        (m.uid, m.version, m.body) for m in store.stream() if m.uid not in before
    )
    texts = {text for node in whole.nodes_on([1, 2, 3]) for text in node.texts.values()}
    assert texts == {text for node in store.nodes_on([1, 2, 3, 4]) for text in node.texts.values()}
    store.close()
    whole.close()
    again = imported(file, new)[1]["done"]
    assert (0, 0) == (again["messages"], again["nodes"])


def test_two_stores_that_parted_keep_both_ways(full, tmp_path):
    """The same session went on here and there: the other way stands beside this one, sharing what both have."""
    new = tmp_path / "new.db"
    imported(exported(full, tmp_path / "noon.jsonl"), new)
    uid = {"message_uid": "host-uid-1", "role": "user", "content": "x" * 300_000}
    for path, name in ((full, "there"), (new, "here")):
        store = open_store(path)
        ledger = Ledger(store, store.open_session("other"))
        ledger.ingest([*rows_of("other", 1, 3), uid, *rows_of(name, 1, 2)])
        store.close()
    file = exported(full, tmp_path / "there.jsonl")
    for new_messages in (8, 0):
        code, answer = imported(file, new)
        assert (0, new_messages) == (code, answer["done"]["messages"])
    assert {"other": "other (imported)"} == {
        each["session"]: each["as"] for each in answer["sessions"] if each["session"] != each["as"]
    }
    store = open_store(new, create=False)
    report = verify(store)
    assert report.good, report.failures
    mine, theirs = (
        store.entries(store.session(name).line) for name in ("other", "other (imported)")
    )
    assert [e.id for e in mine[:13]] == [e.id for e in theirs[:13]]
    assert not {e.id for e in mine[13:]} & {e.id for e in theirs[13:]}
    assert 21 == len(mine) == len(theirs)
    store.close()


def test_a_later_version_is_added_and_an_earlier_file_takes_none_away(full, tmp_path):
    """Versions are united: what was edited there is a version here, and an old export changes nothing."""
    new, old = tmp_path / "new.db", exported(full, tmp_path / "old.jsonl")
    imported(old, new)
    store = open_store(full)
    rows = rows_of("other", 1, 3)
    rows[0] = {**rows[0], "content": "asked otherwise"}
    uid = {"message_uid": "host-uid-1", "role": "user", "content": "x" * 300_000}
    Ledger(store, store.open_session("other")).ingest([*rows, uid])
    store.close()
    code, answer = imported(exported(full, tmp_path / "late.jsonl"), new)
    assert (0, 0, 1) == (code, answer["done"]["messages"], answer["done"]["versions"])
    late = exported(new, tmp_path / "x.jsonl").read_bytes()
    assert 0 == imported(old, new)[1]["done"]["versions"]
    assert late == exported(new, tmp_path / "y.jsonl").read_bytes()


def test_an_agent_writes_meanwhile(full, tmp_path):
    """Export and import beside an open agent: nothing of either is lost."""
    new = tmp_path / "new.db"
    agent = open_store(new)
    ledger = Ledger(agent, agent.open_session("live"))
    ledger.ingest(rows_of("live", 1, 2))
    file = exported(full, tmp_path / "a.jsonl")
    assert 0 == imported(file, new)[0]
    ledger.ingest(rows_of("live", 1, 4))
    agent.close()
    store = open_store(new, create=False)
    assert verify(store).good
    assert 16 == len(store.entries(store.session("live").line))
    store.close()


def test_a_home_that_masks_secrets_takes_no_import_unasked(full, tmp_path, capsys):
    """`redact: store` promises that no secret is on disk; an import would bring them in as they are."""
    file = exported(full, tmp_path / "all.jsonl")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("lcm:\n  redact: store\n")
    new = home / "lcm" / "lcm.db"
    assert main(["import", str(file), "--home", str(home)]) == 1
    assert "--unmasked" in capsys.readouterr().err
    assert not new.exists()
    assert main(["import", str(file), "--home", str(home), "--unmasked"]) == 0
    assert file.read_bytes() == exported(new, tmp_path / "again.jsonl").read_bytes()
