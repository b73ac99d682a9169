"""Whether a Hermes uses the engine, and if not, why: each way in which hosts fall back in silence.

Inside Hermes it is asked itself, through the facts; from outside, its config.yaml, its plugin folder
and its log are read. Both see the same checks.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..dag.settings import load_settings, read_config, section_of
from .check import Check, good, note, wrong

__all__ = ["Hosting", "check_host", "check_settings", "inside", "outside"]

NAME: Final = "lcm"
#: Module, package and oldest version of what pyproject.toml asks for.
_NEEDED: Final = (
    ("networkx", "networkx", "3.2"),
    ("rapidfuzz", "rapidfuzz", "3.9"),
    ("regex", "regex", "2022.1.18"),
    ("rich", "rich", "13"),
    ("sqlite_utils", "sqlite-utils", "4"),
    ("yaml", "pyyaml", "6"),
)
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
    unread: str = ""
    """What is wrong with the file as a whole."""
    served_by: str | None = None
    """The engine that it gives an agent; None where nobody could ask it."""
    folder: str = ""
    """Where this plugin was loaded from; empty outside."""
    python: str = ""
    """The Python that runs it; empty if that is not known."""
    failures: tuple[str, ...] = ()
    """What went wrong in the engine that asks."""

    def get(self, *names: str) -> Any:
        """A value of config.yaml, by its path; None if it is not there."""
        value: Any = self.config
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value


def inside(facts: Mapping[str, Any]) -> Hosting:
    """The Hermes that this runs in."""
    told = facts["hermes"]()
    return Hosting(
        home=Path(told["home"]),
        config=told["config"],
        served_by=told["served_by"],
        folder=told["folder"],
        python=sys.executable,
        failures=tuple(facts.get("failures") or ()),
    )


def outside(home: Path) -> Hosting:
    """The Hermes of a home, which does not run here."""
    try:
        config, unread = read_config(home / "config.yaml")
    except ImportError:
        return Hosting(home, None, python=_python_of_hermes())
    return Hosting(home, config, unread, python=_python_of_hermes())


#: How the first lines of a program name its Python: itself, looked up by env, or behind a shell.
_SHEBANGS: Final = (
    re.compile(rb"#!\s*(?:/\S*/env\s+(?:-S\s+)?)?(\S*python\S*)"),
    re.compile(rb"#!\s*/bin/sh\n'''exec' [\"']?([^\"'\n]*?python[^\"'\s]*)"),
)


def _python_of_hermes() -> str:
    """The Python in the first line of the `hermes` on PATH, whatever Python asks.

    Where none is on PATH it is this one, if it has Hermes; empty if it is not known.
    """
    program = shutil.which("hermes")
    if not program:
        return sys.executable if importlib.util.find_spec("hermes_cli") is not None else ""
    try:
        with Path(program).resolve().open("rb") as file:
            begin = file.read(600)
    except OSError:
        return ""
    found = next((match for each in _SHEBANGS if (match := each.match(begin))), None)
    name = found[1].decode("utf-8", "replace") if found else ""
    return name if "/" in name else shutil.which(name) or ""


def check_host(host: Hosting) -> Iterator[Check]:
    """Everything that decides whether this Hermes uses the engine."""
    if host.config is None:
        yield note("config", "config.yaml was not looked at: this Python has no PyYAML.")
    elif host.unread:
        yield wrong(
            "config",
            f"{host.unread}.",
            "Put it right with an editor: Hermes cannot read it either.",
        )
    else:
        yield _selected(host)
        yield _enabled(host)
        yield _compression(host)
        yield from _toolsets(host)
    yield _folder(host)
    yield _dependencies(host)
    if os.environ.get("HERMES_SAFE_MODE", "").lower() not in ("", "0", "false", "no"):
        yield wrong(
            "safe mode", "HERMES_SAFE_MODE is set: Hermes loads no plugin.", "Start it without."
        )
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
    """The section ``lcm:``: wrong keys and values."""
    if host.config is None or host.unread:
        return
    loaded = load_settings(section_of(host.config))
    for problem in loaded.problems:
        at = host.home / "config.yaml"
        yield wrong(
            "settings",
            f"lcm.{problem.message}",
            f"Change it in {at}; docs/settings.md has all keys.",
        )
    if not loaded.problems:
        own = sum(source != "default" for source in loaded.sources.values())
        yield good("settings", f"{own} of {len(loaded.sources)} are set, and all are understood")


def _selected(host: Hosting) -> Check:
    selected = host.get("context", "engine")
    if selected == NAME:
        return good("engine", "context.engine is lcm")
    shown = "not set, so it is Hermes's own compressor" if selected is None else repr(selected)
    remedy = f"Write `engine: lcm` under `context:` in {host.home / 'config.yaml'}, then start Hermes anew."
    return wrong("engine", f"context.engine is {shown}.", remedy)


def _names(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else []


def _enabled(host: Hosting) -> Check:
    at = host.home / "config.yaml"
    if NAME in _names(host.get("plugins", "disabled")):
        remedy = f"Take lcm out of `disabled:` under `plugins:` in {at}."
        return wrong("enabled", "lcm is in plugins.disabled: Hermes does not load it.", remedy)
    if NAME in _names(host.get("plugins", "enabled")):
        return good("enabled", "lcm is in plugins.enabled")
    return wrong(
        "enabled",
        "lcm is not in plugins.enabled: older hosts then use their own compressor without a word, newer ones have "
        "no `hermes lcm`, no hooks.",
        f"Add `- lcm` to `enabled:` under `plugins:` in {at}.",
    )


def _compression(host: Hosting) -> Check:
    value = host.get("compression", "enabled")
    if value is None or value is True or str(value).lower() in ("true", "1", "yes"):
        return good("compression", "Hermes asks its engine to compact")
    said = "compression.enabled is false: Hermes never asks an engine to compact."
    return wrong(
        "compression",
        f"{said} All is stored, and the conversation grows until the model refuses it.",
        f"Set it to true in {host.home / 'config.yaml'}.",
    )


def _toolsets(host: Hosting) -> Iterator[Check]:
    """Hosts offer an engine's tools beside any saved list of toolsets, but not beside an empty one."""
    saved = host.get("platform_toolsets")
    for platform, names in saved.items() if isinstance(saved, Mapping) else ():
        if names == []:
            said = f"On {platform} the agent has none of lcm's tools: platform_toolsets.{platform} is empty."
            yield note(
                "tools", said, f"Add `- context_engine` there, if it is to search in {platform}."
            )


