"""A person at the real command line of a host, without a terminal."""

from __future__ import annotations

import json
import random
from itertools import count
from pathlib import Path

#: What is said behind a mark: enough for a pass to be worth it.
WORDS = " The tide gauge was read and noted as usual on that day." * 12
_PARTS = ("lens", "relay", "battery", "fog horn", "barometer", "stair", "clock", "hinge", "rope")
_DEEDS = ("measured", "cleaned", "oiled", "repaired", "painted", "replaced", "checked", "sealed")

_numbers = [count(1)]


def begin_at(number: int) -> None:
    """Number what is said from here; for a conversation that goes on in another process."""
    _numbers[0] = count(number)


def paragraph(dice: random.Random) -> str:
    """As many words that are no other paragraph's."""
    return "".join(
        f" The {dice.choice(_PARTS)} of berth {dice.randint(2, 99)} was {dice.choice(_DEEDS)}"
        f" in {dice.randint(3, 90)} minutes."
        for _ in range(10)
    )


def text(*orders: str, words: str = WORDS) -> str:
    """Something to say, with a mark of its own, and what the model is to do about it."""
    return "\n".join([f"u{next(_numbers[0]):04d}:{words}", *orders])


def texts(many: int) -> list[str]:
    return [text() for _ in range(many)]


def look(words: str = WORDS) -> str:
    """An order to read a file that holds a mark of its own, which stands nowhere else."""
    number = next(_numbers[0])
    page = Path(f"page-{number}.txt")
    page.write_text(f"t{number:04d}:{words}\n")
    return f"DO read_file {json.dumps({'path': page.name})}"


def mark(said: str) -> str:
    """The mark of something said."""
    return said.partition(":")[0]


def mark_in(order: str) -> str:
    """The mark in the file that an order of :func:`look` is about."""
    return f"t{int(order.partition('page-')[2].partition('.')[0]):04d}"


class Person:
    """Says and does what people do; ``session`` resumes one, as ``hermes --resume`` does."""

    def __init__(self, session: str | None = None, *, in_place: bool = True) -> None:
        from cli import HermesCLI

        self.cli = HermesCLI(compact=True, **({"resume": session} if session else {}))
        self.in_place = in_place

    @property
    def session(self) -> str:
        return self.cli.session_id

    @property
    def agent(self):
        return self.cli.agent

    @property
    def engine(self):
        return self.cli.agent.context_compressor

    @property
    def rows(self) -> list[dict]:
        return self.cli.conversation_history

    def say(self, *texts) -> None:
        for text in texts:
            self.cli.chat(text)
            self._settle()

    def _settle(self) -> None:
        if self.cli.agent is not None:
            self.cli.agent.compression_in_place = self.in_place

    def undo(self, turns: int = 1) -> None:
        self.cli.undo_last(turns, prefill=False)

    def retry(self) -> None:
        self.say(self.cli.retry_last())

    def new(self) -> None:
        self.cli.new_session(silent=True)

    def branch(self) -> str:
        self.cli._handle_branch_command("/branch")
        self._settle()
        return self.session

    def resume(self, session: str) -> None:
        self.cli._handle_resume_command(f"/resume {session}")
        self._settle()

    def compress(self, how: str = "") -> None:
        self._settle()
        self.cli._manual_compress(f"/compress {how}".strip())

    def leave(self) -> None:
        """What the command line does at the end."""
        if self.cli.agent is not None:
            self.cli.agent.shutdown_memory_provider(self.cli.conversation_history)
            self.cli.agent.close()
