"""Who sees what was said: modes of files, secrets, profiles, and sessions that leave no trace."""

from __future__ import annotations

import itertools
import json
import logging
import os
import sqlite3
import stat
import threading

import pytest
from lcm import LCMEngine
from lcm.console.verify import verify
from lcm.dag.erase import stones_of
from lcm.dag.ingest import Ledger
from lcm.dag.summarizer import Reply
from lcm.storage import open_store
from lcm.storage.canon import decode

#: One secret in each place where a message can hold one.
USER, ARGS, RESULT, LARGE, THOUGHT = (f"h{n}nter-in-place-{n}x9" for n in range(5))
ALL = (USER, ARGS, RESULT, LARGE, THOUGHT)


def conversation(turns=16):
    """Turns of about 150 tokens; the second holds the secrets."""
    rows = []
    for n in range(turns):
        rows.append({"role": "user", "content": f"question {n} about the harbour " + "word " * 60})
        if n == 1:
            rows[-1]["content"] += f"\nthe password is {USER}"
            arguments = json.dumps({"command": f"mysql --password={ARGS}"})
            call = {
                "id": "c1",
                "type": "function",
                "function": {"name": "run", "arguments": arguments},
            }
            thought = f"I know that api_key={THOUGHT}"
            rows.append(
                {"role": "assistant", "content": None, "tool_calls": [call], "reasoning": thought}
            )
            dump = "\n".join(f"line {k}" for k in range(4000))
            rows.append(
                {
                    "role": "tool",
                    "tool_call_id": "c1",
                    "content": f"DB_PASSWORD={RESULT}\n{dump}\nA_TOKEN={LARGE}",
                }
            )
        rows.append({"role": "assistant", "content": f"answer {n} " + "text " * 60})
    return rows


def engine_at(folder, summarizer=None, **settings):
    settings = {"threshold": 0.5, "target": 0.2} | settings
    return LCMEngine(
        8000, db_path=folder / "lcm" / "lcm.db", settings=settings, summarizer=summarizer
    )


def files(folder):
    """All bytes of all files under *folder*, and what is kept compressed in them."""
    found = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    if (folder / "lcm" / "lcm.db").exists():
        store = open_store(folder / "lcm" / "lcm.db", create=False)
        found += b"".join(message.body for message in store.stream())
        store.close()
    return found


def nodes_of(folder):
    store = open_store(folder / "lcm" / "lcm.db", create=False)
    nodes = store.nodes([uid for _, uid in store.audit().nodes(0, 999)])
    store.close()
    return nodes


# files


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_every_file_is_the_owners_alone(tmp_path, umask):
    """SEC-06: The database, what SQLite puts beside it, and the lock are 0600 in a 0700 folder, whatever the umask."""
    before = os.umask(umask)
    try:
        engine = engine_at(tmp_path)
        engine.on_session_start("s")
        engine.ingest(conversation(2))
        names = {
            path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "lcm").iterdir()
        }
    finally:
        os.umask(before)
    assert {"lcm.db", "lcm.db-wal", "lcm.db-shm", "lcm.db-lock"} <= names.keys()
    assert set(names.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "lcm").stat().st_mode) == 0o700
    engine.close()


def test_what_other_threads_make_meanwhile_keeps_its_mode(tmp_path):
    """The umask is the whole process's: making a database does not touch it."""
    modes = set()
    done = threading.Event()

    def others() -> None:
        for number in itertools.count():
            if done.is_set():
                return
            folder = tmp_path / f"theirs-{number % 50}"
            folder.mkdir(mode=0o755)
            modes.add(stat.S_IMODE(folder.stat().st_mode))
            folder.rmdir()

    thread = threading.Thread(target=others)
    before = os.umask(0o022)
    try:
        thread.start()
        for number in range(40):
            open_store(tmp_path / f"ours-{number}" / "lcm.db").close()
    finally:
        done.set()
        thread.join()
        os.umask(before)
    assert modes == {0o755}


