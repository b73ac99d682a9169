"""A person who does this and that, as a dice says: all that people do at the prompt, in any order."""

from __future__ import annotations

import random
import re
import threading

from person import Person, look, mark, mark_in, paragraph, text

#: What is done, and how often of a hundred times.
_WEIGHTS = {
    "say": 38,
    "look": 14,
    "look_at_much": 4,
    "say_the_same": 6,
    "undo": 7,
    "retry": 5,
    "compress": 8,
    "new": 2,
    "branch": 3,
    "resume": 4,
    "restart": 6,
    "interrupt": 3,
}
_STEPS = 40


class _Wanderer:
    """One walk."""

    def __init__(self, dice: random.Random, *, in_place: bool) -> None:
        self.dice, self.in_place = dice, in_place
        self.person = Person(in_place=in_place)
        self.left: list[str] = []
        """Sessions that may be gone back to."""
        self.twice: set[str] = set()
        """Marks of what was said again, or may be shown again."""

    def step(self) -> str:
        """One thing, whichever it is."""
        (what,) = self.dice.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        getattr(self, what)()
        return what

    def say(self, *orders: str) -> None:
        self.person.say(text(*orders, words=paragraph(self.dice)))

    def look(self) -> None:
        self.say(look(paragraph(self.dice)))

    def look_at_much(self) -> None:
        self.say(*(look(paragraph(self.dice)) for _ in range(self.dice.randint(2, 4))))

    def say_the_same(self) -> None:
        self.person.say("go on")

    def undo(self) -> None:
        self.person.undo(self.dice.choice([1, 1, 1, 2, 3]))

    def retry(self) -> None:
        said = self.person.cli.retry_last()
        if said:
            orders = re.findall("^DO .*$", said, re.MULTILINE)
            self.twice.update([*re.findall(r"\bu\d{4}\b", said), *map(mark_in, orders)])
            self.person.say(said)

    def compress(self) -> None:
        if self.person.agent is not None:
            self.person.compress(self.dice.choice(["", "", "", "here 1", "here 2"]))

    def new(self) -> None:
        self.left.append(self.person.session)
        self.person.new()

    def branch(self) -> None:
        if self.person.rows and self.person.agent is not None:
            self.left.append(self.person.session)
            self.person.branch()

    def resume(self) -> None:
        if self.left and self.person.agent is not None:
            there = self.left.pop(self.dice.randrange(len(self.left)))
            self.left.append(self.person.session)
            self.person.resume(there)

    def restart(self) -> None:
        if self.person.rows:
            self.person.leave()
            self.person = Person(self.person.session, in_place=self.in_place)

    def interrupt(self) -> None:
        """The text may be in two folds of the host's, and in no list by itself."""
        if self.person.agent is not None:
            threading.Timer(0.5, self.person.agent.interrupt).start()
            said = text("WAIT", words=paragraph(self.dice))
            self.twice.add(mark(said))
            self.person.say(said)


def wander(*, in_place: bool, seed: int) -> dict:
    """A walk, and a compaction behind it."""
    walk = _Wanderer(random.Random(seed), in_place=in_place)
    walk.say()
    done = [walk.step() for _ in range(_STEPS)]
    walk.say()
    walk.person.compress()
    walk.say()
    walk.person.leave()
    sessions = [walk.person.session, *walk.left]
    return {"sessions": sessions, "twice": sorted(walk.twice), "done": done}
