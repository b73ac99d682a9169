"""Lists that come by several doors, out of order, or changed in what compares as equal; see test_identity.py."""

from __future__ import annotations

from itertools import permutations

import pytest
from lcm.dag.ingest import IngestReport
from lcm.storage.canon import encode
from ledgers import again, result, said, stored, user


def named(row, number, *absorbed):
    """With a uid, and those of the messages that the host folded into it."""
    uids = {"_absorbed_message_uids": [f"{n:032x}" for n in absorbed]} if absorbed else {}
    return {**row, "message_uid": f"{number:032x}", **uids}


# two agents on one session


def steps(count, asked):
    """*count* turns; what is asked in each says *asked*."""
    answers = (
        f"Step {n} is finished, went on to the next file number {n * 7}." for n in range(count)
    )
    return [row for n, text in enumerate(answers) for row in (user(asked(n)), said(text))]


@pytest.mark.parametrize(
    "asked",
    [
        lambda n: "continue",
        lambda n: "hi" if n in (0, 39, 79, 119) else f"Please look at file {n}.txt now",
    ],
    ids=["the same each time", "the first again near the end"],
)
def test_the_beginning_of_a_long_line_is_found_where_its_first_words_come_again(ledger, asked):
    """Another agent still has the first twenty rows, and then goes on from there."""
    rows = steps(150, asked)
    ledger.ingest(rows)
    assert IngestReport(known=20, withdrawn=280) == again(ledger).ingest(rows[:20])
    more = [user("something new"), said("and an answer to it")]
    assert IngestReport(new=2, known=20) == again(ledger).ingest([*rows[:20], *more])
    assert [*rows[:20], *more] == stored(ledger)


def test_words_that_explain_no_more_further_back_are_those_near_the_end(ledger):
    """Nothing tells which of two equal messages it is: the nearer one, and the new row is new."""
    rows = steps(150, lambda n: "hi" if n in (0, 148) else f"Please look at file {n}.txt now")
    ledger.ingest(rows)
    report = again(ledger).ingest([user("hi"), said("something new")])
    assert IngestReport(new=1, known=1, withdrawn=3) == report


@pytest.mark.parametrize("last", [user("something new"), named(user("something new"), 1)])
def test_a_list_without_a_row_of_a_long_line_takes_all_of_it_back(ledger, last):
    """A host was cut down to nothing, and begins anew."""
    rows = steps(150, lambda n: f"Please look at file {n}.txt now")
    ledger.ingest(rows)
    assert IngestReport(new=1, withdrawn=300) == again(ledger).ingest([last])
    assert [user("something new")] == stored(ledger)


# results in another order


def called(*ids):
    calls = [
        {"id": i, "type": "function", "function": {"name": "t", "arguments": "{}"}} for i in ids
    ]
    return said("", tool_calls=calls)


@pytest.mark.parametrize("order", ["ba", "bacd", "badc", "dcba", "cdab", "bcda"])
def test_results_of_one_rows_calls_are_known_in_any_order(ledger, order):
    """Parallel calls end as they like, and a host may write their results as they end, or as they were called."""
    ids = sorted(order)
    head, end = [user("go"), called(*ids)], [said("ok")]
    rows = [*head, *(result(i, f"result {i}") for i in ids), *end]
    ledger.ingest(rows)
    other = [*head, *(result(i, f"result {i}") for i in order), *end]
    for each in (ledger, again(ledger)):
        assert IngestReport(known=len(rows)) == each.ingest(other)
        assert IngestReport(known=len(rows)) == each.ingest(rows)
    assert rows == stored(ledger)


def test_results_that_change_places_again_and_again_are_known(ledger):
    """By one door, which looks from the first row on that changed."""
    answers = [result(i, f"result {i}") for i in "abc"]
    rows = [user("go"), called(*"abc"), *answers, said("ok")]
    ledger.ingest(rows)
    for order in permutations(answers):
        assert IngestReport(known=6) == ledger.ingest([*rows[:2], *order, rows[-1]])


def test_a_result_in_another_order_that_was_cut_is_a_version_of_its_own(ledger):
    """Not of the result whose place it has."""
    rows = [
        user("go"),
        called("a", "b"),
        result("a", "long " * 99),
        result("b", "wide " * 99),
        said("ok"),
    ]
    ledger.ingest(rows)
    cut = [*rows[:2], result("b", "wide [cut]"), rows[2], rows[4]]
    assert IngestReport(known=4, revised=1) == again(ledger).ingest(cut)
    assert [*rows[:3], cut[2], rows[4]] == stored(ledger)


