"""Have the real agent hold a conversation with time between its turns; say when it compacted, and in what time."""

from __future__ import annotations

import threading
import time

from common import give, make_agent, read_job

PATIENCE = 120


def watched(engine, passes: list) -> None:
    """Note each pass of *engine*: when it began and ended, and in which thread."""
    compress = engine.compress

    def noted(*args, **kwargs):
        began = time.time()
        try:
            return compress(*args, **kwargs)
        finally:
            passes.append([began, time.time(), threading.current_thread().name])

    engine.compress = noted


def given_time(engine) -> None:
    """Let the background end before each answer of the model is looked at, as if that had taken long."""
    counted = engine.update_from_response

    def waited(usage):
        engine._ahead.wait(PATIENCE)
        counted(usage)

    engine.update_from_response = waited


def give_up_after(seconds: float) -> None:
    """Let the newer host wait so long for a pass: its config allows no less than the five minutes of a call."""
    from agent import conversation_compression

    conversation_compression.resolve_context_compression_timeouts = lambda *_: (seconds, seconds)


def main() -> None:
    from hermes_state import SessionDB

    job = read_job()
    if "give_up_after" in job:
        give_up_after(job["give_up_after"])
    db = SessionDB()
    agent = make_agent(db)
    engine = agent.context_compressor
    passes: list = []
    turns = []
    watched(engine, passes)
    if job.get("time_between_steps"):
        given_time(engine)
    history: list = []
    for text in job["turns"]:
        result = agent.run_conversation(text, conversation_history=history)
        history = result["messages"]
        if job.get("leave_busy"):
            if not engine._ahead.wait(1):  # a call is under way: leave without a word
                give({"left": time.time(), "turns": len(turns)})
                return
        else:
            engine._ahead.wait(PATIENCE)
        turns.append(
            {
                "final": str(result.get("final_response")),
                "failed": bool(result.get("failed")),
                "compressions": engine.compression_count,
            }
        )
    about = {
        "engine": engine.name,
        "session": agent.session_id,
        "problems": engine.get_status()["problems"],
        "turn_state": engine.turn_state(job.get("ask", 1)),
    }
    agent.shutdown_memory_provider(history)
    agent.close()
    db.close()
    give({**about, "passes": passes, "turns": turns})


main()
