"""The explorer without a browser: what is drawn, who is answered, and that nothing is written."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lcm.console import explorer
from lcm.console.chart import Known, chart
from lcm.console.cli import main
from lcm.console.course import Courses
from lcm.console.present import present
from lcm.dag.ingest import Ledger
from lcm.dag.tokens import count_messages
from lcm.scripts.fetch_assets import FILES, PACKAGE
from lcm.storage import open_store
from lcm.storage.errors import StoreError, StoreMissing
from talks import HOSTILE, compacted, passed, plain, serving

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A Hermes home with one compacted conversation; do not write to it."""
    folder = tmp_path_factory.mktemp("home")
    compacted(folder / "lcm" / "lcm.db")
    return folder


@pytest.fixture
def database(home):
    return home / "lcm" / "lcm.db"


@pytest.fixture
def store(database):
    kept = open_store(database, read_only=True)
    yield kept
    kept.close()


@pytest.fixture
def serve():
    """Serve a database; gives its server, which answers until the end of the test."""
    with serving() as serve:
        yield serve


def get(server, path, method="GET", **headers):
    """(status, headers, body) of a request as it is, without what a client would add."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=named)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def asked(server, name, query=""):
    """The answer to a question of the page."""
    status, _, body = get(server, f"/{server.token}/{name}?{query}")
    return status, json.loads(body)


# what is drawn


def test_the_chart_is_what_the_store_holds(store):
    """Each message in its place, each summary over exactly those that it stands for."""
    session = store.session("talk")
    drawn = chart(store, session)
    entries = store.entries(session.line)
    assert [entry.uid for entry in entries] == drawn["messages"]["uid"]
    places = {entry.id: n for n, entry in enumerate(entries)}
    assert drawn["nodes"]
    for node in drawn["nodes"]:
        under = sorted(places[number] for number, _ in store.stands_for(node["uid"]))
        assert [under[0], under[-1]] == list(node["span"])


def test_what_is_lit_is_what_the_newest_list_shows(tmp_path):
    """Lit summaries are those of the summary row that the host got, and the rest of the list is lit word for word."""
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.open_session("talk"))
    rows = plain(30)
    ledger.ingest(rows)
    rows = passed(store, ledger, rows)
    rows.append({"role": "user", "content": "And one more."})
    ledger.ingest(rows)
    drawn = chart(store, ledger.session)
    said = {n["uid"][:8] for n in drawn["nodes"] if n["shown_at"] is not None}
    assert said == set(re.findall(r"^\[lcm (\w{8})\] turn", rows[0]["content"], re.MULTILINE))
    kept = [row["content"] for row in rows if not row.get("_compressed_summary")]
    entries = store.entries(ledger.session.line)
    lit = drawn["present"]["lifted"] + list(range(drawn["present"]["from"], len(entries)))
    texts = [json.loads(m.body)["content"] for m in store.read([(entries[n].id, 0) for n in lit])]
    assert kept == texts
    store.close()


def test_what_was_undone_is_not_lit(tmp_path):
    """Where the host went back behind the summary row, no summary is shown."""
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.open_session("talk"))
    rows = plain(30)
    ledger.ingest(rows)
    passed(store, ledger, rows)
    assert present(store, ledger.session).frame is not None
    ledger.ingest(rows[:4])
    here = present(store, ledger.session)
    assert here.frame is None
    assert len(here.behind) == 4
    store.close()


def test_a_branch_shows_what_its_parent_showed(tmp_path):
    """A session branched off after a compaction begins with the summary row of its parent."""
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.open_session("talk"))
    rows = plain(30)
    ledger.ingest(rows)
    rows = passed(store, ledger, rows)
    branch = Ledger(store, store.open_session("other way", parent="talk", relation="branch"))
    branch.ingest(rows)
    here, there = (present(store, each.session) for each in (branch, ledger))
    assert here.frame == there.frame
    assert abs(here.tokens - there.tokens) < 10
    store.close()


def test_a_chart_goes_on_where_it_was(tmp_path):
    """Who has a chart gets what is new in it; nothing is new twice, and an undo brings all of it anew."""
    compacted(tmp_path / "lcm.db")
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.session("talk"))
    courses = Courses()
    first = chart(store, ledger.session, None, courses)
    known = Known(first["count"], first["mark"], first["revision"])
    assert chart(store, ledger.session, known, courses)["same"]
    entries = store.entries(ledger.session.line)
    rows = [json.loads(m.body) for m in store.read([(entry.id, 0) for entry in entries])]
    ledger.ingest([*rows, {"role": "user", "content": "And one more."}])
    second = chart(store, ledger.session, known, courses)
    assert (second["start"], second["count"]) == (first["count"], first["count"] + 1)
    assert len(second["messages"]["uid"]) == 1
    ledger.ingest(rows[:-2])
    known = Known(second["count"], second["mark"], second["revision"])
    third = chart(store, ledger.session, known, courses)
    assert third["start"] == 0
    assert sum(third["messages"]["withdrawn"]) == 3
    store.close()


# the file


def test_a_file_holds_the_conversation_and_nothing_else(home, tmp_path, capsys):
    """Every message word for word, for its owner alone; no address outside of it, no element that ends early."""
    out = tmp_path / "talk.html"
    assert main(["--home", str(home), "view", "--out", str(out)]) == 0
    assert "80 messages" in capsys.readouterr().out
    assert out.stat().st_mode & 0o777 == 0o600
    text = out.read_text(encoding="utf-8")
    assert HOSTILE not in text
    blocks = dict(re.findall(r'<script type="application/json" id="([\w-]+)">(.*?)</script>', text))
    said = [m["versions"][-1] for m in json.loads(blocks["messages-0"])]
    assert any(HOSTILE in each for each in said)
    assert len(said) == json.loads(blocks["chart"])["count"]
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?https?:""", text.replace("\\u003c", "<"))
    assert main(["--home", str(home), "view", "--out", str(out)]) == 1  # never over another file


