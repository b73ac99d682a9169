"""Hermes's own compressor: ``python -m benchmarks.replay.builtin``, with the host's Python.

Reads a job in JSON from each line of its input, and tells what came of it in one line: with
``rows`` the sums of a replay, without them where the compressor compacts and what tail it keeps.
It is made and asked as the host does both (agent/agent_init.py, agent/conversation_loop.py and
agent/conversation_compression.py of hermes-agent 0.19.0); only the call of its model is ours.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

from ..plugin import ROOT
from .ours import counters
from .strict import Row
from .tally import Tally
from .walk import walk
from .writer import Writer

__all__ = ["Builtin", "NoHost", "Rules"]

_LIMIT = re.compile(r"\nTarget ~(\d+) tokens\.")
#: What of its prompt is source: the summary that stands, and the rows that it is to take in.
_SOURCE = re.compile(
    r"(?:PREVIOUS SUMMARY|TURNS TO SUMMARIZE):\n(.*?)"
    r"\n\n(?:Update the summary using|Use this exact structure)",
    re.DOTALL,
)
#: By how much the compressor lets its tail go beyond its budget rather than cut a message off.
_SOFT_CEILING = 1.5


class NoHost(Exception):
    """There is no host's Python where one was looked for."""


class Rules(SimpleNamespace):
    """Where the compressor compacts and what it keeps, in tokens."""

    threshold: int
    tail: int


class Builtin:
    """The compressor's side, in a process of the host's Python."""

    def __init__(self, python: Path) -> None:
        if not python.is_file():
            raise NoHost(f"There is no Python of a host at {python}; --host names one.")
        self._home = tempfile.TemporaryDirectory(prefix="lcm-replay-home-")
        self._child = subprocess.Popen(  # noqa: S603 - ourselves, in the host's Python
            [str(python), "-m", "benchmarks.replay.builtin"],
            cwd=ROOT,
            env={**os.environ, "HERMES_HOME": self._home.name},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.communicate()
        self._home.cleanup()

    def rules(self, window: int) -> Rules:
        """Of a window of that many tokens."""
        return Rules(**self._ask({"window": window}))

    def replay(self, rows: list[Row], window: int) -> Tally:
        """What *rows* add up to on its side."""
        return Tally.of_json(self._ask({"window": window, "rows": rows}))

    def _ask(self, job: dict[str, Any]) -> dict[str, Any]:
        if self._child.stdin is None or self._child.stdout is None:
            raise NoHost("The host's Python has no pipes.")
        self._child.stdin.write(json.dumps(job) + "\n")
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        if not line:
            raise NoHost("The host's Python ended; its own words are above.")
        told: dict[str, Any] = json.loads(line)
        return told


class _Compressor:
    """A :class:`.walk.Side`."""

    def __init__(self, window: int) -> None:
        module: Any = importlib.import_module("agent.context_compressor")
        self.writer = Writer(counters().text)
        module.call_llm = self._call
        self._head: str = module.SUMMARY_PREFIX
        self.compressor = module.ContextCompressor(
            model="stub", config_context_length=window, quiet_mode=True
        )
        self.compressor.on_session_start("replay")
        self.limit: int = self.compressor.threshold_tokens

    @property
    def rules(self) -> dict[str, int]:
        tail = int(self.compressor.tail_token_budget * _SOFT_CEILING)
        return {"threshold": self.limit, "tail": tail}

    def _call(self, **asked: Any) -> SimpleNamespace:
        """In place of the host's auxiliary model."""
        prompt: str = asked["messages"][0]["content"]
        limit, source = _LIMIT.search(prompt), _SOURCE.search(prompt)
        if limit is None or source is None:
            raise ValueError("the compressor's prompt is not the one that this reads")
        text = self.writer.text(source[1], int(limit[1]))
        self.writer.charge([prompt], text)
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=text))])

    def due(self, tokens: int) -> bool:
        due: bool = self.compressor.should_compress(tokens)
        return due

    def compress(self, rows: list[Row], tokens: int) -> list[Row]:
        try:
            result: list[Row] = self.compressor.compress(rows, current_tokens=tokens)
        except IndexError:  # results behind the head that it protects: it looks behind the list
            return rows
        told = vars(self.compressor)
        if told["_last_compress_aborted"] or told["_last_summary_fallback_used"]:
            raise RuntimeError(f"a pass failed: {told['_last_summary_error']}")
        self.compressor.last_prompt_tokens = -1
        self.compressor.awaiting_real_usage_after_compression = True
        if told["_last_compression_made_progress"]:
            self.compressor.record_completed_compaction(used_fallback=False)
        return result

    def answered(self, rows: list[Row], prompt: int, answer: int) -> None:
        usage = {"prompt_tokens": prompt, "completion_tokens": answer}
        self.compressor.update_from_response(usage | {"total_tokens": prompt + answer})

    def turn_over(self, rows: list[Row]) -> None:
        """Nothing: it keeps nothing."""

    def summary(self, rows: list[Row]) -> str:
        shown = (str(row.get("content")) for row in rows if row.get("_compressed_summary"))
        return next(shown, "").partition(self._head)[2]


def _main() -> None:
    tell, sys.stdout = sys.stdout, sys.stderr  # whatever the host prints is no answer
    counted = counters()
    for line in sys.stdin:
        job = json.loads(line)
        side = _Compressor(job["window"])
        told = walk(job["rows"], side, counted).as_json() if "rows" in job else side.rules
        tell.write(json.dumps(told) + "\n")
        tell.flush()


if __name__ == "__main__":
    _main()
