"""Segments end where the subject changes: told by words, or by a model; and leaves follow them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcm import LCMEngine
from lcm.dag.breaker import Breaker
from lcm.dag.drift import Drift, Turn, by_words, described, turns_of
from lcm.dag.drift_model import Judge
from lcm.dag.nodes import Item
from lcm.dag.prompts import drift_messages
from lcm.dag.replies import Reply
from lcm.dag.segment import leaves
from lcm.dag.subjects import Subjects
from lcm.storage.records import Entry

WINDOW = 10

BREAD = [
    (
        "Why does my rye bread stay flat?",
        "The dough proofs too long; rye dough holds its gas for an hour.",
    ),
    ("How warm should the dough be?", "Keep the rye dough at 27 degrees while it proofs."),
    ("And the starter for the dough?", "Feed the starter with flour an evening before the dough."),
    ("How much starter for a kilo of flour?", "About 200 grams of starter for a kilo of flour."),
    ("Does salt slow the starter down?", "Yes, salt slows the starter; add it to the dough last."),
    (
        "When do I shape the loaf?",
        "Shape the loaf when the dough has grown by half, before proofing.",
    ),
    (
        "My oven only reaches 230 degrees.",
        "Then bake the loaf longer, and steam the oven at first.",
    ),
    ("How do I steam the oven?", "Put a tray of water into the oven below the loaf."),
]
HARBOUR = [
    ("The relay of the north beacon drops out at night.", "I read the beacon log of last night."),
    (
        "What does the beacon log say?",
        "The relay lost its signal eleven times, always after the tide turned.",
    ),
    ("Is the signal cable damp?", "The cable of the relay was replaced in spring; it may be damp."),
    (
        "Then test the cable between relay and beacon.",
        "The test shows a weak signal on the cable.",
    ),
    ("Who can dive to the cable?", "The diving crew of the harbour can look at the cable at dawn."),
    (
        "Tell the diving crew what the log shows.",
        "I wrote to the crew: beacon, relay, cable, log.",
    ),
    ("Does the south beacon drop out too?", "No, the south beacon keeps its signal all night."),
    ("Keep an eye on the relay tonight.", "I watch the relay and write every signal into the log."),
]
BROT = [
    ("Warum bleibt mein Roggenbrot flach?", "Der Teig geht zu lange; Roggenteig hält eine Stunde."),
    ("Wie warm soll der Teig sein?", "Halte den Teig bei 27 Grad, solange der Teig geht."),
    ("Und der Sauerteig?", "Füttere den Sauerteig am Abend mit Roggenmehl."),
    ("Wie viel Sauerteig für ein Kilo Roggenmehl?", "Etwa 200 Gramm Sauerteig auf ein Kilo Roggenmehl."),
    ("Bremst Salz den Sauerteig?", "Ja, Salz bremst den Sauerteig; gib es zuletzt in den Teig."),
    ("Wann forme ich den Laib?", "Forme den Laib, wenn der Teig um die Hälfte gewachsen ist."),
]  # fmt: skip
HAFEN = [
    ("Das Relais am Leuchtfeuer fällt nachts aus.", "Ich lese das Protokoll vom Leuchtfeuer."),
    ("Was steht im Protokoll?", "Das Relais verlor elfmal das Signal, so das Protokoll."),
    ("Ist das Signalkabel feucht?", "Das Kabel am Relais wurde im Frühjahr getauscht."),
    ("Prüfe das Kabel zwischen Relais und Leuchtfeuer.", "Das Kabel hat ein schwaches Signal."),
    ("Wer kann zum Kabel tauchen?", "Die Taucher sehen das Kabel morgen an."),
    ("Schreib den Tauchern, was im Protokoll steht.", "Ich schrieb: Relais, Kabel, Signal, Leuchtfeuer."),
]  # fmt: skip
MIANBAO = [
    ("为什么我的黑麦面包是扁的?", "面团发酵太久, 黑麦面团只能发酵一小时."),
    ("面团应该多热?", "面团发酵时保持二十七度."),
    ("酵头怎么养?", "前一晚用黑麦面粉喂酵头."),
    ("一公斤面粉放多少酵头?", "一公斤面粉放两百克酵头."),
    ("盐会让酵头变慢吗?", "会, 盐最后加进面团."),
    ("什么时候给面团整形?", "面团发酵到一倍半时整形."),
]
GANGKOU = [
    ("北灯塔的继电器夜里会断开.", "我来读灯塔的日志."),
    ("日志里写了什么?", "继电器丢了十一次信号, 日志里都有."),
    ("信号电缆潮了吗?", "继电器的电缆春天换过."),
    ("测一下灯塔和继电器之间的电缆.", "电缆上的信号很弱."),
    ("谁能潜水去看电缆?", "潜水队明天去看电缆."),
    ("把日志发给潜水队.", "我写了: 灯塔、继电器、电缆、信号."),
]


def turns(*subjects):
    """The turns of conversations that follow on each other."""
    said = [pair for subject in subjects for pair in subject]
    return [Turn(number, *pair) for number, pair in enumerate(said, 1)]


def found(talked, window=WINDOW):
    """Numbers of the turns with which a new subject begins."""
    return [talked[at].number for at in by_words(talked, window)]


# by words


@pytest.mark.parametrize(
    "subjects",
    [(BREAD, HARBOUR), (HARBOUR, BREAD), (BROT, HAFEN), (MIANBAO, GANGKOU)],
    ids=["bread-harbour", "harbour-bread", "german", "chinese"],
)
def test_another_subject_is_found_where_it_begins(subjects):
    """At that turn and at no other, in any language, with or without blanks between words."""
    assert [len(subjects[0]) + 1] == found(turns(*subjects))


def test_a_subject_that_comes_back_begins_again():
    """Every change is one, whatever was spoken of before."""
    talked = turns(BREAD, HARBOUR, BREAD)
    assert [9, 17] == found(talked)


def test_one_subject_in_many_phrasings_is_one():
    """A stretch of talk about the same things is not cut."""
    assert [] == found(turns(BREAD))
    assert [] == found(turns(HARBOUR))
    assert [] == found(turns(BREAD, [(b, a) for a, b in BREAD]))


def test_how_a_turn_opens_counts():
    """Who greets, or says that it is another question, begins something, unless the words say otherwise."""
    short = [*BREAD[:4], ("By the way, where is my umbrella?", "Beside the door."), *BREAD[4:]]
    talked = turns(short)
    assert [5] == found(talked)
    assert [] == [talked[at].number for at in by_words(talked, WINDOW, openings=False)]
    greeted = [*BREAD[:4], (f"Hi! {BREAD[3][0]}", BREAD[3][1]), *BREAD[4:]]
    assert [] == found(turns(greeted))


def test_short_answers_and_empty_turns_begin_nothing():
    """Where there are no words there is no change."""
    nods = [("yes", "Done."), ("ok", ""), ("", ""), ("go on", "Done."), ("\U0001f44d", "")] * 4
    assert [] == found(turns(nods))
    assert [] == found(turns(BREAD[:4], nods[:3], BREAD[4:]))
    assert [] == found([])
    assert [] == found(turns([("", "")]))


def test_tool_output_and_code_are_not_what_is_spoken_of():
    """Of a turn the question and the last answer are read: a log in between changes no subject."""
    log = "\n".join(f"ERROR worker-{n} socket closed by peer, retrying in {n} s" for n in range(50))
    code = "```python\nfor item in queue:\n    await handler(item)\n```"
    rows, numbers = [], []
    for number, (asked, answered) in enumerate(BREAD, 1):
        turn = [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": code if number % 2 else None, "tool_calls": []},
            {"role": "tool", "tool_call_id": "x", "content": log if number % 3 else ""},
            {"role": "assistant", "content": [{"type": "text", "text": answered}]},
        ]
        rows += turn
        numbers += [number] * len(turn)
    read = turns_of(entries(rows, numbers), dict(enumerate(rows)))
    assert turns(BREAD) == read
    assert [] == found(read)


def test_of_a_long_message_the_ends_are_read():
    """A pasted book costs no more than a question."""
    rows = [{"role": "user", "content": f"Look: {'word ' * 99_999}and what is it?"}]
    (read,) = turns_of(entries(rows, [1]), {0: rows[0]})
    assert read.asked.startswith("Look: word")
    assert read.asked.endswith("and what is it?")
    assert len(read.asked) < 500


def test_a_change_is_described_by_key_words():
    """What was spoken of and what is, without secrets."""
    talked = turns(BREAD, HARBOUR)
    drift = described(talked, 8, WINDOW)
    assert 9 == drift.turn
    assert {"starter", "loaf", "oven"} & set(drift.before)
    assert {"relay", "beacon", "cable", "signal"} >= set(drift.after)
    assert not set(drift.before) & set(drift.after)
    masked = described(talked, 8, WINDOW, lambda text: text.replace("signal", "***"))
    assert "signal" not in masked.after


words = st.sampled_from("tide lamp crew relay flour starter oven loaf hello".split())  # noqa: SIM905
texts = st.lists(words, min_size=4, max_size=8, unique=True).map(" ".join)
conversations = st.lists(st.tuples(texts, texts), min_size=2, max_size=60)


@settings(max_examples=300, deadline=None)
@given(conversations, st.integers(1, 14), st.integers(0, 40), st.integers(0, 40))
def test_what_is_far_away_has_no_say(pairs, window, skipped, left):
    """A change depends on a window of turns before and behind it: growth and an earlier start move none."""
    talked = turns(pairs)
    part = talked[skipped : max(len(talked) - left, skipped)]
    reach = window + 1
    inner = {turn.number for turn in part[reach : max(len(part) - reach, 0)]}
    assert inner & set(found(part, window)) == inner & set(found(talked, window))


# leaves


def entries(rows, numbers, tokens=None):
    """What a store keeps of *rows*, which belong to the turns *numbers*."""
    sizes = tokens or [100] * len(rows)
    return [
        Entry(at, at + 1, str(at), row["role"], number, b"", b"", 1, sizes[at])
        for at, (row, number) in enumerate(zip(rows, numbers, strict=True))
    ]


def cut(sizes, seams, most):
    """Turn numbers of each leaf; every turn has one message, of these sizes."""
    rows = [{"role": "user", "content": "x"}] * len(sizes)
    items = [Item(entry=each) for each in entries(rows, range(1, len(sizes) + 1), sizes)]
    groups = leaves(items, rows, most, seams)
    assert items == [item for group in groups for item in group]
    return [[item.first_turn for item in group] for group in groups]


def test_a_leaf_ends_where_the_subject_changes():
    """And inside a subject that is too large for one, as without subjects."""
    assert [[1, 2, 3], [4, 5, 6]] == cut([200] * 6, {4}, 1000)
    assert [[1, 2, 3, 4, 5]] == cut([100] * 5, (), 1000)
    assert [[1, 2, 3, 4], [5, 6], [7, 8, 9]] == cut([250] * 9, {7}, 1000)
    assert [[1, 2, 3, 4, 5], [6, 7, 8]] == cut([250, 250, 250, 250, 100, 250, 250, 250], {6}, 1000)
    assert [[1, 2, 3, 4], [5, 6, 7]] == cut([250] * 7, {3, 5}, 1100)


def test_too_little_for_a_leaf_joins_its_neighbour():
    """The next subject, and at the end of the run the one before."""
    assert [[1, 2, 3, 4]] == cut([100, 100, 100, 100], {2, 3}, 1000)
    assert [[1, 2, 3], [4, 5, 6]] == cut([200] * 6, {2, 4}, 1000)
    assert [[1, 2, 3, 4]] == cut([300, 300, 300, 300], {4}, 1000)


sizes_of_turns = st.lists(st.integers(1, 900), min_size=1, max_size=40)


@settings(max_examples=300, deadline=None)
@given(sizes_of_turns, st.sets(st.integers(2, 40)), st.integers(1, 30))
def test_a_run_that_grows_keeps_its_leaves(sizes, seams, left):
    """All but the last two stay as they are, so that their nodes are found again."""
    shorter = cut(sizes[: max(len(sizes) - left, 1)], seams, 1000)
    longer = cut(sizes, seams, 1000)
    assert shorter[:-2] == longer[: max(len(shorter) - 2, 0)]


@settings(max_examples=300, deadline=None)
@given(sizes_of_turns, st.sets(st.integers(2, 40)))
def test_only_little_is_carried_over_a_change(sizes, seams):
    """Less than half a leaf stands on one side of a change that a leaf reaches over."""
    for leaf in cut(sizes, seams, 1000):
        for turn in seams & set(leaf[1:]):
            before = sum(sizes[number - 1] for number in range(leaf[0], turn))
            assert before < 500 or sum(sizes[turn - 1 :]) < 500


# by a model


class Scripted:
    """A model that says what it is told to, one answer a call, the last one for ever."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, request):
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def numbers(*turn_numbers):
    return json.dumps({"new_subject": turn_numbers})


