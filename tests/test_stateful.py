"""Any interleaving of what hosts do: nothing is lost, nothing doubled, the order kept, the list valid.

A simulated host (``support/simhost.py``) of either generation plays with the real engine on a real
file. It knows by private ids what each of its rows really is (``support/truth.py``); what must hold
is judged after every step by rules that share no code with the engine (``support/judge.py``).

``LCM_EXAMPLES`` sets how many examples are played, ``LCM_SEED`` which ones, ``LCM_STEPS`` how long they may get.
"""

from __future__ import annotations

import contextlib
import copy
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from judge import bodies, check_graph, check_messages, difference, faults, same_row
from lcm import LCMEngine
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from simhost import FLAG, Host, flat, uuid_of
from truth import Row, Truth, copied

EXAMPLES = int(os.environ.get("LCM_EXAMPLES", "500"))
SEED = int(os.environ.get("LCM_SEED", "1"))
STEPS = int(os.environ.get("LCM_STEPS", "16"))
#: A folder in memory, where there is one: what a power cut leaves is not the question here.
SHARED = "/dev/shm"  # noqa: S108
WINDOW = 2000
SETTINGS = {"threshold": 0.5, "target": 0.3, "leaf_tokens": 300, "condense_fanin": 2}

styles = st.sampled_from(
    ["plain"] * 4 + ["common", "common", "template", "spaced", "secret", "lines", "picture", "long"]
)
answers = st.sampled_from(["plain"] * 3 + ["common", "spaced", "template"])
chance = st.integers(0, 3).map(lambda n: n == 0)
FRAME = re.compile(r"\[lcm ([0-9a-f]{8})\]")


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


class Summarizer:
    """Writes short summaries, or fails, or lets something happen meanwhile."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails = 0
        self.meanwhile: Any = None

    def __call__(self, request: Any) -> str:
        self.calls += 1
        if self.meanwhile:
            happens, self.meanwhile = self.meanwhile, None
            happens()
        if self.fails:
            self.fails -= 1
            raise ConnectionError("the model is away")
        return "It was said, and it was done."


class HostDatabase:
    """What the engine may ask the host's session database."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, str]] = {}

    def get_session(self, name: str) -> dict[str, str] | None:
        return self.rows.get(name)


