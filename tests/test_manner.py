"""How a message says what it says: who speaks, whether it asks, opens, or names a time."""

from __future__ import annotations

import json

import pytest
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.tools.desk import Desk
from lcm.tools.toolset import call


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


FILLER = [row for at in range(12) for row in (user(f"garden {at}"), said(f"flowers {at}"))]


@pytest.fixture(name="found", params=["memory", "sqlite"])
def _found(request, tmp_path):
    """What a question finds in a conversation, best first."""
    store = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")

    def found(rows, query):
        session = store.open_session("s")
        Ledger(store, session).ingest(rows)
        answer = json.loads(call(Desk(store, session, Settings()), "lcm_grep", {"query": query}))
        return [each["snippet"] for each in answer["results"]]

    yield found
    store.close()


def test_the_answer_counts_as_much_as_the_question_before_it(found):
    """It holds none of the words, and comes before what holds two of three and answers nothing."""
    asked, answer = said("Which colour shall the zebra banner have?"), user("Turquoise.")
    other = said("A zebra banner hung there, red and wide, as I told you when we met by the river.")
    rows = [*FILLER, asked, answer, *FILLER, other, *FILLER]
    best = found(rows, "colour of the zebra banner at the wedding")
    assert "Turquoise." == best[0]


def test_what_somebody_else_said_meanwhile_is_no_answer(found):
    """Behind a statement, nothing is lifted: the message beside it stays behind those with the words."""
    told = said("The zebra banner has a colour.")
    other = said("A zebra banner hung there, red and wide, as I told you when we met by the river.")
    rows = [*FILLER, told, user("Fine."), *FILLER, other, *FILLER]
    best = found(rows, "colour of the zebra banner at the wedding")
    assert [told["content"], other["content"]] == best[:2]
    assert "Fine." in best


def test_what_an_assistant_only_asks_comes_behind_what_is_told(found):
    """The same words; of a user, a question counts in full."""
    asked = said("Did the ferry to the island sink?")
    told = said("No, but ferry to the island: sunk.")
    rows = [*FILLER, told, *FILLER, asked, *FILLER]
    assert [told["content"], asked["content"]] == found(rows, "ferry island")[:2]
    assert [told["content"]] == found([*FILLER, user(asked["content"])], "ferry island")[1:2]


def test_who_is_asked_about_is_heard_first(found):
    """``Name: text`` and ``[Name] text``, as chats of several people have them."""
    for mine, other in (
        ("Ann: Yes, I moved", "Bob: Ann, you moved"),
        ("[Ann] I sold", "[Bob] Ann sold"),
    ):
        rows = [*FILLER, user(f"{mine} the piano"), *FILLER, user(f"{other} the piano")]
        assert (
            f"{mine} the piano"
            == found(rows, f"What of Ann and the piano she {mine.split()[-1]}?")[0]
        )


def test_who_asks_when_gets_what_names_a_time(found):
    """Of two messages with the same words; who asks something else gets the newer one."""
    dated, newer = (
        "The balloon went up in March, of all months",
        "The balloon went up over all the fields",
    )
    rows = [*FILLER, said(dated), *FILLER, said(newer), *FILLER]
    assert dated == found(rows, "When did the balloon go up?")[0]
    assert newer == found(rows, "Why is the balloon up?")[0]


def test_how_a_conversation_was_opened_says_what_it_is_about(found):
    """A greeting before the same words, by a user."""
    opening, later = "Hello, about the cellar pump again", "Now about that old cellar pump again"
    rows = [*FILLER, user(opening), *FILLER, user(later), *FILLER]
    assert opening == found(rows, "cellar pump")[0]