@pytest.mark.parametrize("broken", ["marked", "node_index", "message_index"])
def test_a_file_is_written_without_the_index(tmp_path, broken):
    """All that was said is in the log; a page must not need what is made of it."""
    compacted(tmp_path / "lcm" / "lcm.db")
    with closing(sqlite3.connect(tmp_path / "lcm" / "lcm.db")) as sql:
        if broken == "marked":
            sql.execute("INSERT INTO memory VALUES ('', 'index_broken', '\"x\"', 0)")
        else:
            sql.execute(f"DROP TABLE {broken}")
        sql.commit()
    file = tmp_path / "page.html"
    assert 0 == main(["--home", str(tmp_path), "view", "--out", str(file)])
    assert "messages-0" in file.read_text(encoding="utf-8")


def test_an_empty_database_has_no_page(tmp_path, capsys):
    """It says that there is no session, and makes no file."""
    open_store(tmp_path / "lcm.db").close()
    code = main(["--db", str(tmp_path / "lcm.db"), "view", "--out", str(tmp_path / "talk.html")])
    assert (code, (tmp_path / "talk.html").exists()) == (1, False)
    assert "no session yet" in capsys.readouterr().out


def test_numbers_come_as_they_were_said(tmp_path):
    """A number that no browser can hold is shown digit by digit, and a lone surrogate ends no page."""
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.open_session("talk"))
    part = {"type": "data", "value": 12345678901234567890123}
    ledger.ingest([{"role": "user", "content": [part]}, {"role": "user", "content": "lone \ud800"}])
    first, last = (entry.uid for entry in store.entries(ledger.session.line))
    found = explorer.answer(store, "messages", {"first": first, "last": last})["messages"]
    assert "12345678901234567890123" in found[0]["versions"][0]
    json.dumps(found).encode("ascii")
    store.close()


# the server


def test_only_this_machine_is_answered(serve, database):
    """It listens on loopback, and there only."""
    server = serve(database)
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.socket.family == socket.AF_INET
    assert server.url == f"http://127.0.0.1:{server.server_port}/{server.token}/"
    status, _, body = get(server, f"/{server.token}/")
    assert (status, b"<title>lcm</title>" in body) == (200, True)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "example.org"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Origin": "https://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "none"}, 200),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else str(value),
)
def test_other_pages_and_other_names_are_refused(serve, database, headers, status):
    """Another site in the same browser, or a name that was pointed at this machine, gets nothing."""
    server = serve(database)
    found, _, body = get(server, f"/{server.token}/chart", **headers)
    assert found == status
    assert (b"xylophone" in body, b"uid" in body) == (False, status == 200)


def test_the_address_holds_the_right_to_read(serve, database):
    """Without the token, or with another, there is nothing; and two servers have two."""
    server, other = serve(database), serve(database)
    for path in (
        "/",
        "/chart",
        f"/{other.token}/chart",
        f"/{server.token[:-1]}/chart",
        f"//{server.token}x/",
    ):
        assert get(server, path)[0] == 404
    assert server.token != other.token
    assert len(server.token) >= 32


def test_an_address_without_its_last_slash_leads_to_the_page(serve, database):
    """What the page asks for stands below its address, so it must not be served one level higher."""
    server = serve(database)
    status, headers, body = get(server, f"/{server.token}")
    assert (302, f"/{server.token}/", b"") == (status, headers["Location"], body)
    assert 200 == get(server, headers["Location"])[0]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_nothing_but_reading_is_offered(serve, database, method):
    """No method but GET is known."""
    server = serve(database)
    assert get(server, f"/{server.token}/chart", method)[0] == 501


