"""Whether the Python that runs Hermes has the packages that the plugin needs, and can import them.

That a module is there says little: its compiled part may be of another Python, or lack a library of the
system. So each is imported, in the Python that is meant.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .check import Check, good, note, wrong
from .pythons import asked, hermes_of

__all__ = ["check_dependencies"]

#: Module, package and oldest version of what pyproject.toml asks for.
_NEEDED: Final = (
    ("networkx", "networkx", "3.2"),
    ("rapidfuzz", "rapidfuzz", "3.9"),
    ("regex", "regex", "2022.1.18"),
    ("rich", "rich", "13"),
    ("sqlite_utils", "sqlite-utils", "4"),
    ("yaml", "pyyaml", "6"),
)
_NO_HERMES: Final = "no `hermes` of your own is on PATH"
_NAME_IT: Final = (
    "Name the Python that runs your Hermes: `PYTHON=/path/to/the/python scripts/lcm doctor`"
)
#: What :func:`_looked_at` says of each, asked of another Python: the version, and why it cannot be imported.
_LOOK: Final = """
import importlib, importlib.metadata as m, importlib.util as u, sys
said, sys.stdout = sys.stdout, sys.stderr
for module, package in (each.split("=") for each in sys.argv[1:]):
    version, fault = "-", ""
    if u.find_spec(module):
        try:
            version = m.version(package)
        except m.PackageNotFoundError:
            version = "?"
        try:
            importlib.import_module(module)
        except BaseException as error:
            fault = " ".join(f"{type(error).__name__}: {error}".split())
    said.write(f"{version} {fault}\\n")
"""


@dataclass(frozen=True, slots=True)
class _Package:
    """A package as a Python has it."""

    name: str
    least: str
    """The oldest version that will do."""
    version: str
    """``?`` where only its module is there, ``-`` where nothing is."""
    fault: str
    """Why it cannot be imported, though it is there; empty if it can."""

    @property
    def lacks(self) -> bool:
        """Whether it is not there, or too old."""
        have, need = (
            tuple(map(int, re.findall(r"\d+", each)[:3])) for each in (self.version, self.least)
        )
        return self.version != "?" and (self.version == "-" or have < need)

    @property
    def wanted(self) -> str:
        """As pip takes it on a shell's line."""
        return f'"{self.name}>={self.least}"'


def check_dependencies(python: str, home: Path) -> Check:
    """Those of *python*, which runs the Hermes of *home*; empty: which one does is not known."""
    asks = python or sys.executable
    packages = list(_packages(asks))
    if not packages:
        said = f"{asks}, which runs Hermes, could not be asked what it has."
        return note("dependencies", said, f"Ask it: `{asks} -m pip list`")
    unknown = "the `hermes` on PATH names no Python" if hermes_of(home) else _NO_HERMES
    who = asks if python else f"{asks} ({unknown}: whether that runs it is not known)"
    if lacking := " ".join(each.wanted for each in packages if each.lacks):
        said = f"{lacking} missing for {who}: the plugin cannot load, and Hermes uses its own compressor."
        return wrong("dependencies", said, f"`{asks} -m pip install {lacking}`")
    if broken := [each for each in packages if each.fault]:
        faults = "; ".join(f"{each.name} ({each.fault})" for each in broken)
        said = f"Installed for {who}, and cannot be imported: {faults}."
        names = " ".join(each.wanted for each in broken)
        return wrong("dependencies", said, f"`{asks} -m pip install --force-reinstall {names}`")
    if not python:
        said = f"{unknown[:1].upper()}{unknown[1:]}: what it has is not known. All is there for `{asks}`."
        return note("dependencies", said, _NAME_IT)
    return good("dependencies", f"all there for {asks}")


def _packages(python: str) -> Iterator[_Package]:
    """What is needed, as that Python has it; nothing where it cannot be asked."""
    if python == sys.executable:
        found = [_looked_at(module, package) for module, package, _ in _NEEDED]
    else:
        told = asked(python, _LOOK, *(f"{module}={package}" for module, package, _ in _NEEDED))
        parted = [line.partition(" ") for line in (told or "").splitlines()]
        found = [(version, fault) for version, _, fault in parted]
    for (_, package, least), (version, fault) in zip(_NEEDED, found, strict=False):
        yield _Package(package, least, version, fault)


def _looked_at(module: str, package: str) -> tuple[str, str]:
    """The version of a package in this Python, and why it cannot be imported."""
    if importlib.util.find_spec(module) is None:
        return "-", ""
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        version = "?"
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - compiled parts raise what they like
        return version, " ".join(f"{type(error).__name__}: {error}".split())
    return version, ""
