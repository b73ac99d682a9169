"""What the drivers share. They run inside a host's Python, each in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def read_job() -> dict:
    """The job that the test wrote."""
    return json.loads(Path(sys.argv[1]).read_text())


def give(result: dict) -> None:
    """Hand the result to the test: one line of JSON."""
    sys.stdout.write(f"\nRESULT {json.dumps(result, default=repr)}\n")
    sys.stdout.flush()


def make_agent(db, **more):
    """The real agent as ``hermes chat`` makes it, without a terminal."""
    from hermes_cli.config import load_config
    from hermes_cli.runtime_provider import resolve_runtime_provider
    from hermes_cli.tools_config import _get_platform_tools
    from run_agent import AIAgent

    config = load_config()
    model = config["model"]["default"]
    runtime = resolve_runtime_provider(requested=None, target_model=model)
    wanted = {
        **{key: runtime.get(key) for key in ("api_key", "base_url", "provider", "api_mode")},
        "model": model,
        "enabled_toolsets": sorted(_get_platform_tools(config, "cli")),
        "quiet_mode": True,
        "platform": "cli",
        "session_db": db,
        "skip_memory": True,
        "skip_context_files": True,
        **more,
    }
    agent = AIAgent(**wanted)
    agent.suppress_status_output = True
    return agent


def public(row: dict) -> dict:
    """A row without what only the host's own book-keeping knows."""
    return {
        key: value
        for key, value in row.items()
        if not key.startswith("_") and key not in ("message_uid", "timestamp")
    }
