"""A conversation that another generation of the host began, or will go on with."""

from __future__ import annotations

from person import Person, begin_at, look, text, texts


def begin(*, start: int) -> dict:
    """Three sessions: one is compacted, one is short, one is a branch of the short one."""
    begin_at(start)
    person = Person()
    person.say(text(look(), look()), *texts(4))
    person.compress()
    person.say(text(look()))
    compacted = person.session
    person.new()
    person.say(*texts(2), text(look()))
    short = person.session
    branch = person.branch()
    person.say(*texts(2))
    person.undo()
    person.say(text())
    person.leave()
    return {"sessions": [compacted, short, branch]}


def go_on(*, start: int, known: list[str]) -> dict:
    """Each of them is resumed, goes on, is compacted and goes on."""
    begin_at(start)
    restored = []
    for session in known:
        person = Person(session)
        person.say(text(look()))
        restored.append([row.get("_compressed_summary", False) for row in person.rows])
        person.say(text())
        person.undo()
        person.say(text(look()))
        person.compress()
        person.say(text())
        person.leave()
    return {"sessions": known, "restored": restored}
