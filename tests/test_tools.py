"""What the agent may ask, and what it gets."""

from __future__ import annotations

import json
import sys
import threading
import time
from itertools import pairwise

import pytest
from asking import route
from lcm.dag.compact import PassRequest, compact
from lcm.dag.ingest import Ledger
from lcm.dag.messages import draft_of, key_of
from lcm.dag.settings import Settings
from lcm.dag.tokens import count_text
from lcm.storage import open_store
from lcm.storage.canon import decode, encode
from lcm.tools import patterns
from lcm.tools.answers import PAGE_CHARS, to_json
from lcm.tools.desk import Desk
from lcm.tools.toolset import call, schemas


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


BIG = "".join(f'line {n} é \\ "quoted" 讨论\n' for n in range(4000))
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{"path": "src/app/main_config.py"}'},
}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo"}}
ROWS = [
    user("We deploy the zebra service on Tuesdays."),
    said("Noted: zebra goes out on Tuesdays."),
    user("Read the config, please."),
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "tool_name": "read_file", "content": BIG},
    said("It sets MAX_RETRIES = 7 and rate 100%."),
    user([{"type": "text", "text": "a picture of giraffe42"}, IMAGE]),
    said("A giraffe."),
    user("今天讨论记忆断裂的问题 shipped 🚀 today \0 behind"),
    said("Error 0x80070005 in C++ v1.2.3; ask user@example.com, don't wait."),
]  # fmt: skip


#: What a summariser may answer: every level at once, nothing to extract.
SUMMARY = json.dumps(
    {
        "topic": "animals and settings",
        "hints": ["zebra", "retries"],
        "levels": {
            "15": "one",
            "50": "two words",
            "250": "three words here",
            "1000": "all of four words",
        },
        "sufficient_tokens": 250,
    }
)


def desk_with(store, summary=SUMMARY):
    """A desk in a conversation that was compacted, by a model that writes *summary* each time."""
    session = store.open_session("s")
    ledger = Ledger(store, session)
    filler = [
        row
        for n in range(40)
        for row in (user(f"talk {n} " + "on " * 80), said(f"reply {n} " + "and " * 80))
    ]
    _, binding = ledger.bind([*ROWS, *filler])
    request = PassRequest(
        Settings(), 8000, 6000, None, False, False, [route(lambda _: summary, trusted=True)]
    )
    compact(store, session.line, binding, request)
    return Desk(store, session, Settings())


@pytest.fixture(params=["memory", "sqlite"])
def desk(request, tmp_path):
    store = open_store("memory:" if request.param == "memory" else tmp_path / "lcm.db")
    yield desk_with(store)
    store.close()


def ask(desk, name, **args):
    return json.loads(call(desk, name, args))


def hit(desk, query, **args):
    return [each["snippet"] for each in ask(desk, "lcm_grep", query=query, **args)["results"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("When do we deploy zebra?", "zebra service"),
        ("zebras", "zebra"),
        ("src/app/main_config.py", "main_config"),
        ("main_config", "main_config"),
        ("MAX_RETRIES", "MAX_RETRIES"),
        ("100%", "100%"),
        ("C++", "C++"),
        ("v1.2.3", "v1.2.3"),
        ("user@example.com", "user@example.com"),
        ("don't", "don't"),
        ("0x80070005", "0x80070005"),
        ("giraffe42", "giraffe42"),
        ("记忆断裂", "记忆断裂"),
        ("记忆", "记忆"),
        ("🚀", "🚀"),
        ("behind", "behind"),
        ("read_file", "read_file"),
        ("zebre servise", "zebra"),
        ('"rate 100%"', "rate 100%"),
        ("ETRIES", "MAX_RETRIES"),
    ],
)
def test_grep_finds_it(desk, query, expected):
    """Words, names, paths, codes, parts of words, typos, other scripts."""
    assert any(expected in snippet for snippet in hit(desk, query))


