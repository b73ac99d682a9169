"""More faults that the property test (test_stateful.py) has found, each by itself; see test_identity.py."""

from __future__ import annotations

import pytest
from lcm.dag.fit import stub
from lcm.dag.ingest import IngestReport
from ledgers import again, result, said, stored, user

# the same said again


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_an_answer_that_was_taken_back_is_said_again_in_the_place_of_another(ledger, warm):
    """An undo that was seen, then one that was not, and a retry that says what was said before the first."""
    rows = [user("one"), said("an answer"), user("another question"), said("Done.")]
    ledger.ingest(rows)
    assert 2 == ledger.ingest(rows[:2]).withdrawn
    report = (ledger if warm else again(ledger)).ingest([rows[0], said("Done.")])
    assert (1, 1) == (report.new, report.withdrawn)
    assert [rows[0], said("Done.")] == stored(ledger)


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("flag", [{}, {"_todo_snapshot_synthetic": True}], ids=["said", "todo"])
def test_what_a_fold_said_is_said_anew(ledger, flag, warm):
    """Two rows were folded, the host began to give uids, and a retry says the one text again under another uid."""
    first, second = user("the first of two rows", **flag), user("the second of them " * 4)
    ledger.ingest([first])
    ledger.ingest([first, second])
    fold = {**first, "content": f"{first['content']}\n\n{second['content']}"}
    ledger.ingest([fold])
    ledger.ingest([{**fold, "message_uid": "a" * 32}])
    retried = [user(fold["content"], message_uid="b" * 32), said("done", message_uid="c" * 32)]
    for _ in range(2):
        (ledger if warm else again(ledger)).ingest(retried)
        assert [fold["content"], "done"] == [row["content"] for row in stored(ledger)]
        assert 4 == len(stored(ledger, withdrawn=True))


@pytest.mark.parametrize("edited", ["one and", "one two three four and"])
def test_rows_that_a_restart_has_flattened_tell_an_edit_from_an_undo(ledger, edited):
    """What stands behind an edited row is known, though the last of it has lost its picture."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    words = "here is the picture that you asked for, taken on the second day of the journey to the coast"
    shown = user([{"type": "text", "text": words}, picture])
    rows = [user("one two three four"), user("a few words"), user("ok"), shown]
    ledger.ingest(rows)
    restored = [*rows[:3], user(words)]
    again(ledger).ingest(restored)
    restored[0] = user(edited)
    assert IngestReport(known=3, revised=1) == again(ledger).ingest(restored)
    assert [edited, "a few words", "ok", shown["content"]] == [r["content"] for r in stored(ledger)]


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_what_a_fold_of_three_said_is_said_anew(ledger, warm):
    """None of its last two parts has a uid, and the words of the first are no note in front of them."""
    rows = [*map(user, ("first question", "second question, w x y", "third of them")), said("last")]
    ledger.ingest(rows)
    text = "\n\n".join(row["content"] for row in rows[:3])
    ledger.ingest([user(text, message_uid="a" * 32), said("last", message_uid="b" * 32)])
    retried = [user(text, message_uid="c" * 32), said("ok", message_uid="d" * 32)]
    report = (ledger if warm else again(ledger)).ingest(retried)
    assert (2, 0, 4) == (report.new, report.revised, report.withdrawn)
    assert [text, "ok"] == [row["content"] for row in stored(ledger)]


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_a_fold_over_a_dropped_answer_has_no_note(ledger, warm):
    """A host drops an answer, folds the questions around it, and names the fold by the first of them."""
    ledger.ingest([user("ok"), user("second question"), said("Done.")])
    fold, done = (
        user("ok\n\nsecond question", message_uid="a" * 32),
        said("Done.", message_uid="b" * 32),
    )
    third, answer = user("the third question is long"), said("an answer to it")
    ledger.ingest([fold, done, third, answer])
    whole = user(f"{fold['content']}\n\n{third['content']}", message_uid="a" * 32)
    report = (ledger if warm else again(ledger)).ingest([whole, answer])
    assert (0, 0) == (report.new, report.revised)
    retried = [{**whole, "message_uid": "c" * 32}, said("ok", message_uid="d" * 32)]
    report = (ledger if warm else again(ledger)).ingest(retried)
    assert (2, 0) == (report.new, report.revised)
    assert [whole["content"], "ok"] == [row["content"] for row in stored(ledger)]


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_a_fold_whose_last_part_was_taken_back_has_no_note(ledger, warm):
    """Another agent showed an old list without the part; in the fold it comes back, and is no note of the host's."""
    rows = [user("the first of three"), user("the second"), user("the third of them"), user("more")]
    ledger.ingest(rows)
    ledger.ingest(rows[:2])
    fold = user("\n\n".join(row["content"] for row in rows[:3]))
    for _ in range(2):
        report = (ledger if warm else again(ledger)).ingest([fold, rows[3]])
        assert IngestReport(known=2) == report
        assert rows == stored(ledger)


