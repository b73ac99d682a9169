"""The token estimate: figures, the host's own estimate as a floor, and cuts that part nothing."""

from __future__ import annotations

import importlib
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lcm.dag.tokens import (
    IMAGE_TOKENS,
    clip,
    count_message,
    count_messages,
    count_text,
    head,
    tail,
)

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"
DATA_URL = "data:image/png;base64," + "iVBORw0KGgo" * 100_000

#: Any code point at all, lone surrogates among them.
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)
TRICKY = st.lists(
    st.sampled_from(
        ["a", " ", ".", "\n", "\u6f22", "\ud55c", FAMILY, FLAG, "e\u0301", "\u0928\u093f"]
    ),
    max_size=40,
).map("".join)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
PART = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": ANY_TEXT}),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["image", "image_url", "input_image"]),
            "image_url": st.just({"url": "data:image/png;base64,AAAA"}),
        }
    ),
    ANY_TEXT,
    JSON.filter(lambda part: not isinstance(part, dict) or isinstance(part.get("type"), str)),
)
CALL = st.fixed_dictionaries(
    {"id": ANY_TEXT, "function": st.fixed_dictionaries({"name": ANY_TEXT, "arguments": ANY_TEXT})}
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
    optional={
        "content": st.none()
        | ANY_TEXT
        | st.lists(PART, max_size=3)
        | st.fixed_dictionaries(
            {
                "_multimodal": st.just(value=True),
                "content": st.lists(PART, max_size=2),
                "text_summary": ANY_TEXT,
            }
        ),
        "tool_calls": st.lists(CALL, max_size=2),
        "reasoning": ANY_TEXT,
        "reasoning_content": ANY_TEXT,
        "api_content": ANY_TEXT,
        "message_uid": ANY_TEXT,
        "_anthropic_content_blocks": st.lists(PART, max_size=2),
        "codex_reasoning_items": st.lists(st.just({"encrypted_content": "xyz"}), max_size=2),
        "output": st.lists(PART, max_size=2),
        "odd": JSON,
    },
)


@pytest.fixture(scope="module")
def host() -> Any:
    """The host's own estimators, where a host is installed."""
    try:
        return importlib.import_module("agent.model_metadata")
    except ImportError:
        pytest.skip("Hermes is not installed here: its estimate cannot be compared")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("fives", 2),
        ("\u6f22\u5b57", 2),  # Han
        ("\u3072\u3089", 2),  # kana
        ("\ud55c\uad6d", 2),  # Hangul
        ("\u041f\u0440\u0438\u0432\u0435\u0442", 3),  # Cyrillic, two bytes a letter
        ("\U0001f600", 2),
        ("ab\u6f22cd", 2),
        ("\ud800", 1),  # half a surrogate pair
        ("\x00" * 8, 2),
    ],
)
def test_a_text_costs_what_its_script_costs(text, tokens):
    """Four ASCII characters, four other bytes, one Han, kana or Hangul, half an emoji: a token."""
    assert count_text(text) == tokens


def test_a_message_counts_calls_arguments_and_reasoning():
    """TOK-03: What is not in the content is sent all the same, so it costs."""
    bare = count_message({"role": "assistant", "content": ""})
    for extra in (
        {"tool_calls": [{"function": {"name": "run", "arguments": "x" * 50_000}}]},
        {"tool_calls": [{"function": {"name": "n" * 50_000, "arguments": ""}}]},
        {"reasoning_content": "x" * 50_000},
        {"reasoning": "x" * 50_000},
    ):
        assert count_message({"role": "assistant", "content": "", **extra}) >= bare + 12_500


@pytest.mark.parametrize("kind", ["image", "image_url", "input_image"])
def test_an_image_costs_a_flat_price(kind):
    """TOK-04: A megabyte of base64 costs what an image costs, not what its letters would."""
    parts = [{"type": "text", "text": "look"}, {"type": kind, "image_url": {"url": DATA_URL}}]
    message = {"role": "user", "content": parts}
    assert IMAGE_TOKENS < count_message(message) < IMAGE_TOKENS + 60
    assert count_message(message, image_tokens=64) == count_message(message) - IMAGE_TOKENS + 64


def test_a_stashed_copy_of_the_content_is_not_text():
    """An image in the host's ordered copy costs its price, its bytes nothing."""
    blocks = [{"type": "image", "source": {"data": DATA_URL}}]
    message = {"role": "tool", "content": "seen", "_anthropic_content_blocks": blocks}
    assert IMAGE_TOKENS < count_message(message) < IMAGE_TOKENS + 60


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"content": "deep"}
    for _ in range(depth):
        value = {"content": "deep", "in": value}
    return value


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": b"\xff\x00"},
        {"role": "user", "content": 7},
        {"role": "user", "content": [None, 3, b"x", "text", ["list"], {"type": ["odd"]}]},
        {"role": "user", "content": {"_multimodal": True, "content": "no list"}},
        {"role": "tool", "content": "\ud83d alone"},
        {"role": "tool", "content": 10**5000},
        nested(100_000),
        None,
        "a row that is text",
        17,
    ],
    ids=lambda row: type(row).__name__,
)
def test_every_row_gets_a_number(row):
    """Rows no API would send are counted, never refused."""
    assert count_message(row) > 0
    assert count_messages([row, row]) == 2 * count_message(row)


