"""What was made of a forgotten string goes with it: terms of it, cuts through it, what a model quotes of it."""

from __future__ import annotations

import io
import json
import re
import sys
import time as clock
from dataclasses import replace

import pytest
from lcm import LCMEngine
from lcm.console.cli import main
from lcm.console.verify import verify
from lcm.dag.erase import Cleaner, eraser, forms_of, stones_of
from lcm.dag.remnants import Remnants
from lcm.storage import open_store

SETTINGS = {"redact": "off", "threshold": 0.5, "target": 0.2, "fresh_tail_tokens": 600}
STRINGS = (
    "tr0ub4dor&3-Hunter!Zebra77",
    "correct horse battery staple 9",
    "Zx9$kk(SECRET.key)",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAbcdefghijklmnopqrstuvwxyz0123456789ABCDEF bob@laptop",
    "Johann Sebastian Meier, Hauptstrasse 17, 80331 Muenchen, IBAN DE89370400440532013000",
    "line one ALPHA77. Then\n  line two BRAVO88! And 4711-22",
)


def forget(folder, text):
    """The exit code of ``forget --text``, and what it says."""
    before, sys.stdin, sys.stdout = (sys.stdin, sys.stdout), io.StringIO(text), io.StringIO()
    try:
        code = main(["--db", str(folder / "lcm.db"), "forget", "--text", "--yes", "--json"])
        return code, json.loads(sys.stdout.getvalue())
    finally:
        sys.stdin, sys.stdout = before


def engine_at(folder, summarizer=None):
    path = folder / "lcm.db"
    engine = LCMEngine(6000, db_path=path, settings=SETTINGS, summarizer=summarizer)
    engine.on_session_start("s")
    return engine


def conversation(text):
    return [
        row
        for n in range(30)
        for row in (
            {"role": "user", "content": f"Please take {text} for night {n} of the harbour-log"},
            {"role": "assistant", "content": f"I took {text} for night {n}. " + "tide lamp " * 40},
        )
    ]


def nodes_in(folder):
    """The summaries, and the proof of all that is kept."""
    store = open_store(folder / "lcm.db")
    nodes = [n for n in store.nodes([uid for _, uid in store.audit().nodes(0, 999)]) if n.texts]
    assert verify(store).failures == ()
    store.close()
    return nodes


def said_by(node):
    return " ".join([*node.texts.values(), node.topic, *node.hints])


@pytest.mark.parametrize("string", STRINGS)
def test_no_part_of_it_is_left_in_what_was_extracted(tmp_path, string):
    """Extracted texts, topics and hints, at every size: no word of it stays, the rest does, nobody brings it back."""
    engine = engine_at(tmp_path)
    shown = engine.compress(conversation(string), force=True)
    assert engine.ingest(shown).new == 0
    before = {node.uid: node for node in nodes_in(tmp_path)}
    parts = [word for word in re.findall(r"\w{4,}", string) if word.lower() not in ("then", "line")]
    assert any(part in said_by(node) for node in before.values() for part in parts)
    code, data = forget(tmp_path, string)
    assert code == 0 and data["done"] and data["told"] == []
    for node in nodes_in(tmp_path):
        assert [part for part in parts if part in said_by(node)] == []
        was = before[node.uid]
        assert "harbour-log" in said_by(node) or "harbour-log" not in said_by(was)
        words = set(re.findall(r"\w+", string)) | {"forgotten", "n"}
        assert (
            set(re.findall(r"\w+", said_by(was))) ^ set(re.findall(r"\w+", said_by(node))) <= words
        )
    plain = [{"role": r["role"], "content": " ".join(r["content"].split())} for r in shown]
    assert engine.ingest(shown).new == engine.ingest(plain).new == 0, "an older block is still ours"
    engine.close()
    again = engine_at(tmp_path)
    assert again.ingest(plain).new == 0
    made = again.compress([*plain, *conversation("the lamp")], force=True)
    again.close()
    row = made[0]["content"]
    # A row names summaries, and a file holds digests: a few digits may stand in those by chance.
    telling = [part for part in parts if not re.fullmatch(r"[0-9a-f]{,8}", part.lower())]
    assert row.startswith("Earlier conversation")
    assert [part for part in telling if part in row] == []
    data = b"".join(path.read_bytes() for path in tmp_path.glob("lcm.db*"))
    found = [part for part in telling if part.encode() in data or part.lower().encode() in data]
    assert found == []
    nodes_in(tmp_path)


