"""Do in the real command line, without a terminal, what people do: /new, /undo, /branch ..."""

from __future__ import annotations

from common import give, public, read_job


def act(cli, verb: str, argument) -> None:
    """One action of a person."""
    if verb == "say":
        cli.chat(argument)
    elif verb == "new":
        cli.new_session(silent=True)
    elif verb == "undo":
        cli.undo_last(argument or 1, prefill=False)
    elif verb == "retry":
        again = cli.retry_last()
        cli.chat(again)
    elif verb == "branch":
        cli._handle_branch_command("/branch")
    elif verb == "resume":
        cli._handle_resume_command(f"/resume {argument}")
    elif verb == "compress":
        cli._manual_compress(f"/compress {argument or ''}".strip())
    else:
        raise ValueError(verb)


def main() -> None:
    from cli import HermesCLI

    job = read_job()
    cli = HermesCLI(compact=True, **({"resume": job["session"]} if job.get("session") else {}))
    seen = []
    for verb, argument in job["actions"]:
        act(cli, verb, seen[0]["session"] if argument == "first session" else argument)
        engine = cli.agent.context_compressor if cli.agent else None
        seen.append(
            {
                "action": verb,
                "session": cli.session_id,
                "engine": getattr(engine, "name", None),
                "engine_session": getattr(engine, "_session_id", None),
                "list": [
                    {**public(row), "_ours": bool(row.get("_compressed_summary"))}
                    for row in cli.conversation_history
                ],
                "refused": getattr(engine, "_last_compress_refused_would_grow", None),
            }
        )
    cli.agent.shutdown_memory_provider(cli.conversation_history)
    cli.agent.close()
    give({"seen": seen})


main()