@pytest.mark.parametrize(
    "query",
    [
        *(
            '"unclosed',
            "NEAR(",
            "a:b",
            "-foo",
            "NOT",
            "cats OR",
            "***",
            "(x",
            "{x}",
            "^start",
            "#@!",
            "---",
        ),
        *("\u3000x", "\ud83d", "x" * 60_000, "w " * 1100, 0, 404),
    ],
)
def test_no_query_is_an_error_of_ours(desk, query):
    """SRCH-02, SRCH-07, SRCH-16, SRCH-18: always an answer in the pinned shape."""
    answer = ask(desk, "lcm_grep", query=query)
    assert {"query", "mode", "total", "results", "cursor", "note"} <= answer.keys()
    for mode in ("exact", "fuzzy"):
        assert "results" in ask(desk, "lcm_grep", query=query, mode=mode)


def test_reasoning_and_arguments_are_searchable(desk):
    """Also what the model thought, and what it asked a tool for."""
    row = {"role": "assistant", "content": "Done.", "reasoning_content": "perhaps the okapi did it"}
    Ledger(desk.store, desk.store.open_session("r")).ingest([user("who?"), row])
    assert any("okapi" in snippet for snippet in hit(desk, "okapi", scope="all"))


def test_an_empty_query_says_what_to_do(desk):
    """SRCH-08: an answer that says what to look for."""
    for query in ("", "   ", "\u3000"):
        assert "hint" in ask(desk, "lcm_grep", query=query)


def test_results_have_the_pinned_shape_and_can_be_expanded(desk):
    """SRCH-17: every uid of an answer opens."""
    answer = ask(desk, "lcm_grep", query="zebra tuesdays")
    for each in answer["results"]:
        assert {
            "uid",
            "kind",
            "role",
            "turn",
            "time",
            "snippet",
            "covered_by",
            "score",
        } <= each.keys()
        assert "error" not in ask(desk, "lcm_expand", uid=each["uid"])
        if each["covered_by"]:
            assert "zebra" in json.dumps(ask(desk, "lcm_expand", uid=each["covered_by"][:8]))


@pytest.mark.parametrize(
    ("topic", "told"),
    [
        ("Animals", "Animals. all of four words"),
        ("Animals.", "Animals. all of four words"),
        ("Which animals?", "Which animals? all of four words"),
    ],
)
def test_a_topic_ends_in_one_stop(topic, told):
    """Where a result is a summary, its topic stands before its text as a sentence, whether it was one or not."""
    store = open_store("memory:")
    desk = desk_with(store, json.dumps({**json.loads(SUMMARY), "topic": topic}))
    assert told in hit(desk, "four words")
    store.close()


def test_exact_folds_nothing_and_counts_all(desk):
    """Each message that holds the string is one result, whatever the limit."""
    answer = ask(desk, "lcm_grep", query="TALK 1", mode="exact", limit=3)
    assert 11 == answer["total"]  # talk 1 and talk 10 to 19
    assert 3 == len(answer["results"])
    seen = [each["uid"] for each in answer["results"]]
    while answer["cursor"]:
        answer = ask(
            desk, "lcm_grep", query="TALK 1", mode="exact", limit=3, cursor=answer["cursor"]
        )
        seen += [each["uid"] for each in answer["results"]]
    assert 11 == len(seen) == len(set(seen))


def test_a_search_does_not_find_itself_first(desk):
    """The call holds the query word for word, and earlier answers repeat what they found."""
    call = {
        "id": "g",
        "type": "function",
        "function": {"name": "lcm_grep", "arguments": '{"query": "zebra tuesdays"}'},
    }
    rows = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": "g",
            "tool_name": "lcm_grep",
            "content": "zebra tuesdays zebra",
        },
    ]
    Ledger(desk.store, desk.store.open_session("mine")).ingest(rows)
    everywhere = ask(desk, "lcm_grep", query="zebra tuesdays", scope="all")["results"]
    assert not any("lcm_grep" in each["snippet"] for each in everywhere)
    exact = ask(desk, "lcm_grep", query="zebra", mode="exact", scope="all")
    assert 4 == exact["total"]
    assert ["user", "assistant"] == sorted(
        (each["role"] for each in exact["results"][:2]), reverse=True
    )


