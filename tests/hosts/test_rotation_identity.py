"""The same messages under another session id, sent once more, or without their tail, are the same messages."""

from __future__ import annotations

import pytest
from hostkit.oracle import frame_of
from hostkit.scenes import Scene

pytestmark = pytest.mark.slow

SCENES = [
    *(
        Scene(name, "scenes_rotation", in_place)
        for name in ("three_times", "compress_here")
        for in_place in (False, True)
    ),
    Scene("the_session_that_was_left", "scenes_rotation", in_place=False),
    Scene("in_the_middle_of_a_turn", "scenes_rotation", in_place=False),
]


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_what_any_door_saw_is_stored_once_whole_and_in_order(walked, scene):
    """LIFE-01: rows that are sent again under the new id, or after a restart, are no new messages."""
    # The older host does not write down the tail that `/compress here` kept: after a restart it
    # is in no list, and still in the conversation.
    loses = scene.name == "compress_here" and not walked.host.is_new
    assert walked.of(scene).faults(hidden="ua" if loses else "") == {}


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_all_ids_stand_on_one_line(walked, scene):
    """LIFE-01: every session id of the conversation, the first and the last, has all of its messages."""
    lived = walked.of(scene)
    assert len({kept["line"] for kept in lived.kept.values()}) == 1
    assert (len(lived.kept) > 1) == (not scene.in_place)


@pytest.mark.parametrize("scene", SCENES[:2], ids=str)
def test_a_summary_row_is_known_again_under_every_id(walked, scene):
    """Four compactions, each of what the one before left: the last row opens down to the first message."""
    lived = walked.of(scene)
    assert len(lived.passes) == 4
    session = lived.told["last"]
    rows = lived.last_list(session)
    assert frame_of(rows[0])
    assert lived.account(session).expanded(rows)[0] == lived.told["begins"]


def test_the_host_compacts_between_two_steps_of_a_turn(walked):
    """LIFE-01: and the results of the turn in which the id changes are stored once, too."""
    lived = walked.of(Scene("in_the_middle_of_a_turn", "scenes_rotation", in_place=False))
    assert lived.told["inside"] >= 1
    assert len(lived.kept) > lived.told["inside"]