def test_results_of_two_rows_of_calls_under_the_same_ids_are_kept_apart(ledger):
    """Hosts count their calls anew: the order of one row's results says nothing of another's."""
    rows = [user("go")]
    for n in range(3):
        rows += [called("a", "b"), result("a", f"first of {n}"), result("b", f"second of {n}")]
    ledger.ingest(rows)
    other = [rows[0]]
    for n in (1, 4, 7):
        other += [rows[n], rows[n + 2], rows[n + 1]]
    assert IngestReport(known=10) == again(ledger).ingest(other)
    assert rows == stored(ledger)


# a fold, and what was folded


FOLD = [named(user("one\n\ntwo"), 1, 2), named(said("fine"), 5)]
APART = [named(user("one"), 1), named(user("two"), 2), FOLD[1]]


def texts(ledger):
    return [row["content"] for row in stored(ledger)]


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize(
    "first", [FOLD, [named(user("two"), 2), FOLD[1]]], ids=["fold", "its part"]
)
def test_what_was_folded_unseen_and_stands_apart_later_is_a_message_of_its_own(ledger, warm, first):
    """No version of what it was folded into; and the fold, when it is back, is both."""
    other = ledger if warm else again(ledger)
    ledger.ingest(FOLD)
    ledger.ingest(first)
    assert 1 == other.ingest(APART).new
    assert ["one", "two", "fine"] == texts(ledger)
    assert [1, 2, 2] == [entry.turn for entry in ledger.store.entries(ledger.session.line)]
    for rows in (FOLD, APART):
        report = other.ingest(rows)
        assert (0, 0, 0) == (report.new, report.revised, report.withdrawn)
    assert 2 == len(
        {*ledger.store.known([APART[0]["message_uid"], APART[1]["message_uid"]]).values()}
    )


@pytest.mark.parametrize("turned", [False, True])
def test_a_uid_leads_to_its_own_message_although_a_fold_names_it(ledger, turned):
    """In one list, before the row that has it or behind."""
    rows = [named(user("one"), 1, 1, 2), named(said("two"), 2)]
    rows = rows[::-1] if turned else rows
    assert 2 == ledger.ingest(rows).new
    assert 0 == again(ledger).ingest(rows).new
    numbers = {entry.uid: entry.id for entry in ledger.store.entries(ledger.session.line)}
    assert numbers == ledger.store.known(numbers)
    assert not any(ledger.store.archive().aliases().values())


def test_a_uid_that_a_host_gives_twice_stops_no_list(ledger):
    """To messages that were stored without one."""
    rows = [user("the first words"), said("the second words")]
    ledger.ingest(rows)
    assert IngestReport(known=2) == again(ledger).ingest([named(row, 1) for row in rows])
    assert rows == stored(ledger)


# what compares as equal


def switched(value):
    """A call whose arguments are no text, and a message of parts."""
    return [
        user("switch it"),
        said("", tool_calls=[{"id": "c", "function": {"name": "t", "arguments": {"on": value}}}]),
        result("c", "fine"),
        user([{"type": "switch", "to": [value]}]),
        said("It is switched, as you can see for yourself in the list above."),
    ]


@pytest.mark.parametrize("pair", [(1, True), (False, 0), (1, 1.0)], ids=str)
def test_a_value_that_only_compares_as_equal_is_another(ledger, pair):
    """Near the end at the next door, and nothing is new for the same list."""
    before, after = map(switched, pair)
    ledger.ingest(before)
    assert IngestReport(known=3, revised=2) == ledger.ingest(after)
    assert list(map(encode, after)) == list(map(encode, stored(ledger)))
    assert IngestReport(known=5) == ledger.ingest(switched(pair[1]))


def test_far_from_the_end_such_a_value_is_seen_at_the_next_start(ledger):
    """Whole lists are compared at every door, and that must cost nothing."""
    more = steps(50, lambda n: f"Please look at file {n}.txt now")
    ledger.ingest([*switched(1), *more])
    changed = [*switched(True), *more]
    assert IngestReport(known=105) == ledger.ingest(changed)
    assert IngestReport(known=103, revised=2) == again(ledger).ingest(changed)
    assert list(map(encode, changed)) == list(map(encode, stored(ledger)))
