"""A tree as text, as rich draws one, and fifty times as fast: a graph down to its messages has 100,000 rows.

Rich lays a row out anew at each level that it stands on. Here each is laid out once, and what has nothing
but single blanks and letters of one column is broken without asking how wide a letter is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Branch", "Branches", "Label"]

Label = Sequence[tuple[str, str]]
"""Parts of a row, each with its style."""

#: In front of a row: another follows on its level, it is the last one; below it: the same.
_LINES: Final = ("├── ", "└── ", "│   ", "    ")
_ASCII: Final = ("+-- ", "`-- ", "|   ", "    ")
_DIM: Final = "dim"
#: Lines of a piece.
_AT_ONCE: Final = 1000


class Branch(NamedTuple):
    """A row, and what is under it; that is asked for once, when its turn has come.

    A tuple, which is made in a third of the time of a dataclass.
    """

    label: Label
    below: Iterable[Branch] = ()


@dataclass(frozen=True, slots=True)
class Branches:
    """A tree to be shown."""

    top: Branch

    def pieces(self, console: Console) -> Iterator[str]:
        """In pieces of whole lines, each row broken where the console ends; nobody need wait for the last."""
        rows = _Pen(console).rows(self.top)
        while piece := list(islice(rows, _AT_ONCE)):
            yield "\n".join([*piece, ""])


class _Pen:
    """How rows are written on one console."""

    def __init__(self, console: Console) -> None:
        self._console, self._width = console, console.width
        self._is_plain = console.color_system is None
        self._guides = _ASCII if console.options.ascii_only else _LINES
        self._signs: dict[str, tuple[str, str]] = {}

    def rows(self, top: Branch) -> Iterator[str]:
        """The tree line by line."""
        yield from self._row(top.label, "", "")
        open_ = [("", _with_last(top.below))]
        while open_:
            before, branches = open_[-1]
            for branch, is_last in branches:
                rest = before + self._guides[2 + is_last]
                yield from self._row(branch.label, before + self._guides[is_last], rest)
                if branch.below:
                    open_.append((rest, _with_last(branch.below)))
                    break
            else:
                open_.pop()

    def _row(self, label: Label, first: str, rest: str) -> Sequence[str]:
        text = label[0][0] if len(label) == 1 else "".join([part for part, _ in label])
        lines = self._broken(text, max(self._width - len(first), 1))
        if self._is_plain:
            if len(lines) == 1:
                return (f"{first}{lines[0]}".rstrip(),)
            guides = chain([first], repeat(rest))
            return [f"{guide}{line}".rstrip() for guide, line in zip(guides, lines, strict=False)]
        at, guide, rows = 0, first, []
        for line in lines:
            at = text.index(line, at)
            said = self._painted(label, at, at + len(line))
            rows.append(f"{self._in(guide, _DIM)}{said}".rstrip())
            at += len(line)
            guide = rest
        return rows

    def _broken(self, text: str, width: int) -> Sequence[str]:
        if text.isascii():
            if len(text) <= width:
                return (text,)
            if "  " not in text and (lines := _at_blanks(text, width)):
                return lines
        return self._as_rich_does(text, width)

    def _as_rich_does(self, text: str, width: int) -> Sequence[str]:
        from rich.text import Text

        return [line.plain.rstrip() for line in Text(text).wrap(self._console, width)]

    def _painted(self, label: Label, start: int, end: int) -> str:
        said, at = [], 0
        for part, style in label:
            piece = part[max(start - at, 0) : max(end - at, 0)]
            if piece:
                said.append(self._in(piece, style))
            at += len(part)
        return "".join(said)

    def _in(self, text: str, style: str) -> str:
        if not style or not text:
            return text
        if style not in self._signs:
            self._signs[style] = self._sign(style)
        begin, end = self._signs[style]
        return f"{begin}{text}{end}"

    def _sign(self, style: str) -> tuple[str, str]:
        """What this console writes around a text in a style: nothing where it has no colour."""
        with self._console.capture() as capture:
            self._console.print("x", style=style, end="")
        begin, _, end = capture.get().partition("x")
        return begin, end


def _with_last(branches: Iterable[Branch]) -> Iterator[tuple[Branch, bool]]:
    """Each with whether it is the last."""
    waiting = None
    for branch in branches:
        if waiting is not None:
            yield waiting, False
        waiting = branch
    if waiting is not None:
        yield waiting, True


def _at_blanks(text: str, width: int) -> Sequence[str]:
    """Lines of whole words, of letters that are one column wide; none where a word is too long."""
    lines: list[str] = []
    at, last = 0, len(text) - width
    while at < last:
        end = text.rfind(" ", at, at + width + 1)
        if end <= at:
            return []
        lines.append(text[at:end])
        at = end + 1
    lines.append(text[at:])
    return lines
