"""What is sent where the host's list does not fit: nothing of ours while it does."""

from __future__ import annotations

import copy
import json
import random
import re
import time

import pytest
from lcm import LCMEngine
from lcm.dag.tokens import count_message
from lcm.dag.validity import new_faults

WINDOW = 16_000
SYSTEM = {"role": "system", "content": "You are an agent. " * 40}
NAME = re.compile(r"\[lcm ([0-9a-f]{8})\]")


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def step(number, result, calls=1):
    ids = [f"c{number}-{n}" for n in range(calls)]
    asked = [
        {"id": each, "type": "function", "function": {"name": "read", "arguments": "{}"}}
        for each in ids
    ]
    return [
        {"role": "assistant", "content": "", "tool_calls": asked},
        *({"role": "tool", "tool_call_id": each, "content": result} for each in ids),
    ]


def talk(turns, words=60, first=1):
    return [
        row
        for n in range(first, first + turns)
        for row in (
            user(f"question {n} " + f"why{n} " * words),
            said(f"answer {n} " + f"for{n} " * words),
        )
    ]


def tokens(rows):
    return sum(map(count_message, rows))


@pytest.fixture
def engine(tmp_path):
    """An engine on a session, whose summariser must not be asked."""

    def never(request):
        raise AssertionError("a model was asked")

    engine = LCMEngine(WINDOW, db_path=tmp_path / "lcm.db", settings={}, summarizer=never)
    engine.on_session_start("s")
    yield engine
    assert [] == engine._failures.recent()
    engine.close()


def select(engine, conversation, request=None):
    """What the newer host gets: the request has a system row, and no notes of the host."""
    request = request or [SYSTEM, *(bare(row) for row in conversation)]
    return engine.select_context(
        copy.deepcopy(request),
        conversation_messages=copy.deepcopy(conversation),
        incoming_message=conversation[-1],
        budget_tokens=WINDOW,
    )


def bare(row):
    return {name: value for name, value in row.items() if name != "message_uid" and name[0] != "_"}


HUGE = "row of a log with words in it 12345\n" * 30_000

