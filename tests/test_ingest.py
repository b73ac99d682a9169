"""Ingest: every message is stored once, whatever a host does to its list."""

from __future__ import annotations

import copy

import pytest
from asking import route
from lcm.console.verify import verify
from lcm.dag.compact import PassRequest, compact
from lcm.dag.ingest import IngestReport, Ledger
from lcm.dag.renderer import FILLER
from lcm.dag.settings import Settings
from lcm.storage.canon import decode
from ledgers import again, result, said, stored, talk, user


def called(name, **kw):
    function = {"name": "read_file", "arguments": f'{{"path": "{name}"}}'}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": name, "type": "function", "function": function}],
        **kw,
    }


def passed(ledger, rows, *, stamp=False, **kw):
    """*rows* after a pass that a window of 4,000 tokens forces."""
    _, binding = ledger.bind(rows)
    settings = kw.pop("settings", Settings())
    if summarizer := kw.pop("summarizer", None):
        kw["routes"] = (route(summarizer, trusted=kw.pop("trusted", False)),)
    request = PassRequest(
        settings, 4000, 3000, kw.pop("current", None), kw.pop("force", False), stamp, **kw
    )
    return compact(ledger.store, ledger.session.line, binding, request)


def test_the_same_list_twice_is_known(ledger):
    """DED-02: no door stores again what another one stored."""
    rows = talk(3)
    assert IngestReport(new=6) == ledger.ingest(rows)
    assert IngestReport(known=6) == ledger.ingest(rows)
    assert IngestReport(known=6) == ledger.ingest(copy.deepcopy(rows))
    assert IngestReport(known=6) == again(ledger).ingest(copy.deepcopy(rows))
    assert rows == stored(ledger)


def test_a_restart_stores_only_what_is_new(ledger):
    """DED-01: the whole transcript comes back with one row more."""
    rows = talk(25)
    ledger.ingest(rows)
    assert IngestReport(new=1, known=50) == again(ledger).ingest(
        [*copy.deepcopy(rows), user("one more")]
    )


def test_genuine_repeats_are_kept(ledger):
    """DED-03: 'ok' twice is two messages."""
    rows = [user("ok"), said("done"), user("ok"), said("done")]
    assert IngestReport(new=4) == ledger.ingest(rows)
    assert IngestReport(new=1, known=4) == again(ledger).ingest([*rows, user("ok")])
    assert [*rows, user("ok")] == stored(ledger)


def test_system_rows_are_no_messages(ledger):
    """They pass through and are not counted."""
    assert IngestReport(new=1) == ledger.ingest(
        [{"role": "system", "content": "be good"}, user("hello"), "junk"]
    )
    assert [user("hello")] == stored(ledger)


def test_the_input_is_never_changed(ledger):
    """ING-10: the host's list, and every dict in it, is as it was."""
    rows = [*talk(2), called("c1"), result("c1", "x" * 50_000)]
    before = copy.deepcopy(rows)
    ledger.ingest(rows)
    passed(ledger, rows)
    assert before == rows


def test_undo_withdraws_and_can_be_revoked(ledger):
    """A missing end is an undo, until it comes back; nothing is lost."""
    rows = talk(4)
    ledger.ingest(rows)
    assert IngestReport(known=4, withdrawn=4) == ledger.ingest(rows[:4])
    assert rows[:4] == stored(ledger)
    assert IngestReport(known=8) == again(ledger).ingest(rows)
    assert rows == stored(ledger)


def test_after_an_undo_new_turns_are_stored_and_numbered_on(ledger):
    """Where peers lost 20 of 30 new messages."""
    rows = talk(10)
    ledger.ingest(rows)
    ledger.ingest(rows[:10])
    new = talk(15, first=100)
    assert IngestReport(new=30, known=10) == ledger.ingest([*rows[:10], *new])
    assert [*rows[:10], *new] == stored(ledger)
    active = [e for e in ledger.store.entries(ledger.session.line) if not e.withdrawn]
    assert [n for n in range(1, 21) for _ in "ab"] == [e.turn for e in active]


def test_a_filtered_list_withdraws_nothing(ledger):
    """Throw-away agents send lists with rows left out; what is missing in the middle stays."""
    rows = [
        user("read it"),
        called("c1"),
        result("c1", "text"),
        said("it says text"),
        user("thanks"),
        said("welcome"),
    ]
    ledger.ingest(rows)
    talk_only = [row for row in rows if row["role"] != "tool" and not row.get("tool_calls")]
    assert IngestReport(known=4) == again(ledger).ingest(talk_only)
    assert rows == stored(ledger)


def test_a_stale_head_adds_nothing_and_the_next_list_brings_all_back(ledger):
    """DED-04: rows 1 to 6 of an old snapshot, then a true delta."""
    rows = talk(50)
    ledger.ingest(rows)
    assert 0 == again(ledger).ingest(copy.deepcopy(rows[:6])).new
    assert IngestReport(new=1, known=100) == again(ledger).ingest(
        [*copy.deepcopy(rows), user("next")]
    )
    assert 101 == len(stored(ledger))


