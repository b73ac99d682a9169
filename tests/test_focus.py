"""``/compress TOPIC``: what concerns the topic stays in detail, all else gets coarser first."""

from __future__ import annotations

import json

import pytest
from lcm import LCMEngine
from lcm.dag.focus import concerned
from lcm.storage.records import Node

SUBJECTS = ["the harbour crane", "beehives and honey", "a database migration", "the school play"]
LEVELS = (15, 50, 250)


def summary(asked):
    """As a model would: every size, about the subject that the source speaks of."""
    subject = max(SUBJECTS, key=asked.text.count)
    texts = {
        str(size): f"About {subject}, at {size}. " + "and more " * (size // 3) for size in LEVELS
    }
    return json.dumps({"topic": subject, "hints": [f"who spoke of {subject}"], "levels": texts})


@pytest.fixture
def engine(tmp_path):
    settings = {"target_token_levels": list(LEVELS), "leaf_tokens": 1000, "condense_fanin": 8}
    engine = LCMEngine(4000, db_path=tmp_path / "lcm.db", settings=settings, summarizer=summary)
    engine.on_session_start("s")
    yield engine
    engine.close()


def talk():
    return [
        {"role": role, "content": f"{subject}, part {n}: {'we talked on ' * 20}"}
        for subject in SUBJECTS
        for n in range(7)
        for role in ("user", "assistant")
    ] + [{"role": "user", "content": "go on"}]


def sizes(rows):
    """Characters that the summary row has for each subject."""
    blocks = [each for each in rows[0]["content"].split("[lcm ") if "turn" in each[:20]]
    return {
        subject: sum(len(each) for each in blocks if f"About {subject}" in each)
        for subject in SUBJECTS
    }


@pytest.mark.parametrize("topic", SUBJECTS[:3])
def test_the_topic_stays_in_detail(engine, topic):
    """The oldest subject too, which would be the coarsest by its age; and the list is no larger than any may be."""
    clone = engine.clone_for_agent()
    clone.on_session_start("another")
    without = clone.compress(talk(), force=True)
    rows = engine.compress(talk(), focus_topic=topic, force=True)
    assert f"About {topic}, at {LEVELS[-1]}." in rows[0]["content"]
    assert sizes(rows)[topic] >= sizes(without)[topic]
    assert engine.count_tokens(rows) <= 4000 * engine.settings.target
    clone.close()


def test_what_was_coarse_is_shown_again(engine):
    """A person asks for a topic that an earlier pass had made coarse: its node is still there, whole."""
    rows = engine.compress(talk(), force=True)
    before = sizes(rows)
    rows += [{"role": "assistant", "content": "yes " * 700}, {"role": "user", "content": "and?"}]
    rows = engine.compress(rows, focus_topic=f"everything on {SUBJECTS[0]}", force=True)
    after = sizes(rows)
    assert after[SUBJECTS[0]] > before[SUBJECTS[0]]
    assert engine.get_status()["problems"] == []


def node(uid, text):
    spans = dict.fromkeys(
        ("first_seq", "last_seq", "first_turn", "last_turn", "messages", "source_tokens"), 1
    )
    return Node(
        uid=uid, kind="leaf", line=1, source_key="", depth=0, texts={50: text}, topic="", hints=(), sufficient=50,
        degraded="", lifted=(), time=0.0, sources=(), levels=(50,), **spans,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("focus", "found"),
    [
        ("", ""),
        ("the and of", ""),
        ("migrating databases", "a"),
        ("bee hive", "b"),
        ("数据库迁移", "c"),
        ("nothing of the kind whatsoever", ""),
    ],
)
def test_what_concerns_a_topic(focus, found):
    """By words in any of their forms, in scripts without spaces too; common words say nothing."""
    nodes = [
        node("a", "The database migration ran."),
        node("b", "Bees came back to their hives."),
        node("c", "我们讨论了数据库的迁移计划"),
    ]
    assert "".join(sorted(concerned(nodes, focus))) == found
