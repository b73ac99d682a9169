"""Faults of scripts and encodings: whatever is written is kept, found and never cut in two."""

from __future__ import annotations

import json

import pytest
from asking import summary_of
from faultkit import ask, called, kept, result, said, talk, totals, user
from lcm.dag.extractive import extract
from lcm.dag.summarizer import SummaryRequest
from lcm.dag.tokens import clip, count_text, head, tail
from lcm.tools.answers import page_of
from lcm.tools.snippet import snippet

FAMILY = "👨‍👩‍👧"
E_ACUTE = "e\u0301"
HAN = "今天讨论记忆断裂的问题"
KANA = "データベースを再起動した"
HANGUL = "데이터베이스를 재시작했다"


def snippets(engine, query, **args):
    return [each["snippet"] for each in ask(engine, "lcm_grep", query=query, **args)["results"]]


@pytest.fixture
def scripts(make):
    """An engine whose session holds one row of each script."""
    engine = make()
    rows = [
        HAN,
        KANA,
        HANGUL,
        "守夜人",
        "codex 已经开始执行探索任务了",
        "ข้อความภาษาไทย",
        "plain words",
    ]
    engine.ingest([row for text in rows for row in (user(text), said("ok"))])
    return engine


@pytest.mark.parametrize(
    ("query", "row"),
    [("记忆断裂", HAN), ("再起動", KANA), ("재시작", HANGUL), ("ภาษา", "ข้อความภาษาไทย")],
)
def test_words_inside_unspaced_text_are_found(scripts, query, row):
    """UNI-01: a word in the middle of a run of Han, kana, Hangul or Thai; and no other row."""
    assert [row] == snippets(scripts, query)
    assert [row] == snippets(scripts, query, mode="exact")


@pytest.mark.parametrize(
    ("query", "row"), [("记忆", HAN), ("守", "守夜人"), ("재시", HANGUL), ("再", KANA)]
)
def test_one_or_two_characters_are_enough(scripts, query, row):
    """UNI-02: the shortest words of these scripts are words."""
    assert [row] == snippets(scripts, query)


def test_in_a_mixed_query_the_unspaced_word_is_what_is_asked(scripts):
    """UNI-03: 'codex 执行' is found, 'codex 缺席' is not: the name alone is no answer."""
    assert ["codex 已经开始执行探索任务了"] == snippets(scripts, "codex 执行")
    missing = ask(scripts, "lcm_grep", query="codex 缺席")
    assert [] == missing["results"]
    assert "No message has 缺席" in missing["note"]
    assert ["codex 已经开始执行探索任务了"] == snippets(scripts, "codex")
    asked = ask(scripts, "lcm_grep", query="codex 什么时候开始执行的")
    assert asked["results"][0]["snippet"] == "codex 已经开始执行探索任务了"


BAD = "bad \ud83d half"


def lone(place):
    """A row with a lone surrogate in *place*."""
    if place == "content":
        return [called("c"), result("c", BAD)]
    if place == "arguments":
        row = called("c")
        row["tool_calls"][0]["function"]["arguments"] = json.dumps({"path": 1})[:-1] + BAD
        return [row, result("c", "fine")]
    if place == "name":
        return [called("c"), result("c", "fine", tool_name=BAD)]
    return [called("c"), result("c", [{"type": "text", "text": BAD}])]


@pytest.mark.parametrize("place", ["content", "arguments", "name", "part"])
def test_half_a_character_takes_nothing_with_it(make, home, place):
    """UNI-04: its neighbours are stored, it is stored so that it comes back, and a replay adds nothing."""
    engine = make()
    rows = [user("ok1"), *lone(place), user("ok2")]
    assert 4 == engine.ingest(rows).new
    assert rows == kept(home)
    engine.close()
    again = make()
    report = again.ingest([*rows, said("ok3")])
    assert (1, 4, 0) == (report.new, report.known, report.revised)
    assert 5 == totals(home).messages
    assert 1 == len(snippets(again, "ok2"))
    assert "results" in ask(again, "lcm_grep", query=BAD)
    turns = {"start_turn": 1, "end_turn": 9}
    answer = again.handle_tool_call("retrieve_conversation_history", turns)
    answer.encode("utf-8")  # a wire takes no half character
    assert "ok1" in answer


