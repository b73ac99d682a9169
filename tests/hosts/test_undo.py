"""What people take back in the real command line is kept, marked, and stored once: /undo and /retry."""

from __future__ import annotations

import pytest
from hostkit.oracle import frame_of
from hostkit.scenes import Scene

pytestmark = pytest.mark.slow

SCENES = [
    *(
        Scene(name, "scenes_undo")
        for name in (
            "undo_and_go_on",
            "undo_after_a_restart",
            "undo_all_after_a_compaction",
            "undo_past_the_tail",
            "retry",
        )
    ),
    Scene("undo_past_the_tail", "scenes_undo", in_place=False),
    Scene("the_same_words", "scenes_merge"),
]


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_what_any_door_saw_is_stored_once_whole_and_in_order(walked, scene):
    """And what is active is what the last list, opened, stands for; nodes open to their spans."""
    lived = walked.of(scene)
    assert lived.faults(twice=lived.told.get("twice", ())) == {}


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_the_agent_goes_on_and_compacts_again(walked, scene):
    """The last compaction made the list shorter, and the next list shows its summary row."""
    lived = walked.of(scene)
    before, after = lived.passes[-1]
    assert after < before
    session = lived.told["sessions"][-1]
    assert frame_of(lived.last_list(session)[0])


@pytest.mark.parametrize("scene", SCENES[:1], ids=str)
def test_what_was_taken_back_is_marked_and_the_rest_is_not(walked, scene):
    """Of six turns before the compaction two and one were undone: their messages are withdrawn."""
    lived = walked.of(scene)
    (kept,) = lived.kept.values()
    account = lived.account(lived.told["sessions"][-1])
    gone = [account.stored(message)[0] for message in kept["messages"] if message["withdrawn"]]
    assert [mark for mark in gone if mark.startswith("u")] == lived.told["undone"]


def test_the_older_host_takes_our_rows_for_a_persons(walked):
    """`/undo` of all user rows empties its list; the newer host leaves summary and filler."""
    lived = walked.of(Scene("undo_all_after_a_compaction", "scenes_undo"))
    assert lived.told["left"] == (2 if walked.host.is_new else 0)


def test_a_retried_text_is_stored_at_most_as_often_as_it_was_sent(walked):
    """And each of its answers, all different, exactly once (which the first test says)."""
    lived = walked.of(Scene("retry", "scenes_undo"))
    first, last, looked = (
        len(lived.texts(lived.told["sessions"][-1], mark)) for mark in lived.told["twice"]
    )
    assert 1 <= first <= 2
    assert 1 <= last <= 4
    assert 1 <= looked <= 2


def test_nothing_but_the_same_words_is_counted_right(walked):
    """As many 'go on' and 'Done.' are active as the last list, opened, stands for."""
    lived = walked.of(Scene("the_same_words", "scenes_merge"))
    session = lived.told["sessions"][-1]
    assert lived.account(session).miscounted(lived.last_list(session)) == {}


def test_every_request_is_valid_and_every_digest_holds(walked):
    """A strict provider takes each request of every scene; `verify` finds nothing wrong after all."""
    # The older host drops the second call of an id that a server used twice from what it sends.
    assert walked.refused == [] or not walked.host.is_new
    assert walked.verified["failures"] == []
    assert walked.verified["code"] == 0