def judged(model, talked=None, clean=str, **kw):
    """The seams that a model tells, of 24 turns in blocks of ten."""
    talked = talked or turns(BREAD, HARBOUR, BREAD)
    return Subjects(talked, WINDOW, Judge(model, **kw), clean).seams


BY_WORDS = {9, 17}


def test_a_model_that_is_set_tells_the_changes():
    """Block by block, each shown once, one line a turn; the block that may still grow is left to the words."""
    model = Scripted(f"<think>turn 4?</think>Here: {numbers(4)}", numbers(12))
    assert {4, 12} == judged(model)
    assert [tuple(range(2, 10)), tuple(range(10, 20))] == [each.judged for each in model.asked]
    assert [1, 9] == [each.lines[0][0] for each in model.asked]
    first = model.asked[0]
    assert first.lines[0][1] == " -> ".join(BREAD[0])
    assert all("\n" not in line for _, line in first.lines)
    user = drift_messages(first)[1]["content"]
    assert "Turns to judge: 2 to 9." in user
    assert "\n5: Does salt slow the starter down? -> Yes" in user


def test_a_change_at_the_end_is_told_by_words():
    """As the last block would be judged otherwise once it is whole."""
    assert {17} == judged(Scripted(numbers()), turns(BREAD, BREAD[::-1], HARBOUR)[:19])


