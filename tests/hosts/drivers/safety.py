"""Have the real agent hold a conversation, with what it shows and what the engine says at each turn."""

from __future__ import annotations

from common import give, make_agent, read_job


class Line:
    """The command line, as far as the plugin manager of both hosts knows it: it has the agent."""

    def __init__(self, agent) -> None:
        self.agent = agent


def facts(engine) -> dict:
    """What the engine says, and what a host would make of it."""
    cooldown = engine.get_active_compression_failure_cooldown(refresh=True)
    return {
        "cooldown": dict(cooldown) if cooldown is not None else None,
        "cooldown_blocks": bool(cooldown),
        "compressions": engine.compression_count,
        "status": {
            name: engine.get_status()[name]
            for name in ("shortened_requests", "model_calls", "problems", "events", "cooldown")
        },
    }


def main() -> None:
    from hermes_cli.plugins import get_plugin_manager
    from hermes_state import SessionDB

    job = read_job()
    db = SessionDB()
    agent = make_agent(db)
    engine = agent.context_compressor
    lines, events, turns = [], [], []
    agent.status_callback = lambda kind, text: lines.append([kind, str(text)])
    engine.on_event = lambda event: events.append(event.plain())
    if job.get("command_line"):
        get_plugin_manager()._cli_ref = Line(agent)
    if job.get("true_cooldown"):
        type(engine).get_active_compression_failure_cooldown = lambda *_, **__: {
            "remaining_seconds": 60.0
        }
    history = job.get("history", [])
    for text in job["turns"]:
        result = agent.run_conversation(text, conversation_history=history)
        history = result["messages"]
        turns.append(
            {
                "final": str(result.get("final_response")),
                "failed": bool(result.get("failed")),
                **facts(engine),
            }
        )
    has_content = engine.has_content_to_compress(history)
    forced, _ = agent._compress_context(history, "", approx_tokens=None, force=True)
    about = {
        "engine": engine.name,
        "session": agent.session_id,
        "threshold": engine.threshold_tokens,
        "rows": len(history),
        "has_content": has_content,
        "forced": forced is not history and len(forced) < len(history),
    }
    agent.shutdown_memory_provider(history)
    agent.close()
    db.close()
    give({**about, "lines": lines, "events": events, "turns": turns})


main()
