"""Make the pictures of the explorer again: run.py scripts.pictures .venvs/quickstart-home/hermes/lcm/lcm.db.

Of the page itself, served of the conversation of scripts/quickstart, in Chromium; needs the package playwright.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path
from typing import Any, Final

from ..console.serving import Server

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_SIZE: Final = {"width": 1180, "height": 820}
_QUERY: Final = "odd brass plate"


def main(arguments: list[str]) -> int:
    """Serve the database, search in it, open what the user said, and keep what is seen, light and dark."""
    from playwright.sync_api import sync_playwright

    server = Server(arguments[0])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as driver:
        # The sandbox takes rights that a container does not give; the page is ours.
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport=_SIZE, color_scheme=scheme)
            _taken(page, server.url, FOLDER / f"explorer-{scheme}.png")
        browser.close()
    server.shutdown()
    server.server_close()
    return 0


def _taken(page: Any, url: str, picture: Path) -> None:
    page.goto(url)
    page.locator("#state", has_text="live").wait_for()
    page.fill("#query", _QUERY)
    page.keyboard.press("Enter")
    page.locator("#list button", has_text="user, turn 2").first.click()
    page.locator("#detail article").wait_for()
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(500)
    page.screenshot(path=str(picture))
    sys.stdout.write(f"{picture}\n")