def _folder(host: Hosting) -> Check:
    """Whether the plugin is where hosts look for it, and looks like one."""
    if host.folder:
        return good("plugin", f"loaded from {host.folder}")
    folder = host.home / "plugins" / NAME
    if all((folder / name).is_file() for name in ("plugin.yaml", "__init__.py")):
        manifest = (folder / "plugin.yaml").read_text("utf-8", "replace")
        if re.search(r"^kind:\s*standalone", manifest, re.MULTILINE):
            return good("plugin", f"it is in {folder}")
        remedy = "Install it again: scripts/quickstart --into with this home."
        return wrong(
            "plugin", f"{folder}/plugin.yaml says no `kind: standalone`: hosts may skip it.", remedy
        )
    elsewhere = [each.parent for each in host.home.glob("plugins/*/plugin.yaml") if _is_ours(each)]
    if elsewhere:
        said = (
            f"The plugin is in {elsewhere[0]}. Hosts know it there by the name in its manifest alone, "
            "and only while lcm is in plugins.enabled."
        )
        return note("plugin", said, f"mv {elsewhere[0]} {folder}")
    said = f"It is not in {folder}."
    if host.python and _asked(host.python, _AS_PACKAGE) == NAME:
        return good("plugin", f"installed as a package for {host.python}")
    remedy = f"scripts/quickstart --into {host.home}. (Installed with pip it needs no folder.)"
    return wrong("plugin", said, remedy)


def _is_ours(manifest: Path) -> bool:
    try:
        return bool(
            re.search(r"^name:\s*lcm\s*$", manifest.read_text("utf-8", "replace"), re.MULTILINE)
        )
    except OSError:
        return False


_AS_PACKAGE: Final = (
    "import importlib.metadata as m; found = m.entry_points(group='hermes_agent.plugins');"
    "print('lcm' if any(e.name == 'lcm' for e in found) else '')"
)
#: What :func:`_version` says, asked of another Python.
_VERSION: Final = """
import importlib.metadata as m, importlib.util as u, sys
for module, package in (each.split("=") for each in sys.argv[1:]):
    try:
        print(m.version(package))
    except m.PackageNotFoundError:
        print("?" if u.find_spec(module) else "-")
"""


def _version(module: str, package: str) -> str:
    """The version of a package in this Python; ``?`` where only its module is there, ``-`` where nothing is."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "?" if importlib.util.find_spec(module) else "-"


def _suffices(found: str, least: str) -> bool:
    numbers = [tuple(map(int, re.findall(r"\d+", each)[:3])) for each in (found, least)]
    return found == "?" or (found != "-" and numbers[0] >= numbers[1])


def _asked(python: str, code: str, *words: str) -> str | None:
    """What another Python prints; None if it cannot be asked."""
    try:
        done = subprocess.run(  # noqa: S603 - the Python that runs Hermes, and code of ours
            [python, "-c", code, *words],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _dependencies(host: Hosting) -> Check:
    python = host.python or sys.executable
    if python == sys.executable:
        found = [_version(module, package) for module, package, _ in _NEEDED]
    else:
        told = _asked(python, _VERSION, *(f"{module}={package}" for module, package, _ in _NEEDED))
        if told is None:
            said = f"{python}, which runs Hermes, could not be asked what it has."
            return note("dependencies", said, f"Ask it: {python} -m pip list")
        found = told.split()
    unknown = (
        "the `hermes` on PATH names no Python" if shutil.which("hermes") else "no `hermes` on PATH"
    )
    who = python if host.python else f"{python} ({unknown}: whether that runs it is not known)"
    lacking = [
        f'"{package}>={least}"'
        for (_, package, least), version in zip(_NEEDED, found, strict=True)
        if not _suffices(version, least)
    ]
    if not lacking:
        return good("dependencies", f"all there for {who}")
    packages = " ".join(lacking)
    said = (
        f"{packages} missing for {who}: the plugin cannot load, and Hermes uses its own compressor."
    )
    return wrong("dependencies", said, f"{python} -m pip install {packages}")


def _served(host: Hosting) -> Check:
    if host.served_by == NAME:
        return good("served by", "this Hermes gives its agents lcm; it was asked")
    return wrong(
        "served by",
        f"Asked for an engine, this Hermes gives {host.served_by!r}, its own: it fell back in silence.",
        "Put right what else is listed here. If nothing is: HERMES_PLUGINS_DEBUG=1 hermes plugins list shows why.",
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
        yield good("log", f"the newest session in {path} got lcm{_when(served[-1])}")
    failed = [line for line in lines if _FAILED.search(line)]
    last = _FAILED.search(failed[-1]) if failed else None
    if last and last["what"]:
        said = f"The newest failure in {path} is not followed by a success{_when(failed[-1])}: {last['what']}"
        yield note("log", said, "If what is said there is over by now, nothing is to be done.")


def _when(line: str) -> str:
    stamp = _STAMP.match(line)
    return f" ({stamp[0]})" if stamp else ""
