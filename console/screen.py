"""How things look: one renderer for a terminal, a pipe and a chat.

What came from a conversation is made harmless first: control characters could move the cursor or
change the title of a terminal, and a lone surrogate cannot be printed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
import textwrap
import time as clock
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, Final

from ..dag.wording import many
from .branches import Branches

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from .verb import Progress

    Shown = RenderableType | Branches

__all__ = [
    "Unshown",
    "clean",
    "data_pieces",
    "flat",
    "folded",
    "grid",
    "many",
    "page",
    "pieces",
    "pour",
    "progress",
    "put",
    "to_data",
    "width_of",
]

#: Columns where nothing says how many there are: room for a line of a log.
_PIPE_COLUMNS: Final = 100
_LEAST_COLUMNS: Final = 20
#: What is printed below each other needs no height; rich wants one beside the width.
_LINES: Final = 25
#: Seconds of silence before progress is shown.
_QUIET_SECONDS: Final = 1.0
_SIGN_OF_LIFE_SECONDS: Final = 5.0

#: Characters of JSON that are put on the screen at a time.
_SIGNS: Final = 200_000
_INDENT: Final = 2

_HARMFUL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """*text* without what a terminal would obey instead of showing."""
    if text.isascii() and text.isprintable():
        return text
    return _HARMFUL.sub("\ufffd", text.replace("\r\n", "\n"))


def flat(text: str) -> str:
    """*text* in one line, clean."""
    return clean(" ".join(text.split()))


def folded(text: str, width: int) -> str:
    """*text* with its sentences broken where they are wider than that; what is indented or names a path stays whole."""
    lines = []
    for line in text.split("\n"):
        whole = len(line) <= width or line.startswith(" ") or "/" in line
        lines += [line] if whole else textwrap.wrap(line, width, break_long_words=False)
    return "\n".join(lines)


def to_data(value: Any) -> str:
    """*value* as JSON in plain ASCII, which every terminal and pipe takes."""
    return "".join(_json(value, 0))


def data_pieces(value: Any) -> Iterator[str]:
    """The same piece by piece, for a reader that need not wait for the last."""
    some, signs = list[str](), 0
    for part in _json(value, 0):
        some.append(part)
        signs += len(part)
        if signs >= _SIGNS:
            yield "".join(some)
            some, signs = [], 0
    yield "".join(some)


def _json(value: Any, level: int) -> Iterator[str]:
    """As ``json`` writes it with an indent, which it does sign by sign: what has nothing indented in it is written at
    once, and so is a list of such, in a tenth of the time."""
    here, inner, within = _line(level), _line(level + 1), _line(level + 2)
    if not isinstance(value, _HOLDERS) or not value:
        yield _encoder(0)(value)
        return
    opens, closes = "{}" if isinstance(value, dict) else "[]"
    if _is_flat(value):
        yield f"{opens}{inner}{_encoder(level + 1)(value)[1:-1]}{here}{closes}"
    elif isinstance(value, list) and all(
        isinstance(each, dict) and _is_flat(each) for each in value
    ):
        rows = _encoder(level + 2)(value)[2:-2]
        # No line breaks in a text, so this stands only between two of them.
        rows = rows.replace(f"}},{within}{{", f"{inner}}},{inner}{{{within}")
        yield f"[{inner}{{{within}{rows}{inner}}}{here}]"
    else:
        before = opens
        for each in value:
            key = f"{_encoder(0)({each: 0})[1:-4]}: " if isinstance(value, dict) else ""
            yield f"{before}{inner}{key}"
            yield from _json(value[each] if isinstance(value, dict) else each, level + 1)
            before = ","
        yield f"{here}{closes}"


_HOLDERS: Final = (dict, list, tuple)


def _is_flat(value: Any) -> bool:
    """Whether it holds something, and nothing that holds something."""
    held = value.values() if isinstance(value, dict) else value
    return bool(value) and not any(isinstance(each, _HOLDERS) for each in held)


@cache
def _line(level: int) -> str:
    return f"\n{' ' * _INDENT * level}"


@cache
def _encoder(level: int) -> Callable[[Any], str]:
    """What writes that whose parts stand on this level."""
    separators = (f",{_line(level)}", ": ")
    return json.JSONEncoder(separators=separators, default=repr).encode


def width_of(file: IO[str] | None) -> int:
    """Columns of the terminal, or of COLUMNS; None: standard output is closed."""
    fallback = (80 if file is not None and file.isatty() else _PIPE_COLUMNS, 24)
    return max(shutil.get_terminal_size(fallback).columns, _LEAST_COLUMNS)


class _Paper(io.StringIO):
    """What is rendered on; an encoding without line drawings gets a tree of ASCII."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def page(*shown: Shown, width: int) -> str:
    """Everything in *shown*, one below the other, as text."""
    return "".join(pieces(*shown, width=width))


