"""state_updates: every_turn. The state of the conversation after each turn, from the one before and the turn."""

from __future__ import annotations

import contextlib
import json

import pytest
from background import WINDOW, Slow, Talk, turn
from lcm import LCMEngine
from lcm.console.verify import verify
from lcm.dag.forget import forget_session, forget_text, plan_session
from lcm.dag.nodes import STATE
from lcm.dag.states import standing_states, state_at
from lcm.storage import open_store
from moving import exported, imported, lcm


class Notes(Slow):
    """Says how many states there were, in as many tokens as it may."""

    def __call__(self, request):
        super().__call__(request)
        said = f"State {len(self.sources)}: decided on port {8000 + len(self.sources)}."
        return json.dumps(
            {
                "topic": f"topic {len(self.sources)}",
                "hints": [f"port {8000 + len(self.sources)}", "decisions"],
                "levels": {str(level): said for level in request.levels},
                "sufficient_tokens": 15,
            }
        )


@pytest.fixture
def make(tmp_path):
    made = []

    def build(summarizer, session="s", **settings):
        settings = {"state_updates": "every_turn"} | settings
        engine = LCMEngine(
            WINDOW, db_path=tmp_path / "lcm.db", settings=settings, summarizer=summarizer
        )
        made.append(engine)
        engine.on_session_start(session)
        return engine

    yield build
    for engine in made:
        engine.close()


@pytest.fixture
def opened(tmp_path):
    with contextlib.closing(open_store(tmp_path / "lcm.db")) as store:
        yield store


def states(store, session="s"):
    return standing_states(store, store.session(session).line)


def test_a_turn_costs_one_call_that_reads_the_state_before_and_the_turn(make, opened):
    """Never the conversation from its start again."""
    notes = Notes()
    talk = Talk(make(notes))
    for _ in range(5):
        talk.say()
    assert 5 == len(notes.sources)
    assert "State 4" in notes.sources[-1]
    assert "question 5" in notes.sources[-1]
    for other in (1, 2, 3, 4):
        assert f"question {other}" not in notes.sources[-1]
    found = states(opened)
    assert [1, 2, 3, 4, 5] == [state.last_turn for state in found]
    assert all(state.first_turn == 1 for state in found)
    assert [2, 4, 6, 8, 10] == [state.messages for state in found]
    assert [None] + [state.uid for state in found[:-1]] == [
        state.sources[0].node for state in found
    ]
    assert (15, 50, 250, 1000) == tuple(found[-1].levels)


def test_passes_come_and_states_go_on(make, opened):
    """The pass is prepared as well, asks nobody, and no state is under a summary, in a list or found by a search."""
    notes = Notes()
    talk = Talk(make(notes))
    for _ in range(3):
        talk.until_pass()
    assert [] == notes.in_passes
    found = states(opened)
    assert list(range(1, talk.n + 1)) == [state.last_turn for state in found]
    line = opened.session("s").line
    uids = {state.uid for state in found}
    others = opened.nodes_on([line], kinds=("leaf", "condensed", "frame"))
    assert not uids & {source.node for node in others for source in node.sources}
    assert not uids & set(opened.over([e.id for e in opened.entries(line)]).values())
    assert sum(opened.totals(line).nodes.values()) == sum(n.kind != "frame" for n in others)
    answer = json.loads(talk.engine.handle_tool_call("lcm_grep", {"query": "State 3", "limit": 50}))
    assert not uids & {each["uid"] for each in answer["results"]}


def test_a_session_that_had_none_begins_with_its_summaries(make, opened):
    """Switched on in the middle: the first state is of what the list shows, the next one of that and the turn."""
    plain = Talk(make(Slow(), state_updates="ahead"))
    plain.until_pass()
    plain.engine.close()
    notes = Notes()
    talk = Talk(make(notes))
    talk.rows, talk.n = plain.rows, plain.n
    talk.say()
    (state,) = states(opened)
    assert (1, talk.n) == (state.first_turn, state.last_turn)
    assert "question 1:" not in notes.sources[0]
    assert "What was said, number" in notes.sources[0]
    talk.say()
    assert 2 == len(states(opened))


def test_an_undo_goes_back_to_the_state_before(make, opened):
    """What was withdrawn is in no later state."""
    notes = Notes()
    talk = Talk(make(notes))
    for _ in range(4):
        talk.say()
    talk.rows = talk.rows[:4]
    talk.say()
    newest = states(opened)[-1]
    (before,) = opened.nodes([newest.sources[0].node])
    assert 2 == before.last_turn
    assert "question 3" not in notes.sources[-1]
    assert "question 4" not in notes.sources[-1]


def test_a_failure_is_made_up_for_by_the_next_turn(make, opened):
    """One call for both turns; nothing extracted is kept as a state."""

    class Once(Notes):
        fails = False

        def __call__(self, request):
            said = super().__call__(request)
            if self.fails:
                raise ConnectionError
            return said

    once = Once()
    talk = Talk(make(once))
    talk.say()
    once.fails = True
    talk.say()
    assert 1 == len(states(opened))
    once.fails = False
    talk.say()
    assert [1, 3] == [state.last_turn for state in states(opened)]
    assert "question 2" in once.sources[-1]
    assert "question 3" in once.sources[-1]


