"""Our side: a real engine on a database of its own, asked through the tool that the agent has."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from ..plugin import load
from .questions import Asked, Question

__all__ = ["Answered", "Engine"]

#: A model that nobody would wait for; the window holds what is asked of it.
_WINDOW = 1_000_000


class Answered:
    """What one call of ``lcm_grep`` gave."""

    def __init__(self, answer: str, numbers: dict[str, int]) -> None:
        told = json.loads(answer)
        if "error" in told:
            raise RuntimeError(f"lcm_grep: {told}")
        self.found = [numbers[each["uid"]] for each in told["results"] if each["uid"] in numbers]
        """Indexes of messages, best first; summaries are left out."""
        self.tokens = importlib.import_module("lcm.dag.tokens").count_text(answer)
        """What reading all of it costs."""


class Engine:
    """An engine that hears a conversation, and is asked in between."""

    def __init__(self, asked: Asked, path: Path, settings: dict[str, Any]) -> None:
        load()
        self._rows = [row | {"message_uid": f"{at:032x}"} for at, row in enumerate(asked.rows)]
        self._numbers = {row["message_uid"]: at for at, row in enumerate(self._rows)}
        self._heard = 0
        self._engine = importlib.import_module("lcm").LCMEngine(
            _WINDOW, db_path=path, settings=settings
        )
        self._engine.on_session_start("recall")

    def ask(self, question: Question, **arguments: Any) -> Answered:
        """The answer to a question, asked where it was asked. Questions come by ``before``."""
        end = len(self._rows) if question.before is None else question.before
        if end > self._heard:
            self._heard = end
            self._engine.ingest(self._rows[:end])
        called = {"query": question.text, **arguments}
        return Answered(self._engine.handle_tool_call("lcm_grep", called), self._numbers)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.close()
