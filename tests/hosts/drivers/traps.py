"""Walk into the host's known traps, one after the other, in one process; report each by name."""

from __future__ import annotations

import copy
import sys
import threading
import time
import traceback

from common import give, make_agent, read_job

#: Turns of a conversation that a forced compaction makes shorter.
LONG = 8
BIG = "The harbour wall has a crack of four fingers' width near the third bollard. " * 40


class Ground:
    """What a trap needs: a database of the host's, agents, and conversations."""

    def __init__(self) -> None:
        from hermes_state import SessionDB

        self.db = SessionDB()
        self.agents: list = []

    def agent(self, **more):
        self.agents.append(make_agent(self.db, **more))
        return self.agents[-1]

    def talk(self, agent, *texts: str, history=None) -> list[dict]:
        rows = history or []
        for text in texts:
            result = agent.run_conversation(text, conversation_history=rows)
            assert not result.get("failed"), result
            rows = result["messages"]
        return rows

    def close(self) -> None:
        for agent in self.agents:
            agent.shutdown_memory_provider([])
            agent.close()
        self.db.close()


#: Conversations that nobody could take for edits of each other.
OTHER_WORDS = {
    "A": "Seven gulls sat on the breakwater while the ferry unloaded timber and salt. ",
    "B": "Invoice handling moves to the second quarter; Marta signs whatever is due. ",
    "C": "def rotate(lens): return lens.angle + 12 # degrees, measured by hand today. ",
}


def compact(agent, rows: list[dict]) -> list[dict]:
    """What the host does for /compress."""
    return agent._compress_context(rows, "", approx_tokens=60_000, force=True)[0]


def long_talk(ground: Ground, agent, name: str, filler: str = BIG) -> list[dict]:
    return ground.talk(agent, *(f"{name} {n}: {filler}" for n in range(LONG)))


def fallback(ground: Ground) -> dict:
    """1 and 2: a used engine, and one whose sibling is in use, must not stop the next agent's."""
    first = ground.agent()
    ground.talk(first, "fallback one")
    second = ground.agent()
    used = compact(first, long_talk(ground, first, "fallback"))
    third = ground.agent()
    copied = copy.deepcopy(first.context_compressor)
    engines = [agent.context_compressor for agent in (first, second, third)] + [copied]
    return {
        "names": [engine.name for engine in engines],
        "distinct": len({id(engine) for engine in engines}),
        "compacted": len(used),
    }


def session_end(ground: Ground) -> dict:
    """3: on_session_end is not an end, and the start after a compaction names no home."""
    agent = ground.agent()
    engine = agent.context_compressor
    rows = long_talk(ground, agent, "end")
    path, window = str(engine.db_path), engine.context_length
    engine.on_session_end(agent.session_id, rows)
    rows = compact(agent, rows)
    ground.talk(agent, "after the end", history=rows)
    return {
        "same_path": str(engine.db_path) == path,
        "same_window": engine.context_length == window,
        "session": agent.session_id,
    }


def live_list(ground: Ground) -> dict:
    """5: the list that compress() gets may be the live one."""
    agent = ground.agent()
    rows = long_talk(ground, agent, "live")
    before = copy.deepcopy(rows)
    result = agent.context_compressor.compress(rows, current_tokens=60_000, force=True)
    return {"untouched": rows == before, "rows": [len(rows), len(result)]}


def throw_away(ground: Ground) -> dict:
    """6: another agent with the same session and a filtered list (gateway hygiene)."""
    agent = ground.agent()
    rows = long_talk(ground, agent, "hygiene")
    other = ground.agent(session_id=agent.session_id, enabled_toolsets=["memory"])
    compact(other, [dict(row) for row in rows if row["role"] in ("user", "assistant")])
    other.context_compressor.on_session_end(agent.session_id, [])
    ground.talk(agent, "hygiene is over", history=rows)
    return {"session": agent.session_id}


def awaiting(ground: Ground) -> dict:
    """7: nobody but the engine clears the flag."""
    agent = ground.agent()
    engine = agent.context_compressor
    rows = compact(agent, long_talk(ground, agent, "awaiting"))
    raised = engine.awaiting_real_usage_after_compression
    ground.talk(agent, "and now?", history=rows)
    after_turn = engine.awaiting_real_usage_after_compression
    engine.awaiting_real_usage_after_compression = True
    engine.update_from_response({})
    return {
        "raised": raised,
        "after_turn": after_turn,
        "after_nothing": engine.awaiting_real_usage_after_compression,
    }