def test_what_another_agent_took_back_is_what_it_was(ledger):
    """Its list was an old one. A short answer that the first agent's list still shows is none that is said anew."""
    question = user("a question of the usual length")
    ledger.ingest(
        [question, said("The first answer, in words enough to be known by, which was not liked.")]
    )
    rows = [question, said("Done.")]
    ledger.ingest(rows)
    old = stored(ledger, withdrawn=True)[:2]
    other = again(ledger)
    assert 1 == other.ingest(old).withdrawn
    assert "Done." not in [row["content"] for row in stored(ledger)]
    assert (0, 0) == ((report := ledger.ingest(rows)).new, report.revised)
    assert "Done." in [row["content"] for row in stored(ledger)]
    assert 3 == len(stored(ledger, withdrawn=True))


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_a_fold_comes_back_whole(ledger, warm):
    """Its uid names its first message alone; another agent had shown the beginning of the list."""
    first, second = user("the first question"), user("the second, in words of its own")
    rows = [user("hello there"), said("an answer"), first, second, said("to both")]
    ledger.ingest(rows)
    names = [{"message_uid": letter * 32} for letter in "abcd"]
    fold = user(f"{first['content']}\n\n{second['content']}")
    host = [{**row, **uid} for row, uid in zip([*rows[:2], fold, rows[4]], names, strict=True)]
    ledger.ingest(host)
    assert 4 == again(ledger).ingest(host[:1]).withdrawn
    report = (ledger if warm else again(ledger)).ingest(host)
    assert (0, 0) == (report.new, report.revised)
    assert rows == stored(ledger)


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_another_answer_with_calls_of_the_same_ids_is_new(ledger, warm):
    """A turn is tried again, and its server numbers the calls of each answer from nought: it is no edit."""

    def tried(words, output):
        function = {"name": "read_file", "arguments": '{"path": "a.txt"}'}
        call = {"id": "call_0", "type": "function", "function": function}
        result = {"role": "tool", "tool_call_id": "call_0", "content": output}
        return [{**said(words), "tool_calls": [call]}, result]

    first = tried("Let me look at that page for you.", "the tide is low")
    second = tried("I shall open it once more now.", "unchanged since")
    ledger.ingest([user("what is in it?"), *first, said("The tide is low.")])
    rows = [user("what is in it?"), *second, said("As before, I should say.")]
    report = (ledger if warm else again(ledger)).ingest(rows)
    assert (3, 0, 3) == (report.new, report.revised, report.withdrawn)
    both = [user("what is in it?"), *first, said("The tide is low."), *rows]
    again(ledger).ingest(
        both
    )  # a host that keeps what was tried first shows it again at its next start
    assert both == stored(ledger)
    assert len(both) == len(stored(ledger, withdrawn=True))


