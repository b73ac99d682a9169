"""Compares what the store holds with every list that the engine's doors were shown.

It knows nothing of how rows are recognised. Everything that is said in these tests holds a
mark of its own (``u0001`` a person, ``a0001`` the model, ``t0001`` a tool), so that what a
row stands for can be read in its text, however the host has changed the rest of it.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drivers.person import WORDS, paragraph
from lcm.demo.model import Call as ToolCall
from lcm.demo.model import Message, Reply, Request, Script, ScriptedModel, text_of

MARK = re.compile(r"\b[uat]\d{4}\b")
_NAME = re.compile(r"\[lcm ([0-9a-f]{8})\]")
_HEAD = "Earlier conversation, compacted."
_FILLER = "Understood. I continue from the conversation that follows."

Row = Mapping[str, Any]


class Clerk(Script):
    """A model that answers each request with a mark of its own, and calls the tools it is told to.

    A line ``DO name {arguments}`` of the newest user's text is a call; several are parallel. Who always says
    the same behind a mark gets the same; who does not, does not.
    """

    def __init__(self) -> None:
        super().__init__([])
        self.said = 0

    def answer(self, messages: list[Message]) -> Reply:
        """The reply to a request; another one for the same request sent again."""
        with self._lock:
            return self._advance(messages)

    def _advance(self, messages: list[Message]) -> Reply:
        self.said += 1
        last = messages[-1]
        if "WAIT" in text_of(last.get("content")).splitlines():
            time.sleep(1.5)  # long enough to be interrupted
        told = text_of(last.get("content")) if last["role"] == "user" else ""
        if told == "go on":
            return Reply("Done.")
        orders = re.findall(r"^DO (\w+) (\{.*\})$", told, re.MULTILINE)
        calls = tuple(ToolCall(name, arguments) for name, arguments in orders)
        asked = next((text_of(m.get("content")) for m in messages[::-1] if m["role"] == "user"), "")
        words = WORDS if WORDS in asked else paragraph(random.Random(self.said))
        return Reply(f"a{self.said:04d}:{words}", calls)


class Forgetful(ScriptedModel):
    """A server that begins anew with ``call_000000`` in each answer, as several do.

    A summary of a text with the line ``SLOW`` takes two seconds.
    """

    def answer(self, body: dict[str, Any]) -> Request:
        self._calls = 0
        if not body.get("tools") and "\nSLOW\n" in text_of(body["messages"][-1].get("content")):
            time.sleep(2)
        return super().answer(body)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up in the middle of an answer is no fault here."""


def marks_of(row: Row) -> tuple[str, ...]:
    """What the row stands for; nothing if it is a summary row or a filler of the engine's."""
    text = _without_ours(text_of(row.get("content")))
    return tuple(dict.fromkeys(MARK.findall(text)))


def frame_of(row: Row) -> str:
    """The short name of the summary row that the row is, or begins with."""
    text = text_of(row.get("content")).strip()
    names = list(_NAME.finditer(text)) if text.startswith(_HEAD) else []
    return names[-1][1] if names else ""


def _without_ours(text: str) -> str:
    """What a host put behind a row of ours; the whole text if it is none."""
    text = text.strip()
    if text.startswith(_HEAD) and (names := list(_NAME.finditer(text))):
        return text[names[-1].end() :]
    return text.removeprefix(_FILLER)


def _normal(text: str) -> str:
    return " ".join(text.split())


def _last(marks: Sequence[str]) -> list[str]:
    """Each of *marks* once, where it stands last."""
    return list(dict.fromkeys(reversed(marks)))[::-1]


def _rises(places: list[int]) -> bool:
    return places == sorted(places)