def test_rows_put_between_are_stored_between(ledger):
    """DED-05: history comes back with new rows inside, three times."""
    rows = talk(25)
    ledger.ingest(rows)
    window = [*rows[:20], user("between"), *rows[20:], user("behind")]
    growth = [again(ledger).ingest(copy.deepcopy(window)).new for _ in range(3)]
    assert [2, 0, 0] == growth
    assert window == stored(ledger)


def test_a_reply_that_was_seen_first_stands_behind_its_prompt(ledger):
    """ING-12: only the trailing row at first, then the whole list."""
    rows = [user("what is it?"), said("a thing")]
    ledger.ingest(rows[1:])
    assert IngestReport(new=1, known=1) == ledger.ingest(rows)
    assert rows == stored(ledger)
    assert [1, 1] == [e.turn for e in ledger.store.entries(ledger.session.line)]


def test_restored_rows_are_the_same_messages(ledger):
    """An older host strips, drops reasoning and adds a timestamp when it restores."""
    rows = [
        user("  hello \n"),
        said("thinking about it  ", reasoning="long thoughts"),
        called("c"),
        result("c", " out "),
    ]
    ledger.ingest(rows)
    restored = [
        user("hello", timestamp=1.0),
        said("thinking about it", timestamp=2.0, finish_reason="stop"),
        {**called("c"), "timestamp": 3.0},
        result("c", " out ", tool_name="read_file"),
    ]
    assert IngestReport(known=4) == again(ledger).ingest(restored)
    assert rows == stored(ledger)


def test_flattened_content_is_known_and_the_rich_one_stays(ledger):
    """Parts become text when a host restores; the image is not lost by it."""
    rich = user(
        [
            {"type": "text", "text": "look at this"},
            {"type": "image_url", "image_url": {"url": "data:x"}},
        ]
    )
    ledger.ingest([rich, said("nice")])
    assert IngestReport(known=2) == again(ledger).ingest([user("look at this"), said("nice")])
    assert [rich, said("nice")] == stored(ledger)


def test_a_pruned_result_is_a_version_of_the_same_message(ledger):
    """Where peers stored the whole session again."""
    rows = [user("read"), called("c1"), result("c1", "long " * 500), said("done")]
    ledger.ingest(rows)
    pruned = [rows[0], rows[1], result("c1", "[old output removed]"), rows[3]]
    assert IngestReport(known=3, revised=1) == again(ledger).ingest(copy.deepcopy(pruned))
    entry = ledger.store.entries(ledger.session.line)[2]
    first, current = ledger.store.read([(entry.id, 1), (entry.id, 0)])
    assert rows[2] == decode(first.body)
    assert pruned[2] == decode(current.body)


@pytest.mark.parametrize("row", [user, lambda text: result("c", text)])
def test_a_masked_row_is_known_and_the_whole_text_stays(ledger, row):
    """DED-08: a secret masked on replay is one row, also with a short answer behind it."""
    rows = [
        user("go"),
        called("c"),
        row("the key is sk-ABCDEF0123456789 for now"),
        said("ok noted"),
    ]
    ledger.ingest(rows)
    masked = [*rows[:2], row("the key is sk-ABC***789 for now"), rows[3], user("next")]
    assert IngestReport(new=1, known=4) == again(ledger).ingest(masked)
    assert rows == stored(ledger)[:4]


def test_a_decorated_row_is_the_same_message(ledger):
    """Notes before and behind."""
    rows = talk(2)
    rows[2] = user(
        "Please fix the parser so that it reads an empty file without a crash, and add a test."
    )
    ledger.ingest(rows)
    for note in (f"[note]\n\n{rows[2]['content']}", f"{rows[2]['content']}\n\n[another note]"):
        noted = [*rows[:2], user(note), rows[3]]
        report = again(ledger).ingest(noted)
        assert (0, 0) == (report.new, report.withdrawn)
    assert 4 == len(stored(ledger))
    assert 0 == again(ledger).ingest([*rows[:2], user(f"{rows[2]['content']}\n\n[at the end]")]).new


def test_long_messages_that_differ_in_a_number_are_two(ledger):
    """Another agent's templated prompt on the same session is no edit of ours."""
    long = "the same long template " * 100
    first, second = ([user(f"job {n}: {long}"), said(f"did {n}")] for n in (1, 2))
    ledger.ingest(first)
    assert 2 == again(ledger).ingest(second).new
    assert 0 == again(ledger).ingest(first).new
    assert 4 == len(stored(ledger, withdrawn=True))
    assert 0 == ledger.store.totals().versions


