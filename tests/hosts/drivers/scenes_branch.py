"""Conversations that part, and meet again: /branch, /new, /resume."""

from __future__ import annotations

from person import Person, look, text, texts


def both_go_on(*, in_place: bool) -> dict:
    """Branch and parent each say more, take back what they share, and are compacted."""
    person = Person(in_place=in_place)
    person.say(*texts(3), text(look()))
    parent = person.session
    person.say(text())
    branch = person.branch()
    person.say(text())
    person.undo(3)
    person.say(*texts(3))
    person.compress()
    person.say(text())
    branch = person.session
    person.resume(parent)
    person.say(*texts(2))
    person.undo()
    person.say(text())
    person.compress()
    person.say(text())
    person.leave()
    return {"sessions": [parent, branch, person.session], "parent": parent, "branch": branch}


def branch_of_a_compacted_one(*, in_place: bool) -> dict:
    """At once after a compaction; the older host then restores the parent's list twice."""
    person = Person(in_place=in_place)
    person.say(*texts(6))
    person.compress()
    parent = person.session
    branch = person.branch()
    person.resume(parent)
    restored = len(person.rows)
    person.say(text())
    person.compress()
    person.say(text())
    parent = person.session
    person.resume(branch)
    person.say(*texts(2))
    person.compress()
    person.say(text())
    person.leave()
    return {
        "sessions": [parent, person.session],
        "parent": parent,
        "branch": person.session,
        "restored": restored,
    }


def branch_at_once(*, in_place: bool) -> dict:
    """Right behind `/resume`, before anything is said; the older host then restores the list twice."""
    person = Person(in_place=in_place)
    person.say(*texts(3), text(look()))
    parent = person.session
    said = len(person.rows)
    person.branch()
    person.say(text())
    person.resume(parent)
    person.branch()
    person.say(text())
    branch = person.session
    person.resume(parent)
    restored = len(person.rows)
    person.say(text())
    person.compress()
    person.say(text())
    person.leave()
    return {"sessions": [parent, branch, person.session], "said": said, "restored": restored}


def branches_of_branches(*, in_place: bool) -> dict:
    """A branch of a branch, a new session between, and a restart in the oldest."""
    person = Person(in_place=in_place)
    person.say(*texts(3))
    first = person.session
    second = person.branch()
    person.say(*texts(2))
    third = person.branch()
    person.say(*texts(2))
    person.compress()
    third = person.session
    person.new()
    fresh = person.session
    person.say(*texts(2))
    person.resume(second)
    person.say(text())
    person.leave()
    again = Person(first, in_place=in_place)
    again.say(*texts(2))
    again.compress()
    again.say(text())
    again.leave()
    return {"sessions": [again.session, second, third, fresh], "fresh": fresh}
