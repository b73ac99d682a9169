"""``why``: each row of the context now, what it stands for and since when; and what each compaction replaced."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..storage.proof import read_whole
from ..storage.protocol import Store
from ..storage.records import Entry, Node, Pass, Session
from ..tools.describe import minute, stamp
from .present import Present, present
from .screen import flat, many
from .status import no_session
from .verb import Answer, Call

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

__all__ = ["add", "gather", "run", "view"]

_SHORT: Final = 8
#: Messages that a compaction showed in part are named up to so many.
_MOST_NAMES: Final = 12
#: Rows word for word, and compactions, that are shown unless all are asked for; fewer in a chat.
_NEWEST: Final = (30, 5)
_IN_CHAT: Final = (8, 2)
#: The part of a list from which it is said that results of tools are shown in part; below it is how one counts.
_NOTABLE: Final = 0.02

_NOTHING: Final = "Nothing was compacted yet: all of it is there word for word."
_UNREAD: Final = "No compaction can be read, so what stands there in place of these is not known."
_UNSEEN: Final = "This is what the last compaction gave: no list of the host's has shown it yet."


def gather(store: Store, session: Session) -> dict[str, Any]:
    """The rows of the context, and the compactions that led to it, oldest first."""
    here = present(store, session)
    return {
        "session": session.name,
        "tokens": here.tokens,
        "shortened": max(here.whole - here.tokens, 0),
        "beside": max(here.tokens - here.whole, 0),
        "seen": here.is_seen or not here.passes,
        "rows": [*_summary(here), *_verbatim(store, here)],
        "compactions": _compactions(store, session.line, here.passes),
    }


def _summary(here: Present) -> list[dict[str, Any]]:
    """The summary row, if there is one."""
    if here.frame is None:
        return []
    return [
        {
            "kind": "summary",
            "uid": here.frame.uid,
            "turns": [here.frame.first_turn, here.frame.last_turn],
            "messages": here.frame.messages,
            "tokens": here.head_tokens + sum(each.tokens for each in here.blocks),
            "since": here.since,
            "shows": [
                {
                    **_of(each.node),
                    "level": each.level,
                    "tokens": each.tokens,
                    "since": stamp(each.since),
                }
                for each in here.blocks
            ],
        }
    ]


def _of(node: Node) -> dict[str, Any]:
    return {
        "uid": node.uid,
        "turns": [node.first_turn, node.last_turn],
        "messages": node.messages,
        "source_tokens": node.source_tokens,
        "topic": node.topic,
    }


def _verbatim(store: Store, here: Present) -> list[dict[str, Any]]:
    said = read_whole(store, [(entry.id, 0) for entry in here.behind])
    return [
        _row(entry, message.time if message else None, in_part=entry.id in here.parts)
        for entry, message in zip(here.behind, said, strict=True)
    ]


def _row(entry: Entry, time: float | None, *, in_part: bool) -> dict[str, Any]:
    return {
        "kind": "message",
        "uid": entry.uid,
        "role": entry.role,
        "turn": entry.turn,
        "tokens": entry.tokens,
        "since": None if time is None else stamp(time),
        "in_part": in_part,
    }


def _compactions(store: Store, line: int, passes: Sequence[Pass]) -> list[dict[str, Any]]:
    frames = {node.uid: node for node in store.nodes([p.frame for p in passes if p.frame])}
    found = []
    before: dict[str, int] = {}
    for done in passes:
        frame = frames.get(done.frame)
        shown = {s.node or "": s.level for s in frame.sources} if frame else before
        new = store.nodes([uid for uid in shown if uid not in before])
        found.append(
            {
                "time": stamp(done.time),
                "session": done.session,
                "summary_row": done.frame or None,
                "tokens": [done.tokens_before, done.tokens_after],
                "rows": [done.rows_before, done.rows_after],
                "replaced": [{**_of(each), "nodes": _below(each, before)} for each in new],
                "in_part": _in_part(store, line, done.detail.get("parts")),
                "coarser": [
                    {"uid": uid, "from": before[uid], "to": level}
                    for uid, level in shown.items()
                    if before.get(uid, level) != level
                ],
            }
        )
        before = shown
    return found


def _in_part(store: Store, line: int, names: object) -> list[dict[str, Any]]:
    """The messages that a compaction showed by head and tail; older ones did not note which."""
    given = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    uids = [uid for name in given for kind, uid in store.resolve(name) if kind == "message"]
    return [
        {"uid": entry.uid, "turn": entry.turn, "tokens": entry.tokens}
        for entry in store.placed(line, set(store.known(uids).values()))
    ]


def _below(node: Node, before: Mapping[str, int]) -> list[str]:
    """Those of what the row before showed that the node stands for: it replaced these, not messages."""
    return [source.node for source in node.sources if source.node and source.node in before]


def view(data: Mapping[str, Any], *, newest: tuple[int, int] | None = None) -> list[RenderableType]:
    """The rows as a table, the compactions as lines; of each kind the *newest*, or all."""
    from rich.text import Text

    rows = data["rows"]
    head = f"session {flat(data['session'])}: {many(data['tokens'], 'token')} in {many(len(rows), 'row')}"
    shown: list[RenderableType] = [
        Text(head, style="bold"),
        _table(rows, newest[0] if newest else len(rows)),
    ]
    if rest := _rest(data):
        shown.append(Text(rest, "dim"))
    if not data["seen"]:
        shown.append(Text(_UNSEEN, "dim"))
    done = data["compactions"]
    if not done:
        return [*shown, Text(_UNREAD if data.get("salvaged") else _NOTHING)]
    shown.append(Text(f"\nwhat was replaced, in {many(len(done), 'compaction')}", style="bold"))
    first = max(len(done) - newest[1], 0) if newest else 0
    if first:
        shown.append(Text(f"{many(first, 'earlier one')} with --all", style="dim"))
    for number, each in enumerate(done[first:], first + 1):
        shown += map(Text, _lines(number, each))
    return shown


def _rest(data: Mapping[str, Any]) -> str:
    """What the list has more, or less, than the rows add up to; empty where they do."""
    if data["beside"]:
        return (
            f"And {many(data['beside'], 'token')} of what Hermes keeps with messages beside their words, as the list "
            "was counted when it was compacted."
        )
    less = data["shortened"]
    if less > data["tokens"] * _NOTABLE:
        return (
            f"Results of tools are shown by head and tail: {many(less, 'token')} less than these."
        )
    return f"Counted as one list these are {many(less, 'token')} less." if less else ""


def _table(rows: Sequence[Mapping[str, Any]], most: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("what it stands for", min_width=12, overflow="fold")
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("since", overflow="fold")
    summaries = [row for row in rows if row["kind"] == "summary"]
    messages = rows[len(summaries) :]
    for row in summaries:
        what = f"the summary row, {_turns(row['turns'])}, {many(row['messages'], 'message')}"
        table.add_row(*_cells(row, what))
        for block in row["shows"]:
            of = f"{many(block['messages'], 'message')}, {many(block['source_tokens'], 'token')}"
            topic = f": {flat(block['topic'])}" if block["topic"] else ""
            said = f"{_turns(block['turns'])}, {of}, at {block['level']}{topic}"
            table.add_row(*_cells(block, Text(said), indent="  "))
    left_out = max(len(messages) - most, 0)
    if left_out:
        tokens = sum(row["tokens"] for row in messages[:left_out])
        what = f"{many(left_out, 'message')} word for word; each of them with --all"
        table.add_row("…", what, f"{tokens:,}", "")
    for row in messages[left_out:]:
        how = "head and tail of it" if row["in_part"] else "word for word"
        table.add_row(*_cells(row, f"{flat(row['role'])}, {_turns([row['turn']] * 2)}, {how}"))
    return table


def _cells(row: Mapping[str, Any], what: Any, indent: str = "") -> tuple[Any, ...]:
    return f"{indent}{row['uid'][:_SHORT]}", what, f"{row['tokens']:,}", minute(row["since"])


def _turns(turns: Sequence[int]) -> str:
    first, last = turns
    return f"turn {first}" if first == last else f"turns {first}-{last}"


def _lines(number: int, done: Mapping[str, Any]) -> list[str]:
    before, after = done["tokens"]
    lines = [f"{number}. {done['time']}: {before:,} -> {after:,} tokens"]
    for each in done["replaced"]:
        what = (
            f"summaries {', '.join(uid[:_SHORT] for uid in each['nodes'])}"
            if each["nodes"]
            else f"{many(each['messages'], 'message')} ({many(each['source_tokens'], 'token')})"
        )
        lines.append(f"   {_turns(each['turns'])}: {what} by {each['uid'][:_SHORT]}")
    lines += [
        f"   {each['uid'][:_SHORT]}: shown at {each['to']} in place of {each['from']}"
        for each in done["coarser"]
    ]
    if parts := done["in_part"]:
        names = " ".join(each["uid"][:_SHORT] for each in parts[:_MOST_NAMES])
        more = " …" if len(parts) > _MOST_NAMES else ""
        tokens = many(sum(each["tokens"] for each in parts), "token")
        what = many(len(parts), "result")
        lines.append(f"   {what} of tools ({tokens}) by head and tail: {names}{more}")
    elif not done["replaced"] and not done["coarser"]:
        lines.append("   old results of tools, by their head and tail")
    return lines


def run(call: Call) -> Answer:
    """The context of a session."""
    session = call.found()
    if session is None:
        said = no_session(call.store, call.facts)
        return Answer({"session": None, "note": said}, shown=[said])
    data = gather(call.open(), session)
    data["salvaged"] = call.salvaged
    newest = None if call.options.get("all") else _IN_CHAT if call.exactly else _NEWEST
    return Answer(data, shown=view(data, newest=newest))


def add(parser: argparse.ArgumentParser) -> None:
    """How much."""
    parser.add_argument(
        "--all", dest="lcm_all", action="store_true", help="every row and every compaction"
    )
