"""Hold the demonstration's conversation with the real Hermes agent; runs in its Python.

Reads the users' texts as JSON on standard input; prints one JSON line an event, each behind
a mark, because the host prints too.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from typing import Any

MARK = "LCM-DEMO "


def tell(**event: Any) -> None:
    """Print one event."""
    sys.stdout.write(f"{MARK}{json.dumps(event)}\n")
    sys.stdout.flush()


def report_compactions(engine: Any) -> None:
    """Have each compress() tell how many tokens went in and came out."""
    compress = engine.compress

    @functools.wraps(compress)
    def told(messages: list[dict[str, Any]], *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        begun = time.monotonic()
        result: list[dict[str, Any]] = compress(messages, *args, **kwargs)
        tell(
            event="compaction",
            before=engine.count_tokens(messages),
            after=engine.count_tokens(result),
            rows=[len(messages), len(result)],
            seconds=round(time.monotonic() - begun, 2),
        )
        return result

    engine.compress = told


def make_agent(db: Any) -> Any:
    """The agent as ``hermes chat`` makes it, without a terminal."""
    from hermes_cli.config import load_config
    from hermes_cli.runtime_provider import resolve_runtime_provider
    from hermes_cli.tools_config import _get_platform_tools
    from run_agent import AIAgent  # type: ignore[import-not-found]

    config = load_config()
    model = config["model"]["default"]
    runtime = resolve_runtime_provider(requested=None, target_model=model)
    return AIAgent(
        **{key: runtime.get(key) for key in ("api_key", "base_url", "provider", "api_mode")},
        model=model,
        enabled_toolsets=sorted(_get_platform_tools(config, "cli")),
        quiet_mode=True,
        platform="cli",
        session_db=db,
        skip_memory=True,
        skip_context_files=True,
    )


def main() -> None:
    """Say every text, in order."""
    from hermes_state import SessionDB  # type: ignore[import-not-found]

    texts = json.load(sys.stdin)
    db = SessionDB()
    agent = make_agent(db)
    agent.suppress_status_output = True
    engine = agent.context_compressor
    tell(event="engine", name=engine.name, threshold=engine.threshold_tokens)
    if engine.name == "lcm":
        report_compactions(engine)
    history: list[dict[str, Any]] = []
    for number, text in enumerate(texts, 1):
        result = agent.run_conversation(text, conversation_history=history)
        history = result["messages"]
        tell(event="turn", number=number, final=str(result.get("final_response")))
    tell(event="end", session=agent.session_id)
    agent.shutdown_memory_provider(history)
    agent.close()
    db.close()


main()
