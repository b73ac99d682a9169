"""Faults of the tools' manners: bounded, paged, explained."""

from __future__ import annotations

import json
import time

import pytest
from faultkit import ask, called, result, said, talk, user
from lcm.dag.tokens import count_text
from lcm.storage.canon import encode
from lcm.tools.answers import PAGE_CHARS


def tokens(engine, name, **args):
    """Tokens of a tool's answer as it goes to the model, and the answer."""
    text = engine.handle_tool_call(name, args)
    return count_text(text), json.loads(text)


def pages(engine, name, **args):
    """All pages of an answer."""
    found, cursor = [], None
    while True:
        size, answer = tokens(engine, name, **args, **({"cursor": cursor} if cursor else {}))
        found.append((size, answer))
        cursor = answer["cursor"]
        if cursor is None:
            return found


@pytest.fixture
def large(make):
    """A session of 400,000 tokens, compacted; Han among it, where a token has one character."""
    engine = make(context_length=64_000, settings={"condense_fanin": 2})
    rows = []
    for n in range(60):
        rows += [user(f"read part {n}"), called(f"c{n}")]
        rows += [result(f"c{n}", f"the 部分 {n} of it\n" * 1400), said("read")]
        if engine.should_compress(engine.count_tokens(rows)):
            rows = engine.compress(rows, force=True)  # else stubs would do
    assert engine.compression_count > 2
    return engine