@pytest.mark.parametrize(
    "cut", [lambda said: said[: len(said) * 2 // 3], lambda said: f"{said} too"]
)
def test_a_turn_whose_words_and_results_a_host_has_changed_is_the_same(ledger, cut):
    """Results are cleared and answers cut or reworded, as a cleaning host does it: no call is another one for that."""
    rows = [user("look through all of it")]
    for n in range(6):
        function = {"name": "read_file", "arguments": f'{{"path": "f{n}.txt"}}'}
        calls = [{"id": f"call_{n}", "type": "function", "function": function}]
        words = (
            f"Now I read file number {n}, because the one before it did not say what we look for"
        )
        rows += [
            {**said(words), "tool_calls": calls},
            result(f"call_{n}", f"what stands in {n} " * 9),
        ]
    ledger.ingest(rows)
    changed = [
        {**row, "content": "[cleared]" if row["role"] == "tool" else cut(row["content"])}
        if row["role"] != "user"
        else row
        for row in rows
    ]
    report = again(ledger).ingest(changed)
    assert (0, 12, 0) == (report.new, report.revised, report.withdrawn)


def test_an_answer_with_calls_that_a_host_strips_is_the_same(ledger):
    """A part of its words, none of them, or a note behind them: the calls say that it is that message."""
    function = {"name": "read_file", "arguments": "{}"}
    call = {"id": "call_0", "type": "function", "function": function}
    rows = [user("look"), {**said("<think>hm</think>\nLet me look."), "tool_calls": [call]}]
    ledger.ingest(rows)
    for words in ("Let me look.", "", "<think>hm</think>\nLet me look.\n\n[note: late]"):
        report = again(ledger).ingest([rows[0], {**rows[1], "content": words}])
        assert (0, 0) == (report.new, report.withdrawn)
    assert 2 == len(stored(ledger, withdrawn=True))


def test_an_answer_that_comes_back_with_its_question_is_the_same(ledger):
    """The undo is undone, in a list that leaves out the calls of the turn before."""
    rows = [*long_turn(2), said("an answer"), user("another question"), said("Done.")]
    ledger.ingest(rows)
    assert 2 == again(ledger).ingest(rows[:-2]).withdrawn
    assert (0, 0) == ((report := again(ledger).ingest([rows[0], *rows[5:]])).new, report.withdrawn)
    assert rows == stored(ledger)


def test_what_stands_in_the_conversation_goes_before_what_was_taken_back_and_says_the_same(ledger):
    """A retry and its answer were taken back; the host changes a row in front of the same answer, which stays."""
    rows = [user("one"), said("an answer"), user("two"), said("ok")]
    ledger.ingest([*rows, user("three"), said("another answer")])
    ledger.ingest([*rows, user("three"), said("ok")])
    assert 2 == ledger.ingest(rows).withdrawn
    decorated = [rows[0], said("[note]\n\nan answer"), *rows[2:]]
    for each in (ledger, again(ledger)):
        report = each.ingest(decorated)
        assert (0, 0) == (report.new, report.withdrawn)
    assert decorated == stored(ledger)


def test_so_it_does_behind_a_turn_that_was_tried_again(ledger):
    """The same in another process, where what was taken back stands further in front too."""
    first = [user("one"), said("a step"), said("an answer")]
    ledger.ingest(first)
    rows = [first[0], said("a better answer"), user("two"), said("ok")]
    for end in ([user("three"), said("another answer")], [user("three"), said("ok")], []):
        ledger.ingest([*rows, *end])
    assert IngestReport(known=4) == again(ledger).ingest(rows)
    assert rows == stored(ledger)


@pytest.mark.parametrize("more", [[], [user("three"), said("fine")]], ids=["at the end", "undone"])
def test_one_row_that_was_said_more_than_once_is_the_last_of_them(ledger, more):
    """A throw-away agent gets the newest row alone: what stands in front of it is still there."""
    rows = [user("one"), said("ok"), user("two"), said("ok")]
    ledger.ingest([*rows, *more])
    ledger.ingest(rows)
    assert IngestReport(known=1) == again(ledger).ingest(rows[-1:])
    assert rows == stored(ledger)


def test_a_row_stands_behind_what_stands_in_front_of_it(ledger):
    """The host folded two rows, and the turn behind them was taken back unseen: it had the same answer."""
    rows = [user("one"), user("two"), said("ok"), user("three"), said("ok")]
    ledger.ingest(rows)
    report = again(ledger).ingest([user("one\n\ntwo"), said("ok")])
    assert IngestReport(known=2, withdrawn=2) == report
    assert rows[:3] == stored(ledger)


@pytest.mark.parametrize("between", [0, 1, 2])
@pytest.mark.parametrize("called", [True, False], ids=["called", "answered"])
def test_words_that_are_said_again_behind_a_fold_of_them_are_new(ledger, between, called):
    """No door saw the fold, nor what was said behind it: the fold is both messages, and none is withdrawn."""
    rows = [user("one"), said("an answer"), user("yes"), user("a note of the host's")]
    notes = [user(f"note {n} of the host's") for n in range(2 * between)]
    ledger.ingest([*rows, *notes])
    folds = [user(f"{a['content']}\n\n{b['content']}") for a, b in batched(notes)]
    more = [user("yes"), *(long_turn(1)[1:] if called else [said("fine then")])]
    shown = [*rows[:2], user("yes\n\na note of the host's"), *folds, *more]
    report = IngestReport(new=len(more), known=3 + between)
    assert report == again(ledger).ingest(shown)
    assert [*rows, *notes, *more] == stored(ledger)
    assert IngestReport(known=len(shown)) == again(ledger).ingest(shown)


def batched(rows):
    """Neighbours, two by two."""
    return zip(rows[::2], rows[1::2], strict=True)


def test_words_in_front_of_a_fold_that_ends_with_them_are_the_first_of_both(ledger):
    """The row in front of the fold stands where it stood, and the fold is all that stood behind it."""
    rows = [user("one"), user("two"), user("yes"), user("a note"), user("yes"), *long_turn(1)[1:]]
    ledger.ingest(rows)
    shown = [user("one\n\ntwo"), rows[2], user("a note\n\nyes"), *rows[5:]]
    assert IngestReport(known=5) == again(ledger).ingest(shown)
    assert rows == stored(ledger)


# a stub of ours that the host has changed


LONG = user(" ".join(f"word{n}" for n in range(600)))


def cut(ledger, row):
    """The stub of a stored row."""
    (entry,) = ledger.store.entries(ledger.session.line)[:1]
    return stub(row, entry.uid, 100)


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("shape", ["[note]\n\n{}", "{}\n\n[note]", "[a]\n{}\n[b]\n[c]"])
def test_notes_around_a_stub_are_notes_around_what_it_stands_for(ledger, warm, shape):
    """Also in front of a short answer; and the version that is kept has what the stub left out."""
    rows = [LONG, said("ok")]
    ledger.ingest(rows)
    shown = [user(shape.format(cut(ledger, LONG)["content"])), rows[1]]
    assert IngestReport(known=1, revised=1) == (ledger if warm else again(ledger)).ingest(shown)
    assert [user(shape.format(LONG["content"])), rows[1]] == stored(ledger)
    assert IngestReport(known=2) == again(ledger).ingest(shown)


def test_a_stub_that_a_host_folded_with_the_next_row_is_both(ledger):
    """Nothing of either is a note, and neither is withdrawn."""
    rows = [LONG, user("and this"), said("ok")]
    ledger.ingest(rows)
    folded = user(f"{cut(ledger, LONG)['content']}\n\nand this")
    assert IngestReport(known=2) == again(ledger).ingest([folded, rows[2]])
    assert rows == stored(ledger)


def test_a_stub_with_other_words_before_or_behind_it_is_another_message(ledger):
    """Somebody wrote our sentence into words of their own."""
    ledger.ingest([LONG, said("ok")])
    middle = cut(ledger, LONG)["content"].split("\n")[1]
    row = user(f"see here:\n{middle}\nas I said")
    assert (1, 0) == ((report := again(ledger).ingest([LONG, said("ok"), row])).new, report.revised)
    assert row == stored(ledger)[-1]


# behind a long gap of a filtered list


def long_turn(steps):
    """A question, calls and results."""
    rows = [user("a question that takes many steps")]
    for n in range(steps):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        rows.append(said("", tool_calls=[call]))
        rows.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"result {n} " * 9})
    return rows


