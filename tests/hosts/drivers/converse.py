"""Have the real agent hold a conversation; report every row that was ever in its list."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

from common import give, make_agent, public, read_job


def wait_for_children() -> None:
    """Delegated work and reviews run on threads of their own; wait until they have ended."""
    from tools.async_delegation import list_async_delegations

    deadline = time.monotonic() + 60
    while any(d.get("status") in ("queued", "running") for d in list_async_delegations()) or any(
        thread.name == "bg-review" for thread in threading.enumerate()
    ):
        if time.monotonic() > deadline:
            raise TimeoutError("an agent in the background does not end")
        time.sleep(0.05)


class Witness:
    """Remembers each distinct row once, and which rows the list held after each turn."""

    def __init__(self) -> None:
        self.rows: list[dict] = []
        self.turns: list[dict] = []
        self._known: dict[str, int] = {}

    def number(self, row: dict) -> int:
        key = json.dumps(public(row), sort_keys=True, default=repr)
        if key not in self._known:
            self._known[key] = len(self.rows)
            ours = bool(row.get("_compressed_summary"))
            self.rows.append({**public(row), "_ours": ours})
        return self._known[key]

    def turn(self, agent, result: dict, seconds: float) -> None:
        engine = agent.context_compressor
        self.turns.append(
            {
                "session": agent.session_id,
                "list": [self.number(row) for row in result["messages"]],
                "final": str(result.get("final_response")),
                "failed": bool(result.get("failed")),
                "compressions": engine.compression_count,
                "awaiting": getattr(engine, "awaiting_real_usage_after_compression", None),
                "seconds": round(seconds, 3),
            }
        )


def main() -> None:
    from hermes_state import SessionDB

    job = read_job()
    db = SessionDB()
    resumed = job.get("session")
    agent = make_agent(db, **({"session_id": resumed} if resumed else {}))
    history = db.get_messages_as_conversation(resumed) if resumed else []
    engine = agent.context_compressor
    witness = Witness()
    start = [witness.number(row) for row in history]
    for text in job["turns"]:
        began = time.monotonic()
        result = agent.run_conversation(text, conversation_history=history)
        history = result["messages"]
        witness.turn(agent, result, time.monotonic() - began)
        wait_for_children()
        if len(witness.turns) == job.get("killed_after"):
            os.kill(os.getpid(), signal.SIGKILL)
    about = {
        "engine": engine.name,
        "class": type(engine).__name__,
        "module": type(engine).__module__,
        "threshold_tokens": engine.threshold_tokens,
        "tools": sorted(agent._context_engine_tool_names),
        "protect": [engine.protect_first_n, engine.protect_last_n],
    }
    sessions = db._conn.execute("select id, parent_session_id from sessions").fetchall()
    agent.shutdown_memory_provider(history)
    agent.close()
    db.close()
    give(
        {
            **about,
            "start": start,
            "rows": witness.rows,
            "turns": witness.turns,
            "sessions": [list(row) for row in sessions],
        }
    )


main()