@pytest.mark.parametrize(
    "answer",
    [
        ConnectionError("sk-secret"),
        TimeoutError(),
        "",
        "Sure! The subject changes a lot.",
        '{"new_subject": "all"}',
        '{"new_subject": [true]}',
        '{"new_subject": [4.5]}',
        '{"new_subject": [4',
        '{"other": []}',
        numbers(99),
        numbers(*range(2, 10)),
        Reply(numbers(4), finish_reason="length"),
        Reply(None, refusal="no"),
        Reply(None),
        None,
        7,
        "[" * 100_000,
    ],
    ids=repr,
)
def test_a_model_that_tells_nothing_leaves_it_to_the_words(answer, caplog):
    """It failed, or what it says cannot be meant: that is logged and counted, and never raised."""
    breaker = Breaker()
    assert judged(Scripted(answer), breaker=breaker) == BY_WORDS
    assert "the words tell the subjects" in caplog.text
    assert "sk-secret" not in caplog.text
    for _ in range(2):
        judged(Scripted(answer), breaker=breaker)
    assert breaker.rests() > 0


def test_a_model_that_rests_or_has_no_time_is_not_asked():
    """A turn does not wait for it."""
    model = Scripted(numbers(4))
    breaker = Breaker()
    for _ in range(4):
        breaker.note("it failed")
    assert BY_WORDS == judged(model, breaker=breaker) == judged(model, seconds=0.0)
    assert [] == model.asked