def test_a_folder_that_is_there_is_not_changed(tmp_path):
    """Whoever made the folder chose its mode; the files in it are the owner's alone all the same."""
    (tmp_path / "lcm").mkdir(mode=0o755)
    (tmp_path / "lcm").chmod(0o755)
    engine = engine_at(tmp_path)
    engine.on_session_start("s")
    engine.ingest(conversation(2))
    engine.close()
    assert stat.S_IMODE((tmp_path / "lcm").stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "lcm").iterdir()} == {0o600}


# summaries


def test_no_secret_reaches_a_summariser(tmp_path):
    """SEC-01: Not from a text, a call, a result, a large payload or a focus; and the log keeps them, as it should."""
    read = []

    def summarizer(request):
        read.append(f"{request.text}\n{request.focus}\n{request.memory}")
        return f"a summary of {len(request.text)} characters"

    engine = engine_at(tmp_path, summarizer)
    engine.on_session_start("s")
    focus = f"whatever concerns password: {USER}"
    assert engine.compress(
        conversation(), force=True, focus_topic=focus, memory_context=f"token={LARGE}"
    )
    engine.close()
    assert read and "question 1" in "".join(read) and "[redacted password]" in "".join(read)
    assert [secret for secret in ALL if secret in "".join(read)] == []
    assert all(secret.encode() in files(tmp_path) for secret in ALL)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_summary_does_not_bring_a_secret_back(tmp_path, form):
    """A model that writes a secret down, in a text of any size, a topic or a hint, is not believed."""
    leak = f"the password is {USER}"
    levels = {"15": leak, "50": f"{leak} " * 2, "250": f"They agreed that {leak}, and went on."}
    answer = json.dumps(
        {"topic": leak, "hints": [leak, "harbour"], "levels": levels, "sufficient_tokens": 50}
    )
    engine = engine_at(tmp_path, lambda _request: answer if form == "json" else leak)
    engine.on_session_start("s")
    shown = engine.compress(conversation(), force=True)
    engine.close()
    assert "[redacted password]" in json.dumps(shown)
    assert USER not in json.dumps(shown[0])
    assert nodes_of(tmp_path) and USER not in repr(nodes_of(tmp_path))


def test_an_extract_holds_no_secret(tmp_path):
    """Without a summariser sentences, topics and hints are taken from the source: without its secrets."""
    engine = engine_at(tmp_path, lambda _request: Reply(None))
    engine.on_session_start("s")
    engine.compress(conversation(), force=True)
    engine.close()
    nodes = nodes_of(tmp_path)
    assert nodes and all(node.degraded for node in nodes if node.kind != "frame")
    assert [secret for secret in ALL if secret in repr(nodes)] == []


def test_off_means_off(tmp_path):
    """``redact: off`` gives a summariser what was said."""
    read = []
    engine = engine_at(tmp_path, lambda request: read.append(request.text) or "short", redact="off")
    engine.on_session_start("s")
    engine.compress(conversation(), force=True)
    engine.close()
    assert USER in "".join(read)


# the log


def test_nothing_is_stored_where_redact_says_so(tmp_path):
    """SEC-01: ``redact: store``: not in a message, a call, reasoning, a payload, the index, a summary, any byte of a
    file; each row is a message all the same, verify proves it, and the host's own rows are not changed."""
    rows = conversation()
    before = json.dumps(rows)
    engine = engine_at(tmp_path, redact="store")
    engine.on_session_start("s")
    assert engine.ingest(rows).new == len(rows)
    engine.compress(rows, force=True)
    seen = files(tmp_path)
    engine.close()
    assert [secret for secret in ALL if secret.encode() in seen + files(tmp_path)] == []
    assert json.dumps(rows) == before
    store = open_store(tmp_path / "lcm" / "lcm.db", create=False)
    assert verify(store).failures == () and store.totals().messages == len(rows)
    texts = [message.body.decode() for message in store.stream()]
    assert sum("[redacted" in text for text in texts) == 3
    store.close()


