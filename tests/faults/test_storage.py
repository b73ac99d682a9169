"""Storage growth and payloads: what is large is kept once, whole, and takes no more room than it must."""

from __future__ import annotations

import base64
import random
import sqlite3
import time

import pytest
from faultkit import ask, called, database, kept, result, said, talk, user, verbatim
from lcm.storage import open_store
from lcm.storage.proof import ALTERED


def size(home):
    """Bytes of everything that stands in the store's folder."""
    return sum(path.stat().st_size for path in database(home).parent.iterdir())


def picture(seed, size):
    """A data URL that does not compress."""
    data = random.Random(seed).randbytes(size)
    return "data:image/png;base64," + base64.b64encode(data).decode()


def index_bytes(home):
    """Bytes that the search index takes."""
    sql = sqlite3.connect(f"file:{database(home)}?mode=ro", uri=True)
    (found,) = sql.execute("SELECT sum(length(block)) FROM message_index_data").fetchone()
    sql.close()
    return found


def test_a_picture_is_kept_once_and_not_indexed(make, home):
    """STOR-01: five messages with two pictures of a megabyte: each once, whole, and no letter of them in the index."""
    engine = make()
    one, other = picture(1, 750_000), picture(2, 750_000)
    rows = []
    for n, url in enumerate((one, other, one, other, one)):
        parts = [
            {"type": "text", "text": f"picture {n}"},
            {"type": "image_url", "image_url": {"url": url}},
        ]
        rows += [user(parts), said(f"seen {n}")]
    engine.ingest(rows)
    engine.close()
    assert rows == kept(home)
    assert size(home) < 2 * 1_000_000 + 200_000
    assert index_bytes(home) < 20_000
    assert 0 == ask(engine, "lcm_grep", query=one[22:60])["total"]
    assert 1 == ask(engine, "lcm_grep", query="picture 3", mode="exact")["total"]


def test_large_outputs_do_not_fill_the_index(make, home):
    """STOR-02: forty outputs of 40 KB: the index is a small part, every row whole, and its last words are found."""
    engine = make()
    words = [f"w{n:04x}" for n in range(4000)]
    rnd = random.Random(3)
    rows = []
    for n in range(40):
        text = " ".join(rnd.choices(words, k=6600)) + f" end{n}of"
        rows += [user(f"read {n}"), called(f"c{n}"), result(f"c{n}", text), said("read")]
    engine.ingest(rows)
    engine.close()
    text_bytes = sum(len(row["content"]) for row in rows)
    assert text_bytes > 1_500_000
    assert index_bytes(home) < 0.6 * text_bytes
    assert size(home) < text_bytes * 3 // 2
    assert rows == kept(home)
    assert 1 == ask(engine, "lcm_grep", query="end39of")["total"]


def test_a_reference_is_no_path(make, home, tmp_path):
    """STOR-05: names that climb out, absolute ones and links open nothing; a row that holds one is only a row."""
    (tmp_path / "secret.txt").write_text("the quokka's secret")
    home.mkdir()
    engine = make()
    names = ["../../etc/passwd", "/etc/passwd", "../../secret.txt", str(tmp_path / "secret.txt")]
    rows = [user("go"), *(said(f"[lcm {name}]") for name in names), said("file:///etc/passwd")]
    engine.ingest(rows)
    (database(home).parent / "link").symlink_to(tmp_path / "secret.txt")
    for name in [*names, "link", "payloads/../../secret.txt", "file:///etc/passwd"]:
        for tool in ("lcm_expand", "lcm_describe"):
            answer = ask(engine, tool, uid=name)
            assert "error" in answer
            assert "root:" not in str(answer)
            assert "the quokka's secret" not in str(answer)
    assert rows == kept(home)


