"""What was compacted is found again in both hosts: twenty questions in other words, and one call of each tool."""

from __future__ import annotations

import json
from functools import partial

import pytest
from lcm.demo.model import Call, Reply, Script, ScriptedModel, Turn

pytestmark = pytest.mark.slow

#: What a user says on the first day, what one asks later, and what the answer must hold.
FACTS = [
    ("My sister Vera moves to Lisbon in October.", "Where is Vera moving?", "Lisbon"),
    ("The staging database listens on port 5433.", "Which port has the staging database?", "5433"),
    ("We pay invoices of Brand & Sons after 45 days.", "When are invoices of Brand & Sons paid?", "45"),
    ("The parser is in src/grammar/lexer_core.py.", "Which file is the lexer core in?", "lexer_core.py"),
    ("Deploys are frozen from 20 December on.", "From when on is deploying frozen?", "20 December"),
    ("The error was ERR_QUOTA_417 on the upload.", "What error code came with uploads?", "ERR_QUOTA_417"),
    ("Call getUserTimeline before you render.", "Is user timeline called before rendering?", "getUserTimeline"),
    ("Marta is allergic to hazelnuts.", "What is Marta allergic to?", "hazelnuts"),
    ("The backup runs at 03:30 with --skip-locked.", "With which flag is the backup run?", "--skip-locked"),
    ("Our rate limit is 250 requests a minute.", "How many requests a minute are allowed?", "250"),
    ("The logo colour is #1F6FEB.", "Which colour does the logo have?", "#1F6FEB"),
    ("Commit 9fceb02 broke the importer.", "Which commit broke importing?", "9fceb02"),
    ("Henrik owns the billing service.", "Who is the owner of billing?", "Henrik"),
    ("会议改到星期四下午三点。", "会议改到什么时候?", "星期四"),
    ("The demo for Aurora Labs is in room Tamarind.", "In which room is the Aurora demo?", "Tamarind"),
    ("We chose Postgres because of its row locks.", "Why was Postgres chosen?", "row locks"),
    ("The test user is kiwi_87.", "What is our test user called?", "kiwi_87"),
    ("The retention period is 400 days.", "How long is the retention?", "400"),
    ("Die Rechnung geht an Frau Öztürk.", "An wen geht die Rechnung?", "Öztürk"),
    ("Version 2.14.3 is the last with the old API.", "Which version has the old API last?", "2.14.3"),
]  # fmt: skip
FILLER = [Turn(f"page {n}: {'garden and rain ' * 1100}", (Reply(f"read {n}"),)) for n in range(14)]
THANKS = Reply("Thank you.")
TOOLS = {
    "lcm_expand_query": {"question": "Which port has the staging database?"},
    "lcm_describe": {},
    "lcm_status": {},
    "retrieve_conversation_history": {"start_turn": 1, "end_turn": 2},
}


def opened(name, messages):
    """The model opens what the search before found first."""
    uid = json.loads(messages[-1]["content"])["results"][0]["uid"]
    return Reply(calls=(Call("lcm_expand", {"uid": uid[:8], "detail": name}),))


def asks(question, name, arguments):
    """A turn in which the model calls one tool."""
    return Turn(question, (Reply(calls=(Call(name, arguments),)), THANKS))


SEARCHES = [asks(asked, "lcm_grep", {"query": asked}) for _, asked, _ in FACTS]
OTHERS = [asks(f"Now use {name}.", name, arguments) for name, arguments in TOOLS.items()]
SKILL = asks("Now read the skill.", "skill_view", {"name": "lcm:recall"})
EXPAND = Turn(
    "Now open the message about hazelnuts.",
    (
        Reply(calls=(Call("lcm_grep", {"query": "hazelnuts", "role": "user"}),)),
        partial(opened, "raw"),
        THANKS,
    ),
)


@pytest.fixture(scope="module", name="played")
def _played(host, tmp_path_factory):
    """Facts, pages until they are compacted, then the questions, by the real agent."""
    from hostkit import HermesHome

    turns = [Turn(fact, (Reply("Noted."),)) for fact, _, _ in FACTS]
    turns += [*FILLER, *SEARCHES, *OTHERS, SKILL, EXPAND]
    with ScriptedModel(Script(turns)) as model:
        home = HermesHome(tmp_path_factory.mktemp(f"recall-{host.generation}"), host, model.url)
        home.install()
        result = home.drive("converse", {"turns": [turn.user for turn in turns]})
        finals = dict(zip([turn.user for turn in turns], result["turns"], strict=True))
        yield finals, model.spoken, len(model.summaries)
    host.clean()


def told(played, question):
    """What the last tool of that turn answered."""
    for request in played[1]:
        rows = request.messages
        users = [str(row["content"]) for row in rows if row["role"] == "user"]
        if rows[-1]["role"] == "tool" and question in users[-1] and request.reply == THANKS:
            return json.loads(rows[-1]["content"])
    raise AssertionError(f"no tool was called for {question!r}")


def test_the_facts_were_compacted(played):
    """The request that asks the first question holds none of the facts but in summaries."""
    finals, spoken, _ = played
    assert finals[SEARCHES[0].user]["compressions"] >= 1
    asked = next(
        each for each in spoken if each.reply.calls and each.reply.calls[0].name == "lcm_grep"
    )
    users = [str(row["content"]) for row in asked.messages if row["role"] == "user"]
    assert not {fact for fact, _, _ in FACTS} & set(users)


@pytest.mark.parametrize(("fact", "asked", "holds"), FACTS, ids=[asked for _, asked, _ in FACTS])
def test_a_question_in_other_words_gets_the_passage(played, fact, asked, holds):
    """One call, the question verbatim: the message is among the first three results, whole."""
    first = [each["snippet"] for each in told(played, asked)["results"][:3]]
    assert fact in first, first
    assert holds in " ".join(first)


def test_a_model_of_the_host_answers_from_passages(played):
    """lcm_expand_query asks the host's auxiliary model once, with the passages, and names its sources."""
    answer = told(played, OTHERS[0].user)
    assert "5433" in answer["answer"]
    assert answer["sources"]
    assert "A model wrote" in answer["note"]


def test_every_other_tool_answers(played):
    """Outline, status and the first turns come back as JSON without an error."""
    outline, status, history = (told(played, turn.user) for turn in OTHERS[1:])
    assert outline["nodes"]
    assert status["compactions"] >= 1
    assert FACTS[0][0] in [row["content"] for row in history["messages"]]


def test_what_was_found_is_opened(played):
    """The uid that a search gives opens the message, word for word."""
    (message,) = told(played, EXPAND.user)["messages"]
    assert message["content"] == FACTS[7][0]


def test_the_skill_is_there_to_be_read(played):
    """The host's own tool gives the agent what teaches it when to search."""
    assert "a summary is a pointer, not proof" in json.dumps(told(played, SKILL.user)).lower()
