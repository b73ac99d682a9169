"""The explorer's page in a real browser: what it draws, what it finds, and that it asks nobody else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browsing import browsing, click_on, until
from lcm.console.chart import chart
from lcm.console.cli import main
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from talks import HOSTILE, compacted, long, passed, plain, serving

ASSETS = Path(__file__).resolve().parent.parent / "console" / "assets"
#: Pixels above the bottom of the graph: in the messages, in the lowest lane of summaries.
MESSAGES, LEAVES = 26, 96


@pytest.fixture(scope="module")
def browser():
    with browsing() as open_page:
        yield open_page


@pytest.fixture
def talk(tmp_path):
    """A database with a conversation that was compacted twice."""
    compacted(tmp_path / "lcm.db")
    return tmp_path / "lcm.db"


@pytest.fixture
def written(talk, tmp_path):
    """The address of the page as a file."""
    assert main(["--db", str(talk), "view", "--out", str(tmp_path / "talk.html")]) == 0
    return (tmp_path / "talk.html").as_uri()


@pytest.fixture
def served_at():
    """Serves databases until the end of the test; gives the address of each."""
    with serving() as serve:
        yield lambda path: serve(path).url


@pytest.fixture
def served(served_at, talk):
    """The address of the page as it is served."""
    return served_at(talk)


@pytest.fixture(params=[pytest.param("written", marks=pytest.mark.slow), "served"])
def address(request):
    """The page, each way in which it comes."""
    return request.getfixturevalue(request.param)


def drawn(talk):
    """The chart, as the page gets it."""
    store = open_store(talk, read_only=True)
    found = chart(store, store.session("talk"))
    store.close()
    return found


#: How many different colours the graph has.
_COLOURS = """
(() => {
  const canvas = document.getElementById('graph');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let n = 0; n < data.length; n += 4) found.add((data[n] << 16) | (data[n + 1] << 8) | data[n + 2]);
  return found.size;
})()
"""
#: How many dots among the messages, between two parts of the width, have a colour: that of what is found, or another.
_FOUND = """
([from, to, name]) => {
  const canvas = document.getElementById('graph');
  const [x, wide] = [Math.floor(from * canvas.width), Math.ceil((to - from) * canvas.width)];
  const { data } = canvas.getContext('2d').getImageData(x, canvas.height - 80, wide, 80);
  const wanted = getComputedStyle(document.documentElement).getPropertyValue(`--${name || 'hit'}`).trim();
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
  let dots = 0;
  for (let n = 0; n < data.length; n += 4) dots += data[n] === r && data[n + 1] === g && data[n + 2] === b;
  return dots;
}
"""


def test_it_opens_and_asks_nobody_else(browser, address):
    """It draws the conversation, says nothing on its console, and makes no request but to where it comes from."""
    seen = browser(address)
    seen.page.wait_for_timeout(1500)
    assert "80 messages" in seen.page.inner_text("#state")
    assert seen.page.evaluate(_COLOURS) > 6
    assert seen.page.locator("#curve canvas").count() == 1
    assert seen.messages == []
    assert all(url.startswith(address) for url in seen.requests)
    assert "2 compactions" in seen.page.inner_text("#said")


def test_a_click_shows_a_summary_and_what_is_under_it(browser, address, talk):
    """On a summary: each size, its hints, and the messages word for word."""
    node = next(n for n in drawn(talk)["nodes"] if n["depth"] == 0)
    seen = browser(address)
    click_on(seen.page, node["span"][0], LEAVES)
    seen.page.wait_for_selector(f"#detail:has-text('{node['uid'][:8]}') article")
    said = seen.page.inner_text("#detail")
    assert "What it says" in said and "Word for word" in said
    assert seen.page.locator("#detail details").count() == 4
    assert seen.page.locator("#detail details[open]").count() == 1
    with_words = seen.page.locator("#detail article pre").all_inner_texts()
    assert with_words[0].startswith("Note 1: fact 1 of 40")
    assert len(with_words) == min(node["messages"], 20)


def test_at_first_it_says_how_to_choose(browser, address):
    """Where nothing is chosen yet, until something is."""
    seen = browser(address)
    assert seen.page.inner_text("#detail").startswith("Click a bar.")
    click_on(seen.page, 4, MESSAGES)
    seen.page.wait_for_selector("#detail article")
    assert "Click a bar" not in seen.page.inner_text("#detail")


def over_curve(seen, share):
    """Where in the window a part of the curve's width is."""
    box = seen.page.locator("#curve .u-over").bounding_box()
    return box["x"] + share * box["width"], box["y"] + box["height"] / 2


