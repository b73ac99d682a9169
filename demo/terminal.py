"""What a person sees: steps with the time they take, lines, and no silence over a second."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

TICK_SECONDS = 0.5
#: Where lines cannot be rewritten, a sign of life every so many seconds.
SIGN_OF_LIFE_SECONDS = 5.0
#: Columns of such a sign, where no terminal sets a limit.
WIDE = 120


def progress_line(what: str, detail: str, seconds: float, width: int) -> str:
    """One line of *width* columns at most. The seconds move, so they are never what is cut."""
    taken = f" ({seconds:.0f} s)"
    text, room = f"{what}: {detail or 'working'}", max(width - len(taken), 1)
    return f"{text if len(text) <= room else f'{text[: room - 1]}…'}{taken}"


class Terminal:
    """Writes to standard output; rewrites the last line only where that works."""

    def __init__(self) -> None:
        self._lively = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._lock = threading.Lock()
        self._status = ""

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def say(self, text: str = "") -> None:
        """A line that stays."""
        with self._lock:
            self._write(f"{self._blank()}{text}\n")
            if self._lively and self._status:
                self._write(self._status)

    def title(self, text: str) -> None:
        """A heading."""
        self.say()
        self.say(f"\033[1m{text}\033[0m" if self._lively else f"== {text}")

    def status(self, text: str) -> None:
        """A line that the next one replaces; nothing where lines cannot be replaced.

        It must be shorter than the terminal is wide, or it could not be rewritten.
        """
        if self._lively:
            with self._lock:
                self._write(self._blank())
                self._status = text
                self._write(self._status)

    def _blank(self) -> str:
        return "\r\033[K" if self._lively and self._status else ""

    @contextmanager
    def step(self, what: str) -> Iterator[Step]:
        """Show that *what* is going on, for how long, and whether it ended well."""
        step = Step(what)
        begun = time.monotonic()
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(step, begun, done), daemon=True)
        ticker.start()
        end = "failed"
        try:
            yield step
            end = "done"
        except KeyboardInterrupt:
            end = "stopped"
            raise
        finally:
            done.set()
            ticker.join()
            self._clear()
            self.say(f"{what}: {end} ({time.monotonic() - begun:.1f} s)")

    def _tick(self, step: Step, begun: float, done: threading.Event) -> None:
        said = begun
        while not done.wait(TICK_SECONDS):
            now = time.monotonic()
            width = shutil.get_terminal_size().columns - 1 if self._lively else WIDE
            text = progress_line(step.what, step.detail, now - begun, width)
            if self._lively:
                self.status(text)
            elif now - said >= SIGN_OF_LIFE_SECONDS or said == begun:
                self.say(text)
                said = now

    def _clear(self) -> None:
        with self._lock:
            self._write(self._blank())
            self._status = ""

    def agree(self, question: str) -> bool:
        """Ask; anything but a yes, an ended input included, is a no."""
        self._write(f"{question} [y/N] ")
        answer = sys.stdin.readline().strip().lower()
        if not answer:
            self._write("\n")
        return answer in ("y", "yes")


class Step:
    """Something that takes a while; ``detail`` says how far it is."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.detail = ""