def test_what_a_browser_is_told(serve, database):
    """Nothing is kept, guessed, framed or told to others, and only the page's own script runs."""
    server = serve(database)
    for name in ("", "chart", "no-such"):
        _, headers, _ = get(server, f"/{server.token}/{name}")
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_odd_questions_are_answered_in_words(serve, database):
    """A wrong session, uid, number, mode or query is an error that says what it is."""
    server = serve(database)
    for question in (
        ("chart", "session=nobody"), ("node", "uid=%00"), ("messages", "first=x"), ("messages", ""),
        ("search", "query="), ("search", "query=a&mode=guess"), ("chart", f"count={'9' * 40}"),
    ):  # fmt: skip
        status, found = asked(server, *question)
        assert status == 400
        assert found["error"]
    uids = asked(server, "chart")[1]["messages"]["uid"]
    assert asked(server, "messages", f"first={uids[9]}&last={uids[5]}")[1] == {"messages": []}


def test_search_ranks_as_the_agents_tool_does(serve, database, store):
    """The page gets what lcm_grep gives, in the same order."""
    from lcm.dag.settings import Settings
    from lcm.tools.desk import Desk
    from lcm.tools.grep import grep

    _, found = asked(serve(database), "search", "query=harbour7n3+attic&mode=auto")
    wanted = grep(Desk(store, store.session("talk"), Settings()), "harbour7n3 attic", limit=50)
    assert [r["uid"] for r in wanted["results"]] == [r["uid"] for r in found["results"]]
    assert wanted["results"]


def test_nothing_is_written(serve, tmp_path):
    """All questions are answered without a byte of the database being changed."""
    path = tmp_path / "lcm.db"
    compacted(path)
    before = path.read_bytes()
    server = serve(path)
    drawn = asked(server, "chart")[1]
    uid, uids = drawn["nodes"][0]["uid"], drawn["messages"]["uid"]
    for question in (
        ("sessions",),
        ("messages", f"first={uids[0]}&last={uids[50]}"),
        ("node", f"uid={uid}"),
        ("search", "query=note"),
    ):
        assert asked(server, *question)[0] == 200
    assert path.read_bytes() == before


def test_a_store_that_is_opened_to_read_cannot_write(database):
    """Whatever asks for it, and a missing file is not made."""
    with pytest.raises(StoreError):
        kept = open_store(database, read_only=True)
        try:
            kept.open_session("new")
        finally:
            kept.close()
    with pytest.raises(StoreMissing):
        open_store(database.with_name("none.db"), read_only=True)
    assert not database.with_name("none.db").exists()


def test_a_file_that_is_put_back_or_gone_is_found_so(serve, tmp_path):
    """The page says in words that there is no database, and goes on when it is back."""
    path = tmp_path / "lcm.db"
    compacted(path)
    server = serve(path)
    assert asked(server, "chart")[0] == 200
    for name in ("", "-wal", "-shm"):
        Path(f"{path}{name}").unlink(missing_ok=True)
    status, found = asked(server, "chart")
    assert status == 400
    assert "no database" in found["error"]
    compacted(path, "another")
    assert asked(server, "chart")[1]["session"] == "another"


def test_a_damaged_message_hides_no_other(serve, tmp_path):
    """What cannot be read says so in its place."""
    path = tmp_path / "lcm.db"
    compacted(path)
    with sqlite3.connect(path) as sql:
        sql.execute("UPDATE messages SET body = x'00ff' WHERE id = 5")
    sql.close()
    server = serve(path)
    uids = asked(server, "chart")[1]["messages"]["uid"]
    status, found = asked(server, "messages", f"first={uids[0]}&last={uids[9]}")
    assert status == 200
    said = [message["versions"][-1] for message in found["messages"]]
    assert ["damaged" in each for each in said] == [n == 4 for n in range(10)]


def test_a_port_that_is_taken_is_said_in_words(serve, database, capsys):
    """Somebody else listens there: one line, exit code 1."""
    taken = serve(database).server_port
    assert main(["--db", str(database), "view", "--port", str(taken)]) == 1
    said = capsys.readouterr().err
    assert f"port {taken}" in said and "Leave --port out" in said


def test_the_library_is_the_one_that_is_pinned():
    """What the page ships is the version that scripts/fetch_assets.py names, small, and with its licence."""
    vendor = ROOT / "console" / "assets" / "vendor"
    assert sorted(path.name for path in vendor.iterdir()) == sorted(FILES.values())
    version = PACKAGE.partition("@")[2]
    assert f"(v{version})" in (vendor / "uplot.js").read_text(encoding="utf-8")[:100]
    assert (vendor / "uplot.LICENSE").read_text(encoding="utf-8").startswith("The MIT License")
    assert sum(path.stat().st_size for path in vendor.iterdir()) < 500_000


