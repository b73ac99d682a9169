"""Faults of search syntax and recall: every query is answered, and what was said is found."""

from __future__ import annotations

import json
import sqlite3
import time

import pytest
from faultkit import ask, called, database, result, said, talk, user

ODD = {
    "C++": "we build it with C++ only",
    "v1.2.3": "released as v1.2.3 today",
    "src/app/main.py": "see src/app/main.py first",
    "user@example.com": "write to user@example.com",
    "don't": "don't touch it",
    "a,b": "columns a,b stay",
    "why?": "and why? nobody knows",
    "100%": "at 100% of the load",
    "{x}": "a slot {x} in braces",
    "(x": "an open (x stands here",
    '"unclosed': 'he said "unclosed and left',
    "hello AND": "hello AND goodbye",
    "***": "three *** stars",
    "NEAR(": "the call NEAR( failed",
    "sing-box": "sing-box is the proxy",
    "NOTE: yes": "NOTE: yes we may",
    "-foo": "the flag -foo is set",
    "key:value": "a key:value pair",
    "NOT": "it is NOT done",
    "cats OR": "cats OR else",
    "hello AND world": "hello AND world again",
    "^start": "the anchor ^start here",
    "prefix*": "a prefix* in the shell",
}


def hits(engine, query, **args):
    """The results of a search."""
    return ask(engine, "lcm_grep", query=query, **args)["results"]


def snippets(engine, query, **args):
    return [each["snippet"] for each in hits(engine, query, **args)]


@pytest.fixture
def odd(make):
    """An engine whose session holds every odd text, among others."""
    engine = make()
    rows = [row for text in ODD.values() for row in (user(text), said("noted"))]
    engine.ingest([*rows, *talk(3, words=3)])
    return engine


@pytest.mark.parametrize("query", ODD)
@pytest.mark.parametrize("mode", ["auto", "exact"])
def test_punctuation_and_operators_are_text(odd, query, mode):
    """SRCH-01, SRCH-02, SRCH-07: no syntax error, no column filter, no operator: the text itself is found."""
    assert any(ODD[query] in snippet for snippet in snippets(odd, query, mode=mode))


def test_prose_finds_what_it_says_and_nothing_else(odd):
    """SRCH-07: NOT excludes nothing, OR and AND are words, * is no wildcard in a literal search."""
    assert ODD["NOT"] in snippets(odd, "it is NOT done")
    assert ODD["cats OR"] in snippets(odd, "NOT cats")
    assert [ODD["prefix*"]] == snippets(odd, "prefix*", mode="exact")
    assert [] == snippets(odd, "pre*", mode="exact")


def test_a_lost_index_is_said_and_searched_around(make, home):
    """SRCH-03: dropped under a live engine, the word is found in the text, and the answer says so."""
    engine = make()
    engine.ingest([user("the zebra is here"), said("an okapi is not")])
    assert 1 == len(hits(engine, "zebra"))
    with sqlite3.connect(database(home)) as other:
        other.execute("DROP TABLE message_index")
    other.close()
    answer = ask(engine, "lcm_grep", query="zebra")
    assert ["the zebra is here"] == [each["snippet"] for each in answer["results"]]
    assert "damaged" in answer["note"] or "broken" in answer["note"]
    missing = ask(engine, "lcm_grep", query="giraffe")
    assert [] == missing["results"]
    assert "damaged" in missing["note"] or "broken" in missing["note"]
    assert "2 messages" in missing["note"]


def test_a_search_crosses_rotations_and_stays_in_its_session(make):
    """SRCH-04: by default the session under all its ids and no other; with scope all every one."""
    engine = make("S1")
    rows = [user("the walrus of one"), said("yes")]
    engine.ingest(rows)
    engine.on_session_start("S2", boundary_reason="compression", old_session_id="S1")
    engine.ingest([*rows, user("the walrus of two"), said("yes")])
    other = make("S9")
    other.ingest([user("the walrus of nine"), said("yes")])
    mine = {"the walrus of one", "the walrus of two"}
    for mode in ("auto", "exact"):
        assert mine == set(snippets(engine, "walrus", mode=mode))
        assert 3 == len(snippets(engine, "walrus", mode=mode, scope="all"))
        assert ["the walrus of nine"] == snippets(other, "walrus", mode=mode)


@pytest.mark.parametrize("mode", ["auto", "exact", "regex"])
def test_a_large_payload_is_searched_whole(make, mode):
    """SRCH-05: a word at character 80,000 of a tool's result, which is kept beside its message."""
    engine = make()
    text = "filler line\n" * 7000 + "the quokka42 is here\n" + "filler line\n" * 7000
    engine.ingest([user("read"), called("c"), result("c", text), said("read")])
    (found,) = hits(engine, "quokka42", mode=mode)
    assert "quokka42" in found["snippet"]
    assert "tool" == found["role"]