def test_regex_works_and_explains_itself(desk):
    """SRCH-15, SEC-02: a bad pattern is explained, and one that is too large."""
    assert any("Tuesdays" in s for s in hit(desk, r"zebra.*tue\w+", mode="regex"))
    assert "wrong" in ask(desk, "lcm_grep", query="(", mode="regex")["error"]
    for large in ("a{100000000}", "(?:(?:a{1000}){1000}){1000}", "a" * 2000):
        assert "too large" in ask(desk, "lcm_grep", query=large, mode="regex")["error"]


@pytest.mark.parametrize("mode", ["exact", "regex", "auto"])
def test_a_search_that_stopped_says_how_much_it_read(desk, monkeypatch, mode):
    """Nothing found in the newest messages is not nothing found in all of them."""
    count = desk.store.totals().messages
    monkeypatch.setattr(patterns, "SCAN_SECONDS", -1.0)
    note = ask(desk, "lcm_grep", query="qqxxzz", mode=mode)["note"]
    assert f"Searched the newest 1 of {count} messages" in note


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("(a+)+$", "a" * 5000 + "!"),
        (r"(?s).*?x.*?y.*?z", "xy" * 20_000),
        ("a{1,300}a{1,300}b", "a" * 20_000),
        (r"error.*code.*retry.*failed.*twice", "{error code retry} " * 400),
        ("(?:(?:a|a))*c", "a" * 5000),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 4000 + "!"),
    ],
)
def test_no_pattern_holds_anything_up(desk, monkeypatch, query, text):
    """SEC-02: whatever it is and reads, it ends in time and says so; other threads go on meanwhile."""
    monkeypatch.setattr(patterns, "SCAN_SECONDS", 0.5)
    draft = draft_of(user(text), key=key_of(user(text)))
    desk.store.append(desk.session.line, [(draft, 1)])
    beats, done = [], threading.Event()

    def beat():
        while not done.wait(0.01):
            beats.append(time.monotonic())

    thread = threading.Thread(target=beat)
    thread.start()
    started = time.monotonic()
    answer = ask(desk, "lcm_grep", query=query, mode="regex")
    seconds = time.monotonic() - started
    done.set()
    thread.join()
    assert "results" in answer
    assert seconds < 5
    assert seconds < 1 or "too long" in answer["note"]
    assert max([b - a for a, b in pairwise([started, *beats])], default=0) < 1


def test_patterns_without_their_package(desk, monkeypatch):
    """The rest of the search works without it, and what to do is said."""
    monkeypatch.setitem(sys.modules, "regex", None)
    answer = ask(desk, "lcm_grep", query="zebra.*", mode="regex")
    assert "pip install regex" in answer["hint"]
    assert hit(desk, "zebra", mode="exact")


def test_filters(desk):
    """SRCH-11, SRCH-12: by role and tool, before the limit."""
    assert {"tool"} == {
        each["role"] for each in ask(desk, "lcm_grep", query="line quoted", role="tool")["results"]
    }
    by_tool = ask(desk, "lcm_grep", query="line config", tool="read_file")["results"]
    assert {"tool", "assistant"} == {each["role"] for each in by_tool}
    assert 0 == ask(desk, "lcm_grep", query="zebra", until="2001-01-01")["total"]
    assert 0 < ask(desk, "lcm_grep", query="zebra", since="2001-01-01T10:00")["total"]
    assert "hint" in ask(desk, "lcm_grep", query="zebra", since="whenever")


def test_an_answer_keeps_its_budget_and_its_results(desk):
    """The budget shortens snippets, not their number; a limit is clamped (UX-01)."""
    answer = ask(desk, "lcm_grep", query="talk reply on and", limit=50)
    assert 50 == len(answer["results"])
    small = ask(desk, "lcm_grep", query="talk reply on and")
    assert 10 == len(small["results"])
    assert count_text(to_json(small["results"])) <= 2000
    assert 50 >= len(ask(desk, "lcm_grep", query="talk", limit=10**9)["results"])
    assert 1 == len(ask(desk, "lcm_grep", query="talk", limit=-1)["results"])
    assert 3 == len(ask(desk, "lcm_grep", query="talk", limit="3")["results"])


