"""Identity where it is hard: faults that the property test (test_stateful.py) has found, each by itself."""

from __future__ import annotations

import copy
import signal

import pytest
from lcm.dag.compact import PassRequest, compact
from lcm.dag.descent import descends
from lcm.dag.ingest import IngestReport, Ledger
from lcm.dag.settings import Settings
from lcm.dag.validity import new_faults
from ledgers import again, said, stored, talk, user

# several agents on one session


def test_an_unchanged_list_takes_back_what_another_agent_withdrew(ledger):
    """A throw-away agent shows the head alone; then the live agent shows the list it had shown before."""
    rows = [user("first question"), said("first answer"), user("second question"), said("ok")]
    ledger.ingest(rows)
    assert 2 == again(ledger).ingest(rows[:2]).withdrawn
    assert rows[:2] == stored(ledger)
    assert IngestReport(known=4) == ledger.ingest(rows)
    assert rows == stored(ledger)


def test_an_empty_list_starts_over_without_a_word(ledger):
    """It says nothing, and the list that follows is known."""
    rows = [user("a question"), said("an answer")]
    ledger.ingest(rows)
    before = ledger.store.revision(ledger.session.line)
    assert IngestReport() == ledger.ingest([])
    assert before == ledger.store.revision(ledger.session.line)
    assert IngestReport(known=2) == ledger.ingest(copy.deepcopy(rows))


# folds


@pytest.mark.parametrize("noted_first", [True, False], ids=["seen with its note", "never seen so"])
def test_a_fold_of_a_decorated_message_is_still_a_fold(ledger, noted_first):
    """The note goes with the part in front of it, and every part stays a message."""
    one = "the first of two requests, with words of its own"
    rows = [user(one), user("two"), said("an answer to both of the requests, and long enough")]
    ledger.ingest(rows)
    if noted_first:
        ledger.ingest([user(f"{one}\n\n[note]"), *rows[1:]])
    whole = [user(f"{one}\n\n[note]\n\ntwo"), rows[2]]
    report, binding = again(ledger).bind(whole)
    assert (0, 0) == (report.new, report.withdrawn)
    assert [2, 1] == [len(bound.messages) for bound in binding.bound]
    assert rows == stored(ledger, version=1)
    assert [user(f"{one}\n\n[note]"), user("two"), rows[2]] == stored(ledger)
    assert IngestReport(known=2) == again(ledger).ingest(whole)


def test_a_fold_of_parts_in_earlier_versions_is_a_fold(ledger):
    """A note was there once and is gone again when the host folds."""
    rows = [user("first of two"), user("second of two"), said("fine, both of them are done now")]
    ledger.ingest(rows)
    ledger.ingest([user("[note]\n\nfirst of two"), *rows[1:]])
    report = again(ledger).ingest([user("first of two\n\nsecond of two"), rows[2]])
    assert IngestReport(known=2) == report


def test_what_a_fold_took_in_unseen_is_kept(ledger):
    """A host that gives uids folds in a message that no door ever saw apart."""
    ledger.ingest([user("a", message_uid="a" * 32), user("b", message_uid="b" * 32), said("c")])
    fold = user("a\n\nb\n\nd", message_uid="a" * 32, _absorbed_message_uids=["b" * 32, "d" * 32])
    assert IngestReport(known=1, revised=1) == again(ledger).ingest([fold, said("c")])
    assert ["a", "b\n\nd", "c"] == [row["content"] for row in stored(ledger)]
    assert IngestReport(known=2) == again(ledger).ingest([fold, said("c")])


def test_a_fold_that_is_rewritten_is_a_version(ledger):
    """A content rewrite keeps the uid: both texts are kept, once."""
    ledger.ingest([user("a", message_uid="a" * 32), user("b", message_uid="b" * 32), said("c")])
    fold = user("quite other words", message_uid="a" * 32, _absorbed_message_uids=["b" * 32])
    assert IngestReport(known=1, revised=1) == again(ledger).ingest([fold, said("c")])
    assert ["quite other words", "b", "c"] == [row["content"] for row in stored(ledger)]
    assert IngestReport(known=2) == again(ledger).ingest([fold, said("c")])


