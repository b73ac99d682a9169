"""What a text says with the escapes of JSON undone, however they were written, and where in it that stands."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcm.dag.erase import eraser, stones_of
from lcm.storage import escapes
from lcm.storage.canon import pack_text
from lcm.storage.escapes import DEEPEST, said, sources, undone

LETTERS = "abu0f\"\\/\n\t&<'é港😀"
SETTINGS = settings(max_examples=200, deadline=None)


def spelt(text, draw):
    """*text* as it may stand in a string of JSON; *draw* chooses how each character is written."""
    return "".join(one_of(letter, draw) for letter in text)


def one_of(letter, draw):
    units = memoryview(letter.encode("utf-16-le")).cast("H")
    ways = [json.dumps(letter, ensure_ascii=False)[1:-1]]
    ways += ["".join(form.format(unit) for unit in units) for form in ("\\u{:04x}", "\\u{:04X}")]
    ways += ["\\/"] if letter == "/" else []
    return draw(st.sampled_from(ways))


@SETTINGS
@given(data=st.data(), text=st.text(LETTERS, min_size=1, max_size=8), level=st.integers(1, 3))
def test_whichever_way_it_is_written_it_is_read(data, text, level):
    """A string of JSON, JSON in it, and once more: a reader of JSON gets one of the views."""
    held = text
    for _ in range(level):
        held = spelt(held, data.draw)
    if "\\u" in held or "\\/" in held:
        assert text in said(held)
        assert json.loads(f'"{held}"', strict=False) == said(held)[1]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), level=st.integers(1, 3), around=st.text("xy \n'é😀", max_size=6))
def test_a_string_goes_in_whichever_spelling(data, level, around):
    """What stands around it stays byte for byte, in its own escapes, and the JSON stays JSON."""
    needle = data.draw(st.sampled_from(["pass&word/77", 'a "quoted" café', "key 😀 \\ of\nlines"]))
    held, before, behind = needle, around, around
    for _ in range(level):
        held, before, behind = (spelt(each, data.draw) for each in (held, before, behind))
    erase = eraser(stones_of(needle, 1.0))
    assert erase(f"{before}|{held}|{behind}") == f"{before}|[forgotten]|{behind}"
    assert erase(f'{{"p":"{before}|"}}') == f'{{"p":"{before}|"}}'


@SETTINGS
@given(data=st.data(), text=st.text(LETTERS, min_size=1, max_size=12))
def test_each_place_is_found_again(data, text):
    """The source of each part of a view gives that part when its escapes are undone, and no shorter text does."""
    held = spelt(text, data.draw)
    views = undone(pack_text(held))
    if not views:
        return
    at = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(at + 1, len(text)))
    place = (len(pack_text(text[:at])), len(pack_text(text[:end])))
    ((first, last),) = sources(pack_text(held), [place])
    part = pack_text(held)[first:last].decode()
    assert json.loads(f'"{part}"', strict=False) == text[at:end]


@SETTINGS
@given(
    st.lists(
        st.sampled_from(
            [*r'\u0/"nx', "\\u", "ud83d", "\\ude00", "\\u00e9", "é", "😀", "\ud83d", "\ude00"]
        )
    ).map("".join)
)
def test_both_readers_undo_the_same(text):
    """The one that reads JSON alone, and the one that also takes what is none."""
    data = pack_text(text)
    assert escapes._once(data) == escapes._ESCAPE.sub(escapes._meant, data)


def test_what_only_looks_like_an_escape_stays():
    """Paths of Windows, half escapes, a pattern: nothing is taken from a text that does not hold it."""
    erase = eraser(stones_of("swordfish", 1.0))
    for text in (
        "C:\\users\\/new",
        "\\u12",
        "\\",
        "\\\\u",
        "\\ud83d",
        "\\ud83d\\u0041",
        "\\x41\\u0",
    ):
        assert erase(text) == text
    assert erase("C:\\users\\\\u0073wordfish") == "C:\\users[forgotten]", (
        "JSON in JSON has two backslashes"
    )


def test_two_that_overlap_are_taken_as_one():
    """Two forgotten strings of which one begins in the other."""
    erase = eraser([*stones_of("alpha&beta", 1.0), *stones_of("&beta-gamma", 1.0)])
    assert erase("x alpha\\u0026beta-gamma y") == "x [forgotten] y"
    assert erase("alpha\\u0026beta\\u0026beta-gamma") == "[forgotten][forgotten]"


@pytest.mark.parametrize(
    "part",
    ["\\u0061", "\\\\", "\\\\u0061", "\\ud83d", "\\u", "a\\n", "\\u005c", "\\ud83d\\ude00", "\\/"],
)
def test_a_hostile_text_takes_no_longer_than_its_length(part):
    """A megabyte of nothing but escapes, or beginnings of some: measured 0.01 to 0.3 s; and it goes so deep only."""
    text = part * (1_000_000 // len(part)) + "\\u0041"
    begun = time.process_time()
    assert eraser(stones_of("swordfish-77", 1.0))(text) == text
    assert time.process_time() - begun < 6
    assert len(undone(pack_text(text))) <= DEEPEST
