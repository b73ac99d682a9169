"""A process that ends after so many turns, whatever its background is doing with the database."""

from __future__ import annotations

import sys

import loaded  # noqa: F401 - makes ``lcm`` importable
from lcm import LCMEngine

path, turns = sys.argv[1], int(sys.argv[2])
engine = LCMEngine(16_000, db_path=path, settings={}, summarizer=lambda _: "A summary of it. " * 20)
engine.on_session_start("s")
rows = []
for n in range(turns):
    rows += [
        {"role": "user", "content": f"question {n} " + "word " * 60},
        {"role": "assistant", "content": f"answer {n} " + "word " * 60},
    ]
    engine.on_turn_complete(rows)
    if engine.should_compress(engine.count_tokens(rows)):
        rows = engine.compress(rows, engine.count_tokens(rows))
