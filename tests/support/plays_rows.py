"""What the hosts of the property test do to rows: edit, prune, fold, decorate, mask, strip, discard, insert."""

from __future__ import annotations

import re

from hypothesis import strategies as st
from hypothesis.stateful import rule
from simhost import FLAG, flat
from stage import Stage, answers, doors

__all__ = ["Rows"]


class Rows(Stage):
    """A message stays what it was, however its row looks."""

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
            behind = self.host.rows[at + 1].data
            row = self.host.add("user", self.host.content(style))
            if not self.uids and (row.data["content"], "user") == (
                behind["content"],
                behind["role"],
            ):
                row.data["content"] = self.host.text("plain")  # nothing tells which of them is new
            self.host.rows.insert(at + 1, self.host.rows.pop())
            assert self.host.rows[at + 1] is row
            self.host.flush()
            self.look(door=max(door, 0))
