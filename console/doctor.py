"""``doctor``: what is wrong, and what to do about each thing; ``--fix`` does what is safe.

It works without a database, with a damaged one, without permission and outside Hermes, and shows
plain text, so that it also works where a package is missing. It changes nothing unless it is told to.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from ..dag.settings import load_settings, section_of
from ..storage.errors import StoreError
from . import checkup, hosting
from .absent import mistaken
from .check import Check, wrong
from .pointing import pointed
from .screen import clean, many, width_of
from .verb import Answer, Call, WrongCall

__all__ = ["add", "check", "run"]

_LABELS: Final = {"ok": "ok", "note": "note", "wrong": "WRONG"}
_INDENT: Final = 21
_LEAST_WIDTH: Final = 48
_CHAT_WIDTH: Final = 72
#: A command, which stays on one line so that it can be copied; and what holds its words together meanwhile.
_MARKED: Final = re.compile(r"`[^`]*`")
_GLUE: Final = "\0"


def run(call: Call) -> Answer:
    """All checks; with ``--fix`` the repairs in between.

    Raises:
        LookupError: ``--fix`` in a chat, which is anybody's.
    """
    fix = bool(call.options.get("fix"))
    if fix and call.exactly:
        raise LookupError("`hermes lcm doctor --fix` works in a terminal only.")
    host = _host_of(call)
    path = _path_of(call, host)
    checks = _seen(call, host, path)
    fixed = list(_repaired(call, path, checks)) if fix else []
    if fixed:
        checks = _seen(call, host, path)
    good = all(check.state != "wrong" for check in checks)
    data = {
        "good": good,
        "verdict": _verdict(checks),
        "home": str(host.home) if host else None,
        "database": str(path),
        "fixed": fixed,
        "checks": [asdict(check) for check in checks],
    }
    width = _CHAT_WIDTH if call.exactly else width_of(sys.stdout)
    return Answer(data, good, text=_view(data, checks, width))


def _host_of(call: Call) -> hosting.Hosting | None:
    """The Hermes that is meant; None where a database was named, which may be anybody's."""
    if call.facts is not None and "hermes" in call.facts:
        return hosting.inside(call.facts)
    if call.options.get("db"):
        return None
    return hosting.outside(Path(call.path).parent.parent)


def _path_of(call: Call, host: hosting.Hosting | None) -> Path:
    if (
        host is not None and host.config and not host.folder
    ):  # from outside nobody has asked the settings yet
        named = load_settings(section_of(host.config)).settings.database
        if named:
            return Path(named).expanduser()
    return Path(call.path)


def _seen(call: Call, host: hosting.Hosting | None, path: Path) -> list[Check]:
    """All checks, with remedies for the database that the call names."""
    return [
        replace(each, remedy=pointed(each.remedy, call.options))
        for each in _checks(call, host, path)
    ]


def _checks(call: Call, host: hosting.Hosting | None, path: Path) -> Iterator[Check]:
    def looking(what: str) -> None:
        if call.progress is not None:
            call.progress(what, 0, 0)

    outside = call.facts is None
    unlike = mistaken(Path(call.path), named=host is None) if outside else ""
    if host is not None and unlike and not path.exists():
        yield wrong("home", unlike, "Name your Hermes home with --home DIR, or start Hermes once.")
        return
    if host is not None:
        looking("Hermes")
        yield from hosting.check_host(host)
        yield from hosting.check_settings(host)
    yield from checkup.check_database(path, looking, unlike)


def _repaired(call: Call, path: Path, checks: Sequence[Check]) -> Iterator[str]:
    """Repair what may be repaired unasked; says what was done, or why not."""
    names = {check.name for check in checks if check.fixable}
    if checkup.PERMISSIONS in names:
        for changed in checkup.close_to_others(path):
            yield f"{changed} can be read by its owner alone now"
    if checkup.INDEX in names:
        try:
            yield from _index_made_again(call, path)
        except StoreError as error:
            yield f"the search index could not be made again, and is as it was: {error}"


def _index_made_again(call: Call, path: Path) -> Iterator[str]:
    from ..storage import open_store
    from .backup import make_backup

    copied = make_backup(str(path), progress=call.progress)
    yield f"a backup was made first: {copied.path}"
    if call.progress is not None:
        call.progress("texts for the search index", 0, 0)
    store = open_store(path, create=False, writes=True)
    try:
        count = store.reindex()
    finally:
        store.close()
    yield f"the search index was made again from the log: {many(count, 'text')}"


def _verdict(checks: Sequence[Check]) -> str:
    count = sum(check.state == "wrong" for check in checks)
    if not count:
        return "doctor: nothing is wrong"
    return f"doctor: {count} {'thing is' if count == 1 else 'things are'} wrong"


def _view(data: Mapping[str, Any], checks: Sequence[Check], width: int) -> str:
    width = max(width, _LEAST_WIDTH)
    lines = [f"home      {data['home']}"] if data["home"] else []
    lines += [f"database  {data['database']}", ""]
    lines += [f"fixed     {each}" for each in data["fixed"]]
    lines += [""] if data["fixed"] else []
    for check in checks:
        head = f"{_LABELS[check.state]:6} {check.name}"
        lines += _wrapped(f"{head:{_INDENT - 1}} ", check.said, width)
        if check.remedy:
            lines += _wrapped(" " * (_INDENT - 3) + "-> ", check.remedy, width)
        lines += [f"{' ' * _INDENT}{each}" for each in check.commands]  # unwrapped, to be copied
        lines += ["", *check.lines, ""] if check.lines else []  # from the margin on, which counts
    return clean("\n".join([*lines, "", data["verdict"]])) + "\n"


def _wrapped(head: str, said: str, width: int) -> list[str]:
    wrapped = textwrap.wrap(
        _MARKED.sub(lambda found: found[0].replace(" ", _GLUE), said),
        width,
        initial_indent=head,
        subsequent_indent=" " * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_GLUE, " ") for line in wrapped]


def check(options: Mapping[str, Any]) -> None:
    """It is about the whole of a database."""
    if options.get("session"):
        raise WrongCall("`doctor` looks at all of it. `status --session ID` is about one session.")


def add(parser: argparse.ArgumentParser) -> None:
    """What it may change."""
    parser.add_argument(
        "--fix",
        dest="lcm_fix",
        action="store_true",
        help="make a broken search index again (after a backup), close the file to others",
    )