def test_a_pass_that_is_repeated_asks_nobody_again():
    """What was found is remembered, a failure too: the same messages are cut alike."""
    known = {}
    first = Scripted(numbers(4), ConnectionError())
    assert {4, 17} == judged(first, known=known)
    second = Scripted(numbers(7))
    assert {4, 17} == judged(second, known=known)
    assert [] == second.asked


def test_a_long_past_is_a_bounded_number_of_calls():
    """The words tell the rest."""
    model = Scripted(numbers())
    talked = turns(*[BREAD, HARBOUR] * 20)
    seams = judged(model, talked)
    assert 12 == len(model.asked)
    assert min(seams) >= 120
    assert seams == {n for n in found(talked) if n >= 120}


def test_a_model_is_shown_no_secret():
    """The lines are without what is masked or was forgotten."""
    model = Scripted(numbers())
    judged(model, clean=lambda text: text.replace("starter", "[secret]"))
    shown = "\n".join(line for each in model.asked for _, line in each.lines)
    assert "starter" not in shown
    assert "[secret]" in shown


def test_a_cancelled_call_passes_through():
    """What is no Exception is the host's to handle."""

    class Cancelled(BaseException):
        pass

    with pytest.raises(Cancelled):
        judged(Scripted(Cancelled()))


# a pass


