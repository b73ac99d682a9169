"""The Python that runs Hermes: which one it is, and what it answers."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["asked", "hermes_of", "python_of_hermes"]

#: How the first lines of a program name its Python: itself, looked up by env, or behind a shell.
_SHEBANGS: Final = (
    re.compile(rb"#!\s*(?:/\S*/env\s+(?:-S\s+)?)?(\S*python\S*)"),
    re.compile(rb"#!\s*/bin/sh\n'''exec' [\"']?([^\"'\n]*?python[^\"'\s]*)"),
)


#: Where a clone has the Hermes of its demonstration, and the home of it: no other home is run by that one.
_DEMONSTRATION: Final = (".venvs", "quickstart", "bin")
_ITS_HOME: Final = (".venvs", "quickstart-home", "hermes")


def python_of_hermes(home: Path) -> str:
    """The Python in the first line of the `hermes` on PATH that may run *home*, whatever Python asks.

    Where none is on PATH it is this one, if it has Hermes; empty if it is not known.
    """
    program = hermes_of(home)
    if not program:
        here = Path(sys.executable)
        has_hermes = importlib.util.find_spec("hermes_cli") is not None
        return sys.executable if has_hermes and _may_run(here, home) else ""
    try:
        with Path(program).resolve().open("rb") as file:
            begin = file.read(600)
    except OSError:
        return ""
    found = next((match for each in _SHEBANGS if (match := each.match(begin))), None)
    name = found[1].decode("utf-8", "replace") if found else ""
    return name if "/" in name else shutil.which(name) or ""


def hermes_of(home: Path) -> str:
    """The first `hermes` on PATH that may run *home*; empty if there is none."""
    for folder in os.get_exec_path():
        found = shutil.which("hermes", path=folder)
        if found and _may_run(Path(found).resolve(), home):
            return found
    return ""


def _may_run(program: Path, home: Path) -> bool:
    return program.parts[-4:-1] != _DEMONSTRATION or home.resolve().parts[-3:] == _ITS_HOME


def asked(python: str, code: str, *words: str) -> str | None:
    """What another Python prints; None if it cannot be asked."""
    try:
        done = subprocess.run(  # noqa: S603 - the Python that runs Hermes, and code of ours
            [python, "-B", "-c", code, *words],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
