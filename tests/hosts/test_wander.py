"""People do things in any order: walks that a dice throws, at the real prompt.

``LCM_WALKS`` is how many there are, and ``LCM_SEED`` where they begin; a walk takes a quarter of a minute.
"""

from __future__ import annotations

import os

import pytest
from hostkit.scenes import Scene

pytestmark = pytest.mark.slow

_FIRST, _WALKS = int(os.environ.get("LCM_SEED", "1")), int(os.environ.get("LCM_WALKS", "3"))
SCENES = [
    Scene("wander", "scenes_wander", in_place=seed % 2 == 0, seed=seed)
    for seed in range(_FIRST, _FIRST + _WALKS)
]


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_what_any_door_saw_is_stored_once_whole_and_in_order(walked, scene):
    """Whatever was undone, retried, branched, interrupted, resumed and compacted, in whatever order.

    That the last list may lack what is active is the hosts': behind `/compress here` in place the older one
    loses rows of the tail when it restores the session, and what is missing in the middle stays ours.
    """
    lived = walked.of(scene)
    found = lived.faults(twice=lived.told["twice"], hidden="uat")
    # A session that was left before anything was said in it has been shown to no door.
    assert {
        s: faults for s, faults in found.items() if faults != ["no door was shown a list"]
    } == {}


def test_every_digest_holds_and_the_newer_host_sends_valid_requests(walked):
    """The older host drops the second call of an id that a server used twice from what it sends."""
    assert walked.refused == [] or not walked.host.is_new
    assert walked.verified["failures"] == []
    assert walked.verified["code"] == 0