def test_nothing_found_says_how_much_was_searched(desk):
    """SRCH-03: never a plain empty list."""
    note = ask(desk, "lcm_grep", query="xyzzyqqq")["note"]
    assert "90 messages in this session in" in note
    assert "nothing found" in note
    narrow = ask(desk, "lcm_grep", query="xyzzyqqq", role="tool")["note"]
    assert "Searched 1 message in this session that the filters let through" in narrow
    assert "fewer filters" in narrow


def test_scope_is_the_session_unless_all_is_asked_for(desk):
    """SRCH-04: another session's words stay there by default."""
    other = Ledger(desk.store, desk.store.open_session("other"))
    other.ingest([user("the okapi is elsewhere")])
    assert [] == hit(desk, "okapi", mode="exact")
    assert 1 == len(hit(desk, "okapi", mode="exact", scope="all"))
    assert "hint" in ask(desk, "lcm_grep", query="okapi", scope="galaxy")


def test_each_result_of_all_sessions_names_its_own(desk):
    """SRCH-04: with the turn there; of what a branch has too, it is the session that asks."""
    store = desk.store
    store.open_session("b", parent="s", relation="branch")
    store.open_session("other")
    later = store.open_session("later", parent="other", relation="rotation")
    Ledger(store, later).ingest([user("unicorns?"), said("None."), user("the zebra is elsewhere")])
    found = ask(desk, "lcm_grep", query="zebra tuesdays", scope="all")["results"]
    named = {(each["session"], each["turn"]) for each in found if "elsewhere" in each["snippet"]}
    assert {("later", 2)} == named
    assert {"s"} == {each["session"] for each in found if "Tuesdays" in each["snippet"]}
    assert not any("session" in each for each in ask(desk, "lcm_grep", query="zebra")["results"])


@pytest.mark.parametrize("mode", ["auto", "exact", "regex", "fuzzy"])
@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ({"start_turn": 10, "end_turn": 12}, {10, 11, 12}),
        ({"end_turn": "5"}, {5}),
        ({"start_turn": 44}, {44}),
        ({"start_turn": 60, "end_turn": 10**30}, set()),
    ],
)
def test_turns_narrow_a_search(desk, mode, turns, expected):
    """From one turn to another, both included, either of them open."""
    found = ask(desk, "lcm_grep", query="talk", mode=mode, limit=50, role="user", **turns)[
        "results"
    ]
    assert expected == {each["turn"] for each in found}


def test_names_are_found_as_they_are_written_first(tmp_path):
    """What only has the same stems comes later, however much shorter and newer it is."""
    store = open_store(tmp_path / "lcm.db")
    session = store.open_session("s")
    long = "Complete examples: ../src/themes/dark.json. " + "Other words follow here. " * 300
    others = [user(f"open src/theme/dark.json {n}") for n in range(30)]
    Ledger(store, session).ingest([user(long), *others])
    desk = Desk(store, session, Settings())
    found = ask(desk, "lcm_grep", query="src/themes/dark.json")["results"]
    assert "src/themes/dark.json" in found[0]["snippet"]
    assert all(a["score"] >= b["score"] for a, b in pairwise(found))
    store.close()


@pytest.mark.parametrize("query", ["nGannets", r"\nGannets", "tGannets were"])
def test_a_word_copied_with_a_half_of_an_escape_is_found(desk, query):
    """What JSON wrote as a backslash and a letter is a line break or a tab here."""
    Ledger(desk.store, desk.session).ingest(
        [*ROWS, user("Birds:\nGannets were seen.\tGannets were.")]
    )
    answer = ask(desk, "lcm_grep", query=query, scope="all")
    assert "Gannets" in answer["results"][0]["snippet"]
    assert "escape" in answer["note"]


@pytest.mark.parametrize(
    "turns", [{"start_turn": 0}, {"end_turn": "x"}, {"start_turn": 5, "end_turn": 4}]
)
def test_turns_that_are_none_are_explained(desk, turns):
    """UX-05: an answer that says how turns are counted."""
    assert "hint" in ask(desk, "lcm_grep", query="talk", **turns)


