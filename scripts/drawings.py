"""Draw the pictures of docs/how-it-works.md: run.py scripts.drawings writes docs/pictures/*.svg.

A drawing is light or dark as its reader's system is, has a ground of its own, so that it can be read on any page,
and loads nothing. tests/test_docs.py holds the files to what this makes.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_STYLE: Final = """
  .ground { fill: #ffffff; } text { fill: #1d2329; font: 14px system-ui, sans-serif; }
  .dim { fill: #5a6570; font-size: 12.5px; } .box { fill: #f5f7f9; stroke: #b9c3cd; }
  .lit { fill: #0b6bcb; } .on-lit { fill: #ffffff; } .unlit { fill: #d7e0e9; }
  .user { fill: #1e7a46; } .assistant { fill: #6b4fc0; } .tool { fill: #a06400; }
  .pale { opacity: 0.38; } .way { stroke: #5a6570; fill: none; stroke-width: 1.5; } .tip { fill: #5a6570; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #14181c; } text { fill: #e7ebef; } .dim { fill: #a3aeb8; }
    .box { fill: #1c2228; stroke: #4a5560; } .lit { fill: #5fb0ff; } .on-lit { fill: #0b1116; }
    .unlit { fill: #2c3742; } .user { fill: #62c08a; } .assistant { fill: #b7a2ff; } .tool { fill: #e0a443; }
    .way { stroke: #a3aeb8; } .tip { fill: #a3aeb8; }
  }
"""
#: Messages under the condensed node.
_CONDENSED: Final = 24
_ROLES: Final = ("user", "assistant", "tool", "assistant")


class Drawing:
    """Shapes on a ground, in the order in which they are put there."""

    def __init__(self, wide: int, high: int, title: str) -> None:
        self.size, self.title = (wide, high), title
        self.shapes: list[str] = []

    def rect(
        self, kind: str, x: float, y: float, wide: float, high: float, rounded: int = 3
    ) -> None:
        """A bar or a box."""
        self.shapes.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="{rounded}"/>'
        )

    def text(self, x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> None:
        """A line of text; *y* is where it stands on."""
        of = f' class="{kind}"' if kind else ""
        self.shapes.append(
            f'<text{of} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(said)}</text>'
        )

    def box(self, x: float, y: float, wide: float, lines: Sequence[str]) -> None:
        """A box with a heading and what is said of it."""
        self.rect("box", x, y, wide, 20 + 18 * len(lines), 6)
        for number, line in enumerate(lines):
            self.text(x + wide / 2, y + 23 + 18 * number, line, "dim" if number else "", "middle")

    def arrow(self, *points: tuple[float, float]) -> None:
        """A way along these points, with a tip at its end."""
        (x, y), (end_x, end_y) = points[-2:]
        way = " ".join(f"{at[0]:g},{at[1]:g}" for at in points)
        self.shapes.append(f'<polyline class="way" points="{way}"/>')
        across, along = (end_x - x, end_y - y)
        if across:
            back, side = (-8 if across > 0 else 8, 0), (0, 4)
        else:
            back, side = (0, -8 if along > 0 else 8), (4, 0)
        corners = [
            (end_x, end_y),
            (end_x + back[0] + side[0], end_y + back[1] + side[1]),
            (end_x + back[0] - side[0], end_y + back[1] - side[1]),
        ]
        tip = " ".join(f"{corner[0]:g},{corner[1]:g}" for corner in corners)
        self.shapes.append(f'<polygon class="tip" points="{tip}"/>')

    def svg(self) -> str:
        """The file."""
        wide, high = self.size
        inside = "\n".join(self.shapes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
            f'role="img" aria-labelledby="title">\n<title id="title">{escape(self.title)}</title>\n'
            f'<style>{_STYLE}</style>\n<rect class="ground" width="{wide}" height="{high}"/>\n{inside}\n</svg>\n'
        )


def way() -> Drawing:
    """What happens to a list, and to a question."""
    made = Drawing(
        880,
        268,
        "A turn and a question: the list is bound to the store, and a smaller list comes of it",
    )
    made.box(20, 30, 145, ["The host's list", "all its messages"])
    made.box(210, 30, 150, ["Ingest", "which row is which", "message?"])
    made.box(420, 30, 110, ["Plan", "what to", "replace"])
    made.box(580, 30, 120, ["Summarise", "one call a node", "(or none)"])
    made.box(750, 30, 110, ["Render", "the smaller", "list"])
    made.rect("box", 210, 158, 650, 46, 6)
    made.text(535, 178, "The store: one SQLite file", anchor="middle")
    made.text(
        535, 195, "every message, word for word, and the summaries over them", "dim", "middle"
    )
    made.box(20, 152, 145, ["The agent's tools", "search, open"])
    for start, end in ((165, 210), (360, 420), (530, 580), (700, 750)):
        made.arrow((start, 58), (end, 58))
    made.arrow((285, 104), (285, 158))
    made.text(295, 136, "what is new", "dim")
    made.arrow((640, 104), (640, 158))
    made.text(650, 136, "nodes", "dim")
    made.arrow((165, 181), (210, 181))
    made.arrow((805, 104), (805, 130), (870, 130), (870, 14), (92, 14), (92, 30))
    made.text(
        440,
        242,
        "Every door of the host leads through ingest: after a turn, before a tool, at a compaction, at the end.",
        "dim",
        "middle",
    )
    return made


def graph() -> Drawing:
    """Messages, leaves over them, and nodes over those."""
    made = Drawing(
        880,
        268,
        "The graph: messages at the bottom, leaves over them, condensed nodes over the leaves",
    )
    left, step = 110, 15
    made.text(12, 44, "depth 1", "dim")
    made.text(12, 84, "depth 0", "dim")
    made.text(12, 164, "messages", "dim")
    leaves = ((0, 8), (8, 15), (15, _CONDENSED), (_CONDENSED, 31), (31, 38))
    made.rect("lit", left, 28, _CONDENSED * step - 2, 24)
    made.text(left + 10, 45, "turns 1-6, condensed", "on-lit")
    for number, (first, last) in enumerate(leaves):
        shown = first >= _CONDENSED
        made.rect(
            "lit" if shown else "unlit", left + first * step, 68, (last - first) * step - 2, 24
        )
        made.text(left + first * step + 10, 85, f"leaf {number + 1}", "on-lit" if shown else "")
    for number in range(50):
        high = 14 + (number * 37) % 41
        kind = _ROLES[number % 4]
        made.rect(
            kind if number >= leaves[-1][1] else f"{kind} pale",
            left + number * step,
            176 - high,
            step - 3,
            high,
            1,
        )
    made.rect("lit", left, 210, 14, 14)
    made.text(
        left + 22, 222, "in the context: three summaries, and the newest messages word for word"
    )
    made.rect("unlit", left, 236, 14, 14)
    made.text(
        left + 22,
        248,
        "not in the context, and kept: whoever opens a summary finds what it stands for",
    )
    return made


def list_of_rows() -> Drawing:
    """The list before and after a compaction."""
    made = Drawing(
        880,
        300,
        "A list before and after a compaction: older turns become blocks of one summary row",
    )
    made.text(150, 26, "before", anchor="middle")
    made.text(600, 26, "after", anchor="middle")
    made.rect("box", 40, 38, 220, 22)
    made.text(150, 54, "system prompt", "dim", "middle")
    for number in range(9):
        kind = _ROLES[number % 4]
        made.rect(f"{kind} pale", 40, 66 + number * 17, 60 + (number * 61) % 160, 13)
    for number in range(4):
        made.rect(_ROLES[number % 4], 40, 221 + number * 17, 70 + (number * 47) % 140, 13)
    made.rect("box", 430, 38, 340, 22)
    made.text(600, 54, "system prompt, as it was", "dim", "middle")
    made.rect("box", 430, 66, 340, 142, 6)
    made.text(444, 86, "Earlier conversation, compacted. …", "dim")
    for number, (turns, size) in enumerate((("1-6", 50), ("7-8", 250), ("9-10", 250))):
        made.rect("lit", 444, 96 + number * 30, (235, 265, 295)[number], 22)
        made.text(454, 112 + number * 30, f"[lcm …] turns {turns}, {size} tokens", "on-lit")
    made.text(444, 200, "Ask lcm_grep about: …", "dim")
    for number in range(4):
        made.rect(_ROLES[number % 4], 430, 221 + number * 17, 70 + (number * 47) % 140, 13)
    made.arrow((270, 130), (420, 130))
    made.text(345, 120, "compaction", "dim", "middle")
    made.text(660, 260, "the newest turns,", "dim")
    made.text(660, 276, "byte for byte", "dim")
    return made


DRAWINGS: Final = {"way.svg": way, "graph.svg": graph, "list.svg": list_of_rows}


def main(_arguments: list[str]) -> int:
    """Write them."""
    for name, made in DRAWINGS.items():
        (FOLDER / name).write_text(made().svg(), encoding="utf-8")
        sys.stdout.write(f"{FOLDER / name}\n")
    return 0