def test_a_new_request_with_the_same_short_answer_is_no_edit(ledger):
    """Undo, another request, "Done." again: the old exchange is withdrawn, the new one stored."""
    start = [user("Hello."), said("Hi.")]
    old = [user("Delete the old invoices of the harbour office."), said("Done.")]
    new = [user("def rotate(lens): return lens.angle + 12"), said("Done.")]
    ledger.ingest([*start, *old])
    assert IngestReport(new=2, known=2, withdrawn=2) == again(ledger).ingest([*start, *new])
    assert [*start, *new] == stored(ledger)
    twice = [*start, *new, user("What about the lamp?"), said("OK.")]
    again(ledger).ingest(twice)
    other = [*start, user("Is it late?"), said("Done."), user("And now?"), said("OK.")]
    again(ledger).ingest(other)
    assert other == stored(ledger)
    assert 0 == ledger.store.totals().versions


def test_an_empty_list_says_nothing(ledger):
    """Throw-away agents end with [], or with system rows alone."""
    rows = talk(2)
    ledger.ingest(rows)
    for each in ([], [{"role": "system", "content": "x"}]):
        assert IngestReport() == ledger.ingest(each)
        assert IngestReport() == again(ledger).ingest(each)
    assert IngestReport(known=4) == ledger.ingest(rows)


def test_reused_call_ids_after_an_undo_are_new_messages(ledger):
    """The same id under another question proves nothing."""
    head = [user("first question about the disk"), said("a long and distinct answer, " * 9)]
    old = [
        user("delete the old logs"),
        called("call_0"),
        result("call_0", "gone"),
        said("logs deleted"),
    ]
    new = [
        user("show me the weather"),
        called("call_0"),
        result("call_0", "sunny"),
        said("it is sunny"),
    ]
    new[1]["tool_calls"][0]["function"]["arguments"] = '{"path": "weather"}'
    ledger.ingest([*head, *old])
    assert IngestReport(new=4, known=2, withdrawn=4) == ledger.ingest([*head, *new])
    assert [*head, *new] == stored(ledger)
    assert 0 == ledger.store.totals().versions


def test_an_undo_of_everything_withdraws_everything(ledger):
    """A list that shares nothing: what was stored is marked, and comes back with its own list."""
    ledger.ingest([user("only turn"), said("answer")])
    new = [user("other turn"), said("another answer, quite different in its words")]
    assert IngestReport(new=2, withdrawn=2) == ledger.ingest(new)
    assert new == stored(ledger)
    assert IngestReport(known=2, withdrawn=2) == again(ledger).ingest(
        [user("only turn"), said("answer")]
    )


def test_a_fold_counts_its_parts_also_when_they_were_never_apart(ledger):
    """Turn numbers are the same, whenever the database was added."""
    fold = {**user("A\n\nB"), "message_uid": "a" * 32, "_absorbed_message_uids": ["b" * 32]}
    ledger.ingest([fold, said("z"), user("next")])
    assert [2, 2, 3] == [e.turn for e in ledger.store.entries(ledger.session.line)]


def test_another_call_without_words_is_another_message(ledger):
    """After an undo a call with no text is not the withdrawn call with no text."""
    head = [user("first question about the disk"), said("a long and distinct answer, " * 9)]
    ledger.ingest(
        [*head, user("delete old logs"), called("c1"), result("c1", "gone"), said("deleted")]
    )
    new = [
        *head,
        user("show me the weather"),
        called("w1"),
        result("w1", "sunny"),
        said("it is sunny"),
    ]
    assert IngestReport(new=4, known=2, withdrawn=4) == ledger.ingest(new)
    assert new == stored(ledger)


def test_changed_arguments_are_a_version(ledger):
    """The same call id with other arguments: both are kept."""
    rows = with_uids([user("do it"), called("c1"), result("c1", "done"), said("ok")])
    ledger.ingest(rows)
    changed = copy.deepcopy(rows)
    changed[1]["tool_calls"][0]["function"]["arguments"] = "{}"
    assert IngestReport(known=3, revised=1) == again(ledger).ingest(changed)


def test_a_picture_that_comes_later_is_a_version(ledger):
    """More than was stored is never taken for less."""
    ledger.ingest(with_uids([user("look"), said("at what?")]))
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    seen = with_uids([user([{"type": "text", "text": "look"}, picture]), said("at what?")])
    assert IngestReport(known=1, revised=1) == again(ledger).ingest(seen)


def test_folded_rows_stand_for_all_their_messages(ledger):
    """A host merges neighbours into one row: known, and nothing is withdrawn."""
    rows = [user("first"), user("second"), said("a"), said("b"), user("third")]
    ledger.ingest(rows)
    folded = [user("first\n\nsecond"), said("a\n\nb"), user("third")]
    report, binding = again(ledger).bind(folded)
    assert IngestReport(known=3) == report
    assert [2, 2, 1] == [len(bound.messages) for bound in binding.bound]
    assert rows == stored(ledger)
    more = [*folded, said("and on")]
    assert IngestReport(new=1, known=3) == again(ledger).ingest(more)