def test_a_click_on_the_curve_opens_the_turn(browser, address, talk):
    """What the user said in it, whichever of its messages was under the pointer."""
    uids = drawn(talk)["messages"]["uid"]
    seen = browser(address)
    click_on(seen.page, 40, MESSAGES)
    seen.page.wait_for_selector("#detail article")
    for place in (4, 5):
        seen.page.mouse.click(*over_curve(seen, (place + 0.5) / 80))
        seen.page.wait_for_selector(f"#detail article[data-uid='{uids[4]}']")
        assert "user, turn 3" in seen.page.inner_text("#detail")


def test_the_pointer_is_told_what_is_under_it(browser, address, talk):
    """Topic and turns of a summary, the first words of a message as text, a number on the curve; Escape ends it."""
    found = drawn(talk)
    node = next(n for n in found["nodes"] if n["depth"] == 0)
    seen = browser(address)
    click_on(seen.page, node["span"][0], LEAVES)
    said = seen.page.inner_text("#hover")
    assert node["topic"].split()[0] in said
    assert "turns {}\u2013{}".format(*node["turns"]) in said
    assert f"{node['tokens']:,} tokens" in said
    click_on(seen.page, 2, MESSAGES)
    until(seen, "document.getElementById('hover').textContent.includes('Note 2: fact 2 of 40.')")
    said = seen.page.inner_text("#hover")
    assert "user, turn 2" in said and "<script>" in said and said.endswith("…")
    assert seen.page.locator("#hover :not(span)").count() == 0
    seen.page.mouse.move(*over_curve(seen, 4.5 / 80))
    assert seen.page.inner_text("#hover").startswith("turn 3: ")
    at = found["passes"][0]["at"]
    seen.page.mouse.move(*over_curve(seen, at / 80))
    before, after = found["passes"][0]["tokens"]
    assert f"from {before:,} tokens to {after:,}" in seen.page.inner_text("#hover")
    seen.page.keyboard.press("Escape")
    assert seen.page.is_hidden("#hover")
    seen.page.mouse.move(*over_curve(seen, 0.5))
    seen.page.mouse.move(5, 5)
    assert seen.page.is_hidden("#hover")
    assert seen.messages == []


def test_what_is_said_beside_the_pointer_is_within_the_window(browser, served):
    """At each edge of a narrow one."""
    seen = browser(served)
    seen.page.set_viewport_size({"width": 420, "height": 800})
    seen.page.wait_for_timeout(200)
    for share in (0.01, 0.99):
        seen.page.mouse.move(*over_curve(seen, share))
        box = seen.page.locator("#hover").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 420


def test_compactions_stand_over_each_other(browser, address, talk):
    """A dashed line in the curve and one in the graph, at the same place from left to right."""
    places = [done["at"] / 80 for done in drawn(talk)["passes"]]
    seen = browser(address)
    seen.page.wait_for_timeout(200)
    for place in places:
        assert seen.page.evaluate(_FOUND, [place - 0.003, place + 0.003, "pass"]) > 4
    assert seen.page.evaluate(_FOUND, [0.1, places[0] - 0.01, "pass"]) == 0
    graph = seen.page.locator("#graph").bounding_box()
    assert over_curve(seen, 0)[0] == pytest.approx(graph["x"], abs=1)
    assert over_curve(seen, 1)[0] == pytest.approx(graph["x"] + graph["width"], abs=1)


#: How far the graph is from its end, and from its beginning.
_ENDS = """
(() => { const it = document.getElementById('scroll');
  return [it.scrollWidth - it.clientWidth - it.scrollLeft, it.scrollLeft]; })()
"""