def test_a_short_turn_takes_nothing_from_the_state(make, opened):
    """A state is no summary of a third of its source: it keeps its size through many short turns."""

    class Full(Slow):
        def __call__(self, request):
            super().__call__(request)
            return "fact " * (request.max_tokens * 4 // 5)

    talk = Talk(make(Full()))
    for _ in range(8):
        talk.say()
    full = len(max(states(opened)[-1].texts.values(), key=len))
    for _ in range(8):
        talk.rows.append({"role": "user", "content": f"go on {talk.n}"})
        talk.rows.append({"role": "assistant", "content": f"done {talk.n}"})
        talk.n += 1
        talk.engine.on_turn_complete(talk.rows)
        assert talk.engine._ahead.wait(10)
    assert len(max(states(opened)[-1].texts.values(), key=len)) > 0.9 * full


def test_a_greeting_is_not_worth_a_call(make, opened):
    """What is smaller than a few of the smallest texts stands for itself."""
    notes = Notes()
    engine = make(notes)
    engine.on_turn_complete(
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    )
    assert engine._ahead.wait(10)
    assert [] == notes.sources
    assert [1] == [state.last_turn for state in states(opened)]


# asked for by turn


def test_a_turn_says_what_suffices_for_it_and_what_could_be_asked(make, opened):
    """From its state; where there is none, from the summary over it; else from its messages."""
    talk = Talk(make(Notes()))
    for _ in range(3):
        talk.say()
    found = talk.engine.turn_state(2)
    assert ("state", 15, [1, 2]) == (found["by"], found["sufficient_tokens"], found["turns"])
    assert ["port 8002", "decisions"] == found["hints"]
    assert talk.engine.turn_state(99) is None
    other = Talk(make(Slow(), session="t", state_updates="ahead"))
    other.until_pass()
    first, last = other.engine.turn_state(1), other.engine.turn_state(other.n)
    assert "node" == first["by"]
    assert first["levels"]
    assert first["hints"]
    assert ("messages", "", {}) == (last["by"], last["uid"], last["levels"])
    assert last["sufficient_tokens"] > 0
    assert last["hints"]


def test_the_command_line_shows_it(make, tmp_path, opened):
    """show --turn N; a number that is none, and no such turn, are said."""
    talk = Talk(make(Notes()))
    for _ in range(3):
        talk.say()
    name = tmp_path / "lcm.db"
    code, shown = lcm("show", "--turn", 2, "--db", name)
    assert 0 == code
    assert "sufficient: 15 tokens" in shown
    assert "ask about: port 8002; decisions" in shown
    assert "State 2: decided on port 8002." in shown
    code, out = lcm("show", "--turn", 2, "--db", name, "--json")
    assert (0, "state") == (code, json.loads(out)["by"])
    assert 0 != lcm("show", "--turn", 99, "--db", name)[0]
    assert 0 != lcm("show", "--db", name)[0]


# what keeps it must know it


def test_verify_and_export_and_import_know_states(make, tmp_path, opened):
    """Each is proved like a summary; they go out and come in with their session."""
    talk = Talk(make(Notes()))
    for _ in range(2):
        talk.until_pass()
    talk.engine.close()
    report = verify(opened)
    assert ((), ()) == (report.failures, report.notes)
    assert talk.n == report.counts.states
    assert sum(opened.totals().nodes.values()) == report.counts.nodes
    code, out = lcm("export", "--db", tmp_path / "lcm.db", "--format", "state")
    (data,) = json.loads(out)["sessions"]
    assert 0 == code
    assert talk.n == len(data["states"])
    assert [each["state"] for each in data["turns"]] == [each["uid"] for each in data["states"]]
    path = exported(tmp_path / "lcm.db", tmp_path / "all.jsonl")
    assert 0 == imported(path, tmp_path / "new.db")[0]
    with contextlib.closing(open_store(tmp_path / "new.db")) as there:
        assert len(states(there)) == talk.n
        assert () == verify(there).failures
        assert state_at(there, there.session("s").line, 2).plain()["hints"] == [
            "port 8002",
            "decisions",
        ]
        before = opened.totals().nodes
        assert before == there.totals().nodes


def test_forgetting_takes_states_too(make, opened):
    """A string goes out of their texts, a session takes all of them along."""
    talk = Talk(make(Notes()))
    for _ in range(4):
        talk.say()
    talk.engine.close()
    forget_text(opened, "port 8002", 1.0)
    assert not any("port 8002" in text for s in states(opened) for text in s.texts.values())
    assert not any("port 8002" in hint for s in states(opened) for hint in s.hints)
    assert () == verify(opened).failures
    session = opened.session("s")
    assert {s.uid for s in states(opened)} <= set(plan_session(opened, session).nodes)
    forget_session(opened, session, 2.0)
    assert [] == opened.nodes_on([session.line], kinds=[STATE])


def test_secrets_are_in_no_state(make, opened):
    """The text that a summariser reads, and what it writes, is masked."""
    key = "sk-proj-" + "Ab3dEf6hIj" * 4

    class Leaky(Slow):
        def __call__(self, request):
            super().__call__(request)
            return f"It knows {key} from elsewhere."

    leaky = Leaky()
    talk = Talk(make(leaky))
    talk.rows += [{"role": "user", "content": f"my key is {key} " + "word " * 80}, turn(1)[1]]
    talk.engine.on_turn_complete(talk.rows)
    assert talk.engine._ahead.wait(10)
    assert leaky.sources
    assert not any(key in source for source in leaky.sources)
    assert not any(key in text for s in states(opened) for text in s.texts.values())


def test_a_branch_goes_on_from_the_states_it_shares(make, opened):
    """The state before the branch is the base of the first one on it."""
    notes = Notes()
    talk = Talk(make(notes))
    for _ in range(3):
        talk.say()
    line = opened.session("s").line
    talk.engine.close()
    opened.open_session("b", parent="s", relation="branch")
    branch = Talk(make(notes, session="b"))
    branch.rows, branch.n = list(talk.rows), talk.n
    branch.say()
    newest = states(opened, "b")[-1]
    assert opened.session("b").line == newest.line != line
    assert newest.sources[0].node == states(opened)[-1].uid
    assert 4 == newest.last_turn
