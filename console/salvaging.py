"""A verb on a damaged database: it is given what can be read, and what is left out is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from ..storage.errors import StoreDamaged
from .pointing import pointed
from .screen import clean, many
from .verb import Answer, Call, Verb

__all__ = ["on_what_is_left"]

_NAMED: Final = 10


def on_what_is_left(verb: Verb, call: Call, error: StoreDamaged) -> Answer:
    """Run *verb* on what can be read; the answer is never good.

    Raises:
        StoreError: nothing can be read.
    """
    from ..storage.salvage import salvaged  # SQLite, which a shell must not pay for

    progress = call.progress or (lambda _what, _done, _total: None)
    with salvaged(Path(call.path), lambda what: progress(what, 0, 0)) as (store, lost):
        found = verb.run(replace(call, store=store, salvaged=True))
        rows = {done.frame for done in store.passes()}
    said = pointed(str(error), call.options)
    lines = [f"WRONG: {said} This is what can be read of it."]
    summaries = [name for name in lost.nodes if name not in rows]
    frames = [name for name in lost.nodes if name in rows]
    for noun, names in (
        ("message", lost.messages),
        ("summary", summaries),
        ("summary row", frames),
    ):
        if names:
            more = ", ..." if len(names) > _NAMED else ""
            lines.append(
                f"WRONG: at least {many(len(names), noun)} cannot be read: {', '.join(names[:_NAMED])}{more}"
            )
    if lost.placed:
        lines.append(
            f"The place of {many(lost.placed, 'message')} is lost: their order is likely, their turns are counted anew."
        )
    left_out = {"messages": list(lost.messages), "nodes": list(lost.nodes), "places": lost.placed}
    data = {**found.data, "file_damaged": said, "left_out": left_out}
    return replace(found, data=data, good=False, warning=clean("\n".join(lines) + "\n"))
