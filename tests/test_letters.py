"""Letters, as the index and Python take them, told to a page in few numbers: all of Unicode."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from browsing import browsing
from lcm.console.letters import alike, as_runs, caseless, of_index
from lcm.storage import fts_search
from lcm.tools.patterns import exactly

ASSETS = Path(__file__).resolve().parent.parent / "console" / "assets"
EVERY = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
CASED = [each for each in EVERY if {each.lower(), each.upper(), each.casefold()} != {each}]


@pytest.fixture(scope="module")
def ask():
    """Asks the scripts of the page."""
    text = (ASSETS / "words.js").read_text(encoding="utf-8")
    with browsing() as open_page:
        page = open_page("about:blank", ready="true").page
        yield lambda expression, *values: page.evaluate(
            f"(values) => {{ {text}\n return ({expression})(...values); }}", list(values)
        )


def test_the_index_takes_all_letters_as_is_told():
    """Whatever stands in a word: kept, made another, left out, or parting the word; no letter was forgotten."""
    asked = [each for each in EVERY[0x80:] if unicodedata.category(each) not in ("Cn", "Co")]
    told = of_index()
    found = fts_search.letters(asked)
    assert {each: made for each, made in found.items() if told.get(each, each) != made} == {}
    assert len({each for each in told if each in found}) > 7_000


def test_runs_say_the_same(ask):
    """What the page makes of the runs is what they were made of; all of Unicode is told in 20,000 signs."""
    for told in (of_index(), caseless()):
        runs = as_runs(told)
        back = ask("(runs) => JSON.stringify([...lettersOf(runs)])", runs)
        assert dict(json.loads(back)) == dict(told)
        assert len(json.dumps(runs, separators=(",", ":"))) < 10_000


def test_the_page_folds_case_as_an_exact_search_does(ask):
    """Every letter of Unicode, by itself and with an accent, is found by whatever finds it for the agent."""
    texts = [each + mark for each in [*CASED, "ß", "日"] for mark in ("", "\u0307")]
    plain = ask(
        "(runs, texts) => { const plain = plainOf(runs); return texts.map((each) => plain(each)); }",
        as_runs(caseless()),
        texts,
    )
    assert [
        (text, told)
        for text, told in zip(texts, plain, strict=True)
        if told != unicodedata.normalize("NFC", text).casefold()
    ] == []
    assert exactly("FINE")("the \ufb01ne print") >= 0 <= exactly("\u017fo")("so")


def test_patterns_that_know_no_case_take_the_same_letters(ask):
    """What a pattern of Python finds in all letters that have a case, the page finds, for each of them."""
    text = "".join(CASED)
    found = ask(
        "(letters, text) => letters.map((each) => text.match(new RegExp(inAnyCase(each), 'giu')).join(''))",
        CASED,
        text,
    )
    few = CASED[::17] + list("iIkKsS\u0130\u0131\u017f\u212aß")
    told = dict(zip(CASED, found, strict=True))
    for each in few:
        assert "".join(re.findall(each, text, re.IGNORECASE)) == told[each], each
    assert {each for each in CASED if set(alike(each)) != set(told[each])} == set()
