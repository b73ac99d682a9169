"""Whether a Hermes uses the engine, and if not, why: each way in which hosts fall back in silence.

Inside Hermes it is asked itself, through the facts; from outside, its config.yaml, its plugin folder
and its log are read. Both see the same checks.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..dag.settings import load_settings, section_of
from .check import Check, good, note, wrong
from .config_check import NAME, check_config
from .config_file import ConfigFile, read_config
from .dependencies import check_dependencies
from .plugin_check import check_plugin
from .pythons import python_of_hermes

__all__ = ["Hosting", "check_host", "check_settings", "inside", "outside"]

_SAFE_MODE: Final = "HERMES_SAFE_MODE"
#: Bytes at the end of the log that are looked at.
_LOG_TAIL: Final = 4_000_000
_SERVED: Final = re.compile(
    r"lcm is the context engine of session|falling back to built-in compressor"
)
_FAILED: Final = re.compile(r"lcm: (?P<what>.+ failed: .+)|lcm: stores again")
_STAMP: Final = re.compile(r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?")


@dataclass(frozen=True, slots=True)
class Hosting:
    """One Hermes, as far as it is known."""

    home: Path
    config: Mapping[str, Any] | None
    """Its config.yaml; None where this Python cannot read one."""
    file: ConfigFile = field(default_factory=ConfigFile)
    """The same as it was written; nothing where this Python cannot read it."""
    served_by: str | None = None
    """The engine that it gives an agent; None where nobody could ask it."""
    folder: str = ""
    """Where this plugin was loaded from; empty outside."""
    python: str = ""
    """The Python that runs it; empty if that is not known."""
    failures: tuple[str, ...] = ()
    """What went wrong in the engine that asks."""

    @property
    def at(self) -> Path:
        """Where its config.yaml is."""
        return self.home / "config.yaml"

    def get(self, *names: str) -> Any:
        """A value of config.yaml, by its path; None if it is not there."""
        value: Any = self.config
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value


def inside(facts: Mapping[str, Any]) -> Hosting:
    """The Hermes that this runs in."""
    told = facts["hermes"]()
    try:
        file = read_config(Path(told["home"]) / "config.yaml")
    except ImportError:
        file = ConfigFile()
    return Hosting(
        home=Path(told["home"]),
        # what a newer one tells of a file in which a key stands twice are its defaults
        config=file.values if file.repeated else told["config"],
        file=file,
        served_by=told["served_by"],
        folder=told["folder"],
        python=sys.executable,
        failures=tuple(facts.get("failures") or ()),
    )


def outside(home: Path) -> Hosting:
    """The Hermes of a home, which does not run here."""
    try:
        file = read_config(home / "config.yaml")
    except ImportError:
        return Hosting(home, None, python=python_of_hermes(home))
    return Hosting(home, file.values, file, python=python_of_hermes(home))


def check_host(host: Hosting) -> Iterator[Check]:
    """Everything that decides whether this Hermes uses the engine."""
    yield from check_config(host)
    needed = check_dependencies(host.python, host.home)
    yield from check_plugin(host, able=needed.state == "ok")
    yield needed
    yield from _safe_mode(host)
    if host.served_by is not None:
        yield _served(host)
    yield from _log(host)
    for failure in host.failures:
        yield wrong(
            "failure",
            failure,
            "Its traceback is in the log of this Hermes. Nothing left the conversation.",
        )


def check_settings(host: Hosting) -> Iterator[Check]:
    """The section ``lcm:``: wrong keys and values, and those without effect."""
    if host.config is None or host.file.unread:
        return
    loaded = load_settings(section_of(host.config))
    for problem in loaded.problems:
        remedy = f"Change it in `{host.at}`; `docs/settings.md` has all keys."
        yield wrong("settings", problem.said, remedy)
    for problem in loaded.inert:
        yield note("settings", problem.said, "It may stay where it is.")
    if not loaded.problems:
        own = sum(source != "default" for source in loaded.sources.values())
        yield good("settings", f"{own} of {len(loaded.sources)} are set, and all are understood")


def _safe_mode(host: Hosting) -> Iterator[Check]:
    """Whether Hermes is told to load no plugin: by the environment, or by the file that it takes its own from."""
    places = [("the environment", os.environ.get(_SAFE_MODE, ""))]
    env = host.home / ".env"
    with contextlib.suppress(OSError):
        set_there = re.search(
            rf"^\s*(?:export\s+)?{_SAFE_MODE}\s*=(.*)", _text_of(env), re.MULTILINE
        )
        places.append((str(env), set_there[1].strip(" \t\"'") if set_there else ""))
    for place, value in places:
        if value.lower() not in ("", "0", "false", "no"):
            said = f"{_SAFE_MODE} is set in {place}: Hermes loads no plugin."
            yield wrong("safe mode", said, "Take it out, and start Hermes anew.")


def _text_of(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def _served(host: Hosting) -> Check:
    if host.served_by == NAME:
        return good("served by", "this Hermes gives its agents lcm; it was asked")
    return wrong(
        "served by",
        f"Asked for an engine, this Hermes gives {host.served_by!r}, its own: it fell back in silence.",
        "Put right what else is listed here. If nothing is: `HERMES_PLUGINS_DEBUG=1 hermes plugins list` shows why.",
    )


def _log(host: Hosting) -> Iterator[Check]:
    """What the log of the home says of its last session, and of failures that are not over."""
    path = host.home / "logs" / "agent.log"
    try:
        with path.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _LOG_TAIL, 0))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        yield note(
            "log", f"There is none at {path}: which engine a session got is not known from it."
        )
        return
    served = [line for line in lines if _SERVED.search(line)]
    if served and "falling back" in served[-1]:
        said = f"The newest session that {path} tells of got Hermes's own compressor{_when(served[-1])}."
        yield wrong("log", said, "Put right what else is listed here, and start Hermes anew.")
    elif served:
        said = f"the newest session in {path} (a review in the background is one) got lcm"
        yield good("log", f"{said}{_when(served[-1])}")
    failed = [line for line in lines if _FAILED.search(line)]
    last = _FAILED.search(failed[-1]) if failed else None
    if last and last["what"]:
        said = f"The newest failure in {path} is not followed by a success{_when(failed[-1])}: {last['what']}"
        yield note("log", said, "If what is said there is over by now, nothing is to be done.")


def _when(line: str) -> str:
    stamp = _STAMP.match(line)
    return f" ({stamp[0]})" if stamp else ""
