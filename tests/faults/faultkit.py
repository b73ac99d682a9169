"""What the tests of the fault catalogue share: rows of a host's list, and ways to look at what was kept."""

from __future__ import annotations

import json

from asking import route
from lcm.dag.compact import PassRequest, compact
from lcm.dag.identity import MARK
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.storage.canon import decode


def user(text, **more):
    """A person's row."""
    return {"role": "user", "content": text, **more}


def said(text, **more):
    """An answer without a call."""
    return {"role": "assistant", "content": text, **more}


def called(*ids, text="", **more):
    """An assistant's row that calls ``read_file`` once for each id."""
    calls = [
        {
            "id": each,
            "type": "function",
            "function": {"name": "read_file", "arguments": json.dumps({"path": each})},
        }
        for each in ids
    ]
    return {"role": "assistant", "content": text, "tool_calls": calls, **more}


def result(name, text, **more):
    """The result of the call *name*."""
    return {"role": "tool", "tool_call_id": name, "content": text, **more}


def talk(turns, first=1, words=60):
    """*turns* exchanges, each of about twice *words* words."""
    return [
        row
        for n in range(first, first + turns)
        for row in (
            user(f"question {n} " + "why " * words),
            said(f"answer {n} " + "because " * words),
        )
    ]


def ask(engine, name, **args):
    """A tool call of the agent."""
    return json.loads(engine.handle_tool_call(name, args))


def database(home):
    """Where an engine on *home* keeps its messages."""
    return home / "lcm" / "lcm.db"


def kept(home, session="s", *, withdrawn=False):
    """What stands on the session's line, read by another connection: messages as the host had them."""
    store = open_store(database(home), create=False)
    try:
        found = store.session(session)
        entries = [e for e in store.entries(found.line) if withdrawn or not e.withdrawn]
        return [decode(message.body) for message in store.read([(e.id, 0) for e in entries])]
    finally:
        store.close()


def totals(home):
    """Counts over the whole store, read by another connection."""
    store = open_store(database(home), create=False)
    try:
        return store.totals()
    finally:
        store.close()


def verbatim(engine, uid):
    """All pages of *uid*, joined: the messages as (role, content)."""
    parts, cursor = [], None
    while True:
        answer = ask(engine, "lcm_expand", uid=uid, **({"cursor": cursor} if cursor else {}))
        for row in answer["messages"]:
            if parts and parts[-1][0] == row["uid"]:
                parts[-1][2] += row["content"]
            else:
                parts.append([row["uid"], row["role"], row["content"]])
        cursor = answer["cursor"]
        if not cursor:
            return [(role, content) for _, role, content in parts]


def failing(error=ConnectionError, count=None):
    """A summariser that fails, and notes each request in *count*."""

    def summarizer(request):
        if count is not None:
            count.append(request)
        raise error

    return summarizer


def compressed(engine, rows, **more):
    """*rows* after a pass that is asked for with their own size."""
    return engine.compress(rows, engine.count_tokens(rows), **more)


def model_pass(rows, answer, **more):
    """A pass in which a model says *answer* (a function of the request); the store, and the outcome."""
    store = open_store("memory:")
    ledger = Ledger(store, store.open_session("s"))
    _, binding = ledger.bind(rows)
    settings = more.pop("settings", Settings())
    terms = {name: more.pop(name) for name in ("trusted", "breaker") if name in more}
    request = PassRequest(
        settings, 8000, 6000, None, False, False, [route(answer, **terms)], **more
    )
    return store, compact(store, ledger.session.line, binding, request)


def blocks(rows):
    """The names of the blocks that a list's summary row shows."""
    return MARK.findall(rows[0]["content"])[:-1]


def everything(engine, rows):
    """What a list stands for: under the blocks of its summary row, then as it is."""
    shown = [entry for name in blocks(rows) for entry in verbatim(engine, name)]
    return shown + [
        (row["role"], row["content"]) for row in rows[1:] if not row.get("_compressed_summary")
    ]


def plain(rows):
    """Rows as (role, content)."""
    return [(row["role"], row["content"]) for row in rows]


def steps(first, last, size=200):
    """Pairs of a call and its result."""
    return [
        row
        for n in range(first, last + 1)
        for row in (called(f"c{n}"), result(f"c{n}", f"output {n}\n" * (size // 2)))
    ]
