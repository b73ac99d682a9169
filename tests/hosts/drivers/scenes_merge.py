"""What a host does to rows: it folds, drops, prunes, flattens, adds and restores them; and its other agents."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator

from bench import Bench
from person import WORDS, Person, look, text, texts

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def interrupted(*, in_place: bool) -> dict:
    """A turn is stopped while the model thinks; the next text comes behind the unanswered one."""
    person = Person(in_place=in_place)
    person.say(*texts(2))
    for _ in range(2):
        threading.Timer(0.5, person.agent.interrupt).start()
        person.say(text("WAIT"))
    person.say(text())
    roles = [row["role"] for row in person.rows]
    person.leave()
    again = Person(person.session, in_place=in_place)
    again.say(*texts(3))
    again.compress()
    again.say(text())
    again.leave()
    return {"sessions": [again.session], "roles": roles}


def folded(*, in_place: bool) -> dict:
    """Rows that must not stand side by side are in the host's database: it folds and drops some."""
    bench = Bench(in_place=in_place)
    agent = bench.agent()
    session = agent.session_id
    rows = bench.say(agent, [], *texts(2), text(look()))
    bench.leave(agent, rows)
    odd = [
        ("user", text(), {}),
        ("user", text(), {}),
        ("assistant", f"a9001:{WORDS}", {}),
        ("assistant", f"a9002:{WORDS}", {}),
        ("user", text(), {}),
        ("assistant", f"a9003:{WORDS}", {"finish_reason": "verification_required"}),
        ("assistant", f"a9004:{WORDS}", {}),
        ("user", text(), {}),
        ("assistant", None, {"tool_calls": [_call("call_lost"), _call("call_kept")]}),
        ("tool", f"t9005:{WORDS}", {"tool_call_id": "call_kept", "tool_name": "read_file"}),
        ("tool", f"t9006:{WORDS}", {"tool_call_id": "call_stray", "tool_name": "read_file"}),
        ("assistant", f"a9007:{WORDS}", {}),
    ]
    for role, content, more in odd:
        bench.db.append_message(session, role=role, content=content, **more)
    second = bench.agent(session)
    before = bench.restored(session)
    # The door sees the rows apart: another agent on the session, a gateway's for example.
    second.context_compressor.ingest([dict(row) for row in before])
    rows = bench.say(second, bench.restored(session), *texts(2))
    after = [row["role"] for row in rows]
    bench.leave(second, rows)
    third = bench.agent(session)
    rows = bench.say(third, bench.restored(session, repair_alternation=True), *texts(2))
    rows = bench.compact(third, rows)
    rows = bench.say(third, rows, *texts(2))
    bench.leave(third, rows)
    bench.close()
    return {"sessions": [third.session_id], "before": [r["role"] for r in before], "after": after}


def _call(name: str) -> dict:
    return {
        "id": name,
        "type": "function",
        "function": {"name": "read_file", "arguments": json.dumps({"path": f"{name}.txt"})},
    }


def pruned(*, in_place: bool) -> dict:
    """The built-in compressor's own pruning goes over the list, live and restored."""
    bench = Bench(in_place=in_place)
    agent = bench.agent()
    session = agent.session_id
    rows = bench.say(agent, [], *(text(look(WORDS * 2), look(WORDS * 2)) for _ in range(3)))
    rows, count = _built_in(agent)._prune_old_tool_results(rows, 3)
    rows = bench.say(agent, rows, text(look()), text())
    rows, more = _built_in(agent)._prune_old_tool_results(rows, 3)
    bench.leave(agent, rows)
    second = bench.agent(session)
    again, _ = _built_in(second)._prune_old_tool_results(bench.restored(session), 3)
    rows = bench.say(second, again, *texts(3))
    rows = bench.compact(second, rows)
    rows = bench.say(second, rows, *texts(2))
    bench.leave(second, rows)
    bench.close()
    return {"sessions": [second.session_id], "pruned": count + more}


def _built_in(agent):
    from agent.context_compressor import ContextCompressor

    return ContextCompressor(
        model=agent.model, base_url=agent.base_url, api_key=agent.api_key, quiet_mode=True
    )


def with_pictures(*, in_place: bool) -> dict:
    """Contents that are lists of parts; the host flattens them when it restores the session."""
    bench = Bench(in_place=in_place)
    agent = bench.agent()
    session = agent.session_id
    rows: list[dict] = []
    for said in texts(4):
        parts = [{"type": "text", "text": said}, {"type": "image_url", "image_url": {"url": PIXEL}}]
        rows = bench.say(agent, rows, parts)
    bench.leave(agent, rows)
    second = bench.agent(session)
    back = bench.restored(session)
    kinds = [type(row["content"]).__name__ for row in back if row["role"] == "user"]
    rows = bench.say(second, back, *texts(3))
    rows = bench.compact(second, rows)
    rows = bench.say(second, rows, *texts(2))
    bench.leave(second, rows)
    bench.close()
    return {"sessions": [second.session_id], "kinds": kinds}


def with_todos(*, in_place: bool) -> dict:
    """With an open list of tasks the host writes a row of its own behind each compaction."""
    person = Person(in_place=in_place)
    person.say(*texts(5))
    person.agent._todo_store.write([{"id": "1", "content": "Oil the hinge", "status": "pending"}])
    person.compress()
    snapshots = [bool(row.get("_todo_snapshot_synthetic")) for row in person.rows]
    person.say(*texts(2))
    person.compress()
    person.say(text())
    person.leave()
    again = Person(person.session, in_place=in_place)
    again.say(*texts(2))
    again.compress()
    again.say(text())
    again.leave()
    return {"sessions": [again.session], "snapshots": sum(snapshots)}