@pytest.mark.parametrize("content", ["a slow text", [{"type": "text", "text": "a slow text"}]])
def test_nobody_waits_while_a_text_is_masked(tmp_path, content):
    """``redact: store`` masks a list before the transaction: another process may write meanwhile."""
    path = tmp_path / "lcm.db"
    store = open_store(path)
    tried = []

    def redact(text):
        if text == "a slow text":
            other = sqlite3.connect(path, timeout=0)
            other.execute("BEGIN IMMEDIATE")
            other.close()
            tried.append(text)
        return text.replace("slow", "masked")

    ledger = Ledger(store, store.open_session("s"), redact)
    rows = [{"role": "user", "content": "first"}, {"role": "user", "content": content}]
    assert ledger.ingest(rows).new == 2
    rows = [*rows, {"role": "user", "content": "third"}, {"role": "user", "content": "a slow text"}]
    assert ledger.ingest(rows).new == 2
    assert tried == ["a slow text"] * 2
    assert sum(b"a masked text" in message.body for message in store.stream()) == 2
    store.close()


def test_what_is_forgotten_while_a_text_is_masked_is_taken_out(tmp_path):
    """``redact: store``: a string that another process forgets in the middle does not come back with the list."""
    path = tmp_path / "lcm.db"
    store, other = open_store(path), open_store(path)

    def redact(text):
        if "quince" in text:
            for stone in stones_of("quince", 1.0):
                other.eraser().bury(stone)
        return text

    ledger = Ledger(store, store.open_session("s"), redact)
    assert ledger.ingest([{"role": "user", "content": "a quince tree"}]).new == 1
    assert [b"quince" in message.body for message in store.stream()] == [False]
    store.close()
    other.close()


@pytest.mark.parametrize("uids", [False, True])
def test_a_redacted_message_is_known_again(tmp_path, uids):
    """SEC-04, DED-08: With and without uids: the same rows are known, after a restart too; an edit is a version; a fold
    and a decorated row double nothing; five replays change no byte."""
    rows = conversation(4)
    if uids:
        rows = [row | {"message_uid": f"{n:032x}"} for n, row in enumerate(rows, 1)]
    engine = engine_at(tmp_path, redact="store")
    engine.on_session_start("s")
    engine.ingest(rows)
    first = files(tmp_path)
    for _ in range(5):
        engine = engine_at(tmp_path, redact="store")
        engine.on_session_start("s")
        report = engine.ingest(rows)
        assert (report.new, report.known, report.revised) == (0, len(rows), 0)
        engine.close()
    store = open_store(tmp_path / "lcm" / "lcm.db")
    bodies = [message.body for message in store.stream()]
    assert all(body in first for body in bodies) and len(bodies) == len(rows)
    store.close()
    engine = engine_at(tmp_path, redact="store")
    engine.on_session_start("s")
    edited = [dict(row) for row in rows]
    edited[2]["content"] += f"\nno, wait: password: {LARGE}"
    report = engine.ingest(edited)
    assert (report.new, report.known + report.revised) == (0, len(rows))
    folded = [
        *rows[:-2],
        {"role": "user", "content": f"{rows[-2]['content']}\n\nand token={THOUGHT}"},
    ]
    engine.ingest(folded)
    engine.close()
    store = open_store(tmp_path / "lcm" / "lcm.db")
    assert store.totals().messages <= len(rows) + 1, (
        "at most the fold's new words are a message of their own"
    )
    store.close()
    assert [secret for secret in ALL if secret.encode() in files(tmp_path)] == []


def test_a_log_that_was_kept_before_goes_on(tmp_path):
    """``redact: store`` set in the middle of a session doubles nothing: what is stored stays as it is."""
    rows = conversation(4)
    engine = engine_at(tmp_path)
    engine.on_session_start("s")
    engine.ingest(rows)
    engine.close()
    engine = engine_at(tmp_path, redact="store")
    engine.on_session_start("s")
    assert engine.ingest([*rows, {"role": "user", "content": f"password: {LARGE}2"}]).new == 1
    engine.close()
    store = open_store(tmp_path / "lcm" / "lcm.db")
    assert store.totals().messages == len(rows) + 1
    assert f"{LARGE}2" not in repr([decode(message.body) for message in store.stream()])
    store.close()


def test_a_compacted_list_is_known_under_redaction(tmp_path):
    """A summary row that comes back, also with a message that the host merged behind it, is still ours."""
    engine = engine_at(tmp_path, redact="store")
    engine.on_session_start("s")
    rows = conversation()
    shown = engine.compress(rows, force=True)
    assert engine.ingest(shown).new == 0
    merged = [
        shown[0] | {"content": f"{shown[0]['content']}\n\nanother word, password: {LARGE}3"},
        *shown[1:],
    ]
    assert engine.ingest(merged).new == 1
    engine.close()
    assert f"{LARGE}3".encode() not in files(tmp_path)