def test_a_fold_that_gets_its_uid_later_is_a_fold(ledger):
    """Folded by a host without uids; after the upgrade the one row has one uid, and no witness."""
    rows = [user("first of two"), user("second of two"), said("fine, both of them are done now")]
    ledger.ingest(rows)
    fold = [user("first of two\n\nsecond of two", message_uid="a" * 32), rows[2]]
    for _ in range(2):
        assert IngestReport(known=2) == again(ledger).ingest(fold)
    assert rows == stored(ledger)


# turns


def turns(ledger):
    return [e.turn for e in ledger.store.entries(ledger.session.line) if not e.withdrawn]


@pytest.mark.parametrize("witness", [{}, {"_merged_turn_prefix": "todo: 1"}])
def test_a_row_of_the_host_starts_a_turn_when_a_person_speaks_in_it(ledger, witness):
    """The flag stays on the row that a real message is merged behind; what follows is renumbered."""
    flag = {"_todo_snapshot_synthetic": True}
    rows = [user("q"), said("a"), user("todo: 1", **flag), said("noted, and here are more words")]
    ledger.ingest(rows)
    assert [1, 1, 1, 1] == turns(ledger)
    rows[2] = user("todo: 1\n\nand what about the lamp?", **flag, **witness)
    assert 1 == ledger.ingest([*rows, user("next")]).revised
    assert [1, 1, 2, 2, 3] == turns(ledger)


def test_turns_behind_a_row_put_between_are_numbered_on(ledger):
    """One list brings a turn in the middle and one at the end."""
    rows = [row for n in range(4) for row in (user(f"question {n}"), said(f"answer {n} " * 9))]
    ledger.ingest(rows)
    ledger.ingest([*rows[:2], user("between"), *rows[2:], user("behind")])
    assert [1, 1, 2, 3, 3, 4, 4, 5, 5, 6] == turns(ledger)


# uids


def test_a_message_that_was_taken_back_comes_back_under_its_uid_only(ledger):
    """Undo, then the same word again: it has no uid yet, and is another message."""
    rows = [user("q", message_uid="1" * 32), said("a", message_uid="2" * 32)]
    old = [user("ok", message_uid="3" * 32), said("fine", message_uid="4" * 32)]
    ledger.ingest([*rows, *old])
    ledger.ingest(rows)
    assert 2 == ledger.ingest([*rows, user("ok"), said("so be it")]).new
    new = [user("ok", message_uid="5" * 32), said("so be it", message_uid="6" * 32)]
    assert IngestReport(known=4) == ledger.ingest([*rows, *new])
    assert ["q", "a", "ok", "so be it"] == [row["content"] for row in stored(ledger)]


def test_a_row_without_a_uid_among_rows_that_have_one_is_new(ledger):
    """The undo was never shown; the same word stands in the same place."""
    rows = [user("q", message_uid="1" * 32), said("a", message_uid="2" * 32)]
    ledger.ingest([*rows, user("ok", message_uid="3" * 32), said("fine", message_uid="4" * 32)])
    report = again(ledger).ingest([*rows, user("ok"), said("so be it")])
    assert IngestReport(new=2, known=2, withdrawn=2) == report


# rows that a pass must not take for something else


def passed(ledger, rows, window=4000):
    """*rows* after a pass that a window of so many tokens forces."""
    _, binding = ledger.bind(rows)
    request = PassRequest(Settings(), window, 3000, None, force=True, stamp=False)
    return compact(ledger.store, ledger.session.line, binding, request)


def test_a_summary_sent_again_waits_for_its_answer(ledger):
    """It is still ours and no message; a pass keeps it as the newest row, and three turns in front of it."""
    out = list(passed(ledger, talk(30)).rows)
    rows = [*out, *talk(10, first=40), user(out[0]["content"])]
    assert 20 == ledger.ingest(rows).new
    outcome = passed(ledger, rows, window=8000)
    assert rows[-1] == outcome.rows[-1]
    assert talk(3, first=47) == list(outcome.rows)[-7:-1]
    assert [] == new_faults(rows, outcome.rows)
    answered = [*outcome.rows, said("That is the summary."), *talk(10, first=60)]
    assert 21 == again(ledger).ingest(answered).new
    result = passed(ledger, answered).rows
    assert rows[-1] not in result
    assert 0 == again(ledger).ingest(list(result)).new
    assert [*talk(30), *talk(10, first=40), *answered[-21:]] == stored(ledger)