def test_the_newest_stays_in_sight_while_one_zooms(browser, address):
    """After Newest it is at the edge at each scale; after Whole one zooms in the middle. The curve shows the part."""
    seen = browser(address)
    seen.page.click("#newest")
    for _ in range(2):
        seen.page.click("#closer")
        seen.page.wait_for_timeout(100)
        assert seen.page.evaluate(_ENDS)[0] <= 1
    seen.page.click("#further")
    seen.page.wait_for_timeout(100)
    assert seen.page.evaluate(_ENDS)[0] <= 1
    part = seen.page.locator("#curve .u-select").bounding_box()
    assert part["x"] + part["width"] == pytest.approx(over_curve(seen, 1)[0], abs=2)
    assert part["width"] == pytest.approx(
        (over_curve(seen, 1)[0] - over_curve(seen, 0)[0]) / 1.5, rel=0.03
    )
    seen.page.click("#whole")
    seen.page.click("#closer")
    seen.page.wait_for_timeout(100)
    behind, before = seen.page.evaluate(_ENDS)
    assert behind == pytest.approx(before, abs=2) and before > 10


@pytest.fixture(scope="module")
def called(browser):
    """What functions of the page give, in an empty page in which nothing of them stays."""
    page = browser("about:blank", ready="true").page

    def call(names, expression, *values):
        text = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)
        return page.evaluate(
            f"(values) => {{ {text}\n return ({expression})(...values); }}", list(values)
        )

    return call


@pytest.mark.parametrize(
    ("text", "room", "wanted"),
    [
        ("Compare", 7, "Compare"),
        ("Compare", 6, "Compa…"),
        ("Go through", 4, "Go…"),
        ("🤔🤔🤔🤔", 3, "🤔🤔…"),
        ("Compare", 2, ""),
        ("", 0, ""),
    ],
)
def test_a_label_that_is_cut_says_so(called, text, room, wanted):
    """It ends in a mark, within its room, on a whole letter; where that is no word, there is none."""
    cut = "(text, room) => fitted(text, (some) => [...some].length <= room)"
    assert called(["hover.js"], cut, text, room) == wanted


def test_the_beginning_of_a_text_is_one_line(called):
    """Whatever is in it."""
    assert called(["hover.js"], "opening", " a\n\tb ", 5) == "a b"
    assert called(["hover.js"], "opening", "🤔" * 9, 5) == "🤔🤔🤔🤔…"


