"""A saved page of odd messages: it finds what the agent finds, and shows each word for word."""

# ruff: noqa: RUF001 - letters that look like others are what this is about

from __future__ import annotations

import json
import random
import re
import sqlite3
import unicodedata
from contextlib import closing

import pytest
from browsing import browsing, until
from lcm.console.cli import main
from lcm.console.wording import words
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from lcm.storage.canon import decode
from lcm.storage.proof import ALTERED
from lcm.storage.text import searchable
from saved import differing, saved, searched
from talks import serving

#: Letters that are others in small, without an accent, in another form of Unicode, or to an older table.
_WORDS = (
    "harbour lamp tide relay İstanbul ISTANBUL ıstanbul istanbul ΣΟΦΟΣ σοφός ΣΟΦΟΣ18 Straße STRASSE \u1e9etraße ﬁne"
    " oﬃce ſee"
    " maſſe \u212aelvin Ǆungla ǆungla ŉever ᾳῳ ᾼΩ Ꭰꮳ ᏣᎳᎩ Ⅷ ⅷ Ⓐⓐ ٣٤ ² ½ e\u0301te\u0301 I\u0307zmir i\u0307zmir ÉCOLE"
    " k_İx"
    " k_ix İd.x/1 ıd.x/1 id.x/1 ſt.s/2 st.s/2 so\u00adft zero\u200bwidth \u0345x \ufeffbom nb\u00a0sp"
    " \x1cfs \x85nel"
    " ДОМ дом Ёлка \U00010400 \U00010428 \U0001e900 ᲐᲑᲒ აბგ 日本語 हिन्दी 🤔 fooBarBaz May auguſt \ud800x ª \ufb2a Ĳ"
)
WORDS = _WORDS.split(" ")
_TIMES = (
    " last ſunday| Apr ٣| ٣ days ago| Auguſt 5| yeſterday| two\x1cdays ago| last wee\u212a| May 5"
)
TIMES = _TIMES.split("|")
MANGLED = (
    str.upper,
    str.lower,
    str.title,
    str.swapcase,
    str.casefold,
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: unicodedata.normalize("NFKC", text),
    lambda text: text[: len(text) // 2] + text[len(text) // 2 + 1 :],
    lambda text: f'"{text}"',
)
_PANEL = "JSON.stringify(document.querySelector('#detail article pre').textContent)"
PATH = "/srv/choock/drain/vakind/lum/brom/greal.py"


@pytest.fixture(scope="module")
def browser():
    with browsing() as open_page:
        yield open_page


def kept(path, rows):
    """A conversation of *rows*."""
    with closing(open_store(path)) as store:
        Ledger(store, store.open_session("talk")).ingest(rows)
    return path


def calling(arguments, **more):
    function = {"name": "read_file", "arguments": arguments}
    calls = [{"id": "c1", "type": "function", "function": function, **more}]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def text_of(dice, many):
    return dice.choice(" \n\t").join(dice.choice(WORDS) for _ in range(many))


def generated(dice):
    """Messages of every shape, of odd words, with odd values beside them."""
    said = text_of(dice, dice.choice([1, 3, 12, 40]))
    odd = dice.choice([float("nan"), float("inf"), 10**30, -0.0, 1e300, None, "\ud800", "NaN", {}])
    shapes = [
        {"role": "user", "content": said},
        {"role": "user", "content": said},
        {"role": "assistant", "content": said, "reasoning": text_of(dice, 3)},
        {"role": "user", "content": dice.choice([None, "", [], 17, odd, [said, None, {"text": said}]])},
        calling(json.dumps({"path": PATH, "text": said}), sure=odd),
        calling(json.dumps({"path": PATH, "text": said}, ensure_ascii=False), sure=odd),
        calling({"path": PATH, "odd": odd}),
        calling(f"{{broken {said}", sure=odd),
        {"role": "tool", "content": said, "tool_call_id": dice.choice(["c1", 17, "\ud800", {"a": odd}])},
    ]  # fmt: skip
    return dice.choice(shapes)


def questions(dice, rows):
    """Parts of what was said, and words, mangled."""
    texts = [text for row in rows if (text := searchable(row)).strip()]
    parts = [
        text[at : at + dice.choice([4, 9, 25])]
        for text in texts
        for at in [dice.randrange(len(text))]
    ]
    said = [" ".join(dice.sample(WORDS, dice.choice([1, 2, 3]))) for _ in range(20)]
    asked = [*dice.sample(parts, 20), *said]
    asked = [dice.choice(MANGLED)(each) if dice.random() < 0.6 else each for each in asked]
    asked += [each + dice.choice(TIMES) for each in asked[::5]]
    # A field has one line, and a driver hands over no half of a character.
    return [each for each in asked if each.strip() and not re.search("[\n\r\0\ud800-\udfff]", each)]


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 13))]
)
def test_whatever_letters_there_are_are_found_alike(browser, tmp_path, seed):
    """Of any letters, in any case, in odd messages: what the agent finds, in its order, by words and exactly."""
    dice = random.Random(seed)
    rows = [generated(dice) for _ in range(60)]
    asked = questions(dice, rows)
    path = kept(tmp_path / "lcm.db", rows)
    assert len(asked) > 20
    assert differing(browser, path, "talk", asked) == {}
    assert differing(browser, path, "talk", asked, "exact") == {}