def walk(engine, uid):
    """Message uids under *uid*, in order, by lcm_describe from level to level."""
    found, cursor = [], None
    while True:
        answer = ask(engine, "lcm_describe", uid=uid, **({"cursor": cursor} if cursor else {}))
        for source in answer["sources"]:
            below = source["kind"] == "node"
            found += walk(engine, source["uid"]) if below else [source["uid"]]
        cursor = answer["cursor"]
        if cursor is None:
            return found


def test_a_deep_node_leads_to_every_row_once(make):
    """SRCH-06: from a node of depth 2 down to the rows, by description and verbatim: in order, none twice."""
    engine, rows = make(context_length=3000, settings={"condense_fanin": 2}), []
    for n in range(1, 200):
        rows += talk(1, first=n, words=20)
        if engine.should_compress(engine.count_tokens(rows)):
            rows = engine.compress(rows)
    outline = ask(engine, "lcm_describe", depth=4)["nodes"]
    deep = max(outline, key=lambda node: node["depth"])
    assert deep["depth"] >= 2
    walked = walk(engine, deep["uid"])
    assert len(walked) == len(set(walked)) == deep["messages"]
    opened, cursor = [], None
    while True:
        page = ask(engine, "lcm_expand", uid=deep["uid"], **({"cursor": cursor} if cursor else {}))
        opened += [(row["uid"], row["content"]) for row in page["messages"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert walked == [uid for uid, _ in opened]
    first, last = deep["turns"]
    said_then = [row["content"] for row in talk(last - first + 1, first=first, words=20)]
    assert said_then == [content for _, content in opened]


@pytest.mark.parametrize("query", ["", "   ", "\u3000", "\n\t", '""'])
def test_an_empty_query_is_explained(make, query):
    """SRCH-08: nothing to look for is said in words."""
    engine = make()
    engine.ingest(talk(2))
    for mode in ("auto", "exact", "fuzzy", "regex"):
        answer = ask(engine, "lcm_grep", query=query, mode=mode)
        if query == '""':  # two marks, which somebody may look for
            assert answer["results"] == []
            assert "nothing found" in answer["note"]
        else:
            assert answer["error"] == "The query is empty."
            assert answer["hint"]
        assert "sql" not in json.dumps(answer).lower()


@pytest.mark.parametrize("query", ["---", "#@!", "***"])
def test_punctuation_alone_finds_nothing_or_itself(make, query):
    """SRCH-08: no error, and the text that holds it."""
    engine = make()
    engine.ingest([user("plain"), said(f"a row with {query} in it")])
    assert [f"a row with {query} in it"] == snippets(engine, query)
    assert [] == snippets(engine, "~~~")


def test_percent_and_underscore_are_no_wildcards(make):
    """SRCH-09: only the literal text, in the search that reads the text itself."""
    engine = make()
    engine.ingest([user("a_b"), said("axb"), user("100%"), said("1000")])
    assert ["a_b"] == snippets(engine, "a_b", mode="exact")
    assert ["100%"] == snippets(engine, "100%", mode="exact")
    assert ["100%"] == snippets(engine, "00%")


def test_a_literal_search_gives_the_newest_first(make):
    """SRCH-10: three hits, a limit of two: the two newest, newest first, and the third on the next page."""
    engine = make()
    engine.ingest([row for n in range(3) for row in (user(f"x%y number {n}"), said("ok"))])
    answer = ask(engine, "lcm_grep", query="x%y", mode="exact", limit=2)
    assert ["x%y number 2", "x%y number 1"] == [each["snippet"] for each in answer["results"]]
    assert 3 == answer["total"]
    rest = ask(engine, "lcm_grep", query="x%y", mode="exact", limit=2, cursor=answer["cursor"])
    assert ["x%y number 0"] == [each["snippet"] for each in rest["results"]]


def test_the_limit_comes_after_rank_and_filters(make):
    """SRCH-11: among a hundred newer weak hits the strong one is first; a role that is rare is found."""
    engine = make()
    rows = [user("the heron nests by the mill pond"), said("noted: heron, mill, pond")]
    for n in range(100):
        rows += [
            user(f"a heron was mentioned in passing, number {n} " + "and so on " * 20),
            said("hm"),
        ]
    engine.ingest(rows)
    best = hits(engine, "heron mill pond", limit=5)
    assert {"the heron nests by the mill pond", "noted: heron, mill, pond"} == {
        each["snippet"] for each in best[:2]
    }
    assert ["noted: heron, mill, pond"] == snippets(engine, "heron", role="assistant", limit=5)


def test_filters_reach_payloads_and_summaries(make):
    """SRCH-12: with a role or a time no tool's payload and no summary slips in."""
    engine = make(summarizer=lambda request: "the ibis is in this summary")
    rows = [
        user("read about the ibis"),
        called("c"),
        result("c", "ibis\n" * 2000),
        said("ibis read"),
    ]
    rows += talk(40)
    engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert {"node", "message"} == {each["kind"] for each in hits(engine, "ibis")}
    for mode in ("auto", "exact"):
        assert ["read about the ibis"] == snippets(engine, "ibis", role="user", mode=mode)
        assert ["tool"] == [each["role"] for each in hits(engine, "ibis", role="tool", mode=mode)]
        assert [] == hits(engine, "ibis", until="2001-01-01", mode=mode)


def test_the_oldest_row_is_found_among_thousands(make):
    """SRCH-13: row 1 of 3,000, ranked and literally."""
    engine = make()
    rows = [user("the axolotl was first"), *(said(f"row {n} of many") for n in range(1, 3000))]
    engine.ingest(rows)
    for query, mode in (
        ("axolotl", "auto"),
        ("xolot", "auto"),
        ("axolotl", "exact"),
        ("^the ax", "regex"),
    ):
        assert ["the axolotl was first"] == snippets(engine, query, mode=mode)


def test_the_text_of_content_parts_is_found_and_no_base64(make):
    """SRCH-14: what was written beside a picture, not the picture's bytes."""
    engine = make()
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAA"}}
    engine.ingest([user([{"type": "text", "text": "this is zebra42"}, image]), said("nice")])
    for mode in ("auto", "exact"):
        (found,) = hits(engine, "zebra42", mode=mode)
        assert "this is zebra42" in found["snippet"]
        assert [] == hits(engine, "iVBORw0KGgoAAAA", mode=mode)


def test_a_pattern_in_a_plain_search_is_spoken_of(make):
    """SRCH-15: its words are searched for, and the answer names the mode that reads it as a pattern."""
    engine = make()
    engine.ingest([user("foo and then bar"), said("only baz")])
    answer = ask(engine, "lcm_grep", query="foo.*bar|baz")
    assert 2 == answer["total"]
    assert "regex" in answer["note"]
    assert {"foo and then bar", "only baz"} == set(snippets(engine, "foo.*bar|baz", mode="regex"))
    assert "regex" in ask(engine, "lcm_grep", query=r"nothing\d+likeit")["note"]
    assert "regex" not in ask(engine, "lcm_grep", query="foo and bar")["note"]


@pytest.mark.parametrize(
    ("limit", "shown"), [("10", 10), (-1, 1), (0, 1), (10**9, 20), (2.9, 2), (None, 10)]
)
def test_numbers_are_taken_as_they_are_meant(make, limit, shown):
    """SRCH-16: a query may be a number, zero too; a limit is coerced and kept within bounds."""
    engine = make()
    rows = [row for n in range(20) for row in (user(f"error 404 in run {n}"), said("it said 0"))]
    engine.ingest(rows)
    for query in (0, 404, "404", 40.4):
        answer = ask(engine, "lcm_grep", query=query)
        assert str(query) == answer["query"]
    assert "it said 0" in snippets(engine, 0, limit=3)
    assert shown == len(hits(engine, 404, limit=limit))
    assert "hint" in ask(engine, "lcm_grep", query="x", limit="many")


def test_every_hit_can_be_opened_by_its_own_fields(make):
    """SRCH-17: a message, a payload and a summary, each by the uid of the hit, whole and only itself."""
    engine = make(summarizer=lambda request: "the tapir is in this summary")
    payload = "tapir line\n" * 900
    rows = [user("where is the tapir"), called("c"), result("c", payload), said("found"), *talk(40)]
    engine.compress(rows, current_tokens=engine.count_tokens(rows))
    found = hits(engine, "tapir", limit=50)
    assert {("message", "user"), ("message", "tool"), ("node", None)} <= {
        (each["kind"], each["role"]) for each in found
    }
    for each in found:
        opened = ask(
            engine, "lcm_expand", uid=each["uid"], detail="raw" if each["role"] else "full"
        )
        assert each["uid"] == opened["uid"]
        assert "tapir" in json.dumps(opened)
        if each["covered_by"]:
            under = ask(engine, "lcm_expand", uid=each["covered_by"])
            assert each["uid"] in {row["uid"] for row in under["messages"]}


@pytest.mark.parametrize(
    "query", [" ".join(f"w{n}" for n in range(1100)), "x" * 60_000, "%_" * 30_000, "(" * 5000]
)
def test_a_very_long_query_is_answered(make, query):
    """SRCH-18: more words than a statement takes, longer than a pattern may be: in seconds, without an error."""
    engine = make()
    engine.ingest([user("w1099 stands here"), said("ok"), *talk(20)])
    began = time.monotonic()
    for mode in ("auto", "exact", "fuzzy"):
        answer = ask(engine, "lcm_grep", query=query, mode=mode)
        assert "results" in answer
    assert (
        "error" in (pattern := ask(engine, "lcm_grep", query=query, mode="regex"))
        or pattern["note"]
    )
    assert time.monotonic() - began < 15
    assert ["w1099 stands here"] == snippets(engine, "w1099")