def test_an_edit_in_the_middle_is_a_revision(ledger):
    """Between known neighbours, one for one."""
    rows = talk(3)
    ledger.ingest(rows)
    edited = [*rows[:2], user("something else entirely"), *rows[3:]]
    assert IngestReport(known=5, revised=1) == again(ledger).ingest(edited)
    assert edited == stored(ledger)


def test_reused_call_ids_are_paired_by_position(ledger):
    """One adapter uses the same id 87 times."""
    rows = [
        row
        for n in range(6)
        for row in (
            user(f"do {n}"),
            called("call_0"),
            result("call_0", f"out {n}"),
            said(f"did {n}"),
        )
    ]
    assert IngestReport(new=24) == ledger.ingest(rows)
    assert IngestReport(new=1, known=24) == again(ledger).ingest(
        [*copy.deepcopy(rows), user("more")]
    )
    assert [*rows, user("more")] == stored(ledger)


def test_an_unrelated_list_is_kept_too(ledger):
    """Another agent's list on the same session: stored, and the next true list is not doubled."""
    rows = talk(3)
    ledger.ingest(rows)
    again(ledger).ingest([user("review this"), said("reviewed")])
    report = again(ledger).ingest([*copy.deepcopy(rows), user("next")])
    assert IngestReport(new=1, known=6, withdrawn=2) == report
    assert [*rows, user("next")] == stored(ledger)


def test_a_change_in_place_is_seen(ledger):
    """The older host passes its live list; a row edited far from the end is a new version."""
    rows = talk(300)
    ledger.ingest(rows)
    rows[100]["content"] = rows[100]["content"] + "\n\nPS"
    assert IngestReport(known=599, revised=1) == ledger.ingest(rows)


def test_anything_can_be_a_message(ledger):
    """ING-04, UNI-04: lists, None, NUL, lone surrogates, broken arguments, odd keys."""
    rows = [
        user(None), user(""), user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]),
        user("bad \ud83d"), said("nul \0 here", **{"x-\ud83d": ["\ud83d", {"k": None}]}),
        {"role": "assistant", "content": None, "tool_calls": None},
        {"role": "assistant", "content": [],
         "tool_calls": [{"id": None, "function": {"name": "\ud83d", "arguments": "{\ud83d"}}]},
        {"role": "tool", "tool_call_id": None, "content": {"a": 1}}, {"role": "weird", "content": 7}, {},
    ]  # fmt: skip
    assert len(rows) == ledger.ingest(rows).new
    assert rows == stored(ledger)
    assert IngestReport(known=len(rows)) == again(ledger).ingest(copy.deepcopy(rows))


# hosts that give uids


def with_uids(rows, start=0):
    return [{**row, "message_uid": f"{start + n:032x}"} for n, row in enumerate(rows, 1)]


def test_a_host_uid_is_the_message(ledger):
    """Same uid, new content: a version. New uid, same content: another message."""
    rows = with_uids(talk(3))
    ledger.ingest(rows)
    edited = [*rows[:2], {**rows[2], "content": "other words"}, *rows[3:]]
    assert IngestReport(known=5, revised=1) == again(ledger).ingest(edited)
    twin = {**rows[0], "message_uid": "f" * 32}
    assert IngestReport(new=1, known=6) == again(ledger).ingest([*edited, twin])


def test_a_uid_that_comes_later_is_taken_over(ledger):
    """On the newer host every first look is without uids; the minted one stays an alias."""
    rows = talk(3)
    ledger.ingest(rows)
    minted = [e.uid for e in ledger.store.entries(ledger.session.line)]
    for n, row in enumerate(rows, 1):
        row["message_uid"] = f"{n:032x}"
    assert IngestReport(known=6) == ledger.ingest(rows)
    assert [f"{n:032x}" for n in range(1, 7)] == [
        e.uid for e in ledger.store.entries(ledger.session.line)
    ]
    assert 6 == len(ledger.store.known(minted))
    assert 6 == ledger.store.totals().messages


def test_one_uid_in_two_rows_is_one_message(ledger):
    """The later row counts."""
    first, second = with_uids([user("draft"), said("x")])
    later = {**first, "content": "final"}
    report = ledger.ingest([first, second, later])
    assert 3 == report.new + report.known + report.revised
    assert [user("final"), said("x")] == stored(ledger)


def test_absorbed_uids_name_the_survivor(ledger):
    """A host's fold says whom it took in."""
    rows = with_uids([user("a"), user("b"), said("c")])
    ledger.ingest(rows)
    folded = [
        {**rows[0], "content": "a\n\nb", "_absorbed_message_uids": [rows[1]["message_uid"]]},
        rows[2],
    ]
    report, binding = again(ledger).bind(folded)
    assert IngestReport(known=2) == report
    assert 2 == len(binding.bound[0].messages)
    unseen = [
        {
            **folded[0],
            "content": "a\n\nb\n\nd",
            "_absorbed_message_uids": [rows[1]["message_uid"], "d" * 32],
        },
        rows[2],
    ]
    again(ledger).ingest(unseen)
    assert "d" * 32 in ledger.store.known(["d" * 32])


