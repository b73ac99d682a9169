"""Passes of the property test: what the engine gives back is judged, and what hosts make of it is played."""

from __future__ import annotations

import re

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from judge import bodies, check_graph, difference, faults, same_row
from simhost import FLAG
from stage import Stage, answers, chance, doors
from truth import Row, copied

__all__ = ["Passes"]

FRAME = re.compile(r"\[lcm ([0-9a-f]{8})\]")


class Passes(Stage):
    """Compactions that a host commits, refuses, or takes over late."""

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
            Row(ours[0], (), "summary", under, lifted.ids if lifted else self.stays(rows, under)),
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

    @staticmethod
    def stays(rows, under):
        """What the summary before has left out, and this one too: it stood in front of the tail already."""
        newest = max(rows, key=lambda row: len(row.under))
        return tuple(each for each in newest.lifted if each not in under)

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
