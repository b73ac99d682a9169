"""Our side: a real engine on a database of its own, asked through the tool that the agent has."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..plugin import load
from .questions import Asked, Question

__all__ = ["WINDOW", "Answered", "Engine"]

WINDOW = 1_000_000
"""Of a model that nobody would wait for: it holds whatever is asked of it, so nothing is compacted."""


class Answered:
    """What one call of ``lcm_grep`` gave."""

    def __init__(self, answer: str, numbers: dict[str, int], turns: Sequence[int]) -> None:
        told = json.loads(answer)
        if "error" in told:
            raise RuntimeError(f"lcm_grep: {told}")
        self.results: list[dict[str, Any]] = told["results"]
        self._numbers, self._turns = numbers, turns
        self.tokens = importlib.import_module("lcm.dag.tokens").count_text(answer)
        """What reading all of it costs."""

    def leads(self, *, summaries: bool = False) -> list[frozenset[int]]:
        """Indexes of the messages that each result is or, with *summaries*, says that it stands for; best first.

        A summary is counted by what the answer says of it, the turns from which it was made, and only for those.
        """
        return [
            frozenset({self._numbers[each["uid"]]})
            if each["kind"] == "message"
            else frozenset(self._within(*each["turns"]) if summaries else ())
            for each in self.results
        ]

    def _within(self, first: int, last: int) -> Iterator[int]:
        return (at for at, turn in enumerate(self._turns) if first <= turn <= last)


class Engine:
    """An engine that hears a conversation, and is asked in between."""

    def __init__(
        self,
        asked: Asked,
        path: Path,
        settings: dict[str, Any],
        window: int = WINDOW,
        *,
        dated: bool = False,
    ) -> None:
        load()
        self._rows = [row | {"message_uid": f"{at:032x}"} for at, row in enumerate(asked.rows)]
        if dated:
            timed = zip(self._rows, asked.times, strict=True)
            self._rows = [row | {"timestamp": time} for row, time in timed]
        self._numbers = {row["message_uid"]: at for at, row in enumerate(self._rows)}
        self._turns = list(accumulate(row["role"] == "user" for row in asked.rows))
        self._heard = 0
        self._list: list[dict[str, Any]] = []
        self._count = importlib.import_module("lcm.dag.tokens").count_messages
        self._engine = importlib.import_module("lcm").LCMEngine(
            window, db_path=path, settings=settings
        )
        self._engine.on_session_start("recall")

    def ask(self, question: Question, **arguments: Any) -> Answered:
        """The answer to a question, asked where it was asked. Questions come by ``before``."""
        end = len(self._rows) if question.before is None else question.before
        while self._heard < end:
            self._hear(self._rows[self._heard : end])
        called = {"query": question.text, **arguments}
        answer = self._engine.handle_tool_call("lcm_grep", called)
        return Answered(answer, self._numbers, self._turns)

    def _hear(self, rows: Sequence[dict[str, Any]]) -> None:
        """Some more of the conversation: as much as makes a compaction due."""
        due = False
        for row in rows:
            self._list.append(row)
            self._heard += 1
            due = self._engine.should_compress(self._count(self._list))
            if due:
                break
        self._engine.ingest(self._list)
        if due:
            self._list = self._engine.compress(self._list, current_tokens=self._count(self._list))

    def close(self) -> None:
        """Let go of the database."""
        self._engine.close()