def test_a_uid_in_two_rows_stays_quiet_at_every_restart(ledger):
    """The texts of both rows are kept, and no restart makes another version of them."""
    rows = with_uids([user("first word"), said("ans"), user("later text"), said("fin")])
    rows[2]["message_uid"] = rows[0]["message_uid"]
    ledger.ingest(rows)
    for _ in range(3):
        assert IngestReport(known=4) == again(ledger).ingest(copy.deepcopy(rows))
    assert 1 == ledger.store.totals().versions


def test_another_session_cannot_change_what_this_one_shows(store):
    """One uid, two sessions, two texts: each node holds the text that its own list showed."""
    first, second = (Ledger(store, store.open_session(name)) for name in "ab")
    rows = with_uids(talk(30))
    rows[0]["content"] = "ALPHA " + rows[0]["content"]
    first.ingest(rows)
    second.ingest([{**user("foreign text"), "message_uid": rows[0]["message_uid"]}, said("zz")])
    for ledger in (first, again(first)):
        outcome = passed(ledger, rows)
        assert "foreign" not in outcome.rows[0]["content"]
        (number, version), *_ = store.stands_for(outcome.frame.uid)
        (message,) = store.read([(number, version)])
        assert decode(message.body)["content"].startswith("ALPHA")


def test_an_upgrade_of_the_host_changes_nothing(ledger):
    """No uids, then uids back-filled after a restart."""
    rows = talk(20)
    ledger.ingest(rows)
    report = again(ledger).ingest(with_uids(copy.deepcopy(rows)))
    assert IngestReport(known=40) == report
    assert 40 == ledger.store.totals().messages


# rows of ours


@pytest.mark.parametrize("stamp", [False, True])
def test_our_rows_are_known_by_uid_or_by_their_whole_text(ledger, stamp):
    """After a pass, after a restart, with white space changed, without flags."""
    rows = talk(30)
    out = list(passed(ledger, rows, stamp=stamp).rows)
    restored = [{k: v for k, v in row.items() if not k.startswith("_")} for row in out]
    restored[0]["content"] = restored[0]["content"].replace("\n\n", "\n \n").strip()
    for each in (out, restored):
        report, binding = again(ledger).bind(copy.deepcopy(each))
        assert ("frame", "filler") == tuple(bound.kind for bound in binding.bound[:2])
        assert (0, len(out) - 2, 0) == (report.new, report.known, report.withdrawn)
    assert rows == stored(ledger)


def test_the_same_text_in_another_session_is_a_message(ledger):
    """Only where the node belongs is its text ours."""
    out = list(passed(ledger, talk(30)).rows)
    other = Ledger(ledger.store, ledger.store.open_session("other"))
    assert len(out) == other.ingest(copy.deepcopy(out)).new