def test_turns_under_the_curve_end_at_the_last(called):
    """The first, round ones and the last, apart; each where it begins."""
    turns = [n // 2 + 1 for n in range(128)]
    named = called(["curve.js"], "namedTurns", turns, 15)
    assert [turns[at] for at in named] == [1, 10, 20, 30, 40, 50, 64]
    assert all(at % 2 == 0 for at in named)
    assert called(["curve.js"], "namedTurns", turns, 500) == [126]
    assert called(["curve.js"], "namedTurns", [], 1) == []


def test_the_curve_is_as_long_as_the_conversation(called):
    """It begins at nothing, counts what was not withdrawn, and falls where a compaction came."""
    chart = {
        "count": 3,
        "messages": {"tokens": [10, 20, 30], "withdrawn": [0, 1, 0]},
        "passes": [{"at": 2, "tokens": [50, 5]}],
    }
    found = called(["curve.js"], "sizesOf", chart)
    assert (found["xs"], found["ys"]) == ([0, 1, 2, 2, 2, 3], [0, 10, 10, 50, 5, 35])
    assert (found["after"], found["marks"][0]["x"]) == ([10, 10, 35], 2)


def test_a_turn_opens_where_the_user_speaks(called):
    """At the first thing said by the user in it, or at its beginning."""
    talk = {"turn": [1, 2, 2, 2, 3], "role": ["user", "system", "user", "tool", "assistant"]}
    assert called(["curve.js"], "(talk) => [0, 1, 2, 3, 4].map((at) => firstOfTurn(talk, at))", talk) == [
        0, 2, 2, 2, 4,
    ]  # fmt: skip


def test_what_is_hostile_stays_text(browser, address):
    """A script in a message is shown, in a message and in a summary, and does nothing."""
    seen = browser(address)
    click_on(seen.page, 2, MESSAGES)
    seen.page.wait_for_selector("#detail article")
    assert HOSTILE in seen.page.inner_text("#detail article pre")
    seen.page.fill("#query", "pixel onerror")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("#list li")
    assert "onerror" in seen.page.inner_text("#list")
    assert seen.page.title() == "lcm"
    assert seen.page.locator("#detail img, #list img, #detail script").count() == 0
    assert seen.messages == []
    assert not [url for url in seen.requests if "example.org" in url]


def test_a_search_lights_what_it_finds(browser, address, talk):
    """The right message comes first, is lit, and a choice in the list opens it."""
    uid = drawn(talk)["messages"]["uid"][4]
    seen = browser(address)
    seen.page.keyboard.press("/")
    seen.page.keyboard.type("xylophone attic")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("#list li")
    assert uid[:8] in seen.page.locator("#list li").first.inner_text()
    seen.page.wait_for_timeout(200)
    assert seen.page.evaluate(_FOUND, [4 / 80, 5 / 80]) > 10
    assert seen.page.evaluate(_FOUND, [20 / 80, 30 / 80]) == 0
    seen.page.locator("#list button").first.click()
    seen.page.wait_for_selector("#detail article.found")
    assert seen.page.get_attribute("#detail article.found", "data-uid") == uid
    assert "the xylophone stands in the attic" in seen.page.inner_text("#detail article")


def asked(seen, query, mode=None):
    """What the page says of a search."""
    if mode:
        seen.page.select_option("#mode", mode)
    seen.page.fill("#query", query)
    seen.page.keyboard.press("Enter")
    until(seen, "document.getElementById('note').textContent !== ''")
    return seen.page.inner_text("#note")


def test_what_is_said_of_a_search_is_true_of_it(browser, address):
    """How many and in which order, or that nothing was found and what to try; a misspelling as the whole word."""
    seen = browser(address)
    assert asked(seen, "xylophone attic").endswith(" best first.")
    said = asked(seen, "xylophne")
    assert said.endswith(" best first. xylophne: read as xylophone.")
    said = asked(seen, "qqqqzzzz")
    assert said.startswith("Searched 80 messages") and "first" not in said
    assert said.endswith('nothing found. Try other words, or "exact" for a part of a word.')
    assert seen.page.locator("#list li").count() == 0
    assert asked(seen, "fact", "exact").endswith("results, newest first.")
    assert asked(seen, "qqqqzzzz", "exact").endswith("nothing found. Try other words.")


def test_more_results_than_are_shown_are_said_to_be(browser, served):
    """Of more than fifty the page has fifty, and says so."""
    seen = browser(served)
    assert asked(seen, "ote", "exact") == "80 results, 50 of them shown, newest first."
    assert seen.page.locator("#list li").count() == 50


@pytest.mark.parametrize("nothing", ["", "  "])
def test_looking_for_nothing_ends_the_search(browser, address, nothing):
    """Nothing is lit, listed or said any more."""
    seen = browser(address)
    asked(seen, "xylophone attic")
    seen.page.fill("#query", nothing)
    seen.page.keyboard.press("Enter")
    assert seen.page.is_hidden("#hits")
    assert (seen.page.inner_text("#note"), seen.page.inner_text("#spoken")) == ("", "")
    seen.page.wait_for_timeout(200)
    assert seen.page.evaluate(_FOUND, [0, 1]) == 0


def test_the_served_page_ranks_as_the_agent_does(browser, served, talk):
    """The list of the page is the one of `hermes lcm search`."""
    from lcm.console.search import gather

    store = open_store(talk, read_only=True)
    wanted = gather(store, store.session("talk"), "harbour9n4 note", limit=50)["results"]
    store.close()
    seen = browser(served)
    seen.page.fill("#query", "harbour9n4 note")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("#list li")
    assert [r["uid"][:8] for r in wanted] == seen.page.locator("#list mark").all_inner_texts()


def test_keys_alone_reach_everything(browser, address, talk):
    """From the newest message up to the summary over it and down again; each step is said for who cannot see it."""
    seen = browser(address)
    seen.page.focus("#graph")
    said = []
    for key in ("Home", "Home", "ArrowUp", "ArrowRight", "ArrowLeft", "ArrowDown", "End"):
        seen.page.keyboard.press(key)
        said.append(seen.page.inner_text("#spoken"))
    uids = drawn(talk)["messages"]["uid"]
    assert uids[0][:8] in said[1]
    assert said[2].startswith("Summary") and "depth 0" in said[2]
    assert said[3] != said[2] and said[4] == said[2]
    assert uids[0][:8] in said[5] and uids[-1][:8] in said[6]
    assert "in the context word for word" in said[6] and "replaced by a summary" in said[5]
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("#detail article")
    assert seen.page.evaluate("document.activeElement.id") == "detail"


def test_who_cannot_see_it_has_names_for_all(browser, address):
    """Every control has a name, the picture is described, and the summaries are there as a list."""
    seen = browser(address)
    seen.page.locator("#outline summary").click()
    seen.page.wait_for_selector("#tree li")
    nameless = seen.page.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter((each) => !each.textContent.trim()"
        " && !each.getAttribute('aria-label')"
        " && !(each.labels && [...each.labels].some((l) => l.textContent.trim()))).length"
    )
    assert nameless == 0
    assert seen.page.get_attribute("#graph", "aria-label")
    assert seen.page.get_attribute("html", "lang") == "en"
    assert seen.page.locator("#tree .tag").count() > 0


@pytest.mark.parametrize("width", [420, 320])
def test_a_narrow_page_is_cut_nowhere(browser, served_at, talk, width):
    """On a telephone's width nothing stands out to the right, whatever a conversation is called."""
    store = open_store(talk)
    name = "20261130_183710_843d5d_of_somebody_with_a_long_name"
    Ledger(store, store.open_session(name)).ingest([{"role": "user", "content": "x" * 5000}])
    store.close()
    seen = browser(served_at(talk))
    seen.page.set_viewport_size({"width": width, "height": 800})
    seen.page.select_option("#sessions", "talk")
    until(seen, "document.getElementById('state').textContent.startsWith('80 messages')")
    seen.page.fill("#query", "harbour9n4 note")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("#list li")
    seen.page.locator("#list button").first.click()
    seen.page.wait_for_selector("#detail article")
    seen.page.locator("#outline summary").click()
    outside = (
        "[...document.querySelectorAll('body *')].filter((each) => each.getBoundingClientRect().right > innerWidth"
        " && !each.closest('#scroll')).map((each) => each.outerHTML.slice(0, 80))"
    )
    assert seen.page.evaluate(outside) == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    assert seen.page.evaluate("document.querySelector('#graph').clientWidth") <= width


@pytest.mark.slow
def test_what_has_not_changed_is_not_said_again(browser, served):
    """While nothing is said the page changes nothing that a screen reader would read aloud."""
    seen = browser(served)
    seen.page.wait_for_timeout(1200)
    seen.page.evaluate(
        "(() => { window.told = 0; new MutationObserver(() => { window.told += 1; }).observe(document.body,"
        " { subtree: true, childList: true, characterData: true }); })()"
    )
    seen.page.wait_for_timeout(2500)
    assert seen.page.evaluate("window.told") == 0


def test_it_says_where_a_compaction_is_not_known_to_be_taken_over(browser, served_at, tmp_path):
    """Right after one it says so; where the host went on without it, it lights no summary and says nothing of it."""
    path = tmp_path / "lcm.db"
    store = open_store(path)
    ledger = Ledger(store, store.open_session("talk"))
    rows = plain(30)
    ledger.ingest(rows)
    passed(store, ledger, rows)
    seen = browser(served_at(path))
    assert "No list of the host's has shown it yet" in seen.page.inner_text("#seen")
    seen.page.focus("#graph")
    seen.page.keyboard.press("Home")
    seen.page.keyboard.press("Home")
    assert "replaced by a summary" in seen.page.inner_text("#spoken")
    ledger.ingest([*rows, {"role": "user", "content": "It was dropped."}])
    store.close()
    until(seen, "document.getElementById('state').textContent.startsWith('31 messages')")
    assert seen.page.inner_text("#seen") == ""
    seen.page.keyboard.press("Home")
    assert "in the context word for word" in seen.page.inner_text("#spoken")
    assert seen.messages == []


def test_light_and_dark_are_as_the_reader_wants(browser, address):
    """The page follows the system, the picture too."""
    light, dark = browser(address), browser(address, "dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert (light.page.evaluate(ground), dark.page.evaluate(ground)) == (
        "rgb(255, 255, 255)",
        "rgb(20, 24, 28)",
    )
    picture = "document.getElementById('graph').toDataURL()"
    assert light.page.evaluate(picture) != dark.page.evaluate(picture)


def test_it_goes_on_while_the_conversation_does(browser, served, talk):
    """What is said meanwhile appears; what is chosen stays chosen, and who is in the list of summaries stays there."""
    seen = browser(served)
    click_on(seen.page, 4, MESSAGES)
    seen.page.wait_for_selector("#detail article")
    seen.page.locator("#outline summary").click()
    seen.page.locator("#tree button").nth(1).focus()
    listed = seen.page.locator("#tree button").nth(1).inner_text()
    store = open_store(talk)
    ledger = Ledger(store, store.session("talk"))
    entries = store.entries(ledger.session.line)
    rows = [json.loads(m.body) for m in store.read([(entry.id, 0) for entry in entries])]
    ledger.ingest([*rows, {"role": "user", "content": "And one more."}])
    store.close()
    until(seen, "document.getElementById('state').textContent.startsWith('81 messages')")
    assert "xylophone" in seen.page.inner_text("#detail")
    assert seen.page.evaluate("document.activeElement.textContent") == listed
    seen.page.focus("#graph")
    seen.page.keyboard.press("End")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("#detail article:has-text('And one more.')")
    assert seen.messages == []


def test_it_waits_for_the_first_turn(browser, served_at, tmp_path):
    """A page that is open before anything was said shows the conversation when it begins."""
    path = tmp_path / "empty.db"
    open_store(path).close()
    seen = browser(served_at(path))
    assert "No conversation yet" in seen.page.inner_text("#state")
    store = open_store(path)
    Ledger(store, store.open_session("talk")).ingest([{"role": "user", "content": "Hello."}])
    store.close()
    until(seen, "document.getElementById('state').textContent.startsWith('1 message')")
    assert seen.messages == []


#: Scrolls and zooms through all of the conversation; milliseconds from one picture to the next.
_SCROLL = """
async () => {
  const scroll = document.getElementById('scroll');
  const times = [];
  const picture = () => new Promise((done) => requestAnimationFrame(done));
  let before = await picture();
  for (let step = 0; step < 120; step += 1) {
    scroll.scrollLeft = (scroll.scrollWidth - scroll.clientWidth) * step / 119;
    if (step % 40 === 20) document.getElementById(step < 60 ? 'closer' : 'further').click();
    const now = await picture();
    times.push(now - before);
    before = now;
  }
  return times;
}
"""


@pytest.mark.slow
def test_a_long_conversation_scrolls_smoothly(browser, tmp_path, record_property):
    """20,000 messages under 1,000 summaries: most pictures come as fast as a screen shows them."""
    count = long(tmp_path / "lcm.db")
    assert count >= 999
    assert (
        main(["--db", str(tmp_path / "lcm.db"), "view", "--out", str(tmp_path / "long.html")]) == 0
    )
    seen = browser((tmp_path / "long.html").as_uri())
    assert "20,000 messages" in seen.page.inner_text("#state")
    for _ in range(2):
        times = sorted(seen.page.evaluate(_SCROLL))
        for _ in range(6):
            seen.page.locator("#closer").click()
    record_property("median_ms", times[60])
    assert times[60] < 34, times
    assert times[114] < 100, times
    seen.page.locator("#whole").click()
    seen.page.fill("#query", "word15000")
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("#list li")
    assert f"{15000:032x}"[:8] in seen.page.locator("#list li").first.inner_text()
    seen.page.locator("#outline summary").click()
    seen.page.wait_for_selector("#tree li")
    assert seen.page.locator("#tree li").count() >= count
    seen.page.locator("#tree button").nth(500).click()
    seen.page.wait_for_selector("#detail details")
    assert seen.messages == []
