"""An upgrade of the host in the middle of a session, and back: nothing is lost, doubled or forgotten."""

from __future__ import annotations

import pytest
from hostkit import GENERATIONS, find_host
from hostkit.oracle import frame_of
from hostkit.scenes import Lived, a_home

pytestmark = pytest.mark.slow

#: Which host opens the home, one after the other, and the number from which the person's words count.
WAY = (("old", 1), ("new", 100), ("old", 200), ("new", 300))


@pytest.fixture(scope="module")
def stations(tmp_path_factory):
    """The three sessions after each station; what doors saw is of all stations up to it."""
    hosts = {name: find_host(name) for name in GENERATIONS}
    if None in hosts.values():
        pytest.skip("both Hermes environments are needed to go from one to the other")
    found = []
    seen = {"rows": [], "lists": [], "passes": []}
    known: list[str] = []
    with (
        hosts["old"].unchanged(),
        hosts["new"].unchanged(),
        a_home(tmp_path_factory.mktemp("upgrade"), hosts["old"]) as (home, _),
    ):
        for generation, start in WAY:
            home.host = hosts[generation]
            name = "go_on" if known else "begin"
            arguments = {"start": start, **({"known": known} if known else {})}
            told = home.drive("identity", {"scenes": [[name, "scenes_upgrade", name, arguments]]})
            scene = told["scenes"][name]
            assert "error" not in scene, scene["error"]
            known = scene["sessions"]
            scene["first"] = _first_row(scene["seen"], known[0])
            seen = _joined(seen, scene["seen"])
            found.append((Lived(scene, scene["kept"], seen), told["verify"]))
    return found


def _first_row(seen, session):
    """The first row of the first list that a door saw of *session*."""
    shown = next(each for each in seen["lists"] if each["session"] == session)
    return seen["rows"][shown["list"][0]]


def _joined(before, after):
    """Two reports of a witness as one."""
    moved = len(before["rows"])
    lists = [{**each, "list": [n + moved for n in each["list"]]} for each in after["lists"]]
    return {
        "rows": before["rows"] + after["rows"],
        "lists": before["lists"] + lists,
        "passes": after["passes"],
    }


@pytest.mark.parametrize("station", range(4), ids=["0.19", "upgraded", "back", "again"])
def test_what_any_door_saw_is_stored_once_whole_and_in_order(stations, station):
    """Of a compacted session, a short one and a branch of it, whichever host named which copy."""
    lived, _ = stations[station]
    assert lived.faults() == {}


@pytest.mark.parametrize("station", range(4), ids=["0.19", "upgraded", "back", "again"])
def test_every_digest_holds(stations, station):
    """`verify` finds nothing wrong, whichever host wrote last."""
    _, verified = stations[station]
    assert verified["failures"] == []


def test_summary_rows_of_the_other_host_are_known(stations):
    """The row that the other host's engine wrote begins the first list, and is the beginning of the session."""
    for lived, _ in stations[1:]:
        session = lived.told["sessions"][0]
        row = lived.told["first"]
        assert frame_of(row)
        assert lived.account(session).expanded([row])[0].startswith("u")


def test_old_nodes_still_open(stations):
    """Every node that any station made is there at the last, and stands for the same messages."""
    last, _ = stations[-1]
    for lived, _ in stations:
        for session, kept in lived.kept.items():
            now = last.kept[session]
            marks = {m["uid"]: m["versions"] for m in now["messages"]}
            for uid, held in kept["nodes"].items():
                assert len(now["nodes"][uid]) == len(held)
                assert uid not in now["own"] or {*now["nodes"][uid]} <= marks.keys()