class Hosts(RuleBasedStateMachine):
    """A host at work, its conversations, and the engine that serves it."""

    # life

    @initialize(
        uids=st.booleans(), seed=st.integers(0, 2**32), stamps=st.booleans(), system=st.booleans()
    )
    def begin(self, uids, seed, stamps, system):
        self.dice = Random(seed)
        self.folder = Path(tempfile.mkdtemp(dir=SHARED if os.path.isdir(SHARED) else None))
        self.uids, self.stamps = uids, stamps
        self.system = [{"role": "system", "content": "Be good."}] if system else []
        self.truth, self.summarizer, self.database = Truth(), Summarizer(), HostDatabase()
        self.store = open_store(self.folder / "lcm.db")
        self.engines: list[LCMEngine] = []
        self.sessions = 0
        self.hosts: dict[str, Host] = {}
        self.snapshots: dict[str, list[list[Row]]] = {}
        self.number = 0
        self.keep_uids()
        self.engine = self.start(self.open_session())

    def keep_uids(self):
        """Be a host that keeps ``message_uid`` off the wire, as the newer ones say they do."""
        if self.uids and self.stamps:
            said = ModuleType("agent.message_metadata")
            said.PERSISTENCE_ONLY_MESSAGE_FIELDS = frozenset({"message_uid"})
            sys.modules["agent.message_metadata"] = said
            sys.modules.setdefault("agent", ModuleType("agent"))

    def teardown(self):
        for name in ("agent", "agent.message_metadata"):
            if not hasattr(sys.modules.get(name), "__path__"):
                sys.modules.pop(name, None)
        for engine in getattr(self, "engines", ()):
            engine.close()
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    def open_session(self, rows=()):
        self.sessions += 1
        name = f"s{self.sessions}"
        host = Host(self.dice, uids=self.uids)
        host.count = 100_000 * self.sessions
        host.rows = list(rows)
        self.hosts[name] = host
        self.snapshots[name] = []
        self.database.rows[name] = {}
        return name

    def start(self, name):
        """Another process on the same file."""
        engine = LCMEngine(
            WINDOW, db_path=self.folder / "lcm.db", settings=SETTINGS, summarizer=self.summarizer
        )
        self.engines.append(engine)
        engine.bind_session_state(session_db=self.database, session_id=name)
        engine.on_session_start(name, platform="cli")
        self.name = name
        return engine

    @property
    def host(self):
        return self.hosts[self.name]

    # doors

    def given(self, rows):
        """The list as this generation passes it."""
        datas = [row.data for row in rows]
        return [*self.system, *(copied(datas) if self.uids else datas)]

    def look(self, rows=None, engine=None, door=0):
        """Show a list at some door; then all must be well."""
        rows = self.host.rows if rows is None else rows
        engine = engine or self.engine
        given = self.given(rows)
        if door == 0:
            report = engine.ingest(given)
            said = sum(bool(row.ids) for row in rows)
            assert report.new + report.known + report.revised == said
        elif door == 1:
            engine.on_turn_complete(given)
        elif door == 2:
            engine.on_session_end(self.name, given)
        else:
            engine.handle_tool_call("lcm_status", {}, messages=given)
        self.shown(rows)

    def shown(self, rows):
        if rows:
            self.truth.show(self.name, rows)
            self.snapshots[self.name].append([row.copied() for row in rows])
        self.check(rows)

    def check(self, rows):
        if self.name not in self.truth.lines:
            return
        check_messages(self.store, self.truth, self.name)
        again = Ledger(self.store, self.store.session(self.name)).ingest(copied(self.given(rows)))
        assert (0, 0, 0) == (again.new, again.revised, again.withdrawn)

    def maybe_look(self, door):
        if door >= 0:
            self.look(door=door)

    doors = st.sampled_from([0, 0, 1, 2, 3, -1, -1, -1])

    # what is said

    @rule(style=styles, answer=answers, door=doors, flushed=st.booleans())
    def talk(self, style, answer, door, flushed):
        self.host.add("user", self.host.content(style) if style != "long" else self.long())
        self.host.answer(answer)
        self.flushed(flushed)
        self.maybe_look(door)

    def long(self):
        return self.host.text("plain", 260)

    def flushed(self, now):
        """A list all of whose rows are new to the host's database says nothing of uids: it is flushed."""
        if now or not any("message_uid" in row.data for row in self.host.rows):
            self.host.flush()

    @rule(
        style=styles,
        calls=st.lists(
            st.sampled_from(["call_0", "call_1", "call_2"]), min_size=1, max_size=3, unique=True
        ),
        more=st.integers(0, 2),
        missing=chance,
        done=st.booleans(),
        door=doors,
    )
    def work(self, style, calls, more, missing, done, door):
        self.host.add("user", self.host.content(style if style != "long" else "plain"))
        for step in range(1 + more):
            gone = missing and step == more
            self.host.steps(calls, answered=len(calls) - gone)
        if done:
            self.host.answer("plain")
        self.host.flush()
        self.maybe_look(door)

    @rule(style=styles, door=doors)
    def interrupted(self, style, door):
        """A user's row that got no answer."""
        self.host.add("user", self.host.content(style if style != "long" else "plain"))
        self.host.flush()
        self.maybe_look(door)

    @rule(style=answers, door=doors)
    def interim(self, style, door):
        """One more assistant row."""
        self.host.answer(style)
        self.host.flush()
        self.maybe_look(door)

    @rule(door=st.integers(0, 3))
    def door(self, door):
        self.look(door=door)

    @rule()
    def flush(self):
        self.host.flush()
        self.look()

    # what hosts do to rows

    def settle(self):
        """Have the engine know what is there, by its uid where there are uids."""
        self.host.flush()
        self.look()

    def unique(self, role=""):
        """Places of messages whose words occur once, and that stand between two others."""
        places = self.host.messages(role)
        return [
            n
            for n in places
            if "z" in flat(self.host.rows[n].data["content"]) and FLAG not in self.host.rows[n].data
        ]

    def inner(self, role=""):
        rows = self.host.rows
        return [
            n
            for n in self.unique(role)
            if n + 1 < len(rows)
            and rows[n + 1].ids
            and (n == 0 or rows[n - 1].ids or rows[n - 1].ours)
        ]

    def settled(self, at):
        """Whether what stands behind the row is enough to tell an edit from an undo (decision 7)."""
        return self.uids or len(self.host.rows) - at > 3

    def named(self, at):
        """Whether a rewritten row still says of which messages it was made: a fold does so by uids only.

        Without, its words are those of none of its parts. It is a version of one of them (decision 22),
        and a list that ends with it says nothing of the others.
        """
        return self.uids or len(self.host.rows[at].ids) == 1

    def pick(self, places, which):
        return places[which % len(places)] if places else None

    @rule(which=st.integers(0, 50))
    def edit(self, which):
        at = self.pick([n for n in self.inner() if self.settled(n) and self.named(n)], which)
        if at is None or not isinstance(self.host.rows[at].data["content"], str):
            return
        self.settle()
        words = self.host.rows[at].data["content"].split()
        kept = words[: (len(words) + 1) // 2 + 1]
        self.host.write(at, f"{' '.join(kept)} {self.host.text('plain', 1)}")
        self.look()

    @rule(least=st.integers(0, 12))
    def prune(self, least):
        """Old tool output is replaced, all of it at once."""
        self.settle()
        results = [
            n for n in self.host.messages("tool") if n >= least and n + 1 < len(self.host.rows)
        ]
        for n in results:
            self.host.write(n, "[old tool output removed]")
        self.look()

    @rule(which=st.integers(0, 50), door=doors)
    def merge(self, which, door):
        self.host.flush()
        if self.uids:
            self.settle()
        rows = self.host.rows
        pairs = [n for n in range(len(rows) - 1) if self.may_merge(rows[n], rows[n + 1])]
        at = self.pick(pairs, which)
        if at is not None:
            self.host.merge(at)
            self.maybe_look(door)

    def may_merge(self, first, second):
        alike = first.data["role"] == second.data["role"] in ("user", "assistant")
        texts = all(isinstance(row.data["content"], str) for row in (first, second))
        if first.ours and (self.uids or not second.ids):
            return False
        if FLAG in first.data and first.ids[0] not in self.truth.first:
            return False
        return alike and texts and not second.ours and not first.data.get("tool_calls")

    @rule(which=st.integers(0, 50), before=st.booleans())
    def decorate(self, which, before):
        at = self.pick(self.unique(), which)
        if at is None or not isinstance(self.host.rows[at].data["content"], str):
            return
        if self.host.rows[at].data["role"] == "tool" or FLAG in self.host.rows[at].data:
            return
        self.settle()
        note = f"[note: {self.host.text('plain', 2)}]"
        content = self.host.rows[at].data["content"]
        self.host.write(at, f"{note}\n\n{content}" if before else f"{content}\n\n{note}")
        self.look()

    @rule(which=st.integers(0, 50))
    def mask(self, which):
        at = self.pick(
            [n for n in self.unique() if "sk-A" in str(self.host.rows[n].data["content"])], which
        )
        if at is not None:
            self.settle()
            content = self.host.rows[at].data["content"]
            if isinstance(content, str):
                self.host.write(at, re.sub(r"sk-ABCDEF\d+", "sk-***", content))
            self.look()

    @rule(which=st.integers(0, 50), flatten=st.booleans(), door=doors)
    def strip(self, which, flatten, door):
        at = self.pick(self.host.messages(), which)
        if at is None:
            return
        self.settle()
        content = self.host.rows[at].data["content"]
        if isinstance(content, str) or flatten:
            self.host.write(at, flat(content).strip())
        self.maybe_look(door)

    @rule(which=st.integers(0, 50))
    def discard(self, which):
        """A row goes without being folded."""
        self.settle()
        places = [n for n in self.inner() if n > 0 and self.alone(n)]
        at = self.pick(places, which)
        if at is not None:
            del self.host.rows[at]
            self.look()

    def alone(self, at):
        """Whether nothing hangs on the row, and its neighbours are of messages that stay apart."""
        row = self.host.rows[at]
        return row.data["role"] == "assistant" and not row.data.get("tool_calls")

    @rule(which=st.integers(0, 50), style=answers, door=doors)
    def insert(self, which, style, door):
        """A row comes between two that are known, as where two agents write one transcript."""
        self.settle()
        places = [n for n in self.inner("assistant") if self.settled(n) and self.alone(n)]
        at = self.pick(places, which)
        if at is not None:
            row = self.host.add("user", self.host.content(style))
            self.host.rows.insert(at + 1, self.host.rows.pop())
            assert self.host.rows[at + 1] is row
            self.host.flush()
            self.look(door=max(door, 0))

    # going back

    @rule(turns=st.integers(1, 3), door=doors)
    def undo(self, turns, door):
        users = self.host.users()
        if users:
            del self.host.rows[users[-min(turns, len(users))] :]
            self.maybe_look(door)

    @rule(at=st.integers(0, 60), door=doors)
    def cut(self, at, door):
        """Undo past the tail: down to the summary, its filler, or nothing."""
        if at < len(self.host.rows):
            del self.host.rows[at:]
            self.maybe_look(door)

    @rule(door=doors, answer=answers)
    def retry(self, door, answer):
        users = self.host.users()
        if not users:
            return
        last = self.host.rows[users[-1]]
        content = last.data["content"]
        plain_user = last.ids and set(last.data) <= {"role", "content", "message_uid", "timestamp"}
        del self.host.rows[users[-1] :]
        if self.uids or not plain_user or len(last.ids) > 1:
            self.host.add("user", content if self.uids else self.host.text("plain"))
        else:
            self.host.rows.append(Row({"role": "user", "content": content}, last.ids))
        self.host.answer(answer)
        self.host.flush()
        self.maybe_look(door)

    # compaction

    def compress(self, engine=None, *, force=True, rows=None):
        """(the list that the engine gives back as rows, whether it is another one)."""
        rows = list(self.host.rows if rows is None else rows)
        engine = engine or self.engine
        given = self.given(rows)
        before = copied(given)
        session = self.name
        if rows:
            self.truth.show(session, rows)
            self.snapshots[session].append([row.copied() for row in rows])
        result = engine.compress(given, force=force)
        assert before == given
        assert not engine._last_compress_aborted
        changed = result is not given
        made = self.rows_of(engine, rows, result) if changed else rows
        check_graph(self.store)
        return made, changed

    def rows_of(self, engine, rows, result):
        """Which messages the rows of a result are; judged while at it."""
        before, after = engine.count_tokens(self.given(rows)), engine.count_tokens(result)
        assert after < before
        assert not faults(result) - faults(self.given(rows))
        count = len(self.system)
        assert self.system == result[:count]
        talk = result[count:]
        ours = [row for row in talk if row.get("_compressed_summary")]
        assert talk[: len(ours)] == ours
        kept = talk[len(ours) :]
        last = {row.ids: n for n, row in enumerate(rows) if row.ids}
        source = [row for n, row in enumerate(rows) if row.ids and last[row.ids] == n]
        if rows[-1].ours == "pasted" and not rows[-1].ids and kept[-1:] == [rows[-1].data]:
            source.append(rows[-1])  # it waits for its answer
        suffix, lifted = self.matched(source, kept)
        if after > engine.threshold_tokens:
            users = [
                row
                for row in (*suffix, *([lifted] if lifted else []))
                if row.data["role"] == "user"
            ]
            assert len(users) <= 1, "the result does not fit although more could go"
        chosen = [*([lifted] if lifted else []), *suffix]
        made = [
            Row(data, origin.ids) if origin.ids else Row(data, (), origin.ours, origin.under)
            for data, origin in zip(kept, chosen, strict=True)
        ]
        self.newest_is_there(rows, chosen, kept)
        if not ours:
            return made
        under = self.truth.under(self.name, rows, suffix, lifted)
        self.stands_for(ours[0], under)
        front = [
            Row(ours[0], (), "summary", under, lifted.ids if lifted else ()),
            *(Row(row, (), "filler") for row in ours[1:]),
        ]
        return front + made

    def matched(self, source, kept):
        """(rows of the verbatim tail, the lifted row in front of them or None)."""
        tail = source[len(source) - len(kept) :] if kept else []
        if all(same_row(row, data) for row, data in zip(tail, kept, strict=True)):
            return tail, None
        tail = source[len(source) - len(kept) + 1 :]
        assert all(same_row(row, data) for row, data in zip(tail, kept[1:], strict=True))
        users = [row for row in source[: len(source) - len(tail)] if row.data["role"] == "user"]
        lifted = next((row for row in reversed(users) if same_row(row, kept[0])), None)
        assert lifted
        assert not any(map(self.is_person, users[users.index(lifted) + 1 :]))
        return tail, lifted

    def newest_is_there(self, rows, chosen, kept):
        users = [row for row in rows if row.ids and self.is_person(row)]
        if users:
            assert any(row is users[-1] for row in chosen)

    @staticmethod
    def is_person(row):
        return row.data["role"] == "user" and (FLAG not in row.data or row.spoken)

    def stands_for(self, summary, under):
        """The summary row names a node, and that stands for exactly what left the list."""
        prefix = FRAME.findall(summary["content"])[-1]
        ((_, uid),) = [each for each in self.store.resolve(prefix) if each[0] == "node"]
        pairs = self.store.stands_for(uid)
        expected = [self.truth.first[each] for each in under]
        now = bodies(self.store, [(number, 1) for number, _ in pairs])
        assert expected == now, difference(expected, now)

    def commit(self, rows, *, rotate=False):
        """The host takes a result over, in place or under another session id."""
        self.engine.on_session_end(self.name, self.given(self.host.rows))
        old = self.name
        if rotate:
            new = self.open_session()
            self.database.rows[new] = {"parent_session_id": old}
            self.database.rows[old] = {**self.database.rows[old], "end_reason": "compression"}
            self.hosts[new].rows = self.hosts[old].rows
            self.truth.lines[new] = self.truth.lines[old]
            self.name = new
        self.hosts[self.name].rows = rows
        self.engine.on_session_start(
            self.name, boundary_reason="compression", old_session_id=old, platform="cli"
        )

    @rule(
        force=st.sampled_from([True, True, False]),
        rotate=chance,
        fails=st.integers(-3, 2),
        door=doors,
    )
    def compacted(self, force, rotate, fails, door):
        """A pass that the host commits; the model may be away."""
        self.host.flush()
        self.summarizer.fails = max(fails, 0)
        rows, changed = self.compress(force=force)
        self.summarizer.fails = 0
        if changed:
            self.commit(rows, rotate=rotate)
        self.maybe_look(door)

    @rule(door=doors)
    def thrown_away(self, door):
        """A pass whose result the host refuses; the same pass then costs nothing."""
        self.host.flush()
        first, changed = self.compress()
        calls = self.summarizer.calls
        second, _ = self.compress()
        if changed:
            assert calls == self.summarizer.calls
            assert [row.data for row in first] == [row.data for row in second]
        self.maybe_look(door)

    @rule(style=answers, late=st.booleans(), door=doors)
    def meanwhile(self, style, late, door):
        """A message arrives while the summariser works; the result comes late, or is taken with it."""
        self.host.flush()
        rows = list(self.host.rows)
        arrived = []

        def arrives():
            arrived.append(self.host.add("user", self.host.text(style)))
            self.host.flush()
            self.engine.on_turn_complete(self.given(self.host.rows))
            self.truth.show(self.name, self.host.rows)

        self.summarizer.meanwhile = arrives
        made, changed = self.compress(rows=rows)
        self.summarizer.meanwhile = None
        if arrived:
            self.truth.show(self.name, self.host.rows)
            self.engine.ingest(self.given(self.host.rows))
        if changed and not late:
            self.commit([*made, *arrived])
        self.maybe_look(door)

    @rule(door=doors)
    def todo(self, door):
        """The host appends a row of its own, flagged."""
        self.host.add("user", self.host.text("plain"), **{FLAG: True})
        self.host.flush()
        self.maybe_look(door)

    @precondition(lambda self: not self.uids)
    @rule(door=doors)
    def paste(self, door):
        """Somebody sends the text of the summary row as a message."""
        summary = next(
            (row for row in self.host.rows if row.ours == "summary" and not row.ids), None
        )
        if summary:
            data = {"role": "user", "content": summary.data["content"]}
            self.host.rows.append(Row(data, (), "pasted", summary.under))
            self.maybe_look(door)

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


def play(examples, seed, steps=STEPS):
    run_state_machine_as_test(
        hypothesis.seed(seed)(Hosts),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_any_interleaving_of_what_hosts_do():
    """Lossless: every message once, whole, in order, under exactly its nodes, and the list valid."""
    play(EXAMPLES, SEED)


@pytest.mark.long
def test_twenty_thousand_interleavings():
    """The same, 20,000 times."""
    play(20_000, SEED + 1, steps=30)
