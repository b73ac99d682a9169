"""Fetches what the host took out of a tool result before anybody saw it.

Hermes writes a tool result that is too large for a turn to a file, and puts
its beginning and the file's name in its place. The file goes: it stands in a
cache, or in the system's temporary folder. So its text is kept with the
message, as a version beside the one that was shown.

A row may say anything. A file is believed only if it is where hosts put them,
is ours, is not newer than the message (provider ids are used again, and so are
names), and is what the row says: as many characters, with that beginning.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time as clock
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..dag.ingest import Ledger

__all__ = ["Spills"]

_TAG = "<persisted-output>\n"
_NOTE = re.compile(
    re.escape(_TAG)
    + r"This tool result was too large \((\d[\d,]{0,19}) characters, [^\n)]{1,20}\)\.\n"
    r"Full output saved to: ([^\n]{1,1000}?)(?: \[host: ([^\n]{1,1000})\])?\n"
    r"(?:[^\n]{1,400}\n){1,4}\n"
    r"Preview \(first (\d{1,9}) chars\):\n"
)
_MOST_BYTES = 100_000_000
_AT_ONCE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
#: Seconds that the clocks of a file system and a process may differ.
_SLACK = 2.0


class Spills:
    """Looks for such files, once for each note that a host left in a row."""

    def __init__(self) -> None:
        self._looked_for: set[int] = set()

    def fetch(self, ledger: Ledger, rows: Sequence[Any], home: Callable[[], Path]) -> bool:
        """Keep what was taken out of *rows*, which the ledger has stored; True if there was something.

        *home* is asked only where a row has such a note: most turns have none.

        Raises:
            StoreError: nothing of it was stored.
        """
        # A note was looked at with the row that it came in.
        unseen = range(ledger.bound_from, len(rows))
        places = [n for n in unseen if self._is_news(rows[n])]
        if not places:
            return False
        folder = home()
        found = {n: whole for n in places if (whole := _whole(rows[n], folder))}
        if found:  # for the ledger it is one more list, with another edition of known messages
            ledger.ingest([found.get(n, row) for n, row in enumerate(rows)])
        return bool(found)

    def _is_news(self, row: Any) -> bool:
        """Whether it is a result of which the host shows the beginning, and the file was not looked for yet."""
        content = row.get("content") if isinstance(row, (dict, Mapping)) else None
        if (
            not isinstance(content, str)
            or not content.startswith(_TAG)
            or row.get("role") != "tool"
        ):
            return False
        before = len(self._looked_for)
        self._looked_for.add(hash(content))
        return len(self._looked_for) > before


def _whole(row: Mapping[str, Any], home: Path) -> dict[str, Any] | None:
    """The row as the tool gave it; None where the file is not there, or not to be believed."""
    content = row["content"]
    note = _NOTE.match(content)
    if note is None:
        return None
    count, preview = int(note[1].replace(",", "")), content[note.end() :][: int(note[4])]
    time = row.get("timestamp")
    came = clock.time()
    if isinstance(time, int | float) and time < came:  # not so of a NaN
        came = float(time) if time > 0 else 0.0
    text = _read(Path(note[3] or note[2]), came, _folders(home))
    if text is None or len(text) != count or not text.startswith(preview):
        return None
    return {**row, "content": text}


def _folders(home: Path) -> list[Path]:
    """Where hosts put such files: the first two are the newer host's."""
    temporary = {tempfile.gettempdir(), os.environ.get("TMPDIR") or "/tmp", "/tmp"}  # noqa: S108
    return [
        home / "cache" / "spillover",
        home / "cache" / "terminal" / "hermes-results",
        *(Path(each) / "hermes-results" for each in sorted(temporary)),
    ]


def _read(path: Path, time: float, folders: Sequence[Path]) -> str | None:
    """The text of a file directly in one of *folders*, without following a link.

    Nor does it wait: a row may name a pipe that nobody writes to.
    """
    try:
        if path.parent.resolve(strict=True) not in [each.resolve() for each in folders]:
            return None
        descriptor = os.open(path, os.O_RDONLY | _AT_ONCE)
        with os.fdopen(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            theirs = hasattr(os, "getuid") and about.st_uid != os.getuid()
            if theirs or not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_BYTES:
                return None
            if about.st_mtime > time + _SLACK:
                return None
            return file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError, RuntimeError):  # the last for a loop of links
        return None
