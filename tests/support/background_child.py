"""A process that ends while its background is in the middle of a call of the summariser."""

from __future__ import annotations

import sys
import time

import loaded  # noqa: F401 - makes ``lcm`` importable
from background import WINDOW, Slow, above_soft
from lcm import LCMEngine


class Stuck(Slow):
    """Never comes back."""

    def __call__(self, request):
        self.begun.set()
        time.sleep(60)


engine = LCMEngine(WINDOW, db_path=sys.argv[1], settings={}, summarizer=Stuck())
engine.on_session_start("s")
talk = above_soft(engine, wait=False)
while not talk.summarizer.begun.is_set():
    talk.say(words=4)
    talk.summarizer.begun.wait(0.2)
sys.stdout.write("leaving\n")