def gateway(*, in_place: bool) -> dict:
    """Each turn has an agent of its own and a restored list; hygiene compacts between two of them."""
    bench = Bench(in_place=in_place)
    agent = bench.agent()
    session = agent.session_id
    bench.leave(agent, bench.say(agent, [], text(look(), look())))
    for turn in range(5):
        if turn in (2, 4):
            session = _hygiene(bench, session)
        agent = bench.agent(session)
        rows = bench.restored(session, repair_alternation=True)
        bench.leave(agent, bench.say(agent, rows, f"  {text(look())}\n\n"))
    bench.close()
    return {"sessions": [session]}


def _hygiene(bench: Bench, session: str) -> str:
    """What the gateway does before a turn; the id under which the session goes on."""
    rows = [r for r in bench.restored(session) if r["role"] in ("user", "assistant", "tool")]
    agent = bench.agent(session, enabled_toolsets=["memory"])
    bench.compact(agent, rows)
    agent.context_compressor.on_session_end(agent.session_id, [])
    agent.close()
    bench.agents.remove(agent)
    return agent.session_id


def two_agents(*, in_place: bool) -> dict:
    """Two agents take turns on one session, each with the list that it knows; then one is left."""
    bench = Bench(in_place=in_place)
    first = bench.agent()
    rows = bench.say(first, [], *texts(2))
    second = bench.agent(first.session_id)
    others = bench.restored(first.session_id)
    for _ in range(2):
        rows = bench.say(first, rows, text(look()))
        others = bench.say(second, others, text(look()))
    bench.leave(second, others)
    rows = bench.say(first, rows, *texts(2))
    rows = bench.compact(first, rows)
    rows = bench.say(first, rows, *texts(2))
    bench.leave(first, rows)
    bench.close()
    return {"sessions": [first.session_id]}


def a_filtered_agent(*, in_place: bool) -> dict:
    """An agent for an errand has the session's id and only what people said; then it goes on."""
    bench = Bench(in_place=in_place)
    agent = bench.agent()
    rows = bench.say(agent, [], *(text(look()) for _ in range(3)), *texts(2))
    errand = bench.agent(agent.session_id, enabled_toolsets=["memory"])
    talk = [dict(r) for r in rows if r["role"] in ("user", "assistant") and not r.get("tool_calls")]
    errand.context_compressor.ingest(talk)
    errand.context_compressor.ingest(talk[:-1])
    bench.leave(errand, [])
    rows = bench.say(agent, rows, text())
    rows = bench.compact(agent, rows)
    rows = bench.say(agent, rows, *texts(2))
    bench.leave(agent, rows)
    bench.close()
    return {"sessions": [agent.session_id]}


def thrown_away(*, in_place: bool) -> dict:
    """Results that the host drops, or cannot write down: the full list is there after a restart."""
    bench = Bench(in_place=in_place)
    agent = bench.agent()
    rows = bench.say(agent, [], *texts(5))
    dropped = [dict(row) for row in rows]
    for _ in range(2):
        agent.context_compressor.compress(dropped, current_tokens=5_000, force=True)
    rows = bench.say(agent, rows, text(look()))
    with _failing(bench.db):
        rows = bench.compact(agent, rows)
    kept = len(rows)
    rows = bench.say(agent, rows, text())
    bench.leave(agent, rows)
    second = bench.agent(agent.session_id)
    rows = bench.say(second, bench.restored(second.session_id), *texts(2))
    rows = bench.compact(second, rows)
    rows = bench.say(second, rows, *texts(2))
    bench.leave(second, rows)
    bench.close()
    return {"sessions": [second.session_id], "kept": kept}


@contextlib.contextmanager
def _failing(db) -> Iterator[None]:
    """A database of the host's that takes no compaction."""
    refuse = "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
    db._conn.execute(f"CREATE TEMP TRIGGER full1 BEFORE UPDATE OF active ON main.messages {refuse}")
    db._conn.execute(f"CREATE TEMP TRIGGER full2 BEFORE DELETE ON main.messages {refuse}")
    try:
        yield
    finally:
        db._conn.execute("DROP TRIGGER full1")
        db._conn.execute("DROP TRIGGER full2")


def timed_out(*, in_place: bool) -> dict:
    """The newer host waits no longer for a slow summary, and comes again while it is still made."""
    from agent import conversation_compression

    bench = Bench(in_place=in_place)
    agent = bench.agent()
    rows = bench.say(agent, [], text("SLOW"), *texts(5))
    patient = conversation_compression.resolve_context_compression_timeouts
    conversation_compression.resolve_context_compression_timeouts = lambda *_: (0.5, 0.5)
    before = len(rows)
    rows = bench.compact(agent, rows)
    waited = len(rows) == before
    rows = bench.say(agent, rows, text())
    conversation_compression.resolve_context_compression_timeouts = patient
    rows = bench.compact(agent, rows)
    rows = bench.say(agent, rows, *texts(2))
    bench.leave(agent, rows)
    bench.close()
    return {"sessions": [agent.session_id], "thrown": waited}


def the_same_words(*, in_place: bool) -> dict:
    """Nothing but 'go on' and 'Done.', taken back, said again, restored, compacted."""
    person = Person(in_place=in_place)
    long = text()
    person.say(long, *["go on"] * 3)
    person.undo()
    person.say("go on", "go on")
    person.retry()
    person.leave()
    second = Person(person.session, in_place=in_place)
    second.say(*["go on"] * 3)
    second.undo(2)
    second.say(text(), *["go on"] * 2)
    second.compress()
    second.say(*["go on"] * 2)
    second.undo()
    second.say("go on", text())
    second.compress()
    second.say("go on")
    second.leave()
    return {"sessions": [second.session]}
