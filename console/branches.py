"""A tree as text, as rich draws one, and fifty times as fast: a graph down to its messages has 100,000 rows.

Rich lays a row out anew at each level that it stands on. Here each is laid out once, and what has nothing
but single blanks and letters of one column is broken without asking how wide a letter is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Branch", "Branches", "Label"]

Label = Sequence[tuple[str, str]]
"""Parts of a row, each with its style."""

Paint = Callable[[str, str], str]
"""A text in a style."""

#: In front of a row: another follows on its level, it is the last one; below it: the same.
_LINES: Final = ("├── ", "└── ", "│   ", "    ")
_ASCII: Final = ("+-- ", "`-- ", "|   ", "    ")
_DIM: Final = "dim"


@dataclass(frozen=True, slots=True)
class Branch:
    """A row, and what is under it; that is asked for once, when its turn has come."""

    label: Label
    below: Iterable[Branch] = ()


@dataclass(frozen=True, slots=True)
class Branches:
    """A tree to be shown."""

    top: Branch

    def drawn(self, console: Console) -> str:
        """All of it, each row broken where the console ends."""
        return "\n".join(_Pen(console).rows(self.top)) + "\n"


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
            branch, is_last = next(branches, (None, False))
            if branch is None:
                open_.pop()
                continue
            first, rest = self._guides[is_last], self._guides[2 + is_last]
            yield from self._row(branch.label, before + first, before + rest)
            open_.append((before + rest, _with_last(branch.below)))

    def _row(self, label: Label, first: str, rest: str) -> Iterator[str]:
        text = "".join([part for part, _ in label])
        lines = self._broken(text, max(self._width - len(first), 1))
        if self._is_plain:
            guides = chain([first], repeat(rest))
            yield from [
                f"{guide}{line}".rstrip() for guide, line in zip(guides, lines, strict=False)
            ]
            return
        at = 0
        guide = first
        for line in lines:
            at = text.index(line, at)
            said = self._painted(label, at, at + len(line))
            yield f"{self._in(guide, _DIM)}{said}".rstrip()
            at += len(line)
            guide = rest

    def _broken(self, text: str, width: int) -> Sequence[str]:
        if len(text) <= width and text.isascii():
            return (text,)
        return _at_blanks(text, width) or self._as_rich_does(text, width)

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
    """Lines of whole words; none where a word is too long, or a letter may be wider than a column."""
    lines: list[str] = []
    at = 0
    if not text.isascii() or "  " in text:
        return lines
    while len(text) - at > width:
        end = text.rfind(" ", at, at + width + 1)
        if end <= at:
            return []
        lines.append(text[at:end])
        at = end + 1
    return [*lines, text[at:]]
