"""What people do at the prompt, done in the real command line: nothing of it loses a message."""

from __future__ import annotations

import pytest
from hostkit import HermesHome, faults_of
from lcm.demo.model import Reply, Script, ScriptedModel, Turn

pytestmark = pytest.mark.slow

FILLER = " The tide gauge was read and noted as usual on that day." * 12

ACTIONS = [
    ["say", "alpha-0001"],
    ["say", "alpha-0002"],
    ["undo", 1],
    ["say", "alpha-0003"],
    ["say", "alpha-0004"],
    ["say", "alpha-0005"],
    ["compress", ""],
    ["say", "alpha-0006"],
    ["new", None],
    ["say", "bravo-0001"],
    ["retry", None],
    ["resume", "first session"],
    ["say", "alpha-0007"],
    ["branch", None],
    ["say", "charlie-0001"],
    ["say", "charlie-0002"],
    ["compress", "here 1"],
    ["say", "charlie-0003"],
]
TEXTS = [f"{argument}:{FILLER}" for verb, argument in ACTIONS if verb == "say"]


class Answers(Script):
    """Answers each text with its first word."""

    def __init__(self) -> None:
        super().__init__([])

    def answer(self, messages):
        last = [m["content"] for m in messages if m["role"] == "user"][-1]
        return Reply(f"reply to {last[-len(FILLER) - 20 :].split(':')[0].split()[-1]}.")


@pytest.fixture(scope="module", params=[True, False], ids=["in-place", "rotation"])
def lived(request, host, tmp_path_factory):
    """The actions, done; then everything that was said, looked for by another process."""
    actions = [[v, f"{a}:{FILLER}" if v == "say" else a] for v, a in ACTIONS]
    with ScriptedModel(Answers()) as model:
        home = HermesHome(tmp_path_factory.mktemp("habits"), host, model.url)
        home.config["compression"]["in_place"] = request.param
        home.install()
        seen = home.drive("habits", {"actions": actions})["seen"]
        words = [text.split(":")[0] for text in TEXTS]
        queries = [[f"{word}: The", {"mode": "exact", "scope": "all"}] for word in words]
        sessions = list(dict.fromkeys(step["session"] for step in seen))
        read = home.drive("store", {"sessions": sessions, "queries": queries})["sessions"]
        yield seen, read, model.spoken


def test_every_session_has_our_engine(lived):
    """Through /new, /resume and /branch the active engine is lcm, bound to the session shown."""
    seen, _, _ = lived
    assert {step["engine"] for step in seen} == {"lcm"}
    assert all(step["engine_session"] == step["session"] for step in seen)


def test_everything_said_is_found_exactly_once(lived):
    """DED-07, LIFE-01, LIFE-05: withdrawn, retried, compacted, branched: each text is one message."""
    _, read, _ = lived
    found = next(iter(read.values()))["found"]
    users = {
        query: [h["uid"] for h in hits if h["role"] == "user"] for query, hits in found.items()
    }
    # /retry sends the same text again: a second message where the host makes it one.
    wrong = {q: uids for q, uids in users.items() if not 1 <= len(uids) <= 1 + ("bravo" in q)}
    assert not wrong


def test_a_new_session_begins_empty(lived):
    """ING-06, LIFE-04: What was said before /new is no turn of the session after it."""
    seen, read, _ = lived
    after = next(step["session"] for step in seen if step["action"] == "new")
    texts = [str(entry.get("content")) for entry in read[after]["messages"]]
    assert any(text.startswith("bravo") for text in texts)
    assert not any(text.startswith("alpha") for text in texts)


def test_the_lists_stay_valid(lived):
    """Every request of every session is one that a strict provider takes."""
    _, _, requests = lived
    assert not [faults for r in requests if (faults := faults_of(r.messages))]


def test_the_newest_exchange_survives_compress_here(lived):
    """`/compress here 1` keeps the last exchange in the list as it was."""
    seen, _, _ = lived
    step = next(s for s in reversed(seen) if s["action"] == "compress")
    kept = [row["content"] for row in step["list"][-2:]]
    assert kept[0].startswith("charlie-0002")
    assert kept[1] == "reply to charlie-0002."


def test_a_compacted_session_can_be_resumed_by_another_process(host, tmp_path):
    """DED-01, ING-02: After a compaction and a restart, the next turns are stored once and the list is valid."""
    turns = [Turn(f"delta-{n}:{FILLER}", (Reply(f"noted {n}"),)) for n in range(8)]
    with ScriptedModel(Script(turns)) as model:
        home = HermesHome(tmp_path, host, model.url)
        home.install()
        says = [["say", turn.user] for turn in turns]
        before = home.drive("habits", {"actions": [*says[:5], ["compress", ""], says[5]]})["seen"]
        session = before[-1]["session"]
        after = home.drive("habits", {"session": session, "actions": says[6:]})["seen"]
        assert after[-1]["session"] == session
        queries = [[f"delta-{n}:", {"mode": "exact"}] for n in range(8)]
        read = home.drive("store", {"sessions": [session], "queries": queries})["sessions"]
        counts = {q: len(hits) for q, hits in read[session]["found"].items()}
        assert set(counts.values()) == {1}
        assert not [faults for r in model.spoken if (faults := faults_of(r.messages))]
