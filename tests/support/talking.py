"""A conversation that is the same in every process, an engine that has it, and what must be stored then."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lcm import LCMEngine
from lcm.console.verify import verify
from lcm.storage import open_store
from lcm.storage.canon import encode

Row = dict[str, Any]
ROWS = 4
_FILLER = "the tide was read and noted, the lamp was trimmed, nothing else was seen. " * 4


class Complaints(logging.Handler):
    """Everything that the plugin logged as a warning or worse: a door that failed tells it there."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: list[str] = []
        logging.getLogger("lcm").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep its text."""
        self.told.append(record.getMessage())

    def take(self) -> list[str]:
        """What was told since the last look."""
        told, self.told = self.told, []
        return told


def rows_of(session: str, turn: int) -> list[Row]:
    """One turn: a question, a call, its result (every fifth one large), an answer."""
    mark = f"{session}-{turn}"
    function = {"name": "read_file", "arguments": json.dumps({"path": f"log/{mark}.txt"})}
    call = {"id": f"call_{mark}", "type": "function", "function": function}
    return [
        {"role": "user", "content": f"What of {mark}? {_FILLER}"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{mark}", "content": f"{mark} " + _FILLER * (1 + 9 * (turn % 5 == 0))},
        {"role": "assistant", "content": f"Of {mark}: {_FILLER}"},
    ]  # fmt: skip


def rows_until(session: str, turns: int) -> list[Row]:
    """The first so many turns."""
    return [row for turn in range(turns) for row in rows_of(session, turn)]


def engine_on(path: Path | str, session: str) -> LCMEngine:
    """An engine with a summariser that answers at once."""
    settings = {"leaf_tokens": 800, "fresh_tail_tokens": 1000, "condense_fanin": 3}
    engine = LCMEngine(
        16_000, db_path=path, settings=settings, summarizer=lambda asked: asked.text[:120]
    )
    engine.on_session_start(session)
    return engine


def talk(
    engine: LCMEngine,
    session: str,
    turns: range,
    *,
    live: Sequence[Row] = (),
    compact_every: int = 0,
    said: Callable[[str, Any], None] = lambda _what, _value: None,
) -> list[Row]:
    """Turn after turn through the doors that a host uses; *said* hears of each that returned."""
    now = list(live)
    for turn in turns:
        now += rows_of(session, turn)
        engine.on_turn_complete(now)
        said("turn", turn)
        if compact_every and turn % compact_every == compact_every - 1:
            before = now
            now = engine.compress(now, force=True)
            frame = next((row["content"][-9:-1] for row in now if "[lcm " in str(row)[:400]), "")
            said("compaction", frame if now is not before else "")
    return now


def faults_of(path: Path | str, sessions: dict[str, tuple[int, int]]) -> list[str]:
    """What is wrong with the store: by session the least and the most turns that it may hold."""
    store = open_store(path, create=False)
    try:
        faults = []
        for name, (least, most) in sessions.items():
            session = store.session(name)
            entries = store.entries(session.line) if session else []
            bodies = [m.body for m in store.read([(entry.id, 0) for entry in entries])]
            wanted = [encode(row) for row in rows_until(name, most)]
            if not least * ROWS <= len(bodies) <= most * ROWS:
                faults.append(f"{name}: {len(bodies)} of {least * ROWS} to {most * ROWS} messages")
            elif bodies != wanted[: len(bodies)]:
                at = next(n for n, body in enumerate(bodies) if body != wanted[n])
                faults.append(f"{name}: row {at} of {len(bodies)} is {bodies[at][:80]!r}")
            elif len(bodies) % ROWS:
                faults.append(f"{name}: a part of what one door brought: {len(bodies)} messages")
            if withdrawn := sum(entry.withdrawn for entry in entries):
                faults.append(f"{name}: {withdrawn} messages are taken for undone")
        report = verify(store)
        return faults + [f"{each.kind} {each.uid}: {each.what}" for each in report.failures]
    finally:
        store.close()
