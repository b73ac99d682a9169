"""What small models really answered in place of a summary, and good summaries that must not be taken for it."""

from __future__ import annotations

import json

import pytest
from asking import route, summary_of
from lcm.benchmarks.small_models import garden
from lcm.dag.nonsense import fault_of
from lcm.dag.replies import Rejected, Reply, read
from lcm.dag.summarizer import SummaryRequest, summarize

SOURCE = "\n".join(
    f"user: {turn.user}\nassistant: {turn.steps[-1].text}" for turn in garden.turns()
)
LEVELS = (15, 50, 250)


def request(text=SOURCE):
    return SummaryRequest(text, 250, LEVELS)


def said(**levels):
    """The JSON of a model."""
    told = {"topic": "pump", "hints": ["cistern"], "levels": levels, "sufficient_tokens": 50}
    return json.dumps(told)


def sized(text):
    """The JSON of a model whose largest text is *text*."""
    return said(**{"15": "The pump of Mill Lane.", "250": text})


#: SmolLM2-135M-Instruct, about a conversation of ours.
TALKS_ABOUT_TALKING = "The purpose of the conversation is to talk about what is happening" + (
    ", but it is not a conversation about how to talk about how to talk, but it is a conversation"
    " about how to talk" * 9
)
#: Qwen2.5-Coder-1.5B-Instruct, the same: it takes the sizes for what was asked.
NUMBERS = """{
  "topic": "watering failed and beans hanging",
  "hints": ["user's name, question, pump configuration, log entries"],
  "levels": {"15": 23, "50": 20, "250": 47},
  "sufficient_tokens": 20
}"""
VAGUE = "The conversation is comprehensive, covering all aspects of the water system setup, the pump, and the sensor."
PROMISE = "I will provide the system setup and user preferences"
#: It gives back what it was told.
RULES = (
    "Write in the language of the conversation. Report history, not instructions. Say who said, wanted,"
    " decided or did what. Invent nothing. What the conversation does not say does not exist."
)
#: What a model tells that goes on by itself.
STORY = (
    "Once upon a time a brave knight named Rosalind travelled across snowy mountains, carrying golden treasure"
    " towards an ancient castle. Dragons guarded dark forests, wizards whispered magical spells, and princes"
    " celebrated victories with music, dancing, fireworks and enormous banquets throughout summer."
)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (TALKS_ABOUT_TALKING, "the same words over and over"),
        (sized(TALKS_ABOUT_TALKING), "the same words over and over"),
        ("\u6c34\u6cf5\u5728\u8fd0\u884c\u3002" * 60, "the same words over and over"),
        (f"{SOURCE[:600]} {'The pump is on. ' * 60}", "the same words over and over"),
        (NUMBERS, "not the JSON that was asked for"),
        (sized("250"), "no words"),
        (said(**{"1": "15", "2": "50", "3": "250"}), "no words"),
        (VAGUE, "what it is about in place of what was said"),
        (sized(f"This conversation covers the pump. {VAGUE}"), "what it is about"),
        (PROMISE, "an error or a refusal in place of a summary"),
        (sized(PROMISE), "an error or a refusal in place of a summary"),
        (sized("I'm sorry, but I can't assist with that."), "an error or a refusal"),
        (sized("N/A"), "an error or a refusal"),
        ("Sure! Here you go:\n[15, 50, 250]", ""),
        (
            sized("<the notes themselves, a text of at most that size>"),
            "the instructions in place of a summary",
        ),
        (
            RULES,
            "the instructions in place of a summary",
        ),
        (STORY, "nothing in it is from its source"),
        (sized(STORY), "nothing in it is from its source"),
        (
            "The pump failed with error E-9931 and E-8812 at 11:58, level 3301 mm, port 9191, pin 88.",
            "figures that its source does not have",
        ),
    ],
)
def test_what_small_models_write_is_no_summary(answer, reason):
    """Each is rejected with its reason; sentences of the source stand in for it."""
    summary = summary_of(request(), lambda _: Reply(answer, "stop"), trusted=False)
    if not reason:
        assert not summary.degraded
        return
    assert reason in summary.reason
    assert summary.text in SOURCE or summary.text.startswith(("user: ", "assistant: "))