CASES = {
    "one huge result in the newest turn": [*talk(3), user("read it"), *step(1, HUGE)],
    "one huge result, answered long ago": [*talk(2), user("read it"), *step(1, HUGE), said("done"), *talk(3, first=9)],
    "300 parallel calls": [user("read all"), *step(1, "some lines of text " * 30, calls=300)],
    "a long talk without tools": talk(200),
    "a newest message larger than the window": [*talk(2), user(HUGE)],
    "only one message": [user(HUGE)],
    "a turn of many steps": [*talk(2), user("go on"), *(row for n in range(150) for row in step(n, "found it " * 60))],
    "only tool rows": [row for n in range(2) for row in step(n, HUGE)[1:]],
    "a list that starts with a result": [*step(1, HUGE)[1:], *talk(3)],
    "an old huge answer": [user("write it"), said(HUGE), *talk(5, first=5)],
    "emoji and Han": [user("\u6f22\U0001f600" * 20_000), said("ok"), *talk(3, first=4)],
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_fit_is_made_to_fit(engine, case):
    """Valid, within the window, the same each time; the input is as it was; no model was asked."""
    rows = CASES[case]
    before = copy.deepcopy(rows)
    made = select(engine, rows)
    assert made is not None
    assert tokens(made) <= engine.threshold_tokens
    assert [] == new_faults([SYSTEM, *rows], made)
    assert SYSTEM == made[0]
    assert made == select(engine, rows)
    assert before == rows


@pytest.mark.parametrize("case", CASES)
def test_every_name_can_be_opened(engine, case):
    """What a list names is in the store before it is shown, word for word; nothing is lost."""
    rows = CASES[case]
    made = select(engine, rows)
    names = set(NAME.findall(json.dumps(made)))
    left = [
        row for row in rows if row["content"] and row["content"] not in {m["content"] for m in made}
    ]
    assert bool(left) == bool(names)
    for name in names:
        opened = json.loads(engine.handle_tool_call("lcm_expand", {"uid": name, "detail": "raw"}))
        assert "error" not in opened
        assert opened["messages"]
    assert len(rows) == engine.ingest(rows).known


def test_none_while_it_fits(engine):
    """A request that fits goes as it is."""
    assert select(engine, talk(3)) is None
    assert 0 == engine.get_status()["shortened_requests"]


def test_the_providers_count_decides(engine):
    """Ours alone says that it fits; the provider counted the last request, and rows were added since."""
    rows = talk(10)
    assert select(engine, rows) is None
    engine.update_from_response({"prompt_tokens": WINDOW - 3000})
    assert select(engine, [*rows, *talk(1, first=11)]) is None
    assert select(engine, [*rows, *talk(8, words=200, first=11)]) is not None


def test_the_providers_count_before_any_request(engine):
    """A process that begins with a full conversation believes the first count it hears of."""
    rows = talk(25)
    engine.update_from_response({"prompt_tokens": WINDOW - 100})
    made = select(engine, rows)
    assert tokens(made) <= WINDOW // 4 < tokens(rows)


def test_it_is_fast_while_it_fits(engine):
    """300 rows, as the provider counted them, and a new one: below 100 microseconds here, tested with room."""
    rows = [SYSTEM, *talk(150, words=2)]
    engine.select_context(rows, conversation_messages=rows[1:], budget_tokens=10**6)
    engine.update_from_response({"prompt_tokens": 9000})
    taken = []
    for n in range(200):
        rows = [*rows, user(f"and {n}")]
        start = time.perf_counter()
        made = engine.select_context(rows, conversation_messages=rows, budget_tokens=10**6)
        taken.append(time.perf_counter() - start)
        assert made is None
    assert sorted(taken)[100] < 0.001


def test_the_next_requests_begin_alike(engine):
    """While the cut stands, a longer conversation's request begins with the one before: a cache knows it."""
    rows = talk(120)
    same = 0
    last = None
    for n in range(40):
        rows = [*rows, *talk(1, first=200 + n)]
        made = select(engine, rows)
        same += last is not None and made[: len(last)] == last
        last = made
    assert same >= 33


def test_a_summary_row_stays_as_it_is(tmp_path):
    """What was compacted already is shown in the same words; the rest of the past behind it."""
    engine = LCMEngine(WINDOW, db_path=tmp_path / "lcm.db", settings={})
    engine.on_session_start("s")
    rows = engine.compress(talk(90), current_tokens=15_000)
    summary = rows[0]["content"]
    rows = [*rows, *talk(100, first=100)]
    made = select(engine, rows)
    assert made[1]["content"].startswith(summary)
    assert tokens(made) <= engine.threshold_tokens
    assert [] == new_faults(rows, made)
    engine.close()


def test_a_window_that_shrank_shows_the_summary_coarser(tmp_path):
    """A summary row that was made for a larger window gets its share of the new one."""
    engine = LCMEngine(200_000, db_path=tmp_path / "lcm.db", settings={"target": 0.7})
    engine.on_session_start("s")
    rows = engine.compress(talk(900, words=90), current_tokens=190_000)
    assert count_message(rows[0]) > 4000
    engine.update_model("small", WINDOW)
    made = select(engine, rows)
    assert tokens(made) <= engine.threshold_tokens
    for name in NAME.findall(made[1]["content"]):
        assert "error" not in json.loads(engine.handle_tool_call("lcm_describe", {"uid": name}))
    engine.close()


def test_a_list_for_one_request_is_not_the_hosts_list(engine):
    """What the engine knows of the conversation comes from the conversation."""
    rows = talk(200)
    made = select(engine, rows)
    assert len(rows) == engine.ingest(rows).known
    status = json.loads(engine.handle_tool_call("lcm_status", {}))
    assert (len(rows), 0, 0) == (
        status["messages"],
        status["earlier_versions"],
        status["degraded_nodes"],
    )
    assert not any(name[0] == "_" for row in made for name in row)


def test_what_the_host_puts_into_a_request_stays(engine):
    """Prefill rows and words injected for this request are sent; names are those of the conversation."""
    rows = talk(200)
    prefill = [user("Speak like this."), said("Like this.")]
    request = [SYSTEM, *prefill, *(dict(row) for row in rows)]
    request[-2]["content"] += "\n\n<memory>likes tea</memory>"
    made = select(engine, rows, request)
    assert [SYSTEM, *prefill] == made[:3]
    assert "<memory>likes tea</memory>" in made[-2]["content"]
    assert len(rows) == engine.ingest(rows).known


def test_rows_that_a_host_left_out(engine):
    """Where request and conversation differ, the conversation is sent."""
    rows = talk(200)
    made = select(engine, rows, [SYSTEM, *rows[4:50], *rows[60:]])
    assert SYSTEM == made[0]
    assert tokens(made) <= engine.threshold_tokens


def test_then_the_host_is_asked_to_compact(engine):
    """A provider that counted our list says little; the engine knows how large the conversation is."""
    rows = talk(200)
    made = select(engine, rows)
    engine.update_from_response({"prompt_tokens": tokens(made)})
    assert (True, None) == engine.should_compress_info(tokens(made))
    assert engine.should_compress_preflight(rows)
    assert "shortened" in engine.get_status()["problems"][0]


def test_after_a_compaction_it_fits_again(tmp_path):
    """The pass that comes finds its sources untouched, and asks its model."""
    asked = []

    def summarizer(request):
        asked.append(request)
        return "In short, they spoke."

    engine = LCMEngine(WINDOW, db_path=tmp_path / "lcm.db", settings={}, summarizer=summarizer)
    engine.on_session_start("s")
    rows = talk(200)
    assert select(engine, rows)
    assert not asked
    rows = engine.compress(rows, current_tokens=9000)
    assert asked
    assert select(engine, rows) is None
    assert not engine.should_compress(5000)
    assert 0 == json.loads(engine.handle_tool_call("lcm_status", {}))["degraded_nodes"]
    engine.close()


def test_prepared_nodes_are_shown(tmp_path):
    """A node that no row shows yet stands for its messages, in place of their names."""
    engine = LCMEngine(
        WINDOW, db_path=tmp_path / "lcm.db", settings={}, summarizer=lambda _: "They spoke of it."
    )
    engine.on_session_start("s")
    rows = talk(200)
    engine.compress(list(rows), current_tokens=30_000)  # thrown away by its host
    made = select(engine, rows)
    assert "They spoke of it." in made[1]["content"]
    assert tokens(made) <= engine.threshold_tokens
    engine.close()


def test_no_session_and_a_store_that_fails(tmp_path):
    """Without a session nothing is done; where nothing can be stored, nothing is named."""
    engine = LCMEngine(WINDOW, db_path=tmp_path / "lcm.db", settings={})
    assert engine.select_context(talk(200), conversation_messages=talk(200)) is None
    (tmp_path / "no.db").mkdir()
    engine = LCMEngine(WINDOW, db_path=tmp_path / "no.db", settings={})
    engine.on_session_start("s")
    assert select(engine, talk(200)) is None
    assert "select_context" in engine.get_status()["problems"][-1]
    engine.close()


@pytest.mark.parametrize(
    "odd",
    [None, 7, {"role": 3}, {"content": object()}],
    ids=["nothing", "a number", "a role", "an object"],
)
def test_odd_rows_reach_no_host(tmp_path, odd):
    """Whatever stands in a list, the answer is a list or None."""
    engine = LCMEngine(WINDOW, db_path=tmp_path / "lcm.db", settings={})
    engine.on_session_start("s")
    rows = [*talk(200), odd]
    made = engine.select_context(rows, conversation_messages=rows, budget_tokens=WINDOW)
    assert made is None or isinstance(made, list)
    engine.close()


def anything(dice, count, first):
    """Rows of all kinds: pictures, parallel calls under one id, calls without a result, the same role twice."""
    rows = []
    for n in range(first, first + count):
        text = f"question {n} " + "word " * dice.choice([3, 30, 200, 2000])
        picture = {"type": "image_url", "image_url": {"url": "data:x"}}
        odd = dice.random() < 0.08
        rows.append(user([{"type": "text", "text": text}, picture] if odd else text))
        for s in range(dice.choice([0, 0, 1, 3])):
            steps = step(
                f"{n}{s}", f"found {n} " + "more " * dice.choice([5, 50, 5000]), dice.choice([1, 4])
            )
            rows += steps if dice.random() < 0.9 else steps[:-1]
        if dice.random() < 0.9:
            rows.append(said(f"answer {n} " + "so " * dice.choice([3, 60, 300])))
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_any_list_is_made_to_fit(tmp_path, seed):
    """Whatever was said, compacted and left as it is: valid, within the room, and each name opens."""
    dice = random.Random(seed)
    window = dice.choice([3000, 8000, WINDOW])
    engine = LCMEngine(window, db_path=tmp_path / "lcm.db", settings={})
    engine.on_session_start("s")
    rows = anything(dice, dice.choice([2, 8, 30]), 0)
    for number in range(1, 4):
        request = [SYSTEM, *(bare(row) for row in rows)]
        made = engine.select_context(
            copy.deepcopy(request), conversation_messages=rows, budget_tokens=window
        )
        if made is not None:
            assert [] == new_faults(request, made)
            assert tokens(made) <= engine.threshold_tokens
            for name in set(NAME.findall(json.dumps(made))):
                assert "error" not in json.loads(
                    engine.handle_tool_call("lcm_expand", {"uid": name})
                )
        else:
            assert tokens(request) <= window
        if dice.random() < 0.5:
            rows = list(engine.compress(rows, current_tokens=tokens(request)))
        rows = [*rows, *anything(dice, dice.choice([1, 3, 12]), 1000 * number)]
    assert [] == engine._failures.recent()
    engine.close()


@pytest.mark.parametrize(("share", "over"), [(0.6, False), (1.1, True)])
def test_the_list_is_measured_as_its_provider_counts(engine, share, over):
    """Where a provider counts the same rows as fewer, a list that only we find too large is left for later."""
    threshold = engine.threshold_tokens
    rows = talk(turns=1)
    while tokens(rows) < threshold * 0.5:
        rows += talk(1, first=len(rows))
    request = [SYSTEM, *rows]
    assert engine.select_context(request, conversation_messages=rows, budget_tokens=WINDOW) is None
    assert not engine.should_compress_preflight(rows)
    engine.update_from_response({"prompt_tokens": int(tokens(request) * share)})
    while tokens(rows) < threshold * 1.1:
        rows += talk(1, first=len(rows))
    assert over is engine.should_compress_preflight(rows)
    while tokens(rows) * share < threshold * 1.1:
        rows += talk(1, first=len(rows))
    assert engine.should_compress_preflight(rows)
