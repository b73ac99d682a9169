"""No answer of a tool is larger than its page, whatever JSON makes of what was said."""

from __future__ import annotations

import json

import pytest
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.dag.tokens import count_text
from lcm.storage import open_store
from lcm.tools.answers import page_of
from lcm.tools.desk import Desk
from lcm.tools.toolset import call

#: Each costs more as JSON than it is long.
SAID = {
    "escapes": "\x1b\x7f\x01 a" * 500,
    "json": json.dumps(json.dumps([{f'k"{n}': f'v\\"{n}'} for n in range(120)])),
    "paths": 'C:\\path\\"x" error. \n' * 200,
}
#: Tokens beyond the page: what surrounds its entries.
_AROUND = 60


@pytest.fixture(params=SAID)
def desk(request, tmp_path):
    store = open_store(tmp_path / "lcm.db")
    session = store.open_session("s")
    rows = [
        {"role": role, "content": f"{n} {SAID[request.param]} {role}"}
        for n in range(6)
        for role in ("user", "assistant")
    ]
    Ledger(store, session).bind(rows)
    yield Desk(store, session, Settings(), {"room_tokens": 0})
    store.close()


def all_pages(desk, name, **args):
    """The answers of one call after another, until there is no further page."""
    cursor, most = None, page_of(desk.facts) // 4 + _AROUND
    for _ in range(500):
        said = call(desk, name, {**args, "cursor": cursor})
        assert count_text(said) <= most
        answer = json.loads(said)
        yield answer
        cursor = answer["cursor"]
        if cursor is None:
            return
    raise AssertionError("the pages have no end")


def joined(desk, name, **args):
    """Texts by uid, their pieces put together."""
    found: dict[str, str] = {}
    for answer in all_pages(desk, name, **args):
        for each in answer["messages"] or [{"uid": answer["uid"], "content": answer["text"]}]:
            found[each["uid"]] = found.get(each["uid"], "") + each["content"]
    return found


@pytest.mark.parametrize("detail", ["raw", "brief", "medium", "full"])
def test_a_turn_or_a_message_larger_than_a_page_goes_on_on_the_next(desk, detail):
    """The pieces joined are what larger pages have."""
    wide = Desk(desk.store, desk.session, desk.settings)
    (entry, *_) = desk.store.turns(desk.session.line, 1, 1)
    for name, args in (
        ("retrieve_conversation_history", {"start_turn": 1, "end_turn": 9, "detail_level": detail}),
        ("lcm_expand", {"uid": entry.uid, "detail": detail}),
    ):
        found = joined(desk, name, **args)
        assert found == joined(wide, name, **args)
        assert all(found.values())
        assert len(found) == (1 if name == "lcm_expand" else 12 if detail == "raw" else 6)