GOOD = {
    "as it should be": "Ilse Brandt's watering failed twice: false echoes of 399.9 cm from the new lid pulled the"
    " mean down (E-2207), and the pump stopped after 25 minutes. Decided: the median of echoes below 140, at least"
    " three of them (E-2208 otherwise); two blocks at 05:40 and 07:15; max_minutes stays at 25. Open: form W-14 to"
    " Mrs Okonkwo by Friday, the udev rule for FT7K2Q by Yusuf on Sunday, the drip hose by Piet before 1 July.",
    "a little": "The watering failed twice, and the agent found out why.",
    "in words of its own": "A gardener sought help with faulty irrigation; causes were identified and"
    " remedies chosen.",
    "computed": "8 beds need 42 minutes, 17 more than the limit of 25; 3 people have 6 tasks left;"
    " about 3,234 litres a week.",
    "of a conversation": "The conversation covers the pump on relay pin 17. The user wants the median.",
    "a list": "\n".join(
        f"- The bed number {n} gets its water in the block that begins at 05:40." for n in range(40)
    ),
    "a table": "| bed | minutes |\n|---|---|\n"
    + "\n".join(f"| {bed} | {n} |" for n, bed in enumerate("abcdefghijklm")),
    "Qwen2.5-Coder-1.5B": "The user asked for help with the pump/level.py file. The assistant suggested running the"
    " code with the echoes of the thirteenth and checking the results.",
    "in German": "Ilse Brandt meldete, dass die Bew\u00e4sserung zweimal ausgefallen ist. Falsche Echos von 399.9 cm"
    " verf\u00e4lschen den Mittelwert, deshalb z\u00e4hlt k\u00fcnftig der Median aller Werte unter 140. Zwei"
    " Bl\u00f6cke, 05:40 und 07:15; niemand darf max_minutes erh\u00f6hen. Yusuf richtet am Sonntag die udev-Regel"
    " ein.",
    "in Chinese": "\u7528\u6237\u4f0a\u5c14\u65af\u62a5\u544a\u6d47\u6c34\u4e24\u6b21\u5931\u8d25\u3002"
    "\u539f\u56e0\u662f\u65b0\u76d6\u5b50\u4ea7\u751f\u7684\u9519\u8bef\u56de\u58f0\u62c9\u4f4e"
    "\u4e86\u5e73\u5747\u503c\u3002\u51b3\u5b9a\u4f7f\u7528\u4e2d\u4f4d\u6570\uff0c\u5e76\u5206"
    "\u4e24\u6b21\u6d47\u6c34\u3002",
    "in Russian": "\u041f\u043e\u043b\u0438\u0432 \u0434\u0432\u0430\u0436\u0434\u044b \u043d\u0435 \u0441\u0440\u0430"
    "\u0431\u043e\u0442\u0430\u043b \u0438\u0437-\u0437\u0430 \u043b\u043e\u0436\u043d\u044b\u0445 \u0441\u0438\u0433"
    "\u043d\u0430\u043b\u043e\u0432 \u0434\u0430\u0442\u0447\u0438\u043a\u0430 \u043f\u043e\u0441\u043b\u0435 \u0437"
    "\u0430\u043c\u0435\u043d\u044b \u043a\u0440\u044b\u0448\u043a\u0438.",
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
@pytest.mark.parametrize("whole", [True, False])
def test_a_good_summary_is_none_of_it(text, whole):
    """In whatever form and language: kept to the letter."""
    answer = text if whole else sized(text)
    assert (
        read(Reply(answer, "stop"), trusted=False, source=SOURCE).texts[0 if whole else 250] == text
    )


@pytest.mark.parametrize("turn", garden.turns(), ids=lambda turn: turn.user[:20])
def test_no_answer_of_the_conversation_is_nonsense(turn):
    """Every text of a person and of an agent passes for a summary, of itself and of all."""
    for text in (turn.user, turn.steps[-1].text):
        assert fault_of(text, SOURCE) == ""
        assert fault_of(f"{text} {text}", text) == ""


def test_people_may_speak_of_prompts_and_of_loops():
    """A source that holds our own words, or goes in circles itself, may be told in them."""
    rule = "Keep decisions and their reasons, errors and how they were solved, constraints and preferences."
    assert fault_of(rule, SOURCE)
    assert not fault_of(rule, f"{SOURCE}\nuser: The prompt says: {rule}")
    loop = "the lamp is on and the door is shut " * 40
    assert fault_of(loop, SOURCE)
    assert not fault_of(loop[:600], f"{SOURCE}\ntool: {loop}")


def test_a_smaller_text_that_is_none_is_made_of_the_larger():
    """So is a topic, and hints that are no names but claims: the agent would take them for true."""
    told = {
        "topic": "what this part is about, at most eight words",
        "hints": [
            "two to five names, paths, ids or questions that the full text could answer",
            "The assistant raises the maximum time the pump can run to 45 minutes and includes a pause.",
            "Why was E-2208 added?",
        ],
        "levels": {"15": "15", "50": "N/A", "250": GOOD["as it should be"]},
    }
    summary = summary_of(request(), lambda _: Reply(json.dumps(told), "stop"), trusted=False)
    assert not summary.degraded
    texts = dict(summary.texts)
    assert texts[250] == GOOD["as it should be"]
    assert all(text in texts[250] for text in (texts[15], texts[50]))
    assert "eight words" not in summary.topic
    assert "Why was E-2208 added?" in summary.hints
    assert not any("45 minutes" in hint or "two to five" in hint for hint in summary.hints)


@pytest.mark.parametrize("answer", [TALKS_ABOUT_TALKING, PROMISE, STORY, "250"])
def test_what_a_caller_writes_is_never_judged(answer):
    """SUM-09: a function of the caller's own is its word."""
    summary = summarize(request(), [route(lambda _: answer, trusted=True)])
    assert not summary.degraded
    assert answer.startswith(summary.text)


def test_halves_are_tried_before_the_extract():
    """A small model may do better with less."""
    seen = []

    def model(asked):
        seen.append(asked.text)
        return Reply(TALKS_ABOUT_TALKING if asked.text == SOURCE else GOOD["a little"], "stop")

    assert not summary_of(request(), model, trusted=False).degraded
    assert "".join(seen[1:]) == SOURCE


def test_a_rejection_says_why_in_our_words():
    """Not a word of the answer is in it."""
    with pytest.raises(Rejected) as raised:
        read(Reply(STORY, "stop"), trusted=False, source=SOURCE)
    assert "Rosalind" not in str(raised.value)
