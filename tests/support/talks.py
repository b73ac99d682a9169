"""Conversations for the explorer: a small one that was compacted, and a long one."""

from __future__ import annotations

import contextlib
import threading
import time

from lcm.console.serving import Server
from lcm.dag.compact import PassRequest, compact
from lcm.dag.ingest import Ledger
from lcm.dag.nodes import frame_of
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.storage.canon import digest, encode
from lcm.storage.records import Draft, Node, Pass, Source
from lcm.storage.text import searchable

#: What must stay text wherever it is shown: it would change the page's title, or ask another host.
HOSTILE = (
    "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    "</script><!-- <style>body{display:none}</style> https://example.org/pixel.png"
)


@contextlib.contextmanager
def serving():
    """Gives a function that serves a database, and gives its server, which answers until the end."""
    running = []

    def serve(path):
        server = Server(str(path))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        running.append((server, thread))
        return server

    yield serve
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


def plain(count):
    """Rows by turns of user and assistant, about 200 words each."""
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"{n} " + f"word{n} " * 200}
        for n in range(count)
    ]


def compacted(path, name="talk", turns=40):
    """A conversation compacted twice, with what is hostile in a message, a tool result and summaries."""
    store = open_store(path)
    ledger = Ledger(store, store.open_session(name))
    rows = []
    for turn in range(1, turns + 1):
        fact = "the xylophone stands in the attic" if turn == 3 else f"fact {turn} of {turns}"
        filler = " ".join(f"harbour{turn}n{n}" for n in range(120))
        rows += [
            {"role": "user", "content": f"Note {turn}: {fact}. {HOSTILE if turn == 2 else ''}"},
            {"role": "assistant", "content": f"Noted {turn}. {filler}"},
        ]
        ledger.ingest(rows)
        if turn in (turns // 2, turns - 3):
            rows = passed(store, ledger, rows)
    store.close()


def passed(store, ledger, rows):
    """A compaction of *rows*, noted as the engine notes it; the new list."""
    _, binding = ledger.bind(rows)
    request = PassRequest(Settings(), 6000, 4000, None, force=True, stamp=False)
    done = compact(store, ledger.session.line, binding, request)
    if done.frame is None:
        return rows
    counts = (done.before, done.after, len(rows), len(done.rows))
    detail = {"end": max(binding.ends)}
    noted = Pass(time.time(), ledger.session.name, *counts, done.frame.uid, detail)
    ledger.record(noted, done.rows)
    return list(done.rows)


def long(path, messages=20_000, each=20):
    """A conversation of so many messages under leaves of *each*, and those under nodes of ten."""
    store = open_store(path)
    line = store.open_session("long").line
    top = []
    with store.writing():
        entries = store.append(line, [(_draft(n), n // 2 + 1) for n in range(messages)])
        leaves = []
        for at in range(0, messages - each, each):
            part = entries[at : at + each]
            sources = tuple(Source(message=entry.id, version=1) for entry in part)
            leaves.append(_node(len(leaves), line, (part[0], part[-1]), sources, 0, each))
            store.put_node(leaves[-1])
        for at in range(0, len(leaves) - 10, 10):
            part = leaves[at : at + 10]
            sources = tuple(Source(node=leaf.uid) for leaf in part)
            ends = [
                next(e for e in entries if e.seq == s)
                for s in (part[0].first_seq, part[-1].last_seq)
            ]
            top.append(_node(10_000 + at, line, ends, sources, 1, 10 * each))
            store.put_node(top[-1])
        frame = frame_of(line, [(node, 50) for node in top], [])
        store.put_node(frame)
        counts = (messages * 40, messages, messages, len(top))
        store.record_pass(Pass(2e9, "long", *counts, frame.uid, {"end": entries[-1].seq}))
    store.close()
    return len(leaves)


def deep(path, levels=4):
    """All of a conversation under one summary of two, *levels* down to leaves of two messages each."""
    store = open_store(path)
    line = store.open_session("deep").line
    with store.writing():
        entries = store.append(line, [(_draft(n), n // 2 + 1) for n in range(2**levels)])
        below = [((entry, entry), Source(message=entry.id, version=1)) for entry in entries]
        for depth in range(levels):
            nodes = []
            for at in range(0, len(below), 2):
                ends = below[at][0][0], below[at + 1][0][1]
                sources = (below[at][1], below[at + 1][1])
                node = _node(1000 * depth + at, line, ends, sources, depth, 2 ** (depth + 1))
                store.put_node(node)
                nodes.append((node, ends))
            below = [(ends, Source(node=node.uid)) for node, ends in nodes]
        store.put_node(frame_of(line, [(nodes[0][0], 50)], []))
    store.close()


def _draft(number):
    role = ("user", "assistant")[number % 2]
    message = {"role": role, "content": f"word{number} " + "of the long talk " * (number % 17)}
    body = encode(message)
    key = digest(body)
    return Draft(
        f"{number:032x}",
        role,
        body,
        searchable(message),
        key[:12],
        key,
        1e9 + number,
        len(body) // 4,
    )


def _node(number, line, ends, sources, depth, messages):
    first, last = ends
    return Node(
        uid=f"e{number:031x}", kind="condensed" if depth else "leaf", line=line, source_key=f"k{number}",
        depth=depth, texts={50: f"What was said in part {number}.", 250: f"More of part {number}. " * 20},
        topic=f"part {number}", hints=(f"word{number}",), sufficient=50, degraded="", first_seq=first.seq,
        last_seq=last.seq, first_turn=first.turn, last_turn=last.turn, messages=messages, lifted=(),
        source_tokens=messages * 50, time=1e9, sources=sources,
    )  # fmt: skip
