"""What is said in the property test, and what is taken back."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule
from stage import Stage, answers, chance, doors, styles
from truth import Row

__all__ = ["Talk"]


class Talk(Stage):
    """Turns, steps, rows without an answer, undo and retry."""

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

    # going back

    @rule(turns=st.integers(1, 3), door=doors)
    def undo(self, turns, door):
        users = self.host.users()
        if users:
            self.host.cut(users[-min(turns, len(users))])
            self.maybe_look(door)

    @rule(at=st.integers(0, 60), door=doors)
    def cut(self, at, door):
        """Undo past the tail: down to the summary, its filler, or nothing."""
        if at < len(self.host.rows):
            self.host.cut(at)
            self.maybe_look(door)

    @rule(door=doors, answer=answers)
    def retry(self, door, answer):
        users = self.host.users()
        if not users:
            return
        last = self.host.rows[users[-1]]
        content = last.data["content"]
        plain_user = last.ids and set(last.data) <= {"role", "content", "message_uid", "timestamp"}
        self.host.cut(users[-1])
        if self.uids or not plain_user or len(last.ids) > 1:
            self.host.add("user", content if self.uids else self.host.text("plain"))
        else:
            self.host.rows.append(Row({"role": "user", "content": content}, last.ids))
        self.host.answer(answer)
        self.host.flush()
        self.maybe_look(door)
