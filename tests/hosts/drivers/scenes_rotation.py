"""The same messages under another id, or sent once more: rotation, /compress here, restarts."""

from __future__ import annotations

from person import WORDS, Person, look, mark, text, texts


def three_times(*, in_place: bool) -> dict:
    """Three compactions, a restart under the newest id, a fourth."""
    person = Person(in_place=in_place)
    begins = texts(1)
    person.say(*begins)
    first = person.session
    for _ in range(3):
        person.say(*texts(2), text(look(), look()))
        person.compress()
    person.say(text())
    person.leave()
    again = Person(person.session, in_place=in_place)
    again.say(text(look()), text())
    again.compress()
    again.say(text())
    again.leave()
    return {"sessions": [first, again.session], "last": again.session, "begins": mark(begins[0])}


def compress_here(*, in_place: bool) -> dict:
    """`/compress here N` shows the head alone; the tail comes back with the next list."""
    person = Person(in_place=in_place)
    person.say(*texts(5), text(look()))
    person.compress("here 2")
    person.say(*texts(2))
    person.compress("here 1")
    person.say(text())
    person.leave()
    again = Person(person.session, in_place=in_place)
    again.say(*texts(2))
    again.compress("here 1")
    again.say(text())
    again.leave()
    return {"sessions": [again.session]}


def the_session_that_was_left(*, in_place: bool) -> dict:
    """Somebody resumes the id from before the compaction, and goes on there."""
    person = Person(in_place=in_place)
    person.say(*texts(5))
    first = person.session
    person.compress()
    person.say(*texts(2))
    last = person.session
    person.leave()
    again = Person(first, in_place=in_place)
    again.say(*texts(2))
    again.compress()
    again.say(text())
    again.leave()
    return {"sessions": [first, last, again.session]}


def in_the_middle_of_a_turn(*, in_place: bool) -> dict:
    """Long tool results push the list over the threshold: the host compacts between two steps."""
    person = Person(in_place=in_place)
    person.say(*texts(3))
    person.engine.threshold_tokens = 16_000
    long = WORDS * 16
    person.say(text(look(long), look(long)), text(look(long), look(long)), *texts(2))
    inside = person.engine.compression_count
    person.leave()
    again = Person(person.session, in_place=in_place)
    again.say(text())
    again.compress()
    again.say(text())
    again.leave()
    return {"sessions": [again.session], "inside": inside}