def test_a_person_who_speaks_in_a_row_of_the_host_is_the_newest(ledger):
    """The older host merges a person's words behind its own row and leaves its flag on it."""
    flagged = user("todo: 1", _todo_snapshot_synthetic=True)
    rows = [*talk(12), flagged, user("what about the lamp?")]
    ledger.ingest(rows)
    whole = user("todo: 1\n\nwhat about the lamp?", _todo_snapshot_synthetic=True)
    steps = [said("working " * 300), said("still working " * 300), said("and on " * 500)]
    result = passed(ledger, [*rows[:-2], whole, *steps]).rows
    assert whole in result


# branches


def test_a_branch_that_begins_with_folds_and_notes_is_a_branch(store):
    """What the parent has apart stands in the branch's list in one row, stripped and with a note."""
    parent = Ledger(store, store.open_session("parent"))
    parent.ingest(
        [said("one of three"), said("  two of three\n"), said("three of three"), user("q")]
    )
    line = parent.session.line
    assert descends(store, line, [said("one of three\ntwo of three\nthree of three")])
    assert descends(store, line, [said("one of three\n\n[note]\n\ntwo of three"), user("else")])
    assert not descends(store, line, [user("a task of its own"), said("done, as it was asked for")])
    assert not descends(store, line, [])


def test_what_follows_a_summary_sent_again_is_new(ledger):
    """The words that stand behind it may have been said before; they are said again."""
    rows = [*talk(30), user("yes"), said("Done."), *talk(1, first=40)]
    out = list(passed(ledger, rows).rows)
    more = [user(out[0]["content"]), said("Done."), user("yes"), said("Done.")]
    assert 3 == ledger.ingest([*out, *more]).new
    assert 0 == again(ledger).ingest([*out, *more]).new
    assert [*rows, *more[1:]] == stored(ledger)
    later = list(passed(ledger, [*out, *more, *talk(10, first=50)]).rows)
    assert 3 == again(ledger).ingest([*later, *more]).new


def test_a_short_answer_behind_a_changed_row_and_a_hole_is_known(ledger):
    """The picture's row came back flattened, a row in front of it was discarded: nothing is doubled."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    look = user([{"type": "text", "text": "what is on this picture?"}, picture])
    rows = [user("a first question"), said("a row that goes"), look, said("A lamp.")]
    ledger.ingest(rows)
    back = [rows[0], user("what is on this picture?"), rows[3]]
    assert IngestReport(known=3) == again(ledger).ingest(back)
    assert rows == stored(ledger)


def test_a_fold_over_what_was_taken_back_is_a_fold(ledger):
    """An unanswered request, an undo of the next one, another request: the host folds the two that are left."""
    one, gone, other = user("first request"), [user("undone"), said("so")], user("second request")
    rows = [user("q"), said("an answer of some length, so that it can be told apart"), one]
    ledger.ingest([*rows, *gone])
    ledger.ingest([*rows, other])
    whole = [*rows[:2], user("first request\n\nsecond request")]
    assert IngestReport(known=3) == again(ledger).ingest(whole)
    assert [*rows, other] == stored(ledger)
    uids = [{**row, "message_uid": f"{n:032x}"} for n, row in enumerate(whole, 1)]
    assert IngestReport(known=3) == again(ledger).ingest(uids)
    assert IngestReport(known=3) == again(ledger).ingest(uids)


def test_system_rows_stay_in_front_where_nothing_else_stays(ledger):
    """Undo past the tail, then a pass: the system row does not slip behind the summary."""
    system = {"role": "system", "content": "be good"}
    out = list(passed(ledger, [system, *talk(30)]).rows)
    for window in (4000, 1000, 400):
        rows = passed(ledger, out[:3], window=window).rows
        assert system == rows[0]


def test_an_earlier_version_comes_back_stripped_without_making_another(store):
    """Two sessions show a message in two versions; one of them was restored, and stripped."""
    first, second = (Ledger(store, store.open_session(name)) for name in "ab")
    answer = said("an answer", message_uid="2" * 32)
    shown = [user(text, message_uid="1" * 32) for text in ("q", "  [note]\n\nq", "q\n\n[other]")]
    for ledger, row in ((first, shown[0]), (first, shown[1]), (second, shown[2])):
        ledger.ingest([row, answer])
    restored = [user("[note]\n\nq", message_uid="1" * 32), answer]
    assert IngestReport(known=2) == again(first).ingest(restored)
    assert IngestReport(known=2) == again(second).ingest([shown[2], answer])
    assert 2 == store.totals().versions


def test_a_fold_around_a_row_that_was_dropped_is_a_fold(ledger):
    """A host drops a stray tool result, and folds the two requests around it."""
    stray = {"role": "tool", "tool_call_id": "c", "content": "out of a call that is not there"}
    rows = [user("first request"), stray, user("second request"), said("fine, both are done")]
    ledger.ingest(rows)
    whole = [user("first request\n\nsecond request"), rows[3]]
    report, binding = again(ledger).bind(whole)
    assert IngestReport(known=2) == report
    assert 2 == len(binding.bound[0].messages)
    assert rows == stored(ledger)


def test_two_rows_of_the_host_folded_into_one_are_no_question(ledger):
    """The host's own flag stays on its fold with a person's words; on one with another of its own it is true."""
    flag = {"_todo_snapshot_synthetic": True}
    rows = [
        *talk(30),
        user("the question " * 400),
        user("a list", **flag),
        user("a list again", **flag),
    ]
    more = [said("an answer " * 300), user("the list at last", **flag)]
    ledger.ingest([*rows, *more])
    folded = [*rows[:-2], user("a list\n\na list again", **flag), *more]
    assert rows[-3] in passed(ledger, folded).rows


def test_two_rows_of_the_host_folded_under_a_uid_are_no_question(ledger):
    """The same where the host notes what it folded, as it also does for a person's words behind its own row."""
    flag = {"_todo_snapshot_synthetic": True}
    own = [user(text, message_uid=f"{n:032x}", **flag) for n, text in enumerate(("a", "b", "c"), 1)]
    question = user("the question " * 400, message_uid="f" * 32)
    rows = [*talk(30), question, *own[:2], said("an answer " * 300, message_uid="e" * 32), own[2]]
    ledger.ingest(rows)
    fold = user("a\n\nb", message_uid=f"{1:032x}", _absorbed_message_uids=[f"{2:032x}"], **flag)
    folded = [*rows[:-4], fold, *rows[-2:]]
    assert question in passed(ledger, folded).rows