def test_a_quoted_summary_is_a_message(ledger):
    """A user who pastes a part of it, or more than it, has said something."""
    out = list(passed(ledger, talk(30)).rows)
    quoted = user("Look: " + out[0]["content"])
    assert 1 == again(ledger).ingest([*out, quoted]).new
    half = user(out[0]["content"][: len(out[0]["content"]) // 2])
    assert 1 == again(ledger).ingest([*out, quoted, said("yes"), half]).new - 1


def test_a_message_merged_behind_the_summary_is_stored(ledger):
    """``S\\n\\nA`` stands for the node and for A, also at the next pass."""
    rows = talk(30)
    out = list(passed(ledger, rows).rows)
    merged = [user(out[0]["content"] + "\n\nand what about the tests?"), said("They pass.")]
    report = again(ledger).ingest(merged)
    assert 2 == report.new
    assert [user("and what about the tests?"), said("They pass.")] == stored(ledger)[-2:]
    assert 0 == again(ledger).ingest(copy.deepcopy(merged)).new


def test_a_reply_merged_behind_the_filler_is_stored(ledger):
    """``F\\n\\nA`` counts as A."""
    out = list(passed(ledger, talk(30)).rows)
    merged = [out[0], said(FILLER + "\n\nHere is more."), user("go on")]
    assert 2 == again(ledger).ingest(merged).new
    assert [said("Here is more."), user("go on")] == stored(ledger)[-2:]


def test_what_is_merged_behind_our_rows_is_known_by_the_uid_that_the_host_noted(ledger):
    """``S\\n\\nA`` and ``F\\n\\nA`` of a host with uids: our row's comes first, A's among the absorbed."""
    rows = [{**row, "message_uid": f"{n:032x}"} for n, row in enumerate(talk(30))]
    out = list(passed(ledger, rows).rows)
    asked, told = user("and the tests?", message_uid="a" * 32), said("Pass.", message_uid="b" * 32)
    ledger.ingest([*out, asked, told])
    folded = [
        user(
            f"{out[0]['content']}\n\nand the tests?",
            message_uid="c" * 32,
            _absorbed_message_uids=["a" * 32],
        ),
        said(f"{FILLER}\n\nPass.", message_uid="d" * 32, _absorbed_message_uids=["b" * 32]),
        user("go on", message_uid="e" * 32),
    ]
    assert 1 == again(ledger).ingest(folded).new
    assert {"a" * 32, "b" * 32, "e" * 32} == {e.uid for e in ledger.store.tail(1, 3)}


def test_an_upgrade_of_the_host_may_name_a_message_anew(store):
    """A branch's copies get uids of their own then, and rows that an older host wrote again do."""
    rows = talk(6)
    parent = Ledger(store, store.open_session("p"))
    parent.ingest(rows)
    branch = Ledger(store, store.open_session("b", parent="p", relation="branch"))
    branch.ingest([*rows, user("another way")])
    named = [{**row, "message_uid": f"{n:032x}"} for n, row in enumerate(rows, 1)]
    assert 0 == Ledger(store, parent.session).ingest(named).new
    others = [{**row, "message_uid": f"{n:032x}"} for n, row in enumerate(rows, 101)]
    own = user("another way", message_uid="a" * 32)
    again = Ledger(store, branch.session)
    assert 0 == again.ingest([*others, own]).new
    assert 0 == Ledger(store, branch.session).ingest([*others, own]).new
    assert 1 == len({*store.known([each[3]["message_uid"] for each in (named, others)]).values()})
    assert 0 == Ledger(store, branch.session).ingest([*rows, user("another way")]).new
    third = [{**row, "message_uid": f"{n:032x}"} for n, row in enumerate(rows, 201)]
    assert 0 == Ledger(store, branch.session).ingest(third).new


def test_the_same_words_under_another_uid_are_another_message(store):
    """On a host that gives uids all along, also in the first list after a restart."""
    rows = [{**row, "message_uid": f"{n:032x}"} for n, row in enumerate(talk(3), 1)]
    session = store.open_session("s")
    Ledger(store, session).ingest(rows)
    said_again = [
        *rows[:-2],
        *({**row, "message_uid": f"{n:032x}"} for n, row in enumerate(rows[-2:], 50)),
    ]
    report = Ledger(store, session).ingest(said_again)
    assert (2, 2) == (report.new, report.withdrawn)


def test_a_list_restored_twice_is_not_doubled(ledger):
    """[S, tail, S, tail]: an older host after branch and resume."""
    out = list(passed(ledger, talk(30)).rows)
    assert 0 == again(ledger).ingest(copy.deepcopy([*out, *out])).new


def at_times(rows, start=1_700_000_000.0):
    """Rows as an older host reads them from its database: each with the time at which it was said."""
    return [{**row, "timestamp": start + 2.5 * n} for n, row in enumerate(rows)]


@pytest.mark.parametrize("kept", [2, 3, 7, 8])
@pytest.mark.parametrize("knows", [again, lambda ledger: ledger], ids=["anew", "goes on"])
def test_a_list_without_a_summary_that_was_restored_twice_is_not_doubled(ledger, kept, knows):
    """By the times: the older host writes what it has just read once more, each row with its own.

    Also where it is cut off (an undo, `/compress here`), and when it stands four times.
    """
    rows = talk(4)
    ledger.ingest(rows)
    restored = at_times(rows)
    more = [*restored, *restored[:kept], user("and now?"), said("now this")]
    assert 2 == knows(ledger).ingest(copy.deepcopy(more)).new
    assert [*rows, *more[-2:]] == stored(ledger)
    assert 0 == again(ledger).ingest(more).new
    assert 0 == again(ledger).ingest([*restored * 4, *more[-2:]]).new
    further = [*more, user("and then?"), said("then that")]
    assert 2 == again(ledger).ingest(further).new
    assert 0 == ledger.ingest(further).withdrawn


def test_what_is_new_in_a_list_that_was_restored_twice_is_stored_once(ledger):
    """No door was shown it before."""
    rows = at_times(talk(3))
    assert 6 == ledger.ingest([*rows, *rows]).new
    assert rows == stored(ledger)


@pytest.mark.parametrize(
    ("rows", "new"),
    [
        ([*talk(2), *talk(2)], 8),
        (at_times([*talk(2), *talk(2)]), 8),
        ([*at_times(talk(1)), *at_times(talk(1), start=1_700_000_002.5)], 4),
        ([{**row, "timestamp": 1_700_000_000.0} for row in [*talk(2), *talk(2)]], 8),
        ([*at_times(talk(1)), at_times(talk(1))[0], said("not again")], 4),
    ],
    ids=[
        "no times",
        "later",
        "the time of the answer",
        "one time for all",
        "a chat's time in seconds",
    ],
)
def test_the_same_said_again_is_said_again(ledger, rows, new):
    """Only the same words at the same times, one behind the other, are the same messages."""
    assert new == ledger.ingest(rows).new


def test_a_list_that_begins_anew_and_breaks_off_is_compacted_in_its_order(ledger):
    """Nothing leaves the list but under the summary: what the second copy lacks is there, in its place."""
    rows = at_times(talk(20))
    ledger.ingest(rows)
    outcome = passed(ledger, [*rows, *rows[:4], *talk(2, first=50)])
    under = [message for message, _ in ledger.store.stands_for(outcome.frame.uid)]
    line = [entry.id for entry in ledger.store.entries(ledger.session.line)]
    assert line[: len(under)] == under
    assert len(line) == len(under) + len(outcome.rows[2:])
    assert 0 == again(ledger).ingest(list(outcome.rows)).new


def test_a_pass_thrown_away_costs_nothing(ledger):
    """The old list comes back; then the same pass finds its nodes."""
    rows = talk(30)
    calls = []

    def summarizer(request):
        calls.append(request)
        return "summary of it"

    first = passed(ledger, rows, summarizer=summarizer, trusted=True)
    count = len(calls)
    assert count > 0
    assert IngestReport(known=60) == ledger.ingest(rows)
    second = passed(ledger, rows, summarizer=summarizer, trusted=True)
    assert count == len(calls)
    assert first.rows == second.rows
    assert () == second.made


def test_a_lifted_message_that_comes_back_is_known(ledger):
    """A list that stops just before it, then the whole list: stored once."""
    rows = [user("the one task")]
    for n in range(60):
        rows += [called(f"c{n}"), result(f"c{n}", "out " * 60)]
    out = list(passed(ledger, rows).rows)
    assert user("the one task") == out[2]
    for count in (1, 2, 3, 4, len(out)):
        assert 0 == ledger.ingest(out[:count]).new
        assert 0 == ledger.ingest(out).new
    assert rows == stored(ledger)


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_what_is_put_behind_a_summary_row_is_no_part_of_what_that_stands_for(ledger, warm):
    """It is newer than the message that was lifted behind it: kept once, seen again, and summarised in its time."""
    rows = [user("the one task")]
    for n in range(60):
        rows += [called(f"c{n}"), result(f"c{n}", "out " * 60)]
    out = list(passed(ledger, rows).rows)
    note = "a note that a host has put there"
    out[0] = {**out[0], "content": f"{out[0]['content']} {note}"}

    def seen(rows):
        report = (ledger if warm else again(ledger)).ingest(rows)
        return report.new, report.revised, report.withdrawn

    assert (1, 0, 0) == seen(out)
    assert (0, 0, 0) == seen(out)
    out[2] = {**out[2], "content": "the one task, and more of it"}
    assert (0, 1, 0) == seen(out)
    out[0] = {**out[0], "content": f"{out[0]['content']} and another"}
    assert (0, 1, 0) == seen(out)
    more = [*out, said("done with it"), *talk(20)]
    frame = passed(ledger, more).frame
    assert verify(ledger.store).failures == ()
    under = {message for message, _ in ledger.store.stands_for(frame.uid)}
    noted = [row["content"] for row in stored(ledger)].index(f"{note} and another")
    assert ledger.store.entries(ledger.session.line)[noted].id in under


def test_a_message_on_two_lines_has_nodes_of_each(store):
    """Two unrelated sessions share uids: each line's nodes stand in their own place."""
    rows = with_uids(talk(12))
    first, second = (Ledger(store, store.open_session(name)) for name in "ab")
    passed(first, rows)
    out = list(passed(second, [user("of my own"), said("yes"), *rows[8:]]).rows)
    more = [*out, *with_uids(talk(30, first=50), start=1000)]
    passed(second, more)
    frames = store.nodes_on([second.session.line], kinds=("frame",))
    last = store.entries(second.session.line)[-1].seq
    assert all(node.last_seq <= last for node in frames)
    under = [m for m, _ in store.stands_for(frames[-1].uid)]
    assert under == [e.id for e in store.entries(second.session.line)][: len(under)]


def test_a_fold_that_was_withdrawn_comes_back_as_what_it_was(ledger):
    """`/compress here N` sends the head alone first."""
    head = talk(6)
    parts = [user("part one of it"), user("part two of it"), said("a final answer of some words")]
    ledger.ingest([*head, *parts])
    whole = [*head, user("part one of it\n\npart two of it"), parts[2]]
    assert 0 == ledger.ingest(whole).new
    assert 3 == ledger.ingest(head).withdrawn
    assert 0 == ledger.ingest(whole).new
    ledger.ingest([*head, *talk(8, first=50)])
    assert 0 == ledger.ingest(whole).new
    assert [*head, *parts] == stored(ledger)


def test_a_fold_is_found_behind_many_withdrawn_rows(ledger):
    """An undo of a long stretch, then two user rows that the host folds."""
    head = talk(3)
    ledger.ingest([*head, *talk(12, first=50)])
    answer = said("an answer to both parts, long enough to be told apart from any other")
    ledger.ingest([*head, user("part one"), user("part two"), answer])
    assert 0 == ledger.ingest([*head, user("part one\n\npart two"), answer]).new


def test_a_fold_that_is_lifted_stands_for_all_its_messages(ledger):
    """None of its parts is under the node of its steps, and none changes."""
    steps = [row for n in range(60) for row in (called(f"c{n}"), result(f"c{n}", "out " * 60))]
    ledger.ingest([user("part one of it"), user("part two of it"), *steps])
    outcome = passed(ledger, [user("part one of it\n\npart two of it"), *steps])
    assert 2 == len(outcome.frame.lifted)
    for each in (ledger, again(ledger)):
        report = each.ingest(list(outcome.rows))
        assert (0, 0, 0) == (report.new, report.revised, report.withdrawn)
    assert 122 == len(stored(ledger))
    further = [*outcome.rows, said("done with it"), *talk(20)]
    frame = passed(ledger, further).frame
    under = [m for m, _ in ledger.store.stands_for(frame.uid)]
    assert [e.id for e in ledger.store.entries(ledger.session.line)][: len(under)] == under


def test_undo_past_the_tail_after_a_pass(ledger):
    """[S] and [S, filler] alone: the tail is withdrawn, what is under the summary is not."""
    rows = talk(30)
    out = list(passed(ledger, rows).rows)
    kept = len(out) - 2
    report = again(ledger).ingest(out[:2])
    assert kept == report.withdrawn
    assert rows[: 60 - kept] == stored(ledger)
    assert IngestReport(new=2) == again(ledger).ingest([*out[:2], user("new"), said("reply")])


def named(row, uid):
    return {**row, "message_uid": uid}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("QB", "QBNQBN"),
        ("QB", "NQN"),
        ("QB", "QNBN"),
        ("QB", "NQBNBN"),
        ("", "QNQNQ"),
    ],
)
def test_a_new_row_that_stands_twice_is_one_message(ledger, before, after):
    """By its uid, whatever stands between: a host may restore the whole list twice, what is new in it too."""
    rows = {
        "Q": named(user("q"), "u-q"),
        "B": named(said("ok"), "u-b"),
        "N": named(user("new"), "u-n"),
    }
    ledger.ingest([rows[name] for name in before])
    report = ledger.ingest([rows[name] for name in after])
    assert report.new == len(set(after) - set(before))
    assert report.new + report.known == len(after)
    told = stored(ledger)
    assert len(told) == len(set(after))  # what the list no longer has at its end was taken back
    assert ledger.ingest([rows[name] for name in after] + [named(user("and"), "u-z")]).new == 1