def pieces(
    *shown: Shown, width: int, encoding: str = "utf-8", colour: bool = False
) -> Iterator[str]:
    """The same piece by piece, as it is drawn. NO_COLOR is obeyed."""
    from rich.console import Console  # 60 ms that the host must not pay for

    paper = _Paper(encoding)
    console = Console(
        file=paper,
        width=width,
        height=_LINES,  # with the width alone a dumb terminal gets 80 columns
        force_terminal=colour,
        color_system="auto" if colour else None,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    for each in shown:
        if isinstance(each, Branches):
            yield from each.pieces(console)
        else:
            yield _drawn(each, console, paper)


def _drawn(each: RenderableType, console: Console, paper: io.StringIO) -> str:
    console.print(each)
    lines = paper.getvalue().split("\n")
    paper.seek(0)
    paper.truncate()
    return "\n".join(line.rstrip() for line in lines)


class Unshown(Exception):
    """What is to be shown cannot be written; nothing else is wrong."""


@contextlib.contextmanager
def _written() -> Iterator[None]:
    """A reader that has left is another thing than a full disk.

    Raises:
        Unshown: the output cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unshown(error.strerror or type(error).__name__) from error


def put(text: str, file: IO[str] | None = None) -> None:
    """Write *text*; what the encoding of the file cannot show becomes a question mark.

    Raises:
        Unshown: the output cannot be written.
    """
    out = file or sys.stdout
    if out is None:
        raise Unshown("it is closed")
    encoding = getattr(out, "encoding", None) or "utf-8"
    with _written():
        out.write(text.encode(encoding, "replace").decode(encoding))
        out.flush()


def pour(text: str) -> None:
    """Write *text* to standard output as UTF-8, whatever the terminal's encoding: it is for a file or a program.

    Raises:
        Unshown: the output cannot be written.
    """
    out = sys.stdout
    raw = getattr(out, "buffer", None)
    if raw is None:  # something in its place that takes text alone
        put(text)
        return
    with _written():
        out.flush()  # what was written before stays before
        raw.write(text.encode("utf-8", "replace"))
        raw.flush()


def grid(rows: list[tuple[str, str]]) -> RenderableType:
    """Names and values, side by side; a long value is wrapped in its column."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name, style="bold"), Text(clean(value)))
    return table


@contextlib.contextmanager
def progress(title: str) -> Iterator[Progress]:
    """Say on standard error how far something is, from the first second on."""
    drawn = sys.stderr.isatty() and find_spec("rich") is not None
    report = _bar(title) if drawn else _signs(title)
    with report as show:
        yield show


@contextlib.contextmanager
def _bar(title: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(title, total=None)
    begun = clock.monotonic()

    def halt() -> None:
        if bar.live.is_started:
            bar.stop()

    def show(what: str, done: int, total: int) -> None:
        bar.update(task, description=f"{title}: {what}", completed=done, total=total or None)
        if total and done >= total:
            halt()  # what comes next may be a question, which a moving bar would overwrite
        elif clock.monotonic() - begun > _QUIET_SECONDS:
            bar.start()

    try:
        yield show
    finally:
        halt()


@contextlib.contextmanager
def _signs(title: str) -> Iterator[Progress]:
    """A line every few seconds, where a line cannot be drawn anew."""
    due = clock.monotonic() + _QUIET_SECONDS

    def show(what: str, done: int, total: int) -> None:
        nonlocal due
        if clock.monotonic() > due:
            due = clock.monotonic() + _SIGN_OF_LIFE_SECONDS
            of = f" of {total:,}" if total else ""
            count = f"{done:,}{of} " if done or total else ""
            put(f"{title}: {count}{what}\n", sys.stderr)

    yield show
