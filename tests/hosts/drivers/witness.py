"""Sees every list of messages that any door of the engine is shown, and says what the store made of it."""

from __future__ import annotations

import functools
import json
import threading
from contextlib import closing
from pathlib import Path

from store import Reader

#: What of a row is told to the test; the host's own book-keeping is not.
KEPT = (
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "message_uid",
    "_absorbed_message_uids",
    "_compressed_summary",
    "_todo_snapshot_synthetic",
)

#: The doors, each with the place of the list among its arguments.
DOORS = {
    "ingest": 0,
    "on_turn_complete": 0,
    "compress": 0,
    "on_session_end": 1,
    "handle_tool_call": "messages",
}


class Witness:
    """Keeps each distinct row once, and of each list which rows it had."""

    def __init__(self) -> None:
        self.rows: list[dict] = []
        self.lists: list[dict] = []
        self.passes: list[list[int]] = []
        self._numbers: dict[str, int] = {}
        self._watched: set[type] = set()
        self._mutex = threading.RLock()

    def watch_agents(self) -> None:
        """Stand at the doors of the engine of every agent that is made from now on."""
        from run_agent import AIAgent

        begin = AIAgent.__init__

        @functools.wraps(begin)
        def watched(agent, *args, **kwargs):
            begin(agent, *args, **kwargs)
            self.watch(type(agent.context_compressor))

        AIAgent.__init__ = watched

    def watch(self, engine: type) -> None:
        """Stand at the doors of this class, in front of its own code."""
        if engine in self._watched or engine.__name__ != "LCMEngine":
            return
        self._watched.add(engine)
        for name, place in DOORS.items():
            setattr(engine, name, self._stand_at(name, getattr(engine, name), place))

    def _stand_at(self, name: str, door, place: int | str):
        @functools.wraps(door)
        def seen(engine, *args, **kwargs):
            rows = kwargs.get("messages")
            if rows is None and isinstance(place, int) and place < len(args):
                rows = args[place]
            session = engine._session_id
            ends_another = name == "on_session_end" and args[:1] not in ((session,), ("",))
            if rows and session and not ends_another:
                self.note(name, session, rows)
            result = door(engine, *args, **kwargs)
            if name == "compress":
                self.passes.append([len(rows or ()), len(result)])
            return result

        return seen

    def note(self, door: str, session: str, rows) -> None:
        """One list, as it stands now."""
        with self._mutex:
            numbers = [self._number(row) for row in rows if row.get("role") != "system"]
            self.lists.append({"door": door, "session": session, "list": numbers})

    def _number(self, row: dict) -> int:
        kept = {key: row[key] for key in KEPT if row.get(key) is not None}
        text = json.dumps(kept, sort_keys=True, default=repr)
        if text not in self._numbers:
            self._numbers[text] = len(self.rows)
            self.rows.append(json.loads(text))
        return self._numbers[text]

    def report(self) -> dict:
        """Everything seen so far; begins anew."""
        with self._mutex:
            seen = {"rows": self.rows, "lists": self.lists, "passes": self.passes}
            self.rows, self.lists, self.passes, self._numbers = [], [], [], {}
            return seen


def read_back(plugin, home: Path, sessions) -> dict:
    """What another process would find of these sessions: lines with all versions, and what nodes hold."""
    from lcm.storage import open_store

    with closing(open_store(home / "lcm" / "lcm.db", create=False)) as store:
        return {
            name: _session(plugin, store, home, name) for name in sessions if store.session(name)
        }


def _session(plugin, store, home: Path, name: str) -> dict:
    from lcm.storage.canon import decode

    session = store.session(name)
    entries = store.entries(session.line)
    pairs = [(each.id, version) for each in entries for version in range(1, each.version + 1)]
    versions: dict[int, list] = {}
    for message in store.read(pairs):
        versions.setdefault(message.id, []).append(decode(message.body))
    engine = plugin.LCMEngine(context_length=65536)
    engine.on_session_start(name, hermes_home=str(home), platform="cli")
    reader = Reader(engine)
    kinds = ("leaf", "condensed", "frame")
    nodes, own = {}, []
    for node in store.nodes_on(store.lineage(session.line), kinds=kinds):
        own += [node.uid] if node.line == session.line else []
        opened = reader.messages("lcm_expand", uid=node.uid, detail="raw")
        nodes[node.uid] = [message["uid"] for message in opened]
    problems = reader.call("lcm_status").get("problems")
    engine.close()
    return {
        "line": session.line,
        "relation": session.relation,
        "messages": [
            {
                "uid": each.uid,
                "turn": each.turn,
                "withdrawn": each.withdrawn,
                "versions": versions[each.id],
            }
            for each in entries
        ],
        "nodes": nodes,
        "own": own,
        "problems": problems,
    }


def verify(home: Path) -> dict:
    """What ``hermes lcm verify --json`` says."""
    import contextlib
    import io

    from lcm.console.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["verify", "--json", "--home", str(home)])
    return {"code": code, **json.loads(out.getvalue())}
