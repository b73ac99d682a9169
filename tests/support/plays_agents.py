"""Processes, other agents and sessions of the property test."""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from lcm import LCMEngine
from plays_passes import Passes
from simhost import uuid_of
from stage import chance, doors

__all__ = ["Agents"]


class Crash(BaseException):
    """The process is gone."""


class Bomb(dict[str, Any]):
    """A row that ends the process at the n-th look at it."""

    def __init__(self, looks: int) -> None:
        super().__init__(role="user", content="boom")
        self.looks = looks

    def get(self, key: Any, default: Any = None) -> Any:
        self.looks -= 1
        if self.looks <= 0:
            raise Crash
        return super().get(key, default)


class Agents(Passes):
    """Restarts, crashes, clones, throw-away agents, branches, and the upgrade of the host."""

    # processes

    @rule(door=st.integers(0, 3))
    def restart(self, door):
        """Another process; the list comes from the host's database."""
        self.settle()
        self.host.rows = self.host.restored(flags=True)
        self.engine = self.start(self.name)
        report = self.engine.ingest(self.given(self.host.rows))
        assert (0, 0, 0) == (report.new, report.revised, report.withdrawn)
        self.look(door=door)

    @precondition(lambda self: not self.uids)
    @rule(kept=st.integers(2, 60))
    def restore_twice(self, kept):
        """The older host has written once more what it had just read; an undo may have cut the copy off."""
        self.host.add("user", self.host.text("plain"))
        self.host.answer("plain")
        self.host.flush()
        self.look()
        self.settle()
        rows = self.host.restored(flags=True)
        begins = {row.data["role"] for row in rows[:kept]}
        if any(row.ours for row in rows) or begins <= {
            "user"
        }:  # behind a summary row its words tell
            return
        self.engine = self.start(self.name)
        report = self.engine.ingest(self.given([*rows, *rows[:kept]]))
        assert (0, 0, 0) == (report.new, report.revised, report.withdrawn)
        self.look()

    @rule(how=st.sampled_from(["clone", "copy", "deepcopy"]), door=doors)
    def clone(self, how, door):
        ways = {"clone": LCMEngine.clone_for_agent, "copy": copy.copy, "deepcopy": copy.deepcopy}
        engine = ways[how](self.engine)
        self.engines.append(engine)
        engine.bind_session_state(session_db=self.database, session_id=self.name)
        self.engine = engine
        self.maybe_look(door)

    @rule(looks=st.integers(1, 14), at=st.integers(0, 60), sleeping=st.booleans())
    def crash(self, looks, at, sleeping):
        """The process ends inside a door, or while the summariser works."""
        rows = self.host.rows
        if sleeping:
            self.summarizer.meanwhile = self.die
            with contextlib.suppress(Crash):
                self.compress()
            self.summarizer.meanwhile = None
        else:
            given = self.given(rows)
            given.insert(min(at, len(given)), Bomb(looks))
            with pytest.raises(Crash):
                self.engine.ingest(given)
        self.engine = self.start(self.name)
        self.look()

    @staticmethod
    def die():
        raise Crash

    @rule(
        view=st.sampled_from(["roles", "head", "stale", "last"]),
        which=st.integers(0, 30),
        passes=chance,
    )
    def another_agent(self, view, which, passes):
        """A throw-away agent on the same session, with another list."""
        self.settle()
        engine = self.engine.clone_for_agent()
        self.engines.append(engine)
        engine.bind_session_state(session_db=self.database, session_id=self.name)
        rows = self.view(view, which)
        if not rows:
            return
        self.look(rows, engine)
        if passes:
            self.compress(engine, rows=rows)
        engine.on_session_end(self.name, [])
        self.look()

    def view(self, view, which):
        rows = [row.copied() for row in self.host.rows]
        if view == "roles":
            return [
                row for row in rows if row.data["role"] != "tool" and not row.data.get("tool_calls")
            ]
        if view == "head":
            return rows[: which % (len(rows) + 1)]
        if view == "last":
            return rows[-1:] if rows and rows[-1].ids else []  # a filler alone is no list
        unclear = self.unstamped if self.uids else self.said_again
        old = [rows for rows in self.snapshots[self.name] if not unclear(rows)]
        return [row.copied() for row in old[which % len(old)]] if old else []

    def unstamped(self, rows):
        """Whether a row has no uid that its message has now: an old copy, or the same words said again?

        Nothing in the list tells; it counts as new (decision 22), for a duplicate is better than a loss.
        """
        return any(
            each in self.truth.uids
            for row in rows
            if "message_uid" not in row.data
            for each in row.ids
        )

    def said_again(self, rows):
        """Whether a row has words that stand elsewhere on the line too: without uids, which is meant?"""
        line = self.truth.lines[self.name].order
        words = Counter(str(self.truth.first[each].get("content")).strip() for each in line)
        return any(
            words[str(self.truth.first[each].get("content")).strip()] > 1
            for row in rows
            for each in row.ids
        )

    # sessions

    @rule(door=doors)
    def branch(self, door):
        """A new session begins with this one's messages, as the host's database has them."""
        self.settle()
        if not any(row.ids for row in self.host.rows):
            return
        parent = self.name
        name = self.open_session(self.host.restored(flags=False))
        self.database.rows[name] = {"parent_session_id": parent, "end_reason": ""}
        self.move_to(name)
        self.truth.branch(parent, name)
        self.look(door=max(door, 0))

    def move_to(self, name):
        self.engine.on_session_reset()
        self.engine.bind_session_state(self.database, name)
        self.name = name

    @rule(which=st.integers(0, 5), door=doors)
    def resume(self, which, door):
        """Back to another session."""
        self.settle()
        names = [name for name in self.hosts if not self.ended(name) and name != self.name]
        if names:
            self.move_to(self.pick(names, which))
            self.host.rows = self.host.restored(flags=True)
            self.look(door=max(door, 0))

    def ended(self, name):
        return self.database.rows[name].get("end_reason") == "compression"

    @rule()
    def new(self):
        self.settle()
        self.move_to(self.open_session())

    @precondition(lambda self: not self.uids)
    @rule(door=doors)
    def upgrade(self, door):
        """The host begins to give uids; what is in its database gets them too."""
        self.settle()
        self.uids = True
        named: dict[int, str] = {}
        for host in self.hosts.values():
            host.uids = True
            for row in host.rows:
                if row.ids:
                    uid = named.setdefault(row.ids[0], uuid_of(self.dice))
                    row.data["message_uid"] = uid
        self.keep_uids()
        self.snapshots = {name: [] for name in self.hosts}  # what is in a database has uids now
        self.look(door=max(door, 0))  # a word said again before that would take its uid