def test_the_next_part_of_a_session_knows_that_its_host_gives_uids(store):
    """Rotated before its first list: a retry with the same words is another message."""
    rows = [user(text, message_uid=str(n) * 32) for n, text in enumerate(("q", "the same"), 1)]
    Ledger(store, store.open_session("old")).ingest(rows)
    new = store.open_session("new", parent="old", relation="rotation")
    retried = [rows[0], user("the same", message_uid="9" * 32)]
    for n in range(2):
        report = Ledger(store, new).ingest(retried)
        assert (1 - n, 1 - n, 0) == (report.new, report.withdrawn, report.revised)
    assert 3 == store.totals().messages


def test_a_note_behind_a_masked_secret_is_no_other_message(ledger):
    """First the host masks, then it decorates, and only a short row stands behind."""
    rows = [user("a question"), user("the key is sk-ABCDEF123 for now\nand more"), user("yes")]
    ledger.ingest(rows)
    masked = rows[1]["content"].replace("ABCDEF123", "***")
    for content in (masked, f"{masked}\n\n[a note]", f"[a note]\n\n{masked}\n\n[another]"):
        report = again(ledger).ingest([rows[0], user(content), rows[2]])
        assert (0, 3, 0) == (report.new, report.known + report.revised, report.withdrawn)
    assert 3 == ledger.store.totals().messages


@pytest.mark.usefixtures("bounded")
def test_a_row_of_hundreds_of_masks_is_looked_at_once(ledger):
    """The host masks a list of numbers and cuts its end: no combination of gaps is tried, and nothing is doubled."""
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c", "content": "4000 1234 5678 3456 " * 300 + "end"}
    rows = [user("q"), said("", tool_calls=[call]), result, said("an answer " * 9)]
    ledger.ingest(rows)
    rows[2] = {**result, "content": "**** **** **** 3456 " * 300 + "[truncated]"}
    assert IngestReport(known=3, revised=1) == again(ledger).ingest(rows)