@settings(deadline=None)
@given(ANY_TEXT)
def test_a_text_never_costs_less_than_the_host_says(host, text):
    """The host's estimate is the floor, or it would compact before we notice."""
    assert count_text(text) >= host.estimate_tokens_rough(text)


@settings(deadline=None)
@given(st.lists(MESSAGE, max_size=4))
@example([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}])
def test_a_list_never_costs_less_than_the_host_says(host, messages):
    """The floor holds message by message, and so for every part of every list."""
    assert count_messages(messages) >= host.estimate_messages_tokens_rough(messages)
    for message in messages:
        assert count_message(message) >= host.estimate_messages_tokens_rough([message])


@settings(deadline=None)
@given(
    st.text(alphabet="a \n\t\r\0\x1f\x7f~'\"\\\u00e9", max_size=40),
    st.sampled_from(["user", "\u00e9"]),
)
def test_a_long_message_is_measured_as_it_is_printed(part, name):
    """Long contents are not printed for it; quotes, breaks and control characters cost what they take."""
    message = {"role": "user", "content": f"{part * 10}{'x' * 100}", "name": name}
    assert count_message(message) == count_text(repr(message))


def whole_characters(text: str, part: str) -> bool:
    """No family, flag or accented letter of *text* is parted at the edges of *part*."""
    return all(
        part.count(sign[-1]) == part.count(sign) == part.count(sign[0])
        for sign in (FAMILY, FLAG, "e\u0301", "\u0928\u093f")
    )


@settings(deadline=None)
@given(TRICKY, st.integers(min_value=-1, max_value=30))
@example(FAMILY * 5, 9)
@example(FLAG * 9, 7)
def test_a_cut_is_verbatim_within_budget_and_parts_no_character(text, budget):
    """Head and tail are the text itself; what a reader sees as one character stays one."""
    for part, kept in ((head(text, budget), text.startswith), (tail(text, budget), text.endswith)):
        assert kept(part)
        assert count_text(part) <= max(budget, 0)
        assert whole_characters(text, part)
    if count_text(text) <= budget:
        assert head(text, budget) == tail(text, budget) == text


@settings(deadline=None)
@given(ANY_TEXT, st.integers(min_value=1, max_value=30))
def test_a_clip_is_a_prefix_within_budget(text, budget):
    """A clip adds nothing, whatever the text holds."""
    part = clip(text, budget)
    assert text.startswith(part)
    assert count_text(part) <= budget


def test_head_and_tail_keep_as_much_as_fits():
    """A cut that keeps less than it could would lose text for nothing."""
    text = "abcdefgh" * 100
    assert head(text, 10) == text[:40]
    assert tail(text, 10) == text[-40:]
    assert head("\u6f22" * 100, 10) == "\u6f22" * 10
    assert tail("x\r\n" * 8, 1) == "x\r\n"


def test_a_clip_ends_at_a_sentence():
    """A reader gets whole sentences, wherever one ends in what fits."""
    assert clip("The port is 8080. It was 80 before. Nobody knows why it was", 11) == (
        "The port is 8080. It was 80 before."
    )
    assert clip("\u7aef\u53e3\u662f\u516b\u3002\u4ee5\u524d\u662f\u4e5d\u5341", 8) == (
        "\u7aef\u53e3\u662f\u516b\u3002"
    )


def test_a_clip_without_a_sentence_ends_at_a_word():
    """A number cut in the middle would be another number."""
    assert clip("the answer is 4200000 and some more of it", 5) == "the answer is"
    assert clip("x" * 100, 5) == "x" * 20


def test_a_text_that_fits_is_not_touched():
    """What fits is kept to the last space."""
    assert clip("  It fits.  \n", 10) == "  It fits.  \n"


def fastest(work: Any, rounds: int) -> float:
    """Seconds of the fastest of *rounds*: the code's cost, not the machine's other business."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def test_counting_is_fast():
    """A list of thousands is counted in every turn: little more than printing it, and no loop over characters.

    Measured beside the least that any count must do, for machines differ and are busy.
    """
    rows = [{"role": "user", "content": f"Please look at line {n} of it."} for n in range(10_000)]
    printed = fastest(lambda: [repr(row) for row in rows], 7)
    assert fastest(lambda: count_messages(rows), 7) < 4 * printed
    for text in ("\u6f22" * 333_333, "x\u6f22\U0001f600" * 125_000):
        encoded = fastest(lambda text=text: text.encode(), 5)
        assert fastest(lambda text=text: count_text(text), 5) < 25 * encoded
    assert fastest(lambda: count_text("x" * 1_000_000), 5) < 0.001