@pytest.mark.slow
def test_letters_that_are_another_in_small_are_found(browser, tmp_path):
    """A Turkish capital İ, a last sigma, a ligature, a long s: taken for plain ones as the agent takes them."""
    said = [
        *("we fly to İstanbul", "istanbul is far", "ΣΟΦΟΣ lamp", "ΣΟΦΟΣ18 lamp", "the ﬁne print"),
        *("maſſe und ziel", "id.x/1 is ours", "İd.x/1 is theirs"),
    ]
    path = kept(tmp_path / "lcm.db", [{"role": "user", "content": each} for each in said])
    asked = [
        "İstanbul",
        "fly İstanbul",
        "ΣΟΦΟΣ",
        "σοφος",
        "fine",
        "ﬁne",
        "ıd.x/1",
        "İd.x/1",
        "masse",
        "lamp Auguſt 5",
        "lamp Apr ٣",
    ]
    asked.append('"🤔"')
    assert differing(browser, path, "talk", asked) == {}
    assert differing(browser, path, "talk", asked, "exact") == {}
    seen = browser(saved(path, "talk").as_uri())
    assert len(searched(seen, "İstanbul")) == len(searched(seen, "istanbul")) == 2
    assert len(searched(seen, "FINE", "exact")) == len(searched(seen, "MASSE", "exact")) == 1


@pytest.mark.parametrize(
    "odd",
    [
        float("nan"),
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (float("-inf"), 10**30, "\ud800", "NaN")
        ),
    ],
)
def test_a_value_that_no_browser_reads_hides_nothing(browser, tmp_path, odd):
    """Beside a call whose arguments are long: what was said in it is found, and so is all else."""
    rows = [
        {"role": "user", "content": "the harbour is closed"},
        calling(f'{{"path": "{PATH}"}}', sure=odd),
    ]
    path = kept(tmp_path / "lcm.db", [*rows, {"role": "assistant", "content": "closed"}])
    seen = browser(saved(path, "talk").as_uri())
    assert [len(searched(seen, each)) for each in ("harbour", "vakind", "greal.py")] == [1, 1, 1]
    assert differing(browser, path, "talk", ["harbour", "vakind", "closed", "odd"]) == {}


def test_what_cannot_be_taken_apart_hides_nothing_else(browser, tmp_path):
    """A message of which the file says what is not so is searched as it is shown; all others are found."""
    rows = [{"role": "user", "content": "the harbour is closed"}, calling(f'{{"path": "{PATH}"}}')]
    page = saved(kept(tmp_path / "lcm.db", rows), "talk")
    text = page.read_text(encoding="utf-8")
    assert text.count('"found":[["read_file ",[0]]]') == 1
    page.write_text(text.replace('["read_file ",[0]]', '["read_file ",[7]]'), encoding="utf-8")
    seen = browser(page.as_uri())
    assert [len(searched(seen, each)) for each in ("harbour", "vakind")] == [1, 1]
    assert seen.messages == []


def shown(seen, uids):
    """What the panel shows of each message, as one goes to it and opens it, from the last to the first."""
    found = {}
    for uid in uids[::-1]:
        seen.page.focus("#graph")
        seen.page.keyboard.press("ArrowLeft" if found else "End")
        seen.page.keyboard.press("Enter")
        until(seen, f"document.querySelector('#detail article')?.dataset.uid === {json.dumps(uid)}")
        until(seen, "document.activeElement.id === 'detail'")
        found[uid] = json.loads(seen.page.evaluate(_PANEL))
    return found


def test_the_panel_shows_each_word_for_word(browser, tmp_path):
    """Whatever its shape: nothing is lost, trimmed or taken for markup; one that is damaged says so, and no other."""
    dice = random.Random(7)
    rows = [{"role": "user", "content": f"{n} <b>&amp;</b> {generated(dice)}"} for n in range(3)]
    rows += [generated(dice) for _ in range(40)] + [
        {"role": "assistant", "content": " \n<i>end</i>\r\n "}
    ]
    path = kept(tmp_path / "lcm.db", rows)
    with closing(open_store(path)) as store:
        entries = store.entries(store.session("talk").line)
        wanted = {
            each.uid: words(decode(store.read([(each.id, 0)])[0].body)) or "(nothing)"
            for each in entries
        }
    damaged = entries[5]
    with closing(sqlite3.connect(path)) as sql, sql:
        sql.execute("UPDATE messages SET body = x'00ff' WHERE id = ?", [damaged.id])
    page = path.with_name("talk.html")
    assert main(["--db", str(path), "view", "--session", "talk", "--out", str(page)]) == 1
    seen = browser(page.as_uri())
    found = shown(seen, [each.uid for each in entries])
    assert found.pop(damaged.uid).startswith("(damaged")
    wanted.pop(damaged.uid)
    assert found == wanted
    assert len(wanted) > 30
    assert seen.messages == []


def test_a_list_of_hits_says_which_is_damaged(browser, tmp_path):
    """The live page finds a message by its words in the index; beside what it reads now stands that it was another."""
    rows = [
        {"role": role, "content": f"the harbour of the {role}"} for role in ("user", "assistant")
    ]
    path = kept(tmp_path / "lcm.db", rows)
    with closing(sqlite3.connect(path)) as sql, sql:
        changed = json.dumps({"content": "the harbor of the enemy", "role": "user"}).encode()
        sql.execute("UPDATE messages SET body = ? WHERE id = 1", [changed])
    with serving() as serve:
        seen = browser(serve(path).url)
        assert len(searched(seen, "harbour", "auto")) == 2
        listed = seen.page.locator("#list li").all_inner_texts()
        assert [ALTERED in each for each in listed] == ["enemy" in each for each in listed]
        assert sum(ALTERED in each for each in listed) == 1
        assert seen.messages == []