def test_a_fold_brings_back_what_was_taken_back(ledger):
    """The host folds two messages; another agent shows the first one alone, then the host its list again."""
    rows = [user("first question"), user("second question"), said("ok")]
    ledger.ingest(rows)
    folded = [user("first question\n\nsecond question"), rows[2]]
    ledger.ingest(folded)
    assert 2 == again(ledger).ingest(rows[:1]).withdrawn
    assert IngestReport(known=2) == again(ledger).ingest(folded)
    assert rows == stored(ledger)


@pytest.mark.parametrize("blank", ["", " ", "\t", "  \n", " \r\n"])
def test_a_note_around_a_message_that_ends_in_a_blank_is_no_other_message(ledger, blank):
    """A host strips a short message, or does not, and puts a note before or behind it."""
    text = f"{blank}hello there{blank}"
    rows = [user(text), said("hi")]
    ledger.ingest(rows)
    for noted in (f"{text}\n\n[a note]", f"[a note]\n\n{text}", f"hello there\n\n{text}\n[a note]"):
        report = again(ledger).ingest([user(noted), rows[1]])
        assert (0, 0) == (report.new, report.withdrawn)
    assert 2 == ledger.store.totals().messages


MOST_SECONDS = 60
"""For a row of half a megabyte, on a busy machine; what these rows hung in would take days."""


@pytest.fixture
def bounded():
    """End the test, instead of waiting, once it takes longer."""

    def stop(*_):
        raise TimeoutError(f"It takes more than {MOST_SECONDS} seconds.")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MOST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


LONG = 300_000

HARD = {
    "masks, and another end": ("a" * LONG + "\nend", "***".join(["a"] * 300) + "b"),
    "masks, one after another": (
        "4000 1234 " * (LONG // 10),
        "**** 1234 " * (LONG // 10) + "[cut]",
    ),
    "masks on short lines": ("a\n" * LONG + "b", "a\n" * (LONG // 2) + "***\n" * LONG),
    "masks that do not end": ("[redacted" * (LONG // 9), "*** " + "[redacted" * (LONG // 9)),
    "equal words": ("a " * LONG + "b", "a " * (2 * LONG) + "c\n\nsecond part"),
    "equal letters": ("a" * LONG + "b", "a" * (2 * LONG) + "c\n\nsecond part"),
    "blanks": ("a" + " " * LONG + "b", ("a" + " " * LONG) * 2 + "c\n\nsecond part"),
}


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("was", HARD)
def test_a_long_row_is_compared_in_one_walk(ledger, was):
    """The transaction of an ingest keeps all other processes waiting: no comparison tries combinations."""
    old, new = HARD[was]
    rows = [user("q"), said("x"), user(old), user("second part"), said("an answer, in words " * 9)]
    ledger.ingest(rows)
    for changed in ([*rows[:2], user(new), rows[4]], [*rows[:2], user(new)]):
        again(ledger).ingest(changed)
        assert new in [row["content"] for row in stored(ledger)]


@pytest.mark.usefixtures("bounded")
def test_a_row_of_many_masks_and_nothing_else_changed_is_known(ledger):
    """A list of numbers, all masked, is the list to the end: no version of it is made, and no message."""
    rows = [user("4000 1234 5678 3456 " * 300 + "end"), said("fine")]
    ledger.ingest(rows)
    masked = [user("**** **** **** 3456 " * 300 + "end"), rows[1]]
    assert IngestReport(known=2) == again(ledger).ingest(masked)


def steps(first, count):
    """Calls and their long results."""
    for n in range(first, first + count):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        yield said(f"step {n} " * 120, tool_calls=[call])
        yield {"role": "tool", "tool_call_id": f"c{n}", "content": f"result {n} " * 120}


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_a_question_that_a_pass_lifted_and_an_undo_took_is_not_awaited(ledger, warm):
    """Another turn stands behind the summary row now, and the host prunes a result of it."""
    rows = [*talk(2), user("please do the big task"), *steps(0, 10)]
    out = list(passed(ledger, rows).rows)
    ledger.ingest(out)
    at = out.index(user("please do the big task"))
    live = [*out[:at], user("another question"), *steps(50, 1), said("an answer " * 9)]
    assert 4 == ledger.ingest(live).new
    live[at + 2] = {**live[at + 2], "content": "[Old tool output cleared]"}
    report = (ledger if warm else again(ledger)).ingest(live)
    assert (0, 1, 0) == (report.new, report.revised, report.withdrawn)
