"""Export and import by the command line, and a store with all there is to be moved."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from lcm.console.cli import main
from lcm.dag.compact import PassRequest, compact
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.storage.protocol import Store
from lcm.storage.records import Pass


def lcm(*words: object) -> tuple[int, str]:
    """Run the command line; gives (exit code, what it printed)."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = main([str(word) for word in words])
    return code, out.getvalue()


def imported(path: Path, database: Path, *words: object) -> tuple[int, dict[str, Any]]:
    """Import *path* into *database*; gives (exit code, the answer)."""
    code, out = lcm("import", path, "--db", database, "--json", *words)
    return code, json.loads(out)


def exported(database: Path, path: Path, *words: object) -> Path:
    """Export *database* to *path*, which is given back."""
    assert 0 == lcm("export", "--db", database, "--out", path, *words)[0]
    return path


def rows_of(name: str, first: int, last: int) -> list[dict[str, Any]]:
    """Turns *first* to *last* of a conversation, each with a call of a tool."""
    rows: list[dict[str, Any]] = []
    for n in range(first, last + 1):
        rows += [
            {"role": "user", "content": f"{name} asks {n}: " + f"word{n} " * 40},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": f"call{n}", "function": {"name": "look", "arguments": f'{{"n": {n}}}'}}
                ],
            },
            {"role": "tool", "tool_call_id": f"call{n}", "content": f"seen {n} " * 60},
            {"role": "assistant", "content": f"{name} answers {n}"},
        ]
    return rows


def compacted(store: Store, ledger: Ledger, rows: Sequence[Any]) -> list[Any]:
    """One pass over the list; gives the smaller one."""
    _, binding = ledger.bind(rows)
    request = PassRequest(Settings(leaf_tokens=300), 4000, 2500, None, force=True, stamp=False)
    done = compact(store, ledger.session.line, binding, request)
    counts = (done.before, done.after, len(rows), len(done.rows))
    store.record_pass(Pass(time.time(), ledger.session.name, *counts, done.frame.uid))
    return list(done.rows)


def full_store(path: Path) -> Path:
    """A store with all there is: versions, aliases, undo, rotation, a branch with a compaction, large payloads."""
    store = open_store(path)
    ledger = Ledger(store, store.open_session("talk"))
    rows = rows_of("talk", 1, 12)
    ledger.ingest(rows)
    rows[3] = {**rows[3], "content": "talk answers 1, and better"}
    rows = compacted(store, ledger, rows)
    ledger = Ledger(store, store.open_session("talk-2", parent="talk", relation="rotation"))
    rows += rows_of("talk", 13, 20)
    ledger.ingest(rows)
    Ledger(store, store.open_session("other")).ingest(rows_of("other", 1, 3))
    branch = Ledger(store, store.open_session("twig", parent="talk-2", relation="branch"))
    ledger.ingest(rows[:-8])  # an undo
    compacted(store, branch, [*rows, *rows_of("twig", 21, 30)])
    uid = {"message_uid": "host-uid-1", "role": "user", "content": "x" * 300_000}
    Ledger(store, store.open_session("other")).ingest([*rows_of("other", 1, 3), uid])
    store.alias(store.known(["host-uid-1"])["host-uid-1"], "another-name")
    store.close()
    return path
