"""This clone as the package ``lcm``, an engine on a file, and a summariser that answers at once."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from .work import Row

__all__ = ["LEVELS", "ROOT", "Stub", "answer", "check_stored", "engine_on", "load"]

ROOT = Path(__file__).resolve().parent.parent
LEVELS = (15, 50, 250, 1000)
_CHARACTERS_PER_TOKEN = 3
_PROSE = (
    "The user asked for a change in the parser, the agent read three files and found the reason in"
    " a table of states that was filled once too often. It wrote a test first, changed two lines,"
    " ran everything again and reported 214 passed. The user wants names kept as they are. Open:"
    " the same table is filled by the importer, which nobody has looked at. "
)


def load() -> None:
    """Import the clone's root as ``lcm``, as a host does by path."""
    if "lcm" in sys.modules:
        return
    # ``-m`` puts the clone on the path, where our tools/ would shadow a host's own package.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
    spec = importlib.util.spec_from_file_location(
        "lcm", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {ROOT}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["lcm"] = module
    spec.loader.exec_module(module)


class Stub:
    """Stands for the model: the JSON that dag/prompts.yaml asks for, at once.

    ``seconds`` is the time spent in it, which is not ours. With *prose*, one
    plain text, of which the engine has to extract the smaller sizes itself.
    """

    def __init__(self, *, prose: bool = False) -> None:
        self._prose = prose
        self.seconds = 0.0
        self.calls = 0

    def __call__(self, request: Any) -> str:
        start = time.perf_counter()
        self.calls += 1
        told = json.loads(answer(self.calls))
        most = len(request.text) // 2  # what is no smaller than its source is no summary
        told["levels"] = {level: text[:most] for level, text in told["levels"].items()}
        text = told["levels"][str(LEVELS[-1])] if self._prose else json.dumps(told)
        self.seconds += time.perf_counter() - start
        return text


def answer(number: int) -> str:
    """An answer with every level, about as long as a model would make it."""
    prose = f"Part {number}. " + _PROSE * (1 + max(LEVELS) * _CHARACTERS_PER_TOKEN // len(_PROSE))
    return json.dumps(
        {
            "topic": f"a table of states, part {number}",
            "hints": [f"which file held table {number}", "the two changed lines"],
            "levels": {str(level): prose[: level * _CHARACTERS_PER_TOKEN] for level in LEVELS},
            "sufficient_tokens": 250,
        }
    )


def engine_on(
    path: Path, session: str, stub: Stub | None = None, *, window: int = 128_000, **settings: Any
) -> Any:
    """An engine that stands on *session*, with its database open and every code path warm."""
    load()
    made = importlib.import_module("lcm").LCMEngine(
        window, db_path=path, settings={"target_token_levels": list(LEVELS)} | settings,
        summarizer=stub or Stub(),
    )  # fmt: skip
    made.on_session_start("warm-up")
    made.ingest([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hello"}])
    made.on_session_start(session)
    return made


def check_stored(engine: Any, rows: Sequence[Row], messages: int) -> None:
    """Measure nothing that was not done.

    Raises:
        RuntimeError: the list is not known to the engine, or its file does not hold *messages*
            messages beside those of the warm-up.
    """
    report, problems = engine.ingest(rows), engine.get_status()["problems"]
    with closing(sqlite3.connect(f"file:{engine.db_path}?mode=ro", uri=True)) as sql:
        (stored,) = sql.execute("SELECT count(*) - 2 FROM messages").fetchone()
    if report.new or problems or stored != messages:
        raise RuntimeError(f"{stored} of {messages} messages stored, {report}, {problems}")