def test_a_known_row_that_gets_its_uid_and_stands_twice_is_one_message(ledger):
    """The first is the message, which gets the name; so the second is it, too."""
    first = [user("a question"), said("ok"), user("another one"), said("done")]
    ledger.ingest(first)
    late = [
        *first[:2],
        named(first[2], "u-late"),
        first[3],
        named(first[2], "u-late"),
        said("this"),
    ]
    assert ledger.ingest(late) == IngestReport(new=1, known=5)
    assert len(stored(ledger)) == 5
    assert ledger.ingest([*late, user("and")]).new == 1


def test_a_new_row_that_stands_twice_in_two_versions_is_one_message(ledger):
    """The later one counts."""
    first = [named(user("q"), "u-q"), named(said("ok"), "u-b")]
    ledger.ingest(first)
    report = ledger.ingest(
        [named(user("new"), "u-n"), first[1], named(user("new and more"), "u-n")]
    )
    assert (report.new, report.revised) == (1, 1)
    assert [row["content"] for row in stored(ledger)].count("new and more") == 1


@pytest.mark.parametrize("count", [999, 2500, 6000])
def test_thousands_of_rows_are_stored_in_front_of_what_is_known(ledger, count):
    """A list that begins long before what was seen first, as where a helper's short list came first."""
    rows = [(user if n % 2 == 0 else said)(f"row {n} of its own") for n in range(count)]
    ledger.ingest(rows[-6:])
    report = again(ledger).ingest(rows)
    assert (report.new, report.known) == (count - 6, 6)
    assert stored(ledger) == rows
    assert again(ledger).ingest([*rows, user("more")]).new == 1


def test_rows_that_are_put_at_one_place_again_and_again_are_all_stored(ledger):
    """A host may keep a row at the end and put all that is new in front of it; no list is refused for want of room.

    Without uids, the turn at which the room ends may be stored twice.
    """
    rows, last = [user("begin"), said("well")], user("a note that stays at the end")
    for n in range(40):
        rows += [user(f"question {n} of its own"), said(f"answer {n} of its own")]
        assert ledger.ingest([*rows, last]).new >= 2
    kept = [row["content"] for row in stored(ledger)]
    assert [row["content"] for row in [*rows, last] if row["content"] not in kept] == []
    assert len(kept) - len(set(kept)) <= 2
