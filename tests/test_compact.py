"""A pass: smaller or the same, within budget, valid, and nothing lost."""

from __future__ import annotations

import json
import random

import pytest
from asking import route
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lcm.dag.compact import PassRequest, compact
from lcm.dag.graph import cycle, outline
from lcm.dag.identity import MARK
from lcm.dag.ingest import Ledger
from lcm.dag.nodes import Item, node_of, source_key, wanted
from lcm.dag.renderer import FILLER, HEAD
from lcm.dag.settings import Settings, load_settings
from lcm.dag.summarizer import Summary
from lcm.dag.tokens import count_message, count_messages
from lcm.dag.validity import crossed, faults, new_faults, partners
from lcm.storage import open_store
from lcm.storage.canon import decode

WINDOW = 4000
THRESHOLD = 3000


def user(text, **kw):
    return {"role": "user", "content": text, **kw}


def said(text, **kw):
    return {"role": "assistant", "content": text, **kw}


def called(*ids, size=20):
    calls = [
        {
            "id": each,
            "type": "function",
            "function": {"name": "run", "arguments": json.dumps({"command": "x" * size})},
        }
        for each in ids
    ]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(name, size=200):
    return {"role": "tool", "tool_call_id": name, "content": "line of output\n" * (size // 4)}


def talk(turns, first=1, words=60):
    return [
        row
        for n in range(first, first + turns)
        for row in (
            user(f"question {n} " + "why " * words),
            said(f"answer {n} " + "because " * words),
        )
    ]


class Conversation:
    """A host's live list, and the store behind it."""

    def __init__(self, window=WINDOW, **options):
        self.store = open_store("memory:")
        self.ledger = Ledger(self.store, self.store.open_session("s"))
        self.window, self.threshold = window, int(window * 0.75)
        self.options = {
            "settings": Settings(),
            "current": None,
            "force": False,
            "stamp": False,
        } | options
        self.live: list = []
        self.sent: list = []
        self.passes = 0

    def say(self, *rows):
        self.live += rows
        self.sent += rows

    def compact(self, **changes):
        options = self.options | changes
        _, binding = self.ledger.bind(self.live)
        if summarizer := options.pop("summarizer", None):
            options["routes"] = [route(summarizer, trusted=options.pop("trusted", False))]
        request = PassRequest(
            options.pop("settings"), self.window, self.threshold, options.pop("current"), options.pop("force"),
            options.pop("stamp"), **options,
        )  # fmt: skip
        before = self.live
        outcome = compact(self.store, self.ledger.session.line, binding, request)
        if outcome.changed:
            self.passes += 1
            assert outcome.after == count_messages(outcome.rows) < count_messages(before)
            assert [] == new_faults(before, outcome.rows)
        else:
            assert outcome.rows is before
        self.live = list(outcome.rows)
        return outcome

    def run(self, rows):
        """Play *rows*; compact whenever the list is over the threshold and no call is open."""
        for place, row in enumerate(rows):
            self.say(row)
            after = rows[place + 1] if place + 1 < len(rows) else {}
            if after.get("role") != "tool" and count_messages(self.live) >= self.threshold:
                self.compact()

    @property
    def frame(self):
        _, binding = self.ledger.bind(self.live)
        return next((b.frame for b in reversed(binding.bound) if b.frame), "")

    def check(self):
        """Every message is stored once, whole and in order, and under a node or in the list."""
        _, binding = self.ledger.bind(self.live)
        entries = self.store.entries(self.ledger.session.line)
        bodies = self.store.read([(e.id, 1) for e in entries])
        assert [decode(m.body) for m in bodies] == [
            r for r in self.sent if r.get("role") != "system"
        ]
        assert not any(e.withdrawn for e in entries)
        assert 0 == self.store.totals().versions
        shown = [m for b in binding.bound for m in b.messages]
        under = [m for m, _ in self.store.stands_for(self.frame)] if self.frame else []
        assert under == sorted(under)
        assert sorted(under + shown) == [e.id for e in entries]


# what a pass does


def test_below_the_threshold_nothing_happens():
    """The very list comes back."""
    talked = Conversation()
    talked.say(*talk(2))
    assert "the list is below the threshold" == talked.compact().reason


def test_a_pass_keeps_the_newest_turns_and_covers_the_rest():
    """Summary row, filler, tail from a user's message on; everything accounted for."""
    talked = Conversation()
    talked.say(*talk(30))
    outcome = talked.compact()
    rows = outcome.rows
    assert rows[0]["content"].startswith(HEAD)
    assert FILLER == rows[1]["content"]
    assert all(row["_compressed_summary"] for row in rows[:2])
    assert "user" == rows[2]["role"]
    assert sum(row["role"] == "user" for row in rows[2:]) >= 3
    assert rows[2:] == talked.sent[-len(rows) + 2 :]
    assert outcome.after <= THRESHOLD
    talked.check()


def test_the_names_in_a_summary_row_are_its_nodes_and_its_own():
    """Each block begins with the name of its node, the row's own comes last."""
    talked = Conversation()
    talked.say(*talk(30))
    outcome = talked.compact()
    names = MARK.findall(outcome.rows[0]["content"])
    shown = [source.node[:8] for source in outcome.frame.sources]
    assert [*shown, outcome.frame.uid[:8]] == names
    assert len(names) == len(set(names))


def test_a_name_in_a_conversation_is_escaped():
    """SUM-08: what a summary quotes cannot pass for a name of ours."""
    talked = Conversation(
        summarizer=lambda r: "see [lcm 12345678] and [lcm abcdefab]", trusted=True
    )
    talked.say(*talk(30))
    names = MARK.findall(talked.compact().rows[0]["content"])
    assert not {"12345678", "abcdefab"} & set(names)


def test_no_message_uid_leaves_a_host_that_would_send_it():
    """Our rows carry a uid only where the host keeps it off the wire."""
    for stamp in (False, True):
        talked = Conversation(stamp=stamp)
        talked.say(*talk(30))
        outcome = talked.compact()
        assert stamp == ("message_uid" in outcome.rows[0])
        if stamp:
            assert outcome.frame.uid == outcome.rows[0]["message_uid"]
        assert {"role", "content"} == {
            k for row in outcome.rows for k in row if not k.startswith("_")
        } - {"message_uid"}


def test_kept_rows_lose_only_the_hosts_notes():
    """ING-11: reasoning and unknown keys stay; the note that a row is in the database goes."""
    talked = Conversation()
    talked.say(*talk(30))
    talked.live[-1] |= {"reasoning_content": "deep", "extra": {"sig": "x"}, "_db_persisted": True}
    last = talked.compact().rows[-1]
    assert ("deep", {"sig": "x"}) == (last["reasoning_content"], last["extra"])
    assert "_db_persisted" not in last


def test_many_passes_condense_and_lose_nothing():
    """CMP-09, CMP-15, DED-12: 400 turns; the graph grows in depth, the list does not grow."""
    talked = Conversation()
    talked.run(talk(400))
    assert talked.passes > 10
    totals = talked.store.totals()
    assert max(totals.nodes) >= 2
    assert len(talked.store.nodes([talked.frame])[0].sources) <= 17
    talked.check()
    nodes = talked.store.nodes_on([1])
    assert [] == cycle(nodes)
    assert {source.node for source in talked.store.nodes([talked.frame])[0].sources} <= {
        b.node.uid for b in outline(nodes)
    }


def test_a_pass_keeps_what_stood_in_front():
    """CMP-24: between passes the list only grows; at a pass the head of the summary stands."""
    talked = Conversation()
    talked.run(talk(60))
    first = talked.live[0]["content"]
    talked.run(talk(1, first=900, words=10))
    assert first == talked.live[0]["content"]


def test_overhead_is_taken_off_the_budget():
    """TOK-02: what the host measured beyond the list is counted; a quarter of the threshold is left at least."""
    talked = Conversation()
    talked.say(*talk(12))
    own = count_messages(talked.live)
    assert own < THRESHOLD
    outcome = talked.compact(current=own + 1500)
    assert outcome.changed
    assert outcome.after + 1500 <= THRESHOLD
    talked.check()


def test_force_compacts_below_the_threshold():
    """A manual /compress of a list that fits."""
    talked = Conversation(window=100_000)
    talked.say(*talk(30))
    assert not talked.compact().changed
    assert talked.compact(force=True).changed
    talked.check()


def test_force_on_a_short_list_says_why_nothing_happens():
    """CMP-22: three rows, nothing to gain."""
    talked = Conversation(window=100_000)
    talked.say(user("a"), said("b"), user("c"))
    outcome = talked.compact(force=True)
    assert not outcome.changed
    assert outcome.reason


def test_one_huge_result_fits_as_a_stub():
    """Four messages with one 1.2 MB tool result: where peers give the list back unchanged."""
    talked = Conversation(window=32_000)
    talked.say(user("read it"), called("c"), result("c", 1_200_000), user("and?"))
    outcome = talked.compact()
    assert outcome.changed
    assert outcome.after <= talked.threshold
    assert user("and?") == outcome.rows[-1]
    talked.check()


def test_a_large_newest_result_is_shown_in_part_and_named():
    """The stub holds head and tail verbatim, and the name of the whole; coming back it is known."""
    talked = Conversation()
    talked.say(*talk(6), user("read it"), called("c"), result("c", 40_000))
    whole = talked.sent[-1]["content"]
    outcome = talked.compact()
    shown = outcome.rows[-1]["content"]
    (name,) = MARK.findall(shown)
    entry = talked.store.entries(talked.ledger.session.line)[-1]
    assert name == entry.uid[:8]
    first, _, last = shown.partition(f"[lcm {name}]")
    assert whole.startswith(first.rstrip("\n"))
    assert whole.endswith(last.partition("back.\n")[2])
    talked.check()


def test_a_newest_user_message_over_half_the_budget_is_shown_in_part():
    """Head and tail with its name; the last row is still the user's."""
    talked = Conversation()
    talked.say(*talk(5), user("start " + "very long wish " * 3000 + " end"))
    outcome = talked.compact()
    last = outcome.rows[-1]
    assert "user" == last["role"]
    assert last["content"].startswith("start ")
    assert last["content"].endswith(" end")
    assert outcome.after <= THRESHOLD
    talked.check()


def test_the_newest_turn_is_cut_at_its_steps():
    """An agent's turn of 300 rows: the user's message is lifted in front of the steps that stay."""
    talked = Conversation()
    rows = [user("do it all")]
    for n in range(150):
        rows += [called(f"c{n}"), result(f"c{n}", 100)]
    talked.run(rows)
    assert talked.passes > 3
    assert user("do it all") == talked.live[2]
    assert "assistant" == talked.live[3]["role"]
    talked.check()
    talked.run([said("all done"), *talk(40)])
    talked.check()
    under = [m for m, _ in talked.store.stands_for(talked.frame)]
    assert 1 == under[0]  # the user's message stands in front of its steps


def test_parallel_calls_stay_with_their_results():
    """PAIR-01, PAIR-02: a cut never parts them."""
    talked = Conversation()
    rows = []
    for n in range(40):
        ids = [f"c{n}_{k}" for k in range(4)]
        rows += [user(f"go {n}"), called(*ids), *(result(i, 40) for i in ids), said("ok " * 20)]
    talked.run(rows)
    assert talked.passes > 1
    assert 0 == faults(talked.live)["result without its call"]
    talked.check()


def test_a_pending_call_stays_at_the_end():
    """PAIR-04: what is being carried out is not summarised away."""
    talked = Conversation()
    talked.say(*talk(30), user("now this"), called("p"))
    assert called("p") == talked.compact().rows[-1]


def test_only_tool_rows_and_a_head_that_is_a_tool_row():
    """Lists that no host should send come back valid, or as they are."""
    for rows in (
        [result(f"c{n}") for n in range(60)],
        [result("c0"), *talk(30)],
        [said("x " * 300) for _ in range(30)],
    ):
        talked = Conversation()
        talked.say(*rows)
        talked.compact()
        talked.check()


def test_system_rows_stay_where_they_are():
    """A leading one first; they are never stored."""
    talked = Conversation()
    talked.say({"role": "system", "content": "rules"}, *talk(30))
    outcome = talked.compact()
    assert {"role": "system", "content": "rules"} == outcome.rows[0]
    assert outcome.rows[1]["content"].startswith(HEAD)
    talked.check()


def test_condense_never_reaches_over_a_lifted_message():
    """Steps of the open turn condense among themselves."""
    talked = Conversation(settings=Settings(condense_fanin=2))
    talked.run(talk(20))
    rows = [user("the long one")]
    for n in range(100):
        rows += [called(f"c{n}"), result(f"c{n}", 100)]
    talked.run(rows)
    talked.check()


def test_a_small_window_after_a_large_one():
    """update_model to a smaller window in mid-session."""
    talked = Conversation(window=32_000)
    talked.run(talk(120))
    talked.window, talked.threshold = 8000, 6000
    assert talked.compact().after <= 6000
    talked.check()


def test_a_failing_summariser_still_makes_it_fit():
    """SUM-01: extraction, marked as such."""

    def summarizer(request):
        raise ConnectionError("no route")

    talked = Conversation(summarizer=summarizer)
    talked.say(*talk(30))
    outcome = talked.compact()
    assert outcome.changed
    assert all("ConnectionError" in node.degraded for node in outcome.made)
    talked.check()


def test_a_cancelled_summariser_is_not_swallowed():
    """The host's cancellation is a BaseException and goes through; nothing is lost by it."""

    class CancelledByHost(BaseException):
        pass

    def summarizer(request):
        raise CancelledByHost

    talked = Conversation()
    talked.say(*talk(30))
    with pytest.raises(CancelledByHost):
        talked.compact(summarizer=summarizer)
    talked.compact()
    talked.check()


def test_a_filtered_list_does_not_lose_what_it_leaves_out():
    """A hole stays active, and goes into the span around it."""
    talked = Conversation()
    talked.say(*talk(30))
    talked.ledger.ingest(talked.live)
    talked.live = [row for n, row in enumerate(talked.live) if n not in (10, 11, 20)]
    talked.compact()
    talked.check()


def test_leaves_go_over_whole_turns():
    """Only a turn that is far too large for one leaf is cut, at its steps, and begins a leaf of its own."""
    talked = Conversation(window=32_000, settings=Settings(leaf_tokens=500, fresh_tail_tokens=0))
    rows = []
    for n in range(20):
        rows += [
            user(f"look at file {n}"),
            called(f"c{n}"),
            result(f"c{n}", 8000 if n % 5 else 2000),
            said("seen"),
        ]
    talked.run(rows)
    assert talked.passes
    turns = {entry.id: entry.turn for entry in talked.store.entries(1)}
    for node in talked.store.nodes_on([1]):
        ids = [source.message for source in node.sources if source.message]
        inside = {turns[each] for each in ids}
        whole = sum(turn in inside for turn in turns.values()) == len(ids)
        assert not ids or whole or len(inside) == 1


def test_a_summary_row_that_stands_again_stops_nothing():
    """A person sends its text again, or a host resends it: what lies between is compacted as well."""
    talked = Conversation()
    talked.run(talk(30))
    row = talked.live[0]
    talked.say(*talk(20, first=100))
    talked.sent += [said("hm")]
    talked.live += [user(row["content"]), said("hm")]
    assert talked.compact().after <= THRESHOLD
    talked.check()


# the parts


def test_a_summary_that_a_person_quotes_is_a_message_of_his():
    """He pastes the row and asks about it: it is kept word for word, also after more passes, and in another process."""
    talked = Conversation()
    talked.run(talk(30))
    quoted = user(talked.live[0]["content"] + "\n\nwhy do you see this zebra?")
    talked.say(quoted, said("because"))
    talked.compact(force=True)
    assert quoted in talked.live
    for first in (100, 200):
        talked.ledger = Ledger(talked.store, talked.ledger.session)
        talked.check()
        talked.run(talk(20, first=first))
    assert talked.passes > 3
    talked.check()


def test_a_node_is_its_content():
    """Same sources and texts, same uid; the source key knows no text."""
    talked = Conversation()
    talked.say(*talk(2))
    talked.ledger.ingest(talked.live)
    items = [Item(entry=entry) for entry in talked.store.entries(1)]
    summary = Summary(((50, "one"),), "topic", ("hint",), 50)
    other = Summary(((50, "two"),), "topic", ("hint",), 50)
    a, b, c = (node_of(1, wanted(items, (50,)), each) for each in (summary, summary, other))
    assert a.uid == b.uid != c.uid
    assert a.source_key == c.source_key == source_key(items, (50,))
    assert a.uid != node_of(1, wanted(items[:-1], (50,)), summary).uid
    assert source_key(items, (50,)) != source_key(items, (50, 250))


def test_partners_and_cuts():
    """Results belong to the nearest open call of that id."""
    rows = [
        called("a"),
        result("a"),
        called("a"),
        result("a"),
        user("x"),
        called("b"),
        user("y"),
        result("b"),
    ]
    assert {1: 0, 3: 2, 7: 5} == partners(rows)
    assert [False, True, False, True, False, False, True, True] == crossed(
        partners(rows), len(rows)
    )


def conversation(rnd):
    """Turns, steps and oddities: empty answers, reused ids, results that never come, large rows."""
    rows = []
    for n in range(rnd.randrange(5, 40)):
        if rnd.random() < 0.9:
            rows.append(user(f"u{n} " + "w " * rnd.choice([1, 20, 200, 2000])))
        for _ in range(rnd.choice([0, 1, 1, 3, 12])):
            ids = dict.fromkeys(f"c{rnd.randrange(5)}" for _ in range(rnd.choice([1, 1, 2, 5])))
            rows.append(called(*ids, size=rnd.choice([5, 5, 500])))
            rows += [result(i, rnd.choice([0, 40, 400, 9000])) for i in ids if rnd.random() < 0.95]
        if rnd.random() < 0.9:
            rows.append(said(f"a{n} " + "v " * rnd.choice([0, 20, 400, 3000])))
    return rows


@pytest.mark.slow
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a seed does not shrink
)
@given(st.integers(0, 2**32), st.sampled_from([1500, 4000, 9000]))
def test_any_conversation_fits_and_nothing_is_lost(seed, window):
    """Random turns, steps, sizes and oddities: after every pass valid, within budget where it can be, complete."""
    rnd = random.Random(seed)
    options = load_settings(
        {
            "fresh_tail_tokens": rnd.choice([0, 200, 1000, 5000]),
            "condense_fanin": rnd.choice([2, 4]),
        }
    )
    answer = json.dumps(
        {
            "topic": "t",
            "hints": ["h"],
            "levels": {"15": "a", "50": "a b", "250": "a b c", "1000": "a b c d"},
        }
    )
    talked = Conversation(
        window=window, settings=options.settings, summarizer=lambda _: answer, trusted=True
    )
    talked.run(conversation(rnd))
    talked.check()
    if talked.passes and max(map(count_message, talked.sent)) < talked.threshold // 8:
        assert count_messages(talked.live) < talked.threshold + talked.threshold // 4
