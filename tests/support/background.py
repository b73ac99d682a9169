"""Conversations that grow turn by turn, with a summariser that can be watched and held."""

from __future__ import annotations

import threading
import time

WINDOW = 8000
THRESHOLD = 6000
TURN = "word {n} about thing {n} and why it matters, "


def turn(n, words=14):
    return [
        {"role": "user", "content": f"question {n}: " + TURN.format(n=n) * words},
        {"role": "assistant", "content": f"answer {n}: " + TURN.format(n=n) * words},
    ]


class Slow:
    """A summariser that counts and takes its time."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.sources = []
        self.passing = False
        self.in_passes = []
        self.gate = None
        self.begun = threading.Event()

    def __call__(self, request):
        self.sources.append(request.text)
        if self.passing:
            self.in_passes.append(request.text)
        self.begun.set()
        if self.gate is not None:
            self.gate.wait(30)
        time.sleep(self.seconds)
        return f"What was said, number {len(self.sources)}."


class Talk:
    """A conversation as a host drives it: turns that grow, a pass where one is asked for."""

    def __init__(self, engine, *, wait=True):
        self.engine, self.wait = engine, wait
        self.summarizer = engine._summarizer
        self.rows = []
        self.n = 0
        self.waits = []
        self.passes = 0

    def say(self, **kw):
        """One turn; True if there was a pass in front of it."""
        self.n += 1
        begun, said = turn(self.n, **kw)
        self.rows.append(begun)
        compacted = False
        if self.engine.should_compress(self.engine.count_tokens(self.rows)):
            self.summarizer.passing = True
            start = time.perf_counter()
            result = self.engine.compress(self.rows, self.engine.count_tokens(self.rows))
            self.waits.append(time.perf_counter() - start)
            self.summarizer.passing = False
            compacted = result is not self.rows
            self.rows = list(result)
            self.passes += 1
        self.rows.append(said)
        self.engine.update_from_response({"prompt_tokens": self.engine.count_tokens(self.rows)})
        self.engine.on_turn_complete(self.rows)
        if self.wait:
            assert self.engine._ahead.wait(30)
        return compacted

    def until_pass(self, most=60, **kw):
        for _ in range(most):
            if self.say(**kw):
                return
        raise AssertionError("no pass came")


def above_soft(engine, **kw):
    """A conversation that is about to have its first job."""
    talk = Talk(engine, **kw)
    while engine.last_prompt_tokens < int(0.6 * WINDOW) - 500:
        talk.say()
    return talk