# logs and errors


def test_logs_and_errors_hold_no_text(tmp_path, caplog):
    """SEC-05: A summariser, a store and a tool that fail: log and answers have classes, operations and paths."""

    def fails(request):
        raise RuntimeError(f"cannot read {request.text} with key sk-{USER}")

    caplog.set_level(logging.DEBUG)
    engine = engine_at(tmp_path, fails, redact="off")
    engine.on_session_start("s")
    rows = conversation()
    engine.compress(rows, force=True)
    sql = sqlite3.connect(tmp_path / "lcm" / "lcm.db")
    sql.execute("ALTER TABLE messages RENAME TO elsewhere")
    sql.commit()
    sql.close()
    engine.on_turn_complete([*rows, {"role": "user", "content": f"password: {LARGE}"}])
    answer = engine.handle_tool_call("lcm_grep", {"query": "harbour", "mode": "exact"})
    status = json.dumps(engine.get_status(), default=str)
    engine.close()
    assert "error" in json.loads(answer)
    assert "RuntimeError" in caplog.text and "on_turn_complete" in status
    said = caplog.text + answer + status
    assert [secret for secret in ALL if secret in said] == []
    assert "question 3" not in said


# other people's databases


def test_a_tool_reads_its_own_database_only(tmp_path):
    """Two profiles: whatever a tool is given (scopes, uids, paths, links), it finds nothing of the other."""
    homes = [tmp_path / "mine", tmp_path / "theirs"]
    engines = []
    for home, word in zip(homes, ("aubergine", "zucchini"), strict=True):
        engine = LCMEngine(8000, settings={})
        engine.on_session_start("same-id", hermes_home=str(home))
        engine.ingest(
            [
                {"role": "user", "content": f"I like {word}"},
                {"role": "assistant", "content": "good"},
            ]
        )
        engines.append(engine)
    mine, theirs = engines
    (found,) = json.loads(theirs.handle_tool_call("lcm_grep", {"query": "zucchini"}))["results"]
    (tmp_path / "mine" / "link").symlink_to(homes[1])
    (tmp_path / "mine" / "lcm" / "other.db").symlink_to(homes[1] / "lcm" / "lcm.db")
    path = str(homes[1] / "lcm" / "lcm.db")
    calls = [
        ("lcm_grep", {"query": "zucchini", "scope": "all"}),
        ("lcm_grep", {"query": "zucchini", "scope": path}),
        ("lcm_grep", {"query": ".*", "mode": "regex", "scope": "all"}),
        ("lcm_expand", {"uid": found["uid"]}),
        ("lcm_expand", {"uid": found["uid"][:8]}),
        ("lcm_expand", {"uid": path}),
        ("lcm_expand", {"uid": "../../theirs/lcm/lcm.db"}),
        ("lcm_describe", {"uid": found["uid"]}),
        ("lcm_describe", {"db": path, "home": str(homes[1])}),
        ("lcm_status", {"database": path, "session": "same-id"}),
        ("retrieve_conversation_history", {"start_turn": 1, "end_turn": 99, "db_path": path}),
    ]
    for name, args in calls:
        answer = json.loads(mine.handle_tool_call(name, args))
        answer.pop("query", None)
        assert "zucchini" not in json.dumps(answer), (name, args)
    for engine in engines:
        engine.close()


def test_an_engine_that_moves_takes_nothing_along(tmp_path):
    """A gateway that serves several profiles moves one engine from home to home: each sees its own."""
    engine = LCMEngine(8000, settings={})
    for home, word in (("a", "aubergine"), ("b", "zucchini"), ("a", "")):
        engine.on_session_start("s", hermes_home=str(tmp_path / home))
        if word:
            engine.ingest([{"role": "user", "content": f"I like {word}"}])
    answer = json.loads(engine.handle_tool_call("lcm_grep", {"query": "like", "scope": "all"}))
    engine.close()
    assert [result["snippet"] for result in answer["results"]] == ["I like aubergine"]
