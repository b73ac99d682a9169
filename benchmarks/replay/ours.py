"""Our side: a real engine on a database of its own."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from ..plugin import load
from .strict import Row
from .tally import Tally
from .walk import Counters, walk
from .writer import Writer

__all__ = ["Engine", "counters", "replay"]

_TOPIC, _HINT, _HINTS = 8, 4, 3
"""Tokens of a topic and of a hint, and how many hints."""


def counters() -> Counters:
    """The plugin's own."""
    load()
    tokens = importlib.import_module("lcm.dag.tokens")
    return Counters(tokens.count_message, tokens.count_text)


class Engine:
    """An engine whose summaries are written by the stub, as the JSON that its prompt asks for."""

    def __init__(self, path: Path, window: int, settings: dict[str, Any]) -> None:
        load()
        self._messages = importlib.import_module("lcm.dag.prompts").summary_messages
        self._head: str = importlib.import_module("lcm.dag.renderer").HEAD
        self.writer = Writer(counters().text)
        self.engine = importlib.import_module("lcm").LCMEngine(
            window, db_path=path, settings=settings, summarizer=self._summary
        )
        self.engine.on_session_start("replay")
        self.limit: int = self.engine.threshold_tokens

    def _summary(self, request: Any) -> str:
        """Every size that the prompt asks for, filled; the largest is said to be needed."""
        text, write = request.text, self.writer.text
        sizes = request.levels or (request.max_tokens,)
        answer = json.dumps(
            {
                "topic": write(text, _TOPIC),
                "hints": [write(f"{text}{n}", _HINT) for n in range(_HINTS)],
                "levels": {str(n): write(text, min(n, request.max_tokens)) for n in sizes},
                "sufficient_tokens": sizes[-1],
            },
            ensure_ascii=False,
        )
        self.writer.charge([each["content"] for each in self._messages(request)], answer)
        return answer

    def due(self, tokens: int) -> bool:
        due: bool = self.engine.should_compress(tokens)
        return due

    def compress(self, rows: list[Row], tokens: int) -> list[Row]:
        result: list[Row] = self.engine.compress(rows, current_tokens=tokens)
        told = vars(self.engine)  # where a host looks
        if told["_last_compress_aborted"]:
            raise RuntimeError(f"a pass failed: {told['_last_summary_error']}")
        if told["_last_compression_made_progress"]:
            self.engine.record_completed_compaction()
        return result

    def answered(self, rows: list[Row], prompt: int, answer: int) -> None:
        usage = {"prompt_tokens": prompt, "completion_tokens": answer}
        self.engine.update_from_response(usage | {"total_tokens": prompt + answer})

    def turn_over(self, rows: list[Row]) -> None:
        """The background has the time that a person takes to read and to type."""
        self.engine.on_turn_complete(rows)
        vars(self.engine)["_ahead"].wait()

    def summary(self, rows: list[Row]) -> str:
        shown = (str(row.get("content")) for row in rows if row.get("_compressed_summary"))
        return next(shown, "").removeprefix(self._head)


def replay(rows: list[Row], window: int, path: Path, settings: dict[str, Any]) -> Tally:
    """What *rows* add up to on our side; the database is at *path*.

    Raises:
        RuntimeError: something failed, and the figures would be of something else.
    """
    side = Engine(path, window, settings)
    tally = walk(rows, side, counters())
    problems = side.engine.get_status()["problems"]
    side.engine.close()
    if problems:
        raise RuntimeError(f"the engine has problems: {problems}")
    return tally
