"""Five days of a small project of our own: a harbour light is put in order.

``lay_out`` writes the files that the agent really reads with its own tools; ``turns``
gives what the user says and what the model does about it. The first day holds one odd
fact that nobody needs for days, and on the last day somebody asks for it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import matters
from .model import Call, Message, Reply, Step, Turn, text_of
from .notes import Matter, Note

#: Said once, early, and asked for when it has long left the context.
ODD_FACT = "The brass plate behind the barometer in the lamp room reads QUIET-HERON."
ODD_QUESTION = "What was written on that brass plate, word for word? I need it for the museum."
ODD_QUERY = "brass plate barometer"

SEED = 20


def night(number: int) -> str:
    """The keeper's log of one night, about 14,000 characters."""
    chance = random.Random(SEED + number)  # noqa: S311 - the same text every time, no secret
    rows = []
    for minute in range(0, 600, 2):
        volts = 11.6 + chance.random()
        swell = chance.choice(
            ["calm", "light swell", "heavy swell", "fog bank", "squall from west"]
        )
        rows.append(
            f"{18 + minute // 60:02d}:{minute % 60:02d} lamp {chance.randint(870, 930)} rpm"
            f" battery {volts:.2f} V {swell}"
        )
    rows[chance.randrange(len(rows))] += f" RELAY {number * 7 + 3} STUCK, freed by hand"
    return f"night {number}\n" + "\n".join(rows) + "\n"


def tides(month: int) -> str:
    """A month's tide table as CSV, about 2,000 characters."""
    chance = random.Random(SEED * 100 + month)  # noqa: S311
    rows = ["day,time,kind,metres"]
    for day in range(1, 29):
        for part, kind in enumerate(("low", "high", "low", "high")):
            metres = (0.4 if kind == "low" else 4.1) + chance.random()
            rows.append(f"{day},{part * 6 + 1:02d}:{chance.randrange(60):02d},{kind},{metres:.2f}")
    return "\n".join(rows) + "\n"


MODULE = '''"""{title}"""

from __future__ import annotations

LIMIT = {limit}


def {name}(values: list[float]) -> list[float]:
    """Keep the values that are below the limit, in their order."""
    return [value for value in values if value < LIMIT]
'''


