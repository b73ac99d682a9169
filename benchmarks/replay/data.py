"""The conversations: real ones where they are at hand, else the project's own story."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..plugin import ROOT, load
from .strict import Row

__all__ = ["DATA", "STORY", "conversations", "sets_in", "story"]

#: Where real conversations are, one folder a data set; not part of the project.
DATA = ROOT.parent / "shared" / "data" / "conv"
STORY = "story"


def sets_in(folder: Path) -> list[str]:
    """Names of the data sets, in order."""
    found = sorted(path.name for path in folder.glob("*") if any(path.glob("*.jsonl")))
    return found or [STORY]


def conversations(folder: Path, name: str, limit: int | None = None) -> list[tuple[str, list[Row]]]:
    """(name, rows) of the first *limit* conversations of a data set.

    Raises:
        LookupError: there is no such data set.
    """
    if name == STORY:
        return [(STORY, story())]
    files = sorted((folder / name).glob("*.jsonl"))[:limit]
    if not files:
        raise LookupError(f"There is no data set {name} in {folder}: {', '.join(sets_in(folder))}.")
    return [(path.stem, _read(path)) for path in files]


def _read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def story() -> list[Row]:
    """The demo's five days, with the files that its agent reads; without the search of the last."""
    load()
    told = importlib.import_module("lcm.demo.story")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="lcm-replay-story-") as folder:
        told.lay_out(Path(folder))
        for turn in told.turns():
            if not any(map(callable, turn.steps)):  # an answer that is worked out needs a host
                rows += _turn(turn, Path(folder), len(rows))
    return rows


def _turn(turn: Any, folder: Path, number: int) -> list[Row]:
    rows: list[Row] = [{"role": "user", "content": turn.user}]
    for step in turn.steps:
        ids = [f"call_{number}_{at}" for at in range(len(step.calls))]
        rows.append({"role": "assistant", "content": step.text or "", **_calls(step.calls, ids)})
        for each, call in zip(ids, step.calls, strict=True):
            text = (folder / call.arguments["path"]).read_text(encoding="utf-8")
            rows.append({"role": "tool", "tool_call_id": each, "content": text})
    return rows


def _calls(calls: Sequence[Any], ids: Sequence[str]) -> Row:
    made = [
        {"id": each, "type": "function", "function": {"name": call.name, "arguments": call.wire}}
        for each, call in zip(ids, calls, strict=True)
    ]
    return {"tool_calls": made} if made else {}
