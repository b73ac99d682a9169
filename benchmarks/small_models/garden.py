"""A conversation of our own for small models to summarise: a garden's pump is mended, 26 turns.

Prose with facts in it that a summary can keep, lose or get wrong: names, numbers, paths, an error,
decisions with their reasons, one change of mind, open tasks. ``lay_out`` writes the files that
the agent really reads.
"""

from __future__ import annotations

from pathlib import Path

from ...demo.model import Call, Reply, Turn

FILES = {
    "pump/config.toml": """\
# Watering of the allotment on Mill Lane, eight beds, one pump, one cistern.
[pump]
relay_pin = 17
max_minutes = 25          # the motor gets hot after 30
dry_run_cm = 12           # below this level the pump must not start

[schedule]
start = "05:40"
beds = ["beans", "tomatoes", "leeks", "squash", "berries", "herbs", "kale", "nursery"]
minutes = [6, 9, 5, 8, 4, 2, 5, 3]

[sensor]
kind = "ultrasonic"
bus = "/dev/ttyUSB1"
samples = 5
""",
    "pump/level.py": '''\
"""Reads how high the water stands in the cistern."""

import statistics

DEPTH_CM = 140


def level_cm(echoes: list[float]) -> float:
    """The height of the water; an echo is the distance from the lid in centimetres."""
    if not echoes:
        raise ValueError("no echo from the sensor")
    return DEPTH_CM - statistics.mean(echoes)


def may_start(echoes: list[float], dry_run_cm: float) -> bool:
    """Whether there is enough water to start the pump."""
    return level_cm(echoes) > dry_run_cm
''',
    "pump/night.log": """\
2031-06-11 05:40:00 schedule: 42 minutes for 8 beds
2031-06-11 05:40:01 sensor: echoes 61.2 60.9 61.0 399.9 61.1
2031-06-11 05:40:01 level: 11.2 cm, dry_run 12 cm
2031-06-11 05:40:01 ERROR pump refused to start: dry run (LevelError E-2207)
2031-06-12 05:40:00 schedule: 42 minutes for 8 beds
2031-06-12 05:40:01 sensor: echoes 63.0 62.8 63.1 62.9 63.0
2031-06-12 05:40:01 level: 77.0 cm, dry_run 12 cm
2031-06-12 05:40:02 pump on, relay 17
2031-06-12 06:05:02 WARNING pump off after 25 minutes (max_minutes); beds left: herbs kale nursery
2031-06-13 05:40:01 sensor: echoes 399.9 64.4 399.9 64.6 64.3
2031-06-13 05:40:01 level: -58.6 cm, dry_run 12 cm
2031-06-13 05:40:01 ERROR pump refused to start: dry run (LevelError E-2207)
""",
}

#: User, agent, and the file that the agent reads in between, if any.
_SAID = Path(__file__).with_name("garden.txt")


def lay_out(folder: Path) -> None:
    """Write the garden's files into *folder*."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def turns() -> list[Turn]:
    """The conversation, as the scripted model of the demonstration plays it."""
    return [_turn(text) for text in _SAID.read_text(encoding="utf-8").split("\n\n")]


def _turn(text: str) -> Turn:
    """A line of the user, one of the agent, and between them the file that the agent reads, if any."""
    said = dict(line.split(": ", 1) for line in text.splitlines())
    calls = [Call("read_file", {"path": said["reads"]})] if "reads" in said else []
    return Turn(said["user"], (*(Reply(calls=(call,)) for call in calls), Reply(said["agent"])))