def test_what_a_model_wrote_loses_parts_and_is_named(tmp_path):
    """Quotes of it go; what one says in other words cannot be known, so those summaries are named."""
    string = "Johann Meier, Hauptstrasse 17"
    engine = engine_at(
        tmp_path, lambda _: "They wrote to Mr Meier in the Hauptstrasse about a lamp."
    )
    engine.compress(conversation(string), force=True)
    engine.close()
    code, data = forget(tmp_path, string)
    nodes = nodes_in(tmp_path)
    assert code == 0 and {node.uid for node in nodes} == set(data["told"]) and nodes
    for node in nodes:
        longest = node.texts[max(node.texts)]
        assert longest == "They wrote to Mr [forgotten] in the [forgotten] about a lamp."


@pytest.fixture
def store(tmp_path):
    """A store with one node over one message."""
    engine = engine_at(tmp_path, lambda _: "a summary")
    rows = conversation("Anna's rope")
    engine.compress(rows, force=True)
    engine.close()
    store = open_store(tmp_path / "lcm.db")
    yield store
    store.close()


@pytest.mark.parametrize(
    ("string", "was", "now"),
    [
        ("open the Sesamegate", "They open the Sesameg", "They [forgotten]"),
        ("open the Sesamegate", "They open\nthe Sesameg", "They [forgotten]"),
        ("open the Sesamegate", "They open the Sesameg\nand go", "They [forgotten]\nand go"),
        ("open the Sesamegate", "They open the Sesameg… and go", "They [forgotten]… and go"),
        ("open the Sesamegate", "samegate\nis it", "[forgotten]\nis it"),
        ("open the Sesamegate", "They opened a Sesameg box", "They opened a Sesameg box"),
        ("open the Sesamegate", "the open harbour", "the [forgotten] harbour"),
        ("tide lamp Zebra", "a tide lamp and a zebra", "a tide lamp and a [forgotten]"),
        ("take Anna for night 9 to Ghent", "take Anna for night 3", "[forgotten] 3"),
        ("take Anna home", "Anna's rope for night 4", "Anna's rope for night 4"),
        ("it was forgotten once", "it is [forgotten] here", "it is [forgotten] here"),
        ("密码是鲸鱼之歌四七一一", "他说密码是鲸鱼,别的", "他说[forgotten],别的"),
        ("a b c d e", "x a y", "x a y"),
    ],
)
def test_a_part_is_what_nothing_else_says(store, string, was, now):
    """Whole words, or half ones at a cut; not what the messages say without it, nor what only looks like it."""
    cleaner, forms = Cleaner(erase=eraser(stones_of(string, 1.0))), forms_of(string)
    uid = next(n.uid for n in store.nodes([u for _, u in store.audit().nodes(0, 9)]) if n.texts)
    (node,) = store.nodes([uid])
    node = replace(node, texts={250: was}, topic=was, hints=(was, "harbour-log"))
    (clean,) = Remnants(store, cleaner, forms).without([node])
    assert (clean.texts[250], clean.topic) == (now, now)
    assert clean.hints == ((was, "harbour-log") if was == now else ("harbour-log",))


def test_a_long_string_costs_little(store):
    """A string of 200,000 characters, and texts made of its words or of one letter: seconds at the most."""
    string = " ".join(f"w{n}" for n in range(35_000))
    cleaner, forms = Cleaner(), forms_of(string)
    uid = next(n.uid for n in store.nodes([u for _, u in store.audit().nodes(0, 9)]) if n.texts)
    (node,) = store.nodes([uid])
    begun = clock.process_time()
    for text in (" ".join(f"w{n}" for n in range(9, 800)), "w1 w2 " * 500, "aaaa " * 1000):
        Remnants(store, cleaner, forms).without([replace(node, texts={1000: text})])
    assert clock.process_time() - begun < 10
