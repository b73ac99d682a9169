"""The explorer beside the real hosts: `hermes lcm view` while an agent works, and the tab of the host's dashboard."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess

import pytest
from browsing import browsing, until
from lcm.demo.model import Reply, Script, ScriptedModel, Turn

pytestmark = pytest.mark.slow

TURNS = [Turn(f"What is said on day {n}?", (Reply(f"On day {n} all is well."),)) for n in (1, 2)]


@pytest.fixture(scope="module")
def browser():
    with browsing() as open_page:
        yield open_page


@pytest.fixture
def model():
    with ScriptedModel(Script([*TURNS, *TURNS])) as server:
        yield server


@pytest.fixture
def home(make_home, model):
    made = make_home(model.url)
    made.install()
    return made


@contextlib.contextmanager
def running(home, *arguments, **variables):
    """A command of the host that goes on until the end of the block; gives what it prints, line by line."""
    process = subprocess.Popen(
        [str(home.host.hermes), *arguments],
        env=home.environment(PYTHONUNBUFFERED="1", **variables),
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process.stdout
    finally:
        process.terminate()
        process.communicate(timeout=30)


def read_until(lines, pattern):
    """The match of *pattern* in what a command prints."""
    said = []
    for line in lines:
        said.append(line)
        if found := re.search(pattern, line):
            return found
    text = "".join(said)
    if "methods_onboarding" in text and "name 'Path' is not defined" in text:
        pytest.skip(
            "the dashboard of this distribution does not start: it lacks an import of its own"
        )
    raise AssertionError(text)


def test_the_page_goes_on_while_an_agent_works(home, browser):
    """A turn of the real agent appears in a page that was open before, and can be read word for word."""
    assert home.hermes("chat", "-Q", "-q", TURNS[0].user).returncode == 0
    with running(home, "lcm", "view") as lines:
        url = read_until(lines, r"view: (http://127\.0\.0\.1:\S+)")[1]
        seen = browser(url)
        until(seen, "document.getElementById('state').textContent.startsWith('2 messages')")
        assert home.hermes("chat", "-Q", "--continue", "-q", TURNS[1].user).returncode == 0
        until(seen, "document.getElementById('state').textContent.startsWith('4 messages')")
        seen.page.focus("#graph")
        seen.page.keyboard.press("End")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_selector("#detail article:has-text('On day 2 all is well.')")
        assert seen.messages == []
        assert all(each.startswith(url) for each in seen.requests)


@pytest.fixture
def user_interface(host):
    """The dashboard's own files; the newer distribution has none, and serves those it is pointed to."""
    folder = next(
        host.python.parent.parent.glob("lib/python*/site-packages/hermes_cli/web_dist"), None
    )
    if folder is not None:
        return {}
    from hostkit import find_host

    older = find_host("old")
    found = older and next(
        older.python.parent.parent.glob("lib/python*/site-packages/hermes_cli/web_dist"), None
    )
    if not found:
        pytest.skip("no dashboard to serve: the newer distribution has no files of it")
    return {"HERMES_WEB_DIST": str(found)}


def test_the_dashboard_has_the_explorer_as_a_tab(home, browser, user_interface):
    """In the real dashboard: the tab shows the conversation and finds in it; its data needs the dashboard's token."""
    assert home.hermes("-z", TURNS[0].user).returncode == 0
    command = ("dashboard", "--no-open", "--port", "0", "--skip-build")
    with running(home, *command, **user_interface) as lines:
        port = read_until(lines, r"READY port=(\d+)|127\.0\.0\.1:(\d+)")
        url = f"http://127.0.0.1:{port[1] or port[2]}"
        seen = browser(f"{url}/lcm", ready="document.querySelector('iframe[title^=lcm]') !== null")
        frame = next(each for each in seen.page.frames if each != seen.page.main_frame)
        frame.wait_for_selector("#state:has-text('2 messages')")
        assert (
            frame.evaluate("document.documentElement.dataset.scheme") == "dark"
        )  # as the dashboard is
        frame.fill("#query", "day")
        frame.locator("#search button").click()
        frame.wait_for_selector("#list li")
        frame.locator("#list button").first.click()
        frame.wait_for_selector("#detail article")
        assert "day 1" in frame.locator("#detail article").inner_text()
        assert not [said for said in seen.messages if "lcm" in said.lower()]
        assert all(each.startswith((url, "about:", "data:", "blob:")) for each in seen.requests)
        status = seen.page.evaluate(
            "fetch('/api/plugins/lcm/ask/chart').then((answer) => answer.status)"
        )
        assert status == 401


def test_the_dashboard_mounts_what_the_tab_asks(home):
    """The manifest is taken, the script is served, and the answers are those of this home, for a token."""
    assert home.hermes("chat", "-Q", "-q", TURNS[0].user).returncode == 0
    base = "/api/plugins/lcm"
    asked = ("page", "ask/sessions", "ask/chart", "ask/search?query=day", "ask/node?uid=none")
    found = home.drive("dashboard", {"paths": [f"{base}/{each}" for each in asked]})
    assert found["plugin"]["tab"]["path"] == "/lcm"
    assert found["plugin"]["has_api"]
    assert found["entry"][0] == 200
    assert "__HERMES_PLUGINS__" in found["entry"][1]
    assert found["bare"] == [401] * len(asked)
    page, sessions, chart, search, wrong = found["answers"]
    assert page[0] == 200
    assert "connect-src 'none'" in page[1]["page"]
    assert sessions[1]["sessions"][0]["messages"] == 2
    assert chart[1]["count"] == 2
    assert {"user", "assistant"} == {each["role"] for each in search[1]["results"]}
    assert wrong[0] == 400 and wrong[1]["error"]


def test_without_its_place_in_plugins_enabled_there_is_no_tab(home):
    """A home that does not enable the plugin runs nothing of it in its dashboard."""
    home.config["plugins"]["enabled"] = []
    found = home.drive("dashboard", {"paths": ["/api/plugins/lcm/ask/chart"]})
    assert found["plugin"] is None
    assert found["answers"][0][0] == 404


def test_the_status_knows_what_the_agent_measured(home):
    """`hermes lcm status` is another process than the agent, and still says how large its requests are."""
    assert home.hermes("chat", "-Q", "-q", TURNS[0].user).returncode == 0
    done = home.hermes("lcm", "status", "--json")
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found["engine"]["active"]
    assert found["context"]["window"] == 65536
    assert found["requests"]["requests"] == 1
    assert found["context"]["last_prompt_tokens"] == found["requests"]["prompt_tokens"] > 0
    assert found["list"]["messages"] == 2
    why = home.hermes("lcm", "why")
    assert why.returncode == 0
    assert "in 2 rows" in why.stdout