def _once(marks: list[str]) -> list[str]:
    """*marks* without what stands again right behind itself, also where they end within such a copy.

    Of a conversation that is rotated, the newer host compacts with `/compress here` the list of its database
    where that is longer than the head that it was to compact, and puts the tail behind it, which is in it
    already (``_adopt_grown_durable_parent``). The next `/compress here` shows the last copy without its end.
    """
    told: list[str] = []
    at = 0
    while at < len(marks):
        rest = marks[at:]
        runs = (told[n:] for n, mark in enumerate(told) if mark == rest[0])
        copy = next((run for run in runs if run[: len(rest)] == rest[: len(run)]), [])
        if copy and len(rest) > 1:
            at += len(copy)
        else:
            told.append(rest[0])
            at += 1
    return told


def _without_old_copy(rows: Sequence[Row], places: Mapping[str, int]) -> list[str]:
    """The marks of *rows* without what stands, in its order, behind a second summary row and was shown before.

    The newer host compacts a branch in place and puts behind the result what the branch was copied from,
    summary row and all: its rows still carry the numbers of the parent's, so ``archive_and_compact`` takes
    the branch's own for what came meanwhile.
    """
    known = [([m for m in marks_of(row) if m in places], frame_of(row)) for row in rows]
    frames = [n for n, (_, frame) in enumerate(known) if frame]
    if len(frames) < 2:
        return [mark for marks, _ in known for mark in marks]
    before, behind = (
        [mark for marks, _ in part for mark in marks]
        for part in (known[: frames[1]], known[frames[1] :])
    )
    reached = max((places[mark] for mark in before), default=-1)
    old = 0
    while old < len(behind) and places[behind[old]] <= reached:
        old += 1
    return [*before, *(behind[old:] if _rises([places[m] for m in behind[:old]]) else behind)]


