"""A real browser, without a window: Chromium, driven by playwright."""

from __future__ import annotations

import contextlib
import shutil
import time as clock
from dataclasses import dataclass, field
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_MISSING = (
    "NO BROWSER: what the explorer's page does is not looked at. It takes Chromium on PATH (Debian: apt-get install "
    "chromium) and the package playwright, which scripts/test installs."
)


#: Width of all, how far it is scrolled, width of what is seen, number of messages.
_PLACES = """
[document.getElementById('length').clientWidth, document.getElementById('scroll').scrollLeft,
 document.getElementById('graph').clientWidth,
 Number(document.getElementById('state').textContent.replace(/,/g, '').split(' ')[0])]
"""


_READY = "document.getElementById('state').textContent !== ''"


@dataclass(slots=True)
class Seen:
    """A page, and what it did that nobody sees."""

    page: Any
    messages: list[str] = field(default_factory=list)
    """Of its console, errors and violations of its policy included."""
    requests: list[str] = field(default_factory=list)


@contextlib.contextmanager
def browsing():
    """Gives a function that opens an address in a new window: ``open(url, scheme, ready)``."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        pytest.skip(_MISSING)
    with sync_playwright() as driver:
        # The sandbox takes rights that a container does not give; every page here is ours.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])

        def open_page(url, scheme="light", ready=_READY):
            page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme=scheme)
            seen = Seen(page)
            page.on("console", lambda said: seen.messages.append(said.text))
            page.on("pageerror", lambda error: seen.messages.append(str(error)))
            page.on("request", lambda asked: seen.requests.append(asked.url))
            page.goto(url)
            until(seen, ready)
            return seen

        yield open_page
        browser.close()


def until(seen, expression, seconds=20.0):
    """Wait until *expression* is true in the page; playwright's own way is against the page's policy."""
    end = clock.monotonic() + seconds
    while not seen.page.evaluate(expression):
        assert clock.monotonic() < end, f"never so: {expression} ({seen.messages})"
        seen.page.wait_for_timeout(50)


def click_on(page, index, height):
    """Click in the graph: on the message at a place, so many pixels above the bottom."""
    box = page.locator("#graph").bounding_box()
    wide, left, shown, count = page.evaluate(_PLACES)
    at = (index + 0.5) * wide / count - left
    page.mouse.click(box["x"] + min(max(at, 0), shown - 1), box["y"] + box["height"] - height)
