"""One of a crew of processes: does what each line of its input says, answers each with a line."""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

import loaded  # noqa: F401 - makes ``lcm`` importable
from talking import Complaints, engine_on, rows_until, talk


def alone(path: str, session: str, turns: int, compact_every: int) -> None:
    """A session of its own."""
    engine = engine_on(path, session)
    talk(engine, session, range(turns), compact_every=compact_every)
    engine.close()


def together(path: str, session: str, turns: int, compact_every: int) -> None:
    """A session that others have too, with the same list."""
    engine = engine_on(path, session)
    for turn in range(1, turns + 1):
        engine.on_turn_complete(rows_until(session, turn))
    if compact_every:
        engine.compress(rows_until(session, turns), force=True)
    engine.close()


def main() -> None:
    complaints = Complaints()
    jobs = {"alone": alone, "together": together}
    for line in sys.stdin:
        told: dict[str, Any] = {"problems": []}
        for job, *arguments in json.loads(line):
            try:
                jobs[job](*arguments)
            except Exception:  # noqa: BLE001 - told to the parent
                told["problems"].append(traceback.format_exc())
        told["problems"] += complaints.take()
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
