"""What the scripted model writes of the demonstration's story: whole, true, and in the sizes that were asked for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest
from lcm.dag.nonsense import fault_of
from lcm.dag.prompts import summary_messages
from lcm.dag.source_text import source_text
from lcm.dag.summarizer import SummaryRequest
from lcm.dag.tokens import count_text
from lcm.demo import story
from lcm.demo.model import Reply, Script, Turn
from lcm.demo.notes import spans, things
from lcm.demo.summaries import answer_summary, summarise, topic_of

SIZES = (15, 50, 250, 1000)
TURNS = story.turns()
NOTED = Script(TURNS).noted
FIGURE = re.compile(r"\d+")


@dataclass(frozen=True)
class Written:
    """A node as the scripted model wrote it, and what it read for it."""

    source: str
    topic: str
    hints: list[str]
    texts: dict[int, str]
    sufficient: int
    limits: dict[int, int]

    @property
    def text(self):
        return self.texts[max(self.texts)]


def rows_of(turn: Turn):
    """A turn's messages; answers of tools are about as long as a summariser reads of them."""
    yield {"role": "user", "content": turn.user}
    for step in turn.steps:
        if not isinstance(step, Reply):
            continue
        calls = [{"function": {"name": c.name, "arguments": c.wire}} for c in step.calls]
        yield {"role": "assistant", "content": step.text, "tool_calls": calls}
        for call in step.calls:
            path = call.wire.split('"')[3:4]
            yield {"role": "tool", "tool_name": call.name, "content": f"{path} " + "12 rpm " * 250}


