"""Conversations that part in the real command line share their messages, and nothing else: /branch, /new, /resume."""

from __future__ import annotations

import pytest
from hostkit.scenes import Scene

pytestmark = pytest.mark.slow

SCENES = [
    *(
        Scene(name, "scenes_branch", in_place)
        for name in ("both_go_on", "branch_of_a_compacted_one")
        for in_place in (True, False)
    ),
    Scene("branches_of_branches", "scenes_branch"),
    Scene("branch_at_once", "scenes_branch", in_place=False),
]


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_what_any_door_saw_is_stored_once_whole_and_in_order(walked, scene):
    """LIFE-05: on the line of each branch, and of its parent."""
    assert walked.of(scene).faults() == {}


@pytest.mark.parametrize("scene", SCENES[:4], ids=str)
def test_a_branch_stands_on_a_line_of_its_own(walked, scene):
    """LIFE-05: what is said in one is no message of the other, also if the parent is compacted in between."""
    lived = walked.of(scene)
    parent, branch = lived.told["parent"], lived.told["branch"]
    marks = {
        name: {mark for message in kept["messages"] for mark in lived.account(name).stored(message)}
        for name, kept in lived.kept.items()
    }
    assert lived.kept[parent]["line"] != lived.kept[branch]["line"]
    assert marks[parent] - marks[branch]
    assert marks[branch] - marks[parent]


@pytest.mark.parametrize("scene", SCENES[:4], ids=str)
def test_what_they_share_is_kept_once(walked, scene):
    """A message that stands in both has one uid in both."""
    lived = walked.of(scene)
    uids: dict[str, set[str]] = {}
    for session, kept in lived.kept.items():
        for message in kept["messages"]:
            for mark in lived.account(session).stored(message):
                uids.setdefault(mark, set()).add(message["uid"])
    assert {mark: each for mark, each in uids.items() if len(each) > 1} == {}


def test_a_new_session_begins_empty(walked):
    """LIFE-04: between two branches; nothing of them is on its line."""
    lived = walked.of(Scene("branches_of_branches", "scenes_branch"))
    assert len(lived.kept[lived.told["fresh"]]["messages"]) == 4
    assert lived.kept[lived.told["fresh"]]["relation"] == "new"


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_every_compaction_made_the_list_shorter(walked, scene):
    """Also of a list that the older host restored twice."""
    passes = walked.of(scene).passes
    assert all(after < before for before, after in passes), passes


def test_the_older_host_restores_a_list_twice(walked):
    """The times of its rows tell that they are the same; without them this scene would prove nothing."""
    told = walked.of(Scene("branch_at_once", "scenes_branch", in_place=False)).told
    assert told["restored"] == told["said"] * (1 if walked.host.is_new else 2)
