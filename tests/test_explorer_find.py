"""What a page that stands alone finds: by the words that the index has, in the order of the agent's own search."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from browsing import browsing
from lcm.console.cli import main
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.storage.migrations import TOKENS
from lcm.tools.desk import Desk
from lcm.tools.grep import grep

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "console" / "assets" / "words.js"


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
    """A conversation about our documentation, in which the agent has searched; its file, as the page."""
    folder = tmp_path_factory.mktemp("talk")
    rows = []
    for number, text in enumerate(paragraphs()):
        rows.append({"role": ("user", "assistant")[number % 2], "content": text})
        if number % 9 == 8:
            rows += asked_and_answered(
                "lcm_grep", " ".join(text.split()[:6]).replace('"', ""), number
            )
    rows.append({"role": "assistant", "content": "That is all of it."})
    store = open_store(folder / "lcm.db")
    Ledger(store, store.open_session("talk")).ingest(rows)
    store.close()
    assert main(["--db", str(folder / "lcm.db"), "view", "--out", str(folder / "talk.html")]) == 0
    return folder


def test_words_are_those_of_the_index(browser):
    """The page stems a word as SQLite does: every word of the documentation, and some with accents."""
    words = sorted({w for p in paragraphs() for w in re.findall(r"[a-z]+", p.lower())})
    words += [
        "naïve",
        "façade",
        "schön",
        "relational",
        "hopping",
        "skies",
        "agreed",
        "controlling",
        "generalizations",
    ]
    sql = sqlite3.connect(":memory:")
    sql.execute(f"CREATE VIRTUAL TABLE kept USING fts5(text, {TOKENS})")
    sql.execute("CREATE VIRTUAL TABLE spelt USING fts5vocab(kept, instance)")
    sql.executemany("INSERT INTO kept (rowid, text) VALUES (?, ?)", enumerate(words))
    wanted = [term for (term,) in sql.execute("SELECT term FROM spelt ORDER BY doc")]
    sql.close()
    seen = browser("about:blank", ready="true")
    source = WORDS.read_text(encoding="utf-8")
    found = seen.page.evaluate(
        f"(words) => {{ {source}; return words.map((word) => bagOf(wordsOf(word)).trim()); }}",
        words,
    )
    assert len(words) > 1500
    assert {w: f for w, f, t in zip(words, found, wanted, strict=True) if f != t} == {}


def questions():
    return [" ".join(text.split()[3:12]) for text in list(paragraphs())[5::19]]


def searched(seen, question):
    seen.page.evaluate("document.getElementById('list').replaceChildren()")
    seen.page.fill("#query", question)
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector("#list li")
    return seen.page.locator("#list mark").all_inner_texts()[:10]


def test_a_file_ranks_nearly_as_the_agent_does(browser, talk):
    """What lcm_grep finds first is among the first three, and most of its first ten are."""
    store = open_store(talk / "lcm.db", read_only=True)
    desk = Desk(store, store.session("talk"), Settings())
    seen = browser((talk / "talk.html").as_uri())
    first, shared = [], []
    for question in questions():
        wanted = [each["uid"][:8] for each in grep(desk, question, limit=10)["results"]]
        found = searched(seen, question)
        first.append(wanted[0] in found[:3])
        shared.append(len(set(wanted) & set(found)) / len(wanted))
    store.close()
    assert len(first) > 10
    assert sum(first) / len(first) >= 0.9, first
    assert sum(shared) / len(shared) >= 0.7, shared
    assert seen.messages == []


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
    seen.page.select_option("#mode", "exact")
    searched(seen, asked)
    roles = [
        said.split(",")[0].split()[-1] for said in seen.page.locator("#list li").all_inner_texts()
    ]
    assert roles[0] != "tool" and "tool" in roles[1:]
