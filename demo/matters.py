"""What the story's turns were about, in the words of a summary; written by hand, as the story is."""

from __future__ import annotations

from typing import Final

from .notes import Matter

NIGHTS: Final = 20
MONTHS: Final = 12
ALARMS: Final = 12
CHAPTERS: Final = 10
LIMITS: Final = {"lamp": 925, "battery": 13, "tide": 5, "fog": 3, "relay": 40, "report": 80}


def _numbers(last: int) -> dict[str, str]:
    """Things that have a number, of which no figure came."""
    return {str(n): "" for n in range(1, last + 1)}


def _once(label: str, core: str, short: str, hints: tuple[str, str], weight: int) -> Matter:
    """A matter of one turn, which needs no more than a sentence."""
    return Matter((label, label), (core, core), (short, short), "", hints, weight)


RELAYS: Final = Matter(
    ("night log {which}", "night logs {which}"),
    (
        "In night {which} relay {found} stuck; it was freed by hand.",
        "In each of nights {which} a relay stuck and was freed.",
    ),
    (
        "The user had the log of night {which} read: relay {found} stuck and was freed by hand.",
        "The user had the logs of nights {which} read: relays {found} stuck, each freed by hand.",
    ),
    (
        "The user asked which relay stuck in night {which}. The agent read that night's log: relay"
        " {found} stuck and was freed by hand, and nothing else stood out."
    ),
    (
        "At what time did the relay of night {first} stick?",
        "What was the swell in night {first}?",
    ),
    6,
    {str(n): str(n * 7 + 3) for n in range(1, NIGHTS + 1)},
)
WATCHES: Final = Matter(
    ("{which} watch limit", "watch limits"),
    (
        "The {which} watch keeps what is below {found}.",
        "The agent read the limits of {which}.",
    ),
    (
        "The {which} watch in beacon/{which}.py keeps what is below {found}.",
        "The watches of {which} keep what is below their limits: {found}.",
    ),
    (
        "The user asked what limit the {which} watch uses. The agent read beacon/{which}.py:"
        " watch_{which} keeps what is below {found}."
    ),
    ("How does watch_{first} choose what it keeps?", "What does beacon/{first}.py say?"),
    4,
    {name: str(limit) for name, limit in LIMITS.items()},
)
TABLES: Final = Matter(
    ("tide table {which}", "tide tables {which}"),
    (
        "The tide table of month {which} has four columns.",
        "Tide tables {which} have the same four columns.",
    ),
    (
        "The tide table of month {which} has four columns, 112 rows.",
        (
            "The user had the tide tables of months {which} compared: they have the same four"
            " columns, 112 rows each."
        ),
    ),
    "",
    ("What is the highest tide of month {first}?", "What are the columns of the tide tables?"),
    2,
    _numbers(MONTHS),
)
WIRING: Final = Matter(
    ("alarm {which}", "alarms {which}"),
    (
        "The agent found alarm {which} wired and tested.",
        "The agent found alarms {which} wired and tested.",
    ),
    (
        "The user asked whether alarm {which} was wired: it is wired and tested.",
        "The user asked for each of the alarms {which}: they are wired and tested.",
    ),
    "",
    ("Is alarm {first} tested?", "Which alarms did the user ask about?"),
    3,
    _numbers(ALARMS),
)
REPORT: Final = Matter(
    ("report chapter {which}", "report chapters {which}"),
    (
        "Chapter {which} of the report is written.",
        "Chapters {which} of the report are written.",
    ),
    (
        "The user had chapter {which} of the report written; the agent gave its full text.",
        "The user had chapters {which} of the report written; the agent gave their full texts.",
    ),
    (
        "The user asked for chapter {which} of the report, and the agent wrote it: what happened to"
        " the lamp, the battery, the relay, the fog horn and the tide gauge, and in which night."
    ),
    (
        "What does chapter {first} of the report say of the lamp?",
        "In which night did the fog horn fail, by chapter {first}?",
    ),
    3,
    _numbers(CHAPTERS),
)
PLAN: Final = _once(
    "harbour light",
    "The harbour light is to be put in order.",
    "The user and the agent have two weeks to put the harbour light in order.",
    ("How long may the work on the harbour light take?", "Where did the work begin?"),
    1,
)
#: What the plate says is left to the search: it is what the last day asks for.
PLATE: Final = _once(
    "brass plate",
    "The user told of a brass plate behind the barometer.",
    "The user told of the odd words on a brass plate behind the barometer in the lamp room.",
    ("What does the brass plate behind the barometer say?", "Where is the brass plate?"),
    2,
)
DECISION: Final = _once(
    "alarm decision",
    "Decided: each relay gets an alarm of its own.",
    "The user had the agent decide between one alarm for all relays and one each: it is one each,"
    " because a single alarm would hide which relay is stuck.",
    ("Why does each relay get an alarm of its own?", "What would a single alarm hide?"),
    7,
)
BATTERY: Final = _once(
    "battery limit",
    "The battery limit stays at 13.",
    "The battery limit stays at 13: below it the lamp never slowed down in the nights that were"
    " read.",
    ("Why does the battery limit stay at 13?", "Did the lamp slow down below the limit?"),
    5,
)
REST: Final = _once(
    "what is left",
    "Left to do are the report and the alarms.",
    "Left for the next day are the report, and the alarms in beacon/relay.py.",
    ("What was left to do at the end of the day?", "Which file are the alarms in?"),
    8,
)
MUSEUM: Final = _once(
    "the museum",
    "The museum called.",
    "In the morning the user said that the museum had called.",
    ("What did the museum want?", "When did the museum call?"),
    2,
)
QUOTE: Final = _once(
    "the plate's words",
    "The user asked what the brass plate says.",
    "The user asked what was written on the brass plate, word for word, for the museum.",
    ("What was written on the brass plate, word for word?", "Who needs the plate's words?"),
    2,
)