def lay_out(folder: Path) -> None:
    """Write the project's files into *folder*."""
    for name in ("logs", "tables", "beacon"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number in range(1, matters.NIGHTS + 1):
        (folder / "logs" / f"night-{number:02d}.log").write_text(night(number))
    for month in range(1, matters.MONTHS + 1):
        (folder / "tables" / f"tides-{month:02d}.csv").write_text(tides(month))
    for name, limit in matters.LIMITS.items():
        text = MODULE.format(title=f"Watches the {name}.", name=f"watch_{name}", limit=limit)
        (folder / "beacon" / f"{name}.py").write_text(text)


def _read(path: str) -> Call:
    return Call("read_file", {"path": path})


def _say(user: str, answer: str, *calls: Call, note: Note | None = None) -> Turn:
    steps: tuple[Step, ...] = (Reply(calls=calls), Reply(answer)) if calls else (Reply(answer),)
    return Turn(user, steps, note)


def _nights(numbers: Iterable[int]) -> list[Turn]:
    return [
        _say(
            f"Go through the log of night {n}. Which relay stuck?",
            f"In night {n} it was relay {n * 7 + 3}; it was freed by hand. Nothing else stood out.",
            _read(f"logs/night-{n:02d}.log"),
            note=Note(matters.RELAYS, (str(n),)),
        )
        for n in numbers
    ]


def _tables(months: Iterable[int]) -> list[Turn]:
    return [
        _say(
            f"Compare the tide tables of month {m} and month {m + 1}: same layout?",
            f"Months {m} and {m + 1} have the same four columns, 112 rows each.",
            _read(f"tables/tides-{m:02d}.csv"),
            _read(f"tables/tides-{m + 1:02d}.csv"),
            note=Note(matters.TABLES, (str(m), str(m + 1))),
        )
        for m in months
    ]


def _modules(names: Iterable[str]) -> list[Turn]:
    return [
        _say(
            f"What limit does the {name} watch use?",
            f"watch_{name} in beacon/{name}.py keeps what is below {matters.LIMITS[name]}.",
            _read(f"beacon/{name}.py"),
            note=Note(matters.WATCHES, (name,)),
        )
        for name in names
    ]


def _talk(told: Iterable[tuple[str, str, Matter | None]]) -> list[Turn]:
    return [_say(user, answer, note=Note(about) if about else None) for user, answer, about in told]


def _alarms() -> list[Turn]:
    return [
        _say(
            f"Is alarm {n} wired?",
            f"Alarm {n} is wired and tested.",
            note=Note(matters.WIRING, (str(n),)),
        )
        for n in range(1, matters.ALARMS + 1)
    ]


def _chapters() -> list[Turn]:
    return [
        _say(f"Write chapter {n} of the report.", _chapter(n), note=Note(matters.REPORT, (str(n),)))
        for n in range(1, matters.CHAPTERS + 1)
    ]


def _answer(message: Message) -> dict[str, Any]:
    """A tool's JSON answer; nothing where the host put words of its own in its place."""
    try:
        value = json.loads(text_of(message.get("content")))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def found_uid(messages: list[Message]) -> str:
    """The uid of the first lcm_grep result, of the newest answer, that shows words of the odd fact."""
    for message in reversed(messages):
        if message.get("role") != "tool":
            continue
        results = _answer(message).get("results") or []
        words = ODD_FACT.split()[2:4]
        for result in results:
            plain = "".join(c for c in str(result["snippet"]) if c.isalnum() or c.isspace())
            if result["kind"] == "message" and all(word in plain for word in words):
                return str(result["uid"])
        return str(results[0]["uid"]) if results else "none"
    return "none"


def _expand(messages: list[Message]) -> Reply:
    return Reply(calls=(Call("lcm_expand", {"uid": found_uid(messages), "detail": "raw"}),))


def _quote(messages: list[Message]) -> Reply:
    opened = _answer(messages[-1]).get("messages") or []
    said = " ".join(text_of(m.get("content")) for m in opened)
    place = said.find("The brass plate")
    end = said.find(".", place) + 1
    return Reply(
        f"You told me on the first day: {said[place:end]}" if place >= 0 else "I found nothing."
    )


def recall() -> Turn:
    """The question of the last day: search, open, quote."""
    search = Reply(calls=(Call("lcm_grep", {"query": ODD_QUERY}),))
    return Turn(ODD_QUESTION, (search, _expand, _quote), Note(matters.QUOTE))


def turns() -> list[Turn]:
    """The whole conversation; every user's text but 'ok' is said once."""
    first_day = _talk(
        [
            (
                "We have two weeks to put the harbour light in order. Ready?",
                "Ready. Where do we begin?",
                matters.PLAN,
            ),
            (
                f"One thing before I forget it: {ODD_FACT} Odd, isn't it?",
                "It is. I will keep it in mind.",
                matters.PLATE,
            ),
            ("ok", "Then let us look at the nights.", None),
        ]
    )
    decisions = _talk(
        [
            (
                "Decide: one alarm for all relays, or one each?",
                "One each. A single alarm would hide which relay is stuck.",
                matters.DECISION,
            ),
            ("ok", "Noted: one alarm for each relay.", None),
            (
                "And the battery limit stays at 13?",
                "Yes, 13. Below it the lamp never slowed down in the nights that I have read.",
                matters.BATTERY,
            ),
        ]
    )
    last = _talk(
        [
            (
                "What is left for tomorrow?",
                "The report, and the alarms in beacon/relay.py.",
                matters.REST,
            ),
            ("ok", "Good night.", None),
            (
                "Good morning. The museum called.",
                "Good morning. What do they need?",
                matters.MUSEUM,
            ),
        ]
    )
    return [
        *first_day,
        *_modules(["lamp", "battery"]),
        *_nights(range(1, 6)),
        *_tables([1, 3]),
        *decisions,
        *_nights(range(6, 11)),
        *_modules(["tide", "fog"]),
        *_tables([5, 7]),
        *_alarms(),
        *_nights(range(11, 17)),
        *_modules(["relay", "report"]),
        *_tables([9, 11]),
        *_chapters(),
        *_nights(range(17, 21)),
        *last,
        recall(),
    ]


def _chapter(number: int) -> str:
    """A chapter of the report: a long answer, about 2,000 characters."""
    chance = random.Random(SEED * 1000 + number)  # noqa: S311
    subjects = ["The lamp", "The battery", "The relay", "The fog horn", "The tide gauge"]
    deeds = [
        "was measured twice",
        "kept its limit",
        "was repaired by hand",
        "failed once and recovered",
    ]
    lines = [
        f"{chance.choice(subjects)} {chance.choice(deeds)} in night {chance.randint(1, matters.NIGHTS)}."
        for _ in range(140)
    ]
    return f"Chapter {number}\n\n" + " ".join(lines)