def test_unknown_arguments_are_named(desk):
    """UX-05: what a tool does not know is in its answer."""
    assert ["session_scope"] == ask(desk, "lcm_grep", query="zebra", session_scope="x")[
        "ignored_arguments"
    ]


def pages(desk, uid, **args):
    """All entries under *uid*, cut ones joined."""
    joined: dict = {}
    cursor = None
    while True:
        answer = ask(desk, "lcm_expand", uid=uid, cursor=cursor, **args)
        assert len(json.dumps(answer, ensure_ascii=False)) < PAGE_CHARS * 1.3
        for each in answer["messages"]:
            whole = joined.setdefault(each["uid"], {})
            for part in ("content", "json"):
                if part in each and "part" in each:
                    whole[part] = whole.get(part, "") + each[part]
                elif part in each:
                    whole[part] = each[part]
        cursor = answer["cursor"]
        if cursor is None:
            return joined


def test_raw_pages_join_to_the_messages_byte_for_byte(desk):
    """UX-02: under any node, at any depth, also for a message larger than a page."""
    (line,) = desk.lines
    bodies = {
        m.uid: decode(m.body)
        for m in desk.store.read([(e.id, 0) for e in desk.store.entries(line)])
    }
    for node in desk.store.nodes_on([line], kinds=("leaf", "condensed", "frame")):
        expected = [m.uid for m in desk.store.read(desk.store.stands_for(node.uid))]
        joined = pages(desk, node.uid)
        assert expected == list(joined)
        for uid, parts in joined.items():
            if "json" in parts:
                assert encode(bodies[uid]).decode() == parts["json"]
            else:
                assert bodies[uid].get("content") == parts["content"]


def test_a_message_larger_than_a_page_that_is_no_string(desk):
    """Its canonical JSON, in pieces."""
    rows = [{"role": "user", "content": [{"type": "text", "text": BIG}]}]
    Ledger(desk.store, desk.store.open_session("big")).ingest(rows)
    (found,) = ask(desk, "lcm_grep", query="line 3999", mode="exact", scope="all", role="user")[
        "results"
    ]
    assert encode(rows[0]).decode() == pages(desk, found["uid"])[found["uid"]]["json"]


@pytest.mark.parametrize(
    "uid", ["", None, 12, -1, "zzz", "node 12", [], {}, "\ud83d", "f" * 32, "[lcm ffffffff]"]
)
def test_a_wrong_uid_is_explained(desk, uid):
    """UX-03: an answer that says what to do, always JSON."""
    for tool in ("lcm_expand", "lcm_describe"):
        answer = ask(desk, tool, uid=uid)
        if tool == "lcm_describe" and uid in (None, ""):  # no name is asked for
            assert answer["kind"] == "outline"
        else:
            assert "lcm_grep" in answer["hint"] or answer["hint"] == "Required: uid."
            assert "failed" not in answer["error"]


def test_uids_are_taken_as_the_context_shows_them(desk):
    """A prefix of six, eight characters in brackets, the whole."""
    uid = ask(desk, "lcm_describe")["nodes"][0]["uid"]
    for written in (uid, uid[:6], f"[lcm {uid[:8]}]", f" {uid[:10].upper()} "):
        assert uid == ask(desk, "lcm_expand", uid=written, detail="brief")["uid"]


def test_details_are_levels(desk):
    """brief is the level nearest 50, medium nearest 250, full the largest."""
    node = max(desk.store.nodes_on(desk.lines), key=lambda n: len(n.texts))
    for detail, size in (("brief", 50), ("medium", 250), ("full", 10**9)):
        answer = ask(desk, "lcm_expand", uid=node.uid, detail=detail)
        assert min(node.texts, key=lambda level: abs(level - size)) == answer["level"]
        assert node.texts[answer["level"]] == answer["text"]
    assert "hint" in ask(desk, "lcm_expand", uid=node.uid, detail="huge")
    message = ask(desk, "lcm_grep", query="zebra", role="user")["results"][0]
    assert ask(desk, "lcm_expand", uid=message["uid"], detail="brief")["derived"]


