"""What a page that stands alone finds: what the agent's own search finds, in its order."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import time as clock
from contextlib import closing
from pathlib import Path

import pytest
from browsing import browsing
from lcm import LCMEngine
from lcm.console import letters
from lcm.console.cli import main
from lcm.console.finding import rule
from lcm.console.scripted import as_script
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.dag.tokens import count_messages
from lcm.storage import open_store
from lcm.storage.canon import decode, digest, encode
from lcm.storage.migrations import TOKENS
from lcm.storage.records import Draft
from lcm.storage.text import FIGURES, indexable, searchable
from lcm.tools import manner, moments, when
from lcm.tools.desk import Desk
from lcm.tools.grep import grep
from saved import differing, searched

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"

_WORDS = (
    "naïve façade schön ÉCOLE relational hopping skies agreed controlling generalizations 日本語の本 e\u0301te\u0301 🤔"
    " x\U0001f9ffy ΣΟΦΟΣ ﬁne naïved ñandúes fooBarBaz HTTPServerError हिन्दी"
)
_TIMES = (
    "yesterday|the day before yesterday|today|last Tuesday|this Friday|past week|last month|this year|two weeks ago"
    "|a couple of days ago|3 months ago|10 minutes ago|an hour ago|5000 years ago|May 2026|31 May|May 31st 2026"
    "|1st of June, 2025|31 February|Feb 29|2026-05-31|2026-05-31T14:00|2026-13-01|2026-05-31 14:00:30.25+02:00"
    "|2026-05-31T25:00|between 2026-01-01 and Sept. 3|0 days ago|in may 0000|mayday 12"
)
_ODD = (
    "what was said yesterday about the store|a summary of two weeks ago|what did I say last month about a compaction"
    "|what did we decide after the compaction of the list|since the release"
    "|before I asked for a page|today|2026-05-31|two weeks ago|when did it happen|zzzzqqqq|serch indx of mesages"
    '|compction sumary|lcm_grep|console/assets/vendor|hermes lcm view --out|"context engine"|leaf_tokens|I'
    "|the of and|??|un-indexed|ompact|er|7|100 %|RankedByRule|naïve|日本語|👍|it's|Hello|Why?|nThe|docs.*md"
)
ODD_WORDS, TIMES, ODD = set(_WORDS.split()), _TIMES.split("|"), _ODD.split("|")


def source(*names):
    """Scripts of the page."""
    folder = ROOT / "console" / "assets"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


@pytest.fixture(scope="module")
def browser():
    with browsing() as open_page:
        yield open_page


def paragraphs():
    """Real text: what the documentation says, one thing after another."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for part in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            if len(part) > 80 and not part.startswith(("|", "```", "![")):
                yield part


def asked_and_answered(name, text, number):
    """A call of a tool of ours and its result, which hold what was searched for."""
    call = {"name": name, "arguments": f'{{"query": "{text}"}}'}
    calls = [{"id": f"c{number}", "type": "function", "function": call}]
    return [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"{text} " * 5, "name": name},
    ]


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    """A conversation of some months about our documentation, in which the agent has searched; its file, as the page."""
    folder = tmp_path_factory.mktemp("talk")
    rows = []
    for number, text in enumerate(paragraphs()):
        rows.append({"role": ("user", "assistant")[number % 2], "content": text})
        if number % 9 == 8:
            rows += asked_and_answered(
                "lcm_grep", " ".join(text.split()[:6]).replace('"', ""), number
            )
    rows.append({"role": "assistant", "content": "That is all of it."})
    first = int(clock.time()) - len(rows) * 10_000
    rows = [row | {"timestamp": first + at * 10_000} for at, row in enumerate(rows)]
    store = open_store(folder / "lcm.db")
    Ledger(store, store.open_session("talk")).ingest(rows)
    store.close()
    assert main(["--db", str(folder / "lcm.db"), "view", "--out", str(folder / "talk.html")]) == 0
    return folder


def test_words_are_those_of_the_index(browser):
    """The page stems a word as SQLite does: every word of the documentation, made ones, and some with accents."""
    dice = random.Random(5)
    ends = [
        "ational",
        "enci",
        "bli",
        "ed",
        "ing",
        "eed",
        "ies",
        "sses",
        "ement",
        "ion",
        "ful",
        "ical",
        "ized",
        "y",
    ]
    words = {w for p in paragraphs() for w in re.findall(r"[a-z]+", p.lower())} | ODD_WORDS
    for _ in range(20_000):
        words.add(
            "".join(dice.choices("aeiouybcstlnrgz", k=dice.randint(1, 7))) + dice.choice(ends)
        )
    asked = sorted(words)
    wanted = stemmed(asked)
    found = browser("about:blank", ready="true").page.evaluate(
        f"""([words, rule]) => {{ {source("words.js")}
            const tongue = tongueOf(rule); return words.map((word) => tongue.stemsOf(tongue.indexable(word))); }}""",
        [asked, {**FIGURES, "letters": letters.as_runs(letters.of_index())}],
    )
    assert len(asked) > 15_000
    assert {w: f for w, f, t in zip(asked, found, wanted, strict=True) if f != t} == {}


def stemmed(words):
    """The terms of each as the index has them."""
    with closing(sqlite3.connect(":memory:")) as sql:
        sql.execute(f"CREATE VIRTUAL TABLE kept USING fts5(text, {TOKENS})")
        sql.execute("CREATE VIRTUAL TABLE spelt USING fts5vocab(kept, instance)")
        texts = ((at, indexable(word)) for at, word in enumerate(words))
        sql.executemany("INSERT INTO kept (rowid, text) VALUES (?, ?)", texts)
        found = {at: [] for at in range(len(words))}
        for at, term in sql.execute("SELECT doc, term FROM spelt ORDER BY doc, offset"):
            found[at].append(term)
        return list(found.values())


def test_patterns_are_ours(browser):
    """What Python finds in the documentation with a pattern that the page is given, the page finds."""
    patterns = {
        f"{module.__name__} {name}": each
        for module in (manner, moments, when)
        for name, each in module.FIGURES.items()
        if isinstance(each, re.Pattern)
    }
    texts = [
        *paragraphs(),
        *ODD,
        *TIMES,
        "Ana: hi",
        "[Zoë] Olá! Привет",
        "HELLO you [a cat on a sofa]",
        "после May 5th?",
        "x\u2003y ago",
    ]
    found = browser("about:blank", ready="true").page.evaluate(
        """([patterns, texts]) => patterns.map((each) => texts.map((text) =>
            [...text.matchAll(new RegExp(each, 'gu'))].map((match) => match[0])))""",
        [[as_script(each) for each in patterns.values()], texts],
    )
    for (name, each), told in zip(patterns.items(), found, strict=True):
        assert told == [[match[0] for match in each.finditer(text)] for text in texts], name
        assert any(told), name


def test_times_are_ours(browser):
    """The page takes a time in words for the same span of time as the program does, whenever it is asked."""
    moments_ = [0.0, 951_782_400.5, 1_709_164_800.0, 1_798_761_599.9, 1_772_323_200.0]
    rule_ = rule()["calendar"]
    found = browser("about:blank", ready="true").page.evaluate(
        f"""([rule, texts, moments]) => {{ {source("words.js", "when.js")} const spansIn = clockOf(rule);
            return moments.map((now) => texts.map((text) =>
                spansIn(text, now).map((span) => [span.text, span.first, span.last]))); }}""",
        [rule_, list(TIMES), moments_],
    )
    for now, told in zip(moments_, found, strict=True):
        for text_, spans in zip(TIMES, told, strict=True):
            wanted = [[span.text, span.first, span.last] for span in when.spans_in(text_, now)]
            assert spans == [
                [name, pytest.approx(a, abs=1e-5), pytest.approx(b, abs=1e-5)]
                for name, a, b in wanted
            ], text_


def questions():
    """Words of what was said, as it was said and by their beginnings, and odd ones."""
    said = list(paragraphs())
    asked = [" ".join(each.split()[3:12]) for each in said[5::7]]
    asked += [" ".join(each.split()[:3]) for each in said[2::11]]
    asked += [f"What did we say about {' and '.join(each.split()[7:10])}?" for each in said[3::13]]
    asked += [" ".join(each.split()[:40]) for each in said[::29]]
    return [each for each in asked if each.strip()]


def test_a_file_ranks_as_the_agent_does(browser, talk):
    """The first ten that lcm_grep finds, in its order: words, names, times, events, misspelt words, parts of words."""
    asked = [*questions(), *ODD]
    assert len(asked) > 150
    assert differing(browser, talk / "lcm.db", "talk", asked) == {}


def test_a_file_finds_exactly_what_the_agent_does(browser, talk):
    """In mode exact: the newest first, what the agent has searched for last; in any case, in the middle of a word."""
    asked = ["ompact", "LCM_GREP", "the context", "İ", "naïve", "zzzz", "[", *questions()[:20]]
    assert differing(browser, talk / "lcm.db", "talk", asked, "exact") == {}


def dialogue():
    """What the documentation says, by turns."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": each} for n, each in enumerate(paragraphs())]


@pytest.mark.slow
def test_summaries_stand_where_the_agent_finds_them(browser, tmp_path):
    """So do summaries, whose worth depends on those of other conversations, and what stands on a branch."""
    path, said = tmp_path / "lcm.db", dialogue()
    for name, rows in (("talk", said), ("other", said[::-3])):
        compacted(path, name, rows)
    with closing(open_store(path)) as store:
        fork = store.open_session("fork", parent="talk", relation="branch")
        Ledger(store, fork).ingest(said[:40] + said[60:50:-1])
        nodes = store.nodes_on([store.session(name).line for name in ("talk", "other")])
        asked = [*questions(), *(" ".join(node.topic.split()[:6]) for node in nodes)]
        desks = [Desk(store, each, Settings()) for each in store.sessions()]
        answers = [(question, [grep(desk, question) for desk in desks]) for question in asked]
    kinds = [[r["kind"] for each in found for r in each["results"]] for _, found in answers]
    assert sum("node" in each for each in kinds) > 10
    # A misspelt word is repaired by the words of all conversations, which a file has not.
    known = [question for question, found in answers if all(f["mode"] != "fuzzy" for f in found)]
    assert len(known) > 100
    for session in ("talk", "fork", "other"):
        assert differing(browser, path, session, known) == {}


@pytest.mark.slow
def test_earlier_versions_are_found_alike(browser, tmp_path):
    """What a message said before it was changed is found as the agent finds it."""
    path = tmp_path / "lcm.db"
    with closing(open_store(path)) as store:
        session = store.open_session("talk")
        Ledger(store, session).ingest(dialogue())
        for entry in store.entries(session.line)[::4]:
            revise(store, session.line, entry)
    assert differing(browser, path, "talk", questions()) == {}


def compacted(path, session, rows):
    """A conversation that was compacted whenever it was due."""
    with closing(LCMEngine(8_000, db_path=path)) as engine:
        engine.on_session_start(session)
        given = []
        for row in rows:
            given.append(row)
            if engine.should_compress(count_messages(given)):
                engine.ingest(given)
                given = engine.compress(given, current_tokens=count_messages(given))
        engine.ingest(given)


def revise(store, line, entry):
    """Half of the words of a message are taken back."""
    (message,) = store.read([(entry.id, 0)])
    row = decode(message.body)
    row["content"] = " ".join(row["content"].split()[::2])
    body = encode(row)
    new = Draft(
        entry.uid,
        entry.role,
        body,
        searchable(row),
        digest(body),
        digest(body),
        message.time,
        entry.tokens,
    )
    store.revise(line, entry.id, new)


def real():
    """(conversation, questions) of real ones, where they are."""
    asked = {}
    for path in sorted((DATA / "qa").glob("*.jsonl")):
        for each in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            name = f"{each.get('conversation_dataset', each['dataset'])}/{each['conversation']}"
            asked.setdefault(name, []).append(each["question"])
    return {
        name: some for name, some in asked.items() if (DATA / "conv" / f"{name}.jsonl").exists()
    }


@pytest.mark.slow
@pytest.mark.skipif(
    not real(), reason=f"NO REAL CONVERSATIONS in {DATA}: what people really ask is not looked at."
)
@pytest.mark.parametrize("name", real() or ["none"])
def test_real_questions_are_answered_alike(browser, tmp_path, name):
    """Real questions to real conversations: all of them the same ten, in the same order."""
    rows = [
        json.loads(line)
        for line in (DATA / "conv" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    path = tmp_path / "lcm.db"
    with closing(open_store(path)) as store:
        Ledger(store, store.open_session("talk")).ingest(rows)
    asked = [" ".join(each.split()) for each in real()[name]]  # a field has one line
    assert differing(browser, path, "talk", asked[:: -(-len(asked) // 50)]) == {}


def test_results_of_our_own_tools_drown_nothing(browser, talk):
    """What the agent has searched for is found where it was said, not where it was searched; exactly, in both."""
    asked = next(
        " ".join(t.split()[:6]) for n, t in enumerate(paragraphs()) if n % 9 == 8 and '"' not in t
    )
    seen = browser((talk / "talk.html").as_uri())
    searched(seen, asked)
    assert not [
        said
        for said in seen.page.locator("#list li").all_inner_texts()
        if " tool, turn " in said[:40]
    ]
    assert asked.split()[2] in seen.page.locator("#list li").first.inner_text()
    searched(seen, asked, "exact")
    roles = [
        said.split(",")[0].split()[-1] for said in seen.page.locator("#list li").all_inner_texts()
    ]
    assert roles[0] != "tool" and "tool" in roles[1:]
