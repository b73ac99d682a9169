"""``export`` and ``import`` of any message at all: the bytes that go out are the bytes that come in."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lcm.console.transfer import as_line, body_of, with_body
from lcm.console.verify import verify
from lcm.dag.ingest import Ledger
from lcm.storage import open_store
from lcm.storage.canon import digest, encode
from lcm.storage.records import Draft
from moving import exported, imported

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
surrogates = st.text(st.characters(categories=["Cs", "Lu"])) | st.just("\ud83d\ude00 \0 \ud800")
values = st.recursive(
    scalars | surrogates,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)
messages = st.dictionaries(st.text(), values, max_size=3).flatmap(
    lambda rest: st.builds(
        lambda role, content: {**rest, "role": role, "content": content},
        st.sampled_from(["user", "assistant", "tool"]),
        values | st.just("y" * 5000),
    )
)


@given(message=messages)
def test_any_body_goes_through_a_line(message):
    """Whatever JSON a message is, NUL, lone and paired halves, NaN: one line of ASCII gives its bytes again."""
    body = encode(message)
    line = as_line(with_body({"kind": "message"}, body))
    assert line.isascii() and "\n" not in line[:-1]
    assert body == body_of(json.loads(line))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    conversation=st.lists(messages, min_size=1, max_size=6), edits=st.lists(messages, max_size=2)
)
def test_any_conversation_goes_out_and_comes_in(tmp_path_factory, conversation, edits):
    """Export and import of any messages in any versions: the same bytes under the same uids, and verified."""
    folder = tmp_path_factory.mktemp("any")
    store = open_store(folder / "a.db")
    line = store.open_session("s").line
    entries = store.append(
        line, [(draft(n, message), n) for n, message in enumerate(conversation, 1)]
    )
    for message in edits:
        store.revise(line, entries[0].id, draft(1, message))
    was = [(m.uid, m.version, m.role, m.time, m.body) for m in store.stream()]
    store.close()
    code, _ = imported(exported(folder / "a.db", folder / "a.jsonl"), folder / "b.db")
    assert 0 == code
    store = open_store(folder / "b.db", create=False)
    found = [(m.uid, m.version, m.role, m.time, m.body) for m in store.stream()]
    assert verify(store).good
    store.close()
    if len({digest(encode(message)) for message in [conversation[0], *edits]}) == len(edits) + 1:
        assert was == found
    else:  # a version that is byte for byte an earlier one is that version
        assert {(uid, body) for uid, _, _, _, body in was} == {
            (uid, body) for uid, _, _, _, body in found
        }


def draft(number, message):
    body = encode(message)
    return Draft(
        f"{number:032x}", message["role"], body, "", digest(body), digest(body), float(number), 1
    )


def test_five_megabytes_go_through(tmp_path):
    """A payload of 5 MB, with halves of characters in it, comes in as it was."""
    store = open_store(tmp_path / "a.db")
    content = "\ud83d line \0 of a log\n" * 260_000
    Ledger(store, store.open_session("s")).ingest([{"role": "user", "content": content}])
    was = [m.body for m in store.stream()]
    store.close()
    imported(exported(tmp_path / "a.db", tmp_path / "a.jsonl"), tmp_path / "b.db")
    store = open_store(tmp_path / "b.db", create=False)
    assert was == [m.body for m in store.stream()]
    store.close()