def test_describe_walks_down_to_the_messages(desk):
    """SRCH-06: every source row is reachable, in order, none twice."""

    def under(uid):
        found = []
        cursor = None
        while True:
            answer = ask(desk, "lcm_describe", uid=uid, cursor=cursor)
            for source in answer["sources"]:
                found += [source["uid"]] if source["kind"] == "message" else under(source["uid"])
            cursor = answer["cursor"]
            if cursor is None:
                return found

    outline = ask(desk, "lcm_describe", depth=3)
    walked = [uid for node in outline["nodes"] for uid in under(node["uid"])]
    entries = desk.store.entries(desk.session.line)
    assert [e.uid for e in entries][: len(walked)] == walked


def test_describe_names_levels_and_hints(desk):
    """One node: its texts by size, what to ask, how it was made."""
    uid = ask(desk, "lcm_describe")["nodes"][0]["uid"]
    answer = ask(desk, "lcm_describe", uid=uid)
    assert {"levels", "hints", "sources", "turns", "tokens", "made"} <= answer.keys()


def test_history_by_turns(desk):
    """1-indexed, inclusive; an end past the last is no error."""
    answer = ask(desk, "retrieve_conversation_history", start_turn=1, end_turn=1)
    assert [ROWS[0]["content"], ROWS[1]["content"]] == [
        each["content"] for each in answer["messages"]
    ]
    assert [1, 1] == [each["turn"] for each in answer["messages"]]
    last = ask(desk, "retrieve_conversation_history", start_turn="44", end_turn=10**30)
    assert 2 == len(last["messages"])
    brief = ask(
        desk, "retrieve_conversation_history", start_turn=1, end_turn=9, detail_level="brief"
    )
    assert list(range(1, 10)) == [each["turn"] for each in brief["messages"]]
    for wrong in (
        {"start_turn": 0, "end_turn": 1},
        {"start_turn": 3, "end_turn": 1},
        {"start_turn": "x", "end_turn": 1},
        {"start_turn": 1},
    ):
        assert "hint" in ask(desk, "retrieve_conversation_history", **wrong)


def test_withdrawn_messages_are_found_and_marked(desk):
    """Undo takes nothing out of the memory."""
    (line,) = desk.lines
    last = desk.store.entries(line)[-1]
    desk.store.withdraw(line, [last.seq], withdrawn=True)
    assert ask(desk, "lcm_grep", query="reply 39", mode="exact")["results"][0]["withdrawn"]
    assert ask(desk, "lcm_expand", uid=last.uid)["withdrawn"]


def test_status_counts(desk):
    """What is kept, in one screen."""
    answer = ask(desk, "lcm_status")
    assert (90, 0) == (answer["messages"], answer["withdrawn"])
    assert sum(answer["nodes_by_depth"].values()) > 0


@pytest.mark.parametrize("query", ["\U0001f680", "_ %", " \u2192 "])
def test_signs_alone_are_found_in_mode_fuzzy(tmp_path, query):
    """Nothing in them can be mistyped, so they are looked for as they are, and the answer says so."""
    desk, _ = desk_of(tmp_path / "lcm.db", [user("a \U0001f680 b _ % c \u2192 d"), said("Good.")])
    answer = ask(desk, "lcm_grep", query=query, mode="fuzzy")
    assert (answer["total"], answer["mode"]) == (1, "exact")
    assert "looked for as it is" in answer["note"]
    answer = ask(desk, "lcm_grep", query="\U0001f984", mode="fuzzy")
    assert answer["total"] == 0
    assert "in mode exact: nothing found" in answer["note"]
    desk.store.close()


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("baromter", "baromter: read as barometer"),
        ("happines", "happines: read as happiness"),
        ("barometer", ""),
    ],
)
def test_a_misspelt_word_is_read_as_a_whole_one(tmp_path, query, note):
    """The answer says which word of the conversation it was taken for, not the stem that the index has of it."""
    rows = [user("The barometers fell, this barometer too."), said("Much happiness to you.")]
    desk, _ = desk_of(tmp_path / "lcm.db", rows)
    answer = ask(desk, "lcm_grep", query=query, mode="fuzzy")
    assert answer["total"] == 1
    assert answer["note"].partition("lcm_expand(")[0].strip() == note
    desk.store.close()


