"""What people take back: /undo and /retry, before and behind a compaction."""

from __future__ import annotations

from person import Person, look, mark, mark_in, text, texts


def _users(person: Person) -> int:
    return sum(row["role"] == "user" for row in person.rows)


def undo_and_go_on(*, in_place: bool) -> dict:
    """Turns are taken back and others said in their place."""
    person = Person(in_place=in_place)
    said = [*texts(3), text(look(), look()), text(look())]
    person.say(*said[:4])
    person.undo()
    person.say(said[4])
    person.undo(2)
    person.say(*texts(3))
    person.compress()
    person.say(text())
    person.compress()
    person.say(text())
    person.leave()
    return {"sessions": [person.session], "undone": [mark(each) for each in said[2:]]}


def undo_all_after_a_compaction(*, in_place: bool) -> dict:
    """As many turns as there are user rows: the older host's list is empty then."""
    person = Person(in_place=in_place)
    person.say(*texts(6))
    person.compress()
    person.say(text())
    person.undo(_users(person))
    left = len(person.rows)
    person.say(*texts(6))
    person.compress()
    person.say(text())
    person.leave()
    return {"sessions": [person.session], "left": left}


def undo_past_the_tail(*, in_place: bool) -> dict:
    """One turn more than a compaction has left verbatim is taken back."""
    person = Person(in_place=in_place)
    person.say(*texts(7))
    person.compress()
    person.undo(_users(person) - 1)
    person.say(text())
    person.undo(1)
    person.say(*texts(3))
    person.compress()
    person.say(text())
    person.leave()
    return {"sessions": [person.session]}


def retry(*, in_place: bool) -> dict:
    """The same text is sent again, with calls, after a compaction, and before a restart."""
    person = Person(in_place=in_place)
    order = look()
    said = [*texts(2), text(order), *texts(3)]
    person.say(*said[:3])
    person.retry()
    person.say(*said[3:])
    person.retry()
    person.retry()
    person.compress()
    person.retry()
    person.leave()
    again = Person(person.session, in_place=in_place)
    again.say(text())
    again.compress()
    again.say(text())
    again.leave()
    return {"sessions": [again.session], "twice": [mark(said[2]), mark(said[-1]), mark_in(order)]}


def undo_after_a_restart(*, in_place: bool) -> dict:
    """Restored rows are taken back, and restored again."""
    person = Person(in_place=in_place)
    person.say(*texts(2), text(look(), look()), *texts(2))
    person.leave()
    second = Person(person.session, in_place=in_place)
    second.say(text())
    second.undo(2)
    second.say(text(look()))
    second.compress()
    second.say(text())
    second.leave()
    third = Person(second.session, in_place=in_place)
    third.say(text())
    third.undo()
    third.say(text())
    third.compress()
    third.say(text())
    third.leave()
    return {"sessions": [third.session]}