class Account:
    """What was seen of one conversation, and what is stored of its last session."""

    def __init__(self, seen: Mapping[str, Any], kept: Mapping[str, Any], sessions: Iterable[str]):
        names = set(sessions)
        self.rows: Sequence[Row] = seen["rows"]
        self.lists = [each for each in seen["lists"] if each["session"] in names]
        self.messages: Sequence[Mapping[str, Any]] = kept["messages"]
        self.nodes: Mapping[str, Sequence[str]] = kept["nodes"]
        """uids of the messages under each node that the line's own or an older line has."""
        self.own: Sequence[str] = kept["own"]
        """The nodes that were made on this line."""
        self.problems: Sequence[str] = kept["problems"]

    def stored(self, message: Mapping[str, Any]) -> tuple[str, ...]:
        """The marks of a stored message, in whichever version has them."""
        found = (marks_of(version) for version in message["versions"])
        return tuple(dict.fromkeys(mark for marks in found for mark in marks))

    def faults(self, *, twice: Iterable[str] = (), hidden: str = "") -> list[str]:
        """Everything that is not as it should be.

        *twice*: marks of what a person said again (``/retry``); *hidden*: beginnings of marks that
        the last list may lack although they are in the conversation (pruned, or another agent's).
        """
        return [
            *(f"problem: {problem}" for problem in self.problems),
            *self._lost_or_doubled(set(twice)),
            *self._not_whole(),
            *self._out_of_order(set(twice)),
            *self._wrong_spans(),
            *self._not_the_last_list(tuple(hidden)),
        ]

    def _lost_or_doubled(self, twice: set[str]) -> list[str]:
        counts = Counter(mark for each in self.messages for mark in self.stored(each))
        seen = {
            mark for each in self.lists for n in each["list"] for mark in marks_of(self.rows[n])
        }
        lost = [f"{mark}: seen, not stored" for mark in sorted(seen) if not counts[mark]]
        more = [
            f"{mark}: stored {n} times"
            for mark, n in sorted(counts.items())
            if n > 1 and mark not in twice
        ]
        return lost + more

    def _not_whole(self) -> list[str]:
        """The longest text that was ever seen of a message is one of its versions."""
        longest: dict[str, str] = {}
        shown = {n for each in self.lists for n in each["list"]}
        for row in (self.rows[n] for n in shown):
            text, marks = _normal(_without_ours(text_of(row.get("content")))), marks_of(row)
            if len(marks) == 1 and len(text) > len(longest.get(marks[0], "")):
                longest[marks[0]] = text
        stored = {
            mark: [_normal(text_of(version.get("content"))) for version in each["versions"]]
            for each in self.messages
            for mark in self.stored(each)
        }
        return [
            f"{mark}: not whole: {text[:50]!r} is none of {[v[:50] for v in stored[mark]]}"
            for mark, text in sorted(longest.items())
            if mark in stored and not any(text in version for version in stored[mark])
        ]

    def _places(self) -> dict[str, int]:
        return {
            mark: place for place, each in enumerate(self.messages) for mark in self.stored(each)
        }

    def _out_of_order(self, twice: set[str]) -> list[str]:
        """Every list is in the order of the store; what stands in it twice counts where it stands last."""
        places = self._places()
        faults = []
        for each in self.lists:
            rows = [self.rows[n] for n in each["list"]]
            marks = [m for row in rows for m in marks_of(row) if m in places]
            if not any(
                _rises([places[mark] for mark in _last(read) if mark not in twice])
                for read in (marks, _once(marks), _without_old_copy(rows, places))
            ):
                faults.append(
                    f"{each['door']} saw another order than that of the store: {_last(marks)}"
                )
        return list(dict.fromkeys(faults))

    def _wrong_spans(self) -> list[str]:
        """A node stands for neighbours, but for those that were withdrawn since."""
        places = {each["uid"]: place for place, each in enumerate(self.messages)}
        faults = []
        for uid in self.own:
            held = self.nodes[uid]
            line = [places[each] for each in held if each in places]
            if len(set(line)) != len(held):
                faults.append(f"node {uid[:8]} does not open: {len(line)} of {len(held)} messages")
            elif line:
                between = {*range(min(line), max(line) + 1)} - {*line}
                lost = [n for n in between if not self.messages[n]["withdrawn"]]
                if len(lost) > 1:  # one may be lifted: the newest user message
                    faults.append(f"node {uid[:8]} has holes at {lost}")
        return faults

    def expanded(self, rows: Iterable[Row]) -> list[str]:
        """The marks of a list in which every summary row is replaced by what it stands for."""
        by_uid = {each["uid"]: self.stored(each) for each in self.messages}
        marks: list[str] = []
        for row in rows:
            name = frame_of(row)
            for uid in (uid for uid in self.nodes if name and uid.startswith(name)):
                marks += [m for held in self.nodes[uid] for m in by_uid.get(held, ("?",))]
            marks += marks_of(row)
        return marks

    def miscounted(self, rows: Iterable[Row]) -> dict[str, int]:
        """Texts that are active more or less often than the list *rows*, opened, has them."""
        texts = {
            m["uid"]: _normal(text_of(m["versions"][-1].get("content"))) for m in self.messages
        }
        counts = Counter(texts[m["uid"]] for m in self.messages if not m["withdrawn"])
        for row in rows:
            name = frame_of(row)
            held = [
                uid
                for node in self.nodes
                if name and node.startswith(name)
                for uid in self.nodes[node]
            ]
            counts.subtract(texts[uid] for uid in held)
            rest = _normal(_without_ours(text_of(row.get("content"))))
            counts.subtract([rest] if rest else [])
        return {text[:40]: n for text, n in counts.items() if n}

    def _not_the_last_list(self, hidden: tuple[str, ...]) -> list[str]:
        """The last list, opened, is what is active in the store; a host may show a row twice."""
        if not self.lists:
            return ["no door was shown a list"]
        opened = {*self.expanded(self.rows[n] for n in self.lists[-1]["list"])}
        active = {m for each in self.messages if not each["withdrawn"] for m in self.stored(each)}
        return [f"{mark}: in the last list, but withdrawn" for mark in sorted(opened - active)] + [
            f"{mark}: active, but not in the last list"
            for mark in sorted(active - opened)
            if not mark.startswith(hidden or "-")
        ]