ANSWER = "an answer that is long enough to be known by its words"
KEY = "the key is {} and it opens the harbour gate"


@pytest.mark.parametrize("steps", [4, 40, 120])
@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        (["one answer", "and another"], "one answer\nand another"),
        ([KEY.format("sk-ABCDEF0123456789")], KEY.format("***")),
        ([ANSWER], f"[note]\n\n{ANSWER}"),
    ],
    ids=["folded", "masked", "decorated"],
)
def test_a_changed_row_is_known_behind_a_turn_that_a_list_leaves_out(ledger, steps, answers, shown):
    """A throw-away agent gets the list without calls and results: however many, what stands behind them is known."""
    rows = [*long_turn(steps), *map(said, answers)]
    ledger.ingest(rows)
    ledger.ingest([*rows[: -len(answers)], said(shown)])
    whole = stored(ledger)
    report = again(ledger).ingest([rows[0], said(shown)])
    assert (0, 0) == (report.new, report.withdrawn)
    assert whole == stored(ledger)


def test_another_answer_behind_such_a_turn_is_new(ledger):
    """That begins with the words of a call's row, and one that has a word of them: no version of either."""
    rows = [*long_turn(40), said("Done."), said("an answer")]
    rows[61] = {**rows[61], "content": "Done."}
    ledger.ingest(rows)
    report = again(ledger).ingest([rows[0], said("Done. And more of it, in words of its own.")])
    assert (1, 82) == (report.new, report.withdrawn)


def test_results_of_another_turn_under_the_same_ids_are_new(ledger):
    """The turn before was taken back unseen, and hosts count their calls anew: nothing of it is shown."""
    ledger.ingest(long_turn(20))
    rows = [user("another question, asked in its place"), *long_turn(12)[1:]]
    rows = [*rows[:1], *({**row, "content": f"other {n} " * 9} for n, row in enumerate(rows[1:]))]
    assert (25, 41) == ((report := again(ledger).ingest(rows)).new, report.withdrawn)
    assert rows == stored(ledger)


def test_a_list_that_repeats_itself_is_known(ledger):
    """Nothing in it is tried so often that it would take long."""
    rows = [*long_turn(300), said("an answer, in words enough to be known by")]
    ledger.ingest(rows)
    assert IngestReport(known=602) == again(ledger).ingest([dict(row) for row in rows])
