"""``export`` and ``import``: what goes out comes in again, byte for byte, once, wherever it goes."""

from __future__ import annotations

import io
import json
import re
import time
from contextlib import redirect_stdout

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lcm.console.cli import main
from lcm.console.scan import scan
from lcm.console.transfer import as_line, body_of, with_body
from lcm.console.verify import verify
from lcm.dag.compact import PassRequest, compact
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.storage.canon import digest, encode
from lcm.storage.records import Draft, Pass


def lcm(*words):
    """Run the command line; gives (exit code, what it printed)."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = main([str(word) for word in words])
    return code, out.getvalue()


def imported(path, database, *words):
    """Import *path* into *database*; gives (exit code, the answer)."""
    code, out = lcm("import", path, "--db", database, "--json", *words)
    return code, json.loads(out)


def exported(database, path, *words):
    """Export *database* to *path*, which is given back."""
    assert 0 == lcm("export", "--db", database, "--out", path, *words)[0]
    return path


def rows_of(name, first, last):
    """Turns *first* to *last* of a conversation, each with a call of a tool."""
    rows = []
    for n in range(first, last + 1):
        rows += [
            {"role": "user", "content": f"{name} asks {n}: " + f"word{n} " * 40},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": f"call{n}", "function": {"name": "look", "arguments": f'{{"n": {n}}}'}}
                ],
            },
            {"role": "tool", "tool_call_id": f"call{n}", "content": f"seen {n} " * 60},
            {"role": "assistant", "content": f"{name} answers {n}"},
        ]
    return rows


def compacted(store, ledger, rows):
    """One pass over the list; gives the smaller one."""
    _, binding = ledger.bind(rows)
    request = PassRequest(Settings(), 4000, 2500, None, force=True, stamp=False)
    done = compact(store, ledger.session.line, binding, request)
    counts = (done.before, done.after, len(rows), len(done.rows))
    store.record_pass(Pass(time.time(), ledger.session.name, *counts, done.frame.uid))
    return list(done.rows)


@pytest.fixture
def full(tmp_path):
    """A store with all there is: versions, aliases, undo, rotation, a branch with a compaction, large payloads."""
    path = tmp_path / "full" / "lcm.db"
    store = open_store(path)
    ledger = Ledger(store, store.open_session("talk"))
    rows = rows_of("talk", 1, 12)
    ledger.ingest(rows)
    rows[3] = {**rows[3], "content": "talk answers 1, and better"}
    rows = compacted(store, ledger, rows)
    ledger = Ledger(store, store.open_session("talk-2", parent="talk", relation="rotation"))
    rows += rows_of("talk", 13, 20)
    ledger.ingest(rows)
    Ledger(store, store.open_session("other")).ingest(rows_of("other", 1, 3))
    branch = Ledger(store, store.open_session("twig", parent="talk-2", relation="branch"))
    ledger.ingest(rows[:-8])  # an undo
    compacted(store, branch, [*rows, *rows_of("twig", 21, 30)])
    uid = {"message_uid": "host-uid-1", "role": "user", "content": "x" * 300_000}
    Ledger(store, store.open_session("other")).ingest([*rows_of("other", 1, 3), uid])
    store.alias(store.known(["host-uid-1"])["host-uid-1"], "another-name")
    store.close()
    return path


def test_everything_goes_into_an_empty_store(full, tmp_path):
    """Same uids of messages and nodes, same bytes and places; verified; exported again, it is the same file."""
    first = exported(full, tmp_path / "first.jsonl")
    code, answer = imported(first, tmp_path / "new" / "lcm.db")
    assert (0, None, 0) == (code, answer["backup"], answer["done"]["renamed"])
    store = open_store(tmp_path / "new" / "lcm.db", create=False)
    report = verify(store)
    assert report.good, report.failures
    assert report.counts.nodes > 5
    assert (
        "another-name"
        in store.archive().aliases([store.known(["host-uid-1"])["host-uid-1"]]).popitem()[1]
    )
    store.close()
    second = exported(tmp_path / "new" / "lcm.db", tmp_path / "second.jsonl")
    assert first.read_bytes() == second.read_bytes()


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


def test_into_a_store_with_other_conversations(full, tmp_path):
    """Numbers are taken: messages keep their uids, summaries get names of this store, and all is proved."""
    new = tmp_path / "new.db"
    store = open_store(new)
    Ledger(store, store.open_session("mine")).ingest(rows_of("mine", 1, 5))
    before = [message.uid for message in store.stream()]
    store.close()
    file = exported(full, tmp_path / "a.jsonl")
    code, answer = imported(file, new)
    assert 0 == code
    assert answer["backup"]
    assert answer["done"]["renamed"] == answer["done"]["nodes"] > 5
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


# looking first


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


# any message at all

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
surrogates = st.text(st.characters(categories=["Cs", "Lu"])) | st.just("\ud83d\ude00 \0 \ud800")
values = st.recursive(
    scalars | surrogates,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)
messages = st.dictionaries(st.text(), values, max_size=3).flatmap(
    lambda rest: st.builds(
        lambda role, content: {**rest, "role": role, "content": content},
        st.sampled_from(["user", "assistant", "tool"]),
        values | st.just("y" * 5000),
    )
)


@given(message=messages)
def test_any_body_goes_through_a_line(message):
    """Whatever JSON a message is, NUL, lone and paired halves, NaN: one line of ASCII gives its bytes again."""
    body = encode(message)
    line = as_line(with_body({"kind": "message"}, body))
    assert line.isascii() and "\n" not in line[:-1]
    assert body == body_of(json.loads(line))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    conversation=st.lists(messages, min_size=1, max_size=6), edits=st.lists(messages, max_size=2)
)
def test_any_conversation_goes_out_and_comes_in(tmp_path_factory, conversation, edits):
    """Export and import of any messages in any versions: the same bytes under the same uids, and verified."""
    folder = tmp_path_factory.mktemp("any")
    store = open_store(folder / "a.db")
    line = store.open_session("s").line
    entries = store.append(
        line, [(draft(n, message), n) for n, message in enumerate(conversation, 1)]
    )
    for message in edits:
        store.revise(line, entries[0].id, draft(1, message))
    was = [(m.uid, m.version, m.role, m.time, m.body) for m in store.stream()]
    store.close()
    code, _ = imported(exported(folder / "a.db", folder / "a.jsonl"), folder / "b.db")
    assert 0 == code
    store = open_store(folder / "b.db", create=False)
    found = [(m.uid, m.version, m.role, m.time, m.body) for m in store.stream()]
    assert verify(store).good
    store.close()
    if len({digest(encode(message)) for message in [conversation[0], *edits]}) == len(edits) + 1:
        assert was == found
    else:  # a version that is byte for byte an earlier one is that version
        assert {(uid, body) for uid, _, _, _, body in was} == {
            (uid, body) for uid, _, _, _, body in found
        }


def draft(number, message):
    body = encode(message)
    return Draft(
        f"{number:032x}", message["role"], body, "", digest(body), digest(body), float(number), 1
    )


def test_five_megabytes_go_through(tmp_path):
    """A payload of 5 MB, with halves of characters in it, comes in as it was."""
    store = open_store(tmp_path / "a.db")
    content = "\ud83d line \0 of a log\n" * 260_000
    Ledger(store, store.open_session("s")).ingest([{"role": "user", "content": content}])
    was = [m.body for m in store.stream()]
    store.close()
    imported(exported(tmp_path / "a.db", tmp_path / "a.jsonl"), tmp_path / "b.db")
    store = open_store(tmp_path / "b.db", create=False)
    assert was == [m.body for m in store.stream()]
    store.close()