def test_wrong_calls_are_answered(desk):
    """HOST-04: never an exception."""
    for name, args in (
        ("nope", {}),
        ("lcm_grep", None),
        ("lcm_grep", []),
        ("lcm_grep", "x"),
        ("lcm_expand", {}),
    ):
        assert "error" in json.loads(call(desk, name, args))


def desk_of(path, rows):
    """A desk on a session that holds *rows*, and its ledger."""
    store = open_store(path)
    session = store.open_session("s")
    ledger = Ledger(store, session)
    ledger.bind(rows)
    return Desk(store, session, Settings()), ledger


def every_page(desk, **args):
    """uids of every page of a search, in order."""
    found, cursor = [], None
    while True:
        answer = ask(desk, "lcm_grep", cursor=cursor, **args)
        found += [each["uid"] for each in answer["results"]]
        cursor = answer["cursor"]
        if cursor is None:
            return found


@pytest.mark.parametrize("scope", ["session", "all"])
@pytest.mark.parametrize("mode", ["auto", "exact", "fuzzy"])
@pytest.mark.parametrize("url", ["memory:", "lcm.db"])
def test_no_page_is_skipped_or_repeated_while_messages_arrive(tmp_path, scope, mode, url):
    """Between two pages messages come that match better, and nothing of the ranking moves."""
    rows = [user(f"harbour pilot {n} " + "tide " * (n % 7)) for n in range(40)] + [said("Good.")]
    desk, ledger = desk_of(url if url == "memory:" else tmp_path / url, rows)
    whole = every_page(desk, query="harbour pilot", mode=mode, scope=scope, limit=50)
    assert len(whole) == 40
    found, cursor = [], None
    for n in range(20):
        answer = ask(
            desk, "lcm_grep", query="harbour pilot", mode=mode, scope=scope, limit=3, cursor=cursor
        )
        found += [each["uid"] for each in answer["results"]]
        cursor = answer["cursor"]
        rows = [
            *rows,
            user(f"harbour pilot harbour pilot, the {n}th that came later"),
            said("Yes."),
        ]
        ledger.bind(rows)
        if cursor is None:
            break
    assert found == whole
    desk.store.close()


def test_repeats_are_one_result(tmp_path):
    """SRCH: thirty times the same words are one result that says how often; 'exact' lists each."""
    rows = [row for n in range(30) for row in (user("run the tests"), said(f"done {n}"))]
    desk, _ = desk_of(
        tmp_path / "lcm.db", [*rows, user("run the linter, not the tests"), said("ok")]
    )
    answer = ask(desk, "lcm_grep", query="run tests", role="user")
    texts = [each["snippet"] for each in answer["results"]]
    assert len(texts) == len(set(texts)) == 2
    assert max(each.get("repeats", 0) for each in answer["results"]) == 29
    assert ask(desk, "lcm_grep", query="run the tests", mode="exact")["total"] == 30
    desk.store.close()