def idle(ground: Ground) -> dict:
    """8: attributes that are read without a guard; the newer host's idle compaction does."""
    agent = ground.agent()
    rows = ground.talk(agent, "before the pause")
    time.sleep(1.2)
    ground.talk(agent, "after the pause", history=rows)
    engine = agent.context_compressor
    return {"ratio": engine.summary_target_ratio, "real": engine.last_real_prompt_tokens}


def gate(ground: Ground) -> dict:
    """9: with the default 3 and 6 the host asks nothing in a short session."""
    agent = ground.agent()
    engine = agent.context_compressor
    asked: list[int] = []
    should = engine.should_compress
    engine.should_compress = lambda tokens=None: asked.append(1) or should(tokens)
    ground.talk(agent, "gate one", "gate two")
    return {"protect": [engine.protect_first_n, engine.protect_last_n], "asked": len(asked)}


def count(ground: Ground) -> dict:
    """10: compression_count says how often compress() has run."""
    agent = ground.agent()
    rows = compact(agent, long_talk(ground, agent, "count"))
    once = agent.context_compressor.compression_count
    rows = compact(agent, ground.talk(agent, f"more {BIG}", f"and more {BIG}", history=rows))
    return {"counts": [once, agent.context_compressor.compression_count]}


def modules(ground: Ground) -> dict:
    """11: the host imports the plugin more than once, and registers it often."""
    ground.agent()
    packages = [
        module for name, module in list(sys.modules.items()) if name.rpartition(".")[2] == "lcm"
    ]
    copies = [module for module in packages if hasattr(module, "register")]

    class Reduced:
        def register_context_engine(self, engine) -> None:
            self.engine = engine

        def register_command(self, *args, **kwargs) -> None:
            pass

    contexts = [Reduced() for _ in range(20)]
    begun = time.perf_counter()
    for context in contexts:
        copies[0].register(context)
    seconds = (time.perf_counter() - begun) / len(contexts)
    return {
        "copies": len(copies),
        "engines": len({id(context.engine) for context in contexts}),
        "milliseconds": seconds * 1000,
    }


def tiny(ground: Ground) -> dict:
    """15: a forced compaction of a session that cannot get smaller."""
    agent = ground.agent()
    rows = ground.talk(agent, "tiny")
    result = compact(agent, rows)
    rows = compact(agent, long_talk(ground, agent, "grown"))
    engine = agent.context_compressor
    return {
        "contents": [row["content"] for row in result],
        "refused": bool(getattr(engine, "_last_compress_refused_would_grow", False)),
        "smaller": len(rows),
    }


def rollback(ground: Ground) -> dict:
    """16: a failed model switch puts the engine's attributes back as they were."""
    agent = ground.agent()
    engine = agent.context_compressor
    rows = long_talk(ground, agent, "rollback")
    kept = dict(vars(engine))
    agent.switch_model(
        agent.model,
        agent.provider,
        api_key=agent.api_key,
        base_url=agent.base_url,
        api_mode=agent.api_mode,
    )
    vars(engine).clear()
    vars(engine).update(kept)
    rows = compact(agent, ground.talk(agent, "after the rollback", history=rows))
    ground.talk(agent, "and on", history=rows)
    return {"session": agent.session_id, "threshold": engine.threshold_tokens}


def at_once(ground: Ground) -> dict:
    """Two agents in one process at the same time: on their own sessions, and on one."""
    agents = [ground.agent(), ground.agent()]
    twin = ground.agent(session_id=agents[0].session_id)
    failures: list[str] = []

    def run(agent, name: str) -> None:
        try:
            compact(agent, long_talk(ground, agent, name, OTHER_WORDS[name[-1]] * 40))
        except BaseException:
            failures.append(traceback.format_exc())
            raise

    names = ["at once A", "at once B", "at once C"]
    threads = [
        threading.Thread(target=run, args=pair) for pair in zip([*agents, twin], names, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return {"failures": failures, "sessions": [agent.session_id for agent in agents]}


TRAPS = [
    fallback,
    session_end,
    live_list,
    throw_away,
    awaiting,
    idle,
    gate,
    count,
    modules,
    tiny,
    rollback,
    at_once,
]


def main() -> None:
    read_job()
    results = {}
    for trap in TRAPS:
        ground = Ground()
        try:
            results[trap.__name__] = trap(ground)
        except Exception:  # noqa: BLE001 - the others are still worth knowing
            results[trap.__name__] = {"error": traceback.format_exc()[-3000:]}
        ground.close()
    give(results)


main()
