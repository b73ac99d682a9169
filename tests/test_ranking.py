"""How messages are ranked for a question: by their words, and by what stands around them."""

from __future__ import annotations

import uuid

import pytest
from lcm.storage import open_store
from lcm.storage.ranking import Kind, Row, Term, kind_of, relevant, scores, weight
from lcm.storage.records import Draft, Filter

ALIKE = Kind(10.0, 1.0)
WORDS = ("staging", "database", "port", "tunnel")


def rows(count, role="assistant"):
    """Messages of the same length, in a run."""
    return [Row(number, role, 10) for number in range(1, count + 1)]


def ranked(runs, counts, kind=ALIKE, **kwargs):
    """Numbers of the messages, best first, for words of equal weight that stand where *counts* say."""
    terms = [Term(1.0, dict.fromkeys(each, 1), **kwargs) for each in counts]
    found = scores(runs, terms, kind, max(row.id for run in runs for row in run))
    return [number for number, _ in sorted(found.items(), key=lambda pair: -pair[1])]


def test_what_stands_between_the_words_is_found():
    """Three words in three messages: the one in the middle has all of them near."""
    assert ranked([rows(9)], [[4], [5], [6]])[0] == 5


def test_a_word_reaches_over_no_gap():
    """What is no part of the same run of messages is not near, whatever its number."""
    first, second = rows(4), [Row(number, "assistant", 10) for number in range(5, 9)]
    assert set(ranked([first, second], [[4], [4], [3]])) <= {1, 2, 3, 4}


def test_two_words_are_no_question():
    """Who looks for a word gets the messages that hold it, and no others."""
    assert set(ranked([rows(9)], [[4], [5]])) == {4, 5}
    assert set(ranked([rows(9)], [[4]])) == {4}


def test_around_a_message_that_holds_everything_nothing_is_looked_for():
    """All words in one message: the messages beside it would only cost tokens."""
    assert set(ranked([rows(9)], [[4], [4], [4]])) == {4}
    assert set(ranked([rows(9)], [[4], [4], [9]])) > {4, 9}


def test_a_phrase_counts_where_it_stands():
    """What stands beside a phrase has not got it."""
    assert ranked([rows(9)], [[4], [5]], spreads=False) in ([4, 5], [5, 4])


def test_where_answers_are_long_what_the_user_said_comes_first():
    """The same words count more where they are a larger part of what that role says."""
    kind = kind_of([("user", 10), ("assistant", 1000)])
    assert kind.voice > 2
    run = [Row(1, "assistant", 10), Row(2, "system", 10), Row(3, "user", 10)]
    assert ranked([run], [[1, 3]], kind)[0] == 3
    assert kind_of([("user", 1000), ("assistant", 10)]).voice == 1


def test_a_question_as_long_as_a_message_goes_on_with_what_was_lately():
    """Thirty words prefer the newest of two equals; five do not."""
    run = rows(600)
    for count, ahead in ((30, True), (5, False)):
        terms = [Term(1.0, {100: 1, 590: 1}) for _ in range(count)]
        found = scores([run], terms, ALIKE, 600)
        assert (found[590] > found[100] * 1.01) is ahead


def test_calls_of_own_tools_and_their_results_are_no_messages():
    """Also a result that does not say whose it is, where it follows the call; others stay."""
    run = [
        (Row(1, "user", 10), ""),
        (Row(2, "assistant", 10), "lcm_grep"),
        (Row(3, "tool", 10), ""),
        (Row(4, "tool", 10), ""),
        (Row(5, "assistant", 10), "read_file"),
        (Row(6, "tool", 10), ""),
        (Row(7, "tool", 10), "lcm_grep"),
        (Row(8, "user", 10), ""),
    ]
    assert [row.id for row in relevant(run, ["lcm_grep"])] == [1, 5, 6, 8]
    assert len(relevant(run, [])) == 8


def test_rare_words_weigh_more():
    """The weight falls with the number of messages that hold a word, and is never below nothing."""
    weights = [weight(100, holding) for holding in (1, 10, 50, 100, 1000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] >= 0


@pytest.fixture(name="store", params=["sqlite", "memory"])
def _store(request, tmp_path):
    store = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield store
    store.close()


def fill(store, texts, session="talk", role="user"):
    """Store *texts* in a session; returns their numbers."""
    line = store.open_session(session).line
    uids = (uuid.uuid4().hex for _ in texts)
    drafts = [
        (Draft(uid, role, f'{{"content": "{text}"}}'.encode(), text, b"k", b"d" * 16, 1.0, 9), 1)
        for uid, text in zip(uids, texts, strict=True)
    ]
    return [entry.id for entry in store.append(line, drafts)]


def test_an_answer_is_found_by_the_question_before_it(store):
    """The message after the one that repeats the question is the second result, among many others."""
    numbers = fill(store, [f"about garden {at}" for at in range(20)])
    asked, told = fill(store, ["which port has the staging database behind the tunnel", "5433"])
    fill(store, [f"about rain {at}" for at in range(20)])
    fill(store, ["a port for ships"], "other")
    hits = store.search((*WORDS, "number"), [], Filter(), 50)
    assert hits[0].message == asked
    assert told in {hit.message for hit in hits[1:3]}
    assert not {hit.message for hit in hits} & set(numbers[:10])


def test_a_rare_word_is_found_among_many(store):
    """1,500 messages that share all words but one: the one with the rare word is first, whatever its place."""
    texts = [f"the build of module {at % 7} went well" for at in range(1500)]
    texts[40] = "the build of module 3 met a zebra"
    numbers = fill(store, texts)
    hits = store.search(["build", "module", "well", "zebra"], [], Filter(), 200)
    assert hits[0].message == numbers[40]
    assert len(hits) == 200
    assert len({hit.message for hit in hits}) == 200
    scores_ = [hit.score for hit in hits]
    assert scores_ == sorted(scores_, reverse=True)


def test_only_common_words_find_the_newest_places(store):
    """Words that every message holds still give as many results as are asked for."""
    numbers = fill(store, ["the same words again"] * 1200)
    hits = store.search(["same", "words", "again"], [], Filter(), 200)
    assert len(hits) == 200
    assert {hit.message for hit in hits} <= set(numbers)


def test_a_session_among_others_is_ranked_alone(store):
    """Rows of other sessions between those of this one change neither what is found nor its order."""
    texts = [f"word{at % 5} and word{at % 7}" for at in range(60)]
    mine = []
    for at, text in enumerate(texts):
        mine += fill(store, [text], "mine")
        fill(store, [f"word{at % 3} of others"], "others")
    alone = fill(store, texts, "alone")
    asked = ["word3", "word4", "word6"]
    lines = {name: store.session(name).line for name in ("mine", "alone")}
    found = {
        name: [hit.message for hit in store.search(asked, [], Filter((line,)), 10)]
        for name, line in lines.items()
    }
    assert [mine.index(number) for number in found["mine"]] == [
        alone.index(number) for number in found["alone"]
    ]


def test_a_message_that_is_left_out_says_nothing_about_those_around_it(store):
    """``without``: neither it nor what stands beside it is found by its words."""
    numbers = fill(store, ["rain", "the zebra port of staging", "wind", "fog", "zebra"])
    asked = ["zebra", "port", "staging", "xylophone"]
    found = {hit.message for hit in store.search(asked, [], Filter(), 9)}
    assert {numbers[0], numbers[1], numbers[2]} <= found
    where = Filter(without=(numbers[1],))
    assert {hit.message for hit in store.search(asked, [], where, 9)} <= set(numbers[2:])