def rows_of(*subjects):
    """Messages of about a hundred tokens a turn."""
    return [
        row
        for subject in subjects
        for asked, answered in subject
        for row in (
            {"role": "user", "content": asked},
            {"role": "assistant", "content": f"{answered} {'(and so on) ' * 30}{answered}"},
        )
    ]


def spans(engine):
    """First and last turn of each leaf."""
    outline = json.loads(engine.handle_tool_call("lcm_describe", {"depth": 3}))
    return [tuple(node["turns"]) for node in outline["nodes"]]


@pytest.fixture
def engine(tmp_path):
    made = LCMEngine(
        8000,
        db_path=tmp_path / "lcm.db",
        settings={"leaf_tokens": 1500, "fresh_tail_tokens": 300, "condense_fanin": 9},
        summarizer=lambda request: "It was said.",
    )
    made.on_session_start("s")
    yield made
    made.close()


def test_leaves_of_a_pass_end_where_the_subject_does(engine, caplog):
    """Through the engine: three subjects, three leaves, though two would have held them."""
    caplog.set_level("INFO")
    rows = rows_of(BREAD, HARBOUR, BREAD, HARBOUR[:3])
    assert len(engine.compress(rows, force=True)) < len(rows)
    assert [(1, 8), (9, 16)] == spans(engine)[:2]
    told = re.findall(r"the subject changed at turn (\d+): from ([a-z, ]+) to", caplog.text)
    assert ["9", "17"] == [turn for turn, _ in told]
    assert {"relay", "beacon", "signal", "cable"} >= set(told[1][1].split(", "))


def test_a_pass_that_was_thrown_away_is_used_when_there_is_more(engine):
    """The host discarded the first result and the talk went on: of what was summarised nothing is asked again."""
    calls = []
    engine._summarizer = lambda request: calls.append(request.text) or "It was said."
    rows = rows_of(BREAD, HARBOUR, BROT, HAFEN)
    engine.compress(rows, force=True)
    made = spans(engine)
    assert [(1, 8), (9, 16)] == made[:2]
    before = len(calls)
    engine.compress([*rows, *rows_of(MIANBAO, GANGKOU)], force=True)
    more = spans(engine)
    assert made == more[: len(made)]
    assert len(calls) - before == len(more) - len(made) > 0


def test_an_outcome_tells_of_the_changes(engine):
    """Of what was compacted, not of what stays: for whoever shows an event."""
    from lcm.dag.compact import PassRequest, compact

    rows = rows_of(BREAD, HARBOUR, BREAD)
    ledger, binding = engine._attachment.bind(rows, "s")
    request = PassRequest(engine.settings, 8000, 6000, None, force=True, stamp=False)
    outcome = compact(ledger.store, ledger.session.line, binding, request)
    assert outcome.frame.last_turn < 24
    told = [drift for drift in outcome.drifts if isinstance(drift, Drift)]
    assert [9, 17] == [drift.turn for drift in told]
    assert "relay" in {*told[0].after, *told[1].before}
