"""What hosts do to rows, done by the hosts: folds, drops, pruning, pictures, todo lists, other agents, lost results."""

from __future__ import annotations

import pytest
from hostkit.scenes import Scene

pytestmark = pytest.mark.slow

_MODULE = "scenes_merge"
_NAMES = (
    "interrupted",
    "folded",
    "pruned",
    "with_pictures",
    "with_todos",
    "gateway",
    "two_agents",
    "a_filtered_agent",
    "thrown_away",
)
SCENES = [
    *(Scene(name, _MODULE) for name in _NAMES),
    *(Scene(name, _MODULE, False) for name in ("gateway", "thrown_away")),
    Scene("timed_out", _MODULE, only="new"),
]
#: What the last list may lack: the text of pruned results, and what another agent said.
_HIDDEN = {"pruned": "t", "two_agents": "uat"}


def lived_in(walked, scene):
    """The scene, on a host that has the habit."""
    if scene.only not in ("", walked.host.generation):
        pytest.skip(f"only the {scene.only} host does that")
    return walked.of(scene)


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_what_any_door_saw_is_stored_once_whole_and_in_order(walked, scene):
    """Whatever the host did to a row, it is the message that it was, in its fullest version."""
    lived = lived_in(walked, scene)
    assert lived.faults(hidden=_HIDDEN.get(scene.name, "")) == {}


@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_the_agent_goes_on_and_compacts_again(walked, scene):
    """The last compaction made the list shorter."""
    before, after = lived_in(walked, scene).passes[-1]
    assert after < before


def test_the_hosts_did_what_is_said_of_them(walked):
    """The scenes would prove nothing if no row had been folded, dropped, pruned, flattened or added."""

    def told(name):
        return walked.of(Scene(name, _MODULE)).told

    assert len(told("folded")["after"]) < len(told("folded")["before"]) + 4
    assert told("pruned")["pruned"] >= 4
    assert set(told("with_pictures")["kinds"]) == {"str"}
    assert told("with_todos")["snapshots"] == 1
    roles = told("interrupted")["roles"]
    assert len(roles) == (10 if walked.host.is_new else 6)
    if walked.host.is_new:
        assert told_thrown(walked)


def told_thrown(walked):
    """Whether the newer host gave up waiting and kept its list."""
    return walked.of(Scene("timed_out", _MODULE, only="new")).told["thrown"]


def test_a_gateway_agent_under_the_sessions_id_adds_no_session(walked):
    """DED-06: hygiene and five agents of one turn each are one conversation."""
    lived = walked.of(Scene("gateway", _MODULE))
    assert len(lived.kept) == 1
