"""A saved page of the explorer, asked in a browser: what it finds, beside what the agent's tool does."""

from __future__ import annotations

from contextlib import closing

from lcm.console.cli import main
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.tools.desk import Desk
from lcm.tools.grep import grep

_SEARCH = """async ([question, mode]) => {
    const at = (id) => document.getElementById(id);
    [at('note').textContent, at('query').value, at('mode').value] = ['', question, mode];
    at('search').requestSubmit();
    while (!at('note').textContent) await new Promise((done) => setTimeout(done, 1));
    return [...document.querySelectorAll('#list mark')].slice(0, 10).map((each) => each.textContent);
}"""


def searched(seen, question, mode="words"):
    """The first ten that the page lists, by the beginnings of their uids."""
    return seen.page.evaluate(_SEARCH, [question, mode])


def saved(path, session):
    """The file of a session's page, written unless it is there."""
    out = path.with_name(f"{session}.html")
    if not out.exists():
        assert main(["--db", str(path), "view", "--session", session, "--out", str(out)]) == 0
    return out


def differing(browser, path, session, asked, mode="auto"):
    """Questions to which the page of a session gives other results, or in another order, than the agent's tool."""
    seen = browser(saved(path, session).as_uri())
    found = {}
    with closing(open_store(path, read_only=True)) as store:
        for question in asked:
            desk = Desk(store, store.session(session), Settings())
            wanted = [each["uid"][:8] for each in grep(desk, question, mode)["results"]]
            told = searched(seen, question, "words" if mode == "auto" else mode)
            if told != wanted:
                found[question] = (wanted, told)
    assert seen.messages == []
    seen.page.close()
    return found