def test_half_a_character_in_a_summary_and_its_focus_stops_no_pass(make, home):
    """UNI-04: the pass goes through, and what it gives can be sent."""
    asked = []

    def summarizer(request):
        asked.append(request.text + request.focus)
        return f"a summary {BAD}"

    engine = make(summarizer=summarizer)
    rows = [user(BAD), said("ok"), *talk(60)]
    out = engine.compress(rows, engine.count_tokens(rows), focus_topic=BAD, memory_context=BAD)
    assert engine._last_compression_made_progress
    assert engine._last_summary_error is None
    for text in (*asked, json.dumps(out[0], ensure_ascii=False)):
        text.encode("utf-8")
    assert rows == kept(home)


@pytest.mark.parametrize("emoji", ["🚀", FAMILY, "🇩🇪"])
def test_an_emoji_is_found(make, emoji):
    """UNI-05: what no index holds is looked for in the text; a joined one as a whole."""
    engine = make()
    engine.ingest([user(f"shipped {emoji} today"), said("👨 alone, and 🛰")])
    for query in (emoji, f'"{emoji}"'):
        assert f"shipped {emoji} today" in snippets(engine, query)
    assert [f"shipped {emoji} today"] == snippets(engine, emoji, mode="exact")


@pytest.mark.parametrize("text", ["记" * 5000, "记忆断裂。" * 1000, "🚀" * 5000, FAMILY * 900])
def test_a_stand_in_keeps_its_cap_in_any_script(text):
    """UNI-06: what is extracted in place of a summary has 512 tokens at the most, by the same count."""
    summary = summary_of(SummaryRequest(text, 512, (15, 50, 250, 1000)), None, trusted=False)
    assert 0 < count_text(summary.text) <= 512
    assert all(count_text(each) <= level for level, each in summary.texts)
    assert count_text(extract(text, 512)) <= 512


def whole(text, unit):
    """Whether *text* is so many whole *unit*s."""
    return text == unit * (len(text) // len(unit))


@pytest.mark.parametrize("unit", [FAMILY, E_ACUTE, "🇩🇪", "👍🏽", "\u1112\u1161\u11ab"])
def test_no_cut_goes_through_a_character(unit):
    """UNI-07: at every budget a visible character is kept or dropped whole."""
    text = unit * 500
    for budget in range(1, 200, 7):
        for cut in (head(text, budget), tail(text, budget), clip(text, budget)):
            assert whole(cut, unit)
    for room in range(80, 140):
        found = snippet(f"{text} needle {text}", ["needle"], room).strip("…")
        before, _, after = found.partition("needle")
        assert whole(before.strip(), unit)
        assert whole(after.strip(), unit)


@pytest.mark.parametrize("unit", [FAMILY, E_ACUTE])
def test_pages_cut_no_character_and_join_to_the_text(make, unit):
    """UNI-07: pages of one long message end between characters, and joined they are the message."""
    engine = make()
    text = unit * 9000
    engine.ingest([user(text), said("ok")])
    pieces, cursor = [], None
    turn = ask(engine, "retrieve_conversation_history", start_turn=1, end_turn=1)
    uid = turn["messages"][0]["uid"]
    while True:
        page = ask(engine, "lcm_expand", uid=uid, **({"cursor": cursor} if cursor else {}))
        pieces.append(page["messages"][0]["content"])
        cursor = page["cursor"]
        if cursor is None:
            break
    assert len(pieces) > 2
    assert all(whole(piece, unit) for piece in pieces)
    assert text == "".join(pieces)
    assert all(4 * count_text(piece) <= page_of({}) for piece in pieces)


@pytest.mark.parametrize("query", ["café", "cafe\u0301", "CAFÉ", "CAFE\u0301"])
@pytest.mark.parametrize("row", ["CAFÉ", "cafe\u0301"])
def test_case_and_composition_are_the_same_in_every_search(make, query, row):
    """UNI-08: what the index folds the search of the text folds too."""
    engine = make()
    engine.ingest([user(row), said("coffee")])
    assert [row] == snippets(engine, query) == snippets(engine, query, mode="exact")
    assert [row] == snippets(engine, query[1:], mode="exact")