def test_a_process_of_its_own_says_where_it_is_and_stops(database):
    """``view`` prints its address, as data if asked, serves it, and an interrupt ends it with exit code 0."""
    command = [
        sys.executable,
        str(ROOT / "scripts" / "run.py"),
        "console.cli",
        "--db",
        str(database),
        "--json",
        "view",
    ]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell has its background ignore interrupts, and this may run there
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as running:
        try:
            said = ""
            while not said.rstrip().endswith("}"):
                said += running.stdout.readline()
            found = urlsplit(json.loads(said)["url"])
            connection = http.client.HTTPConnection(found.netloc, timeout=20)
            connection.request("GET", f"{found.path}chart")
            assert json.load(connection.getresponse())["count"] == 80
            connection.close()
        finally:
            os.kill(running.pid, 2)
            running.communicate(timeout=20)
    assert running.returncode == 0


# the context in words


def test_why_names_each_row_of_the_list_that_the_host_got(tmp_path, capsys):
    """What `why` says of the context is the list that the compaction gave, row by row, its tokens included."""
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.open_session("talk"))
    rows = plain(30)
    ledger.ingest(rows)
    rows = passed(store, ledger, rows)
    store.close()
    assert main(["--db", str(tmp_path / "lcm.db"), "--json", "why"]) == 0
    said = json.loads(capsys.readouterr().out)
    kept = [row for row in rows if not row.get("_compressed_summary")]
    summary, *verbatim = said["rows"]
    assert [row["role"] for row in kept] == [row["role"] for row in verbatim]
    names = re.findall(r"^\[lcm (\w{8})\] turn", rows[0]["content"], re.MULTILINE)
    assert names == [each["uid"][:8] for each in summary["shows"]]
    assert abs(said["tokens"] - count_messages(rows)) < 60
    (done,) = said["compactions"]
    assert done["summary_row"] == summary["uid"]
    assert names == [each["uid"][:8] for each in done["replaced"]]
    assert (
        sum(each["messages"] for each in done["replaced"]) == summary["messages"] == 30 - len(kept)
    )


def test_why_says_what_a_later_compaction_replaced(home, capsys):
    """The second compaction names what is new in it, and nothing twice."""
    assert main(["--home", str(home), "--json", "why"]) == 0
    first, second = json.loads(capsys.readouterr().out)["compactions"]
    old, new = ({each["uid"] for each in done["replaced"]} for done in (first, second))
    assert old and new and not old & new
    assert main(["--home", str(home), "why"]) == 0
    text = capsys.readouterr().out
    assert "what was replaced, in 2 compactions" in text
    assert all(uid[:8] in text for uid in new)


def test_why_before_any_compaction(tmp_path, capsys):
    """All rows are there word for word, and it says so."""
    store = open_store(tmp_path / "lcm.db")
    Ledger(store, store.open_session("talk")).ingest([{"role": "user", "content": "Hello."}])
    store.close()
    assert main(["--db", str(tmp_path / "lcm.db"), "why"]) == 0
    text = capsys.readouterr().out
    assert "in 1 row" in text and "Nothing was compacted yet" in text


# while others write, and in bad order


def test_an_agent_writes_while_the_page_looks(serve, tmp_path):
    """Every look is answered with a whole conversation, and no write waits for one."""
    path = tmp_path / "lcm.db"
    compacted(path)
    server = serve(path)
    store = open_store(path)
    ledger = Ledger(store, store.session("talk"))
    entries = store.entries(ledger.session.line)
    rows = [json.loads(m.body) for m in store.read([(entry.id, 0) for entry in entries])]
    slowest, counts = 0.0, []
    looking = threading.Event()

    def look():
        while not looking.is_set():
            status, found = asked(server, "chart")
            assert status == 200
            counts.append(found["count"] - len(found["messages"]["uid"]))

    thread = threading.Thread(target=look)
    thread.start()
    for number in range(60):
        rows.append(
            {"role": ("user", "assistant")[number % 2], "content": f"Said meanwhile: {number}."}
        )
        began = time.monotonic()
        ledger.ingest(rows)
        slowest = max(slowest, time.monotonic() - began)
    looking.set()
    thread.join()
    store.close()
    assert asked(server, "chart")[1]["count"] == 140
    assert counts and not any(counts)
    assert slowest < 6.0


def test_what_is_left_of_a_damaged_file_can_be_seen(tmp_path, capsys):
    """`view --out` of a file that was cut off holds what can be read of it, and says that it is not all."""
    path = tmp_path / "lcm.db"
    compacted(path)
    size = path.stat().st_size
    os.truncate(path, size * 3 // 4 // 4096 * 4096)
    code = main(["--db", str(path), "view", "--out", str(tmp_path / "talk.html")])
    said = capsys.readouterr()
    assert code == 1
    assert "WRONG" in said.err
    assert "xylophone" in (tmp_path / "talk.html").read_text(encoding="utf-8")