def test_a_time_in_the_question_prefers_what_is_of_that_time(tmp_path):
    """'last week' ranks what was said then first, and the note says what was taken for a time."""
    now = time.time()
    old = now - 7 * 86_400
    rows = [
        user("We decided on the harbour pilot.") | {"timestamp": now - 40 * 86_400},
        user("We decided on the harbour tug.") | {"timestamp": old},
        user("We decided on the harbour crane.") | {"timestamp": now},
        said("Good."),
    ]
    desk, _ = desk_of(tmp_path / "lcm.db", rows)
    answer = ask(desk, "lcm_grep", query="What did we decide on the harbour 7 days ago?")
    assert "tug" in answer["results"][0]["snippet"]
    assert "7 days ago" in answer["note"]
    assert len(answer["results"]) >= 3
    for args in (
        {"since": "8 days ago", "until": "yesterday"},
        {"since": old - 9, "until": old + 9},
    ):
        assert hit(desk, "harbour", **args) == ["We decided on the harbour tug."]
    assert "last Tuesday" in ask(desk, "lcm_grep", query="x", since="soonish")["hint"]
    desk.store.close()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("user timeline", "Call getUserTimeline first."),
        ("getUserTimeline", "The user timeline is slow."),
        ("http response", "parseHTTPResponse failed"),
        ("quota 417", "ERR_QUOTA_417 came up"),
        ("err_quota_417", "ERR_QUOTA_417 came up"),
        ("lexer core", "see src/grammar/lexer_core.py"),
        ("src/grammar/lexer_core.py", "see src/grammar/lexer_core.py"),
        ("--dry-run", "use --dry-run there"),
        ("9fceb02", "commit 9fceb02a1b is bad"),
        ("हिन्दी", "यह हिन्दी में है"),
        ("会议改到什么时候", "会议改到星期四下午三点"),
    ],
)
def test_names_are_found_whole_and_in_parts(tmp_path, query, text):
    """Camel case, snake case, paths, flags, codes, hashes, vowel signs and questions without spaces."""
    rows = [row for n in range(9) for row in (user(f"talk of rain {n}"), said("yes"))]
    desk, _ = desk_of(tmp_path / "lcm.db", [user(text), *rows])
    assert hit(desk, query)[0] == text
    desk.store.close()


@pytest.mark.parametrize("named", [True, False], ids=["named", "nameless"])
def test_a_search_does_not_find_its_question(tmp_path, named):
    """While the agent works, what the user asked last and what earlier searches said are no answers."""
    store = open_store(tmp_path / "lcm.db")
    session = store.open_session("s")
    ledger = Ledger(store, session)
    function = {
        "name": "lcm_grep",
        "arguments": '{"query": "Which port has the staging database?"}',
    }
    call_row = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    told = "Which port has the staging database? None of staging is a port of a database."
    rows = [
        user("The staging database listens on port 5433."),
        said("Noted."),
        *(row for n in range(30) for row in (user(f"rain {n}"), said(f"wind {n}"))),
        user("Which port has the staging database?"),
        call_row,
        {"role": "tool", "tool_call_id": "c", "content": told}
        | ({"tool_name": "lcm_grep"} if named else {}),
    ]
    ledger.bind(rows)
    desk = Desk(store, session, Settings())
    answer = ask(desk, "lcm_grep", query="Which port has the staging database?")
    assert rows[0]["content"] == answer["results"][0]["snippet"]
    texts = [each["snippet"] for each in answer["results"]]
    assert rows[-3]["content"] not in texts
    assert told not in texts
    assert hit(desk, "Which port has the staging database?", mode="exact")
    store.close()


def test_schemas_are_small_and_plain():
    """HOST-05: at most six tools, 1,200 tokens, no union types, required ones listed."""
    every = schemas(retrieval=True)
    assert len(every) <= 6
    assert count_text(json.dumps(every)) <= 1200
    for schema in every:
        parameters = schema["parameters"]
        assert "object" == parameters["type"]
        assert set(parameters["required"]) <= parameters["properties"].keys()
        assert all(isinstance(each["type"], str) for each in parameters["properties"].values())
    assert "retrieve_conversation_history" not in {
        each["name"] for each in schemas(retrieval=False)
    }


def test_a_damaged_index_is_said_and_searched_around(tmp_path):
    """SRCH-03, MIG-01: the text itself is searched, a new row is still stored, and the index can be rebuilt."""
    store = open_store(tmp_path / "lcm.db")
    ledger = Ledger(store, store.open_session("s"))
    ledger.ingest([user("the zebra")])
    store._connection.sql.execute("DROP TABLE message_index_data")
    desk = Desk(store, ledger.session, Settings())
    answer = ask(desk, "lcm_grep", query="zebra")
    assert 1 == answer["total"]
    assert "index is broken" in answer["note"]
    assert 1 == ledger.ingest([user("the zebra"), said("an okapi")]).new
    assert store.check()
    store.reindex()
    assert {} == store.check()
    assert ["an okapi"] == hit(desk, "okapi")
    store.close()
