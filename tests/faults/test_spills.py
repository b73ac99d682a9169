"""Ingest fidelity, where the host has put a large tool result into a file before anybody saw it."""

from __future__ import annotations

import os
import threading
import time

import pytest
from faultkit import ask, called, kept, said, talk, totals, user, verbatim

TEXT = "".join(f"line {n} of a very long output\n" for n in range(5000)) + "the last quokka\n"


def note(path, text=TEXT, shown=1500):
    """What the older host puts in the place of *text*, of which it has put all into *path*."""
    return (
        "<persisted-output>\n"
        f"This tool result was too large ({len(text):,} characters, {len(text) / 1024:.1f} KB).\n"
        f"Full output saved to: {path}\n"
        "Use the read_file tool with offset and limit to access specific sections of this output.\n\n"
        f"Preview (first {shown} chars):\n{text[:shown]}\n...\n</persisted-output>"
    )


def rows_with(content):
    """A turn whose tool result is *content*."""
    result = {"role": "tool", "tool_call_id": "c1", "content": content}
    return [user("run it"), called("c1"), result, said("It has run.")]


@pytest.fixture
def folder(home):
    """Where the newer host puts such files."""
    made = home / "cache" / "spillover"
    made.mkdir(parents=True)
    return made


@pytest.mark.parametrize("door", ["ingest", "compress"])
def test_a_result_in_a_file_is_kept_whole(make, home, folder, door):
    """ING-15: the file is in the host's folder: all of it is stored, once; the list and what it shows stay."""
    path = folder / "c1.txt"
    path.write_text(TEXT)
    rows = rows_with(note(path))
    engine = make()
    getattr(engine, door)(rows)
    path.unlink()
    assert rows == [*kept(home)[:2], rows[2], kept(home)[3]]
    (hit,) = ask(engine, "lcm_grep", query="the last quokka", mode="exact")["results"]
    assert [("tool", TEXT)] == verbatim(engine, hit["uid"])
    for again in (engine, make()):
        report = again.ingest([*rows, *talk(1)])
        assert (0, 0) == (report.revised, report.withdrawn)
    assert (6, 1) == (totals(home).messages, totals(home).versions)
    live = [*rows, *talk(60)]
    out = engine.compress(live, current_tokens=engine.count_tokens(live))
    assert len(out) < len(live)
    assert 0 == make().ingest(out).new


def test_a_file_that_is_not_the_hosts_is_not_read(make, home, folder, tmp_path):
    """ING-15: elsewhere, a link, of another length, beginning or time: the note is kept, and says that it is a part."""
    foreign = tmp_path / "secret.txt"
    foreign.write_text(TEXT)
    (folder / "link.txt").symlink_to(foreign)
    (folder / "short.txt").write_text(TEXT[:-1])
    (folder / "other.txt").write_text(TEXT[::-1])
    (folder / "later.txt").write_text(TEXT)
    later = time.time() + 3600
    os.utime(folder / "later.txt", (later, later))
    names = ["link.txt", "short.txt", "other.txt", "later.txt", "missing.txt", "../../secret.txt"]
    for n, path in enumerate([foreign, *(folder / name for name in names)]):
        engine = make(f"s{n}")
        rows = rows_with(note(path))
        engine.ingest(rows)
        assert rows == kept(home, f"s{n}")
        assert 0 == ask(engine, "lcm_grep", query="the last quokka", mode="exact")["total"]
        (hit,) = ask(engine, "lcm_grep", query="This tool result was too large")["results"]
        assert "Preview (first 1500 chars)" in verbatim(engine, hit["uid"])[0][1]
    assert 0 == totals(home).versions


def test_words_about_a_file_are_words(make, home, folder):
    """ING-15: a person or an answer that quotes such a note has said just that."""
    path = folder / "c1.txt"
    path.write_text(TEXT)
    rows = [user(note(path)), said(note(path)), user("so what?")]
    make().ingest(rows)
    assert rows == kept(home)
    assert 0 == totals(home).versions


def test_a_pipe_is_not_waited_for(make, home, folder):
    """ING-15: the name is that of a pipe nobody writes to: the door returns at once, and the note is kept."""
    path = folder / "c1.txt"
    os.mkfifo(path)
    rows = rows_with(note(path))
    engine = make()
    door = threading.Thread(target=engine.ingest, args=[rows], daemon=True)
    door.start()
    door.join(10)
    assert not door.is_alive()
    assert rows == kept(home)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (f"{len(TEXT):,}", ",,,"),
        (f"{len(TEXT):,}", "9" * 20),
        ("c1.txt", "c1\0.txt"),
        ("c1.txt", "loop/c1.txt"),
        ("c1.txt", "\ud800"),
        ("first 1500", "first 0"),
    ],
)
def test_a_note_that_nobody_would_write_is_words(make, home, folder, was, now):
    """ING-15: a forged note costs nothing but itself: what stands in it is stored as it is, and so is the rest."""
    (folder / "loop").symlink_to(folder / "loop")
    rows = rows_with(note(folder / "c1.txt").replace(was, now, 1))
    rows[2]["timestamp"] = float("nan")
    engine = make()
    assert 4 == engine.ingest(rows).new
    assert [row["content"] for row in rows] == [row["content"] for row in kept(home)]
    assert not engine.get_status()["problems"]