@pytest.mark.parametrize("harm", ["DELETE FROM payloads", "UPDATE payloads SET data = x'00'"])
def test_a_lost_payload_is_said_and_the_rest_works(make, home, harm):
    """STOR-06: gone or cut off: that message says so, the others open, search and status answer, and rows come in."""
    engine = make()
    text = "".join(f"line {n} of the log\n" for n in range(1500))
    rows = [user("the quokka"), said("yes"), user("read"), called("c"), result("c", text)]
    engine.ingest(rows)
    found = ask(engine, "lcm_grep", query="line 1234", mode="exact")["results"]
    engine.close()
    with sqlite3.connect(database(home)) as sql:
        sql.execute(harm)
    sql.close()
    (opened,) = ask(engine, "lcm_expand", uid=found[0]["uid"])["messages"]
    assert opened["damaged"] == ALTERED
    assert "is damaged and cannot be read" in opened["content"]
    assert "hermes lcm verify" in opened["content"]
    (hit,) = ask(engine, "lcm_grep", query="quokka")["results"]
    assert [("user", "the quokka")] == verbatim(engine, hit["uid"])
    assert 5 == ask(engine, "lcm_status")["messages"]
    assert 1 == engine.ingest([*rows, said("It says nothing new.")]).new


def test_text_is_kept_once(make, home):
    """STOR-07: four megabytes of words in small and large rows: far less on disk than text and a copy of it."""
    rnd = random.Random(5)
    words = [
        "".join(rnd.choices("abcdefghijklmnopqrst", k=rnd.randrange(2, 11))) for _ in range(9000)
    ]
    rows, total = [], 0
    while total < 4_000_000:
        text = " ".join(rnd.choices(words, k=rnd.choice([20, 200, 1500])))
        rows.append(user(text) if len(rows) % 2 == 0 else said(text))
        total += len(text)
    engine = make()
    engine.ingest(rows)
    engine.close()
    assert size(home) < 1.7 * total
    store = open_store(database(home), create=False)
    assert {} == store.check()
    store.close()
    assert rows == kept(home)


def test_nothing_is_copied_unasked(make, home):
    """STOR-09: twenty rotations: one database, and no copy of it beside."""
    engine = make("s0")
    rows = talk(40)
    engine.ingest(rows)
    for n in range(20):
        engine.on_session_start(f"s{n + 1}", boundary_reason="compression", old_session_id=f"s{n}")
        rows = [*rows, *talk(1, first=500 + n)]
        engine.ingest(rows)
    names = {path.name for path in database(home).parent.iterdir()}
    assert names <= {"lcm.db", "lcm.db-wal", "lcm.db-shm", "lcm.db-lock"}
    assert rows == kept(home, "s20")


def test_the_wal_is_bounded(make, home):
    """STOR-10: many turns, a reader open and gone: the WAL is checkpointed as it grows, and away after close."""
    engine, wal = make(), database(home).with_name("lcm.db-wal")
    engine.ingest(talk(1))
    reader = sqlite3.connect(f"file:{database(home)}?mode=ro", uri=True)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM messages").fetchone()
    rows, begun = [], time.monotonic()
    for n in range(60):
        rows += [user(f"turn {n} " + picture(n, 75_000)[:100_000]), said("ok")]
        engine.on_turn_complete(rows)
    held = wal.stat().st_size
    assert time.monotonic() - begun < 60  # a turn waits for no reader; once each waited 5 seconds
    reader.rollback()
    reader.close()
    for n in range(60, 80):
        rows += [user(f"turn {n} " + picture(n, 75_000)[:100_000]), said("ok")]
        engine.on_turn_complete(rows)
    assert wal.stat().st_size <= held + 1_000_000
    engine.close()
    assert not wal.exists() or wal.stat().st_size == 0
    assert rows == kept(home)


def test_a_payload_swallows_no_neighbour(make, home):
    """STOR-11: words, base64, words in one text: whole when opened, and both ends are found."""
    engine = make()
    text = "before the quokka " + picture(7, 30_000) + " behind the numbat"
    rows = [user(text), said("seen"), user([{"type": "text", "text": text}]), said("again")]
    engine.ingest(rows)
    for word in ("before the quokka", "behind the numbat"):
        hits = ask(engine, "lcm_grep", query=word, mode="exact")["results"]
        assert 2 == len(hits)
    assert [("user", text)] == verbatim(engine, hits[-1]["uid"])
    assert rows == kept(home)