def test_no_answer_is_larger_than_its_page(large):
    """UX-01: a node over 100,000 tokens and a search of everything: paged, with the total; the pages hold it all."""
    deep = max(ask(large, "lcm_describe")["nodes"], key=lambda node: node["tokens"])
    assert deep["tokens"] > 100_000
    opened = pages(large, "lcm_expand", uid=deep["uid"])
    assert all(size <= PAGE_CHARS // 4 + 200 for size, _ in opened)
    assert all(deep["tokens"] == answer["total_tokens"] for _, answer in opened)
    uids = [row["uid"] for _, answer in opened for row in answer["messages"]]
    assert deep["messages"] == len(dict.fromkeys(uids))
    for _ in range(3):
        size, answer = tokens(large, "lcm_grep", query="the part", limit=200)
        assert size <= PAGE_CHARS // 4 + 200
        assert answer["cursor"]
    for name, args in (
        ("lcm_describe", {"depth": 8}),
        ("lcm_describe", {"uid": deep["uid"]}),
        ("retrieve_conversation_history", {"start_turn": 1, "end_turn": 60}),
        (
            "retrieve_conversation_history",
            {"start_turn": 1, "end_turn": 60, "detail_level": "full"},
        ),
    ):
        assert tokens(large, name, **args)[0] <= PAGE_CHARS // 4 + 1500


def test_a_page_is_a_quarter_of_what_the_window_has_left(large):
    """UX-01: three answers in one turn never overflow it, however full it is; the pages still hold it all."""
    (row,) = ask(large, "lcm_grep", query="部分 33 of", mode="exact", role="tool")["results"]
    for used in (50_000, 60_000, 63_500):
        large.update_from_response({"prompt_tokens": used})
        most = max((64_000 - used) // 4, 500) + 250  # a page of 500 tokens there always is
        opened = pages(large, "lcm_expand", uid=row["uid"])
        assert all(size <= most for size, _ in opened)
        joined = "".join(answer["messages"][0]["content"] for _, answer in opened)
        assert joined == "the 部分 33 of it\n" * 1400
        assert tokens(large, "lcm_grep", query="the part", limit=200)[0] <= max(most, 2200)


def test_large_levels_come_in_pages(make):
    """UX-01: a summary may be larger than a page where the settings ask for that."""
    text = "A sentence about the part that follows. " * 1500
    engine = make(
        context_length=100_000,
        settings={"target_token_levels": [50, 16_000], "leaf_tokens": 24_000},
        summarizer=lambda request: text,
    )
    rows = talk(400, words=80)
    engine.compress(rows, engine.count_tokens(rows))
    node = ask(engine, "lcm_describe")["nodes"][0]
    size, described = tokens(engine, "lcm_describe", uid=node["uid"])
    assert size <= PAGE_CHARS // 4 + 200
    assert "full" in described["note"]
    opened = pages(engine, "lcm_expand", uid=node["uid"], detail="full")
    assert len(opened) > 1
    assert all(size <= PAGE_CHARS // 4 + 200 for size, _ in opened)
    joined = "".join(answer["text"] for _, answer in opened)
    assert text.startswith(joined.rstrip())
    assert count_text(joined) > PAGE_CHARS // 4


@pytest.mark.parametrize("content", ["line é\n" * 4000, [{"type": "text", "text": "部 " * 12_000}]])
def test_all_pages_of_a_large_result_are_the_original(make, content):
    """UX-02: not the preview that the context shows, but every character, once, from the hit's own uid."""
    engine = make()
    rows = [user("read"), called("c"), {**result("c", ""), "content": content}, *talk(30)]
    engine.compress(rows, engine.count_tokens(rows))
    uid = ask(engine, "lcm_grep", query="line" if isinstance(content, str) else "部", role="tool")[
        "results"
    ][0]["uid"]
    opened = [answer["messages"][0] for _, answer in pages(engine, "lcm_expand", uid=uid)]
    assert len(opened) > 1
    if isinstance(content, str):
        assert content == "".join(row["content"] for row in opened)
    else:
        assert encode(rows[2]).decode() == "".join(row["json"] for row in opened)


ODD_UIDS = [
    "[LCM File: file_x | ...]",
    "node 12",
    "12",
    12,
    -1,
    "zzz",
    None,
    "",
    [],
    {},
    True,
    "\ud83d",
]


@pytest.mark.parametrize("uid", ODD_UIDS, ids=repr)
@pytest.mark.parametrize("name", ["lcm_expand", "lcm_describe"])
def test_a_wrong_name_is_explained(make, uid, name):
    """UX-03: JSON that says what to do, whatever is given as a uid."""
    engine = make()
    engine.ingest(talk(3))
    answer = ask(engine, name, uid=uid)
    if name == "lcm_describe" and uid in (None, ""):  # no name is asked for
        assert answer["kind"] == "outline"
    else:
        assert "uid" in answer["hint"] or "lcm_grep" in answer["hint"]
        assert "failed" not in answer["error"]


@pytest.mark.parametrize(
    "value",
    ["a" * 10**6, "[lcm 1a2b3c4d] " * 60_000, ["1a2b3c4d"] * 100_000, 10**5000, "9" * 5000],
    ids=["digits of a uid", "names", "a list", "a number", "digits"],
)
def test_what_is_too_long_is_said_at_once(make, value):
    """UX-03: each argument of each tool: an answer that fits a page, in no time, and no fault of ours."""
    engine = make()
    engine.ingest(talk(3))
    needed = {"query": "x", "question": "x", "uid": "1a2b3c4d", "start_turn": 1, "end_turn": 2}
    begun = time.monotonic()
    for schema in engine.get_tool_schemas():
        parameters = schema["parameters"]
        base = {name: needed[name] for name in parameters["required"]}
        for name in [*parameters["properties"], "unknown"]:
            answer = engine.handle_tool_call(schema["name"], base | {name: value})
            assert len(answer) < 20_000, (schema["name"], name)
            assert "failed" not in answer, (schema["name"], name)
    assert time.monotonic() - begun < 3


def test_a_name_inside_a_copied_reference_is_taken(make):
    """UX-03: what the context shows around a name does not hide it, and no other thing is opened."""
    engine = make()
    rows = talk(60)
    out = engine.compress(rows, engine.count_tokens(rows))
    uid = ask(engine, "lcm_describe")["nodes"][0]["uid"]
    block = next(line for line in out[0]["content"].splitlines() if uid[:8] in line)
    for written in (block, f"node {uid[:8]}", f"[LCM {uid[:8].upper()}]", f"see [lcm {uid[:8]}]."):
        assert uid == ask(engine, "lcm_expand", uid=written, detail="brief")["uid"]


@pytest.mark.slow
def test_a_search_ends_long_before_the_host_gives_up(make):
    """UX-04: a pattern that takes for ever ends in seconds, with what it found until then, and says so."""
    engine = make()
    rows = [row for n in range(3000) for row in (user(f"{n} " + "ab" * 1500), said("x" * 3000))]
    engine.ingest([*rows, user("aaz found"), said("ok")])
    began = time.monotonic()
    answer = ask(engine, "lcm_grep", query="aaz|a*b*a*b*a*b*a*b*a*b*z", mode="regex")
    assert time.monotonic() - began < 30
    assert "aaz found" == answer["results"][0]["snippet"]
    assert "stopped" in answer["note"]


def test_arguments_that_mean_nothing_are_named(make):
    """UX-05: an unknown key is listed, a wrong value explained; the rest is carried out as asked."""
    engine = make()
    engine.ingest([user("the zebra"), said("ok")])
    answer = ask(engine, "lcm_grep", query="zebra", session_scope="galaxy", colour=3)
    assert ["colour", "session_scope"] == answer["ignored_arguments"]
    assert 1 == answer["total"]
    assert "ignored_arguments" not in ask(engine, "lcm_grep", query="zebra")
    for wrong in ({"scope": "galaxy"}, {"mode": "magic"}, {"role": "king"}, {"since": "once"}):
        answer = ask(engine, "lcm_grep", query="zebra", **wrong)
        assert next(iter(wrong.values())) in answer["error"]
        assert answer["hint"]


def test_nothing_of_ours_says_that_accuracy_is_lost(make):
    """UX-06: after three compactions every text of ours says what is true: all is kept."""
    engine, rows = make(), []
    for n in range(1, 200):
        rows += talk(1, first=n)
        if engine.should_compress(engine.count_tokens(rows)):
            rows = engine.compress(rows, force=True)  # else stubs would do
    assert engine.compression_count >= 3
    texts = json.dumps([rows[:2], engine.get_status(), ask(engine, "lcm_status")]).lower()
    assert "accuracy" not in texts
    assert "degrade" not in texts.replace("degraded_nodes", "")
    assert "kept in full" in texts