def written(source, most=None):
    """What the scripted model answers to the plugin's own prompt for *source*."""
    most = most or max(count_text(source) // 3, 15)
    wanted = tuple(size for size in SIZES if size <= most) or SIZES[:1]
    wanted += tuple(size for size in SIZES if size > most)[: wanted[-1] < most]
    messages = summary_messages(SummaryRequest(source, most, wanted))
    answer = json.loads(answer_summary(messages[-1]["content"], NOTED))
    texts = {int(size): text for size, text in answer["levels"].items()}
    limits = {size: min(size, most) for size in wanted}
    said = (answer["topic"], answer["hints"], texts, answer["sufficient_tokens"], limits)
    return Written(source, *said)


def prompt(source):
    """What of a prompt the scripted model looks at."""
    sizes = '- "15": at most 15 tokens\n- "250": at most 250 tokens\n'
    return f"{sizes}= conversation begins\n{source}\n= conversation ends\n"


def leaf(first, last):
    """The summary of turns *first* to *last*."""
    rows = [row for turn in TURNS[first - 1 : last] for row in rows_of(turn)]
    return written(source_text(rows))


def over(*below):
    """The summary of summaries."""
    return written("\n".join(node.text for node in below))


def climb(lengths, fanin):
    """A graph: leaves of so many turns in turn, and all that is over them; pairs of node and nodes below."""
    nodes, first, n = [], 1, 0
    while first <= len(TURNS) - 1:
        last = min(first + lengths[n % len(lengths)] - 1, len(TURNS) - 1)
        nodes.append(leaf(first, last))
        first, n = last + 1, n + 1
    made = [(node, []) for node in nodes]
    while nodes[1:]:
        groups = [nodes[at : at + fanin] for at in range(0, len(nodes), fanin)]
        above = [over(*group) if group[1:] else group[0] for group in groups]
        made += [(a, group) for a, group in zip(above, groups, strict=True) if group[1:]]
        nodes = above
    return made


GRAPHS = [
    climb(lengths, fanin)
    for lengths, fanin in [((7, 3, 1, 4, 3, 2, 3, 13), 2), ((4,), 2), ((6, 5), 3), ((12,), 4)]
]
ALL = [pair for graph in GRAPHS for pair in graph]


def sentences():
    """A pattern for every sentence that the matters of the story have."""
    found = set()
    for each in NOTED:
        matter = each.note.matter
        for words in {*matter.core, *matter.short, matter.full} - {""}:
            pattern = re.escape(words)
            for slot in ("which", "found"):
                pattern = pattern.replace(rf"\{{{slot}\}}", r"[\w, ]+?")
            found.add(pattern)
    return "|".join(sorted(found))


def test_every_turn_but_ok_has_a_note():
    """What the user said in so many words can be told in a summary."""
    assert [turn.user for turn in TURNS if turn.note is None] == ["ok"] * 3


def test_texts_are_whole_sentences_within_their_size():
    """At each size; and the largest is smaller than its source, else the plugin would not take it."""
    whole = re.compile(rf"(?:{sentences()})(?: (?:{sentences()}))*")
    for node, _ in ALL:
        for size, text in node.texts.items():
            assert whole.fullmatch(text), text
            assert count_text(text) <= node.limits[size]
        assert count_text(node.text) < count_text(node.source)


def test_the_larger_size_says_more():
    """From size to size nothing is lost, and of a leaf the largest names every matter in full."""
    for node, below in ALL:
        lengths = [len(node.texts[size]) for size in sorted(node.texts)]
        assert lengths == sorted(lengths)
        assert below or node.sufficient <= 250


def test_names_and_figures_are_those_of_the_source():
    """No figure of a text, a topic or a question but those that its source has, or that lie within its spans."""
    for node, _ in ALL:
        known = set(FIGURE.findall(node.source))
        for first, last in re.findall(r"(\d+) to (\d+)", node.source):
            known |= {str(n) for n in range(int(first), int(last) + 1)}
        for said in (*node.texts.values(), node.topic, *node.hints):
            assert set(FIGURE.findall(said)) <= known, said


def test_a_topic_is_short_and_not_that_of_a_node_below():
    """In a few words, what this node stands for."""
    for node, below in ALL:
        assert 0 < len(node.topic.split()) <= 8
        assert node.topic not in {each.topic for each in below}
    for graph in GRAPHS:
        topics = [node.topic for node, _ in graph]
        assert len(set(topics)) >= len(topics) - 1, topics


def test_hints_are_questions():
    """Two or three, none of them twice."""
    for node, _ in ALL:
        assert 2 <= len(set(node.hints)) == len(node.hints) <= 3
        assert all(hint.endswith("?") for hint in node.hints)


def test_the_plugin_finds_no_fault():
    """What is judged of a real model's texts is judged of these, too."""
    assert [fault_of(text, n.source) for n, _ in ALL for text in n.texts.values()] == [
        "" for n, _ in ALL for _ in n.texts
    ]


def test_the_odd_fact_is_in_no_summary():
    """It has to be searched for: that is what the demonstration shows."""
    for node, _ in ALL:
        assert "QUIET-HERON" not in json.dumps([node.topic, node.hints, node.texts])


def test_only_what_the_source_holds_is_told():
    """A turn that is not there, or whose answer is not, is not told of."""
    asked = TURNS[5].user
    assert "relay" not in json.dumps(leaf(4, 5).texts)
    alone = json.loads(answer_summary(prompt(f"user: {asked}"), NOTED))
    assert "stuck and was freed" not in json.dumps(alone)


@pytest.mark.parametrize(
    ("which", "said"),
    [
        (("3",), "3"),
        (("1", "2"), "1 and 2"),
        (("1", "2", "3", "7"), "1 to 3 and 7"),
        (("lamp", "fog", "tide"), "lamp, fog and tide"),
    ],
)
def test_what_is_listed_can_be_read_back(which, said):
    """A list of things is told in words, and understood again."""
    assert spans(which) == said
    assert things(said) == which


def test_any_other_source_is_summarised_by_its_lines():
    """Shorter than its source and made of its lines; in the sizes that were asked for."""
    text = "\n".join(f"We decided on path/{n:02d} because of {n * 31}." for n in range(100))
    summary = summarise(text)
    assert 0 < len(summary) < len(text) // 3
    assert set(summary.splitlines()) <= set(text.splitlines())
    answer = json.loads(answer_summary(prompt(text)))
    assert {size: len(t) <= int(size) * 3 for size, t in answer["levels"].items()} == {
        "15": True,
        "250": True,
    }
    assert answer["hints"][0] == "path/00"
    assert answer_summary("") != ""


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        (
            "user: Go through the log of night 1. Which relay stuck?",
            "Go through the log of night 1.",
        ),
        (
            "tool (read_file): {}\nassistant: It was relay 10; nothing else.",
            "It was relay 10; nothing else.",
        ),
        ("tool (read_file): {}", "tool (read_file): {}"),
    ],
    ids=["a person", "the agent", "nobody"],
)
def test_its_topic_is_what_somebody_said(text, topic):
    """A sentence of a person, or of the agent; a tool's raw output only where nobody spoke."""
    assert topic_of(text) == topic
